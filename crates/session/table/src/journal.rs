//! Who is told of every change, so that it can be written down.

use crate::item::Item;

/// Told of changes under the shard's lock: for one key, in the order in which they happen. An
/// implementation notes them in memory and returns; whoever wants them durable waits elsewhere,
/// without the lock. It must not call the table.
///
/// It costs a pointer test for each write where there is none, and an indirect call where there
/// is one.
pub trait Journal: Send + Sync {
    /// `key` was written.
    fn put(&self, shard: usize, key: &[u8], item: &Item<'_>);

    /// When it ends, its marks or its `cas` changed, and its value did not.
    fn changed(&self, shard: usize, key: &[u8], item: &Item<'_>);

    /// `key` has gone; `item` is what it was.
    fn removed(&self, shard: usize, key: &[u8], item: &Item<'_>, why: Why);

    /// Whatever was written in an era before this one is gone, though nobody names it. Shards
    /// may learn of it in any order: what counts is each item's own era.
    fn cleared(&self, era: u32);
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
