//! `[app.NAME]`: processes of an application, which Forebay starts, watches and ends.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::Protocol;

/// One application. Its processes are the servers of the pool of the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct App {
    /// The program and its arguments; in them `{socket}`, `{port}`, `{instance}` are replaced.
    pub command: Vec<String>,
    /// Where it is started. `None`: where Forebay was.
    pub directory: Option<PathBuf>,
    /// Variables over those that Forebay has; with the same replacements.
    pub environment: BTreeMap<String, String>,
    /// The user (and the user's groups) it runs as. `None`: as Forebay does.
    pub user: Option<String>,
    /// How many processes there are at least, and at most.
    pub instances: (u32, u32),
    /// What they speak.
    pub protocol: Protocol,
    /// Requests at once in each process; the rest wait in the pool's queue.
    pub max_connections: Option<usize>,
    /// Path of a request that must be answered with 200 … 399 before a process is used; `None`:
    /// that it accepts a connection is enough.
    pub ready: Option<String>,
    /// Within this time; else it is ended and started again.
    pub start_timeout: Duration,
    /// From SIGTERM to SIGKILL.
    pub stop_timeout: Duration,
    /// A process that has had nothing to do for so long is ended, down to the least number.
    pub idle_timeout: Duration,
    /// Another process is started when a request has waited so long for one.
    pub queue_time: Duration,
    /// Resident bytes, its children's included, above which a process is replaced.
    pub memory: Option<u64>,
    /// Requests after which a process is replaced.
    pub max_requests: Option<u64>,
    /// From the first restart after a failure to the next, doubled each time, up to `backoff_max`.
    pub backoff: Duration,
    /// The longest such pause.
    pub backoff_max: Duration,
}

impl Default for App {
    fn default() -> Self {
        Self {
            command: Vec::new(),
            directory: None,
            environment: BTreeMap::new(),
            user: None,
            instances: (1, 1),
            protocol: Protocol::Http,
            max_connections: None,
            ready: None,
            start_timeout: Duration::from_secs(60),
            stop_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(300),
            queue_time: Duration::from_millis(100),
            memory: None,
            max_requests: None,
            backoff: Duration::from_secs(1),
            backoff_max: Duration::from_secs(60),
        }
    }
}
