//! HTTP dates for scripts (RFC 9110 section 5.6.7), written independently of
//! the program's own.

use std::time::{SystemTime, UNIX_EPOCH};

/// The date `offset` seconds from now.
pub fn from_now(offset: i64) -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs();
    at(now.saturating_add_signed(offset))
}

/// The date `seconds` after 1970 began.
pub fn at(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][(days % 7) as usize];
    let (year, month, day) = civil(days);
    let month = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ][month];
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{weekday}, {day:02} {month} {year} {hour:02}:{minute:02}:{second:02} GMT")
}

/// Year, month from 0 and day of the month of a day after 1970 began.
fn civil(mut day: u64) -> (u64, usize, u64) {
    let mut year = 1970;
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    while day >= 365 + u64::from(leap(year)) {
        day -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [
        31,
        28 + u64::from(leap(year)),
        31,
        30,
        31,
        30,
        31,
        31,
        30,
        31,
        30,
        31,
    ];
    let mut month = 0;
    while day >= lengths[month] {
        day -= lengths[month];
        month += 1;
    }
    (year, month, day + 1)
}

#[cfg(test)]
mod tests {
    #[test]
    fn known_dates() {
        assert_eq!(super::at(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(super::at(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(super::at(951_782_400), "Tue, 29 Feb 2000 00:00:00 GMT");
    }
}
