//! What one client of the crash test knows of its keys, which nobody else writes: how each was when it was last looked
//! at, and everything that was sent since, in order. A store that was killed has to be as it was behind some of those
//! writes, the first so many of them: behind all that may not be lost, and none but the last left out.

use std::time::Instant;

/// How a key is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// It has no item.
    #[default]
    Missing,
    /// It has one.
    Held {
        /// Which of the key's values.
        version: u32,
        /// Which of the client's writes gave it its end.
        ends: u32,
    },
}

impl State {
    fn version(self) -> Option<u32> {
        match self {
            Self::Missing => None,
            Self::Held { version, .. } => Some(version),
        }
    }
}

/// A write that was sent.
#[derive(Clone, Copy, Debug)]
struct Write {
    key: usize,
    /// How the key is behind it.
    after: State,
}

/// A client's keys.
#[derive(Debug)]
pub(super) struct Owner {
    /// As they were when they were last looked at.
    base: Vec<State>,
    /// As they are if everything that was sent is done.
    now: Vec<State>,
    /// What items' numbers are, as far as the store told.
    cas: Vec<Option<u64>>,
    /// Which write gave each key its value, or took it.
    latest: Vec<usize>,
    writes: Vec<Write>,
    /// When each was acknowledged, from the first on.
    acknowledged: Vec<Instant>,
    /// How many writes there were in all lives.
    serial: u32,
}

/// What a kill left of the writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Left {
    /// The first so many of them are done.
    pub(super) writes: usize,
    /// When the first of those was acknowledged that are lost.
    pub(super) lost: Option<Instant>,
}

impl Owner {
    pub(super) fn new(keys: usize) -> Self {
        Self {
            base: vec![State::Missing; keys],
            now: vec![State::Missing; keys],
            cas: vec![None; keys],
            latest: vec![0; keys],
            writes: Vec::new(),
            acknowledged: Vec::new(),
            serial: 0,
        }
    }

    pub(super) fn keys(&self) -> usize {
        self.now.len()
    }

    pub(super) fn now(&self, key: usize) -> State {
        self.now.get(key).copied().unwrap_or_default()
    }

    pub(super) fn cas(&self, key: usize) -> Option<u64> {
        self.cas.get(key).copied().flatten()
    }

    /// The item has this number, as long as it is not written.
    pub(super) fn set_cas(&mut self, key: usize, cas: Option<u64>) {
        if let Some(place) = self.cas.get_mut(key) {
            *place = cas;
        }
    }

    /// The number of the next write.
    pub(super) fn next_serial(&mut self) -> u32 {
        self.serial += 1;
        self.serial
    }

    /// A write is about to be sent.
    pub(super) fn sent(&mut self, key: usize, after: State) {
        let (Some(now), Some(latest)) = (self.now.get_mut(key), self.latest.get_mut(key)) else {
            return;
        };
        self.writes.push(Write { key, after });
        if now.version() != after.version() {
            *latest = self.writes.len();
        }
        *now = after;
    }

    /// The oldest write that was not acknowledged is now. Returns which that is.
    pub(super) fn acknowledge(&mut self) -> usize {
        self.acknowledged.push(Instant::now());
        self.acknowledged.len()
    }

    /// Whether the key has its value from this write.
    pub(super) fn is_latest(&self, key: usize, write: usize) -> bool {
        self.latest.get(key) == Some(&write)
    }

    /// How many writes were acknowledged.
    pub(super) fn acknowledged(&self) -> usize {
        self.acknowledged.len()
    }

    /// How many writes were acknowledged before this moment.
    pub(super) fn acknowledged_before(&self, moment: Instant) -> usize {
        self.acknowledged.partition_point(|at| *at < moment)
    }

    /// Whether the keys are as they were behind the first `least` writes or some more of them; that is then how they
    /// are from now on.
    ///
    /// # Errors
    /// They are not, in words.
    pub(super) fn look_back(&mut self, seen: &[State], least: usize) -> Result<Left, String> {
        let most = self.writes.len();
        // How many keys are right behind so many writes, as differences.
        let mut right = vec![0_i64; most + 2];
        let mut mark = |from: usize, until: usize| {
            if from < until {
                right[from] += 1;
                right[until] -= 1;
            }
        };
        let mut current: Vec<(usize, State)> = self.base.iter().map(|state| (0, *state)).collect();
        for (number, write) in (1..).zip(&self.writes) {
            let (since, state) = current[write.key];
            if seen[write.key] == state {
                mark(since, number);
            }
            current[write.key] = (number, write.after);
        }
        for ((since, state), seen) in current.iter().zip(seen) {
            if state == seen {
                mark(*since, most + 1);
            }
        }
        let keys = self.keys() as i64;
        let mut sum = 0;
        let behind = right
            .iter()
            .take(most + 1)
            .enumerate()
            .filter_map(|(behind, change)| {
                sum += change;
                (sum == keys && behind >= least).then_some(behind)
            });
        let Some(writes) = behind.last() else {
            return Err(self.fault(seen, least));
        };
        let lost = self.acknowledged.get(writes).copied();
        self.settle(seen);
        Ok(Left { writes, lost })
    }

    /// From now on this is how the keys are.
    fn settle(&mut self, seen: &[State]) {
        for ((cas, now), seen) in self.cas.iter_mut().zip(&self.now).zip(seen) {
            if now != seen {
                *cas = None;
            }
        }
        self.base = seen.to_vec();
        self.now = seen.to_vec();
        self.writes.clear();
        self.acknowledged.clear();
    }

    /// Which keys are as they cannot be.
    fn fault(&self, seen: &[State], least: usize) -> String {
        let mut due = self.base.clone();
        for write in self.writes.iter().take(least) {
            due[write.key] = write.after;
        }
        let later = |key: usize, state: State| {
            let mut later = self.writes.iter().skip(least);
            later.any(|write| write.key == key && write.after == state)
        };
        let wrong = seen
            .iter()
            .enumerate()
            .find(|(key, seen)| due[*key] != **seen && !later(*key, **seen));
        let (all, acknowledged) = (self.writes.len(), self.acknowledged.len());
        let counts =
            format!("{all} writes were sent, {acknowledged} acknowledged, {least} of them due");
        match wrong {
            Some((key, seen)) => {
                let due = due[key];
                format!("key {key} is {seen:?}, {due:?} or a later one is due; {counts}")
            }
            None => format!("later writes are there and earlier ones are not; {counts}"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn held(version: u32) -> State {
        let ends = version;
        State::Held { version, ends }
    }

    /// Two keys, three writes, two of them acknowledged.
    fn owner() -> Owner {
        let mut owner = Owner::new(2);
        owner.sent(0, held(1));
        owner.acknowledge();
        owner.sent(1, held(2));
        owner.acknowledge();
        owner.sent(0, State::Missing);
        owner
    }

    #[test]
    fn what_was_acknowledged_must_be_there_and_what_was_sent_may() {
        let left = |seen: &[State], least| owner().look_back(seen, least).map(|left| left.writes);
        assert_eq!(left(&[held(1), held(2)], 2), Ok(2));
        assert_eq!(left(&[State::Missing, held(2)], 2), Ok(3));
        assert!(left(&[held(1), State::Missing], 2).is_err());
        assert_eq!(left(&[held(1), State::Missing], 1), Ok(1));
        let mut owner = owner();
        let second = owner.acknowledged.last().copied();
        let left = owner.look_back(&[held(1), State::Missing], 1).unwrap();
        assert_eq!(left.lost, second);
    }

    #[test]
    fn a_later_write_without_an_earlier_one_and_a_deleted_item_are_seen() {
        // Key 1 was written before key 0 was deleted.
        let gone = [State::Missing, State::Missing];
        let left = owner().look_back(&gone, 0).unwrap();
        assert_eq!(left.writes, 0, "as before the first");
        let mut second = owner();
        second.look_back(&[State::Missing, held(2)], 3).unwrap();
        assert!(
            second.look_back(&[held(1), held(2)], 0).is_err(),
            "it came back"
        );
        let mixed = [held(7), held(2)];
        assert!(owner().look_back(&mixed, 0).is_err(), "nobody wrote that");
    }

    #[test]
    fn a_number_is_forgotten_with_the_item_that_had_it() {
        let mut owner = owner();
        owner.set_cas(0, Some(5));
        owner.set_cas(1, Some(6));
        owner.look_back(&[held(1), held(2)], 2).unwrap();
        assert_eq!((owner.cas(0), owner.cas(1)), (None, Some(6)));
    }
}
