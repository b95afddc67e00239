//! The budget among shards: each may take what is free, and none keeps more than its share while
//! another with less is in need.

use crate::item::Refused;
use crate::room::Short;
use crate::shard::{Now, Shard};
use crate::table::Table;

impl Table {
    /// Does a write for which there may be no room: where the shard has less than its share of
    /// the budget, others give first.
    pub(crate) fn insist(
        &self,
        shard: &mut Shard,
        now: Now<'_>,
        write: &mut dyn FnMut(&mut Shard, bool) -> Result<u64, Short>,
    ) -> Result<u64, Refused> {
        let mut done = write(shard, false);
        if let Err(Short::Poor(bytes)) = done {
            self.others_give(shard.number, now, bytes, self.shared.share());
            done = write(shard, true);
        }
        if let Err(Short::Full(bytes)) = done
            && self.shared.options.full.makes_room()
        {
            self.others_give(shard.number, now, bytes, 0);
            done = write(shard, true);
        }
        done.map_err(|short| match short {
            Short::TooLarge => Refused::TooLarge,
            Short::Poor(_) | Short::Full(_) => {
                shard.counts.refused += 1;
                Refused::Full
            }
        })
    }

    /// Lets other shards, but for those that are locked, give memory back until `bytes` fit the
    /// budget. Waiting for a lock here, with one held, could be forever.
    fn others_give(&self, own: usize, now: Now<'_>, bytes: u64, floor: u64) {
        let after = (1..self.shards.len()).map(|step| (own + step) % self.shards.len());
        for other in after {
            if self.shared.budget.fits(bytes) {
                return;
            }
            if let Some(mut other) = self.shards[other].0.try_lock() {
                other.shed(now, bytes, floor);
            }
        }
    }
}
