//! The one memory budget: what is counted, and when it is given back.
//!
//! A [`Charge`] is held by whatever owns the memory and gives it back when it
//! is dropped, so the sum is what the process really holds: bodies, heads,
//! index and objects in transit, whether or not the index still knows them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes in use and bytes allowed.
#[derive(Debug)]
pub struct Budget {
    used: AtomicU64,
    limit: AtomicU64,
    leaving: AtomicU64,
}

impl Budget {
    /// A budget of `limit` bytes, none used.
    pub fn new(limit: u64) -> Arc<Self> {
        Arc::new(Self {
            used: AtomicU64::new(0),
            limit: AtomicU64::new(limit),
            leaving: AtomicU64::new(0),
        })
    }

    /// Bytes in use.
    pub fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    /// Bytes allowed.
    pub fn limit(&self) -> u64 {
        self.limit.load(Relaxed)
    }

    /// Changes what is allowed; what is beyond it goes with the next insertions.
    pub fn set_limit(&self, limit: u64) {
        self.limit.store(limit, Relaxed);
    }

    /// Bytes in use that are given back without anybody's doing: they are being written to disk.
    pub fn leaving(&self) -> u64 {
        self.leaving.load(Relaxed)
    }

    /// Bytes in use beyond what is allowed, without those that are leaving.
    pub fn excess(&self) -> u64 {
        self.used()
            .saturating_sub(self.leaving())
            .saturating_sub(self.limit())
    }
}

/// Bytes that are on their way out of a budget, until dropped.
#[derive(Debug)]
pub(crate) struct Leaving {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Leaving {
    pub(crate) fn new(budget: &Arc<Budget>, bytes: u64) -> Self {
        budget.leaving.fetch_add(bytes, Relaxed);
        Self {
            budget: Arc::clone(budget),
            bytes,
        }
    }
}

impl Leaving {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.budget.leaving.fetch_sub(self.bytes, Relaxed);
    }
}

/// Bytes counted in a budget until dropped.
#[derive(Debug)]
pub struct Charge {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Charge {
    /// Counts nothing yet.
    pub fn new(budget: &Arc<Budget>) -> Self {
        Self {
            budget: Arc::clone(budget),
            bytes: 0,
        }
    }

    /// The budget it counts in.
    pub fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// Counts `bytes` from now on.
    pub fn set(&mut self, bytes: u64) {
        if bytes >= self.bytes {
            self.budget.used.fetch_add(bytes - self.bytes, Relaxed);
        } else {
            self.budget.used.fetch_sub(self.bytes - bytes, Relaxed);
        }
        self.bytes = bytes;
    }

    /// Bytes counted.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.set(0);
    }
}

/// What an allocation of `bytes` takes from the process: the allocator rounds up
/// to size classes, four to each power of two and 16 bytes apart at least, and a
/// sixteenth more lies unused between allocations of different age (measured).
pub fn allocated(bytes: usize) -> u64 {
    let step = (bytes.next_power_of_two() / 8).max(16);
    let class = bytes.next_multiple_of(step);
    (class + class / 16) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_charge_is_given_back_whole() {
        let budget = Budget::new(100);
        let mut charge = Charge::new(&budget);
        charge.set(150);
        assert_eq!((budget.used(), budget.excess()), (150, 50));
        charge.set(20);
        assert_eq!((budget.used(), budget.excess()), (20, 0));
        drop(charge);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn allocations_are_counted_by_their_size_class() {
        for (bytes, class) in [
            (0, 0),
            (1, 16),
            (64, 64),
            (65, 80),
            (129, 160),
            (65_536, 65_536),
        ] {
            assert_eq!(allocated(bytes), class + class / 16, "{bytes}");
        }
    }
}
