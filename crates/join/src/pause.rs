//! How long to wait before the next attempt to reach an edge.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(100);
const MOST: Duration = Duration::from_secs(10);

/// Attempts in a row that failed.
#[derive(Debug, Default)]
pub(crate) struct Pause {
    failures: u32,
}

impl Pause {
    /// An attempt succeeded.
    pub(crate) fn forget(&mut self) {
        self.failures = 0;
    }

    /// One failed: doubled each time, between half of it and the whole by `chance` (0 to 1), so
    /// that the back ends of an edge that was away do not come back at the same moment.
    pub(crate) fn after_failure(&mut self, chance: f64) -> Duration {
        let whole = FIRST.saturating_mul(1 << self.failures.min(10)).min(MOST);
        self.failures = self.failures.saturating_add(1);
        whole.mul_f64(0.5 + chance.clamp(0.0, 1.0) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_their_limit_and_begin_anew() {
        let mut pause = Pause::default();
        let pauses = (0..9).map(|_| pause.after_failure(1.0).as_millis());
        let expected = [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000];
        assert_eq!(pauses.collect::<Vec<_>>(), expected);
        pause.forget();
        assert_eq!(pause.after_failure(0.0).as_millis(), 50);
    }
}
