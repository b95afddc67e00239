//! Sizes and times as people write them: `64KiB`, `1.5GB`, `2m`, `1h30m`, `500ms`.

use std::time::Duration;

/// Size units and their bytes; the spelling without regard to case.
const SIZES: [(&str, u64); 9] = [
    ("b", 1),
    ("kb", 1_000),
    ("kib", 1 << 10),
    ("mb", 1_000_000),
    ("mib", 1 << 20),
    ("gb", 1_000_000_000),
    ("gib", 1 << 30),
    ("tb", 1_000_000_000_000),
    ("tib", 1 << 40),
];

/// Time units and their milliseconds.
const TIMES: [(&str, u64); 6] = [
    ("ms", 1),
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
    ("w", 604_800_000),
];

/// Bytes from `64KiB`, `10MB`, `1.5GiB`, or a plain number of bytes.
///
/// # Errors
/// Says for the operator what is wrong with the text.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let (number, rest) = number(text.trim())?;
    let rest = rest.trim_start();
    let unit = rest.to_ascii_lowercase();
    let scale = match unit.as_str() {
        "" => 1,
        "k" | "m" | "g" | "t" => {
            let letter = unit.to_ascii_uppercase();
            return Err(format!(
                "`{rest}` could be {letter}B (powers of 1000) or {letter}iB (powers of 1024)"
            ));
        }
        _ => scale(&SIZES, &unit).ok_or_else(|| {
            format!("`{rest}` is not a unit of size (B, KB, KiB, MB, MiB, GB, GiB, TB, TiB)")
        })?,
    };
    number
        .times(scale)
        .ok_or_else(|| "the size is too large".into())
}

/// A time from `500ms`, `10s`, `2m`, `1h30m`, `7d`, or a plain number of seconds.
///
/// # Errors
/// Says for the operator what is wrong with the text.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    const TOO_LONG: &str = "the time is too long";
    let text = text.trim();
    let (first, rest) = number(text)?;
    if rest.is_empty() {
        let millis = first.times(1_000).ok_or(TOO_LONG)?;
        return Ok(Duration::from_millis(millis));
    }
    let (mut total, mut rest) = (0u64, text);
    let mut smallest = u64::MAX;
    while !rest.is_empty() {
        let (count, tail) = number(rest)?;
        let tail = tail.trim_start();
        let end = tail
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(end);
        if unit.is_empty() {
            return Err("a number has no unit (ms, s, m, h, d, w)".into());
        }
        let scale = scale(&TIMES, unit)
            .ok_or_else(|| format!("`{unit}` is not a unit of time (ms, s, m, h, d, w)"))?;
        if scale >= smallest {
            return Err("units go from the longest to the shortest, each once".into());
        }
        smallest = scale;
        total = count
            .times(scale)
            .and_then(|part| total.checked_add(part))
            .ok_or(TOO_LONG)?;
        rest = tail.trim_start();
    }
    Ok(Duration::from_millis(total))
}

/// Thousandths of the whole from `12.5%`; `None` when the text is not a percentage.
pub(crate) fn parse_percent(text: &str) -> Option<Result<u64, String>> {
    let digits = text.trim().strip_suffix('%')?;
    Some(match number(digits) {
        Ok((value, "")) => match value.times(10) {
            Some(thousandths @ 1..=1_000) => Ok(thousandths),
            _ => Err("a percentage is more than 0 and at most 100".into()),
        },
        Ok(_) => Err("a percentage is a number before `%`".into()),
        Err(message) => Err(message),
    })
}

/// `bytes` as the largest unit that divides it: `64KiB`, `1GiB`, `1500B`.
pub(crate) fn show_size(bytes: u64) -> String {
    for (unit, shift) in [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)] {
        if bytes >> shift > 0 && bytes.trailing_zeros() >= shift {
            return format!("{}{unit}", bytes >> shift);
        }
    }
    format!("{bytes}B")
}

/// `duration` as the largest unit that divides it: `2m`, `90s`, `500ms`, `0s`.
pub(crate) fn show_duration(duration: Duration) -> String {
    let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    for (unit, scale) in TIMES.iter().rev() {
        if millis >= *scale && millis % scale == 0 && *unit != "w" {
            return format!("{}{unit}", millis / scale);
        }
    }
    "0s".into()
}

fn scale(units: &[(&str, u64)], name: &str) -> Option<u64> {
    units
        .iter()
        .find(|(unit, _)| *unit == name)
        .map(|(_, scale)| *scale)
}

/// A decimal number without sign: `digits / 10^places`.
struct Number {
    digits: u64,
    places: u32,
}

impl Number {
    /// The number times `scale`, rounded down; `None` when it does not fit.
    fn times(&self, scale: u64) -> Option<u64> {
        let divisor = 10u128.checked_pow(self.places)?;
        u64::try_from(u128::from(self.digits) * u128::from(scale) / divisor).ok()
    }
}

/// The number that `text` begins with, and what follows it.
fn number(text: &str) -> Result<(Number, &str), String> {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() || (fraction.is_empty() && digits.contains('.')) || fraction.contains('.') {
        return Err("it does not begin with a number".into());
    }
    let places = u32::try_from(fraction.len()).unwrap_or(u32::MAX);
    match format!("{whole}{fraction}").parse() {
        Ok(digits) => Ok((Number { digits, places }, rest)),
        Err(_) => Err("the number is too large".into()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes() {
        for (text, expected) in [
            ("0", 0),
            ("4096", 4096),
            ("64KiB", 64 << 10),
            ("64 kib", 64 << 10),
            ("10MB", 10_000_000),
            ("1.5GiB", 3 << 29),
            ("2TiB", 2 << 40),
            ("7B", 7),
        ] {
            assert_eq!(parse_size(text), Ok(expected), "{text}");
        }
        for (text, part) in [
            ("", "begin with a number"),
            ("GiB", "begin with a number"),
            ("-1", "begin with a number"),
            ("1.", "begin with a number"),
            ("1..5MB", "begin with a number"),
            ("1QB", "`QB` is not a unit"),
            ("10M", "could be MB"),
            ("1 GiB x", "is not a unit"),
            ("99999999999TiB", "too large"),
            ("999999999999999999999", "too large"),
        ] {
            let error = parse_size(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn times() {
        for (text, millis) in [
            ("0", 0),
            ("0s", 0),
            ("10", 10_000),
            ("500ms", 500),
            ("10s", 10_000),
            ("1.5s", 1_500),
            ("2m", 120_000),
            ("1h30m", 5_400_000),
            ("1h 30m", 5_400_000),
            ("2 m", 120_000),
            ("7d", 604_800_000),
            ("1w", 604_800_000),
        ] {
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_millis(millis)),
                "{text}"
            );
        }
        for (text, part) in [
            ("", "begin with a number"),
            ("s", "begin with a number"),
            ("2 parsecs", "is not a unit of time"),
            ("10min", "`min` is not a unit of time"),
            ("10m5", "has no unit"),
            ("30m1h", "longest to the shortest"),
            ("1s1s", "longest to the shortest"),
            ("99999999999999999w", "too long"),
        ] {
            let error = parse_duration(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn percentages_in_thousandths() {
        assert_eq!(parse_percent("10%"), Some(Ok(100)));
        assert_eq!(parse_percent("12.5%"), Some(Ok(125)));
        assert_eq!(parse_percent("100%"), Some(Ok(1_000)));
        assert_eq!(parse_percent("10"), None);
        for text in ["0%", "101%", "x%", "5 x%", "%"] {
            assert!(parse_percent(text).unwrap().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_back(bytes in 0u64..1 << 50, millis in 0u64..1 << 50) {
            let shown = show_size(bytes);
            prop_assert_eq!(parse_size(&shown), Ok(bytes));
            let duration = Duration::from_millis(millis);
            prop_assert_eq!(parse_duration(&show_duration(duration)), Ok(duration));
        }

        #[test]
        fn no_text_panics(text in "\\PC*", number in "[0-9.]{0,30}[a-zA-Z% ]{0,4}[0-9.]{0,4}") {
            for text in [text, number] {
                let _ = (parse_size(&text), parse_duration(&text), parse_percent(&text));
            }
        }
    }
}
