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
    /// Compares few and many connections instead of servers' processor time.
    pub(super) connections: bool,
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
        connections: false,
    },
    Case {
        name: "hit-75k",
        what: "a hit of 75 KB from memory, 64 keep-alive connections",
        body_bytes: 76_800,
        work: Work::Hits,
        servers: &["floor", "forebay", "nginx", "varnish", "haproxy"],
        targets: &[target("varnish", 0.95), target("haproxy", 0.95)],
        connections: false,
    },
    Case {
        name: "miss-6k",
        what: "a response of 6 KB that may not be stored, passed through from an origin that keeps connections open",
        body_bytes: 6144,
        work: Work::Misses,
        servers: &["forebay", "nginx", "nginx-default", "haproxy", "varnish"],
        targets: PASSED_ON,
        connections: false,
    },
    Case {
        name: "pass-6k",
        what: "a response of 6 KB from an origin that keeps connections open, without a cache",
        body_bytes: 6144,
        work: Work::Passes,
        servers: &["forebay", "nginx", "nginx-default", "haproxy"],
        targets: PASSED_ON,
        connections: false,
    },
    Case {
        name: "connections",
        what: "hits of 20 KB over 500 and over 10,000 keep-alive connections, and the memory that idle ones take",
        body_bytes: 20_480,
        work: Work::Hits,
        servers: &["floor", "forebay", "nginx", "varnish", "haproxy"],
        targets: &[],
        connections: true,
    },
];

impl Case {
    /// Whether the answers come from the cache.
    pub(super) fn hits(&self) -> bool {
        self.work == Work::Hits
    }

    /// What the origin states.
    pub(super) fn cache_control(&self) -> &'static str {
        match self.work {
            Work::Hits => "public, max-age=86400",
            Work::Misses | Work::Passes => "no-store",
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
