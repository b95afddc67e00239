//! Between a store and the threads that serve its clients: who answers, who is told when an
//! answer may go on, and what the clients did.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::counts::Counts;
use crate::engine::{Commit, Engine, Ticket};

/// A store that several threads serve.
pub trait Backend: Send + Sync + 'static {
    /// What one thread speaks to.
    type Engine: Engine;

    /// The engine of one more thread. Whatever it has to wait for is told to `calls`; what the
    /// thread's clients do stands in `traffic`. Asked for once for each thread, for as long as
    /// the program runs.
    fn engine(self: &Arc<Self>, calls: Arc<dyn Calls>, traffic: Arc<Traffic>) -> Self::Engine;

    /// Whether answers that wait for this commit may go.
    fn progress(&self, commit: Commit) -> Progress;

    /// Answers wait for this commit: it is brought about now. When something has changed, all
    /// threads' [`Calls::progressed`] are called.
    fn push(&self, commit: Commit);
}

/// How far a commit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// As durable as the operator wants it.
    Durable,
    /// Not yet.
    Pending,
    /// It cannot be said that it ever will be: who waits for it gets no answer.
    Failed,
}

/// How a thread is reached from others. Every call returns at once and wakes the thread.
pub trait Calls: Send + Sync {
    /// What waited for this ticket can go on.
    fn call(&self, ticket: Ticket);

    /// [`Backend::progress`] may say something else now.
    fn progressed(&self);
}

/// What the clients of one thread did: written by that thread only, read by any.
#[derive(Debug, Default)]
pub struct Traffic {
    connections: AtomicU64,
    connections_total: AtomicU64,
    connections_refused: AtomicU64,
    bytes_read: AtomicU64,
    bytes_written: AtomicU64,
    counts: parking_lot::Mutex<Counts>,
}

/// What they did, as numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clients {
    /// How many are connected.
    pub connections: u64,
    /// How many were.
    pub connections_total: u64,
    /// How many were sent away for want of room.
    pub connections_refused: u64,
    /// How many bytes they sent.
    pub bytes_read: u64,
    /// How many they were sent.
    pub bytes_written: u64,
    /// What they asked for.
    pub counts: Counts,
}

impl Traffic {
    /// One more is connected.
    pub fn opened(&self) {
        add(&self.connections, 1);
        add(&self.connections_total, 1);
    }

    /// One has gone.
    pub fn closed(&self) {
        let before = self.connections.load(Relaxed);
        self.connections.store(before.saturating_sub(1), Relaxed);
    }

    /// One was sent away.
    pub fn refused(&self) {
        add(&self.connections_refused, 1);
    }

    /// Adds what was read and written, in bytes, and what was asked for, since the last call.
    pub fn add(&self, bytes_read: u64, bytes_written: u64, counts: &Counts) {
        add(&self.bytes_read, bytes_read);
        add(&self.bytes_written, bytes_written);
        let mut sum = self.counts.lock();
        *sum = sum.plus(counts);
    }

    /// All of it.
    pub fn clients(&self) -> Clients {
        Clients {
            connections: self.connections.load(Relaxed),
            connections_total: self.connections_total.load(Relaxed),
            connections_refused: self.connections_refused.load(Relaxed),
            bytes_read: self.bytes_read.load(Relaxed),
            bytes_written: self.bytes_written.load(Relaxed),
            counts: *self.counts.lock(),
        }
    }
}

/// There is one writer, so that a plain store will do.
fn add(sum: &AtomicU64, more: u64) {
    sum.store(sum.load(Relaxed).wrapping_add(more), Relaxed);
}

impl Clients {
    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            connections: self.connections + other.connections,
            connections_total: self.connections_total + other.connections_total,
            connections_refused: self.connections_refused + other.connections_refused,
            bytes_read: self.bytes_read + other.bytes_read,
            bytes_written: self.bytes_written + other.bytes_written,
            counts: self.counts.plus(&other.counts),
        }
    }
}
