//! The time of one round of an event loop: read once, not for each command. Exact to a few
//! milliseconds, the kernel's tick, which is all that expiry and timeouts need.

use rustix::time::{ClockId, clock_gettime};

/// The time, as of the last [`Clock::tick`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// Unix seconds.
    pub(crate) unix_s: u32,
    /// Milliseconds that only go on.
    pub(crate) ms: u64,
}

impl Clock {
    pub(crate) fn new() -> Self {
        let mut clock = Self { unix_s: 0, ms: 0 };
        clock.tick();
        clock
    }

    /// Reads it.
    pub(crate) fn tick(&mut self) {
        let wall = clock_gettime(ClockId::RealtimeCoarse);
        self.unix_s = u32::try_from(wall.tv_sec).unwrap_or(u32::MAX);
        let steady = clock_gettime(ClockId::MonotonicCoarse);
        let seconds = u64::try_from(steady.tv_sec).unwrap_or(0);
        let fraction = u64::try_from(steady.tv_nsec).unwrap_or(0);
        self.ms = seconds * 1000 + fraction / 1_000_000;
    }
}
