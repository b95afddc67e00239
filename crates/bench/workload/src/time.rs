//! The ways in which logs and recordings write a time, to milliseconds since
//! 1970.

use forebay_http::date::days_since_epoch;

/// `21/Nov/2026:20:00:00 +0000`, as access logs write it.
pub(crate) fn common(text: &[u8]) -> Option<i64> {
    let &[d1, d2, b'/', m1, m2, m3, b'/', ref rest @ ..] = text else {
        return None;
    };
    let (year, rest) = rest.split_at_checked(4)?;
    let (clock, rest) = rest.strip_prefix(b":")?.split_at_checked(8)?;
    let month = match &[m1, m2, m3] {
        b"Jan" => 1,
        b"Feb" => 2,
        b"Mar" => 3,
        b"Apr" => 4,
        b"May" => 5,
        b"Jun" => 6,
        b"Jul" => 7,
        b"Aug" => 8,
        b"Sep" => 9,
        b"Oct" => 10,
        b"Nov" => 11,
        b"Dec" => 12,
        _ => return None,
    };
    let seconds = day(digits(year)?, month, digits(&[d1, d2])?)? * 86_400 + of_day(clock)?;
    let (fraction_ms, rest) = fraction(rest)?;
    Some((seconds - zone(rest.strip_prefix(b" ").unwrap_or(rest))?) * 1_000 + fraction_ms)
}

/// RFC 3339 and what ISO 8601 writers make of it: `2026-11-21T20:00:00.123Z`,
/// `2026-11-21 20:00:00+0100`. Without a zone it is UTC.
pub(crate) fn rfc3339(text: &[u8]) -> Option<i64> {
    let (date, rest) = text.trim_ascii().split_at_checked(10)?;
    let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = date else {
        return None;
    };
    let date = day(
        digits(&[y1, y2, y3, y4])?,
        digits(&[m1, m2])?,
        digits(&[d1, d2])?,
    )?;
    let (b'T' | b't' | b' ', rest) = rest.split_first().map(|(first, rest)| (*first, rest))? else {
        return None;
    };
    let (clock, rest) = rest.split_at_checked(8)?;
    let (fraction_ms, rest) = fraction(rest)?;
    let seconds = date * 86_400 + of_day(clock)? - zone(rest)?;
    Some(seconds * 1_000 + fraction_ms)
}

/// `1066036250.603`: seconds since 1970 with any number of digits behind the point.
pub(crate) fn seconds(text: &[u8]) -> Option<i64> {
    let whole = text
        .iter()
        .position(|&byte| byte == b'.')
        .unwrap_or(text.len());
    let (whole, rest) = text.split_at(whole);
    let (fraction_ms, rest) = fraction(rest)?;
    if whole.len() > 12 || !rest.is_empty() {
        return None;
    }
    Some(digits(whole)? * 1_000 + fraction_ms)
}

/// Seconds since 1970 as a number of JSON; also milliseconds, microseconds and nanoseconds, which
/// are told apart by their size (10¹¹ seconds are the year 5138).
pub(crate) fn number(value: f64) -> Option<i64> {
    let ms = match value {
        v if !(0.0..1e20).contains(&v) => return None,
        v if v < 1e11 => v * 1e3,
        v if v < 1e14 => v,
        v if v < 1e17 => v / 1e3,
        v => v / 1e6,
    };
    Some(ms.round() as i64)
}

fn digits(text: &[u8]) -> Option<i64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0, |sum, &byte| {
        byte.is_ascii_digit()
            .then(|| sum * 10 + i64::from(byte - b'0'))
    })
}

/// `.123456` in milliseconds, and what follows; nothing there is zero.
fn fraction(text: &[u8]) -> Option<(i64, &[u8])> {
    let Some(rest) = text.strip_prefix(b".").or(text.strip_prefix(b",")) else {
        return Some((0, text));
    };
    let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (fraction, rest) = rest.split_at(length);
    let mut ms = 0;
    for place in 0..3 {
        let digit = fraction.get(place).map_or(0, |byte| byte - b'0');
        ms = ms * 10 + i64::from(digit);
    }
    (length > 0).then_some((ms, rest))
}

/// `20:00:00` in seconds; a leap second counts as the first of the next minute.
fn of_day(text: &[u8]) -> Option<i64> {
    let &[h1, h2, b':', m1, m2, b':', s1, s2] = text else {
        return None;
    };
    let (hour, minute, second) = (digits(&[h1, h2])?, digits(&[m1, m2])?, digits(&[s1, s2])?);
    (hour < 24 && minute < 60 && second < 61).then_some(hour * 3_600 + minute * 60 + second)
}

/// `Z`, `+0100` or `-05:30` in seconds.
fn zone(text: &[u8]) -> Option<i64> {
    let (sign, h1, h2, m1, m2) = match *text {
        [] | [b'Z' | b'z'] => return Some(0),
        [sign, h1, h2, m1, m2] | [sign, h1, h2, b':', m1, m2] => (sign, h1, h2, m1, m2),
        _ => return None,
    };
    let seconds = digits(&[h1, h2])? * 3_600 + digits(&[m1, m2])? * 60;
    match sign {
        b'+' => Some(seconds),
        b'-' => Some(-seconds),
        _ => None,
    }
}

/// Days since 1970 of a date that is in the Gregorian calendar.
fn day(year: i64, month: i64, day: i64) -> Option<i64> {
    const LENGTHS: [i64; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let longest = *LENGTHS.get(usize::try_from(month - 1).ok()?)?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if !(1..=longest).contains(&day) || (month == 2 && day == 29 && !leap) {
        return None;
    }
    Some(days_since_epoch(year, month, day))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_of_access_logs() {
        for (text, ms) in [
            ("01/Jan/1970:00:00:00 +0000", 0),
            ("29/Feb/2000:12:34:56 +0000", 951_827_696_000),
            ("21/Nov/2026:20:00:00 +0000", 1_795_291_200_000),
            ("21/Nov/2026:21:30:00 +0130", 1_795_291_200_000),
            ("21/Nov/2026:15:00:00 -0500", 1_795_291_200_000),
            ("31/Dec/2099:23:59:59 +0000", 4_102_444_799_000),
        ] {
            assert_eq!(common(text.as_bytes()), Some(ms), "{text}");
        }
        for text in [
            "29/Feb/2001:00:00:00 +0000",
            "00/Jan/2001:00:00:00 +0000",
            "31/Apr/2001:00:00:00 +0000",
            "1/Jan/2001:00:00:00 +0000",
            "01/jan/2001:00:00:00 +0000",
            "01/Jan/2001:24:00:00 +0000",
            "01/Jan/2001:00:00:00 *0000",
            "01/Jan/2001:00:00:00 +00",
            "01/Jan/2001:00:0",
            "",
        ] {
            assert_eq!(common(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn times_of_json() {
        for (text, ms) in [
            ("2026-11-21T20:00:00.123Z", 1_795_291_200_123),
            ("2026-11-21T21:00:00+01:00", 1_795_291_200_000),
            ("2026-11-21T21:00:00,5+0100", 1_795_291_200_500),
            ("2026-11-21 20:00:00", 1_795_291_200_000),
            ("2026-11-21T20:00:00.123456789Z", 1_795_291_200_123),
        ] {
            assert_eq!(rfc3339(text.as_bytes()), Some(ms), "{text}");
        }
        for text in [
            "2026-13-01T00:00:00Z",
            "2026-11-21",
            "2026-11-21T20:00:00.Z",
        ] {
            assert_eq!(rfc3339(text.as_bytes()), None, "{text}");
        }
        assert_eq!(seconds(b"1066036250.603"), Some(1_066_036_250_603));
        assert_eq!(seconds(b"1066036250"), Some(1_066_036_250_000));
        assert_eq!(seconds(b"1066036250.x"), None);
        assert_eq!(number(1_646_861_401.524_108_7), Some(1_646_861_401_524));
        assert_eq!(number(1_646_861_401_524.0), Some(1_646_861_401_524));
        assert_eq!(number(1_646_861_401_524_108_700.0), Some(1_646_861_401_524));
        assert_eq!(number(f64::NAN), None);
    }

    proptest! {
        #[test]
        fn a_date_has_the_number_of_days_that_the_http_crate_says(second in 0i64..253_402_300_799) {
            // `Sat, 21 Nov 2026 20:00:00 GMT`
            let mut http = Vec::new();
            forebay_http::date::write(second as u64, &mut http);
            let http = String::from_utf8(http).unwrap();
            let part: Vec<&str> = http.split(' ').collect();
            let text = format!("{}/{}/{}:{} +0000", part[1], part[2], part[3], part[4]);
            prop_assert_eq!(common(text.as_bytes()), Some(second * 1_000));
        }

        #[test]
        fn no_bytes_are_too_strange(text in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = (common(&text), rfc3339(&text), seconds(&text));
        }
    }
}
