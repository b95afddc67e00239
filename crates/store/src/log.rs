//! The log: what it consists of, and what can be asked of it at any time.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::*};

use parking_lot::{Mutex, RwLock};

use crate::append::Writer;
use crate::errors::WriteError;
use crate::extent::Extent;
use crate::index::{Found, Index};
use crate::open::Layout;
use crate::place::{Id, Place};
use crate::segment::{Health, Segment};
use crate::space::Space;

/// One directory of segments with its index. Lives until the program ends;
/// without [`close`](Self::close) the next start looks at the records of the
/// segment that was open.
#[derive(Debug)]
pub struct Log {
    pub(crate) layout: Layout,
    pub(crate) space: Arc<Space>,
    pub(crate) health: Arc<Health>,
    pub(crate) index: Index,
    /// All segments that have a name, by number.
    pub(crate) segments: RwLock<BTreeMap<u64, Arc<Segment>>>,
    pub(crate) writer: Mutex<Writer>,
    /// Held while a segment is recovered or reclaimed: one at a time.
    pub(crate) maintenance: Mutex<()>,
    /// What was removed before recovery was done, so that no older copy of it
    /// is put into the index. Nothing afterwards.
    pub(crate) removed: Mutex<Option<HashSet<Id>>>,
    pub(crate) recovered: AtomicBool,
    /// Keeps other processes out for as long as it is open.
    pub(crate) _lock: File,
}

/// Figures of a log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    /// What the segments may take on disk, in bytes: the configured size
    /// without what is left for other files, or what a full disk left.
    pub limit_bytes: u64,
    /// What the segments take, those included that are gone and still read.
    pub used_bytes: u64,
    /// Bytes of records that are referred to.
    pub live_bytes: u64,
    /// Entries in the index.
    pub entries: u64,
    /// Memory that the index takes.
    pub index_bytes: u64,
    /// Segments that have a name.
    pub segments: u64,
    /// Length of a new segment.
    pub segment_bytes: u64,
    /// Reads that met a damaged record.
    pub corrupt: u64,
    /// The disk was given up.
    pub failed: bool,
    /// All that was on disk at the start has been found.
    pub recovered: bool,
}

/// Figures of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentFigures {
    /// Its number; the lowest is the oldest.
    pub number: u64,
    /// Length of its file.
    pub bytes: u64,
    /// Bytes of its records that are referred to. Nothing before it was recovered.
    pub live_bytes: u64,
    /// It is appended to, or being closed.
    pub open: bool,
}

impl Log {
    /// All variants that are stored under a key.
    pub fn find(&self, key: u64) -> Found {
        self.index.find(key)
    }

    /// Notes that an entry was of use; its heat goes up to 3.
    pub fn touch(&self, id: Id) {
        self.index.touch(id);
    }

    /// Takes an entry out of the index, if it is (still) at `place` where one
    /// is given. True if it was there.
    ///
    /// The record stays on disk: after a restart the entry is there again,
    /// unless it was replaced or its segment reclaimed.
    pub fn remove(&self, id: Id, place: Option<Place>) -> bool {
        // The lock is held over both steps, or recovery might come between.
        let mut removed = self.removed.lock();
        let before = self.index.remove(id, place);
        if before.is_some() || place.is_none() {
            removed.iter_mut().for_each(|ids| {
                ids.insert(id);
            });
        }
        drop(removed);
        before.inspect(|place| self.release(*place)).is_some()
    }

    /// Says that a piece is no longer referred to. Only figures depend on it.
    pub fn release(&self, place: Place) {
        if let Some(segment) = self.segment(place.segment) {
            segment.remove_live(place.bytes);
        }
    }

    /// The record at a place, for reading. Nothing if its segment is gone.
    pub fn extent(&self, place: Place) -> Option<Extent> {
        Some(Extent::new(self.segment(place.segment)?, place))
    }

    pub(crate) fn segment(&self, number: u64) -> Option<Arc<Segment>> {
        self.segments.read().get(&number).map(Arc::clone)
    }

    /// Whether reads that must not wait work here (`RWF_NOWAIT`). Where they
    /// do not, they always answer nothing.
    pub fn reads_at_once(&self) -> bool {
        self.health.at_once.load(Relaxed)
    }

    /// The disk was given up: nothing is read or written any more.
    pub fn is_failed(&self) -> bool {
        self.health.is_failed()
    }

    /// Gives the disk up.
    pub fn fail(&self) {
        self.health.fail(self.path(), "given up", &"as told");
    }

    /// [`recover`](Self::recover) has gone through all segments.
    pub fn is_recovered(&self) -> bool {
        self.recovered.load(Acquire)
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.layout.path
    }

    /// Length of a new segment in bytes.
    pub fn segment_bytes(&self) -> u64 {
        self.layout.segment_bytes
    }

    /// How many bytes of the configured size are left for the owner's own files
    /// in the directory, such as a journal.
    pub fn spare_bytes(&self) -> u64 {
        self.layout.spare_bytes
    }

    /// Number of entries in the index.
    pub fn entries(&self) -> u64 {
        self.index.len()
    }

    /// Figures of the whole.
    pub fn figures(&self) -> Figures {
        let segments = self.segments.read();
        Figures {
            limit_bytes: self.space.limit(),
            used_bytes: self.space.taken(),
            live_bytes: segments.values().map(|segment| segment.live()).sum(),
            entries: self.index.len(),
            index_bytes: self.index.bytes(),
            segments: segments.len() as u64,
            segment_bytes: self.segment_bytes(),
            corrupt: self.health.corrupt.load(Relaxed),
            failed: self.is_failed(),
            recovered: self.is_recovered(),
        }
    }

    /// Figures of each segment, the oldest first.
    pub fn segments(&self) -> Vec<SegmentFigures> {
        let segments = self.segments.read();
        let figures = segments.values().map(|segment| SegmentFigures {
            number: segment.number,
            bytes: segment.bytes(),
            live_bytes: segment.live(),
            open: !segment.is_closed(),
        });
        figures.collect()
    }

    /// Waits until everything appended so far is on disk.
    pub fn sync(&self) -> Result<(), WriteError> {
        if self.is_failed() {
            return Err(WriteError::Failed);
        }
        let unsynced: Vec<Arc<Segment>> = {
            let segments = self.segments.read();
            let open = segments.values().filter(|segment| !segment.is_closed());
            open.map(Arc::clone).collect()
        };
        for segment in unsynced {
            segment
                .sync()
                .map_err(|error| self.write_failed("syncing", error))?;
        }
        Ok(())
    }

    /// A clean stop: the open segment gets its footer, everything is on disk,
    /// and nothing is appended any more. Reading goes on.
    pub fn close(&self) -> Result<(), WriteError> {
        let open = {
            let mut writer = self.writer.lock();
            writer.closed = true;
            writer.open.take()
        };
        match open {
            Some(open) if open.is_empty() => {
                self.segments.write().remove(&open.segment.number);
                let _ = open.segment.unlink();
            }
            open => self.close_segments(open.into_iter().collect()),
        }
        self.sync()
    }
}
