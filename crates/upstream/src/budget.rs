//! What retries and hedges may add to the load of a pool: a share of the requests of the last ten
//! seconds, and a few always. A pool that fails altogether is not asked twice as much for it.

use std::collections::VecDeque;

use parking_lot::Mutex;

/// What is looked back on, in milliseconds.
const WINDOW_MS: u64 = 10_000;
/// Looks within it are this far apart.
const LOOK_MS: u64 = 1_000;
/// Always allowed within the window, whatever the share comes to.
const ALWAYS: u64 = 100;

/// The budget of one pool. Its lock is taken ten times a second, and for each retry.
#[derive(Debug, Default)]
pub(crate) struct Budget(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// When it was looked, how many requests there had been in all, and what was spent from then
    /// to the next look.
    looks: VecDeque<Look>,
}

#[derive(Clone, Copy, Debug)]
struct Look {
    at_ms: u64,
    requests: u64,
    spent: u64,
}

impl Budget {
    /// Notes how many requests there have been so far.
    pub(crate) fn look(&self, requests: u64, now_ms: u64) {
        let mut state = self.0.lock();
        state.forget(now_ms);
        let due = |look: &Look| now_ms >= look.at_ms.saturating_add(LOOK_MS);
        if state.looks.back().is_none_or(due) {
            state.looks.push_back(Look {
                at_ms: now_ms,
                requests,
                spent: 0,
            });
        }
    }

    /// Takes one retry, of `percent` of the requests; false: there is none left. `requests` is how
    /// many there have been so far.
    pub(crate) fn spend(&self, percent: u32, requests: u64, now_ms: u64) -> bool {
        let mut state = self.0.lock();
        state.forget(now_ms);
        let spent: u64 = state.looks.iter().map(|look| look.spent).sum();
        let before = state.looks.front().map_or(requests, |look| look.requests);
        let share = requests.saturating_sub(before) * u64::from(percent) / 100;
        // With 0 % there are none at all: that is how they are turned off.
        if percent == 0 || spent >= share.max(ALWAYS) {
            return false;
        }
        if state.looks.is_empty() {
            state.looks.push_back(Look {
                at_ms: now_ms,
                requests,
                spent: 0,
            });
        }
        if let Some(last) = state.looks.back_mut() {
            last.spent += 1;
        }
        true
    }
}

impl State {
    fn forget(&mut self, now_ms: u64) {
        let old = |look: &Look| look.at_ms.saturating_add(WINDOW_MS) < now_ms;
        while self.looks.front().is_some_and(old) {
            self.looks.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spend_all(budget: &Budget, percent: u32, requests: u64, now_ms: u64) -> u64 {
        (0..100_000)
            .take_while(|_| budget.spend(percent, requests, now_ms))
            .count() as u64
    }

    #[test]
    fn a_few_are_always_allowed_and_none_at_zero() {
        let budget = Budget::default();
        assert_eq!(spend_all(&budget, 0, 1_000, 5), 0);
        assert_eq!(spend_all(&budget, 20, 0, 5), ALWAYS);
        assert_eq!(spend_all(&budget, 20, 0, 9_000), 0);
        assert_eq!(spend_all(&budget, 20, 0, 20_000), ALWAYS, "a window later");
    }

    #[test]
    fn under_load_it_is_a_share_of_the_requests_of_the_window() {
        let budget = Budget::default();
        for second in 0..10 {
            budget.look(second * 1_000, second * 1_000);
        }
        assert_eq!(spend_all(&budget, 20, 10_000, 10_000), 2_000);
        assert_eq!(
            spend_all(&budget, 20, 10_500, 10_000),
            100,
            "a share of what is new"
        );
    }
}
