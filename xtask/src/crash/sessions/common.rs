//! What the clients of a store share: what values and ends are, and what was counted.

use std::sync::atomic::AtomicU64;
use std::time::{SystemTime, UNIX_EPOCH};

use super::super::content::{Filler, Random};

/// The shortest value: what says whose it is.
const SMALLEST: f64 = 64.0;
const LARGEST: f64 = 20_000.0;
/// One value in so many is larger: it is kept by itself, not in a segment of the table.
const ONE_LARGE_IN: u64 = 50;
const LARGE_BYTES: u64 = 100_000;
/// Ends of items lie so far apart, so that one is known by what it has left.
const APART_S: u32 = 10;
/// The first of them is so far off, so that nothing ends while it is looked at.
const FAR_S: u32 = 60 * 60 * 24 * 60;

/// What all clients did.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) writes: AtomicU64,
    pub(super) reads: AtomicU64,
    pub(super) bytes: AtomicU64,
}

/// What clients share.
#[derive(Debug)]
pub(super) struct Common {
    pub(super) filler: Filler,
    pub(super) tally: Tally,
    /// Ends are counted from this second.
    began_s: u32,
}

impl Common {
    pub(super) fn new() -> Self {
        Self {
            filler: Filler::new(),
            tally: Tally::default(),
            began_s: now_s(),
        }
    }

    /// The second at which the items of this write end.
    pub(super) fn end_s(&self, write: u32) -> u32 {
        self.began_s + FAR_S + write.saturating_mul(APART_S)
    }

    /// Which write gave an item that end.
    pub(super) fn write_of(&self, left_s: u32) -> u32 {
        let end_s = now_s().saturating_add(left_s);
        (end_s.saturating_sub(self.began_s + FAR_S) + APART_S / 2) / APART_S
    }
}

/// The length of a version, in bytes.
pub(super) fn size(number: usize, version: u32) -> usize {
    let mut random = Random((number as u64) << 32 | u64::from(version));
    if random.next().is_multiple_of(ONE_LARGE_IN) {
        return (LARGE_BYTES + random.next() % LARGE_BYTES) as usize;
    }
    (SMALLEST * (LARGEST / SMALLEST).powf(random.unit())) as usize
}

fn now_s() -> u32 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_is_known_by_what_its_item_has_left() {
        let common = Common::new();
        for write in [0, 1, 2, 1_000_000] {
            let left_s = common.end_s(write) - now_s();
            for wrong_by in [0, 1, 2] {
                assert_eq!(common.write_of(left_s - wrong_by), write);
            }
        }
    }

    #[test]
    fn values_are_of_every_magnitude_and_some_are_large() {
        let sizes: Vec<usize> = (0..2000).map(|version| size(7, version)).collect();
        let of = |range: std::ops::Range<usize>| sizes.iter().filter(|s| range.contains(s)).count();
        assert!(of(64..1000) > 400 && of(1000..20_001) > 600);
        assert!((15..90).contains(&of(100_000..200_001)));
    }
}
