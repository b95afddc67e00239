//! Which object goes when memory is short: S3-FIFO (Yang et al., SOSP 2023).
//!
//! Three queues in order of arrival. New objects enter `small`, a tenth of the
//! bytes; those hit twice while there move to `main`, the others leave and are
//! remembered in `ghost`, from where a quick return goes straight to `main`.
//! A hit changes nothing here, it only counts in the object.

use std::collections::{HashSet, VecDeque};

/// Where an object stands in a queue. The index may have dropped it meanwhile;
/// it is then passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) hash: u64,
    pub(crate) id: u64,
    pub(crate) bytes: u64,
}

/// What the index says of an item that came to the end of its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Not in the index any more.
    Gone,
    /// In the index, hit so often lately.
    Heat(u8),
}

#[derive(Debug, Default)]
pub(crate) struct Queues {
    small: VecDeque<Item>,
    main: VecDeque<Item>,
    small_bytes: u64,
    main_bytes: u64,
    ghosts: VecDeque<u64>,
    ghost_set: HashSet<u64>,
    /// At so many items those of gone objects are looked for.
    tidy_at: usize,
}

impl Queues {
    /// Adds an object. Returns whether it is remembered: it left lately, and was missed.
    pub(crate) fn insert(&mut self, item: Item) -> bool {
        let remembered = self.ghost_set.remove(&item.hash);
        if remembered {
            self.main_bytes += item.bytes;
            self.main.push_back(item);
        } else {
            self.small_bytes += item.bytes;
            self.small.push_back(item);
        }
        remembered
    }

    /// The next object to go. `standing` tells of an item; `cool` notes that a
    /// hot one was spared, at the price of some of its heat.
    pub(crate) fn victim(
        &mut self,
        standing: impl Fn(&Item) -> Standing,
        cool: impl Fn(&Item, u8),
    ) -> Option<Item> {
        loop {
            let total = self.small_bytes + self.main_bytes;
            let from_small = self.small_bytes * 10 >= total || self.main.is_empty();
            if from_small && !self.small.is_empty() {
                let item = self.small.pop_front()?;
                self.small_bytes -= item.bytes;
                match standing(&item) {
                    Standing::Gone => {}
                    Standing::Heat(heat) if heat > 1 => {
                        cool(&item, 0);
                        self.main_bytes += item.bytes;
                        self.main.push_back(item);
                    }
                    Standing::Heat(_) => {
                        self.remember(item.hash);
                        return Some(item);
                    }
                }
            } else {
                let item = self.main.pop_front()?;
                self.main_bytes -= item.bytes;
                match standing(&item) {
                    Standing::Gone => {}
                    Standing::Heat(0) => return Some(item),
                    Standing::Heat(heat) => {
                        cool(&item, heat - 1);
                        self.main_bytes += item.bytes;
                        self.main.push_back(item);
                    }
                }
            }
        }
    }

    fn remember(&mut self, hash: u64) {
        let most = (self.main.len() + self.small.len()).max(64);
        while self.ghosts.len() >= most {
            if let Some(oldest) = self.ghosts.pop_front() {
                self.ghost_set.remove(&oldest);
            }
        }
        if self.ghost_set.insert(hash) {
            self.ghosts.push_back(hash);
        }
    }

    /// Items that the index has dropped are taken out before they outnumber the others.
    pub(crate) fn tidy(&mut self, is_live: impl Fn(&Item) -> bool) {
        if self.small.len() + self.main.len() < self.tidy_at.max(1024) {
            return;
        }
        self.small.retain(&is_live);
        self.main.retain(&is_live);
        self.small_bytes = self.small.iter().map(|item| item.bytes).sum();
        self.main_bytes = self.main.iter().map(|item| item.bytes).sum();
        self.tidy_at = 2 * (self.small.len() + self.main.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::{Cell, RefCell};
    use std::collections::{BTreeMap, HashMap};

    /// A cache of `size` one-byte objects driven by a trace; returns the hits.
    fn hits(trace: impl Iterator<Item = u64>, size: usize) -> usize {
        let mut queues = Queues::default();
        let heat: RefCell<HashMap<u64, u8>> = RefCell::default();
        let mut hits = 0;
        for key in trace {
            if let Some(heat) = heat.borrow_mut().get_mut(&key) {
                *heat = (*heat + 1).min(3);
                hits += 1;
                continue;
            }
            if heat.borrow().len() == size {
                let victim = queues.victim(
                    |item| {
                        heat.borrow()
                            .get(&item.id)
                            .map_or(Standing::Gone, |&h| Standing::Heat(h))
                    },
                    |item, cooled| {
                        heat.borrow_mut().insert(item.id, cooled);
                    },
                );
                heat.borrow_mut().remove(&victim.map_or(0, |item| item.id));
            }
            heat.borrow_mut().insert(key, 0);
            queues.insert(Item {
                hash: key,
                id: key,
                bytes: 1,
            });
        }
        hits
    }

    #[test]
    fn a_scan_does_not_wash_out_what_is_popular() {
        let popular = (0..20_000u64).map(|i| if i % 2 == 0 { i / 2 % 50 } else { 1_000 + i });
        // Half of the requests are for 50 popular objects; a cache of 100 must keep nearly all of them.
        assert!(hits(popular, 100) > 9_700);
    }

    #[test]
    fn an_object_that_left_is_passed_over() {
        let mut queues = Queues::default();
        for id in 1..=3 {
            queues.insert(Item {
                hash: id,
                id,
                bytes: 10,
            });
        }
        let victim = queues.victim(
            |item| {
                if item.id == 1 {
                    Standing::Gone
                } else {
                    Standing::Heat(0)
                }
            },
            |_, _| {},
        );
        assert_eq!(victim.map(|item| item.id), Some(2));
        assert_eq!(queues.small_bytes, 10);
    }

    /// What may happen: an arrival, so many hits, a departure by another way, an eviction.
    #[derive(Clone, Debug)]
    enum Step {
        Arrive(u64),
        Hit(usize, u8),
        Leave(usize),
        Evict,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => (0..1000u64).prop_map(Step::Arrive),
            2 => (0..50usize, 1..6u8).prop_map(|(which, times)| Step::Hit(which, times)),
            1 => (0..50usize).prop_map(Step::Leave),
            3 => Just(Step::Evict),
        ];
        proptest::collection::vec(step, 0..300)
    }

    /// The objects in the cache: their bytes and heat.
    type Objects = RefCell<BTreeMap<u64, (u64, u8)>>;

    /// Asks for a victim; counts how many items were looked at.
    fn evict(queues: &mut Queues, objects: &Objects, looked_at: &Cell<usize>) -> Option<Item> {
        queues.victim(
            |item| {
                looked_at.set(looked_at.get() + 1);
                objects
                    .borrow()
                    .get(&item.id)
                    .map_or(Standing::Gone, |&(_, heat)| Standing::Heat(heat))
            },
            |item, heat| {
                if let Some(object) = objects.borrow_mut().get_mut(&item.id) {
                    object.1 = heat;
                }
            },
        )
    }

    proptest! {
        #[test]
        fn a_victim_is_found_in_bounded_time_as_long_as_there_is_an_object(story in steps()) {
            let (mut queues, objects, mut next) = (Queues::default(), Objects::default(), 0);
            let pick = |objects: &Objects, which: usize| {
                let objects = objects.borrow();
                objects.keys().nth(which.checked_rem(objects.len())?).copied()
            };
            for step in story {
                match step {
                    Step::Arrive(bytes) => {
                        next += 1;
                        objects.borrow_mut().insert(next, (bytes, 0));
                        queues.insert(Item { hash: next % 40, id: next, bytes });
                        queues.tidy(|item| objects.borrow().contains_key(&item.id));
                    }
                    Step::Hit(which, times) => {
                        if let Some(id) = pick(&objects, which)
                            && let Some(object) = objects.borrow_mut().get_mut(&id)
                        {
                            object.1 = (object.1 + times).min(3);
                        }
                    }
                    Step::Leave(which) => {
                        pick(&objects, which).map(|id| objects.borrow_mut().remove(&id));
                    }
                    Step::Evict => {
                        let (items, looked_at) = (queues.small.len() + queues.main.len(), Cell::new(0));
                        let victim = evict(&mut queues, &objects, &looked_at);
                        // Each item is spared at most once in `small` and three times in `main`.
                        prop_assert!(looked_at.get() <= 5 * items);
                        prop_assert_eq!(victim.is_none(), objects.borrow().is_empty());
                        let known = victim.is_none_or(|item| objects.borrow_mut().remove(&item.id).is_some());
                        prop_assert!(known, "a victim is an object");
                    }
                }
                let bytes = |queue: &VecDeque<Item>| queue.iter().map(|item| item.bytes).sum::<u64>();
                prop_assert_eq!(queues.small_bytes, bytes(&queues.small));
                prop_assert_eq!(queues.main_bytes, bytes(&queues.main));
                let in_queues = |id: &u64| queues.small.iter().chain(&queues.main).any(|item| item.id == *id);
                prop_assert!(objects.borrow().keys().all(in_queues), "every object can be evicted");
            }
        }
    }
}
