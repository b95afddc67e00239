//! Durations in buckets whose width grows with the value.
//!
//! Each power of two is divided into 32 equal buckets, so a bucket is never
//! wider than 1/32 (3.1 %) of the values in it; below 64 µs every microsecond
//! has its own. 896 buckets reach 2³² µs (71 minutes); what takes longer counts
//! in the last. Recording is one index computation without a branch.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// log₂ of the buckets per power of two.
const SUB_BITS: u32 = 5;
/// The longest time told apart, in microseconds.
const MAX: u64 = (1 << 32) - 1;
/// How many buckets there are.
const BUCKETS: usize = bucket_of(MAX) + 1;

/// The bucket of a time.
#[inline]
const fn bucket_of(micros: u64) -> usize {
    let value = if micros < MAX { micros } else { MAX };
    let shift = (u64::BITS - 1 - (value | 1 << SUB_BITS).leading_zeros()) - SUB_BITS;
    ((shift as usize) << SUB_BITS) + (value >> shift) as usize
}

/// The least time that falls into a bucket, in microseconds.
const fn floor_of(bucket: usize) -> u64 {
    let row = bucket >> SUB_BITS;
    let shift = row.saturating_sub(1);
    ((bucket - (shift << SUB_BITS)) as u64) << shift
}

/// The greatest time that falls into a bucket, in microseconds.
const fn ceiling_of(bucket: usize) -> u64 {
    floor_of(bucket + 1) - 1
}

/// A histogram that is being written.
pub(crate) struct Histogram {
    counts: Box<[AtomicU64; BUCKETS]>,
    sum: AtomicU64,
}

impl Histogram {
    pub(crate) fn new() -> Self {
        Self {
            counts: Box::new([const { AtomicU64::new(0) }; BUCKETS]),
            sum: AtomicU64::new(0),
        }
    }

    /// Records one time; for a histogram with a single writer.
    #[inline]
    pub(crate) fn record_alone(&self, micros: u64) {
        // `bucket_of` never reaches BUCKETS; `min` says so to the compiler,
        // which then leaves the bounds check out.
        let count = &self.counts[bucket_of(micros).min(BUCKETS - 1)];
        count.store(count.load(Relaxed).wrapping_add(1), Relaxed);
        self.sum
            .store(self.sum.load(Relaxed).wrapping_add(micros), Relaxed);
    }

    /// Records one time; for a histogram with any number of writers.
    pub(crate) fn record_shared(&self, micros: u64) {
        self.counts[bucket_of(micros).min(BUCKETS - 1)].fetch_add(1, Relaxed);
        self.sum.fetch_add(micros, Relaxed);
    }

    /// How many times were recorded.
    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().map(|count| count.load(Relaxed)).sum()
    }
}

/// The sum of histograms at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistogramSnapshot {
    counts: Vec<u64>,
    sum: u64,
}

impl Default for HistogramSnapshot {
    fn default() -> Self {
        Self {
            counts: vec![0; BUCKETS],
            sum: 0,
        }
    }
}

impl HistogramSnapshot {
    pub(crate) fn merge(&mut self, other: &Histogram) {
        for (own, count) in self.counts.iter_mut().zip(other.counts.iter()) {
            *own = own.wrapping_add(count.load(Relaxed));
        }
        self.sum = self.sum.wrapping_add(other.sum.load(Relaxed));
    }

    /// What was recorded since `earlier`, a snapshot of the same histogram.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let pairs = self.counts.iter().zip(&earlier.counts);
        Self {
            counts: pairs.map(|(now, then)| now.saturating_sub(*then)).collect(),
            sum: self.sum.saturating_sub(earlier.sum),
        }
    }

    /// How many times were recorded.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The sum of the times, in microseconds.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// The mean, in microseconds; 0 when nothing was recorded.
    pub fn mean(&self) -> u64 {
        self.sum.checked_div(self.count()).unwrap_or(0)
    }

    /// The time, in microseconds, that `percent` (0 to 100) of the recorded
    /// times do not exceed; at most 3.1 % above the exact one. 0 when nothing
    /// was recorded.
    pub fn percentile(&self, percent: f64) -> u64 {
        let count = self.count();
        // Nearest rank: the smallest value with at least that share at or below it.
        let rank = ((percent.clamp(0.0, 100.0) / 100.0 * count as f64).ceil() as u64).max(1);
        let mut seen = 0;
        for (bucket, own) in self.counts.iter().enumerate() {
            seen += own;
            if seen >= rank {
                return ceiling_of(bucket);
            }
        }
        0
    }

    /// How many recorded times were at most `micros`, for bounds in ascending
    /// order. Times up to 3.1 % above a bound may be counted with it.
    pub fn cumulative<'a>(&'a self, bounds: &'a [u64]) -> impl Iterator<Item = (u64, u64)> + 'a {
        let (mut next, mut seen) = (0, 0);
        bounds.iter().map(move |bound| {
            let end = bucket_of(*bound) + 1;
            seen += self
                .counts
                .get(next..end)
                .unwrap_or_default()
                .iter()
                .sum::<u64>();
            next = next.max(end);
            (*bound, seen)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(times: impl IntoIterator<Item = u64>) -> HistogramSnapshot {
        let histogram = Histogram::new();
        times
            .into_iter()
            .for_each(|time| histogram.record_alone(time));
        let mut snapshot = HistogramSnapshot::default();
        snapshot.merge(&histogram);
        snapshot
    }

    #[test]
    fn buckets_follow_each_other_without_gap_or_overlap() {
        assert_eq!(BUCKETS, 896);
        for bucket in 0..BUCKETS {
            let (floor, ceiling) = (floor_of(bucket), ceiling_of(bucket));
            assert_eq!(bucket_of(floor), bucket);
            assert_eq!(bucket_of(ceiling), bucket);
            assert!(
                (ceiling - floor) * 32 <= floor,
                "bucket {bucket} is too wide"
            );
            if bucket > 0 {
                assert_eq!(bucket_of(floor - 1), bucket - 1);
            }
        }
        assert_eq!(ceiling_of(BUCKETS - 1), MAX);
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn percentiles_of_a_known_distribution() {
        let snapshot = recorded(1..=10_000);
        assert_eq!(snapshot.count(), 10_000);
        assert_eq!(snapshot.sum(), 50_005_000);
        assert_eq!(snapshot.mean(), 5_000);
        for (percent, exact) in [
            (50.0, 5_000.0),
            (90.0, 9_000.0),
            (99.0, 9_900.0),
            (99.9, 9_990.0),
        ] {
            let got = snapshot.percentile(percent) as f64;
            assert!(got >= exact && got <= exact * 1.032, "p{percent}: {got}");
        }
        assert_eq!(snapshot.percentile(0.0), 1);
    }

    #[test]
    fn an_empty_histogram_gives_zeros() {
        let empty = HistogramSnapshot::default();
        assert_eq!(
            (empty.count(), empty.mean(), empty.percentile(99.0)),
            (0, 0, 0)
        );
    }

    #[test]
    fn a_time_equal_to_a_bound_counts_below_it() {
        let snapshot = recorded([10, 100, 1_000, 5_000, u64::from(u32::MAX)]);
        let bounds = [10, 99, 100, 1_000, 1_000_000];
        let counts: Vec<u64> = snapshot
            .cumulative(&bounds)
            .map(|(_, count)| count)
            .collect();
        assert_eq!(counts, [1, 1, 2, 3, 4]);
    }

    #[test]
    fn since_leaves_only_what_came_later() {
        let (earlier, later) = (recorded([5, 5]), recorded([5, 5, 5, 700]));
        let new = later.since(&earlier);
        assert_eq!((new.count(), new.sum()), (2, 705));
    }
}
