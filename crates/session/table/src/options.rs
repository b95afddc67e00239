//! What a table is made with.

use crate::index::SEGMENT_MOST;

/// The shortest segment, in bytes.
const SEGMENT_LEAST: usize = 4096;
/// The longest key that any table takes, in bytes.
const KEY_MOST: usize = 16 << 10;

/// What happens to a write when the budget is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// Items that were not read for long make room.
    Evict,
    /// Values that were not read for long leave memory, if the journal says where they can be
    /// found; keys and headers stay. When nothing else is left, it is refused.
    Spill,
    /// It is refused; nothing goes before its time.
    Refuse,
}

impl Full {
    /// Whether room is made at the cost of what was not read for long.
    pub(crate) fn makes_room(self) -> bool {
        self != Self::Refuse
    }
}

/// What a table is made with. What does not fit together is corrected, never an error:
/// [`crate::Table::options`] tells what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// What segments, indices and large values may take together, in bytes. The list of segments
    /// and that of large values, some ten thousandths of it, are not counted.
    pub memory_bytes: u64,
    /// What happens when they do.
    pub full: Full,
    /// Parts with a lock of their own, a power of two.
    pub shards: usize,
    /// The length of a segment, at most 256 KiB. Each shard has two at least: one that is
    /// written to and one to move items to.
    pub segment_bytes: usize,
    /// The longest key, at most an eighth of a segment.
    pub key_bytes: usize,
    /// The longest value, at most a quarter of the memory.
    pub value_bytes: usize,
}

impl Options {
    /// What suits a budget: up to 64 shards of 4 MiB or more (beyond 4 GiB more of them), and 64
    /// segments for each. The longest key is memcached's, the longest value 1 MiB, as its is.
    pub fn within(memory_bytes: u64) -> Self {
        let shards = (memory_bytes >> 22).clamp(1, 64).max(memory_bytes >> 26);
        let shards = (shards as usize).min(1 << 12).next_power_of_two();
        let segment_bytes = (memory_bytes / shards as u64 / 64).min(SEGMENT_MOST as u64);
        Self {
            memory_bytes,
            full: Full::Evict,
            shards,
            segment_bytes: (segment_bytes as usize).next_power_of_two(),
            key_bytes: 250,
            value_bytes: 1 << 20,
        }
    }

    /// These, with every number within its bounds.
    pub(crate) fn corrected(mut self) -> Self {
        let in_units = self.segment_bytes.clamp(SEGMENT_LEAST, SEGMENT_MOST) & !3;
        self.segment_bytes = in_units;
        self.shards = self.shards.clamp(1, 1 << 16).next_power_of_two();
        let least = |this: &Self| (this.shards * this.segment_bytes * 4) as u64;
        while self.shards > 1 && least(&self) > self.memory_bytes {
            self.shards /= 2;
        }
        while self.segment_bytes / 2 >= SEGMENT_LEAST && least(&self) > self.memory_bytes {
            self.segment_bytes = (self.segment_bytes / 2) & !3;
        }
        self.memory_bytes = self.memory_bytes.max(least(&self));
        self.key_bytes = self
            .key_bytes
            .clamp(1, KEY_MOST.min(self.segment_bytes / 8));
        let value_most = (self.memory_bytes / 4).min(u64::from(u32::MAX));
        self.value_bytes = self.value_bytes.min(value_most as usize);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_together_is_corrected() {
        for memory in [0, 1, 10_000, 1 << 20, 1 << 26, 1 << 30, 1 << 40] {
            let options = Options::within(memory).corrected();
            assert!(options.shards.is_power_of_two());
            let least = (options.shards * options.segment_bytes * 4) as u64;
            assert!(least <= options.memory_bytes, "{options:?}");
            assert!(
                memory < 16384 || options.memory_bytes == memory,
                "{options:?}"
            );
        }
        let odd = Options {
            shards: 7,
            segment_bytes: 1 << 30,
            key_bytes: 0,
            value_bytes: usize::MAX,
            ..Options::within(1 << 24)
        };
        let odd = odd.corrected();
        assert_eq!((odd.shards, odd.segment_bytes), (8, SEGMENT_MOST));
        assert_eq!((odd.key_bytes, odd.value_bytes), (1, 1 << 22));
    }
}
