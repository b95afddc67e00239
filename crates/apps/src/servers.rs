//! What the supervisor needs of the pools: members that come and go, and how busy they are.

use std::time::Duration;

use forebay_config::settings::ServerAddress;

/// The pools of the running configuration, as application processes need them. Called from the
/// supervisor's thread; nothing here may block for long.
pub trait Servers: Send + Sync {
    /// Makes `address` a server of `pool`: from now on it gets requests, those that wait first.
    /// One that is there already stays.
    ///
    /// # Errors
    /// When there is no such pool.
    fn add(&self, pool: &str, address: &ServerAddress) -> Result<(), String>;

    /// It gets no more requests, not even of users that are bound to it; those under way go on.
    fn drain(&self, pool: &str, address: &ServerAddress);

    /// It is no server of the pool any more; idle connections to it are closed.
    fn remove(&self, pool: &str, address: &ServerAddress);

    /// How busy it is; `None`: the pool does not have it.
    fn load(&self, pool: &str, address: &ServerAddress) -> Option<ServerLoad>;

    /// Who waits for a server of the pool.
    fn queue(&self, pool: &str) -> Queue;
}

/// How busy a server is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerLoad {
    /// Requests it is working on.
    pub active: u64,
    /// Requests it has been sent since it was added.
    pub requests: u64,
}

/// Requests that wait for a server of a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// How many.
    pub waiting: usize,
    /// How long the first of them has been waiting.
    pub longest: Duration,
}
