//! Outliers: a server of whose answers too many are failures is ejected for a while, each time in a
//! row for longer. Nothing is done for it on the path of a request: the figures that are kept anyway
//! are looked at ten times a window.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use forebay_config::settings::Eject;
use parking_lot::Mutex;

/// Looks within one window.
const LOOKS: u64 = 10;

/// What is known of one server.
#[derive(Debug, Default)]
pub(crate) struct Outlier {
    until_ms: AtomicU64,
    history: Mutex<History>,
}

#[derive(Debug, Default)]
struct History {
    /// The totals at each look, oldest first.
    looks: VecDeque<Totals>,
    /// Ejections with no good window between them.
    in_a_row: u32,
}

/// A server's figures since it came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) at_ms: u64,
    /// Requests that have an outcome.
    pub(crate) requests: u64,
    /// Those that failed, or were answered with 500 or above.
    pub(crate) bad: u64,
}

impl Outlier {
    pub(crate) fn is_out(&self, now_ms: u64) -> bool {
        self.until_ms.load(Relaxed) > now_ms
    }

    /// Looks at the figures. True: it should be ejected.
    pub(crate) fn look(&self, rule: &Eject, now: Totals) -> bool {
        let mut history = self.history.lock();
        let window_ms = rule.window.as_millis() as u64;
        let due_ms = window_ms / LOOKS;
        if let Some(last) = history.looks.back()
            && now.at_ms < last.at_ms.saturating_add(due_ms)
        {
            return false;
        }
        history.looks.push_back(now);
        // The oldest that is a whole window old is where the window begins.
        while history.looks.len() > 2
            && history
                .looks
                .get(1)
                .is_some_and(|next| next.at_ms.saturating_add(window_ms) <= now.at_ms)
        {
            history.looks.pop_front();
        }
        if self.is_out(now.at_ms) {
            return false;
        }
        let before = history.looks.front().copied().unwrap_or(now);
        let requests = now.requests.saturating_sub(before.requests);
        let bad = now.bad.saturating_sub(before.bad);
        let judged = requests >= rule.requests.max(1);
        let is_bad = judged && bad * 100 >= u64::from(rule.error_percent) * requests;
        if judged && !is_bad {
            history.in_a_row = 0;
        }
        is_bad
    }

    /// Leaves it out; returns for how many milliseconds. What it did before is forgotten.
    pub(crate) fn eject(&self, rule: &Eject, now: Totals) -> u64 {
        let mut history = self.history.lock();
        history.in_a_row = history.in_a_row.saturating_add(1);
        let time_ms = rule.time.as_millis() as u64;
        let out_ms = time_ms.saturating_mul(u64::from(history.in_a_row));
        let until_ms = now.at_ms.saturating_add(out_ms);
        history.looks.clear();
        // What ends while it is out does not count against it when it is back.
        history.looks.push_back(Totals {
            at_ms: until_ms.saturating_sub(rule.window.as_millis() as u64 / LOOKS),
            ..now
        });
        self.until_ms.store(until_ms, Relaxed);
        out_ms
    }
}

/// How many of a pool's servers may be ejected at once.
pub(crate) fn ceiling(servers: usize, rule: &Eject) -> usize {
    (servers * rule.most_percent as usize / 100).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn rule() -> Eject {
        Eject {
            error_percent: 50,
            requests: 10,
            window: Duration::from_secs(10),
            time: Duration::from_secs(30),
            most_percent: 50,
        }
    }

    fn totals(at_s: u64, requests: u64, bad: u64) -> Totals {
        Totals {
            at_ms: at_s * 1000,
            requests,
            bad,
        }
    }

    #[test]
    fn a_share_of_failures_in_a_window_makes_an_outlier() {
        let server = Outlier::default();
        assert!(
            !server.look(&rule(), totals(100, 1000, 900)),
            "that was before"
        );
        assert!(
            !server.look(&rule(), totals(101, 1008, 908)),
            "too few to judge"
        );
        assert!(
            !server.look(&rule(), totals(102, 1020, 909)),
            "fewer than half"
        );
        assert!(server.look(&rule(), totals(103, 1030, 919)));
        // The window moves on.
        assert!(!server.look(&rule(), totals(114, 1060, 920)));
    }

    #[test]
    fn it_is_out_for_longer_each_time_in_a_row() {
        let server = Outlier::default();
        server.look(&rule(), totals(100, 0, 0));
        assert!(server.look(&rule(), totals(101, 10, 10)));
        assert_eq!(server.eject(&rule(), totals(101, 10, 10)), 30_000);
        assert!(server.is_out(130_999) && !server.is_out(131_000));
        assert!(!server.look(&rule(), totals(131, 11, 11)), "too few since");
        assert!(server.look(&rule(), totals(132, 30, 30)));
        assert_eq!(server.eject(&rule(), totals(132, 30, 30)), 60_000);
        // A good window ends the row.
        assert!(!server.look(&rule(), totals(195, 60, 31)));
        assert!(server.look(&rule(), totals(206, 80, 51)));
        assert_eq!(server.eject(&rule(), totals(206, 80, 51)), 30_000);
    }

    #[test]
    fn the_ceiling_is_a_share_and_one_always() {
        for (servers, most) in [(1, 1), (2, 1), (3, 1), (4, 2), (10, 5)] {
            assert_eq!(ceiling(servers, &rule()), most);
        }
    }
}
