//! What a table says of itself.

use crate::shard::Shard;

/// Sums over all shards. They are locked one after another: a figure may be of a moment earlier
/// than the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Items, with those that have ended and were not found yet.
    pub items: u64,
    /// Their keys and values in memory, in bytes.
    pub payload_bytes: u64,
    /// Values that are not in memory.
    pub elsewhere_items: u64,
    /// Their bytes.
    pub elsewhere_bytes: u64,
    /// What is taken of the budget, in bytes.
    pub used_bytes: u64,
    /// The budget.
    pub memory_bytes: u64,
    /// What of it segments take.
    pub segment_bytes: u64,
    /// What of it the indices take.
    pub index_bytes: u64,
    /// Values in allocations of their own.
    pub large_values: u64,
    /// Items that made room for others.
    pub evicted: u64,
    /// Those of them that had never been read.
    pub evicted_unread: u64,
    /// Items whose second came.
    pub expired: u64,
    /// Those of them that had never been read.
    pub expired_unread: u64,
    /// Items that a clear took.
    pub cleared: u64,
    /// Bytes of items that were moved together.
    pub moved_bytes: u64,
    /// Writes that were refused for want of room.
    pub refused: u64,
}

impl Figures {
    pub(crate) fn add(&mut self, shard: &Shard) {
        let counts = &shard.counts;
        let bytes = |sum: u64, bytes: &[u8]| sum + bytes.len() as u64;
        let in_segments = shard.segments.iter().map(|segment| &*segment.bytes);
        self.items += shard.index.items() as u64;
        self.payload_bytes += counts.payload;
        self.elsewhere_items += counts.elsewhere_items;
        self.elsewhere_bytes += counts.elsewhere;
        self.segment_bytes += in_segments.chain(shard.spare.as_deref()).fold(0, bytes);
        self.index_bytes += shard.index.bytes();
        self.large_values += shard.larges.count() as u64;
        self.evicted += counts.evicted;
        self.evicted_unread += counts.evicted_unread;
        self.expired += counts.expired;
        self.expired_unread += counts.expired_unread;
        self.cleared += counts.cleared;
        self.moved_bytes += counts.moved_bytes;
        self.refused += counts.refused;
    }
}
