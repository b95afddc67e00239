//! Where each entry is: a table in memory, 24 bytes and a byte of control for each.
//!
//! It is cut into many shards, each behind a lock of its own, so that neither
//! a lookup waits long nor the table needs twice its memory at once when it
//! grows: one shard grows at a time.

use std::ops::Deref;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use parking_lot::Mutex;

use crate::place::{Id, Place};

const SHARDS: usize = 256;

/// Most heat an entry has.
const HEAT_MOST: u8 = 3;

/// An entry that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    /// What it is found by.
    pub id: Id,
    /// Where it lies.
    pub place: Place,
    /// How often it was touched: 0 to 3.
    pub heat: u8,
}

const NOTHING: Hit = Hit {
    id: Id { key: 0, variant: 0 },
    place: Place {
        segment: 0,
        offset: 0,
        bytes: 0,
    },
    heat: 0,
};

const INLINE: usize = 4;

/// The variants found under a key, in no order. Up to four need no allocation.
#[derive(Debug, Clone)]
pub struct Found {
    inline: [Hit; INLINE],
    count: usize,
    /// All of them, where there are more than fit inline.
    spilled: Vec<Hit>,
}

impl Found {
    fn new() -> Self {
        Self {
            inline: [NOTHING; INLINE],
            count: 0,
            spilled: Vec::new(),
        }
    }

    fn push(&mut self, hit: Hit) {
        if self.count < INLINE {
            self.inline[self.count] = hit;
        } else {
            if self.count == INLINE {
                self.spilled.extend_from_slice(&self.inline);
            }
            self.spilled.push(hit);
        }
        self.count += 1;
    }
}

impl Deref for Found {
    type Target = [Hit];

    fn deref(&self) -> &[Hit] {
        match self.count {
            0..=INLINE => &self.inline[..self.count],
            _ => &self.spilled,
        }
    }
}

/// An entry as the table has it.
#[derive(Debug, Clone, Copy)]
struct Slot {
    key: u64,
    /// Heat, 2 bits; segment, 36 bits; offset in units of sixteen bytes, 26 bits.
    packed: u64,
    bytes: u32,
    variant: u32,
}

/// Segment numbers stay below this.
pub(crate) const SEGMENTS_MOST: u64 = 1 << 36;

impl Slot {
    fn new(id: Id, place: Place, heat: u8) -> Self {
        let heat = u64::from(heat.min(HEAT_MOST));
        let segment = place.segment & (SEGMENTS_MOST - 1);
        Self {
            key: id.key,
            packed: heat << 62 | segment << 26 | u64::from(place.offset >> 4),
            bytes: place.bytes,
            variant: id.variant,
        }
    }

    fn is(&self, id: Id) -> bool {
        self.key == id.key && self.variant == id.variant
    }

    fn segment(&self) -> u64 {
        self.packed >> 26 & (SEGMENTS_MOST - 1)
    }

    fn place(&self) -> Place {
        Place {
            segment: self.segment(),
            offset: ((self.packed & ((1 << 26) - 1)) as u32) << 4,
            bytes: self.bytes,
        }
    }

    fn heat(&self) -> u8 {
        (self.packed >> 62) as u8
    }

    fn hit(&self) -> Hit {
        Hit {
            id: Id {
                key: self.key,
                variant: self.variant,
            },
            place: self.place(),
            heat: self.heat(),
        }
    }
}

/// The table of all entries.
#[derive(Debug)]
pub(crate) struct Index {
    shards: Vec<Mutex<HashTable<Slot>>>,
}

impl Index {
    pub(crate) fn new() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
        }
    }

    fn shard(&self, hash: u64) -> &Mutex<HashTable<Slot>> {
        // Bits that the tables themselves use least.
        &self.shards[(hash >> 40) as usize % SHARDS]
    }

    /// All variants under a key.
    pub(crate) fn find(&self, key: u64) -> Found {
        let hash = mix(key);
        let shard = self.shard(hash).lock();
        let mut found = Found::new();
        for slot in shard.iter_hash(hash).filter(|slot| slot.key == key) {
            found.push(slot.hit());
        }
        found
    }

    /// One entry.
    pub(crate) fn get(&self, id: Id) -> Option<Hit> {
        let hash = mix(id.key);
        let shard = self.shard(hash).lock();
        shard.find(hash, |slot| slot.is(id)).map(Slot::hit)
    }

    /// Notes that an entry was of use.
    pub(crate) fn touch(&self, id: Id) {
        let hash = mix(id.key);
        let mut shard = self.shard(hash).lock();
        if let Some(slot) = shard.find_mut(hash, |slot| slot.is(id))
            && slot.heat() < HEAT_MOST
        {
            slot.packed += 1 << 62;
        }
    }

    /// Puts an entry in, for whatever was there; without a heat it gets what
    /// that had. Gives the place that was.
    pub(crate) fn put(&self, id: Id, place: Place, heat: Option<u8>) -> Option<Place> {
        self.put_if(id, place, heat, |_| true).unwrap_or(None)
    }

    /// Puts an entry in unless one is there that was written after it.
    pub(crate) fn put_older(&self, id: Id, place: Place) -> Result<Option<Place>, ()> {
        let before = |there: Place| (there.segment, there.offset) < (place.segment, place.offset);
        self.put_if(id, place, Some(0), before)
    }

    fn put_if(
        &self,
        id: Id,
        place: Place,
        heat: Option<u8>,
        may: impl FnOnce(Place) -> bool,
    ) -> Result<Option<Place>, ()> {
        let hash = mix(id.key);
        let mut shard = self.shard(hash).lock();
        match shard.entry(hash, |slot| slot.is(id), |slot| mix(slot.key)) {
            Entry::Vacant(vacant) => {
                vacant.insert(Slot::new(id, place, heat.unwrap_or(0)));
                Ok(None)
            }
            Entry::Occupied(mut occupied) => {
                let there = occupied.get_mut();
                let before = there.place();
                if !may(before) {
                    return Err(());
                }
                *there = Slot::new(id, place, heat.unwrap_or(there.heat()));
                Ok(Some(before))
            }
        }
    }

    /// Takes an entry out, if it is at `place` where one is given. Gives the
    /// place it had.
    pub(crate) fn remove(&self, id: Id, place: Option<Place>) -> Option<Place> {
        let hash = mix(id.key);
        let mut shard = self.shard(hash).lock();
        let wanted = |slot: &Slot| slot.is(id) && place.is_none_or(|place| slot.place() == place);
        let (slot, _) = shard.find_entry(hash, wanted).ok()?.remove();
        Some(slot.place())
    }

    /// Takes out all entries that lie in a segment.
    pub(crate) fn remove_segment(&self, segment: u64) {
        for shard in &self.shards {
            shard.lock().retain(|slot| slot.segment() != segment);
        }
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> u64 {
        self.shards
            .iter()
            .map(|shard| shard.lock().len() as u64)
            .sum()
    }

    /// Bytes of memory it takes.
    pub(crate) fn bytes(&self) -> u64 {
        let tables: usize = self
            .shards
            .iter()
            .map(|shard| shard.lock().allocation_size() + size_of::<Mutex<HashTable<Slot>>>())
            .sum();
        tables as u64
    }
}

/// Spreads a key over all bits (the finalizer of MurmurHash3).
fn mix(key: u64) -> u64 {
    let key = (key ^ key >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let key = (key ^ key >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    key ^ key >> 33
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn id(key: u64, variant: u32) -> Id {
        Id { key, variant }
    }

    fn place(segment: u64, offset: u32) -> Place {
        Place {
            segment,
            offset,
            bytes: 16,
        }
    }

    #[test]
    fn the_ends_of_what_a_slot_can_say_survive() {
        let far = Place {
            segment: SEGMENTS_MOST - 1,
            offset: (1 << 30) - 16,
            bytes: !15,
        };
        let slot = Slot::new(id(u64::MAX, u32::MAX), far, 9);
        assert_eq!((slot.place(), slot.heat()), (far, 3));
    }

    #[test]
    fn variants_are_found_under_their_key_and_only_there() {
        let index = Index::new();
        for variant in 0..6 {
            assert_eq!(
                index.put(id(7, variant), place(1, 64 + 16 * variant), Some(0)),
                None
            );
            index.put(id(8, variant), place(1, 640), Some(0));
            let mut found: Vec<u32> = index.find(7).iter().map(|hit| hit.id.variant).collect();
            found.sort_unstable();
            assert_eq!(found, (0..=variant).collect::<Vec<_>>());
        }
        assert!(index.find(9).is_empty());
        assert_eq!(index.len(), 12);
    }

    #[test]
    fn an_older_copy_does_not_replace_a_newer_one() {
        let index = Index::new();
        index.put(id(1, 0), place(5, 160), Some(2));
        assert!(index.put_older(id(1, 0), place(4, 640)).is_err());
        assert!(index.put_older(id(1, 0), place(5, 144)).is_err());
        assert!(index.put_older(id(1, 0), place(5, 160)).is_err());
        assert_eq!(index.get(id(1, 0)).unwrap().heat, 2);
        assert_eq!(
            index.put_older(id(1, 0), place(5, 176)),
            Ok(Some(place(5, 160)))
        );
        assert_eq!(index.put_older(id(2, 0), place(1, 64)), Ok(None));
    }

    #[test]
    fn an_entry_is_removed_only_from_where_it_is() {
        let index = Index::new();
        index.put(id(1, 1), place(2, 64), Some(0));
        assert_eq!(index.remove(id(1, 1), Some(place(2, 80))), None);
        assert_eq!(index.remove(id(1, 2), None), None);
        assert_eq!(
            index.remove(id(1, 1), Some(place(2, 64))),
            Some(place(2, 64))
        );
        index.put(id(1, 1), place(2, 64), Some(0));
        index.put(id(1, 2), place(3, 64), Some(0));
        index.remove_segment(2);
        assert_eq!(index.find(1).len(), 1);
    }

    #[test]
    fn heat_goes_to_three_and_no_further() {
        let index = Index::new();
        index.put(id(1, 0), place(SEGMENTS_MOST - 1, 64), Some(0));
        let mut seen = Vec::new();
        for _ in 0..5 {
            index.touch(id(1, 0));
            seen.push(index.get(id(1, 0)).unwrap().heat);
        }
        assert_eq!(seen, [1, 2, 3, 3, 3]);
        assert_eq!(
            index.get(id(1, 0)).unwrap().place,
            place(SEGMENTS_MOST - 1, 64)
        );
        index.touch(id(2, 0));
    }

    /// The worst is just after the tables have doubled.
    #[test]
    fn an_entry_takes_at_most_64_bytes_whatever_the_number() {
        assert_eq!(size_of::<Slot>(), 24);
        let index = Index::new();
        let mut worst = 0.0f64;
        for n in 1..=1_000_000u64 {
            index.put(id(n, 0), place(n >> 12, 64), Some(0));
            if n > 100_000 && n % 5_000 == 0 {
                worst = worst.max(index.bytes() as f64 / n as f64);
            }
        }
        let last = index.bytes() as f64 / 1e6;
        println!("{last:.1} bytes an entry at a million, {worst:.1} at the worst");
        assert!(worst < 64.0, "{worst} bytes an entry");
    }
}
