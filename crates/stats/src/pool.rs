//! Figures of each pool as a whole: who waits, what was refused, what was tried again. Shown with the
//! label `pool`.

use crate::row::figures;

figures! {
    /// The figures of one pool at one moment.
    PoolSnapshot, pool, "forebay_pool_";
    waiting, "waiting", false, "requests",
        "Requests that wait in the queue for a server.";
    longest_ms, "longest_wait_milliseconds", false, "milliseconds",
        "How long the first of those that wait has been waiting.";
    waited, "waited_total", true, "requests",
        "Requests that were given a server after they had waited.";
    queue_full, "queue_full_total", true, "requests",
        "Requests refused (503) because as many waited as `queue` allows.";
    queue_timeouts, "queue_timeouts_total", true, "requests",
        "Requests refused (503) because they had waited for `queue_timeout`.";
    retries, "retries_total", true, "requests",
        "Requests given to another connection or server after one had failed.";
    hedges, "hedges_total", true, "requests",
        "Second servers asked because the first was slow (`hedge_after`).";
    budget_empty, "retries_refused_total", true, "requests",
        "Retries and hedges that were not made because `retry_budget` was used up.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_and_only_they_are_named_so() {
        crate::row::are_well_named(ROWS);
    }

    #[test]
    fn since_takes_off_what_was_counted_before() {
        let earlier = PoolSnapshot {
            waiting: 3,
            waited: 5,
            ..PoolSnapshot::default()
        };
        let now = PoolSnapshot {
            waiting: 2,
            waited: 7,
            ..PoolSnapshot::default()
        };
        let since = now.since(&earlier);
        assert_eq!((since.waiting, since.waited), (2, 2));
    }
}
