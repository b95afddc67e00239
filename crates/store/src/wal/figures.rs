//! What a log says about itself.

use std::sync::atomic::{AtomicU64, Ordering::*};
use std::time::Duration;

use super::Wal;

/// Counters of the writer.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) syncs: AtomicU64,
    pub(super) failures: AtomicU64,
    pub(super) rebuilt: AtomicU64,
    pub(super) corrupt: AtomicU64,
    pub(super) last_sync_us: AtomicU64,
    pub(super) longest_sync_us: AtomicU64,
}

impl Counts {
    pub(super) fn synced(&self, took: Duration) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.syncs.fetch_add(1, Relaxed);
        self.last_sync_us.store(us, Relaxed);
        self.longest_sync_us.fetch_max(us, Relaxed);
    }
}

/// A log at a moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    /// Length of all segments' files, with what was taken beforehand.
    pub disk_bytes: u64,
    /// Segments on disk.
    pub segments: usize,
    /// Bytes of records that are not yet as durable as promised.
    pub waiting_bytes: u64,
    /// Memory that the buffers take.
    pub buffer_bytes: usize,
    /// Bytes of records written since it was opened.
    pub written_bytes: u64,
    /// Syncs since it was opened.
    pub syncs: u64,
    /// Attempts that the disk refused.
    pub failures: u64,
    /// Files that were written anew after a sync had failed.
    pub rebuilt: u64,
    /// Records that were found damaged when they were read.
    pub corrupt: u64,
    /// How long the last sync took, in microseconds.
    pub last_sync_us: u64,
    /// How long the longest sync took, in microseconds.
    pub longest_sync_us: u64,
}

/// One segment at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentFigures {
    /// Its number.
    pub number: u32,
    /// Where its records end, in bytes.
    pub bytes: u64,
    /// It is still appended to, and can be neither walked nor removed.
    pub open: bool,
}

impl Wal {
    /// The log at this moment.
    pub fn figures(&self) -> Figures {
        let core = &self.core;
        let (segments, disk_bytes) = {
            let segments = core.segments.read();
            let bytes = segments.values().map(|one| one.length()).sum();
            (segments.len(), bytes)
        };
        let counts = &core.counts;
        Figures {
            disk_bytes,
            segments,
            waiting_bytes: core.waiting(),
            buffer_bytes: core.tail.lock().memory(),
            written_bytes: core.marks.written.load(Relaxed),
            syncs: counts.syncs.load(Relaxed),
            failures: counts.failures.load(Relaxed),
            rebuilt: counts.rebuilt.load(Relaxed),
            corrupt: counts.corrupt.load(Relaxed),
            last_sync_us: counts.last_sync_us.load(Relaxed),
            longest_sync_us: counts.longest_sync_us.load(Relaxed),
        }
    }

    /// The segments, oldest first. The last one may exist in memory only.
    pub fn segments(&self) -> Vec<SegmentFigures> {
        let (number, end) = self.core.tail.lock().end();
        let segments = self.core.segments.read();
        let mut all: Vec<SegmentFigures> = segments
            .values()
            .map(|one| SegmentFigures {
                number: one.number,
                bytes: if one.number == number { end } else { one.end() },
                open: !one.is_closed(),
            })
            .collect();
        let empty = end == u64::from(super::format::FIRST);
        if !empty && !segments.contains_key(&number) {
            all.push(SegmentFigures {
                number,
                bytes: end,
                open: true,
            });
        }
        all
    }
}
