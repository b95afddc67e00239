//! Where counting happens: an array for each worker, and one for all other
//! threads.

use crate::counter::{self, Counter};
use crate::histogram::{Histogram, HistogramSnapshot};
use crate::timing::{self, Timing};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counters and histograms side by side.
struct Figures {
    counters: [AtomicU64; counter::COUNT],
    timings: [Histogram; timing::COUNT],
}

impl Figures {
    fn new() -> Self {
        Self {
            counters: [const { AtomicU64::new(0) }; counter::COUNT],
            timings: std::array::from_fn(|_| Histogram::new()),
        }
    }

    fn sum_into(
        &self,
        counters: &mut [u64; counter::COUNT],
        timings: &mut [HistogramSnapshot; timing::COUNT],
    ) {
        for (sum, own) in counters.iter_mut().zip(&self.counters) {
            *sum = sum.wrapping_add(own.load(Relaxed));
        }
        for (sum, own) in timings.iter_mut().zip(&self.timings) {
            sum.merge(own);
        }
    }
}

/// The figures of one worker. It lives as long as the process.
///
/// Only the worker it belongs to may write: a count is a plain load and a
/// plain store, which costs no bus lock and would lose counts if two threads
/// wrote. Any thread may read. The alignment keeps neighbours in memory off
/// its cache lines (two, because processors fetch them in pairs).
#[repr(align(128))]
pub struct WorkerStats {
    figures: Figures,
}

impl WorkerStats {
    pub(crate) fn new() -> Self {
        Self {
            figures: Figures::new(),
        }
    }

    /// Adds `n` to a counter.
    #[inline]
    pub fn add(&self, counter: Counter, n: u64) {
        let own = &self.figures.counters[counter.index()];
        own.store(own.load(Relaxed).wrapping_add(n), Relaxed);
    }

    /// Adds 1 to a counter.
    #[inline]
    pub fn increment(&self, counter: Counter) {
        self.add(counter, 1);
    }

    /// Records a duration in microseconds.
    #[inline]
    pub fn record(&self, timing: Timing, micros: u64) {
        self.figures.timings[timing.index()].record_alone(micros);
    }

    /// What this worker has counted so far.
    pub fn get(&self, counter: Counter) -> u64 {
        self.figures.counters[counter.index()].load(Relaxed)
    }

    pub(crate) fn sum_into(
        &self,
        counters: &mut [u64; counter::COUNT],
        timings: &mut [HistogramSnapshot; timing::COUNT],
    ) {
        self.figures.sum_into(counters, timings);
    }
}

/// The figures of every thread that is not a worker: counted atomically, for
/// paths that are not hot.
pub struct SharedCounters {
    figures: Figures,
}

impl SharedCounters {
    pub(crate) fn new() -> Self {
        Self {
            figures: Figures::new(),
        }
    }

    /// Adds `n` to a counter.
    pub fn add(&self, counter: Counter, n: u64) {
        self.figures.counters[counter.index()].fetch_add(n, Relaxed);
    }

    /// Adds 1 to a counter.
    pub fn increment(&self, counter: Counter) {
        self.add(counter, 1);
    }

    /// Records a duration in microseconds.
    pub fn record(&self, timing: Timing, micros: u64) {
        self.figures.timings[timing.index()].record_shared(micros);
    }

    pub(crate) fn sum_into(
        &self,
        counters: &mut [u64; counter::COUNT],
        timings: &mut [HistogramSnapshot; timing::COUNT],
    ) {
        self.figures.sum_into(counters, timings);
    }
}
