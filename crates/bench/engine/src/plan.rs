//! How much load, and when.

use std::net::IpAddr;
use std::time::Duration;

use crate::endpoint::Endpoints;
use crate::pacer::Arrivals;

/// Everything that a run is told besides what its users do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where connections go.
    pub endpoints: Endpoints,
    /// Virtual users in all; of a plain load each is one connection.
    pub users: u32,
    /// Threads; users are dealt out to them in turn.
    pub threads: u32,
    /// The number of this machine's first thread among all machines', and how many there are in all.
    pub share: (u32, u32),
    /// The cores that threads are pinned to, in turn; empty for none.
    pub cores: Vec<usize>,
    /// The measured time, which begins after the warm-up.
    pub duration: Option<Duration>,
    /// The run ends when so many requests came to an end.
    pub requests: Option<u64>,
    /// What is measured before is dropped.
    pub warm_up: Duration,
    /// Users begin one after the other, evenly over this time.
    pub ramp: Duration,
    /// When requests are sent.
    pub pace: Pace,
    /// Requests under way at once on a connection.
    pub pipeline: u32,
    /// The longest that a response may take, counted from when its request was sent.
    pub timeout: Duration,
    /// The longest that opening a connection may take.
    pub connect_timeout: Duration,
    /// Local addresses that connections come from, in turn; empty leaves it to the system.
    pub sources: Vec<IpAddr>,
    /// Whether connections are opened before users have something to send.
    pub open_early: bool,
}

/// When requests are sent.
#[derive(Clone, Debug)]
pub enum Pace {
    /// Each user sends when it has the answer before.
    Closed,
    /// Requests are due at given times, whatever became of those before; durations count from
    /// when a request was due (so that a server that stalls cannot hide it: coordinated omission).
    Open(Arrivals),
}
