//! How items get into a shard: over their own record where the new one fits, else at the end of
//! the open segment.

use std::sync::atomic::Ordering;

use crate::index::{At, Index};
use crate::item::{Marks, Place};
use crate::large::{self, LargeValue};
use crate::record::{self, ELSEWHERE, HOT, Header, LARGE, record_bytes};
use crate::room::Short;
use crate::shard::{Found, Now, Shard};

/// What a key is to hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct New<'a> {
    pub(crate) value: NewValue<'a>,
    pub(crate) flags: u32,
    pub(crate) expires_s: u32,
    pub(crate) marks: Marks,
    pub(crate) cas: Option<u64>,
    /// Bits of [`record`] that it begins with.
    pub(crate) bits: u8,
    pub(crate) last_read_s: u32,
    pub(crate) era: u32,
    /// The journal has it already.
    pub(crate) restored: bool,
}

/// The value of it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NewValue<'a> {
    Parts(&'a [&'a [u8]]),
    Elsewhere(Place),
}

/// A record that is ready to be written, but for where.
struct Ready<'a> {
    key: &'a [u8],
    hash: u64,
    header: Header,
    /// Its `cas` is the table's next, given once nothing can fail.
    numbered: bool,
}

impl Shard {
    /// Writes an item. Nothing has changed if there is no room, except what made some.
    pub(crate) fn put(
        &mut self,
        now: Now<'_>,
        key: &[u8],
        hash: u64,
        new: &New<'_>,
        insist: bool,
    ) -> Result<u64, Short> {
        let ready = Ready {
            key,
            hash,
            header: self.header_of(now, key, new)?,
            numbered: new.cas.is_none(),
        };
        let (at, header) = match new.value {
            NewValue::Parts(parts) if ready.header.has(LARGE) => {
                self.put_large(now, ready, parts, insist)?
            }
            NewValue::Parts(parts) => self.place(now, ready, parts, insist)?,
            NewValue::Elsewhere(place) => self.place(now, ready, &[&encode(place)], insist)?,
        };
        if let Some(journal) = &now.shared.journal
            && !new.restored
        {
            journal.put(self.number, key, &self.item(at, &header));
        }
        Ok(header.cas)
    }

    /// Writes an item whose value gets an allocation of its own.
    fn put_large(
        &mut self,
        now: Now<'_>,
        ready: Ready<'_>,
        parts: &[&[u8]],
        insist: bool,
    ) -> Result<(At, Header), Short> {
        let len = ready.header.value_len as usize;
        self.reserve(now, large::charge(len), insist)?;
        let number = self.larges.add(LargeValue::of(parts, len));
        let body = encode(Place(number.into(), 0));
        let done = self.place(now, ready, &[&body], insist);
        if done.is_err() {
            let bytes = self.larges.remove(number);
            self.give_back(now.shared, bytes);
        }
        done
    }

    fn header_of(&self, now: Now<'_>, key: &[u8], new: &New<'_>) -> Result<Header, Short> {
        let options = &now.shared.options;
        let (value_len, kind) = match new.value {
            NewValue::Elsewhere(place) => (place.1 as usize, ELSEWHERE),
            NewValue::Parts(parts) => {
                let sum = |sum: usize, part: &&[u8]| sum.checked_add(part.len());
                let len = parts.iter().try_fold(0, sum).ok_or(Short::TooLarge)?;
                if len > options.value_bytes {
                    return Err(Short::TooLarge);
                }
                let large = record_bytes(key.len(), len) > options.segment_bytes / 4;
                (len, if large { LARGE } else { 0 })
            }
        };
        Ok(Header {
            cas: new.cas.unwrap_or(0),
            value_len: value_len as u32,
            flags: new.flags,
            expires_s: new.expires_s,
            last_read_s: new.last_read_s,
            era: new.era,
            key_len: key.len() as u16,
            units: 0,
            marks: new.marks.0,
            bits: new.bits | kind,
        })
    }

    /// Finds the place, and writes the record there.
    fn place(
        &mut self,
        now: Now<'_>,
        mut ready: Ready<'_>,
        body: &[&[u8]],
        insist: bool,
    ) -> Result<(At, Header), Short> {
        let needs = ready.header.needs();
        let mut old = self.find(ready.key, ready.hash);
        let fits = |old: &Option<Found>| old.is_some_and(|old| old.header.takes() >= needs);
        let has_room =
            self.index.wants().is_none() && self.segments[self.open as usize].room() >= needs;
        if !fits(&old) && !has_room {
            self.room_in_index(now, insist)?;
            self.room(now, needs, insist)?;
            // Making room moves items, and takes some out.
            old = self.find(ready.key, ready.hash);
        }
        if ready.numbered {
            ready.header.cas = self.next_cas(now);
        }
        self.counts.add(&ready.header);
        Ok(match old {
            Some(old) if old.header.takes() >= needs => self.overwrite(now, &old, &ready, body),
            old => self.add(now, old, &ready, body),
        })
    }

    /// Writes over the record that was the key's; what it does not need is dead until it moves.
    fn overwrite(
        &mut self,
        now: Now<'_>,
        old: &Found,
        ready: &Ready<'_>,
        body: &[&[u8]],
    ) -> (At, Header) {
        self.counts.remove(&old.header);
        self.drop_large(now.shared, old.at, &old.header);
        let header = Header {
            units: old.header.units,
            // It stays where it is in the order of eviction, so that it was written must show.
            bits: ready.header.bits | HOT,
            ..ready.header
        };
        let segment = self.segment(old.at);
        segment.uncount(&old.header);
        segment.write(old.at.offset, &header, ready.key, body);
        (old.at, header)
    }

    /// Writes a record at the end of the open segment, and buries the old one.
    fn add(
        &mut self,
        now: Now<'_>,
        old: Option<Found>,
        ready: &Ready<'_>,
        body: &[&[u8]],
    ) -> (At, Header) {
        let at = self.append(ready.header, ready.key, body);
        match old {
            Some(old) => {
                self.index.set(old.slot, at);
                self.bury(now.shared, old.at, &old.header);
                self.settle(now.shared, old.at.segment);
            }
            None => self.index.insert(Index::tag(ready.hash), at),
        }
        (at, ready.header)
    }

    /// Changes the header of an item, and nothing that its length depends on.
    pub(crate) fn change(&mut self, now: Now<'_>, key: &[u8], found: &Found, header: &Header) {
        let segment = self.segment(found.at);
        segment.rewrite(found.at.offset, header);
        if let Some(journal) = &now.shared.journal {
            let item = self.item(found.at, header);
            match header.cas == found.header.cas {
                true => journal.changed(self.number, key, &item),
                false => journal.put(self.number, key, &item),
            }
        }
    }

    /// Sees to it that the index takes one item more.
    fn room_in_index(&mut self, now: Now<'_>, insist: bool) -> Result<(), Short> {
        let Some(len) = self.index.wants() else {
            return Ok(());
        };
        let bytes = Index::bytes_of(len);
        if !self.take(now.shared, bytes) {
            // It does with fewer free slots for as long as it can: another index beside this
            // one, for a moment, would cost many items their place.
            if !self.index.is_full() {
                return Ok(());
            }
            self.reserve(now, bytes, insist)?;
        }
        self.resize_index(now, len);
        Ok(())
    }

    /// Gives the index `len` slots, which were taken from the budget.
    pub(crate) fn resize_index(&mut self, now: Now<'_>, len: usize) {
        let old = self.index.bytes();
        self.index.resize(len);
        self.give_back(now.shared, old);
    }

    /// A number greater than any before it, of this shard and of what was restored. The low bits
    /// are the shard's, so that no two shards give the same and none waits for another.
    pub(crate) fn next_cas(&mut self, now: Now<'_>) -> u64 {
        let bits = now.shared.options.shards.trailing_zeros();
        let floor = now.shared.cas_floor.load(Ordering::Relaxed);
        self.cas = self.cas.max(floor >> bits) + 1;
        self.cas << bits | self.number as u64
    }
}

pub(crate) fn encode(Place(a, b): Place) -> [u8; record::ELSEWHERE_BODY] {
    let mut out = [0; record::ELSEWHERE_BODY];
    out[..8].copy_from_slice(&a.to_le_bytes());
    out[8..].copy_from_slice(&b.to_le_bytes());
    out
}
