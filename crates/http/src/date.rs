//! HTTP dates (RFC 9110 section 5.6.7) to and from whole seconds since the
//! Unix epoch.
//!
//! Reading accepts the three formats of the RFC and nothing else, but in any
//! letter case, as RFC 9111 section 4.2 asks of caches. A zone other than GMT
//! makes the date invalid, and so does a day that its month does not have. The
//! name of the day is checked to be one, not to be the right one.
//!
//! Writing goes straight to bytes, because a `Date` is written with every
//! response.

const DAYS: [&[u8; 3]; 7] = [b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat", b"Sun"];
const LONG_DAYS: [&[u8]; 7] = [
    b"Monday",
    b"Tuesday",
    b"Wednesday",
    b"Thursday",
    b"Friday",
    b"Saturday",
    b"Sunday",
];
const MONTHS: [&[u8; 3]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];
const DAY_SECONDS: u64 = 86_400;
/// `Fri, 31 Dec 9999 23:59:59 GMT`, the last second an HTTP date can say.
const LAST: u64 = 253_402_300_799;

/// Reads a date; `None` when it is in none of the three formats.
///
/// A date before 1970 is valid and becomes 0: long past either way. The
/// two-digit year of the RFC 850 format means 1970 to 2069; the sliding window
/// of the RFC would need a clock.
pub fn parse(value: &[u8]) -> Option<u64> {
    match value.iter().position(|&b| b == b',') {
        Some(3) => parse_imf(value),
        Some(_) => parse_rfc850(value),
        None => parse_asctime(value),
    }
}

/// Appends `Sun, 06 Nov 1994 08:49:37 GMT`, always 29 bytes. Times after the
/// year 9999 are written as its last second.
pub fn write(unix_seconds: u64, out: &mut Vec<u8>) {
    let seconds = unix_seconds.min(LAST);
    let (days, second) = (seconds / DAY_SECONDS, seconds % DAY_SECONDS);
    let (year, month, day) = civil(days);
    let mut text = *b"Thu, 00 Jan 0000 00:00:00 GMT";
    // The epoch was a Thursday.
    text[..3].copy_from_slice(DAYS[((days + 3) % 7) as usize]);
    two_digits(&mut text[5..7], day);
    text[8..11].copy_from_slice(MONTHS[(month - 1) as usize]);
    two_digits(&mut text[12..14], year / 100);
    two_digits(&mut text[14..16], year % 100);
    two_digits(&mut text[17..19], second / 3600);
    two_digits(&mut text[20..22], second / 60 % 60);
    two_digits(&mut text[23..25], second % 60);
    out.extend_from_slice(&text);
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`
fn parse_imf(v: &[u8]) -> Option<u64> {
    let fixed = v.len() == 29
        && has_name(&v[..3], &DAYS)
        && v[3..5] == *b", "
        && v[7] == b' '
        && v[11] == b' '
        && v[16] == b' '
        && v[25..].eq_ignore_ascii_case(b" GMT");
    if !fixed {
        return None;
    }
    seconds(
        digits(&v[12..16])?,
        month(&v[8..11])?,
        digits(&v[5..7])?,
        clock(&v[17..25])?,
    )
}

/// `Sunday, 06-Nov-94 08:49:37 GMT`
fn parse_rfc850(v: &[u8]) -> Option<u64> {
    let comma = v.iter().position(|&b| b == b',')?;
    let (day_name, rest) = v.split_at(comma);
    let fixed = LONG_DAYS.iter().any(|d| d.eq_ignore_ascii_case(day_name))
        && rest.len() == 24
        && rest[..2] == *b", "
        && rest[4] == b'-'
        && rest[8] == b'-'
        && rest[11] == b' '
        && rest[20..].eq_ignore_ascii_case(b" GMT");
    if !fixed {
        return None;
    }
    let short_year = digits(&rest[9..11])?;
    let year = if short_year < 70 {
        2000 + short_year
    } else {
        1900 + short_year
    };
    seconds(
        year,
        month(&rest[5..8])?,
        digits(&rest[2..4])?,
        clock(&rest[12..20])?,
    )
}

/// `Sun Nov  6 08:49:37 1994`
fn parse_asctime(v: &[u8]) -> Option<u64> {
    let fixed = v.len() == 24
        && has_name(&v[..3], &DAYS)
        && v[3] == b' '
        && v[7] == b' '
        && v[10] == b' '
        && v[19] == b' ';
    if !fixed {
        return None;
    }
    let day = if v[8] == b' ' {
        digits(&v[9..10])?
    } else {
        digits(&v[8..10])?
    };
    seconds(
        digits(&v[20..24])?,
        month(&v[4..7])?,
        day,
        clock(&v[11..19])?,
    )
}

fn has_name(name: &[u8], names: &[&[u8; 3]]) -> bool {
    names.iter().any(|n| n.eq_ignore_ascii_case(name))
}

/// The month, 1 to 12.
fn month(name: &[u8]) -> Option<u64> {
    let index = MONTHS.iter().position(|m| m.eq_ignore_ascii_case(name))?;
    Some(index as u64 + 1)
}

/// `08:49:37` as seconds of the day; second 60 is the RFC's leap second.
fn clock(v: &[u8]) -> Option<u64> {
    if v[2] != b':' || v[5] != b':' {
        return None;
    }
    let (hour, minute, second) = (digits(&v[..2])?, digits(&v[3..5])?, digits(&v[6..8])?);
    (hour < 24 && minute < 60 && second <= 60).then_some(hour * 3600 + minute * 60 + second)
}

/// A number of nothing but digits; at most four are ever passed.
fn digits(v: &[u8]) -> Option<u64> {
    v.iter().try_fold(0, |n, b| {
        b.is_ascii_digit().then(|| n * 10 + u64::from(b - b'0'))
    })
}

fn two_digits(out: &mut [u8], n: u64) {
    out[0] = b'0' + (n / 10) as u8;
    out[1] = b'0' + (n % 10) as u8;
}

/// Seconds since the epoch of a checked civil date, in the proleptic Gregorian
/// calendar.
fn seconds(year: u64, month: u64, day: u64, second: u64) -> Option<u64> {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let month_days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if day == 0 || day > month_days {
        return None;
    }
    if year < 1970 {
        return Some(0);
    }
    let days = days_since_epoch(year as i64, month as i64, day as i64);
    Some(days as u64 * DAY_SECONDS + second)
}

/// Days from the epoch to a date of the proleptic Gregorian calendar, which the caller has checked;
/// negative before 1970.
pub fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    // Years are counted from March, so that the leap day is the last of them.
    let shifted_year = if month > 2 { year } else { year - 1 };
    let shifted_month = (month + 9) % 12;
    let day_of_year = (153 * shifted_month + 2) / 5 + day - 1;
    let leap_days =
        shifted_year.div_euclid(4) - shifted_year.div_euclid(100) + shifted_year.div_euclid(400);
    shifted_year * 365 + leap_days + day_of_year - EPOCH_DAYS as i64
}

/// A moment as RFC 3339 writes it, in UTC: `2026-11-21T20:00:00Z`.
pub fn rfc3339(unix_seconds: u64) -> String {
    format!("{}Z", to_the_second(unix_seconds))
}

/// [`rfc3339`] with milliseconds: `2026-11-21T20:00:00.123Z`.
pub fn rfc3339_ms(unix_ms: u64) -> String {
    format!("{}.{:03}Z", to_the_second(unix_ms / 1000), unix_ms % 1000)
}

fn to_the_second(unix_seconds: u64) -> String {
    let (year, month, day) = civil(unix_seconds / DAY_SECONDS);
    let (hour, minute, second) = (
        unix_seconds / 3600 % 24,
        unix_seconds / 60 % 60,
        unix_seconds % 60,
    );
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
}

/// Days from 1 March of the year 0 to the epoch.
const EPOCH_DAYS: u64 = 719_468;

/// Year, month and day of a number of days since the epoch.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + EPOCH_DAYS;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        for (days, date) in [
            (0, (1970, 1, 1)),
            (11_016, (2000, 2, 29)),
            (11_017, (2000, 3, 1)),
            (19_722, (2023, 12, 31)),
            (20_778, (2026, 11, 21)),
        ] {
            assert_eq!(civil(days), date);
            let (year, month, day) = date;
            let back = days_since_epoch(year as i64, month as i64, day as i64);
            assert_eq!(back, days as i64);
        }
    }

    #[test]
    fn moments_are_those_of_the_calendar() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(rfc3339(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(rfc3339(1_795_305_600), "2026-11-22T00:00:00Z");
        assert_eq!(rfc3339(4_107_542_400), "2100-03-01T00:00:00Z");
        assert_eq!(rfc3339_ms(951_782_399_007), "2000-02-28T23:59:59.007Z");
    }

    #[test]
    fn the_three_formats_say_the_same() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "SUN, 06 nov 1994 08:49:37 gMt",
        ] {
            assert_eq!(parse(text.as_bytes()), Some(784_111_777), "{text}");
        }
    }

    #[test]
    fn known_dates() {
        for (text, expected) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Mon, 01 Jan 1900 00:00:00 GMT", 0),
            ("Tue, 29 Feb 2000 23:59:59 GMT", 951_868_799),
            ("Thursday, 18-Aug-50 02:01:18 GMT", 2_544_400_878),
            ("Thu Aug 18 02:01:18 2050", 2_544_400_878),
            ("Fri, 31 Dec 9999 23:59:59 GMT", LAST),
            ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
        ] {
            assert_eq!(parse(text.as_bytes()), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_date() {
        for text in [
            "",
            "0",
            "-1",
            ",",
            "Thu, 18 Aug 2050 02:01:18 UTC",
            "Thu, 18 Aug 2050 02:01:18 AEST",
            "Thu, 18 Aug 50 02:01:18 GMT",
            "Thu 18 Aug 2050 02:01:18 GMT",
            "Thu, 18  Aug  2050 02:01:18 GMT",
            "Thu, 18-Aug-2050 02:01:18 GMT",
            "Thu, 18 Aug 2050 02.01.18 GMT",
            "Thu, 18 Aug 2050 2:01:18 GMT",
            "Thu, 18 Aug 2050 24:01:18 GMT",
            "Thu, 18 Aug 2050 02:60:18 GMT",
            "Thu, 18 Aug 2050 02:01:61 GMT",
            "Thu, 00 Aug 2050 02:01:18 GMT",
            "Tue, 29 Feb 1900 00:00:00 GMT",
            "Wed, 31 Jun 2050 00:00:00 GMT",
            "Foo, 18 Aug 2050 02:01:18 GMT",
            "Thu, 18 Foo 2050 02:01:18 GMT",
            "Thu, 18 Aug 2050 02:01:18 GMT ",
            "Thu, +8 Aug 2050 02:01:18 GMT",
            "Thu Aug 18 02:01:18 2050 GMT",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn written_as_imf_fixdate() {
        for (seconds, expected) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_868_799, "Tue, 29 Feb 2000 23:59:59 GMT"),
            (u64::MAX, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ] {
            let mut out = Vec::new();
            write(seconds, &mut out);
            assert_eq!(out, expected.as_bytes());
        }
    }
}
