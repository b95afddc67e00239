//! `cargo xtask conformance`: the public suite of tests for HTTP caches against the real binary.
//!
//! A failure is known when `xtask/conformance/known-failures.json` names it with a reason. The run fails when a test
//! that the suite calls required or optimal fails and is not known, when a known one passes, and when too few of the
//! optimal ones pass. Tests that the suite calls checks only tell what a cache does.

mod suite;
mod verdict;

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use crate::compare::PeerServer;
use crate::forebay::{self, Server};
use crate::options::Options;
use crate::{Outcome, command};
use suite::Suite;
use verdict::{Kind, Known, Report, State};

/// How to call it.
pub(crate) const USAGE: &str = "[--binary PATH] [--id TEST] [--report FILE] [--peer NAME]
    The public suite http-cache-tests against the real binary, with the thresholds that it must reach.
    --binary PATH   this forebay instead of a fresh release build
    --id TEST       only this test and those it depends on, with the exchange printed
    --report FILE   where the results go [conformance/report.json in the target directory]
    --peer NAME     nginx, varnish, haproxy or squid instead of forebay, without thresholds";

/// Least share of the optimal tests that pass.
const OPTIMAL_SHARE: f64 = 0.95;

/// `cargo xtask conformance`
pub(crate) fn run(args: &[String]) -> Outcome {
    let options = Options::parse(args, &[], &["--binary", "--id", "--report", "--peer"])?;
    let suite = Suite::prepare()?;
    let origin = suite.start_origin()?;
    let subject = Subject::start(&options, origin.address)?;
    let tests = suite.run(subject.address(), options.text("--id"))?;
    drop(subject);

    let report = Report::new(tests);
    let file = suite.dir().join("report.json");
    let file = options.text("--report").map_or(file.as_path(), Path::new);
    fs::write(file, serde_json::to_string_pretty(&report.to_json())?)?;
    print!("{}", report.table());
    let known = Known::read(&crate::root().join("xtask/conformance/known-failures.json"))?;
    print_failures(&report, &known);
    println!("results: {}", file.display());
    if options.flag("--peer") || options.flag("--id") {
        Ok(())
    } else {
        judge(&report, &known)
    }
}

/// What is tested.
enum Subject {
    Forebay(Server),
    Peer(PeerServer),
}

impl Subject {
    fn start(options: &Options, origin: SocketAddr) -> Outcome<Self> {
        if let Some(name) = options.text("--peer") {
            return Ok(Self::Peer(PeerServer::start(name, origin)?));
        }
        let binary = forebay::binary(options.text("--binary"))?;
        println!(
            "{}",
            command::capture(Command::new(&binary).arg("--version"))
                .unwrap_or_default()
                .trim()
        );
        let template = fs::read_to_string(crate::root().join("xtask/conformance/forebay.toml"))?;
        let config = template.replace("{origin}", &origin.to_string());
        Ok(Self::Forebay(Server::start(
            &binary,
            &config,
            &crate::target_dir().join("conformance"),
        )?))
    }

    fn address(&self) -> SocketAddr {
        match self {
            Self::Forebay(server) => server.address,
            Self::Peer(server) => server.address(),
        }
    }
}

/// Every required and optimal test that did not pass, with the suite's message and our reason.
fn print_failures(report: &Report, known: &Known) {
    for test in report
        .tests
        .iter()
        .filter(|t| t.state != State::Pass && t.kind != Kind::Check)
    {
        println!(
            "{} ({}, {}): {}",
            test.id,
            test.kind.name(),
            test.state.name(),
            test.message
        );
        println!("    {}", test.name);
        if let Some(reason) = known.reason(&test.id) {
            println!("    known: {reason}");
        }
    }
}

fn judge(report: &Report, known: &Known) -> Outcome {
    let mut faults = known.faults(report);
    let (passed, all) = report.count(Kind::Optimal);
    if (passed as f64) < OPTIMAL_SHARE * all as f64 {
        faults.push(format!(
            "{passed} of {all} optimal tests pass; {:.0} % must",
            OPTIMAL_SHARE * 100.0
        ));
    }
    if faults.is_empty() {
        return Ok(());
    }
    Err(format!("{} faults:\n  {}", faults.len(), faults.join("\n  ")).into())
}
