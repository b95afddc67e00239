//! Quantities and texts for a person's eyes.

use serde_json::Value;

/// `1 234 567`
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 2);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// `1.5 GiB`
pub(crate) fn size(bytes: f64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let (mut value, mut unit) = (bytes, 0);
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        (value, unit) = (value / 1024.0, unit + 1);
    }
    let digits = usize::from(unit > 0);
    format!("{value:.digits$} {}", UNITS[unit])
}

/// `42 µs`, `1.2 ms`, `3.40 s`
pub(crate) fn micros(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..1_000_000 => format!("{:.1} ms", micros as f64 / 1e3),
        _ => format!("{:.2} s", micros as f64 / 1e6),
    }
}

/// `42 s`, `5 min 6 s`, `3 d 4 h`
pub(crate) fn seconds(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

/// `93.1 %`, or `–` where there is nothing to compare.
pub(crate) fn ratio(part: f64, whole: f64) -> String {
    if whole > 0.0 {
        format!("{:.1} %", part / whole * 100.0)
    } else {
        "–".into()
    }
}

/// Text from elsewhere, without what could command a terminal.
pub(crate) fn plain(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

/// A text of an answer, safe to print; `–` where it is none.
pub(crate) fn text(value: &Value) -> String {
    plain(value.as_str().unwrap_or("–"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_readable() {
        assert_eq!(
            (count(0), count(1_234_567)),
            ("0".into(), "1 234 567".into())
        );
        assert_eq!(
            (size(1023.0), size(1.5 * 1024.0)),
            ("1023 B".into(), "1.5 KiB".into())
        );
        assert_eq!(
            (micros(999), micros(1_500)),
            ("999 µs".into(), "1.5 ms".into())
        );
        assert_eq!(
            (seconds(59), seconds(61), seconds(90_000)),
            ("59 s".into(), "1 min 1 s".into(), "1 d 1 h".into())
        );
        assert_eq!(
            (ratio(1.0, 4.0), ratio(0.0, 0.0)),
            ("25.0 %".into(), "–".into())
        );
        assert_eq!(plain("a\u{1b}[2Jb\n"), "a\u{fffd}[2Jb\u{fffd}");
    }
}
