//! What the disk tier asks of the index, and tells it.

use std::sync::Arc;

use super::Cache;
use crate::object::Object;

impl Cache {
    /// Whether another object is in memory in the place of this one.
    pub(crate) fn is_outdated(&self, key: &[u8], object: &Object) -> bool {
        let shard = self.shard(object.hash).lock();
        shard.entry(object.hash, key).is_some_and(|entry| {
            entry
                .variants
                .iter()
                .any(|other| other.id != object.id && other.variant() == object.variant())
        })
    }

    /// The disk does not have this object any more: what is in memory of it has to be written
    /// again when it leaves, and what is only on disk is gone.
    pub(crate) fn left_disk(&self, id: forebay_store::Id) {
        let shard = self.shard(id.key).lock();
        let of_key: Vec<Arc<Object>> = shard
            .table
            .iter_hash(id.key)
            .filter(|entry| entry.hash == id.key)
            .flat_map(|entry| &entry.variants)
            .filter(|object| object.variant() == id.variant && object.is_on_disk())
            .cloned()
            .collect();
        drop(shard);
        for object in of_key {
            object.set_on_disk(false);
            if object.whole().is_some_and(|body| body.is_on_disk()) {
                self.remove(&object);
            }
        }
    }

    /// The disk has failed: nothing is on it any more.
    pub(crate) fn forget_disk(&self) {
        let mut lost = Vec::new();
        self.each(|_, object| {
            object.set_on_disk(false);
            if object.whole().is_some_and(|body| body.is_on_disk()) {
                lost.push(Arc::clone(object));
            }
        });
        lost.iter().for_each(|object| self.remove(object));
    }
}
