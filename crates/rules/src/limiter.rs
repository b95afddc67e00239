//! Requests of one client: how many in a time, and how many at once. Shared by all workers; it
//! lives as long as the process, over reloads.
//!
//! The rate is counted by the generic cell rate algorithm (ITU-T I.371): for each client one
//! moment, at which its next request is due if it kept to the rate. A request may come earlier by
//! as much as the burst allows.

use std::sync::Arc;
use std::time::Duration;

use forebay_config::settings::Rate;
use parking_lot::Mutex;
use std::collections::HashMap;

/// Clients remembered in each shard. Beyond, those that are due are forgotten, and if none is,
/// any: memory is bounded also under an attack from many addresses.
const SHARD_CLIENTS: usize = 16_384;
const SHARDS: usize = 64;

/// The rule that is counted for, and a client.
type Key = (u64, u128);

/// All counts.
#[derive(Debug)]
pub struct Limiter {
    shards: Box<[Mutex<Shard>]>,
}

#[derive(Debug, Default)]
struct Shard {
    /// When the next request is due, in microseconds.
    due_us: HashMap<Key, u64>,
    /// Requests under way.
    under_way: HashMap<Key, u32>,
}

/// A request under way, which counts until this is dropped.
#[derive(Debug)]
pub struct Held {
    limiter: Arc<Limiter>,
    key: Key,
}

impl Default for Limiter {
    fn default() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
        }
    }
}

impl Limiter {
    fn shard(&self, key: &Key) -> &Mutex<Shard> {
        let mixed = (key.1 ^ (key.1 >> 64) ^ (key.1 >> 17)) as u64 ^ key.0;
        let hash = mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        &self.shards[hash as usize % SHARDS]
    }

    /// Counts a request of `client` for `rule` at `now_us`.
    ///
    /// # Errors
    /// It is one too many; how long until one would not be.
    pub fn count(&self, rule: u64, client: u128, rate: Rate, now_us: u64) -> Result<(), Duration> {
        let key = (rule, client);
        let spacing_us = spacing_us(rate);
        let earlier_us = spacing_us.saturating_mul(u64::from(rate.burst));
        let mut shard = self.shard(&key).lock();
        let known = shard.due_us.get(&key).copied();
        let due_us = known.unwrap_or(0).max(now_us);
        let wait_us = (due_us - now_us).saturating_sub(earlier_us);
        if wait_us > 0 {
            return Err(Duration::from_micros(wait_us));
        }
        if known.is_none() && shard.due_us.len() >= SHARD_CLIENTS {
            shard.forget(now_us);
        }
        shard.due_us.insert(key, due_us.saturating_add(spacing_us));
        Ok(())
    }

    /// Takes one of the `most` places that requests of `client` have at once; `None`: all are taken.
    pub fn hold(self: &Arc<Self>, rule: u64, client: u128, most: u32) -> Option<Held> {
        let key = (rule, client);
        let mut shard = self.shard(&key).lock();
        let count = shard.under_way.entry(key).or_insert(0);
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(Held {
            limiter: Arc::clone(self),
            key,
        })
    }
}

/// From one request to the next, in microseconds.
fn spacing_us(rate: Rate) -> u64 {
    let per_us = u64::try_from(rate.per.as_micros()).unwrap_or(u64::MAX);
    (per_us / u64::from(rate.requests.max(1))).max(1)
}

impl Shard {
    /// Forgets clients that are due, which is what is held of those that never came.
    fn forget(&mut self, now_us: u64) {
        self.due_us.retain(|_, due_us| *due_us > now_us);
        if self.due_us.len() >= SHARD_CLIENTS {
            let some: Vec<Key> = self
                .due_us
                .keys()
                .take(SHARD_CLIENTS / 8)
                .copied()
                .collect();
            for key in some {
                self.due_us.remove(&key);
            }
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut shard = self.limiter.shard(&self.key).lock();
        if let Some(count) = shard.under_way.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                shard.under_way.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn rate(requests: u32, burst: u32) -> Rate {
        Rate {
            requests,
            per: Duration::from_secs(1),
            burst,
        }
    }

    #[test]
    fn a_burst_then_the_rate() {
        let limiter = Limiter::default();
        let ask = |now_us| limiter.count(1, 7, rate(10, 2), now_us);
        for _ in 0..3 {
            ask(1_000_000).unwrap();
        }
        assert_eq!(ask(1_000_000), Err(Duration::from_millis(100)));
        assert_eq!(ask(1_060_000), Err(Duration::from_millis(40)));
        ask(1_100_000).unwrap();
        assert!(ask(1_100_000).is_err());
        // Another client, and another rule.
        limiter.count(1, 8, rate(10, 0), 1_100_000).unwrap();
        limiter.count(2, 7, rate(10, 0), 1_100_000).unwrap();
    }

    #[test]
    fn in_the_long_run_the_rate_is_kept_exactly() {
        let limiter = Limiter::default();
        let taken = (0..10_000_000)
            .step_by(1_000)
            .filter(|now_us| limiter.count(1, 1, rate(50, 0), *now_us).is_ok());
        assert_eq!(taken.count(), 500);
    }

    #[test]
    fn memory_is_bounded() {
        let limiter = Limiter::default();
        for client in 0..(SHARDS * SHARD_CLIENTS * 2) as u128 {
            let _ = limiter.count(1, client, rate(1, 0), 0);
        }
        let sizes = limiter.shards.iter().map(|shard| shard.lock().due_us.len());
        assert!(sizes.max().unwrap() <= SHARD_CLIENTS);
    }

    #[test]
    fn places_are_given_back() {
        let limiter = Arc::new(Limiter::default());
        let first = limiter.hold(1, 1, 2).unwrap();
        let _second = limiter.hold(1, 1, 2).unwrap();
        assert!(limiter.hold(1, 1, 2).is_none());
        assert!(limiter.hold(1, 2, 2).is_some());
        drop(first);
        assert!(limiter.hold(1, 1, 2).is_some());
        let limiter_of_all = Arc::clone(&limiter);
        drop(_second);
        assert!(
            limiter_of_all
                .shards
                .iter()
                .all(|shard| shard.lock().under_way.is_empty())
        );
    }

    #[test]
    fn threads_never_get_more_than_there_is() {
        let limiter = Arc::new(Limiter::default());
        let taken: usize = std::thread::scope(|scope| {
            let ask = || {
                (0..1000)
                    .filter(|_| limiter.count(1, 1, rate(1, 99), 0).is_ok())
                    .count()
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .sum()
        });
        assert_eq!(taken, 100);
    }
}
