//! Who is told of every change, so that it can be written down.

use crate::item::{Item, Place};

/// Told of changes under the shard's lock: for one key, in the order in which they happen. An
/// implementation notes them in memory and returns; whoever wants them durable waits elsewhere,
/// without the lock. It must not call the table.
///
/// It costs a pointer test for each write where there is none, and an indirect call where there
/// is one.
pub trait Journal: Send + Sync {
    /// `key` was written, or got another `cas`.
    fn put(&self, shard: usize, key: &[u8], item: &Item<'_>);

    /// When it ends or its marks changed; its value and its `cas` did not.
    fn changed(&self, shard: usize, key: &[u8], item: &Item<'_>);

    /// `key` has gone; `item` is what it was.
    fn removed(&self, shard: usize, key: &[u8], item: &Item<'_>, why: Why);

    /// Whatever was written in an era before this one is gone, though nobody names it. Shards
    /// may learn of it in any order: what counts is each item's own era.
    fn cleared(&self, era: u32);

    /// The value of `item`, which has its next copy number already, is to leave memory. The place
    /// where it can be found from now on; `None`: it has to stay.
    fn spill(&self, shard: usize, key: &[u8], item: &Item<'_>) -> Option<Place> {
        let _ = (shard, key, item);
        None
    }
}

/// Why an item has gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// A caller removed it.
    Removed,
    /// Its second came.
    Expired,
    /// It was written before a clear.
    Cleared,
    /// It made room.
    Evicted,
}
