//! What a thread knows to be stored, so that a key that is gone is noticed.
//!
//! A key is lost when its write was acknowledged before the read was sent, on
//! whichever connections of the thread, and nothing explains that it is gone:
//! neither its expiry, nor a delete, nor a server that said it has no memory.

use std::time::{Duration, Instant};

/// Servers count expiry in whole seconds of a clock that may be a second behind.
const CLOCK_MARGIN: Duration = Duration::from_secs(2);

/// Sixteen bytes a key. Lives as long as the thread's driver.
#[derive(Debug)]
pub(super) struct Ledger {
    began: Instant,
    /// Acknowledged writes so far.
    writes: u64,
    keys: Box<[Written]>,
    /// Zero: values do not expire.
    expiry: Duration,
}

#[derive(Clone, Copy, Debug, Default)]
struct Written {
    /// Which write of the thread it was, from 1; 0 for none.
    number: u64,
    at_ms: u64,
}

impl Ledger {
    pub(super) fn new(keys: u64, expiry_s: u32) -> Self {
        Self {
            began: Instant::now(),
            writes: 0,
            keys: vec![Written::default(); keys as usize].into_boxed_slice(),
            expiry: Duration::from_secs(u64::from(expiry_s)),
        }
    }

    /// Every key was stored before the load, with values that do not expire.
    pub(super) fn full(keys: u64) -> Self {
        let stored = Written {
            number: 1,
            at_ms: 0,
        };
        Self {
            writes: 1,
            keys: vec![stored; keys as usize].into_boxed_slice(),
            ..Self::new(0, 0)
        }
    }

    /// Acknowledged writes so far; a read remembers it when it is sent.
    pub(super) fn moment(&self) -> u64 {
        self.writes
    }

    /// A write was acknowledged.
    pub(super) fn wrote(&mut self, key: u64) {
        let at_ms = self.now_ms();
        self.writes += 1;
        if let Some(written) = self.keys.get_mut(key as usize) {
            *written = Written {
                number: self.writes,
                at_ms,
            };
        }
    }

    /// Nothing is known of the key any more.
    pub(super) fn forget(&mut self, key: u64) {
        if let Some(written) = self.keys.get_mut(key as usize) {
            *written = Written::default();
        }
    }

    /// A read that was sent at `moment` did not find the key: whether it had to.
    pub(super) fn is_lost(&self, key: u64, moment: u64) -> bool {
        let Some(written) = self.keys.get(key as usize) else {
            return false;
        };
        let was_there = written.number != 0 && written.number <= moment;
        was_there && (self.expiry.is_zero() || !self.may_have_expired(written.at_ms))
    }

    fn may_have_expired(&self, at_ms: u64) -> bool {
        let age = Duration::from_millis(self.now_ms().saturating_sub(at_ms));
        age + CLOCK_MARGIN >= self.expiry
    }

    fn now_ms(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_acknowledged_before_the_read_is_missed() {
        let mut ledger = Ledger::new(10, 0);
        let early = ledger.moment();
        assert!(!ledger.is_lost(3, early), "never written");
        ledger.wrote(3);
        assert!(!ledger.is_lost(3, early), "the read was under way already");
        assert!(ledger.is_lost(3, ledger.moment()));
        assert!(!ledger.is_lost(4, ledger.moment()));
        ledger.forget(3);
        assert!(!ledger.is_lost(3, ledger.moment()));
        assert!(!ledger.is_lost(99, ledger.moment()), "no such key");
    }

    #[test]
    fn what_was_stored_before_the_load_is_missed() {
        let ledger = Ledger::full(10);
        assert!(ledger.is_lost(9, ledger.moment()));
        assert!(!ledger.is_lost(10, ledger.moment()), "no such key");
    }

    #[test]
    fn expiry_explains_what_is_gone() {
        let mut short = Ledger::new(10, 1);
        short.wrote(3);
        assert!(!short.is_lost(3, short.moment()));
        let mut long = Ledger::new(10, 3600);
        long.wrote(3);
        assert!(long.is_lost(3, long.moment()));
    }
}
