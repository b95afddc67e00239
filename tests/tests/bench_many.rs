//! Ten thousand connections, and what each costs the load tester.

use std::time::{Duration, Instant};

use forebay_tests::{Address, Bench, Client, Figures, Site};
use rustix::process::{Resource, Signal, getrlimit};

const MANY: u64 = 10_000;
/// Resident memory for each connection, in bytes.
const MOST_EACH: u64 = 4096;
/// For all of them to be open.
const PATIENCE: Duration = Duration::from_secs(60);

/// The result of so many connections once all were open, and the most memory that was resident.
fn load(site: &Site, connections: u64) -> (Figures, u64) {
    let count = connections.to_string();
    // Gently: this is about memory, and a listener's queue is short.
    let load = [
        "-c",
        &count,
        "-d",
        "10m",
        "--ramp",
        "1s",
        "--timeout",
        "60s",
    ];
    let running = Bench::new(&[&site.url("/")])
        .args(&load)
        .args(&["--connect-timeout", "60s", "--format", "json"])
        .args(&["--live", "off"])
        .start();
    let deadline = Instant::now() + PATIENCE;
    while active(site) < connections {
        assert!(Instant::now() < deadline, "{} are open", active(site));
        std::thread::sleep(Duration::from_millis(50));
    }
    running.signal(Signal::INT);
    let (ended, peak) = running.wait_with_peak();
    (ended.ok().printed(), peak)
}

/// The connections that nginx has open, without the one that asks.
fn active(site: &Site) -> u64 {
    let text = Client::connect(&Address::Unix(site.socket()))
        .get("/status")
        .text();
    let count = text.strip_prefix("Active connections: ");
    let count = count.and_then(|rest| rest.lines().next()?.trim().parse().ok());
    count.map_or_else(|| panic!("no status: {text}"), |count: u64| count - 1)
}

#[test]
fn ten_thousand_connections_cost_at_most_four_kib_each() {
    let limit = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    if limit < MANY + 500 {
        eprintln!(
            "skipped: {limit} open files are allowed (ulimit -Hn), {} are needed",
            MANY + 500
        );
        return;
    }
    let site = Site::start("access_log off; location = /status { stub_status; }");
    let (_, few) = load(&site, 10);
    let (figures, many) = load(&site, MANY);
    let phase = figures.phase();
    assert_eq!(phase.failed(None), 0, "{}", phase.0["tally"]["counts"]);
    // nginx has seen all of them, some perhaps before the load tester was told that they are open.
    assert!(phase.count("connects") <= MANY, "some were opened twice");
    let each = many.saturating_sub(few) / (MANY - 10);
    assert!(each <= MOST_EACH, "{each} bytes a connection");
}
