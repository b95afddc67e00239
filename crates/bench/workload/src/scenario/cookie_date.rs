//! The dates of cookies, read as RFC 6265 section 5.1.1 says: what servers
//! write there is often none of HTTP's three formats.

use forebay_http::date::days_since_epoch;

const MONTHS: [&[u8; 3]; 12] = [
    b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec",
];

/// Seconds of Unix time; 0 for what lies before 1970. `None` when it is no date.
pub(crate) fn parse(text: &[u8]) -> Option<u64> {
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for token in text
        .split(|&byte| is_delimiter(byte))
        .filter(|token| !token.is_empty())
    {
        if time.is_none()
            && let Some(found) = time_of(token)
        {
            time = Some(found);
        } else if day.is_none()
            && let Some(found) = number(token, 1, 2)
        {
            day = Some(found);
        } else if month.is_none()
            && let Some(found) = month_of(token)
        {
            month = Some(found);
        } else if year.is_none()
            && let Some(found) = number(token, 2, 4)
        {
            year = Some(found);
        }
    }
    let year = match year? {
        year @ 70..=99 => year + 1900,
        year @ 0..=69 => year + 2000,
        year => year,
    };
    let ((hour, minute, second), day, month) = (time?, day?, month?);
    if !(1..=31).contains(&day) || year < 1601 || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = days_since_epoch(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    Some(u64::try_from(seconds).unwrap_or(0))
}

fn is_delimiter(byte: u8) -> bool {
    matches!(byte, 0x09 | 0x20..=0x2f | 0x3b..=0x40 | 0x5b..=0x60 | 0x7b..=0x7e)
}

/// The number at the start of a token, when it has so many digits; what follows must be no digit.
fn number(token: &[u8], least: usize, most: usize) -> Option<i64> {
    let digits = token
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if !(least..=most).contains(&digits) {
        return None;
    }
    let value = token[..digits].iter();
    Some(value.fold(0, |value, digit| value * 10 + i64::from(digit - b'0')))
}

/// `8:49:37`
fn time_of(token: &[u8]) -> Option<(i64, i64, i64)> {
    let mut parts = token.splitn(3, |&byte| byte == b':');
    let mut part = || parts.next().and_then(|part| number(part, 1, 2));
    Some((part()?, part()?, part()?))
}

fn month_of(token: &[u8]) -> Option<i64> {
    let start = token.get(..3)?.to_ascii_lowercase();
    let at = MONTHS.iter().position(|month| month[..] == start)?;
    Some(at as i64 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_servers_write_is_read() {
        for (text, expected) in [
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(784_111_777)),
            ("Sun Nov  6 08:49:37 1994", Some(784_111_777)),
            ("Sun, 06-Nov-1994 8:49:37 GMT", Some(784_111_777)),
            ("Thu, 01-Jan-1970 00:00:00 GMT", Some(0)),
            ("Thu, 01 Jan 1900 00:00:00 GMT", Some(0)),
            ("Tue, 29 Feb 2028 00:00:00 GMT", Some(1_835_395_200)),
            ("Fri, 31 Dec 9999 23:59:59 GMT", Some(253_402_300_799)),
            ("Sun, 06 Nov 1994 24:00:00 GMT", None),
            ("Sun, 32 Nov 1994 08:49:37 GMT", None),
            ("tomorrow", None),
            ("", None),
        ] {
            assert_eq!(parse(text.as_bytes()), expected, "{text}");
        }
    }
}
