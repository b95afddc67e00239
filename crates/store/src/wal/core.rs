//! What the owner's threads and the writer share.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};

use parking_lot::{Mutex, RwLock};

use super::bell::{Bell, Done};
use super::buffer::Tail;
use super::disk::Disk;
use super::errors::Trouble;
use super::figures::Counts;
use super::options::Sync;
use super::segment::Segment;

/// How the log is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The disk keeps up.
    Good,
    /// More waits for the disk than the buffer is meant for.
    Behind,
    /// The disk refuses. What was appended is kept, and tried again.
    Failing,
}

/// How far things are, in bytes appended since the log was opened.
#[derive(Debug, Default)]
pub(super) struct Marks {
    pub(super) appended: AtomicU64,
    /// The writer shall wake up for it.
    pub(super) wanted: AtomicU64,
    pub(super) written: AtomicU64,
    /// Somebody waits for it to be synced, whatever is promised otherwise.
    pub(super) asked: AtomicU64,
    pub(super) synced: AtomicU64,
}

type Listener = Box<dyn Fn() + Send + std::marker::Sync>;

/// The state of a log.
pub(super) struct Core {
    pub(super) path: PathBuf,
    pub(super) sync: Sync,
    pub(super) segment_bytes: u32,
    pub(super) buffer_bytes: u64,
    pub(super) tail: Mutex<Tail>,
    /// The segments whose files are there.
    pub(super) segments: RwLock<BTreeMap<u32, Arc<Segment>>>,
    pub(super) marks: Marks,
    pub(super) bell: Bell,
    pub(super) done: Done,
    pub(super) stop: AtomicBool,
    pub(super) stopped: AtomicBool,
    pub(super) failing: AtomicBool,
    /// Rounds that the writer has begun, and the last one that failed.
    pub(super) rounds: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) trouble: Mutex<Option<Trouble>>,
    pub(super) counts: Counts,
    pub(super) listeners: Mutex<Vec<Listener>>,
    /// Held by whoever removes or copies segments.
    pub(super) maintenance: Mutex<()>,
    /// Reading with `RWF_NOWAIT` works on this file system.
    pub(super) at_once: bool,
    pub(super) disk: Disk,
    pub(super) recovered: AtomicBool,
    /// Segments from this number on are closed when asked for it.
    pub(super) closed_below: AtomicU32,
    pub(super) _lock: File,
}

impl Core {
    /// Up to where what was appended is as durable as promised.
    pub(super) fn durable(&self) -> u64 {
        match self.sync {
            Sync::Never(_) => self.marks.written.load(Acquire),
            Sync::Always | Sync::Every(_) => self.marks.synced.load(Acquire),
        }
    }

    /// Bytes that are kept in memory because they are not durable.
    pub(super) fn waiting(&self) -> u64 {
        let durable = self.durable();
        self.marks.appended.load(Acquire).saturating_sub(durable)
    }

    pub(super) fn state(&self) -> State {
        if self.failing.load(Acquire) {
            State::Failing
        } else if self.waiting() > self.buffer_bytes {
            State::Behind
        } else {
            State::Good
        }
    }

    /// Waits until what was appended up to a position is synced and segments
    /// below a number are closed. The writer tries at once, and if the disk
    /// refuses that, this is the answer.
    pub(super) fn settle(&self, position: u64, below: u32) -> Result<(), Trouble> {
        // The round that is under way may have begun before.
        let rounds = self.rounds.load(SeqCst);
        self.marks.asked.fetch_max(position, SeqCst);
        self.closed_below.fetch_max(below, SeqCst);
        self.bell.ring();
        self.done.until(|| {
            let synced = self.marks.synced.load(Acquire) >= position;
            if synced && self.are_closed(below) {
                return Some(Ok(()));
            }
            let refused = self.refused.load(Acquire) > rounds;
            let over = refused || self.stopped.load(Acquire);
            over.then(|| Err(self.last_trouble()))
        })
    }

    fn are_closed(&self, below: u32) -> bool {
        let segments = self.segments.read();
        segments
            .range(..below)
            .rev()
            .take(2)
            .all(|(_, one)| one.is_closed())
    }

    /// What the disk said last.
    pub(super) fn last_trouble(&self) -> Trouble {
        let said = self.trouble.lock().clone();
        said.unwrap_or_else(|| Trouble::new(&self.path, "closed", rustix::io::Errno::BADF))
    }

    pub(super) fn announce(&self) {
        self.done.announce();
        for listener in self.listeners.lock().iter() {
            listener();
        }
    }
}
