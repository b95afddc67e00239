//! `cargo xtask compare`: Forebay beside the floor program and other servers, in one run on one machine.
//!
//! The server has core 0 for itself and one worker; the client (and the origin) has core 1. What counts is the
//! server's processor time for a request, which does not depend on whether client or server is the bottleneck. Servers
//! take turns within a round, so that whatever the machine does besides meets them all alike; figures are medians over
//! the rounds, ratios are medians of the rounds' ratios.

mod cases;
mod connections;
mod durable;
mod figures;
mod measure;
mod origin;
mod peers;
mod programs;
mod report;

use std::net::SocketAddr;
use std::time::Duration;

use crate::options::Options;
use crate::{Outcome, apt, process};
use cases::{Case, Measured};
use origin::Origin;
use programs::{Build, Place, Programs};
use report::Report;

/// How to call it.
pub(crate) const USAGE: &str = "[CASE…] [--rounds N] [--seconds S] [--quick] [--servers A,B] [--release] [--binary PATH] [--install]
    Speed beside other servers. Cases: hit-6k, hit-75k, miss-6k, pass-6k, file-6k, fastcgi-6k,
    kv-mixed, kv-pipelined, kv-multiget, kv-always, connections; all of them by default.
    --rounds N      how often each server has its turn [5]
    --seconds S     how long a turn takes [5]
    --quick         2 rounds of 2 seconds
    --servers A,B   only these, of: floor, forebay, nginx, nginx-default, varnish, haproxy, squid, h2o,
                    lighttpd, memcached, redis
    --release       the program of `cargo build --release`, instead of that of `cargo xtask dist`
    --binary PATH   this forebay
    --install       install the missing servers and wrk (as root)
    Reports: compare/report.md and compare/report.json in the target directory.";

/// How much is measured.
#[derive(Clone, Copy, Debug)]
struct Effort {
    rounds: usize,
    turn: Duration,
}

/// `cargo xtask compare`
pub(crate) fn run(args: &[String]) -> Outcome {
    let valued = ["--rounds", "--seconds", "--servers", "--binary"];
    let options = Options::parse(args, &["--quick", "--release", "--install"], &valued)?;
    if options.flag("--install") {
        apt::for_comparison()?;
    }
    let (rounds, seconds) = if options.flag("--quick") {
        (2, 2)
    } else {
        (5, 5)
    };
    let effort = Effort {
        rounds: options.number("--rounds", rounds)?.max(1),
        turn: Duration::from_secs(options.number("--seconds", seconds)?.max(1)),
    };
    let cases = cases::chosen(&options.rest)?;
    measure::check_client()?;
    process::raise_descriptor_limit();

    let build = match options.text("--binary") {
        Some(path) => Build::At(path),
        None if options.flag("--release") => Build::Release,
        None => Build::Installed,
    };
    let programs = Programs::find(options.text("--servers"), build)?;
    let mut report = Report::new(effort, &programs);
    for case in &cases {
        run_case(case, effort, &programs, &mut report)?;
    }
    report.write()?;
    if options.flag("--quick") {
        Ok(())
    } else {
        report.verdict()
    }
}

fn run_case(case: &Case, effort: Effort, programs: &Programs, report: &mut Report) -> Outcome {
    let place = Place::new(case.name)?;
    match case.measured {
        Measured::Processor => {
            report.turns(case, &measure::run(case, effort, programs, &place)?);
        }
        Measured::Connections => {
            report.connections(case, &connections::run(case, effort, programs, &place)?);
        }
        Measured::Durable => {
            report.durable(case, &durable::run(case, effort, programs, &place)?);
        }
    }
    Ok(())
}

/// A server other than ours, in front of an origin of the caller's.
#[derive(Debug)]
pub(crate) struct PeerServer {
    /// Stopped before its folders go.
    server: programs::Server,
    _place: Place,
}

impl PeerServer {
    /// Starts the server called `name` in front of `origin`, configured as for hits.
    ///
    /// # Errors
    /// When it is not known, not installed or does not start.
    pub(crate) fn start(name: &str, origin: SocketAddr) -> Outcome<Self> {
        let programs = Programs::find(Some(name), Build::Release)?;
        let cases = cases::chosen(&[])?;
        let peer = programs
            .of(&[name])
            .into_iter()
            .next()
            .ok_or_else(|| format!("{name} is not installed"))?;
        let case = cases.first().ok_or("no cases")?;
        let place = Place::new("conformance")?;
        Ok(Self {
            server: programs.start(peer, case, &Origin::at(origin), &place)?,
            _place: place,
        })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address
    }
}
