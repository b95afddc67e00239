//! The page at `/plain`: the figures an operator looks at first, without scripts.

use crate::control::Control;
use forebay_stats::{Counter, Gauges, Snapshot, Timing};
use std::fmt::Write;

const HEAD: &str = "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<meta http-equiv=\"refresh\" content=\"5\">
<title>Forebay</title>
<style>
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-weight: 600; margin-bottom: 0 }
table { border-collapse: collapse; width: 100%; margin: 1.5rem 0 }
th, td { text-align: left; padding: .3rem 0; border-bottom: 1px solid #8884; font-weight: normal }
td { text-align: right; font-variant-numeric: tabular-nums }
pre { overflow-x: auto; font-size: 13px; padding: .8rem; border: 1px solid #8884; border-radius: 4px }
</style>
";

/// The page.
pub(crate) fn html(control: &dyn Control, gauges: &Gauges) -> String {
    let mut out = String::from(HEAD);
    // Writing to a String cannot fail.
    let _ = write!(
        out,
        "<h1>Forebay</h1>\n<p>Version {}, up {}, configuration {}.\n<table>\n",
        escape(control.version()),
        duration(gauges.uptime_seconds),
        gauges.config_generation
    );
    for (name, value) in figures(&control.snapshot(), gauges) {
        let _ = writeln!(out, "<tr><th scope=\"row\">{name}<td>{value}");
    }
    let extra = format!("{:#}", control.status_extra());
    let _ = write!(
        out,
        "</table>\n<pre>{}</pre>\n\
         <p><a href=\"/metrics\">/metrics</a> for Prometheus, <a href=\"/status\">/status</a> as JSON.\n\
         <form method=\"post\" action=\"/reload\"><button>Read the configuration again</button></form>\n</html>\n",
        escape(&extra)
    );
    out
}

fn figures(snapshot: &Snapshot, gauges: &Gauges) -> [(&'static str, String); 12] {
    let count = |counter| grouped(snapshot.get(counter));
    let percentiles = |timing| {
        let figures = snapshot.timing(timing);
        format!(
            "{} / {}",
            time(figures.percentile(50.0)),
            time(figures.percentile(99.0))
        )
    };
    let ratio = snapshot
        .hit_ratio()
        .map_or_else(|| "–".into(), |ratio| format!("{:.1} %", ratio * 100.0));
    [
        ("Requests", count(Counter::Requests)),
        ("Served from the cache", ratio),
        ("Client connections", grouped(gauges.connections)),
        ("Sent to clients", size(snapshot.get(Counter::BytesOut))),
        (
            "of it from the cache",
            size(snapshot.get(Counter::BytesFromCache)),
        ),
        ("Objects in the cache", grouped(gauges.objects)),
        (
            "Cache memory",
            format!(
                "{} of {}",
                size(gauges.cache_bytes),
                size(gauges.cache_budget_bytes)
            ),
        ),
        ("Process memory", size(gauges.resident_bytes)),
        ("Hit, median / 99 %", percentiles(Timing::Hit)),
        ("Miss, median / 99 %", percentiles(Timing::Miss)),
        (
            "Origin errors and timeouts",
            grouped(snapshot.get(Counter::OriginErrors) + snapshot.get(Counter::OriginTimeouts)),
        ),
        ("Responses 5xx", count(Counter::Status5xx)),
    ]
}

/// `1 234 567`, with thin spaces that do not break.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 2);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// `1.5 GiB`
fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let (mut value, mut unit) = (bytes as f64 / 1024.0, 0);
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        (value, unit) = (value / 1024.0, unit + 1);
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// `42 µs`, `1.2 ms`, `3.40 s`
fn time(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..1_000_000 => format!("{:.1} ms", micros as f64 / 1e3),
        _ => format!("{:.2} s", micros as f64 / 1e6),
    }
}

/// `3 d 4 h`, `5 min 6 s`
fn duration(seconds: u64) -> String {
    match seconds {
        0..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

/// Text for the inside of an HTML element.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_readable() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(size(1_023), "1023 B");
        assert_eq!(size(3 << 29), "1.5 GiB");
        assert_eq!(size(u64::MAX), "16384.0 PiB");
        assert_eq!(
            (time(999), time(1_500), time(2_000_000)),
            ("999 µs".into(), "1.5 ms".into(), "2.00 s".into())
        );
        assert_eq!(
            (duration(61), duration(90_000)),
            ("1 min 1 s".into(), "1 d 1 h".into())
        );
    }

    #[test]
    fn text_stays_text() {
        assert_eq!(escape("<b>&"), "&lt;b&gt;&amp;");
    }
}
