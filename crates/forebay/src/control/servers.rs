//! Servers of pools that the operator adds, removes, drains and weighs while requests go on, and
//! what of that is kept: over reloads by the pools, over restarts in a file of orders that are
//! carried out again at the start.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forebay_admin::control::{Problem, ServerAct, ServerOrder, Share};
use forebay_proxy::Handle;
use forebay_upstream::{NewServer, Order, Owner, Pool, Server};
use parking_lot::Mutex;
use serde_json::{Value, json};

/// What has been ordered and is kept, in the order in which it is carried out again.
pub(super) struct Kept {
    /// Where it is written down; `None`: nowhere.
    file: Option<PathBuf>,
    /// Held while an order is carried out: there is one at a time.
    orders: Mutex<Vec<ServerOrder>>,
}

impl Kept {
    /// Reads the file and carries out what it says. What cannot be carried out is logged, and
    /// stays: its pool may be back with the next configuration.
    pub(super) fn start(file: Option<PathBuf>, handle: &Handle) -> Self {
        let orders = file.as_deref().map_or_else(Vec::new, read_or_put_aside);
        for order in &orders {
            let done = find_pool(handle, &order.pool).and_then(|pool| carry_out(&pool, order));
            match done {
                // The file lists it as well by now.
                Ok(()) | Err(Problem::Conflict(_)) => {}
                Err(problem) => tracing::warn!(
                    "pool {}: the kept order for {} is not carried out: {}",
                    order.pool,
                    order.server,
                    problem.message()
                ),
            }
        }
        Self {
            file,
            orders: Mutex::new(orders),
        }
    }

    /// Carries out an order; one that is kept is written down first. Returns what
    /// [`ServerChanged::holds`](forebay_admin::control::ServerChanged::holds) says.
    pub(super) fn change(
        &self,
        handle: &Handle,
        order: &ServerOrder,
    ) -> Result<&'static str, Problem> {
        let mut orders = self.orders.lock();
        let pool = find_pool(handle, &order.pool)?;
        check(&pool, order)?;
        if !order.keep {
            carry_out(&pool, order)?;
            return Ok("now");
        }
        let mut after = with(&orders, order);
        if order.act == ServerAct::Remove && !is_listed(&pool, &order.server) {
            // It would not come back by itself.
            after.pop();
        }
        if let Some(file) = &self.file {
            write(file, &after).map_err(|error| {
                let text = format!("{}: {error}; nothing was changed", file.display());
                Problem::Failed(text)
            })?;
        }
        *orders = after;
        carry_out(&pool, order)?;
        Ok(if self.file.is_some() {
            "restarts"
        } else {
            "reloads"
        })
    }
}

/// `orders` with one more, which takes the place of those that it makes void.
fn with(orders: &[ServerOrder], new: &ServerOrder) -> Vec<ServerOrder> {
    let same = |old: &&ServerOrder| old.pool == new.pool && old.server == new.server;
    let is_state =
        |act: &ServerAct| matches!(act, ServerAct::Drain | ServerAct::Down | ServerAct::Up);
    let is_void = |old: &&ServerOrder| match &new.act {
        ServerAct::Add(_) | ServerAct::Remove => true,
        ServerAct::Set(_) => matches!(old.act, ServerAct::Set(_)),
        state => is_state(state) && is_state(&old.act),
    };
    let mut new = new.clone();
    for old in orders.iter().filter(same) {
        if let (ServerAct::Set(old), ServerAct::Set(share)) = (&old.act, &mut new.act) {
            share.weight = share.weight.or(old.weight);
            share.max_connections = share.max_connections.or(old.max_connections);
        }
    }
    let stays = |old: &&ServerOrder| !(same(old) && is_void(old));
    let mut after: Vec<ServerOrder> = orders.iter().filter(stays).cloned().collect();
    after.push(new);
    after
}

fn find_pool(handle: &Handle, name: &str) -> Result<Arc<Pool>, Problem> {
    let found = handle.pool(name);
    found.ok_or_else(|| Problem::NotFound(format!("there is no pool {name:?}")))
}

/// Whether `label` is the server that the order names, which may write it otherwise: without a
/// port, in capitals.
pub(super) fn is_it(order: &ServerOrder, label: &str) -> bool {
    let address = || forebay_config::server_address(&order.server);
    order.server == label || address().is_ok_and(|address| address.to_string() == label)
}

fn find(pool: &Pool, server: &str) -> Result<Arc<Server>, Problem> {
    let found = pool.find(server).or_else(|| {
        let address = forebay_config::server_address(server).ok()?;
        pool.find(&address.to_string())
    });
    found.ok_or_else(|| {
        let text = format!("pool {:?} has no server {server:?}", pool.name);
        Problem::NotFound(text)
    })
}

/// Whether the file names this server.
fn is_listed(pool: &Pool, server: &str) -> bool {
    find(pool, server).is_ok_and(|server| {
        let listed = &pool.settings.servers;
        listed
            .iter()
            .any(|listed| Some(&listed.address) == server.address())
    })
}

/// Whether the order can be carried out now.
fn check(pool: &Pool, order: &ServerOrder) -> Result<(), Problem> {
    let found = find(pool, &order.server);
    let ServerAct::Add(_) = &order.act else {
        return found.map(|_| ());
    };
    forebay_config::server_address(&order.server).map_err(Problem::Invalid)?;
    match found {
        Ok(server) => {
            let text = format!("pool {:?} has the server {}", pool.name, server.label());
            Err(Problem::Conflict(text))
        }
        Err(_) => Ok(()),
    }
}

fn carry_out(pool: &Pool, order: &ServerOrder) -> Result<(), Problem> {
    if let ServerAct::Add(share) = &order.act {
        add(pool, order, share)?;
    } else {
        change(pool, &*find(pool, &order.server)?, order);
    }
    tracing::info!("pool {}: {} {}", pool.name, said(&order.act), order.server);
    Ok(())
}

/// Changes a server that is in the pool.
fn change(pool: &Pool, server: &Server, order: &ServerOrder) {
    match &order.act {
        ServerAct::Add(_) => {}
        ServerAct::Remove if order.keep => {
            pool.remove_for_good(server);
        }
        ServerAct::Remove => {
            pool.remove(server);
        }
        ServerAct::Drain => pool.set_order(server, Order::Drain),
        ServerAct::Down => pool.set_order(server, Order::Down),
        ServerAct::Up => pool.set_order(server, Order::Up),
        ServerAct::Set(share) => {
            if let Some(weight) = share.weight {
                pool.set_weight(server, weight);
            }
            if let Some(most) = share.max_connections {
                pool.set_max_connections(server, limit(most));
            }
        }
    }
}

fn add(pool: &Pool, order: &ServerOrder, share: &Share) -> Result<(), Problem> {
    let address = forebay_config::server_address(&order.server).map_err(Problem::Invalid)?;
    let owner = Owner::Operator { keep: order.keep };
    let new = NewServer {
        weight: share.weight.unwrap_or(1),
        priority: share.priority.unwrap_or(0),
        zone: share.zone.clone(),
        max_connections: share.max_connections.and_then(limit),
        ..NewServer::at(address, owner)
    };
    pool.add(&new).map(|_| ()).map_err(|there| {
        let text = format!("pool {:?} has the server {}", pool.name, there.label());
        Problem::Conflict(text)
    })
}

fn limit(most: u64) -> Option<usize> {
    usize::try_from(most).ok().filter(|most| *most > 0)
}

fn said(act: &ServerAct) -> &'static str {
    match act {
        ServerAct::Add(_) => "added",
        ServerAct::Remove => "removed",
        ServerAct::Drain => "draining",
        ServerAct::Down => "down:",
        ServerAct::Up => "up:",
        ServerAct::Set(_) => "changed",
    }
}

/// What the file says. One that cannot be read is kept under another name: it would be written
/// over.
fn read_or_put_aside(file: &Path) -> Vec<ServerOrder> {
    let problem = match read(file) {
        Ok(orders) => return orders,
        Err(problem) => problem,
    };
    let mut aside = file.as_os_str().to_owned();
    aside.push(".damaged");
    let moved = match fs::rename(file, &aside) {
        Ok(()) => format!("it is {} now", aside.display()),
        Err(error) => format!("it could not be renamed: {error}"),
    };
    tracing::error!(
        "{}: what was kept of servers cannot be read: {problem}; {moved}",
        file.display()
    );
    Vec::new()
}

fn read(file: &Path) -> Result<Vec<ServerOrder>, String> {
    let text = match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text.map_err(|error| error.to_string())?,
    };
    let value: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let orders = value["orders"].as_array().ok_or("`orders` is missing")?;
    orders.iter().map(ServerOrder::from_json).collect()
}

/// All or nothing, and on the disk when it returns.
fn write(file: &Path, orders: &[ServerOrder]) -> io::Result<()> {
    let orders: Vec<Value> = orders.iter().map(ServerOrder::to_json).collect();
    let text = format!("{:#}\n", json!({ "orders": orders }));
    let mut new = file.as_os_str().to_owned();
    new.push(".new");
    let mut options = File::options();
    let mut written = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&new)?;
    written.write_all(text.as_bytes())?;
    written.sync_all()?;
    fs::rename(&new, file)?;
    let directory = file.parent().unwrap_or(Path::new("/"));
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn order(action: &str, server: &str, weight: Option<u32>) -> ServerOrder {
        let mut order = json!({ "pool": "app", "server": server, "action": action, "keep": true });
        if let Some(weight) = weight {
            order["weight"] = weight.into();
        }
        ServerOrder::from_json(&order).unwrap()
    }

    fn after(orders: &[ServerOrder]) -> Vec<String> {
        let kept = orders.iter().fold(Vec::new(), |kept, one| with(&kept, one));
        let name = |order: &ServerOrder| format!("{} {}", said(&order.act), order.server);
        kept.iter().map(name).collect()
    }

    #[test]
    fn an_order_takes_the_place_of_those_it_makes_void() {
        let orders = [
            order("add", "a:1", None),
            order("set", "a:1", Some(2)),
            order("drain", "b:1", None),
            order("up", "b:1", None),
            order("set", "a:1", Some(3)),
        ];
        assert_eq!(after(&orders), ["added a:1", "up: b:1", "changed a:1"]);
        let gone = [&orders[..], &[order("remove", "a:1", None)]].concat();
        assert_eq!(after(&gone), ["up: b:1", "removed a:1"]);
    }

    #[test]
    fn what_is_written_is_read_and_what_is_damaged_is_put_aside() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("servers.json");
        assert!(read(&file).unwrap().is_empty());
        let orders = vec![order("add", "a:1", Some(2)), order("drain", "b:1", None)];
        write(&file, &orders).unwrap();
        assert_eq!(read_or_put_aside(&file), orders);
        fs::write(&file, "{\"orders\": [{}]}").unwrap();
        assert!(read_or_put_aside(&file).is_empty());
        assert!(!file.exists() && directory.path().join("servers.json.damaged").exists());
    }
}
