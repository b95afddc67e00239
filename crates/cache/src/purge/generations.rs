//! When keys and tags were purged: one entry each, whatever the number of objects.

use hashbrown::HashTable;

use super::reach::{Reach, Verdict};

/// Moments of the last purges by hash, of at most so many hashes as it was made for.
///
/// When it is full the older half is forgotten, and what was not judged since is taken for
/// purged with it: the *floor*, the last purge that any forgotten entry can have had.
#[derive(Debug)]
pub(crate) struct Generations {
    table: HashTable<(u64, Reach)>,
    floor: Reach,
    newest: u64,
    most: usize,
}

impl Generations {
    /// Nothing was purged; up to `most` entries are kept.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            table: HashTable::new(),
            floor: Reach::default(),
            newest: 0,
            most: most.max(2),
        }
    }

    /// How many hashes are kept.
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether no purge is remembered.
    pub(crate) fn is_empty(&self) -> bool {
        self.table.is_empty() && self.floor.newest() == 0
    }

    /// The moment of the last purge of anything.
    pub(crate) fn newest(&self) -> u64 {
        self.newest
    }

    /// Purges one hash. Returns whether an earlier purge of it was in force.
    pub(crate) fn purge(&mut self, hash: u64, strength: Verdict, moment: u64) -> bool {
        self.newest = self.newest.max(moment);
        if let Some((_, reach)) = self.table.find_mut(hash, |(own, _)| *own == hash) {
            reach.add(strength, moment);
            return true;
        }
        if self.table.len() >= self.most {
            self.shed();
        }
        let reach = Reach::of(strength, moment);
        self.table
            .insert_unique(hash, (hash, reach), |(own, _)| *own);
        false
    }

    /// Purges all hashes that are not known, and those that are.
    pub(crate) fn raise_floor(&mut self, strength: Verdict, moment: u64) {
        self.newest = self.newest.max(moment);
        self.floor.add(strength, moment);
    }

    /// What purges of `hash` after `since` did.
    pub(crate) fn verdict(&self, hash: u64, since: u64) -> Verdict {
        let own = self
            .table
            .find(hash, |(own, _)| *own == hash)
            .map_or(Verdict::Current, |(_, reach)| reach.verdict(since));
        own.max(self.floor.verdict(since))
    }

    /// Forgets purges up to `moment`.
    pub(crate) fn retire(&mut self, moment: u64) {
        self.floor.retire(moment);
        self.table.retain(|(_, reach)| reach.retire(moment));
        if self.table.len() < self.table.capacity() / 4 {
            self.table.shrink_to_fit(|(own, _)| *own);
        }
    }

    /// What is needed to make it again: purges of hashes, and those of the floor.
    pub(crate) fn purges(&self) -> impl Iterator<Item = (Option<u64>, Verdict, u64)> {
        let floor = self
            .floor
            .purges()
            .map(|(strength, at)| (None, strength, at));
        let own = self.table.iter().flat_map(|&(hash, reach)| {
            reach
                .purges()
                .map(move |(strength, at)| (Some(hash), strength, at))
        });
        floor.chain(own)
    }

    fn shed(&mut self) {
        let mut moments: Vec<u64> = self.table.iter().map(|(_, reach)| reach.newest()).collect();
        let middle = moments.len() / 2;
        let (_, &mut median, _) = moments.select_nth_unstable(middle);
        let floor = &mut self.floor;
        self.table.retain(|(_, reach)| {
            let stays = reach.newest() > median;
            if !stays {
                floor.join(reach);
            }
            stays
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_table_forgets_the_older_half_and_purges_what_it_held() {
        let mut tags = Generations::new(8);
        for hash in 1..=9 {
            tags.purge(hash, Verdict::Gone, hash);
        }
        assert!(tags.len() <= 8);
        assert_eq!(tags.verdict(9, 8), Verdict::Gone);
        assert_eq!(tags.verdict(9, 9), Verdict::Current);
        assert_eq!(tags.verdict(1, 0), Verdict::Gone, "forgotten, not lost");
        assert_eq!(tags.verdict(77, 0), Verdict::Gone, "taken for purged");
        assert_eq!(tags.verdict(77, 5), Verdict::Current, "judged since");
    }

    #[test]
    fn a_floor_is_no_stronger_than_what_it_stands_for() {
        let mut tags = Generations::new(2);
        for hash in 1..=5 {
            tags.purge(hash, Verdict::Soft, hash);
        }
        assert_eq!(tags.verdict(77, 0), Verdict::Soft);
    }

    #[test]
    fn retirement_forgets_and_nothing_else() {
        let mut tags = Generations::new(8);
        tags.purge(1, Verdict::Gone, 1);
        assert!(tags.purge(1, Verdict::Soft, 3));
        tags.purge(2, Verdict::Gone, 2);
        tags.retire(2);
        assert_eq!(tags.len(), 1);
        assert_eq!(tags.verdict(1, 0), Verdict::Soft);
        tags.retire(3);
        assert!(tags.is_empty());
    }
}
