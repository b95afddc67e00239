//! A write-ahead log: records one after another, found by their place alone.
//!
//! For an owner whose table in memory is the index. [`Wal::append`] copies a
//! record into a buffer and says at once where it will lie; a thread brings it
//! to the disk, and tells up to which [`Position`] what was appended is as
//! durable as [`Sync`] promises. [`Recovery::run`] gives all records back in
//! the same order. What they mean is the owner's affair.
//!
//! Space is taken and given back by segments. To compact, the owner
//! [walks](Wal::walk) through the oldest, appends again what still counts, and
//! [removes](Wal::remove) it. As the oldest always goes first, a record that
//! was replaced is never on disk without the one that replaced it.
//!
//! The format is described in `docs/store-format.md`.

mod bell;
mod buffer;
mod core;
mod disk;
mod errors;
#[cfg(test)]
mod faults;
mod figures;
mod format;
mod open;
mod options;
mod place;
mod read;
mod recover;
mod scan;
mod segment;
mod unsynced;
mod upkeep;
mod writer;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::*;
use std::thread::JoinHandle;

use parking_lot::Mutex;

pub use self::core::State;
pub use self::errors::{Error, ReadError, Trouble};
pub use self::figures::{Figures, SegmentFigures};
pub use self::format::RECORD_MOST;
pub use self::options::{BUFFER_USUAL, Options, Sync};
pub use self::place::{Place, Position};
pub use self::read::Walked;
pub use self::recover::{Recovered, Recovery};
pub use self::upkeep::Snapshot;
pub use crate::Wait;
pub use crate::errors::OpenError;

use self::core::Core;
use self::format::Head;

/// A log in a directory. When it is dropped, it is closed.
pub struct Wal {
    core: Arc<Core>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Wal {
    /// Appends a record, whose payload is the parts one after another, and says
    /// where it will lie. It can be read from now on.
    ///
    /// Memory only: it waits for nothing but other appends, so the order of
    /// calls is the order of records. It never fails; how far the disk is
    /// behind is told by [`state`](Self::state). After
    /// [`close`](Self::close), what is appended is not written any more.
    ///
    /// # Panics
    ///
    /// If the payload is longer than [`RECORD_MOST`], which is the owner's to
    /// prevent.
    pub fn append(&self, parts: &[&[u8]]) -> Place {
        let head = head_of(parts);
        debug_assert!(
            self.core.recovered.load(Relaxed),
            "appended before recovery"
        );
        let marks = &self.core.marks;
        let (place, full) = {
            let mut tail = self.core.tail.lock();
            let (place, full) = tail.append(parts, head);
            let position = tail.position();
            marks.appended.store(position, Release);
            if full {
                let before = position - place.disk_bytes();
                marks.wanted.fetch_max(before, SeqCst);
            }
            (place, full)
        };
        if full {
            self.core.bell.ring_if_asleep();
        }
        place
    }

    /// The end of what was appended.
    pub fn position(&self) -> Position {
        Position(self.core.marks.appended.load(Acquire))
    }

    /// Up to where what was appended would survive the end of the process.
    pub fn written(&self) -> Position {
        Position(self.core.marks.written.load(Acquire))
    }

    /// Up to where what was appended would survive the loss of power.
    pub fn synced(&self) -> Position {
        Position(self.core.marks.synced.load(Acquire))
    }

    /// Up to where what was appended is as durable as it will be without being
    /// asked: [`synced`](Self::synced), or under [`Sync::Never`]
    /// [`written`](Self::written).
    pub fn durable(&self) -> Position {
        Position(self.core.durable())
    }

    /// Somebody waits for what was appended so far. Cheap when the writer is at
    /// work already. Under [`Sync::Every`] and [`Sync::Never`] nothing happens:
    /// there the interval is what was promised.
    pub fn push(&self) {
        if self.core.sync == Sync::Always {
            let marks = &self.core.marks;
            let position = marks.appended.load(Acquire);
            marks.wanted.fetch_max(position, SeqCst);
            self.core.bell.ring_if_asleep();
        }
    }

    /// Somebody waits for what was appended up to a position to be synced,
    /// whatever is promised otherwise: the writer does it now. When it is done,
    /// [`synced`](Self::synced) is there, and listeners are
    /// [notified](Self::notify).
    pub fn ask(&self, position: Position) {
        self.core.marks.asked.fetch_max(position.0, SeqCst);
        self.core.bell.ring_if_asleep();
    }

    /// Waits until what was appended up to a position is durable. For those who
    /// can wait; others are [notified](Self::notify).
    pub fn wait(&self, position: Position) -> Result<(), Error> {
        if self.durable() >= position {
            return Ok(());
        }
        self.push();
        self.core.done.until(|| {
            if self.durable() >= position {
                return Some(Ok(()));
            }
            let refused = self.state() == State::Failing;
            let over = refused || self.core.stopped.load(Acquire);
            over.then(|| Err(self.core.last_trouble().into()))
        })
    }

    /// Waits until all that was appended is synced, whatever is promised
    /// otherwise. If the disk refuses, that is told, and the log goes on trying.
    pub fn sync(&self) -> Result<(), Error> {
        let position = self.position();
        Ok(self.core.settle(position.0, 0)?)
    }

    /// How the log is doing.
    pub fn state(&self) -> State {
        self.core.state()
    }

    /// What the disk said last when it refused, for a message.
    pub fn trouble(&self) -> Option<Trouble> {
        self.core.trouble.lock().clone()
    }

    /// From now on `listener` is called by the writer's thread whenever
    /// [`durable`](Self::durable), [`synced`](Self::synced) or
    /// [`state`](Self::state) has changed. It must not wait, nor call `notify`.
    pub fn notify(&self, listener: Box<dyn Fn() + Send + std::marker::Sync>) {
        self.core.listeners.lock().push(listener);
    }

    /// Writes and syncs all that was appended, and ends the writer. If the disk
    /// refuses, what it did not take is lost with the process. Closing twice
    /// does nothing.
    pub fn close(&self) -> Result<(), Error> {
        let Some(thread) = self.thread.lock().take() else {
            return Ok(());
        };
        let position = self.position().0;
        self.core.stop.store(true, SeqCst);
        self.core.bell.ring();
        if let Err(panic) = thread.join() {
            std::panic::resume_unwind(panic);
        }
        if self.synced().0 < position || self.core.failing.load(Acquire) {
            return Err(self.core.last_trouble().into());
        }
        Ok(())
    }
}

fn head_of(parts: &[&[u8]]) -> Head {
    let (mut length, mut sum) = (0, 0);
    for part in parts {
        length += part.len();
        sum = crc32c::crc32c_append(sum, part);
    }
    assert!(length <= RECORD_MOST, "a record of {length} bytes");
    Head {
        length: length as u32,
        sum,
    }
}

impl Drop for Wal {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            tracing::error!("{error}; what was not written is lost");
        }
    }
}

impl fmt::Debug for Wal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wal")
            .field("path", &self.core.path)
            .field("figures", &self.figures())
            .finish_non_exhaustive()
    }
}
