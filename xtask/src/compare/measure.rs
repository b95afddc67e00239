//! One turn: wrk (or `forebay bench kv`) against one server, and the server's processor time meanwhile.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::Effort;
use super::cases::{Case, Work};
use super::origin::Origin;
use super::programs::{CLIENT_CORE, Place, Programs, Server, pinned};
use crate::{Outcome, command, http};

/// Keys of a store of sessions.
const KEYS: &str = "100000";
/// How long each server is warmed up before its first turn.
const WARM_UP: Duration = Duration::from_secs(1);

/// What the client counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Load {
    pub(super) requests: u64,
    pub(super) requests_per_second: f64,
    /// Answers that were not 2xx or 3xx, and connections that broke or took too long.
    pub(super) failed: u64,
}

/// One turn of one server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub(super) round: usize,
    pub(super) server: &'static str,
    pub(super) cpu_us_per_request: f64,
    pub(super) load: Load,
}

/// Looks for the load generator.
///
/// # Errors
/// When it is not installed.
pub(super) fn check_client() -> Outcome {
    command::find("wrk")
        .map(drop)
        .ok_or_else(|| "wrk is missing: apt-get install wrk, or --install".into())
}

/// All turns of a case that compares processor time.
///
/// # Errors
/// When a server does not start, answers wrongly or ends.
pub(super) fn run(
    case: &Case,
    effort: Effort,
    programs: &Programs,
    place: &Place,
) -> Outcome<Vec<Turn>> {
    println!("\n{}: {}", case.name, case.what);
    let origin = Origin::start(case, programs, place)?;
    let servers = programs.start_all(case, &origin, place)?;
    let client = Client::of(case, programs)?;
    for server in &servers {
        client.warm_up(server, case)?;
    }
    // Hits must need no origin: a server that fetches now fails, and that is counted.
    let origin = if case.hits() { None } else { Some(origin) };
    let mut turns = Vec::new();
    for round in 1..=effort.rounds {
        for server in &servers {
            let turn = turn(&client, server, case, round, effort.turn)?;
            println!(
                "  round {round}  {:<13} {:>7.2} us/request {:>9.0} requests/s {:>4} failed",
                turn.server,
                turn.cpu_us_per_request,
                turn.load.requests_per_second,
                turn.load.failed
            );
            turns.push(turn);
        }
    }
    drop(origin);
    Ok(turns)
}

fn turn(
    client: &Client,
    server: &Server,
    case: &Case,
    round: usize,
    length: Duration,
) -> Outcome<Turn> {
    let before = server.process.cpu_us();
    let load = client.load(server, case, length)?;
    let cpu_us = server.process.cpu_us() - before;
    if load.requests == 0 {
        return Err(format!("{} answered nothing", server.name).into());
    }
    Ok(Turn {
        round,
        server: server.name,
        cpu_us_per_request: cpu_us / load.requests as f64,
        load,
    })
}

/// What makes the load.
enum Client {
    Wrk,
    /// `forebay bench kv`, of this program, with these arguments.
    Commands(PathBuf, &'static [&'static str]),
}

impl Client {
    fn of(case: &Case, programs: &Programs) -> Outcome<Self> {
        Ok(match case.work {
            Work::Commands(arguments) => Self::Commands(programs.load_tester()?, arguments),
            _ => Self::Wrk,
        })
    }

    /// The server has answered for a while, and answers right.
    fn warm_up(&self, server: &Server, case: &Case) -> Outcome {
        match self {
            Self::Wrk => {
                http(server, case.path(), case.clients(), WARM_UP)?;
                check_body(server, case)
            }
            Self::Commands(program, arguments) => {
                let checked = [arguments, &["--preload", "--verify"][..]].concat();
                match commands(program, server, case, &checked, WARM_UP)?.failed {
                    0 => Ok(()),
                    failed => Err(format!("{}: {failed} commands failed", server.name).into()),
                }
            }
        }
    }

    fn load(&self, server: &Server, case: &Case, length: Duration) -> Outcome<Load> {
        match self {
            Self::Wrk => http(server, case.path(), case.clients(), length),
            Self::Commands(program, arguments) => {
                commands(program, server, case, arguments, length)
            }
        }
    }
}

/// The server sends the whole object.
pub(super) fn check_body(server: &Server, case: &Case) -> Outcome {
    let response = http::Client::connect(server.address)?.get(case.path())?;
    if response.status == 200 && response.body_bytes == case.body_bytes as u64 {
        return Ok(());
    }
    Err(format!(
        "{} answers {response:?}, not {} bytes",
        server.name, case.body_bytes
    )
    .into())
}

/// Runs wrk on the client's core.
///
/// # Errors
/// When it fails or prints something unforeseen.
pub(super) fn http(
    server: &Server,
    path: &str,
    connections: usize,
    length: Duration,
) -> Outcome<Load> {
    let wrk = command::find("wrk").unwrap_or_else(|| "wrk".into());
    let mut command: Command = pinned(CLIENT_CORE, &wrk);
    command.args([
        "-t1",
        "--timeout",
        "30s",
        &format!("-c{connections}"),
        &format!("-d{}s", length.as_secs()),
    ]);
    command.arg(format!("http://{}{path}", server.address));
    let text = command::capture(&mut command)?;
    parse(&text).ok_or_else(|| format!("wrk printed:\n{text}").into())
}

/// Runs `forebay bench kv` on the client's core. A read that finds nothing has failed: all keys
/// were stored, and there is room for all.
///
/// # Errors
/// When it fails or prints something unforeseen.
pub(super) fn commands(
    program: &Path,
    server: &Server,
    case: &Case,
    arguments: &[&str],
    length: Duration,
) -> Outcome<Load> {
    let scheme = match server.name {
        "redis" => "redis",
        _ => "memcached",
    };
    let mut command = pinned(CLIENT_CORE, program);
    command.args(["bench", "kv", &format!("{scheme}://{}", server.address)]);
    command.args(["-t", "1", "-c", &case.clients().to_string()]);
    command.args(["--keys", KEYS, "--size", &case.body_bytes.to_string()]);
    command.args(["--duration", &format!("{}s", length.as_secs())]);
    command.args(["--live", "off", "--no-observe", "--format", "csv"]);
    let text = command::capture(command.args(arguments))?;
    parse_csv(&text).ok_or_else(|| format!("forebay bench printed:\n{text}").into())
}

/// The first line of figures below the names of the columns.
fn parse_csv(text: &str) -> Option<Load> {
    let (names, figures) = text.split_once('\n')?;
    let figures = figures.lines().next()?;
    let columns: BTreeMap<&str, &str> = names.split(',').zip(figures.split(',')).collect();
    let number = |name: &str| columns.get(name)?.parse::<f64>().ok();
    Some(Load {
        requests: number("completed")? as u64,
        requests_per_second: number("requests_per_second")?,
        failed: (number("failed")? + number("misses")?) as u64,
    })
}

fn parse(text: &str) -> Option<Load> {
    let mut load = Load::default();
    let mut seen = false;
    for line in text.lines().map(str::trim) {
        if let Some((requests, _)) = line.split_once(" requests in ") {
            load.requests = requests.parse().ok()?;
        } else if let Some(rate) = line.strip_prefix("Requests/sec:") {
            load.requests_per_second = rate.trim().parse().ok()?;
            seen = true;
        } else if let Some(count) = line.strip_prefix("Non-2xx or 3xx responses:") {
            load.failed += count.trim().parse::<u64>().ok()?;
        } else if let Some(counts) = line.strip_prefix("Socket errors:") {
            let counts = counts
                .split(',')
                .filter_map(|c| c.split_whitespace().nth(1)?.parse::<u64>().ok());
            load.failed += counts.sum::<u64>();
        }
    }
    seen.then_some(load)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const QUIET: &str = "Running 5s test @ http://127.0.0.1:1/\n  1 threads and 64 connections\n\
        \x20 506849 requests in 5.01s, 3.02GB read\nRequests/sec: 101069.70\nTransfer/sec:    615.92MB\n";

    #[test]
    fn figures_are_read_and_nothing_failed() {
        let load = parse(QUIET).unwrap();
        assert_eq!(
            load,
            Load {
                requests: 506_849,
                requests_per_second: 101_069.70,
                failed: 0
            }
        );
    }

    #[test]
    fn every_kind_of_failure_counts() {
        let text = format!(
            "{QUIET}  Socket errors: connect 1, read 2, write 3, timeout 4\n  Non-2xx or 3xx responses: 20\n"
        );
        assert_eq!(parse(&text).unwrap().failed, 30);
    }

    #[test]
    fn commands_that_found_nothing_count_as_failed() {
        let text = "phase,completed,failed,requests_per_second,misses\nmain,1000,2,512.5,3\n";
        let load = Load {
            requests: 1000,
            requests_per_second: 512.5,
            failed: 5,
        };
        assert_eq!(parse_csv(text), Some(load));
        assert!(parse_csv("no connection").is_none());
    }

    #[test]
    fn other_output_is_not_taken_for_figures() {
        assert!(parse("unable to connect to 127.0.0.1:1 Connection refused").is_none());
    }
}
