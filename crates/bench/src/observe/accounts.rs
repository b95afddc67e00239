//! Processor time of a family of processes, each tick counted once: those that
//! live, those that ended between two readings, and those whose parent waited
//! for them and so took over their time.
//!
//! Pure: readings in, sums out.

use std::collections::BTreeMap;

use super::process::{Id, Reading};

/// Processor time in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cpu {
    pub(super) user: u64,
    pub(super) system: u64,
}

impl Cpu {
    fn plus(self, other: Self) -> Self {
        Self {
            user: self.user + other.user,
            system: self.system + other.system,
        }
    }

    /// What is left; nothing where the other is more.
    fn less(self, other: Self) -> Self {
        Self {
            user: self.user.saturating_sub(other.user),
            system: self.system.saturating_sub(other.system),
        }
    }
}

/// The processes as last seen, and what those used that are gone.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    known: BTreeMap<Id, Reading>,
    ended: Cpu,
    /// Of all together, when the measured time began.
    base: Cpu,
}

impl Accounts {
    /// Counts from these readings on.
    pub(super) fn begin(&mut self, now: &[Reading]) {
        *self = Self::default();
        self.update(now);
        self.base = self.total();
    }

    /// What was used since the beginning.
    pub(super) fn used(&self) -> Cpu {
        self.total().less(self.base)
    }

    /// Takes over the readings of all processes that live.
    pub(super) fn update(&mut self, now: &[Reading]) {
        let now: BTreeMap<Id, Reading> = now.iter().map(|r| (r.id, r.clone())).collect();
        let lost = self.lost(&now);
        for (heir, lost) in lost {
            // What the heir gained by waiting for its children is in its own reading already.
            let gained = heir.map_or(Cpu::default(), |id| {
                let reaped = |all: &BTreeMap<Id, Reading>| all.get(&id).map(|r| r.reaped);
                let before = reaped(&self.known).unwrap_or_default();
                reaped(&now).unwrap_or_default().less(before)
            });
            self.ended = self.ended.plus(lost.less(gained));
        }
        self.known = now;
    }

    /// The last known time of those that are gone, by the nearest ancestor that lives.
    fn lost(&self, now: &BTreeMap<Id, Reading>) -> BTreeMap<Option<Id>, Cpu> {
        let mut lost: BTreeMap<Option<Id>, Cpu> = BTreeMap::new();
        for gone in self.known.values().filter(|r| !now.contains_key(&r.id)) {
            let sum = lost.entry(self.heir(gone, now)).or_default();
            *sum = sum.plus(gone.own).plus(gone.reaped);
        }
        lost
    }

    fn heir(&self, gone: &Reading, now: &BTreeMap<Id, Reading>) -> Option<Id> {
        let mut parent = gone.parent;
        // As many steps as there are processes, should they form a circle.
        for _ in 0..=self.known.len() {
            let found = self.known.values().find(|r| r.id.pid == parent)?;
            if now.contains_key(&found.id) {
                return Some(found.id);
            }
            parent = found.parent;
        }
        None
    }

    fn total(&self) -> Cpu {
        let add = |sum: Cpu, r: &Reading| sum.plus(r.own).plus(r.reaped);
        self.known.values().fold(self.ended, add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, parent: u32, own: u64, reaped: u64) -> Reading {
        let user = |user| Cpu { user, system: 0 };
        Reading {
            id: Id { pid, began: 1 },
            parent,
            name: String::new(),
            own: user(own),
            reaped: user(reaped),
        }
    }

    /// User time after each of the readings, from the first on.
    fn used(readings: &[&[Reading]]) -> Vec<u64> {
        let mut accounts = Accounts::default();
        accounts.begin(readings[0]);
        let mut after = |now: &&[Reading]| {
            accounts.update(now);
            accounts.used().user
        };
        readings[1..].iter().map(&mut after).collect()
    }

    #[test]
    fn living_processes_are_added_up_from_the_beginning_on() {
        let before = [process(1, 0, 100, 50), process(2, 1, 30, 0)];
        let after = [
            process(1, 0, 110, 50),
            process(2, 1, 33, 0),
            process(3, 1, 5, 0),
        ];
        assert_eq!(used(&[&before, &after]), [18]);
    }

    #[test]
    fn a_child_that_its_parent_waited_for_counts_once() {
        let before = [process(1, 0, 100, 50), process(2, 1, 30, 0)];
        // It used 4 more before it ended.
        let after = [process(1, 0, 100, 84)];
        assert_eq!(used(&[&before, &after, &after]), [4, 4]);
    }

    #[test]
    fn a_child_that_nobody_waited_for_keeps_what_was_known() {
        let before = [process(1, 0, 100, 50), process(2, 1, 30, 0)];
        let between = [process(1, 0, 100, 50), process(2, 1, 42, 0)];
        let after = [process(1, 0, 100, 50)];
        assert_eq!(used(&[&before, &between, &after, &after]), [12, 12, 12]);
    }

    #[test]
    fn a_grandchild_counts_once_when_two_generations_end() {
        let before = [
            process(1, 0, 0, 0),
            process(2, 1, 10, 0),
            process(3, 2, 20, 0),
        ];
        let after = [process(1, 0, 0, 30)];
        assert_eq!(used(&[&before, &after]), [0]);
    }

    #[test]
    fn all_gone_leaves_the_last_known_sum() {
        let before = [process(1, 0, 5, 0), process(2, 1, 5, 0)];
        let between = [process(1, 0, 8, 0), process(2, 1, 9, 0)];
        assert_eq!(used(&[&before, &between, &[], &[]]), [7, 7, 7]);
    }

    #[test]
    fn the_same_number_is_another_process_when_it_began_later() {
        let mut later = process(2, 1, 3, 0);
        later.id.began = 9;
        let before = [process(1, 0, 0, 0), process(2, 1, 40, 0)];
        let after = [process(1, 0, 0, 41), later];
        assert_eq!(used(&[&before, &after]), [4]);
    }
}
