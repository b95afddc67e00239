//! What purges and unsafe requests make of objects in the index.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::Cache;
use crate::key::Key;
use crate::object::Object;
use crate::purge::Verdict;

impl Cache {
    /// What purges and unsafe requests made of the object. One load and a comparison while
    /// nothing was purged since it was last asked for.
    #[inline]
    pub fn verdict(&self, object: &Object) -> Verdict {
        let purged = if object.seen.is_current(self.purges.moment()) {
            Verdict::Current
        } else {
            self.purges.check(&object.seen, &object.subject())
        };
        if object.is_invalid() {
            purged.max(Verdict::Invalid)
        } else {
            purged
        }
    }

    /// Whether the object may not be used without the origin's word.
    pub fn is_invalid(&self, object: &Object) -> bool {
        self.verdict(object) >= Verdict::Invalid
    }

    /// Takes an object that was purged out of the index, and off the disk.
    pub fn remove_purged(&self, object: &Arc<Object>) {
        self.remove(object);
        if let Some(disk) = &self.disk {
            disk.replaced(object);
        }
    }

    /// Gives up what lies under the hash of a key that was purged. Returns how many objects that
    /// were, in memory and on disk.
    pub fn purged_key(&self, hash: u64) -> u64 {
        let shard = self.shard(hash).lock();
        let of_key = shard.table.iter_hash(hash);
        let of_key = of_key.filter(|entry| entry.hash == hash);
        let objects: Vec<Arc<Object>> = of_key.flat_map(|entry| &entry.variants).cloned().collect();
        if let Some(entry) = shard.table.find(hash, |entry| entry.hash == hash) {
            entry.invalidate_flights();
        }
        drop(shard);
        let gone = objects.iter().filter(|object| self.is_gone(object));
        gone.for_each(|object| self.remove_purged(object));
        let only_on_disk = self.disk.as_ref().map_or(0, |disk| {
            let in_memory: Vec<u32> = objects.iter().map(|object| object.variant()).collect();
            let found = disk.find(hash, usize::MAX);
            let others = found
                .iter()
                .filter(|(id, _)| !in_memory.contains(&id.variant));
            others.count()
        });
        (objects.len() + only_on_disk) as u64
    }

    /// Looks at everything in memory that was not looked at since the last purge, removes what
    /// is gone, and forgets purges that everything was looked at for. Returns how many objects
    /// were removed. It takes a while.
    pub fn tidy(&self) -> u64 {
        let moment = self.purges.moment();
        if moment == self.retired.load(Relaxed) || self.purges.is_empty() {
            return 0;
        }
        let mut gone = Vec::new();
        self.each(|_, object| {
            if !object.seen.is_current(moment) {
                gone.push(Arc::clone(object));
            }
        });
        // Judged outside of the lock: expressions take their time.
        gone.retain(|object| self.is_gone(object));
        gone.iter().for_each(|object| self.remove_purged(object));
        let on_disk = self.disk.as_ref().map_or(u64::MAX, |disk| disk.tidied());
        let retired = moment.min(on_disk);
        // First the floor: an answer that is under way must not miss what is forgotten.
        self.retired.fetch_max(retired, Relaxed);
        if let Err(error) = self.purges.retire(retired) {
            tracing::warn!("purges that are not needed any more stay in the journal: {error}");
        }
        gone.len() as u64
    }

    /// Whether an object was purged for good.
    pub(crate) fn is_gone(&self, object: &Object) -> bool {
        self.verdict(object) == Verdict::Gone
    }

    /// Makes everything under `key` invalid, also what is being fetched now.
    /// Returns how many objects were valid before.
    pub fn invalidate(&self, key: &Key<'_>) -> usize {
        let on_disk = self
            .disk
            .as_ref()
            .map_or(0, |disk| disk.invalidate(key.hash));
        self.invalidate_in_memory(key).max(on_disk)
    }

    fn invalidate_in_memory(&self, key: &Key<'_>) -> usize {
        let mut shard = self.shard(key.hash).lock();
        let found = shard.table.find_mut(key.hash, |entry| {
            entry.hash == key.hash && *entry.key == *key.text
        });
        let Some(entry) = found else { return 0 };
        entry.invalidate_flights();
        entry
            .variants
            .iter()
            .filter(|object| object.invalidate())
            .count()
    }
}
