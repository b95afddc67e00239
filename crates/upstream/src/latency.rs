//! What a server's responses take: a peak EWMA that all workers feed.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::balance::ewma;

/// The average of one server. Two workers at the same moment may lose one's sample; the next
/// one makes up for it.
#[derive(Debug, Default)]
pub(crate) struct Latency {
    average_us: AtomicU64,
    at_ms: AtomicU64,
}

impl Latency {
    /// A response, or what passed for one, took so long.
    pub(crate) fn observe(&self, sample_us: u64, now_ms: u64) {
        let before_ms = self.at_ms.swap(now_ms, Relaxed);
        let since_ms = now_ms.saturating_sub(before_ms);
        let average = ewma::observed(self.average_us.load(Relaxed), since_ms, sample_us);
        self.average_us.store(average, Relaxed);
    }

    /// The average as it counts now, in microseconds; 0: nothing is known.
    pub(crate) fn now(&self, now_ms: u64) -> u64 {
        let since_ms = now_ms.saturating_sub(self.at_ms.load(Relaxed));
        ewma::faded(self.average_us.load(Relaxed), since_ms)
    }
}
