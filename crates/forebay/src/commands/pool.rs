//! `forebay pool`: the servers of pools, shown and changed.

use forebay_admin::control::{ServerAct, ServerOrder, Share};
use serde_json::Value;

use crate::cli::{MemberArgs, PoolArgs, PoolOrder};
use crate::exit::Outcome;
use crate::out;

use super::client::Client;
use super::show::{self, text};

/// Runs the command.
///
/// # Errors
/// When the server is not there or refuses.
pub(crate) fn pool(args: &PoolArgs) -> Outcome {
    let client = Client::of(&args.server)?;
    let Some(order) = &args.order else {
        return list(&client, args.json);
    };
    let order = order_of(order).to_json();
    let changed = client.json("POST", "/api/v1/servers", Some(&order))?;
    if args.json {
        out::line(&format!("{changed:#}"));
        return Ok(());
    }
    let (pool, server) = (text(&order["pool"]), text(&order["server"]));
    let state = match &changed["server"] {
        Value::Null => "not in the pool".to_owned(),
        server => format!("{}, weight {}", text(&server["state"]), server["weight"]),
    };
    let holds = match changed["holds"].as_str() {
        Some("restarts") => "kept over reloads and restarts",
        Some("reloads") => {
            "kept over reloads; over restarts as well where server.state_file is set"
        }
        _ => "until a reload or restart says otherwise",
    };
    out::line(&format!("{pool}: {server} is {state} ({holds})"));
    Ok(())
}

fn order_of(order: &PoolOrder) -> ServerOrder {
    let plain = |member: &MemberArgs, act| ServerOrder {
        pool: member.pool.clone(),
        server: member.server.clone(),
        act,
        keep: member.keep,
    };
    match order {
        PoolOrder::Add(add) => {
            let share = Share {
                weight: add.weight,
                max_connections: add.max_connections,
                priority: add.priority,
                zone: add.zone.clone(),
            };
            plain(&add.member, ServerAct::Add(share))
        }
        PoolOrder::Set(set) => {
            let share = Share {
                weight: set.weight,
                max_connections: set.max_connections,
                ..Share::default()
            };
            plain(&set.member, ServerAct::Set(share))
        }
        PoolOrder::Remove(member) => plain(member, ServerAct::Remove),
        PoolOrder::Drain(member) => plain(member, ServerAct::Drain),
        PoolOrder::Down(member) => plain(member, ServerAct::Down),
        PoolOrder::Up(member) => plain(member, ServerAct::Up),
    }
}

fn list(client: &Client, json: bool) -> Outcome {
    let answer = client.json("GET", "/api/v1/pools", None)?;
    if json {
        out::line(&format!("{answer:#}"));
        return Ok(());
    }
    let rows = |name: &str, value: &Value| value[name].as_array().cloned().unwrap_or_default();
    let pools = rows("pools", &answer);
    if pools.is_empty() {
        out::line("no pools");
        return Ok(());
    }
    out::line("state      weight  active  limit   requests     errors       p99  server");
    for pool in pools {
        out::line(&text(&pool["name"]));
        for server in rows("servers", &pool) {
            out::line(&row(&server));
        }
    }
    Ok(())
}

fn row(server: &Value) -> String {
    let number = |name: &str| server[name].as_u64().unwrap_or(0);
    let limit = server["max_connections"].as_u64();
    let mut notes = Vec::new();
    if server["owner"] != "file" {
        notes.push(format!("by the {}", text(&server["owner"])));
    }
    if number("priority") > 0 {
        notes.push(format!("priority {}", number("priority")));
    }
    if let Some(zone) = server["zone"].as_str() {
        notes.push(format!("zone {}", show::plain(zone)));
    }
    let notes = match notes.join(", ") {
        none if none.is_empty() => none,
        some => format!("  ({some})"),
    };
    format!(
        "{:<10} {:>6} {:>7} {:>6} {:>10} {:>10} {:>9}  {}{notes}",
        text(&server["state"]),
        number("weight"),
        number("active"),
        limit.map_or_else(|| "–".to_owned(), show::count),
        show::count(number("requests")),
        show::count(number("errors")),
        show::micros(number("p99_us")),
        text(&server["server"]),
    )
}
