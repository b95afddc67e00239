//! What is compared, and what Forebay must reach.

use crate::Outcome;

/// One comparison.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) name: &'static str,
    /// What the reader of the report should know.
    pub(super) what: &'static str,
    pub(super) body_bytes: usize,
    pub(super) work: Work,
    /// In the order of their turns.
    pub(super) servers: &'static [&'static str],
    pub(super) targets: &'static [Target],
    pub(super) measured: Measured,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measured {
    /// The servers' processor time for a request.
    Processor,
    /// Throughput with few and with many connections, and the memory of idle ones.
    Connections,
    /// Writes a second that are on disk when they are answered.
    Durable,
}

/// What Forebay does for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// It answers from the cache.
    Hits,
    /// It looks it up and asks the origin, which lets nothing be stored.
    Misses,
    /// It hands it on: nothing is looked up or stored.
    Passes,
    /// It answers with a file.
    Files,
    /// It hands it on to PHP, over FastCGI.
    FastCgi,
    /// It carries out commands of memcached (Redis its own of the same meaning), with these
    /// arguments of `forebay bench kv`.
    Commands(&'static [&'static str]),
}

/// Forebay's processor time for a request is at most `at_most` times that of `server`.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) server: &'static str,
    pub(super) at_most: f64,
}

const fn target(server: &'static str, at_most: f64) -> Target {
    Target { server, at_most }
}

/// Processes of PHP behind each server.
pub(super) const PHP_PROCESSES: usize = 10;

/// What Forebay must reach where the origin answers.
const PASSED_ON: &[Target] = &[
    target("haproxy", 0.9),
    target("nginx-default", 0.9),
    target("nginx", 0.9),
];

const CASES: &[Case] = &[
    Case {
        name: "hit-6k",
        what: "a hit of 6 KB from memory, 64 keep-alive connections",
        body_bytes: 6144,
        work: Work::Hits,
        servers: &["floor", "forebay", "nginx", "varnish", "haproxy", "squid"],
        targets: &[
            target("floor", 1.2),
            target("nginx", 0.7),
            target("varnish", 0.5),
        ],
        measured: Measured::Processor,
    },
    Case {
        name: "hit-75k",
        what: "a hit of 75 KB from memory, 64 keep-alive connections",
        body_bytes: 76_800,
        work: Work::Hits,
        servers: &["floor", "forebay", "nginx", "varnish", "haproxy"],
        targets: &[target("varnish", 0.95), target("haproxy", 0.95)],
        measured: Measured::Processor,
    },
    Case {
        name: "miss-6k",
        what: "a response of 6 KB that may not be stored, passed through from an origin that keeps connections open",
        body_bytes: 6144,
        work: Work::Misses,
        servers: &["forebay", "nginx", "nginx-default", "haproxy", "varnish"],
        targets: PASSED_ON,
        measured: Measured::Processor,
    },
    Case {
        name: "pass-6k",
        what: "a response of 6 KB from an origin that keeps connections open, without a cache",
        body_bytes: 6144,
        work: Work::Passes,
        servers: &["forebay", "nginx", "nginx-default", "haproxy"],
        targets: PASSED_ON,
        measured: Measured::Processor,
    },
    Case {
        name: "file-6k",
        what: "a file of 6 KB, 64 keep-alive connections",
        body_bytes: 6144,
        work: Work::Files,
        servers: &["forebay", "h2o", "nginx"],
        targets: &[target("h2o", 1.0), target("nginx", 0.8)],
        measured: Measured::Processor,
    },
    Case {
        name: "fastcgi-6k",
        what: "a page of 6 KB by PHP-FPM with ten processes behind a Unix socket, 10 keep-alive connections",
        body_bytes: 6144,
        work: Work::FastCgi,
        servers: &["forebay", "lighttpd", "nginx", "nginx-default"],
        targets: &[
            target("lighttpd", 0.9),
            target("nginx-default", 0.9),
            target("nginx", 0.9),
        ],
        measured: Measured::Processor,
    },
    Case {
        name: "kv-mixed",
        what: "nine reads to one write of 1 KB values, one command at a time on each of 64 connections",
        body_bytes: 1024,
        work: Work::Commands(&["--ratio", "9:1"]),
        servers: &["forebay", "memcached", "redis"],
        targets: &[target("memcached", 1.0), target("redis", 0.8)],
        measured: Measured::Processor,
    },
    Case {
        name: "kv-pipelined",
        what: "the same with 16 commands under way on each connection",
        body_bytes: 1024,
        work: Work::Commands(&["--ratio", "9:1", "--pipeline", "16"]),
        servers: &["forebay", "memcached", "redis"],
        targets: &[target("memcached", 0.6), target("redis", 0.8)],
        measured: Measured::Processor,
    },
    Case {
        name: "kv-multiget",
        what: "reads of ten 1 KB values at once, 64 connections",
        body_bytes: 1024,
        work: Work::Commands(&["--ratio", "1:0", "--multiget", "10"]),
        servers: &["forebay", "memcached"],
        targets: &[target("memcached", 0.6)],
        measured: Measured::Processor,
    },
    Case {
        name: "kv-always",
        what: "writes of 1 KB values over 64 connections, each on disk before it is answered",
        body_bytes: 1024,
        work: Work::Commands(&[]),
        servers: &["forebay", "redis"],
        targets: &[],
        measured: Measured::Durable,
    },
    Case {
        name: "connections",
        what: "hits of 20 KB over 500 and over 10,000 keep-alive connections, and the memory that idle ones take",
        body_bytes: 20_480,
        work: Work::Hits,
        servers: &["floor", "forebay", "nginx", "varnish", "haproxy"],
        targets: &[],
        measured: Measured::Connections,
    },
];

impl Case {
    /// Whether the answers come from the cache.
    pub(super) fn hits(&self) -> bool {
        self.work == Work::Hits
    }

    /// What the origin states.
    pub(super) fn cache_control(&self) -> &'static str {
        match self.hits() {
            true => "public, max-age=86400",
            false => "no-store",
        }
    }

    /// What is asked for.
    pub(super) fn path(&self) -> &'static str {
        match self.work {
            Work::FastCgi => "/object.php",
            _ => "/object",
        }
    }

    /// Connections of the client: as many as there are processes to answer where each answers one
    /// request at a time.
    pub(super) fn clients(&self) -> usize {
        match self.work {
            Work::FastCgi => PHP_PROCESSES,
            _ => 64,
        }
    }
}

/// The cases called `names`; all when there are none.
///
/// # Errors
/// A name that is not known.
pub(super) fn chosen(names: &[String]) -> Outcome<Vec<&'static Case>> {
    if let Some(name) = names
        .iter()
        .find(|n| CASES.iter().all(|c| c.name != n.as_str()))
    {
        let known: Vec<_> = CASES.iter().map(|c| c.name).collect();
        return Err(format!("{name}: no such case; there are {}", known.join(", ")).into());
    }
    Ok(CASES
        .iter()
        .filter(|c| names.is_empty() || names.iter().any(|n| n == c.name))
        .collect())
}
