//! `forebay stats`: the figures of a running server, once or as they change.

use std::thread::sleep;
use std::time::{Duration, Instant};

use forebay_stats::counter;
use serde_json::{Map, Value, json};

use crate::cli::StatsArgs;
use crate::exit::Outcome;
use crate::out;

use super::client::Client;
use super::show;

/// Lines between two headers of the live table.
const SCREEN: usize = 20;

/// Runs the command.
///
/// # Errors
/// When the server is not there or refuses.
pub(crate) fn stats(args: &StatsArgs) -> Outcome {
    let client = Client::of(&args.server)?;
    match args.watch {
        Some(seconds) => watch(&client, seconds, args.json),
        None => once(&client, args.json),
    }
}

fn once(client: &Client, as_json: bool) -> Outcome {
    let status = client.json("GET", "/api/v1/status", None)?;
    let counters = client.json("GET", "/api/v1/counters", None)?;
    if as_json {
        let document = json!({ "status": status, "figures": counters });
        out::line(&format!("{document:#}"));
    } else {
        out::print(&summary(&client.address(), &status, &counters));
        out::print(&table(&counters));
    }
    Ok(())
}

fn number(value: &Value, path: &str) -> u64 {
    value.pointer(path).and_then(Value::as_u64).unwrap_or(0)
}

fn bytes(value: &Value, path: &str) -> String {
    show::size(number(value, path) as f64)
}

/// What an operator looks at first.
fn summary(address: &str, status: &Value, figures: &Value) -> String {
    let text = |path: &str| status.pointer(path).and_then(Value::as_str).unwrap_or("?");
    let mut lines = vec![format!(
        "forebay {} at {address}, process {}, up {}{}",
        show::plain(text("/version")),
        number(status, "/pid"),
        show::seconds(number(status, "/uptime_s")),
        if status["draining"] == true {
            ", draining"
        } else {
            ""
        }
    )];
    let mut row = |name: &str, value: String| lines.push(format!("  {name:<12}{value}"));
    let ratio = status["hit_ratio"].as_f64();
    row(
        "requests",
        show::count(number(figures, "/counters/requests")),
    );
    row(
        "hit ratio",
        ratio.map_or_else(|| "–".into(), |ratio| show::ratio(ratio, 1.0)),
    );
    row("objects", show::count(number(status, "/objects")));
    row(
        "memory",
        format!(
            "{} of {}, the process takes {}",
            bytes(status, "/memory/used_bytes"),
            bytes(status, "/memory/limit_bytes"),
            bytes(status, "/memory/resident_bytes")
        ),
    );
    if status["disk"].is_object() {
        let objects = show::count(number(status, "/disk/objects"));
        let (used, limit) = (
            bytes(status, "/disk/used_bytes"),
            bytes(status, "/disk/limit_bytes"),
        );
        row("disk", format!("{used} of {limit}, {objects} objects"));
    }
    for (key, name) in [("hit", "hits"), ("miss", "misses")] {
        let time = |which: &str| show::micros(number(figures, &format!("/timings/{key}/{which}")));
        row(
            name,
            format!("median {}, 99 % within {}", time("p50_us"), time("p99_us")),
        );
    }
    lines.extend(servers(status));
    lines.join("\n") + "\n"
}

/// A line for each server of each pool.
fn servers(status: &Value) -> Vec<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut lines = Vec::new();
    for pool in list(&status["pools"]) {
        for server in list(&pool["servers"]) {
            let name = |value: &Value| show::plain(value.as_str().unwrap_or("?"));
            lines.push(format!(
                "  pool {}: {} {}, {} requests, {} errors, median {}, 99 % within {}",
                name(&pool["name"]),
                name(&server["server"]),
                if server["failed"] == true {
                    "FAILED"
                } else {
                    "up"
                },
                show::count(number(&server, "/requests")),
                show::count(number(&server, "/errors")),
                show::micros(number(&server, "/p50_us")),
                show::micros(number(&server, "/p99_us"))
            ));
        }
    }
    lines
}

/// Every counter that is not 0, with what it means.
fn table(figures: &Value) -> String {
    let empty = Map::new();
    let counters = figures["counters"].as_object().unwrap_or(&empty);
    let mut out = String::from("\n");
    for row in counter::ROWS {
        let value = counters.get(row.key).and_then(Value::as_u64).unwrap_or(0);
        if value > 0 {
            out.push_str(&format!(
                "{:<22}{:>18}  {}\n",
                row.key,
                show::count(value),
                row.help
            ));
        }
    }
    out
}

/// A line for each interval, until the reader or the user ends it.
fn watch(client: &Client, seconds: f64, as_json: bool) -> Outcome {
    let interval = Duration::from_secs_f64(seconds);
    let mut before = client.json("GET", "/api/v1/counters", None)?;
    let mut then = Instant::now();
    let mut due = then;
    for line in 0.. {
        due += interval;
        sleep(due.saturating_duration_since(Instant::now()));
        let now = client.json("GET", "/api/v1/counters", None)?;
        let taken = Instant::now();
        let elapsed = taken.duration_since(then).as_secs_f64();
        then = taken;
        let rates = Rates::of(&before, &now, elapsed);
        if as_json {
            out::line(&rates.json(&now).to_string());
        } else {
            if line % SCREEN == 0 {
                out::line(HEADER);
            }
            out::line(&rates.line(&now));
        }
        before = now;
    }
    Ok(())
}

const HEADER: &str = "    req/s   hits  misses/s  passes/s   4xx/s   5xx/s  to clients/s  from origins/s  connections      memory";

/// What happened in a second, on average over an interval.
struct Rates {
    /// By key.
    counters: Vec<(String, f64)>,
}

impl Rates {
    fn of(before: &Value, now: &Value, seconds: f64) -> Self {
        let counters = now["counters"].as_object();
        let rates = counters.into_iter().flatten().map(|(key, value)| {
            let then = before["counters"][key].as_u64().unwrap_or(0);
            // After a restart a counter begins anew.
            let grown = value.as_u64().unwrap_or(0).saturating_sub(then);
            (key.clone(), grown as f64 / seconds.max(1e-3))
        });
        Self {
            counters: rates.collect(),
        }
    }

    fn get(&self, key: &str) -> f64 {
        let found = self.counters.iter().find(|(own, _)| own == key);
        found.map_or(0.0, |(_, rate)| *rate)
    }

    fn sum(&self, keys: &[&str]) -> f64 {
        keys.iter().map(|key| self.get(key)).sum()
    }

    fn hits(&self) -> (f64, f64) {
        let hits = self.sum(&[
            "hits",
            "hits_stale",
            "hits_revalidated",
            "stale_on_error",
            "coalesced",
        ]);
        (hits, hits + self.sum(&["misses", "hit_for_miss", "passes"]))
    }

    fn line(&self, now: &Value) -> String {
        let (hits, all) = self.hits();
        format!(
            "{:>9.0} {:>6} {:>9.0} {:>9.0} {:>7.0} {:>7.0} {:>13} {:>15} {:>12} {:>11}",
            self.get("requests"),
            show::ratio(hits, all).replace(' ', ""),
            self.sum(&["misses", "hit_for_miss"]),
            self.get("passes"),
            self.get("status_4xx"),
            self.get("status_5xx"),
            show::size(self.get("bytes_out")),
            show::size(self.get("bytes_from_origin")),
            number(now, "/gauges/connections"),
            bytes(now, "/gauges/cache_bytes")
        )
    }

    fn json(&self, now: &Value) -> Value {
        let (hits, all) = self.hits();
        let rates: Map<String, Value> = self
            .counters
            .iter()
            .map(|(key, rate)| (key.clone(), json!((rate * 1000.0).round() / 1000.0)))
            .collect();
        let ratio = (all > 0.0).then(|| hits / all);
        json!({ "per_second": rates, "hit_ratio": ratio, "gauges": now["gauges"] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(requests: u64, hits: u64, misses: u64) -> Value {
        json!({ "counters": { "requests": requests, "hits": hits, "misses": misses }, "gauges": { "connections": 3 } })
    }

    #[test]
    fn rates_are_differences_over_time() {
        let now = figures(110, 30, 10);
        let rates = Rates::of(&figures(10, 0, 0), &now, 2.0);
        assert_eq!(rates.get("requests"), 50.0);
        let line = rates.line(&now);
        assert!(line.contains(" 50 ") && line.contains("75.0%"), "{line}");
        assert_eq!(rates.json(&now)["per_second"]["hits"], 15.0);
        assert_eq!(rates.json(&now)["gauges"]["connections"], 3);
    }

    #[test]
    fn a_restart_between_two_looks_gives_nothing_negative() {
        let rates = Rates::of(&figures(1000, 5, 5), &figures(10, 0, 0), 1.0);
        assert_eq!((rates.get("requests"), rates.hits().1), (0.0, 0.0));
    }

    #[test]
    fn the_table_has_what_was_counted() {
        let table = table(&figures(1234, 0, 7));
        assert!(
            table.contains("requests") && table.contains("1 234"),
            "{table}"
        );
        assert!(!table.contains("\nhits "), "{table}");
    }
}
