//! Values too large for a segment: each in an allocation of its own.

/// A value and what it takes of the budget.
#[derive(Debug)]
pub(crate) struct LargeValue {
    pub(crate) bytes: Box<[u8]>,
}

impl LargeValue {
    /// Copies `parts`, `len` bytes in all.
    pub(crate) fn of(parts: &[&[u8]], len: usize) -> Self {
        let mut bytes = Vec::with_capacity(len);
        for part in parts {
            bytes.extend_from_slice(part);
        }
        Self {
            bytes: bytes.into_boxed_slice(),
        }
    }

    pub(crate) fn charge(&self) -> u64 {
        charge(self.bytes.len())
    }
}

/// What an allocation of `len` bytes takes of the budget: allocators have four sizes between a
/// power of two and the next, and give whole pages at least.
pub(crate) fn charge(len: usize) -> u64 {
    let step = (len.next_power_of_two() / 8).max(4096);
    len.next_multiple_of(step) as u64
}

/// The large values of one shard, by number.
#[derive(Debug, Default)]
pub(crate) struct Larges {
    values: Vec<Option<LargeValue>>,
    free: Vec<u32>,
}

impl Larges {
    /// Keeps a value, and says its number.
    pub(crate) fn add(&mut self, value: LargeValue) -> u32 {
        if let Some(number) = self.free.pop() {
            self.values[number as usize] = Some(value);
            return number;
        }
        self.values.push(Some(value));
        // Each is of 4 KiB at least, so four billion of them do not fit any memory.
        (self.values.len() - 1) as u32
    }

    /// Drops a value, and says what it took of the budget.
    pub(crate) fn remove(&mut self, number: u32) -> u64 {
        let gone = self.values.get_mut(number as usize).and_then(Option::take);
        gone.map_or(0, |value| {
            self.free.push(number);
            value.charge()
        })
    }

    /// A value's bytes.
    pub(crate) fn get(&self, number: u32) -> &[u8] {
        let value = self.values.get(number as usize).and_then(Option::as_ref);
        value.map_or(&[], |value| &value.bytes)
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.values.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_charged_is_what_an_allocator_gives() {
        assert_eq!(charge(1), 4096);
        assert_eq!(charge(20_000), 20_480);
        assert_eq!(charge(65_536), 65_536);
        assert_eq!(charge(65_537), 81_920);
        assert_eq!(charge(1_000_000), 1_048_576);
    }

    #[test]
    fn numbers_are_used_again() {
        let mut larges = Larges::default();
        let first = larges.add(LargeValue::of(&[b"ab", b"c"], 3));
        assert_eq!(larges.get(first), b"abc");
        assert_eq!(larges.remove(first), 4096);
        assert_eq!(larges.remove(first), 0);
        assert_eq!(larges.add(LargeValue::of(&[], 0)), first);
        assert_eq!(larges.count(), 1);
    }
}
