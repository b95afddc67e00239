//! The rules of memcached's expiry times.

/// Up to this many seconds (30 days) a time counts from now; beyond it is a unix time.
const RELATIVE_MOST_S: i64 = 60 * 60 * 24 * 30;

/// A moment that is past in any case.
const PAST_S: u32 = 1;

/// The unix second in which an item expires, 0 for never: from what the client gave, where a
/// negative time is past.
pub(crate) fn absolute(given_s: i64, now_s: u32) -> u32 {
    match given_s {
        0 => 0,
        ..0 => PAST_S,
        1..=RELATIVE_MOST_S => now_s.saturating_add(given_s as u32),
        _ => match u32::try_from(given_s).unwrap_or(u32::MAX) {
            at_s if at_s <= now_s => PAST_S,
            at_s => at_s,
        },
    }
}

/// Whether an item is of no use any more.
#[must_use]
pub fn is_expired(expires_s: u32, now_s: u32) -> bool {
    expires_s != 0 && expires_s <= now_s
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_counts_from_now_up_to_thirty_days_and_from_1970_beyond() {
        let now_s = 1_700_000_000;
        assert_eq!(absolute(0, now_s), 0);
        assert_eq!(absolute(-1, now_s), PAST_S);
        assert_eq!(absolute(10, now_s), now_s + 10);
        assert_eq!(absolute(RELATIVE_MOST_S, now_s), now_s + 2_592_000);
        assert_eq!(absolute(RELATIVE_MOST_S + 1, now_s), PAST_S);
        assert_eq!(absolute(1_800_000_000, now_s), 1_800_000_000);
        assert!(is_expired(PAST_S, now_s));
        assert!(!is_expired(0, now_s));
    }
}
