//! Failures in a row: after so many of them a server is left out for a while; then one request tries
//! it, and its outcome decides (a circuit breaker).
//!
//! ```text
//!  closed ── fail_after failures in a row ──▶ open ── fail_timeout ──▶ half open
//!    ▲                                         ▲                         │ one request
//!    └───────────── it is answered ────────────┼─────────────────────────┤
//!                                              └───────── it fails ──────┘
//! ```
//!
//! Where all servers of a pool are left out they are asked all the same: that costs little while they
//! fail at once, and the first answer closes the circuit. One that hangs costs every request its
//! time-out: it is tried now and then, and who comes between is told at once.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

/// So many requests in a row that were not answered in time: it hangs.
const HANGS_AFTER: u32 = 3;
/// One that hangs is tried so often, where there is no other.
const TRY_EVERY_MS: u64 = 1_000;

/// The state of one server.
#[derive(Debug, Default)]
pub(crate) struct Passive {
    /// Failures since its last answer.
    in_a_row: AtomicU32,
    /// It is left out until then, in milliseconds since the epoch; 0: it is not.
    until_ms: AtomicU64,
    /// A request tries it.
    on_trial: AtomicBool,
    /// Of the failures, the last ones that were time-outs.
    slow_in_a_row: AtomicU32,
    /// While it hangs it is not tried before, in milliseconds since the epoch.
    next_try_ms: AtomicU64,
}

/// What a request may expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Circuit {
    /// All is well.
    Closed,
    /// It is left out.
    Open,
    /// One request may try it.
    HalfOpen,
    /// One is trying it.
    OnTrial,
}

impl Passive {
    pub(crate) fn circuit(&self, now_ms: u64) -> Circuit {
        match self.until_ms.load(Relaxed) {
            0 => Circuit::Closed,
            until_ms if until_ms > now_ms => Circuit::Open,
            _ if self.on_trial.load(Relaxed) => Circuit::OnTrial,
            _ => Circuit::HalfOpen,
        }
    }

    pub(crate) fn is_out(&self, now_ms: u64) -> bool {
        self.until_ms.load(Relaxed) > now_ms
    }

    /// Whether it lets requests wait in vain.
    #[inline]
    pub(crate) fn hangs(&self) -> bool {
        self.slow_in_a_row.load(Relaxed) >= HANGS_AFTER
    }

    /// Whether one that hangs may be tried by this request, because nobody has lately.
    pub(crate) fn try_hanging(&self, now_ms: u64) -> bool {
        let next_ms = self.next_try_ms.load(Relaxed);
        next_ms <= now_ms
            && self
                .next_try_ms
                .compare_exchange(next_ms, now_ms + TRY_EVERY_MS, Relaxed, Relaxed)
                .is_ok()
    }

    /// Takes the one trial. False: somebody else has it.
    pub(crate) fn begin_trial(&self) -> bool {
        !self.on_trial.swap(true, Relaxed)
    }

    /// The trial is over, whatever came of it.
    pub(crate) fn end_trial(&self) {
        self.on_trial.store(false, Relaxed);
    }

    /// It answered. True: it is back.
    #[inline]
    pub(crate) fn answered(&self) -> bool {
        if self.in_a_row.load(Relaxed) == 0 {
            return false;
        }
        self.in_a_row.store(0, Relaxed);
        self.slow_in_a_row.store(0, Relaxed);
        self.until_ms.swap(0, Relaxed) != 0
    }

    /// It took too long, or failed sooner.
    pub(crate) fn was_slow(&self, slow: bool) {
        if slow {
            self.slow_in_a_row.fetch_add(1, Relaxed);
        } else {
            self.slow_in_a_row.store(0, Relaxed);
        }
    }

    /// It failed. True: it is left out from now on.
    pub(crate) fn failed(&self, fail_after: u32, fail_timeout_ms: u64, now_ms: u64) -> bool {
        let in_a_row = self.in_a_row.fetch_add(1, Relaxed).saturating_add(1);
        if in_a_row < fail_after.max(1) {
            return false;
        }
        let until_ms = now_ms.saturating_add(fail_timeout_ms).max(1);
        self.until_ms.swap(until_ms, Relaxed) <= now_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_left_out_after_failures_in_a_row_and_tried_by_one() {
        let server = Passive::default();
        assert!(!server.failed(3, 100, 1000));
        assert!(!server.answered(), "it was not out");
        assert!(!server.failed(3, 100, 1000) && !server.failed(3, 100, 1000));
        assert_eq!(server.circuit(1000), Circuit::Closed);
        assert!(server.failed(3, 100, 1000));
        assert!(server.is_out(1099) && !server.is_out(1100));
        assert_eq!(server.circuit(1099), Circuit::Open);
        assert_eq!(server.circuit(1100), Circuit::HalfOpen);
        assert!(server.begin_trial() && !server.begin_trial());
        assert_eq!(server.circuit(1100), Circuit::OnTrial);
        assert!(server.failed(3, 100, 1200), "one failure is enough now");
        server.end_trial();
        assert_eq!(server.circuit(1299), Circuit::Open);
        assert!(server.begin_trial() && server.answered());
        server.end_trial();
        assert_eq!(server.circuit(1300), Circuit::Closed);
    }

    #[test]
    fn one_that_hangs_is_tried_once_in_a_while() {
        let server = Passive::default();
        for slow in [true, true, false, true, true] {
            server.failed(1, 100, 1000);
            server.was_slow(slow);
            assert!(!server.hangs());
        }
        server.was_slow(true);
        assert!(server.hangs());
        assert!(server.try_hanging(1000) && !server.try_hanging(1999));
        assert!(server.try_hanging(2000) && !server.try_hanging(2000));
        server.answered();
        assert!(!server.hangs());
    }
}
