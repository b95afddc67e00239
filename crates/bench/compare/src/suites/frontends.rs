//! `frontends`: a page that costs, made by ten processes; what stands before
//! them decides how many requests each of them has at once, and how it is reached.

use std::time::Duration;

use super::{Case, Suite, timed};
use crate::comparison::{Measure, Original, OriginalRow};
use crate::servers::{PAGE, PAGE_BYTES, Role};

pub(super) const SUITE: Suite = Suite {
    name: "frontends",
    question: "What stands best before an application of ten processes that do one request at a time?",
    role: Role::Front,
    servers: &[
        "forebay-10-thin",
        "forebay-1-thin",
        "forebay-none-thin",
        "forebay-10-puma",
        "forebay-1-puma",
        "forebay-none-puma",
        "forebay-fcgi-tcp",
        "forebay-fcgi-socket",
        "forebay-dial-in-thin",
        "nginx-thin",
        "nginx-puma",
        "nginx-fcgi-tcp",
        "nginx-fcgi-socket",
        "haproxy-10-thin",
        "haproxy-1-thin",
        "haproxy-none-thin",
        "haproxy-10-puma",
        "haproxy-1-puma",
        "haproxy-none-puma",
        "lighttpd-thin",
        "lighttpd-puma",
        "lighttpd-fcgi-tcp",
        "lighttpd-fcgi-socket",
        "apache-thin",
        "apache-puma",
        "apache-fcgi-tcp",
        "apache-fcgi-socket",
        "apache-passenger",
    ],
    cases,
};

const CLIENTS: &[u64] = &[10, 30, 100, 300, 1_000];
const QUICK_CLIENTS: &[u64] = &[10, 100, 1_000];
/// What the original's mean over all its numbers of clients is set beside.
const ORIGINAL_CLIENTS: u64 = 100;

fn cases(quick: bool) -> Vec<Case> {
    let warm_up = format!("{{url}}{PAGE} -c 20 -n 400");
    vec![Case {
        name: "dynamic",
        about: "A page of 4 KiB that takes some milliseconds of processor time and then waits 5 ms, made by ten \
                processes that do one request at a time: Ruby behind thin and puma, PHP behind FastCGI; the work is \
                the same. All of them share the cores of the server with what stands before them."
            .into(),
        probe: PAGE.into(),
        answer_bytes: PAGE_BYTES,
        load: vec![format!("{{url}}{PAGE}")],
        // Processes that are started when they are wanted are there then, and code is compiled.
        warm_up: warm_up.split_whitespace().map(str::to_owned).collect(),
        keep_alive: true,
        measure: Measure::RequestsPerSecond,
        levels: if quick {
            timed(QUICK_CLIENTS, Duration::from_secs(2))
        } else {
            timed(CLIENTS, Duration::from_secs(10))
        },
        original: Some(original()),
        ..Case::default()
    }]
}

fn original() -> Original {
    let row = |server: &str, today: &str, figure: f64| OriginalRow {
        server: server.into(),
        today: today.into(),
        figures: vec![figure],
        success: Vec::new(),
    };
    Original {
        about: "2009, a Rails application of ten processes, the mean over 10 and more clients"
            .into(),
        unit: "requests/s".into(),
        factor: 1.0,
        clients: vec![ORIGINAL_CLIENTS],
        rows: vec![
            row(
                "lighttpd 1.5, FastCGI over TCP",
                "lighttpd-fcgi-tcp",
                215.33,
            ),
            row(
                "lighttpd 1.5, FastCGI over a socket",
                "lighttpd-fcgi-socket",
                214.65,
            ),
            row("lighttpd 1.5, Thin", "lighttpd-thin", 196.16),
            row(
                "Swiftiply, Mongrel that connects in",
                "forebay-dial-in-thin",
                191.33,
            ),
            row("HAProxy, Thin, limit 10", "haproxy-10-thin", 188.73),
            row(
                "Swiftiply, Thin that connects in",
                "forebay-dial-in-thin",
                178.96,
            ),
            row("Apache 2.2 prefork, Passenger", "apache-passenger", 173.02),
            row("HAProxy, Mongrel, limit 1", "haproxy-1-puma", 170.40),
            row("Apache 2.2 worker, Passenger", "apache-passenger", 163.90),
            row("lighttpd 1.5, Mongrel", "lighttpd-puma", 149.85),
            row("nginx, evented Mongrel", "nginx-thin", 149.78),
            row("nginx, Thin", "nginx-thin", 143.88),
            row("nginx, Mongrel", "nginx-puma", 138.86),
        ],
    }
}
