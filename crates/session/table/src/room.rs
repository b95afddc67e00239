//! Room for what is written.
//!
//! A write goes to the end of the open segment. When that is full a new one is opened, as long as
//! the budget has room. From then on room is made, one bounded step after another: the items of
//! the segment with the most dead bytes are moved together (and its bytes serve anew); where no
//! segment has enough of them, eviction makes dead what was not read for long.

use std::mem;

use crate::index::{At, Index, SEGMENTS, UNIT};
use crate::record::{DEAD, Header};
use crate::segment::Segment;
use crate::shard::{Now, Shard, Shared};

/// Why there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Short {
    /// Other shards have more than their share, and this one less by these bytes or more.
    Poor(u64),
    /// This one has nothing to give; these bytes would do.
    Full(u64),
    /// There never is.
    TooLarge,
}

impl Shard {
    /// Sees to it that a record of `bytes` fits the open segment.
    pub(crate) fn room(&mut self, now: Now<'_>, bytes: usize, insist: bool) -> Result<(), Short> {
        let mut rounds = 2 * self.segments.len() + 32;
        while self.segments[self.open as usize].room() < bytes {
            if self.grow(now.shared) {
                continue;
            }
            let segment = now.shared.options.segment_bytes as u64;
            if self.stuck_s == Some(now.now_s) {
                return Err(Short::Full(segment));
            }
            self.may_take(now, 2 * segment, insist)?;
            rounds -= 1;
            if rounds == 0 {
                self.stuck_s = Some(now.now_s);
                return Err(Short::Full(segment));
            }
            let Some(rest) = self.tidy_or_evict(now, 0)? else {
                continue;
            };
            if self.segments[self.open as usize].room() < bytes {
                self.open_with(rest);
            } else {
                self.give_back(now.shared, rest.len() as u64);
            }
        }
        Ok(())
    }

    /// Takes `bytes` of the budget, for something else than a segment.
    pub(crate) fn reserve(&mut self, now: Now<'_>, bytes: u64, insist: bool) -> Result<(), Short> {
        while !self.take(now.shared, bytes) {
            self.may_take(now, bytes, insist)?;
            if !self.shed(now, bytes, 0) {
                return Err(Short::Full(bytes));
            }
        }
        Ok(())
    }

    /// Gives memory back until `bytes` fit the budget; `false` if they never do, or this shard
    /// holds no more than `floor`.
    pub(crate) fn shed(&mut self, now: Now<'_>, bytes: u64, floor: u64) -> bool {
        let segment = now.shared.options.segment_bytes as u64;
        let rounds = 2 * self.segments.len() as u64 + 16 + bytes / segment * 8;
        for _ in 0..rounds {
            if now.shared.budget.fits(bytes) {
                return true;
            }
            if self.held <= floor {
                return false;
            }
            match self.tidy_or_evict(now, bytes) {
                Ok(Some(rest)) => self.give_back(now.shared, rest.len() as u64),
                Ok(None) => {}
                Err(_) => return false,
            }
        }
        now.shared.budget.fits(bytes)
    }

    /// Whether this shard may make room at its own items' cost; not while it has less than its
    /// share, for then it is for others to give.
    fn may_take(&self, now: Now<'_>, bytes: u64, insist: bool) -> Result<(), Short> {
        let makes_room = now.shared.options.full.makes_room();
        if makes_room && !insist && self.held + bytes <= now.shared.share() {
            return Err(Short::Poor(bytes));
        }
        Ok(())
    }

    /// One step: moves the items of the segment with the most dead bytes, and hands over a buffer
    /// if one is left, or else evicts. Eviction stops early once `enough` bytes fit the budget,
    /// if that is not 0.
    fn tidy_or_evict(&mut self, now: Now<'_>, enough: u64) -> Result<Option<Box<[u8]>>, Short> {
        let makes_room = now.shared.options.full.makes_room();
        let segment = now.shared.options.segment_bytes;
        // At most five bytes are moved to gain one. Were it three, a full table of small items
        // would hold 3 % fewer of them. Where writes are refused, it may be thirty.
        let worth = if makes_room {
            segment / 6
        } else {
            segment / 32
        };
        if let Some(number) = self.most_dead(worth) {
            return Ok(self.evacuate(now, number));
        }
        if makes_room {
            self.sweep(now, enough);
            return Ok(None);
        }
        match self.due(now) {
            Some(number) => {
                self.end_those_due(now, number);
                Ok(None)
            }
            None => Err(Short::Full(segment as u64)),
        }
    }

    /// The segment with the most bytes of dead records, if they are `worth` or more. What was too
    /// little for a record at a segment's end does not count: moved, the same records may leave
    /// as much again.
    pub(crate) fn most_dead(&self, worth: usize) -> Option<u32> {
        let segments = (0..).zip(&self.segments);
        let dead = |(number, segment): (u32, &Segment)| (segment.filled - segment.live, number);
        let (dead, number) = segments.skip(1).map(dead).max()?;
        (dead >= worth && dead > 0).then_some(number)
    }

    /// Moves what lives in a segment to the open one, or to the spare one where that is full.
    /// Its bytes become the spare one's if that was needed, else they are the caller's.
    pub(crate) fn evacuate(&mut self, now: Now<'_>, number: u32) -> Option<Box<[u8]>> {
        if self.segments[number as usize].is_due(now.era, now.now_s) {
            self.end_those_due(now, number);
            if self.segments[number as usize].is_none() {
                return None;
            }
        }
        if number == self.open {
            let spare = self.spare(now.shared);
            self.open_with(spare);
        }
        let from = mem::replace(&mut self.segments[number as usize], Segment::none());
        let mut at = 0;
        while let Some((offset, header)) = from.next(at) {
            at = offset + header.takes();
            if !header.has(DEAD) {
                let old = At {
                    segment: number,
                    offset,
                };
                self.resettle(now, &from, old, header);
            }
        }
        self.unused.push(number);
        if self.spare.is_none() {
            self.spare = Some(from.bytes);
            return None;
        }
        Some(from.bytes)
    }

    /// Moves one item out of `from`.
    fn resettle(&mut self, now: Now<'_>, from: &Segment, old: At, header: Header) {
        let (key, body) = from.key_and_body(old.offset, &header);
        let tag = Index::tag(now.shared.hash(key));
        let Some((slot, _)) = self.index.find(tag, |place| place == old) else {
            return;
        };
        if self.segments[self.open as usize].room() < header.needs() {
            let spare = self.spare(now.shared);
            self.open_with(spare);
        }
        let new = self.append(header, key, &[body]);
        self.index.set(slot, new);
        self.counts.moved_bytes += header.needs() as u64;
    }

    /// Writes a record at the end of the open segment, which has room for it.
    pub(crate) fn append(&mut self, mut header: Header, key: &[u8], body: &[&[u8]]) -> At {
        header.units = (header.needs() / UNIT) as u16;
        let open = &mut self.segments[self.open as usize];
        let at = At {
            segment: self.open,
            offset: open.filled,
        };
        open.write(at.offset, &header, key, body);
        open.filled += header.takes();
        at
    }

    /// Opens one segment more, if the budget has room for it.
    fn grow(&mut self, shared: &Shared) -> bool {
        let numbers_left = !self.unused.is_empty() || self.segments.len() + 2 < SEGMENTS as usize;
        if !numbers_left || !self.take(shared, shared.options.segment_bytes as u64) {
            return false;
        }
        self.open_with(vec![0; shared.options.segment_bytes].into_boxed_slice());
        true
    }

    /// Writes go to a segment of these bytes from now on.
    pub(crate) fn open_with(&mut self, bytes: Box<[u8]>) {
        let closed = self.open;
        self.born += 1;
        let segment = Segment::new(bytes, self.born);
        match self.unused.pop() {
            Some(number) => {
                self.segments[number as usize] = segment;
                self.open = number;
            }
            None => {
                self.open = self.segments.len() as u32;
                self.segments.push(segment);
            }
        }
        debug_assert!(closed != self.open);
    }

    fn spare(&mut self, shared: &Shared) -> Box<[u8]> {
        match self.spare.take() {
            Some(spare) => spare,
            None => self.buffer(shared),
        }
    }

    /// A segment's bytes, whatever the budget says: what a shard cannot do without.
    pub(crate) fn buffer(&mut self, shared: &Shared) -> Box<[u8]> {
        let bytes = shared.options.segment_bytes;
        shared.budget.charge(bytes as u64);
        self.held += bytes as u64;
        vec![0; bytes].into_boxed_slice()
    }

    /// Gives a segment back if nothing lives in it; an open one is begun anew.
    pub(crate) fn settle(&mut self, shared: &Shared, number: u32) {
        let segment = &mut self.segments[number as usize];
        if segment.items > 0 || segment.filled == 0 {
            return;
        }
        let bytes = mem::take(&mut segment.bytes);
        if number == self.open {
            self.born += 1;
            *segment = Segment::new(bytes, self.born);
        } else {
            *segment = Segment::none();
            self.unused.push(number);
            self.give_back(shared, bytes.len() as u64);
        }
    }

    pub(crate) fn take(&mut self, shared: &Shared, bytes: u64) -> bool {
        let taken = shared.budget.reserve(bytes);
        self.held += if taken { bytes } else { 0 };
        taken
    }

    pub(crate) fn give_back(&mut self, shared: &Shared, bytes: u64) {
        shared.budget.release(bytes);
        self.held -= bytes;
    }
}
