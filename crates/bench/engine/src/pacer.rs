//! When the requests of an open load are due.

use std::sync::Arc;

/// The times at which requests are due, of all threads together.
#[derive(Clone, Debug)]
pub enum Arrivals {
    /// Evenly, so many a second.
    Constant(f64),
    /// By chance (a Poisson process), so many a second on the mean.
    Poisson(f64),
    /// At these times after the start, in nanoseconds, ascending.
    Times(Arc<[u64]>),
}

/// One thread's share of the arrivals.
#[derive(Debug)]
pub(crate) struct Pacer {
    arrivals: Arrivals,
    /// This thread takes arrivals `index`, `index + stride`, …
    index: u64,
    stride: u64,
    random: fastrand::Rng,
    due: Option<u64>,
}

impl Pacer {
    /// The share of thread `number` of `threads`; times are in nanoseconds since the start.
    pub(crate) fn new(arrivals: Arrivals, number: u64, threads: u64) -> Self {
        let mut pacer = Self {
            arrivals,
            index: number,
            stride: threads.max(1),
            random: fastrand::Rng::with_seed(0x9e37_79b9 ^ number),
            due: None,
        };
        pacer.due = pacer.at(0);
        pacer
    }

    /// When the next request is due; `None` when no more will be.
    pub(crate) fn due(&self) -> Option<u64> {
        self.due
    }

    /// Takes the request that is due at or before `now`.
    pub(crate) fn take(&mut self, now: u64) -> Option<u64> {
        let due = self.due.filter(|&due| due <= now)?;
        self.index += self.stride;
        self.due = self.at(due);
        Some(due)
    }

    fn at(&mut self, before: u64) -> Option<u64> {
        match &self.arrivals {
            Arrivals::Constant(rate) => Some((self.index as f64 * 1e9 / rate) as u64),
            Arrivals::Poisson(rate) => {
                // The sum of a thread's exponential gaps; threads together are a Poisson process.
                let mean = self.stride as f64 * 1e9 / rate;
                let gap = -(1.0 - self.random.f64()).ln() * mean;
                Some(before + gap as u64)
            }
            Arrivals::Times(times) => times.get(self.index as usize).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(mut pacer: Pacer, until: u64) -> Vec<u64> {
        std::iter::from_fn(|| pacer.take(until)).collect()
    }

    #[test]
    fn threads_share_a_constant_rate() {
        let mut dues: Vec<u64> = (0..3)
            .flat_map(|n| all(Pacer::new(Arrivals::Constant(1000.0), n, 3), 999_999_999))
            .collect();
        dues.sort_unstable();
        assert_eq!(dues.len(), 1000);
        assert!(dues.windows(2).all(|pair| pair[1] - pair[0] == 1_000_000));
    }

    #[test]
    fn chance_keeps_the_mean_and_the_spread() {
        let dues = all(Pacer::new(Arrivals::Poisson(1000.0), 0, 1), 100_000_000_000);
        assert!((98_000..102_000).contains(&dues.len()), "{}", dues.len());
        // Of exponential gaps, 36.8 % are longer than the mean.
        let long = dues
            .windows(2)
            .filter(|pair| pair[1] - pair[0] > 1_000_000)
            .count();
        let share = long as f64 / dues.len() as f64;
        assert!((0.36..0.376).contains(&share), "{share}");
    }

    #[test]
    fn recorded_times_are_taken_once_each() {
        let times: Arc<[u64]> = (0..10).map(|i| i * i).collect();
        let mut dues: Vec<u64> = (0..4)
            .flat_map(|n| all(Pacer::new(Arrivals::Times(Arc::clone(&times)), n, 4), 1000))
            .collect();
        dues.sort_unstable();
        assert_eq!(dues, times.to_vec());
        let mut pacer = Pacer::new(Arrivals::Times(times), 0, 1);
        assert_eq!(pacer.take(0), Some(0));
        assert_eq!((pacer.take(0), pacer.due()), (None, Some(1)));
    }
}
