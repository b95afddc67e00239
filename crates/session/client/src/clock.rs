//! The clock by which lifetimes are counted.

use std::time::{SystemTime, UNIX_EPOCH};

/// The moment, in unix seconds.
#[must_use]
pub fn now_s() -> u32 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u32::try_from(since.unwrap_or_default().as_secs()).unwrap_or(u32::MAX)
}
