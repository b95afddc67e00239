//! A moment on both clocks: what an exchange is timed and decided by.

use std::cell::Cell;
use std::time::Instant;

/// A moment, as numbers: a difference of two costs nothing, that of two [`Instant`]s 50
/// instructions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moment {
    /// On the monotonic clock, in microseconds since the clock was made.
    pub(crate) us: u64,
    /// On the wall clock, in milliseconds since the Unix epoch.
    pub(crate) unix_ms: u64,
}

/// Both clocks of a worker, for one reading of one.
#[derive(Debug)]
pub(crate) struct Clock {
    /// A moment, and what the system's monotonic clock showed then.
    set: Cell<(Instant, Moment)>,
}

impl Clock {
    pub(crate) fn new(unix_ms: u64) -> Self {
        let start = Moment { us: 0, unix_ms };
        Self {
            set: Cell::new((Instant::now(), start)),
        }
    }

    /// Follows the wall clock, which may be set.
    pub(crate) fn follow(&self, unix_ms: u64) {
        let (then, at) = self.set.get();
        let now = Instant::now();
        let us = at.us + (now - then).as_micros() as u64;
        self.set.set((now, Moment { us, unix_ms }));
    }

    #[inline]
    pub(crate) fn now(&self) -> Moment {
        let (then, at) = self.set.get();
        let elapsed_us = then.elapsed().as_micros() as u64;
        Moment {
            us: at.us + elapsed_us,
            unix_ms: at.unix_ms + elapsed_us / 1000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn following_the_wall_clock_leaves_the_monotonic_one_alone() {
        let clock = Clock::new(1_000_000);
        let before = clock.now();
        assert!(before.unix_ms >= 1_000_000);
        clock.follow(5_000);
        let after = clock.now();
        assert!(after.us >= before.us && after.unix_ms < 1_000_000);
    }
}
