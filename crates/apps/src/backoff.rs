//! How soon a process is started again after one has failed. Pure: lengths of time in and out.

use std::time::Duration;

/// The failures in a row of one application.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Notes that a process failed that had been ready for `healthy` (`None`: it never was), and
    /// gives the pause before the next start: none after the first failure, then `first`, doubled
    /// each time up to `most`. A process that was healthy for longer than the pause that its
    /// predecessor's failure cost, and than `first`, begins a new row.
    pub(crate) fn failed(
        &mut self,
        healthy: Option<Duration>,
        first: Duration,
        most: Duration,
    ) -> Duration {
        let before = pause(self.failures, first, most);
        if healthy.is_some_and(|healthy| healthy > before.max(first)) {
            self.failures = 0;
        }
        self.failures = self.failures.saturating_add(1);
        pause(self.failures, first, most)
    }

    /// Failures in a row.
    pub(crate) fn failures(self) -> u32 {
        self.failures
    }

    /// What failed has been replaced by something else: other settings, an operator's order.
    pub(crate) fn forget(&mut self) {
        self.failures = 0;
    }
}

fn pause(failures: u32, first: Duration, most: Duration) -> Duration {
    match failures {
        0 | 1 => Duration::ZERO,
        more => first
            .checked_mul(1u32.checked_shl(more - 2).unwrap_or(u32::MAX))
            .map_or(most, |pause| pause.min(most)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_secs(1);
    const MOST: Duration = Duration::from_secs(60);

    #[test]
    fn the_first_restart_is_at_once_and_later_pauses_double() {
        let mut backoff = Backoff::default();
        let pauses = (0..9).map(|_| backoff.failed(None, FIRST, MOST).as_secs());
        assert_eq!(pauses.collect::<Vec<_>>(), [0, 1, 2, 4, 8, 16, 32, 60, 60]);
    }

    #[test]
    fn many_failures_do_not_overflow() {
        let mut backoff = Backoff { failures: u32::MAX };
        assert_eq!(backoff.failed(None, FIRST, MOST), MOST);
    }

    #[test]
    fn one_that_ran_well_for_long_begins_a_new_row() {
        let mut backoff = Backoff { failures: 4 };
        let long = Some(Duration::from_secs(5));
        assert_eq!(backoff.failed(long, FIRST, MOST), Duration::ZERO);
        assert_eq!(backoff.failures(), 1);
    }

    #[test]
    fn one_that_ran_for_a_moment_does_not() {
        let mut backoff = Backoff { failures: 4 };
        let short = Some(Duration::from_secs(3));
        assert_eq!(
            backoff.failed(short, FIRST, MOST),
            Duration::from_secs(8),
            "longer than `first`, shorter than the last pause"
        );
    }
}
