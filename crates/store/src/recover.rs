//! Finding again what is on disk, while the log is already in use.
//!
//! The newest segment comes first: what was stored last is what is asked for
//! first. An entry that the index already has at a later place stays as it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::*};

use crate::errors::ReadError;
use crate::log::Log;
use crate::place::Kind;
use crate::rows::{self, Rows};
use crate::segment::Segment;

/// What recovery found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Segments gone through.
    pub segments: u64,
    /// Those of them that had no (whole) footer, so that their records were read.
    pub scanned: u64,
    /// Entries put into the index.
    pub entries: u64,
    /// Pieces found.
    pub pieces: u64,
    /// Damaged records found in segments without a footer.
    pub damaged: u64,
    /// Segments that could not be read.
    pub unreadable: u64,
    /// It was told to stop before it was done.
    pub stopped: bool,
}

impl Log {
    /// Goes through all segments that were there when the log was opened and
    /// puts their entries into the index. Takes a while; to be called once, on
    /// a thread of its own, while the log is in use.
    pub fn recover(&self, stop: &AtomicBool) -> Recovered {
        let mut recovered = Recovered::default();
        let unknown: Vec<u64> = {
            let segments = self.segments.read();
            let unknown = segments.values().filter(|segment| !segment.is_known());
            unknown.map(|segment| segment.number).collect()
        };
        for number in unknown.into_iter().rev() {
            if stop.load(Relaxed) || self.is_failed() {
                recovered.stopped = true;
                return recovered;
            }
            let _alone = self.maintenance.lock();
            // It may have been reclaimed meanwhile.
            if let Some(segment) = self.segment(number) {
                self.recover_segment(&segment, &mut recovered);
            }
        }
        *self.removed.lock() = None;
        self.recovered.store(true, Release);
        recovered
    }

    fn recover_segment(&self, segment: &Arc<Segment>, recovered: &mut Recovered) {
        recovered.segments += 1;
        match rows::load(segment) {
            Ok(rows) => {
                self.learn(segment, &rows, recovered);
                if rows.scanned {
                    recovered.scanned += 1;
                    self.close_scanned(segment, &rows);
                }
            }
            Err(error) => {
                recovered.unreadable += 1;
                log_unreadable(segment, &error);
            }
        }
        segment.set_known();
    }

    fn learn(&self, segment: &Segment, rows: &Rows, recovered: &mut Recovered) {
        recovered.damaged += rows.damaged;
        for row in &rows.rows {
            let place = row.place(segment.number);
            match row.kind {
                Kind::Piece => {
                    segment.add_live(place.bytes);
                    recovered.pieces += 1;
                }
                Kind::Entry => {
                    // The lock is held so that a removal comes before or after.
                    let removed = self.removed.lock();
                    if removed.as_ref().is_some_and(|ids| ids.contains(&row.id)) {
                        continue;
                    }
                    let put = self.index.put_older(row.id, place);
                    drop(removed);
                    if let Ok(before) = put {
                        segment.add_live(place.bytes);
                        recovered.entries += u64::from(before.is_none());
                        before.into_iter().for_each(|place| self.release(place));
                    }
                }
            }
        }
    }

    /// A segment that was looked at record by record is closed, so that the
    /// next start need not do it again, and gives back the space that it has
    /// not used.
    fn close_scanned(&self, segment: &Segment, rows: &Rows) {
        tracing::info!(
            "{}: was not closed; {} records found, {} of them damaged",
            segment.path.display(),
            rows.rows.len() as u64 + rows.damaged,
            rows.damaged
        );
        if let Err(error) = segment.close(rows.end, &rows.rows) {
            self.write_failed("closing a segment", error);
        }
    }
}

fn log_unreadable(segment: &Segment, error: &ReadError) {
    tracing::warn!("{}: what it holds is lost: {error}", segment.path.display());
}
