//! Recovery: all records, oldest first, when a log is opened.
//!
//! A thread of its own reads ahead and verifies, while the caller's takes what
//! it finds; a few batches of 1 MiB go round between them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::core::Core;
use super::place::Place;
use super::scan::{Batch, Found, Scan};
use super::segment::Segment;

/// Batches that are read ahead.
const AHEAD: usize = 2;

/// What has to be gone through before anything is appended.
pub struct Recovery {
    pub(super) core: Arc<Core>,
    pub(super) segments: Vec<Arc<Segment>>,
    pub(super) set_aside: usize,
}

/// What recovery found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Segments that were gone through.
    pub segments: usize,
    /// Whole records.
    pub records: u64,
    /// Length of their payloads, in bytes.
    pub bytes: u64,
    /// Records that are lost because they are damaged. Where heads are damaged
    /// too, what lies between two whole records counts as one.
    pub damaged_records: u64,
    /// What they took, in bytes.
    pub damaged_bytes: u64,
    /// The log ended within a record, as after the loss of power: what was
    /// there of it was cut off.
    pub torn: bool,
    /// Files that were no segments any more. They are renamed to
    /// `NAME.damaged` and otherwise left alone.
    pub set_aside: usize,
    /// It was told to stop, and did not see everything.
    pub stopped: bool,
}

impl Recovery {
    /// Gives all records to `each`, in the order in which they were appended,
    /// on this thread. Nothing may be appended before it returns. When `stop`
    /// becomes true, it ends soon.
    pub fn run(self, stop: &AtomicBool, mut each: impl FnMut(Place, &[u8])) -> Recovered {
        let mut recovered = Recovered {
            set_aside: self.set_aside,
            ..Recovered::default()
        };
        std::thread::scope(|scope| {
            // Within the scope: however it is left, a reader that waits to hand
            // over the next batch then ends.
            let (full, batches) = sync_channel::<Batch>(AHEAD);
            let (back, empty) = sync_channel::<Batch>(AHEAD + 2);
            let found = &mut recovered;
            let (this, read) = (&self, Self::read);
            let reader = scope.spawn(move || read(this, stop, &full, &empty, found));
            for batch in &batches {
                if stop.load(Relaxed) {
                    break;
                }
                for (place, payload) in batch.records() {
                    each(place, payload);
                }
                let _ = back.try_send(batch);
            }
            drop(batches);
            if let Err(panic) = reader.join() {
                std::panic::resume_unwind(panic);
            }
        });
        recovered.stopped |= stop.load(Relaxed);
        self.core.recovered.store(true, Release);
        recovered
    }

    fn read(
        &self,
        stop: &AtomicBool,
        full: &SyncSender<Batch>,
        empty: &Receiver<Batch>,
        recovered: &mut Recovered,
    ) {
        for (n, segment) in self.segments.iter().enumerate() {
            let mut scan = Scan::new(Arc::clone(segment));
            loop {
                let mut batch = empty.try_recv().unwrap_or_default();
                if stop.load(Relaxed) {
                    recovered.stopped = true;
                    return;
                }
                if !scan.next(&mut batch) {
                    break;
                }
                if full.send(batch).is_err() {
                    recovered.stopped = true;
                    return;
                }
            }
            let last = n + 1 == self.segments.len();
            recovered.add(&scan.found, last);
            tidy(segment, &scan.found, last);
        }
    }
}

impl Recovered {
    fn add(&mut self, found: &Found, last: bool) {
        self.segments += 1;
        self.records += found.records;
        self.bytes += found.bytes;
        self.damaged_records += found.damaged_records;
        self.damaged_bytes += found.damaged_bytes;
        if found.torn_bytes > 0 && last {
            self.torn = true;
        } else if found.torn_bytes > 0 {
            self.damaged_records += 1;
            self.damaged_bytes += found.torn_bytes;
        }
    }
}

/// Logs what was wrong, and cuts off what is not a record: the space that was
/// taken beforehand, and in the last segment a torn end.
fn tidy(segment: &Segment, found: &Found, last: bool) {
    let path = segment.path.display();
    if found.damaged_records > 0 {
        tracing::warn!(
            "{path}: {} records in {} bytes are damaged and lost",
            found.damaged_records,
            found.damaged_bytes
        );
    }
    if found.torn_bytes > 0 && last {
        tracing::info!(
            "{path}: {} bytes of a torn end are cut off",
            found.torn_bytes
        );
    } else if found.torn_bytes > 0 {
        tracing::warn!("{path}: the last {} bytes are damaged", found.torn_bytes);
        return;
    }
    if found.unreadable || found.end >= segment.end() {
        return;
    }
    if let Err(trouble) = segment.cut(found.end) {
        tracing::warn!("{trouble}");
    }
}
