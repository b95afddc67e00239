//! Eviction is SIEVE (Zhang, Yang, Yue, Vigfusson, Rashmi, NSDI 2024): a hand goes through the
//! segments from the oldest to the youngest, and through the records of each; an item that was
//! read since it last passed stays where it is and loses the note of that, any other goes. A read
//! costs one bit. Evicted items die in place, so a hand that takes all of a segment costs no
//! copying at all. Where values are spilled instead, key and header stay, with the value's place.

use crate::index::At;
use crate::item::next_copy;
use crate::journal::Why;
use crate::options::Full;
use crate::record::{DEAD, ELSEWHERE, ELSEWHERE_BODY, HOT, Header, LARGE};
use crate::shard::{Found, Now, Shard, why_ended};
use crate::write::encode;

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
                let ended = !header.is_live(now.era, now.now_s);
                if !ended && now.shared.options.full == Full::Spill {
                    self.spill(now, at, header);
                } else {
                    let Some(slot) = self.slot_of(now, at, &header) else {
                        continue;
                    };
                    let why = if ended {
                        why_ended(&header, now.era)
                    } else {
                        Why::Evicted
                    };
                    self.take_out(now, &Found { slot, at, header }, why);
                }
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

    /// Sends the value of an item out of memory, if that saves any.
    fn spill(&mut self, now: Now<'_>, at: At, old: Header) {
        let Some(journal) = &now.shared.journal else {
            return;
        };
        if old.has(ELSEWHERE) || old.value_len as usize <= ELSEWHERE_BODY {
            return;
        }
        let header = old.with_copy(next_copy(old.copy()));
        let (key, _) = self.segments[at.segment as usize].key_and_body(at.offset, &old);
        let Some(place) = journal.spill(self.number, key, &self.item(at, &header)) else {
            return;
        };
        self.drop_large(now.shared, at, &old);
        let header = Header {
            bits: header.bits & !LARGE | ELSEWHERE,
            ..header
        };
        self.counts.remove(&old);
        self.counts.add(&header);
        let segment = self.segment(at);
        segment.live = segment.live + header.needs() - old.needs();
        segment.rewrite_body(at.offset, &header, &encode(place));
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
