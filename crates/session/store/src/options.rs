//! What a store is made with.

use std::path::PathBuf;

pub use forebay_table::Full;

/// When a write is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Before it is answered; writes that wait share one wait for the disk.
    Always,
    /// At most a second later.
    Interval,
    /// Handed to the operating system within a second, which writes it when it likes: it survives
    /// the end of the program, not that of the machine.
    Never,
}

/// Where writes are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// The log's directory; it is created if it does not exist.
    pub path: PathBuf,
    /// When a write is there.
    pub durability: Durability,
    /// The length of a segment of the log, in bytes; by default a 32nd of the memory, from 1 to
    /// 64 MiB.
    pub segment_bytes: Option<u64>,
}

/// What a store is made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Its name, for messages.
    pub name: String,
    /// What the table may take, in bytes.
    pub memory_bytes: u64,
    /// What happens when it has. [`Full::Spill`] needs a disk.
    pub full: Full,
    /// The longest value, in bytes; longer ones are refused.
    pub item_bytes: usize,
    /// The most that keys and values may take, in memory and on disk, in bytes. It is compared a
    /// few times a second: writes that come in between may pass it.
    pub quota_bytes: Option<u64>,
    /// How many connections it may have; only told to clients.
    pub max_connections: u64,
    /// The port it is reached at; only told to clients.
    pub port: u16,
    /// `None`: it is all gone when the program ends.
    pub disk: Option<Disk>,
}
