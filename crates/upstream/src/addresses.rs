//! The addresses of a server: where each new connection begins, and which ones failed lately. They
//! live as long as the server does; what is known of one holds while the name has it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

use arc_swap::ArcSwap;

/// An address that failed comes last for so long; doubled with each failure in a row.
const PAUSE_MS: u64 = 5_000;
/// And at most for so long.
const LONGEST_PAUSE_MS: u64 = 160_000;

/// The addresses that a server's name has now.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    list: ArcSwap<Vec<Arc<Address>>>,
    /// Where the next connection begins.
    turn: AtomicUsize,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Address {
    pub(crate) at: SocketAddr,
    /// Failures in a row.
    failures: AtomicU32,
    /// Until when it comes last, in milliseconds since the epoch; 0: it has not failed.
    last_until_ms: AtomicU64,
}

/// When an address is tried, beside the others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    Trial,
    Good,
    Failed,
}

impl Addresses {
    /// Takes over the addresses that there are now.
    pub(crate) fn set(&self, found: impl Iterator<Item = SocketAddr>) {
        let before = self.list.load();
        let known = |at| before.iter().find(|known| known.at == at);
        let list = found.map(|at| known(at).map_or_else(|| Arc::new(Address::new(at)), Arc::clone));
        let list = list.collect();
        self.list.store(Arc::new(list));
    }

    /// All of them, as the name has them.
    pub(crate) fn all(&self) -> Vec<SocketAddr> {
        self.list.load().iter().map(|address| address.at).collect()
    }

    /// All of them in the order in which a new connection tries them: each comes first in its turn,
    /// and those that failed lately come last. When an address's time as the last is over, one
    /// connection tries it before others do.
    pub(crate) fn in_turn(&self, now_ms: u64) -> Vec<Arc<Address>> {
        let mut list = Vec::clone(&self.list.load());
        if list.len() > 1 {
            let first = self.turn.fetch_add(1, Relaxed) % list.len();
            list.rotate_left(first);
            // Of those that may be tried again, one is by one connection: they may fail slowly.
            let mut tries = false;
            list.sort_by_cached_key(|address| match address.last_until_ms.load(Relaxed) {
                0 => Turn::Good,
                until_ms if until_ms > now_ms || tries => Turn::Failed,
                until_ms => {
                    tries = address.begin_trial(until_ms, now_ms);
                    if tries { Turn::Trial } else { Turn::Failed }
                }
            });
        }
        list
    }
}

impl Address {
    fn new(at: SocketAddr) -> Self {
        Self {
            at,
            failures: AtomicU32::new(0),
            last_until_ms: AtomicU64::new(0),
        }
    }

    /// Whether the caller is the one to try it again. It counts as another failure until it is
    /// none.
    fn begin_trial(&self, until_ms: u64, now_ms: u64) -> bool {
        let failures = self.failures.load(Relaxed).saturating_add(1);
        let first = self.last_until_ms.compare_exchange(
            until_ms,
            now_ms + pause_ms(failures),
            Relaxed,
            Relaxed,
        );
        if first.is_ok() {
            self.failures.store(failures, Relaxed);
        }
        first.is_ok()
    }

    /// A connection came about.
    pub(crate) fn reached(&self) {
        if self.last_until_ms.load(Relaxed) != 0 {
            self.failures.store(0, Relaxed);
            self.last_until_ms.store(0, Relaxed);
        }
    }

    /// None came about.
    pub(crate) fn failed(&self, now_ms: u64) {
        let until_ms = self.last_until_ms.load(Relaxed);
        if until_ms > now_ms {
            // One that is known: a trial, which was counted when it began, or a last resort.
            return;
        }
        let failures = self.failures.load(Relaxed).max(1);
        self.failures.store(failures, Relaxed);
        self.last_until_ms
            .store(now_ms + pause_ms(failures), Relaxed);
    }
}

/// How long an address comes last after so many failures in a row.
fn pause_ms(failures: u32) -> u64 {
    let doubled = failures.saturating_sub(1).min(16);
    (PAUSE_MS << doubled).min(LONGEST_PAUSE_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(list: &[&str]) -> Addresses {
        let addresses = Addresses::default();
        set(&addresses, list);
        addresses
    }

    fn set(addresses: &Addresses, list: &[&str]) {
        addresses.set(
            list.iter()
                .map(|at| format!("{at}:80").parse().expect("an address")),
        );
    }

    fn order(addresses: &Addresses, now_ms: u64) -> Vec<String> {
        let list = addresses.in_turn(now_ms);
        list.iter().map(|one| one.at.ip().to_string()).collect()
    }

    fn fail(addresses: &Addresses, at: &str, now_ms: u64) {
        let list = addresses.list.load();
        let found = list.iter().find(|one| one.at.ip().to_string() == at);
        found.expect("it is there").failed(now_ms);
    }

    #[test]
    fn each_comes_first_in_its_turn() {
        let addresses = of(&["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
        assert_eq!(order(&addresses, 1), ["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
        assert_eq!(order(&addresses, 1), ["10.0.0.2", "10.0.0.3", "10.0.0.1"]);
        assert_eq!(order(&addresses, 1), ["10.0.0.3", "10.0.0.1", "10.0.0.2"]);
        assert_eq!(order(&addresses, 1)[0], "10.0.0.1");
        assert_eq!(order(&of(&["10.0.0.1"]), 1), ["10.0.0.1"]);
        assert!(order(&of(&[]), 1).is_empty());
    }

    #[test]
    fn one_that_failed_comes_last_and_is_tried_again_by_one() {
        let addresses = of(&["10.0.0.1", "10.0.0.2"]);
        fail(&addresses, "10.0.0.1", 1_000);
        for _ in 0..4 {
            assert_eq!(order(&addresses, 5_999)[0], "10.0.0.2");
        }
        let firsts = |now_ms| -> Vec<String> {
            let orders = (0..4).map(|_| order(&addresses, now_ms));
            let firsts = orders.map(|order| order.into_iter().next().expect("one"));
            firsts.filter(|first| first == "10.0.0.1").collect()
        };
        assert_eq!(firsts(6_000).len(), 1, "one connection tries it");
        // The trial failed at once: it takes twice as long until the next, and then again.
        fail(&addresses, "10.0.0.1", 6_001);
        assert_eq!(firsts(15_999).len(), 0);
        assert_eq!(firsts(16_000).len(), 1);
        // This one took longer than its pause.
        fail(&addresses, "10.0.0.1", 40_000);
        set(&addresses, &["10.0.0.2", "10.0.0.1"]);
        assert_eq!(firsts(59_999).len(), 0, "what is known of it holds");
        assert_eq!(firsts(60_000).len(), 1);
        addresses.in_turn(0).iter().for_each(|one| one.reached());
        assert_eq!(firsts(60_001).len(), 2);
    }
}
