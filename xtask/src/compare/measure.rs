//! One turn: wrk against one server, and the server's processor time meanwhile.

use std::process::Command;
use std::time::Duration;

use super::Effort;
use super::cases::Case;
use super::programs::{CLIENT_CORE, Place, Programs, Server, pinned};
use crate::http::Client;
use crate::{Outcome, command};

/// Client connections where the case says nothing else.
const CONNECTIONS: usize = 64;
/// How long each server is warmed up before its first turn.
const WARM_UP: Duration = Duration::from_secs(1);

/// What wrk counted.
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
    let origin = programs.origin(case)?;
    let servers = programs.start_all(case, origin.address, place)?;
    for server in &servers {
        load(server, CONNECTIONS, WARM_UP)?;
        check_body(server, case)?;
    }
    // Hits must need no origin: a server that fetches now fails, and that is counted.
    let origin = if case.hits() { None } else { Some(origin) };
    let mut turns = Vec::new();
    for round in 1..=effort.rounds {
        for server in &servers {
            let turn = turn(server, round, effort.turn)?;
            println!(
                "  round {round}  {:<8} {:>7.2} us/request {:>9.0} requests/s {:>4} failed",
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

fn turn(server: &Server, round: usize, length: Duration) -> Outcome<Turn> {
    let before = server.process.cpu_us();
    let load = load(server, CONNECTIONS, length)?;
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

/// The server sends the whole object.
pub(super) fn check_body(server: &Server, case: &Case) -> Outcome {
    let response = Client::connect(server.address)?.get("/object")?;
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
pub(super) fn load(server: &Server, connections: usize, length: Duration) -> Outcome<Load> {
    let wrk = command::find("wrk").unwrap_or_else(|| "wrk".into());
    let mut command: Command = pinned(CLIENT_CORE, &wrk);
    command.args([
        "-t1",
        "--timeout",
        "30s",
        &format!("-c{connections}"),
        &format!("-d{}s", length.as_secs()),
    ]);
    command.arg(format!("http://{}/object", server.address));
    let text = command::capture(&mut command)?;
    parse(&text).ok_or_else(|| format!("wrk printed:\n{text}").into())
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
    fn other_output_is_not_taken_for_figures() {
        assert!(parse("unable to connect to 127.0.0.1:1 Connection refused").is_none());
    }
}
