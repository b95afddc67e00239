//! Room for new objects: who may be evicted, who has to go, and what is offered to the disk then.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::shard::Shun;
use super::{Cache, MARK};
use crate::budget::{Charge, allocated};
use crate::eviction::{Item, Standing};
use crate::key::Key;
use crate::object::{ENTRY_BYTES, Object};

impl Cache {
    /// The object's body is complete: from now on it may be evicted. Returns
    /// how many others had to go for it.
    pub fn settle(&self, object: &Arc<Object>) -> u64 {
        let item = Item {
            hash: object.hash,
            id: object.id,
            bytes: object.memory_bytes(),
        };
        if self.enqueue(item) {
            object.set_wanted();
        }
        self.make_room()
    }

    /// Evicts until the budget is kept, or nothing is left to evict. Returns how many objects went.
    pub fn make_room(&self) -> u64 {
        let mut excess = self.budget.excess();
        let mut evicted = 0;
        while excess > 0 {
            let Some(item) = self.victim() else { break };
            let mut shard = self.shard(item.hash).lock();
            if item.id == MARK {
                excess = excess.saturating_sub(shard.take_mark(item.hash));
                continue;
            }
            let taken = shard.take(item.hash, item.id);
            drop(shard);
            if let Some((object, key)) = taken {
                excess = excess.saturating_sub(object.memory_bytes());
                evicted += 1;
                if let Some(disk) = &self.disk {
                    disk.offer(object, key);
                }
            }
        }
        self.objects.fetch_sub(evicted, Relaxed);
        evicted
    }

    fn victim(&self) -> Option<Item> {
        let mut queues = self.queues.lock();
        queues.victim(
            |item| self.standing(item),
            |item, heat| {
                if let Some(object) = self.shard(item.hash).lock().held(item) {
                    object.set_heat(heat);
                }
            },
        )
    }

    /// What the index knows of an item of the queues.
    fn standing(&self, item: &Item) -> Standing {
        let shard = self.shard(item.hash).lock();
        match item.id {
            MARK if shard.is_marked(item.hash) => Standing::Heat(0),
            MARK => Standing::Gone,
            _ => shard
                .held(item)
                .map_or(Standing::Gone, |object| Standing::Heat(object.heat())),
        }
    }

    /// Notes that the response for a key was not one to share.
    pub(crate) fn shun(&self, hash: u64, key: &[u8], until_ms: u64) {
        let mut shard = self.shard(hash).lock();
        let entry = shard.entry_or_new(&Key { text: key, hash });
        if let Some(shun) = &mut entry.shun {
            shun.until_ms = until_ms;
            return;
        }
        let mut charge = Charge::new(&self.budget);
        charge.set(ENTRY_BYTES as u64 + allocated(key.len()));
        let bytes = charge.bytes();
        entry.shun = Some(Shun { until_ms, charge });
        drop(shard);
        self.enqueue(Item {
            hash,
            id: MARK,
            bytes,
        });
        self.make_room();
    }

    /// Returns whether it left lately and came back.
    fn enqueue(&self, item: Item) -> bool {
        let mut queues = self.queues.lock();
        let remembered = queues.insert(item);
        queues.tidy(|item| self.standing(item) != Standing::Gone);
        remembered
    }
}
