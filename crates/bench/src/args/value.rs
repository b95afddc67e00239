//! Values of options, with errors in words.

use std::time::Duration;

use forebay_config::units;

pub(crate) fn time(text: &str) -> Result<Duration, String> {
    units::parse_duration(text)
}

/// A time in which something is to happen.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    match time(text)? {
        Duration::ZERO => Err("it must be more than 0".into()),
        time => Ok(time),
    }
}

/// A whole number, `_` and `,` allowed between digits where no list is meant.
pub(crate) fn count<const LEAST: u64>(text: &str) -> Result<u64, String> {
    let digits: String = text.chars().filter(|&c| c != '_').collect();
    match digits.parse() {
        Ok(number) if number < LEAST => Err(format!("it must be at least {LEAST}")),
        Ok(number) => Ok(number),
        Err(_) => Err("it is not a whole number".into()),
    }
}

/// `5000`, `5000/s`, `90/m`.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    let (number, per) = match text.split_once('/') {
        None => (text, 1.0),
        Some((number, "s")) => (number, 1.0),
        Some((number, "m" | "min")) => (number, 60.0),
        Some((number, "h")) => (number, 3600.0),
        Some((_, unit)) => return Err(format!("`{unit}` is not s, m or h")),
    };
    let number: f64 = number
        .replace('_', "")
        .parse()
        .map_err(|_| "it is not a number of requests a second".to_owned())?;
    if number > 0.0 && number.is_finite() {
        Ok(number / per)
    } else {
        Err("it must be more than 0".into())
    }
}

/// `Name: value`
pub(crate) fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("it must be `Name: value`")?;
    if name.is_empty() || !name.bytes().all(forebay_http::head::is_token) {
        return Err(format!("`{name}` is not the name of a field"));
    }
    let value = value.trim();
    if value
        .bytes()
        .any(|byte| byte < 0x20 && byte != b'\t' || byte == 0x7f)
    {
        return Err("the value has control characters".into());
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// `METHOD`
pub(crate) fn method(text: &str) -> Result<String, String> {
    if text.is_empty() || !text.bytes().all(forebay_http::head::is_token) {
        return Err("it is not a method".into());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn values_are_read_or_refused_in_words() {
        assert_eq!(count::<1>("10_000"), Ok(10_000));
        assert!(count::<1>("0").unwrap_err().contains("at least 1"));
        assert_eq!(rate("90/m"), Ok(1.5));
        assert_eq!(rate("5000/s"), Ok(5000.0));
        for wrong in ["0", "-1", "x", "5/week", "inf", "NaN"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
        assert_eq!(header("X-A:  b "), Ok(("X-A".into(), "b".into())));
        for wrong in ["X-A", ": x", "X A: b", "X: a\r\nb"] {
            assert!(header(wrong).is_err(), "{wrong}");
        }
    }
}
