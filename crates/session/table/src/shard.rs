//! A shard: the items of a part of the keys, behind one lock.
//!
//! This file finds items and takes them out; `write` puts them in, `room` finds room for them,
//! `evict` makes it, `upkeep` does in the background what nobody waits for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};

use rapidhash::v3::{RapidSecrets, rapidhash_v3_seeded};

use crate::budget::Budget;
use crate::evict::Hand;
use crate::index::{At, Index};
use crate::item::{Item, Marks, Place, Value};
use crate::journal::{Journal, Why};
use crate::large::Larges;
use crate::options::Options;
use crate::record::{ELSEWHERE, HOT, Header, LARGE, READ};
use crate::segment::Segment;

/// What all shards of a table share.
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) budget: Budget,
    /// The number of clears so far.
    pub(crate) era: AtomicU32,
    /// Numbers of the table's own are above this; set while items are restored.
    pub(crate) cas_floor: AtomicU64,
    pub(crate) secrets: RapidSecrets,
    pub(crate) journal: Option<Arc<dyn Journal>>,
}

impl Shared {
    #[inline]
    pub(crate) fn hash(&self, key: &[u8]) -> u64 {
        rapidhash_v3_seeded(key, &self.secrets)
    }

    /// A shard's part of the budget, were all alike.
    pub(crate) fn share(&self) -> u64 {
        self.options.memory_bytes / self.options.shards as u64
    }
}

/// What an operation knows of its time, and of the table around the shard.
#[derive(Clone, Copy)]
pub(crate) struct Now<'s> {
    pub(crate) shared: &'s Shared,
    pub(crate) era: u32,
    pub(crate) now_s: u32,
}

/// What a shard has counted since it was made, and the bytes of its keys and values.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) payload: u64,
    pub(crate) elsewhere: u64,
    pub(crate) elsewhere_items: u64,
    pub(crate) evicted: u64,
    pub(crate) evicted_unread: u64,
    pub(crate) expired: u64,
    pub(crate) expired_unread: u64,
    pub(crate) cleared: u64,
    pub(crate) moved_bytes: u64,
    pub(crate) refused: u64,
}

impl Counts {
    /// An item of this header is there.
    pub(crate) fn add(&mut self, header: &Header) {
        self.payload += header.payload();
        self.elsewhere += header.elsewhere();
        self.elsewhere_items += u64::from(header.has(ELSEWHERE));
    }

    /// It is no longer.
    pub(crate) fn remove(&mut self, header: &Header) {
        self.payload -= header.payload();
        self.elsewhere -= header.elsewhere();
        self.elsewhere_items -= u64::from(header.has(ELSEWHERE));
    }
}

/// An item that was found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) slot: usize,
    pub(crate) at: At,
    pub(crate) header: Header,
}

/// Items, and where they lie. `segments[0]` is nobody's; `spare` is there whenever the lock is
/// free, so that moving items never waits for memory.
pub(crate) struct Shard {
    pub(crate) number: usize,
    pub(crate) index: Index,
    pub(crate) segments: Vec<Segment>,
    pub(crate) unused: Vec<u32>,
    pub(crate) open: u32,
    pub(crate) spare: Option<Box<[u8]>>,
    pub(crate) larges: Larges,
    /// What of the budget is here.
    pub(crate) held: u64,
    pub(crate) born: u64,
    pub(crate) hand: Hand,
    pub(crate) upkept: u32,
    pub(crate) cas: u64,
    /// The second in which no room could be made: it is not tried again before the next.
    pub(crate) stuck_s: Option<u32>,
    pub(crate) counts: Counts,
}

impl Shard {
    pub(crate) fn new(number: usize, shared: &Shared) -> Self {
        let mut shard = Self {
            number,
            index: Index::new(),
            segments: vec![Segment::none()],
            unused: Vec::new(),
            open: 0,
            spare: None,
            larges: Larges::default(),
            held: 0,
            born: 0,
            hand: Hand::default(),
            upkept: 0,
            cas: 0,
            stuck_s: None,
            counts: Counts::default(),
        };
        let index_bytes = shard.index.bytes();
        shared.budget.charge(index_bytes);
        shard.held += index_bytes;
        let first = shard.buffer(shared);
        shard.open_with(first);
        shard.spare = Some(shard.buffer(shared));
        shard
    }

    #[inline]
    pub(crate) fn segment(&mut self, at: At) -> &mut Segment {
        &mut self.segments[at.segment as usize]
    }

    /// The item of `key`, also one that has ended.
    #[inline]
    pub(crate) fn find(&self, key: &[u8], hash: u64) -> Option<Found> {
        let is_it = |at: At| self.segments[at.segment as usize].key_is(at.offset, key);
        let (slot, at) = self.index.find(Index::tag(hash), is_it)?;
        let header = self.segments[at.segment as usize].header(at.offset);
        Some(Found { slot, at, header })
    }

    /// The item of `key`; one that has ended is taken out on the way.
    #[inline]
    pub(crate) fn find_live(&mut self, now: Now<'_>, key: &[u8], hash: u64) -> Option<Found> {
        let found = self.find(key, hash)?;
        if found.header.is_live(now.era, now.now_s) {
            return Some(found);
        }
        self.remove(now, &found, why_ended(&found.header, now.era));
        None
    }

    pub(crate) fn item(&self, at: At, header: &Header) -> Item<'_> {
        let segment = &self.segments[at.segment as usize];
        let (_, body) = segment.key_and_body(at.offset, header);
        Item {
            value: self.value(header, body),
            flags: header.flags,
            expires_s: header.expires_s,
            cas: header.cas,
            marks: Marks(header.marks),
            last_read_s: header.last_read_s,
            was_read: header.has(READ),
            era: header.era,
            copy: header.copy(),
        }
    }

    fn value<'a>(&'a self, header: &Header, body: &'a [u8]) -> Value<'a> {
        match body {
            [a, b, c, d, ..] if header.has(LARGE) => {
                Value::Here(self.larges.get(u32::from_le_bytes([*a, *b, *c, *d])))
            }
            [a, b, c, d, e, f, g, h, i, j, k, l] if header.has(ELSEWHERE) => {
                Value::Elsewhere(Place(
                    u64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h]),
                    u32::from_le_bytes([*i, *j, *k, *l]),
                ))
            }
            _ => Value::Here(body),
        }
    }

    /// Notes that an item was read.
    #[inline]
    pub(crate) fn note_read(&mut self, found: &Found, now_s: u32) {
        let mut header = found.header;
        if header.last_read_s != now_s || header.bits & (HOT | READ) != HOT | READ {
            header.last_read_s = now_s;
            header.bits |= HOT | READ;
            let segment = self.segment(found.at);
            header.write_read(&mut segment.bytes, found.at.offset);
        }
    }

    /// The slot of the item whose record is at `at`.
    pub(crate) fn slot_of(&self, now: Now<'_>, at: At, header: &Header) -> Option<usize> {
        let segment = &self.segments[at.segment as usize];
        let (key, _) = segment.key_and_body(at.offset, header);
        let tag = Index::tag(now.shared.hash(key));
        let (slot, _) = self.index.find(tag, |place| place == at)?;
        Some(slot)
    }

    /// Takes an item out, and gives its segment back if it was the last there.
    pub(crate) fn remove(&mut self, now: Now<'_>, found: &Found, why: Why) {
        self.take_out(now, found, why);
        self.settle(now.shared, found.at.segment);
    }

    /// Takes an item out, and leaves its segment as it is: somebody is walking through it.
    pub(crate) fn take_out(&mut self, now: Now<'_>, found: &Found, why: Why) {
        if let Some(journal) = &now.shared.journal {
            let segment = &self.segments[found.at.segment as usize];
            let (key, _) = segment.key_and_body(found.at.offset, &found.header);
            let item = self.item(found.at, &found.header);
            journal.removed(self.number, key, &item, why);
        }
        self.index.remove(found.slot);
        self.bury(now.shared, found.at, &found.header);
        let unread = u64::from(!found.header.has(READ));
        match why {
            Why::Removed => {}
            Why::Cleared => self.counts.cleared += 1,
            Why::Expired => {
                self.counts.expired += 1;
                self.counts.expired_unread += unread;
            }
            Why::Evicted => {
                self.counts.evicted += 1;
                self.counts.evicted_unread += unread;
            }
        }
    }

    /// The record at `at` is of no item any more; the index knows it already.
    pub(crate) fn bury(&mut self, shared: &Shared, at: At, header: &Header) {
        self.counts.remove(header);
        self.drop_large(shared, at, header);
        self.segment(at).bury(at.offset, header);
    }

    /// Drops the large value of a record, if it has one.
    pub(crate) fn drop_large(&mut self, shared: &Shared, at: At, header: &Header) {
        if header.has(LARGE) {
            let segment = &self.segments[at.segment as usize];
            let (_, body) = segment.key_and_body(at.offset, header);
            let number = body
                .first_chunk()
                .map_or(u32::MAX, |raw| u32::from_le_bytes(*raw));
            let bytes = self.larges.remove(number);
            self.give_back(shared, bytes);
        }
    }
}

/// Why an item that is not live has ended.
pub(crate) fn why_ended(header: &Header, era: u32) -> Why {
    if header.era < era {
        Why::Cleared
    } else {
        Why::Expired
    }
}
