//! Failures in a row: after so many of them a server is left out for a while; then one request tries
//! it, and its outcome decides (a circuit breaker).
//!
//! ```text
//!  closed ── fail_after failures in a row ──▶ open ── fail_timeout ──▶ half open
//!    ▲                                         ▲                         │ one request
//!    └───────────── it is answered ────────────┼─────────────────────────┤
//!                                              └───────── it fails ──────┘
//! ```

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

/// The state of one server.
#[derive(Debug, Default)]
pub(crate) struct Passive {
    /// Failures since its last answer.
    in_a_row: AtomicU32,
    /// It is left out until then, in milliseconds since the epoch; 0: it is not.
    until_ms: AtomicU64,
    /// A request tries it.
    on_trial: AtomicBool,
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
        self.until_ms.swap(0, Relaxed) != 0
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
}
