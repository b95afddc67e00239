//! `[session.NAME]`: stores of sessions.

use std::path::PathBuf;
use std::time::Duration;

use super::{ListenAddress, ServerTls};

/// One store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Where clients connect.
    pub addresses: Vec<ListenAddress>,
    /// The permissions of the Unix sockets among them.
    pub socket_mode: u32,
    /// The directory it is kept in; `None`: in memory only.
    pub path: Option<PathBuf>,
    /// Bytes that its table may take.
    pub memory_bytes: u64,
    /// When a write is on disk.
    pub durability: Durability,
    /// What happens to a write when the memory is spent.
    pub full: Full,
    /// Bytes that keys and values may take in all.
    pub quota_bytes: Option<u64>,
    /// The longest value.
    pub max_item_bytes: u64,
    /// What half-sent commands and unread answers of all connections may take.
    pub buffers_bytes: u64,
    /// Connections at once.
    pub max_connections: usize,
    /// A connection that has sent no command for so long is closed.
    pub idle_timeout: Option<Duration>,
    /// How long a client may take over half a command, or over taking an answer.
    pub stalled_timeout: Duration,
    /// The user's name that goes with the token; `None`: any.
    pub user: Option<String>,
    /// What clients must show.
    pub token: Option<String>,
    /// Connections are encrypted.
    pub tls: Option<ServerTls>,
}

/// `session.durability`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Before it is answered.
    Always,
    /// Within a second.
    Interval,
    /// Whenever the operating system likes.
    Never,
}

/// `session.full`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// What was not read for long goes.
    Evict,
    /// Values that were not read for long leave memory.
    Spill,
    /// Writes are refused.
    Refuse,
}

impl Default for Session {
    fn default() -> Self {
        Self {
            addresses: Vec::new(),
            socket_mode: 0o660,
            path: None,
            memory_bytes: 256 << 20,
            durability: Durability::Never,
            full: Full::Refuse,
            quota_bytes: None,
            max_item_bytes: 1 << 20,
            buffers_bytes: 256 << 20,
            max_connections: 65_536,
            idle_timeout: None,
            stalled_timeout: Duration::from_secs(60),
            user: None,
            token: None,
            tls: None,
        }
    }
}
