//! Giving up the oldest segment, and going through a segment's entries.

use std::sync::Arc;

use crate::errors::ReadError;
use crate::extent::{Extent, Wait};
use crate::footer::Row;
use crate::log::Log;
use crate::place::{Id, Kind, New, Place};
use crate::rows;
use crate::segment::Segment;

/// Something in a segment that is about to go.
#[derive(Debug)]
pub enum Candidate<'a> {
    /// An entry. With [`Verdict::Keep`] it is appended again.
    Entry {
        /// What it is found by.
        id: Id,
        /// Where it lies.
        place: Place,
        /// Its heat; half of it if it is kept.
        heat: u8,
        /// For reading its meta, or all of it.
        extent: &'a Extent,
    },
    /// A piece whose entry exists. The verdict does not matter: its owner may
    /// write it, or the whole object, anew, and put the new places into the
    /// entry's meta.
    Piece {
        /// Whose piece it is.
        id: Id,
        /// Where it lies.
        place: Place,
        /// The heat of its entry.
        heat: u8,
        /// For reading it.
        extent: &'a Extent,
    },
}

/// What is to become of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is appended again.
    Keep,
    /// It goes.
    Drop,
}

/// What a reclaim did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReclaimOutcome {
    /// The segment that went; none if there was none that could.
    pub segment: Option<u64>,
    /// Length of its file.
    pub freed_bytes: u64,
    /// Entries appended again.
    pub kept: u64,
    /// Bytes of their records.
    pub kept_bytes: u64,
    /// Entries dropped as told.
    pub dropped: u64,
    /// Entries dropped because they could not be read, or there was no space
    /// to append them again.
    pub lost: u64,
    /// Pieces whose owner was asked.
    pub pieces: u64,
}

impl Log {
    /// The last segment that could be created has been, or soon will be: it is
    /// time to reclaim one.
    pub fn needs_reclaim(&self) -> bool {
        !self.is_failed() && self.space.free() < self.segment_bytes() && self.oldest().is_some()
    }

    /// Gives up the oldest segment. Its pieces come first, then its entries;
    /// for each that is still referred to, `keep` is asked, which may use the
    /// log, but not reclaim. Waits for the disk.
    ///
    /// While recovery has not come to the segment, what is in it is not known
    /// and goes without question.
    pub fn reclaim(&self, keep: &mut dyn FnMut(Candidate<'_>) -> Verdict) -> ReclaimOutcome {
        let mut outcome = ReclaimOutcome::default();
        if self.is_failed() {
            return outcome;
        }
        let _alone = self.maintenance.lock();
        let Some(segment) = self.oldest() else {
            return outcome;
        };
        outcome.segment = Some(segment.number);
        outcome.freed_bytes = segment.bytes();
        let rows = rows::load(&segment).map_or_else(|_| Vec::new(), |rows| rows.rows);
        for kind in [Kind::Piece, Kind::Entry] {
            for row in rows.iter().filter(|row| row.kind == kind) {
                self.reclaim_row(&segment, row, keep, &mut outcome);
            }
        }
        self.forget(&segment, &rows);
        outcome
    }

    fn oldest(&self) -> Option<Arc<Segment>> {
        let segments = self.segments.read();
        let (_, oldest) = segments.first_key_value()?;
        oldest.is_closed().then(|| Arc::clone(oldest))
    }

    fn reclaim_row(
        &self,
        segment: &Arc<Segment>,
        row: &Row,
        keep: &mut dyn FnMut(Candidate<'_>) -> Verdict,
        outcome: &mut ReclaimOutcome,
    ) {
        let (id, place) = (row.id, row.place(segment.number));
        let Some(hit) = self.index.get(id) else {
            return;
        };
        let extent = &Extent::new(Arc::clone(segment), place);
        let heat = hit.heat;
        if row.kind == Kind::Piece {
            outcome.pieces += 1;
            keep(Candidate::Piece {
                id,
                place,
                heat,
                extent,
            });
            return;
        }
        if hit.place != place {
            return;
        }
        let candidate = Candidate::Entry {
            id,
            place,
            heat,
            extent,
        };
        match keep(candidate) {
            Verdict::Drop => outcome.dropped += 1,
            Verdict::Keep => match self.move_entry(extent, heat / 2) {
                Some(true) => {
                    outcome.kept += 1;
                    outcome.kept_bytes += u64::from(place.bytes);
                }
                // It was replaced or removed meanwhile.
                Some(false) => {}
                None => outcome.lost += 1,
            },
        }
    }

    /// Appends an entry again. Nothing if it cannot be read or written, false
    /// if it is no longer what the index has.
    fn move_entry(&self, extent: &Extent, heat: u8) -> Option<bool> {
        let record = extent.read(Wait::Yes).ok()??;
        let data: Vec<&[u8]> = record.data.iter().map(|chunk| &chunk[..]).collect();
        let new = New {
            id: record.id,
            kind: record.kind,
            meta: &record.meta,
            data: &data,
        };
        self.append_again(&new, extent.place(), heat).ok()
    }

    /// Takes a segment out of the index, the list and the directory.
    fn forget(&self, segment: &Segment, rows: &[Row]) {
        for row in rows.iter().filter(|row| row.kind == Kind::Entry) {
            self.index.remove(row.id, Some(row.place(segment.number)));
        }
        if rows.is_empty() {
            // Perhaps its table could not be read, and the index has entries
            // of it that nobody can name.
            self.index.remove_segment(segment.number);
        }
        self.segments.write().remove(&segment.number);
        if let Err(error) = segment.unlink() {
            self.health
                .fail(&segment.path, "removing a segment", &error);
        }
    }

    /// Calls `each` for every entry of a segment that is in the index, with its
    /// meta; entries that cannot be read are left out. Reads little more than
    /// the metas. A segment that is gone has none; of the open one, what was appended so far.
    pub fn scan(
        &self,
        segment: u64,
        each: &mut dyn FnMut(Id, Place, &[u8]),
    ) -> Result<(), ReadError> {
        let Some(segment) = self.segment(segment) else {
            return Ok(());
        };
        let of_open = self.writer.lock().open.as_ref().and_then(|open| {
            let is_it = open.segment.number == segment.number;
            is_it.then(|| open.rows.clone())
        });
        let rows = match of_open {
            Some(rows) => rows,
            // It may have been closed between the two looks: then it has its table by now.
            None => rows::load(&segment)?.rows,
        };
        for row in rows {
            let place = row.place(segment.number);
            let is_live = || self.index.get(row.id).is_some_and(|hit| hit.place == place);
            if row.kind != Kind::Entry || !is_live() {
                continue;
            }
            let extent = Extent::new(Arc::clone(&segment), place);
            if let Ok(Some((_, meta, _))) = extent.read_meta(Wait::Yes) {
                each(row.id, place, &meta);
            }
        }
        Ok(())
    }
}
