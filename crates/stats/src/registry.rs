//! All figures of the process, and their sum at one moment.

use crate::counter::{self, Counter};
use crate::histogram::HistogramSnapshot;
use crate::origin::OriginSnapshot;
use crate::pool::PoolSnapshot;
use crate::session::SessionSnapshot;
use crate::timing::{self, Timing};
use crate::worker::{SharedCounters, WorkerStats};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Gives the figures of every server of every pool.
type Origins = Box<dyn Fn() -> Vec<OriginSnapshot> + Send + Sync>;

/// Gives the figures of every pool as a whole.
type Pools = Box<dyn Fn() -> Vec<PoolSnapshot> + Send + Sync>;

/// Gives the figures of every store of sessions.
type Sessions = Box<dyn Fn() -> Vec<SessionSnapshot> + Send + Sync>;

/// Knows every worker's figures. One for the process.
pub struct Registry {
    workers: Mutex<Vec<Arc<WorkerStats>>>,
    shared: SharedCounters,
    origins: OnceLock<Origins>,
    pools: OnceLock<Pools>,
    sessions: OnceLock<Sessions>,
}

impl Registry {
    /// An empty registry.
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            workers: Mutex::new(Vec::new()),
            shared: SharedCounters::new(),
            origins: OnceLock::new(),
            pools: OnceLock::new(),
            sessions: OnceLock::new(),
        })
    }

    /// Figures for one more worker. What it counts stays in the sums after
    /// the worker has ended, so that no counter ever goes back.
    pub fn worker(&self) -> Arc<WorkerStats> {
        let worker = Arc::new(WorkerStats::new());
        self.workers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Arc::clone(&worker));
        worker
    }

    /// The figures of threads that are not workers.
    pub fn shared(&self) -> &SharedCounters {
        &self.shared
    }

    /// Says where the figures of the servers of pools are to be had. Only the first call counts.
    pub fn watch_origins(&self, origins: impl Fn() -> Vec<OriginSnapshot> + Send + Sync + 'static) {
        // Set already: the first one stays, as promised.
        let _ = self.origins.set(Box::new(origins));
    }

    /// Says where the figures of pools as a whole are to be had. Only the first call counts.
    pub fn watch_pools(&self, pools: impl Fn() -> Vec<PoolSnapshot> + Send + Sync + 'static) {
        let _ = self.pools.set(Box::new(pools));
    }

    /// Says where the figures of stores of sessions are to be had. Only the first call counts.
    pub fn watch_sessions(
        &self,
        sessions: impl Fn() -> Vec<SessionSnapshot> + Send + Sync + 'static,
    ) {
        let _ = self.sessions.set(Box::new(sessions));
    }

    /// The sums now. Workers go on counting meanwhile, so figures that belong
    /// together may differ by what happens in a microsecond.
    pub fn snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot::default();
        self.shared
            .sum_into(&mut snapshot.counters, &mut snapshot.timings);
        for worker in self
            .workers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
        {
            worker.sum_into(&mut snapshot.counters, &mut snapshot.timings);
        }
        snapshot.add_up();
        snapshot.origins = self
            .origins
            .get()
            .map_or_else(Vec::new, |origins| origins());
        snapshot.pools = self.pools.get().map_or_else(Vec::new, |pools| pools());
        snapshot.sessions = self
            .sessions
            .get()
            .map_or_else(Vec::new, |sessions| sessions());
        snapshot
    }
}

/// The sums of all figures at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    counters: [u64; counter::COUNT],
    timings: [HistogramSnapshot; timing::COUNT],
    origins: Vec<OriginSnapshot>,
    pools: Vec<PoolSnapshot>,
    sessions: Vec<SessionSnapshot>,
}

impl Default for Snapshot {
    fn default() -> Self {
        Self {
            counters: [0; counter::COUNT],
            timings: std::array::from_fn(|_| HistogramSnapshot::default()),
            origins: Vec::new(),
            pools: Vec::new(),
            sessions: Vec::new(),
        }
    }
}

impl Snapshot {
    /// What comes from memory and from disk comes from the cache. It is added here, so that a
    /// hit counts its bytes once.
    fn add_up(&mut self) {
        let tiers = self.get(Counter::ServedMemory) + self.get(Counter::ServedDisk);
        self.counters[Counter::BytesFromCache.index()] += tiers;
    }

    /// A counter's sum.
    pub fn get(&self, counter: Counter) -> u64 {
        self.counters[counter.index()]
    }

    /// A timing's merged histogram.
    pub fn timing(&self, timing: Timing) -> &HistogramSnapshot {
        &self.timings[timing.index()]
    }

    /// Each server of each pool.
    pub fn origins(&self) -> &[OriginSnapshot] {
        &self.origins
    }

    /// Each pool as a whole.
    pub fn pools(&self) -> &[PoolSnapshot] {
        &self.pools
    }

    /// Each store of sessions.
    pub fn sessions(&self) -> &[SessionSnapshot] {
        &self.sessions
    }

    /// What happened since `earlier`, a snapshot of the same registry.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let pools = self.pools.iter().map(|now| {
            let then = earlier.pools.iter().find(|then| then.pool == now.pool);
            then.map_or_else(|| now.clone(), |then| now.since(then))
        });
        let sessions = self.sessions.iter().map(|now| {
            let mut all = earlier.sessions.iter();
            let then = all.find(|then| then.store == now.store);
            then.map_or_else(|| now.clone(), |then| now.since(then))
        });
        Self {
            pools: pools.collect(),
            sessions: sessions.collect(),
            counters: std::array::from_fn(|i| self.counters[i].saturating_sub(earlier.counters[i])),
            timings: std::array::from_fn(|i| self.timings[i].since(&earlier.timings[i])),
            origins: self
                .origins
                .iter()
                .map(
                    |now| match earlier.origins.iter().find(|then| now.is_same(then)) {
                        Some(then) => now.since(then),
                        None => now.clone(),
                    },
                )
                .collect(),
        }
    }

    /// Requests that needed no fetch of their own: fresh, stale within grace,
    /// or answered from another's fetch. A confirmed object (304) did ask the
    /// origin, but its body came from the cache, so it counts too.
    pub fn served_from_cache(&self) -> u64 {
        use Counter::{Coalesced, Hits, HitsRevalidated, HitsStale, StaleOnError};
        [Hits, HitsStale, HitsRevalidated, StaleOnError, Coalesced]
            .map(|c| self.get(c))
            .iter()
            .sum()
    }

    /// The share of requests served from the cache, 0 to 1, among those that
    /// were routed to a pool; `None` before the first.
    pub fn hit_ratio(&self) -> Option<f64> {
        use Counter::{HitForMiss, Misses, Passes};
        let hits = self.served_from_cache();
        let others: u64 = [Misses, HitForMiss, Passes]
            .map(|c| self.get(c))
            .iter()
            .sum();
        (hits + others > 0).then(|| hits as f64 / (hits + others) as f64)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_snapshot_adds_workers_and_other_threads_up() {
        let registry = Registry::new();
        let (one, two) = (registry.worker(), registry.worker());
        one.add(Counter::BytesOut, 100);
        two.add(Counter::BytesOut, 20);
        registry.shared().add(Counter::BytesOut, 3);
        one.record(Timing::Hit, 10);
        registry.shared().record(Timing::Hit, 30);
        let snapshot = registry.snapshot();
        assert_eq!(snapshot.get(Counter::BytesOut), 123);
        assert_eq!(snapshot.get(Counter::BytesIn), 0);
        assert_eq!(
            (
                snapshot.timing(Timing::Hit).count(),
                snapshot.timing(Timing::Hit).sum()
            ),
            (2, 40)
        );
        assert_eq!(one.get(Counter::BytesOut), 100);
    }

    #[test]
    fn what_a_worker_counted_outlives_it() {
        let registry = Registry::new();
        let worker = registry.worker();
        std::thread::spawn(move || worker.increment(Counter::Requests))
            .join()
            .unwrap();
        assert_eq!(registry.snapshot().get(Counter::Requests), 1);
    }

    #[test]
    fn counts_of_many_threads_are_all_there() {
        let registry = Registry::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let (worker, registry) = (registry.worker(), &registry);
                scope.spawn(move || {
                    for _ in 0..1_000 {
                        worker.increment(Counter::Requests);
                        registry.shared().increment(Counter::Evicted);
                    }
                });
            }
        });
        let snapshot = registry.snapshot();
        assert_eq!(
            (
                snapshot.get(Counter::Requests),
                snapshot.get(Counter::Evicted)
            ),
            (4_000, 4_000)
        );
    }

    #[test]
    fn bytes_from_the_cache_are_those_from_memory_and_disk() {
        let registry = Registry::new();
        let worker = registry.worker();
        worker.add(Counter::ServedMemory, 5);
        worker.add(Counter::ServedDisk, 7);
        worker.add(Counter::ServedOrigin, 100);
        assert_eq!(registry.snapshot().get(Counter::BytesFromCache), 12);
    }

    #[test]
    fn the_hit_ratio_is_absent_before_the_first_request() {
        let registry = Registry::new();
        assert_eq!(registry.snapshot().hit_ratio(), None);
        let worker = registry.worker();
        worker.add(Counter::Hits, 3);
        worker.increment(Counter::Passes);
        assert_eq!(registry.snapshot().hit_ratio(), Some(0.75));
    }

    #[test]
    fn since_is_what_came_later() {
        let registry = Registry::new();
        let worker = registry.worker();
        worker.add(Counter::Requests, 5);
        let earlier = registry.snapshot();
        worker.add(Counter::Requests, 2);
        worker.record(Timing::Miss, 9);
        let new = registry.snapshot().since(&earlier);
        assert_eq!(
            (new.get(Counter::Requests), new.timing(Timing::Miss).count()),
            (2, 1)
        );
    }
}
