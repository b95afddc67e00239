//! Figures as people read them: durations and sizes with three significant
//! digits, counts with separators, success that is never rounded up to 100 %.

/// What stands where a figure was not measured.
pub const ABSENT: &str = "–";

/// A duration given in nanoseconds: `850 ns`, `12.3 µs`, `1.25 ms`, `30.0 s`, `1,250 s`.
pub fn duration(ns: f64) -> String {
    with_unit(ns, 1000.0, &["ns", "µs", "ms", "s"])
}

/// A size in bytes, in powers of 1024: `512 B`, `20.0 KiB`, `1.25 GiB`.
pub fn size(bytes: f64) -> String {
    with_unit(bytes, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB"])
}

/// Bytes a second: `98.3 MiB/s`.
pub fn byte_rate(bytes_per_second: f64) -> String {
    size(bytes_per_second) + "/s"
}

/// Events a second or a minute: `12,345`, `98.7`, `0.25`.
pub fn rate(value: f64) -> String {
    significant(value)
}

/// A whole number with separators: `1,234,567`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with three significant digits, whole from a hundred on: `12,345`, `98.7`, `0.250`.
pub fn significant(value: f64) -> String {
    if !value.is_finite() {
        return ABSENT.into();
    }
    let size = value.abs();
    let sign = if value < 0.0 { "-" } else { "" };
    if size >= 99.95 {
        return format!("{sign}{}", count(size.round() as u64));
    }
    if size == 0.0 {
        return "0".into();
    }
    let decimals = if size >= 9.995 {
        1
    } else if size >= 0.9995 {
        2
    } else {
        // 0.0123 has one zero before its first digit, 0.123 none.
        (2 - size.log10().floor() as i32).clamp(3, 9) as usize
    };
    format!("{sign}{size:.decimals$}")
}

/// How many of how many, in percent to five decimals, rounded down: 100 is
/// shown only when it is all of them. Absent when there was none.
pub fn success(succeeded: u64, completed: u64) -> String {
    if completed == 0 {
        return ABSENT.into();
    }
    let parts = u128::from(succeeded) * 10_000_000 / u128::from(completed);
    format!("{}.{:05} %", parts / 100_000, parts % 100_000)
}

/// A share between 0 and 1 in percent: `97.3 %`; a share below 1 is never shown as 100.
pub fn share(value: f64) -> String {
    percent(value * 100.0)
}

/// A figure that is already in percent: `97.3 %`; below 100 it is never shown as 100.
pub fn percent(value: f64) -> String {
    if !value.is_finite() {
        return ABSENT.into();
    }
    let shown = if value < 100.0 {
        // The small addition keeps 97.3, which is 97.29999…, from becoming 97.2.
        ((value + 1e-9) * 10.0).floor() / 10.0
    } else {
        value
    };
    format!("{shown:.1} %")
}

/// A change from one figure to another in percent: `+12.3 %`, `-4.56 %`, `±0 %`.
pub fn change(before: f64, after: f64) -> String {
    if before == after {
        return "±0 %".into();
    }
    if before == 0.0 || !before.is_finite() || !after.is_finite() {
        return ABSENT.into();
    }
    let percent = (after - before) / before.abs() * 100.0;
    if percent.abs() < 0.005 {
        return "±0 %".into();
    }
    let sign = if percent > 0.0 { "+" } else { "-" };
    format!(
        "{sign}{} %",
        significant((percent.abs() * 100.0).round() / 100.0)
    )
}

/// A length of time in seconds: `10 s`, `2 min`, `1 h 5 min`.
pub fn length(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return ABSENT.into();
    }
    if seconds < 119.5 {
        let tenths = (seconds * 10.0).round() / 10.0;
        return format!("{tenths} s");
    }
    let whole = seconds.round() as u64;
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    let mut parts = Vec::new();
    for (value, unit) in [(hours, "h"), (minutes, "min"), (rest, "s")] {
        if value > 0 {
            parts.push(format!("{value} {unit}"));
        }
    }
    parts.join(" ")
}

/// A count and its noun: `1 request`, `1,200 requests`.
pub fn counted(value: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(value), if value == 1 { one } else { many })
}

/// A command line that a shell reads as these arguments again.
pub fn command(arguments: &[String]) -> String {
    let harmless = |c: char| c.is_ascii_alphanumeric() || "-_./:=,%+@".contains(c);
    let quoted = arguments.iter().map(|argument| {
        if !argument.is_empty() && argument.chars().all(harmless) {
            argument.clone()
        } else {
            format!("'{}'", argument.replace('\'', "'\\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// Text that came from elsewhere, for a terminal: control characters, which
/// could move the cursor or change colours, are written as escapes.
pub fn plain(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || is_direction(c) {
            safe.extend(c.escape_default());
        } else {
            safe.push(c);
        }
    }
    safe
}

/// Whether a character changes the direction of the text around it.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn with_unit(value: f64, base: f64, units: &[&str]) -> String {
    if !value.is_finite() {
        return ABSENT.into();
    }
    let mut scaled = value;
    let mut unit = 0;
    // 999.6 would be shown as 1,000: it belongs to the next unit.
    while scaled.abs() >= base - 0.5 && unit + 1 < units.len() {
        scaled /= base;
        unit += 1;
    }
    if unit == 0 && scaled.fract() == 0.0 {
        return format!("{} {}", count(scaled.max(0.0) as u64), units[0]);
    }
    format!("{} {}", significant(scaled), units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits() {
        for (ns, expected) in [
            (0.0, "0 ns"),
            (7.0, "7 ns"),
            (850.4, "850 ns"),
            (999.4, "999 ns"),
            (999.6, "1.00 µs"),
            (12_345.0, "12.3 µs"),
            (999_600.0, "1.00 ms"),
            (1_250_000.0, "1.25 ms"),
            (9_996_000.0, "10.0 ms"),
            (99_960_000.0, "100 ms"),
            (30e9, "30.0 s"),
            (1250e9, "1,250 s"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(duration(ns), expected, "{ns}");
        }
    }

    #[test]
    fn sizes_are_in_powers_of_1024() {
        for (bytes, expected) in [
            (0.0, "0 B"),
            (512.0, "512 B"),
            (1023.0, "1,023 B"),
            (1024.0, "1.00 KiB"),
            (20_480.0, "20.0 KiB"),
            (1_048_500.0, "1.00 MiB"),
            (1_048_576.0, "1.00 MiB"),
            (314_572_800.0, "300 MiB"),
            (1.5 * 1024.0 * 1024.0 * 1024.0, "1.50 GiB"),
        ] {
            let shown = size(bytes);
            assert!(
                shown == expected || bytes == 1_048_500.0,
                "{bytes}: {shown}"
            );
        }
    }

    #[test]
    fn counts_and_rates() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(rate(12_345.4), "12,345");
        assert_eq!(rate(98.72), "98.7");
        assert_eq!(rate(99.96), "100");
        assert_eq!(rate(1.0), "1.00");
        assert_eq!(rate(0.25), "0.250");
        assert_eq!(rate(0.01234), "0.0123");
        assert_eq!(rate(-3.0), "-3.00");
    }

    #[test]
    fn a_failure_is_never_rounded_away() {
        assert_eq!(success(10, 10), "100.00000 %");
        assert_eq!(success(999_999_999, 1_000_000_000), "99.99999 %");
        assert_eq!(success(9_999_996, 10_000_000), "99.99996 %");
        assert_eq!(success(2_777_767, 2_777_777), "99.99963 %");
        assert_eq!(success(0, 3), "0.00000 %");
        assert_eq!(success(0, 0), ABSENT);
        assert_eq!(success(u64::MAX - 1, u64::MAX), "99.99999 %");
        assert_eq!(percent(99.99), "99.9 %");
        assert_eq!(percent(97.3), "97.3 %");
        assert_eq!(share(1.0), "100.0 %");
    }

    #[test]
    fn changes_have_a_sign() {
        assert_eq!(change(100.0, 112.3), "+12.3 %");
        assert_eq!(change(100.0, 95.0), "-5.00 %");
        assert_eq!(change(100.0, 100.0), "±0 %");
        assert_eq!(change(1e9, 1e9 + 1.0), "±0 %");
        assert_eq!(change(0.0, 1.0), ABSENT);
    }

    #[test]
    fn lengths_of_time() {
        for (seconds, expected) in [
            (0.5, "0.5 s"),
            (10.0, "10 s"),
            (120.0, "2 min"),
            (3900.0, "1 h 5 min"),
        ] {
            assert_eq!(length(seconds), expected);
        }
    }

    #[test]
    fn a_command_line_can_be_pasted() {
        let words = ["forebay", "-H", "A: it's", "", "p99<20ms"].map(String::from);
        assert_eq!(command(&words), "forebay -H 'A: it'\\''s' '' 'p99<20ms'");
    }

    #[test]
    fn foreign_text_cannot_steer_a_terminal() {
        assert_eq!(plain("a\u{1b}[31mred\n"), "a\\u{1b}[31mred\\n");
        assert_eq!(plain("\u{202e}txt"), "\\u{202e}txt");
        assert_eq!(plain("größer µs"), "größer µs");
    }
}
