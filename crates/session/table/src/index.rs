//! Where each item of a shard lies: an open-addressing table of eight bytes a slot.
//!
//! A slot holds the upper bits of the key's hash (its tag) beside the place, so that the index
//! grows without a look at the items, and a probe for an absent key touches none of them. The
//! home of a tag is its share of the table's length (`tag * len / 2^28`): growth is by a
//! quarter, not by doubling, so between 64 % and 80 % of the slots are in use, and the slots of
//! neighbouring tags are neighbours at any length, which is what a scan holds on to.

/// A tag's bits.
pub(crate) const TAG_BITS: u32 = 28;
/// The number of tags.
pub(crate) const TAGS: u64 = 1 << TAG_BITS;
/// What offsets in a segment are multiples of, in bytes.
pub(crate) const UNIT: usize = 4;
/// Segments have numbers below this. Number 0 is nobody's: a slot of zeros is empty.
pub(crate) const SEGMENTS: u32 = 1 << 20;
/// The longest segment, in bytes.
pub(crate) const SEGMENT_MOST: usize = UNIT << 16;

const FIRST_LEN: usize = 16;

/// Where an item lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct At {
    /// The segment's number, at least 1.
    pub(crate) segment: u32,
    /// In bytes, a multiple of [`UNIT`].
    pub(crate) offset: usize,
}

/// A tag and a place; zero where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot(u64);

impl Slot {
    fn new(tag: u64, at: At) -> Self {
        Self(tag << 36 | u64::from(at.segment) << 16 | (at.offset / UNIT) as u64)
    }

    fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn tag(self) -> u64 {
        self.0 >> 36
    }

    fn at(self) -> At {
        At {
            segment: (self.0 >> 16) as u32 & (SEGMENTS - 1),
            offset: (self.0 & 0xffff) as usize * UNIT,
        }
    }
}

/// The index of one shard.
#[derive(Debug)]
pub(crate) struct Index {
    slots: Vec<Slot>,
    items: usize,
}

impl Index {
    pub(crate) fn new() -> Self {
        Self {
            slots: vec![Slot(0); FIRST_LEN],
            items: 0,
        }
    }

    /// The tag of a key's hash.
    pub(crate) fn tag(hash: u64) -> u64 {
        hash >> (64 - TAG_BITS)
    }

    pub(crate) fn items(&self) -> usize {
        self.items
    }

    /// What it takes of the budget.
    pub(crate) fn bytes(&self) -> u64 {
        Self::bytes_of(self.slots.len())
    }

    /// What an index of `len` slots takes of the budget.
    pub(crate) fn bytes_of(len: usize) -> u64 {
        (len * size_of::<Slot>()) as u64
    }

    /// The length it ought to have for one item more, if that is another.
    pub(crate) fn wants(&self) -> Option<usize> {
        let len = self.slots.len();
        (self.items + 1 > len / 5 * 4).then_some(len + len / 4 + 16)
    }

    /// Whether one item more would make probing slow: it has to grow now.
    pub(crate) fn is_full(&self) -> bool {
        self.items + 1 > self.slots.len() / 16 * 15
    }

    /// The length that would do, where it has far more than that.
    pub(crate) fn could_do_with(&self) -> Option<usize> {
        let len = (self.items + self.items / 2).max(FIRST_LEN);
        (len < self.slots.len() / 2).then_some(len)
    }

    /// Changes the length. `len` is more than there are items.
    pub(crate) fn resize(&mut self, len: usize) {
        let old = std::mem::replace(&mut self.slots, vec![Slot(0); len]);
        for slot in old {
            if !slot.is_empty() {
                let free = self.free_for(slot.tag());
                self.slots[free] = slot;
            }
        }
    }

    /// The slot of the item with `tag` that `is_it` holds to be the one.
    #[inline]
    pub(crate) fn find(&self, tag: u64, mut is_it: impl FnMut(At) -> bool) -> Option<(usize, At)> {
        let mut slot = self.home(tag);
        loop {
            let here = self.slots[slot];
            if here.is_empty() {
                return None;
            }
            if here.tag() == tag && is_it(here.at()) {
                return Some((slot, here.at()));
            }
            slot = self.after(slot);
        }
    }

    /// Loads the slot where the search for a tag begins; what it says is of no meaning.
    #[inline]
    pub(crate) fn glance(&self, tag: u64) -> u64 {
        self.slots.get(self.home(tag)).map_or(0, |slot| slot.0)
    }

    /// Adds an item. There is a free slot left: see [`Index::is_full`].
    pub(crate) fn insert(&mut self, tag: u64, at: At) {
        let free = self.free_for(tag);
        self.slots[free] = Slot::new(tag, at);
        self.items += 1;
    }

    /// The item of `slot` now lies at `at`.
    pub(crate) fn set(&mut self, slot: usize, at: At) {
        self.slots[slot] = Slot::new(self.slots[slot].tag(), at);
    }

    /// Forgets the item of `slot`; those that it had pushed on move up, so nothing stays behind.
    pub(crate) fn remove(&mut self, slot: usize) {
        let mut hole = slot;
        let mut next = self.after(slot);
        while !self.slots[next].is_empty() {
            let home = self.home(self.slots[next].tag());
            if self.distance(home, next) >= self.distance(hole, next) {
                self.slots[hole] = self.slots[next];
                hole = next;
            }
            next = self.after(next);
        }
        self.slots[hole] = Slot(0);
        self.items -= 1;
    }

    /// Every place whose tag is in `tags`.
    pub(crate) fn within(&self, tags: std::ops::Range<u64>) -> impl Iterator<Item = At> + '_ {
        let first = self.home(tags.start);
        let last = self.home(tags.end.saturating_sub(1).max(tags.start));
        let len = self.slots.len();
        let span = last - first;
        (0..len)
            .map(move |step| (step, self.slots[(first + step) % len]))
            .take_while(move |(step, slot)| *step <= span || !slot.is_empty())
            .map(|(_, slot)| slot)
            .filter(move |slot| !slot.is_empty() && tags.contains(&slot.tag()))
            .map(Slot::at)
    }

    /// How many tags share about `slots` slots.
    pub(crate) fn tags_of(&self, slots: usize) -> u64 {
        (slots as u64 * TAGS / self.slots.len() as u64).max(1)
    }

    fn home(&self, tag: u64) -> usize {
        ((tag * self.slots.len() as u64) >> TAG_BITS) as usize
    }

    fn free_for(&self, tag: u64) -> usize {
        let mut slot = self.home(tag);
        while !self.slots[slot].is_empty() {
            slot = self.after(slot);
        }
        slot
    }

    fn after(&self, slot: usize) -> usize {
        let next = slot + 1;
        if next == self.slots.len() { 0 } else { next }
    }

    fn distance(&self, from: usize, to: usize) -> usize {
        if to >= from {
            to - from
        } else {
            to + self.slots.len() - from
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(n: u32) -> At {
        At {
            segment: n + 1,
            offset: n as usize % 1000 * UNIT,
        }
    }

    proptest! {
            #[test]
            fn every_item_is_found_after_any_inserts_and_removals(
                steps in proptest::collection::vec((any::<bool>(), 0u32..200, 0u64..8), 0..600)
            ) {
                let mut index = Index::new();
                let mut model = std::collections::HashMap::new();
                for (add, n, spread) in steps {
                    // Tags that crowd at the ends: there is wrapping around, and equal tags.
                    let tag = u64::from(n) * spread.pow(2) % 7 + if n % 2 == 0 { TAGS - 8 } else { 0 };
                    if add && !model.contains_key(&n) {
                        if let Some(len) = index.wants() {
                            index.resize(len);
                        }
                        index.insert(tag, at(n));
                        model.insert(n, tag);
                    } else if !add && let Some(tag) = model.remove(&n) {
                        let found = index.find(tag, |place| place == at(n));
                        prop_assert!(found.is_some());
                        if let Some((slot, _)) = found {
     index.remove(slot);
    }
                    }
                    if let Some(len) = index.could_do_with() {
                        index.resize(len);
                    }
                }
                prop_assert_eq!(index.items(), model.len());
                for (n, tag) in &model {
                    prop_assert!(index.find(*tag, |place| place == at(*n)).is_some());
                }
                let halves = [0..TAGS / 2, TAGS / 2..TAGS];
                let seen: usize = halves.into_iter().map(|half| index.within(half).count()).sum();
                prop_assert_eq!(seen, model.len());
            }
        }
}
