//! How applications are, for those who ask.

/// One application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppStatus {
    /// Its name, which is its pool's as well.
    pub name: String,
    /// How many processes there should be now.
    pub wanted: u32,
    /// How many there may be, least and most.
    pub bounds: (u32, u32),
    /// Processes that were started because another one had failed.
    pub restarts: u64,
    /// Failures in a row; above 1 there is a pause before the next start.
    pub failures: u32,
    /// Its processes, by number.
    pub instances: Vec<InstanceStatus>,
}

/// One process of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceStatus {
    /// What `{instance}` was replaced with.
    pub number: u32,
    /// Its process id; `None`: not known yet.
    pub pid: Option<u32>,
    /// What it is doing.
    pub state: InstanceState,
    /// Where it is as a server of the pool.
    pub address: String,
    /// Bytes resident, its children's included, when it was looked last.
    pub memory_bytes: u64,
    /// Requests it is working on.
    pub active: u64,
    /// Requests it was sent.
    pub requests: u64,
    /// Since it was started.
    pub uptime_seconds: u64,
}

/// What a process of an application is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstanceState {
    /// Started, and not ready yet.
    Starting,
    /// A server of the pool.
    Ready,
    /// Finishes its requests and gets no more.
    Draining,
    /// Told to end.
    Stopping,
    /// Ended by itself, or did not get ready; the rest of it is being cleared away.
    Failed,
}

impl InstanceState {
    /// Its name in answers of the administration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Draining => "draining",
            Self::Stopping => "stopping",
            Self::Failed => "failed",
        }
    }
}
