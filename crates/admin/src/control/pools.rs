//! Pools with their servers, and applications with their processes.

use serde::Serialize;

/// A pool.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PoolState {
    /// Its name.
    pub name: String,
    /// Its servers.
    pub servers: Vec<PoolServer>,
}

/// A server of a pool.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PoolServer {
    /// Its address as configured, or its name where it opens the connections.
    pub server: String,
    /// What its name resolves to.
    pub addresses: Vec<String>,
    /// `up`, `draining`, `down` (the operator said so), `unhealthy` (active checks say so),
    /// `failed` (it failed requests in a row), `ejected` (it answers worse than others).
    pub state: String,
    /// Who put it in the pool: `file`, `operator`, `program` (a process, a back end that joined,
    /// a service's name).
    pub owner: String,
    /// Its share, relative to the others'.
    pub weight: u32,
    /// Servers of a greater number are used only when none of a smaller one can be.
    pub priority: u8,
    /// Where it stands.
    pub zone: Option<String>,
    /// Requests it may be working on at once; `None`: any number.
    pub max_connections: Option<u64>,
    /// Whether it could not be reached lately.
    pub failed: bool,
    /// Requests it is working on.
    pub active: u64,
    /// Requests sent to it.
    pub requests: Option<u64>,
    /// Of them failed, timeouts included.
    pub errors: Option<u64>,
    /// Its responses with a status of 500 or above.
    pub failures: Option<u64>,
    /// Requests of it that were given to another server or connection, because it failed them.
    pub retries: Option<u64>,
    /// Requests that had waited in the pool's queue before they were given to it.
    pub waits: Option<u64>,
    /// From the request sent to the head of the answer, microseconds: the mean.
    pub mean_us: Option<u64>,
    /// The median.
    pub p50_us: Option<u64>,
    /// The 99th percentile.
    pub p99_us: Option<u64>,
}

/// What became of a [`ServerOrder`](super::ServerOrder).
#[derive(Debug, Clone, Default, Serialize)]
pub struct ServerChanged {
    /// How long it holds: `now` (until a reload says otherwise), `reloads` (until the process
    /// ends), `restarts`.
    pub holds: String,
    /// The server as it is now; `None`: it is not in the pool any more.
    pub server: Option<PoolServer>,
}

/// An application.
#[derive(Debug, Clone, Default, Serialize)]
pub struct AppState {
    /// Its name, which is its pool's as well.
    pub name: String,
    /// How many processes there should be now.
    pub wanted: u32,
    /// How many there may be at least.
    pub least: u32,
    /// How many there may be at most.
    pub most: u32,
    /// Processes that were started because another one had failed.
    pub restarts: u64,
    /// Failures in a row; above 1 there is a pause before the next start.
    pub failures: u32,
    /// Its processes.
    pub processes: Vec<ProcessState>,
}

/// A process of an application.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ProcessState {
    /// What `{instance}` was replaced with.
    pub number: u32,
    /// Its process id; `None`: not known yet.
    pub pid: Option<u32>,
    /// `starting`, `ready`, `draining`, `stopping`, `failed`.
    pub state: String,
    /// Where it is as a server of the pool.
    pub address: String,
    /// Bytes resident, its children's included, when it was looked last.
    pub memory_bytes: u64,
    /// Requests it is working on.
    pub active: u64,
    /// Requests it was sent.
    pub requests: u64,
    /// Seconds since it was started.
    pub uptime_s: u64,
}
