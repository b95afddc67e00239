//! The answers of this process to the administration.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

use forebay_admin::control::{
    AppState, Ban, Inspection, Order, PoolServer, PoolState, Popular, Problem, ProcessState,
    Purged, ServerChanged, ServerOrder, SessionState, SettingInForce, SiteState, SnapshotOrder,
    State, Tail, TailFilter,
};
use forebay_apps::AppStatus;
use forebay_proxy::PoolStatus;
use forebay_stats::{Gauges, Snapshot};
use serde_json::{Value, json};

use super::{Control, cache, config, servers, tail};

/// The levels of the error log, as the configuration has them.
const LEVELS: [&str; 4] = ["error", "warn", "info", "debug"];

impl forebay_admin::Control for Control {
    fn snapshot(&self) -> Snapshot {
        self.snapshot_now()
    }

    fn gauges(&self) -> Gauges {
        self.gauges_now()
    }

    fn reload(&self) -> Result<Vec<String>, String> {
        self.reload_file()
    }

    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }

    fn status_extra(&self) -> Value {
        let status = self.handle.status();
        let listen: Vec<String> = status.listening.iter().map(ToString::to_string).collect();
        let servers: Vec<Value> = status.pools.iter().map(server).collect();
        json!({
            "listen": listen,
            "configuration": self.file_name(),
            "servers": servers,
            "sites": self.sites(),
        })
    }

    fn state(&self) -> State {
        let status = self.handle.status();
        let mut pools: BTreeMap<&str, Vec<PoolServer>> = BTreeMap::new();
        for server in &status.pools {
            pools
                .entry(&server.pool)
                .or_default()
                .push(pool_server(server));
        }
        let pools = pools.into_iter().map(|(name, servers)| PoolState {
            name: name.to_owned(),
            servers,
        });
        State {
            draining: self.draining.load(Relaxed),
            listening: status.listening.iter().map(ToString::to_string).collect(),
            pools: pools.collect(),
            sites: self.sites(),
            disk: cache::disk(&self.handle),
            config_file: self.file_name(),
        }
    }

    fn settings(&self) -> Vec<SettingInForce> {
        let text = self
            .text
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .clone();
        config::in_force(&Control::settings(self), text.as_deref())
    }

    fn inspect(&self, url: &str) -> Result<Inspection, Problem> {
        let tag_fields = Control::settings(self).cache.tag_fields.clone();
        cache::inspect(&self.handle, url, &tag_fields)
    }

    fn hottest(&self, limit: usize) -> Result<Vec<Popular>, Problem> {
        Ok(cache::hottest(&self.handle, limit))
    }

    fn biggest(&self, limit: usize) -> Result<Vec<Popular>, Problem> {
        Ok(cache::biggest(&self.handle, limit))
    }

    fn purge(&self, order: &Order) -> Result<Purged, Problem> {
        let done = cache::purge_all(&self.handle, std::slice::from_ref(order))?;
        done.into_iter()
            .next()
            .ok_or_else(|| Problem::Failed("the purge was not answered".into()))
    }

    fn purge_batch(&self, orders: &[Order]) -> Vec<Result<Purged, Problem>> {
        // All with one write; when one of them makes no sense, each by itself.
        match cache::purge_all(&self.handle, orders) {
            Ok(done) => done.into_iter().map(Ok).collect(),
            Err(_) => orders.iter().map(|order| self.purge(order)).collect(),
        }
    }

    fn bans(&self) -> Result<Vec<Ban>, Problem> {
        Ok(cache::bans(&self.handle))
    }

    fn change_server(&self, order: &ServerOrder) -> Result<ServerChanged, Problem> {
        let holds = self.servers.change(&self.handle, order)?;
        let status = self.handle.status();
        let mut all = status.pools.iter();
        let server = all.find(|one| one.pool == order.pool && servers::is_it(order, &one.server));
        Ok(ServerChanged {
            holds: holds.into(),
            server: server.map(pool_server),
        })
    }

    fn apps(&self) -> Vec<AppState> {
        self.applications.status().into_iter().map(app).collect()
    }

    fn replace_app(&self, name: &str) -> Result<(), Problem> {
        if self.applications.replace(name) {
            return Ok(());
        }
        Err(Problem::NotFound(format!(
            "there is no application {name:?}"
        )))
    }

    fn sessions(&self) -> Vec<SessionState> {
        self.sessions.states()
    }

    fn snapshot_session(&self, order: &SnapshotOrder) -> Result<u64, Problem> {
        let made = self.sessions.snapshot(&order.store, &order.directory);
        made.map_err(|why| match why {
            Some(why) => Problem::Failed(why),
            None => Problem::NotFound(format!("there is no store {:?}", order.store)),
        })
    }

    fn tail(&self, filter: &TailFilter) -> Result<Box<dyn Tail>, Problem> {
        tail::begin(&self.handle, filter)
    }

    fn drain(&self) -> Result<(), Problem> {
        match self.order_drain() {
            Ok(true) => Ok(()),
            Ok(false) => Err(Problem::Conflict("it is draining already".into())),
            Err(error) => Err(Problem::Failed(error)),
        }
    }

    fn log_level(&self) -> String {
        Control::settings(self).log.level.clone()
    }

    fn set_log_level(&self, level: &str) -> Result<(), Problem> {
        if !LEVELS.contains(&level) {
            let known = LEVELS.join(", ");
            let text = format!("there is no log level `{level}`; there are {known}");
            return Err(Problem::Invalid(text));
        }
        self.change_level(level).map_err(Problem::Failed)
    }
}

impl Control {
    fn file_name(&self) -> Option<String> {
        self.file.as_ref().map(|file| file.display().to_string())
    }

    fn sites(&self) -> Vec<SiteState> {
        let settings = Control::settings(self);
        let sites = settings.sites.iter().map(|site| SiteState {
            name: site.name.clone(),
            hosts: site.hosts.clone(),
            pool: site.service.pool.clone().unwrap_or_default(),
        });
        sites.collect()
    }
}

fn pool_server(server: &PoolStatus) -> PoolServer {
    PoolServer {
        server: server.server.clone(),
        addresses: server.addresses.clone(),
        state: server.state.into(),
        owner: server.owner.into(),
        weight: server.weight,
        priority: server.priority,
        zone: server.zone.clone(),
        max_connections: server.max_connections,
        failed: server.failed,
        active: server.active,
        requests: Some(server.requests),
        errors: Some(server.errors + server.timeouts),
        failures: Some(server.failures),
        retries: Some(server.retries),
        waits: Some(server.waits),
        mean_us: Some(server.mean_us),
        p50_us: Some(server.p50_us),
        p99_us: Some(server.p99_us),
    }
}

fn app(app: AppStatus) -> AppState {
    let processes = app.instances.into_iter().map(|process| ProcessState {
        number: process.number,
        pid: process.pid,
        state: process.state.name().into(),
        address: process.address,
        memory_bytes: process.memory_bytes,
        active: process.active,
        requests: process.requests,
        uptime_s: process.uptime_seconds,
    });
    AppState {
        name: app.name,
        wanted: app.wanted,
        least: app.bounds.0,
        most: app.bounds.1,
        restarts: app.restarts,
        failures: app.failures,
        processes: processes.collect(),
    }
}

/// A server of a pool, for `/status`.
fn server(server: &PoolStatus) -> Value {
    json!({
        "pool": server.pool,
        "server": server.server,
        "addresses": server.addresses,
        "active": server.active,
        "failed": server.failed,
    })
}
