//! Eviction is SIEVE (Zhang, Yang, Yue, Vigfusson, Rashmi, NSDI 2024): a hand goes through the
//! segments from the oldest to the youngest, and through the records of each; an item that was
//! read since it last passed stays where it is and loses the note of that, any other goes. A read
//! costs one bit. Evicted items die in place, so a hand that takes all of a segment costs no
//! copying at all.

use crate::index::At;
use crate::journal::Why;
use crate::record::{DEAD, HOT, Header};
use crate::shard::{Found, Now, Shard, why_ended};

/// Where eviction stands: in the first segment that was opened at `born` or later.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hand {
    born: u64,
    offset: usize,
}

impl Shard {
    /// Moves the hand through one segment.
    pub(crate) fn sweep(&mut self, now: Now<'_>, enough: u64) {
        let Some(number) = self.under_the_hand() else {
            return;
        };
        let born = self.segments[number as usize].born;
        if born != self.hand.born {
            self.hand = Hand { born, offset: 0 };
        }
        while let Some((offset, header)) = self.segments[number as usize].next(self.hand.offset) {
            self.hand.offset = offset + header.takes();
            let at = At {
                segment: number,
                offset,
            };
            if !header.has(DEAD) && !self.spared(now, at, header) {
                let Some(slot) = self.slot_of(now, at, &header) else {
                    continue;
                };
                let ended = !header.is_live(now.era, now.now_s);
                let why = if ended {
                    why_ended(&header, now.era)
                } else {
                    Why::Evicted
                };
                self.take_out(now, &Found { slot, at, header }, why);
                if enough > 0 && now.shared.budget.fits(enough) {
                    return;
                }
            }
        }
        self.hand = Hand {
            born: born + 1,
            offset: 0,
        };
    }

    /// Whether the hand passes by; if so, the item has to be read again before the next time.
    fn spared(&mut self, now: Now<'_>, at: At, mut header: Header) -> bool {
        let spared = header.has(HOT) && header.is_live(now.era, now.now_s);
        if spared {
            header.bits &= !HOT;
            header.write_read(&mut self.segment(at).bytes, at.offset);
        }
        spared
    }

    fn under_the_hand(&self) -> Option<u32> {
        let taken = (0..)
            .zip(&self.segments)
            .filter(|(_, segment)| segment.items > 0);
        let (_, number) = taken
            .map(|(number, segment)| ((segment.born < self.hand.born, segment.born), number))
            .min()?;
        Some(number)
    }
}
