//! Ten thousand connections, and what each costs the load tester.

use forebay_tests::{Bench, Figures, Site};
use rustix::process::{Resource, getrlimit};

const MANY: u64 = 10_000;
/// Resident memory for each connection, in bytes.
const MOST_EACH: u64 = 4096;

/// The result, and the most memory that was resident.
fn load(site: &Site, connections: u64) -> (Figures, u64) {
    let connections = connections.to_string();
    // Gently: this is about memory, and a listener's queue is short.
    let load = [
        "-c",
        &connections,
        "-d",
        "3s",
        "--ramp",
        "1s",
        "--timeout",
        "60s",
    ];
    let running = Bench::new(&[&site.url("/")])
        .args(&load)
        .args(&["--format", "json", "--live", "off"])
        .start();
    let (ended, peak) = running.wait_with_peak();
    (ended.ok().printed(), peak)
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
    let site = Site::start("access_log off;");
    let (_, few) = load(&site, 10);
    let (figures, many) = load(&site, MANY);
    let phase = figures.phase();
    assert_eq!(phase.failed(None), 0, "{}", phase.0["tally"]["counts"]);
    assert_eq!(phase.count("connects"), MANY, "all are open and used again");
    assert!(phase.count("succeeded") > 0);
    let each = many.saturating_sub(few) / (MANY - 10);
    println!("{each} bytes a connection");
    assert!(each <= MOST_EACH, "{each} bytes a connection");
}
