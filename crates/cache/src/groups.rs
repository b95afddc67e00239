//! Cache groups (RFC 9875): many objects made invalid at once.
//!
//! A group is a generation number. An object remembers the generations of its
//! groups at the time its response was asked for; when one has moved on, the
//! object is invalid. Nothing is scanned.

use std::collections::HashMap;
use std::hash::Hasher;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::RwLock;
use rapidhash::fast::RapidHasher;

/// A group an object belongs to, and the generation it was stored in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    group: u64,
    generation: u64,
}

/// The generations of all groups that were ever invalidated.
#[derive(Debug, Default)]
pub struct Groups {
    seed: u64,
    /// Invalidations so far.
    moment: AtomicU64,
    state: RwLock<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Generation of groups that are not in the map.
    floor: u64,
    generations: HashMap<u64, u64>,
}

/// A generation that no group has.
const NEVER: u64 = u64::MAX;

/// Groups remembered; beyond, all are invalidated together and forgotten.
const MOST_GROUPS: usize = 1 << 17;

impl Groups {
    /// No group was invalidated yet.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            moment: AtomicU64::new(0),
            state: RwLock::default(),
        }
    }

    /// How many invalidations there were: taken when a response is asked for.
    pub fn moment(&self) -> u64 {
        self.moment.load(Relaxed)
    }

    /// The mark of an object of `origin` that names `group` (a group's name belongs to its
    /// origin, section 2) and was asked for at `asked`. It is outdated from the start when the
    /// group was invalidated since.
    pub fn mark(&self, origin: &[u8], group: &[u8], asked: u64) -> Mark {
        let group = self.group(origin, group);
        let generation = self.state.read().generation(group);
        Mark {
            group,
            generation: if generation > asked {
                NEVER
            } else {
                generation
            },
        }
    }

    /// Makes every object that is in the group now invalid.
    pub fn invalidate(&self, origin: &[u8], group: &[u8]) {
        let group = self.group(origin, group);
        let mut state = self.state.write();
        let generation = self.moment.fetch_add(1, Relaxed) + 1;
        if state.generations.len() >= MOST_GROUPS {
            state.generations.clear();
            state.floor = generation;
        }
        state.generations.insert(group, generation);
    }

    /// Whether none of the groups was invalidated since they were marked.
    pub fn are_current(&self, marks: &[Mark]) -> bool {
        let state = self.state.read();
        marks
            .iter()
            .all(|mark| state.generation(mark.group) == mark.generation)
    }

    fn group(&self, origin: &[u8], name: &[u8]) -> u64 {
        let mut hasher = RapidHasher::new(self.seed);
        hasher.write(&origin.to_ascii_lowercase());
        hasher.write_u8(0);
        hasher.write(name);
        hasher.finish()
    }
}

impl State {
    fn generation(&self, group: u64) -> u64 {
        self.generations.get(&group).copied().unwrap_or(self.floor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_marks_made_before_the_invalidation_are_outdated() {
        let groups = Groups::new(1);
        let asked = groups.moment();
        let (before, other) = (
            groups.mark(b"a", b"news", asked),
            groups.mark(b"b", b"news", asked),
        );
        groups.invalidate(b"A", b"news");
        let after = groups.mark(b"a", b"news", groups.moment());
        assert!(
            !groups.are_current(&[groups.mark(b"a", b"news", asked)]),
            "asked for before"
        );
        assert!(!groups.are_current(&[other, before]));
        assert!(groups.are_current(&[other, after]));
    }
}
