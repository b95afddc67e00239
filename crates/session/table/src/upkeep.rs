//! What nobody waits for: items whose second came are found without being read, what was written
//! before a clear goes, dead bytes are given back before a write needs them.
//!
//! Each segment knows the first second at which anything in it ends, so one where nothing has
//! ended costs one comparison; the others are walked in turn. Buckets of segments by lifetime, as
//! Segcache has them, would need an open segment for each bucket in each shard, and sessions are
//! touched all the time: each touch would be a move.

use crate::index::{At, Index};
use crate::record::DEAD;
use crate::shard::{Found, Now, Shard, why_ended};

/// What [`crate::Table::maintain`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Items that had ended.
    pub ended: usize,
    /// Bytes of segments that were walked through or moved together.
    pub work_bytes: usize,
    /// Not all was done: call again soon.
    pub more: bool,
}

impl Shard {
    /// Does one bounded step, a walk through one segment at most; `None` if there is none to do.
    pub(crate) fn upkeep(&mut self, now: Now<'_>) -> Option<Done> {
        let bytes = now.shared.options.segment_bytes;
        let done = |ended| {
            Some(Done {
                ended,
                work_bytes: bytes,
                more: true,
            })
        };
        if let Some(number) = self.due(now) {
            self.upkept = number;
            return done(self.end_those_due(now, number));
        }
        // Half a segment is worth moving the other half at any time; an eighth only where a
        // write would do it in a moment.
        let scarce = now.shared.budget.is_scarce();
        let worth = if scarce { bytes / 8 } else { bytes / 2 };
        if let Some(number) = self.most_dead(worth) {
            if let Some(rest) = self.evacuate(now, number) {
                self.give_back(now.shared, rest.len() as u64);
            }
            return done(0);
        }
        if let Some(len) = self.index.could_do_with()
            && self.take(now.shared, Index::bytes_of(len))
        {
            self.resize_index(now, len);
            return done(0);
        }
        None
    }

    /// A segment in which something may have ended, the next one after the last if there is one.
    pub(crate) fn due(&self, now: Now<'_>) -> Option<u32> {
        let all = (0..).zip(&self.segments);
        let due = all.filter(|(_, segment)| segment.is_due(now.era, now.now_s));
        due.map(|(number, _)| (number <= self.upkept, number))
            .min()
            .map(|(_, number)| number)
    }

    /// Takes out of a segment what has ended, and learns when the next will; says how many went.
    pub(crate) fn end_those_due(&mut self, now: Now<'_>, number: u32) -> usize {
        let mut ended = 0;
        let mut next = 0;
        self.segments[number as usize].forget_bounds();
        while let Some((offset, header)) = self.segments[number as usize].next(next) {
            next = offset + header.takes();
            if header.has(DEAD) {
                continue;
            }
            if header.is_live(now.era, now.now_s) {
                self.segments[number as usize].heed(&header);
                continue;
            }
            let at = At {
                segment: number,
                offset,
            };
            if let Some(slot) = self.slot_of(now, at, &header) {
                self.take_out(
                    now,
                    &Found { slot, at, header },
                    why_ended(&header, now.era),
                );
                ended += 1;
            }
        }
        self.settle(now.shared, number);
        ended
    }
}
