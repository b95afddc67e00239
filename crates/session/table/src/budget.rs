//! The byte budget that all shards of a table share.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts what is held. It is asked for segments, indices and large values, never for an item
/// that goes into a segment: threads seldom meet here.
#[derive(Debug)]
pub(crate) struct Budget {
    most: u64,
    used: AtomicU64,
}

impl Budget {
    pub(crate) fn new(most: u64) -> Self {
        Self {
            most,
            used: AtomicU64::new(0),
        }
    }

    /// Takes `bytes` if there are as many.
    pub(crate) fn reserve(&self, bytes: u64) -> bool {
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                used.checked_add(bytes).filter(|sum| *sum <= self.most)
            })
            .is_ok()
    }

    /// Takes `bytes` whether there are as many or not: what a table cannot begin without.
    pub(crate) fn charge(&self, bytes: u64) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn release(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Whether [`Budget::reserve`] would give `bytes` now.
    pub(crate) fn fits(&self, bytes: u64) -> bool {
        self.used().saturating_add(bytes) <= self.most
    }

    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    /// Whether there is so little left that dead bytes are worth moving live ones for.
    pub(crate) fn is_scarce(&self) -> bool {
        self.used() > self.most - self.most / 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_given_than_there_is() {
        let budget = Budget::new(100);
        assert!(budget.reserve(60));
        assert!(!budget.reserve(41));
        assert!(!budget.reserve(u64::MAX));
        assert!(budget.fits(40) && budget.reserve(40));
        budget.release(100);
        assert_eq!(budget.used(), 0);
    }
}
