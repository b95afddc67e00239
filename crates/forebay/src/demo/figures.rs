//! The live line of the demonstration: two samples in, one line of text out.

use std::time::Duration;

use forebay_stats::{Counter, Snapshot};

use crate::control::Control;

/// The figures at one moment.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    snapshot: Snapshot,
    connections: u64,
    /// Since the start.
    at: Duration,
}

impl Sample {
    /// The figures now, `at` after the start.
    pub(super) fn take(control: &Control, at: Duration) -> Self {
        Self {
            snapshot: control.snapshot_now(),
            connections: control.gauges_now().connections,
            at,
        }
    }

    /// One line of at most 79 columns. The hit ratio is that of the time
    /// since `before`, or, when nothing was asked then, of all time.
    pub(super) fn line_since(&self, before: &Self) -> String {
        let recent = self.snapshot.since(&before.snapshot);
        let seconds = (self.at.saturating_sub(before.at)).as_secs_f64().max(0.001);
        let rate = (recent.get(Counter::Requests) as f64 / seconds).round() as u64;
        let ratio = recent.hit_ratio().or_else(|| self.snapshot.hit_ratio());
        format!(
            "{:>9} requests/s   hits {:>7}   saved {:>9}   {} connections",
            thousands(rate),
            percent(ratio),
            bytes(self.snapshot.get(Counter::BytesFromCache)),
            thousands(self.connections)
        )
    }

    /// All of it in one sentence.
    pub(super) fn summary(&self) -> String {
        let Some(ratio) = self.snapshot.hit_ratio() else {
            return format!("Nothing was asked for in {}.", duration(self.at));
        };
        format!(
            "{} requests in {}, {} answered from the cache, {} that the origin did not send.",
            thousands(self.snapshot.get(Counter::Requests)),
            duration(self.at),
            percent(Some(ratio)),
            bytes(self.snapshot.get(Counter::BytesFromCache))
        )
    }
}

/// `12,345`
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `98.2 %`; never rounded up to 100.
fn percent(ratio: Option<f64>) -> String {
    match ratio {
        None => "– %".into(),
        Some(ratio) => format!("{:.1} %", (ratio * 1000.0).floor() / 10.0),
    }
}

/// In powers of 1000: `1.2 GB`.
fn bytes(bytes: u64) -> String {
    const UNITS: [(&str, f64); 4] = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("KB", 1e3)];
    let size = bytes as f64;
    match UNITS.iter().find(|(_, unit)| size >= *unit) {
        Some((name, unit)) => format!("{:.1} {name}", size / unit),
        None => format!("{bytes} B"),
    }
}

/// `2 min 3 s`
fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, m, _) => format!("{h} h {m} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_stats::Registry;

    fn sample(registry: &Registry, connections: u64, seconds: u64) -> Sample {
        Sample {
            snapshot: registry.snapshot(),
            connections,
            at: Duration::from_secs(seconds),
        }
    }

    #[test]
    fn the_line_is_about_the_time_between_the_samples() {
        let registry = Registry::new();
        let worker = registry.worker();
        worker.add(Counter::Requests, 1000);
        worker.add(Counter::Misses, 1000);
        let before = sample(&registry, 1, 1);
        worker.add(Counter::Requests, 4000);
        worker.add(Counter::Hits, 4000);
        worker.add(Counter::BytesFromCache, 24_000_000);
        let line = sample(&registry, 64, 3).line_since(&before);
        assert_eq!(
            line,
            "    2,000 requests/s   hits 100.0 %   saved   24.0 MB   64 connections"
        );
    }

    #[test]
    fn a_quiet_second_shows_the_ratio_of_all_time() {
        let registry = Registry::new();
        let worker = registry.worker();
        worker.add(Counter::Requests, 4);
        worker.add(Counter::Hits, 3);
        worker.add(Counter::Misses, 1);
        let before = sample(&registry, 0, 1);
        let line = sample(&registry, 0, 2).line_since(&before);
        assert!(
            line.contains("        0 requests/s   hits  75.0 %"),
            "{line}"
        );
    }

    #[test]
    fn the_largest_line_fits_a_terminal() {
        let registry = Registry::new();
        let worker = registry.worker();
        let before = sample(&registry, 0, 0);
        worker.add(Counter::Requests, 9_999_999);
        worker.add(Counter::BytesFromCache, 999_940_000_000_000);
        let line = sample(&registry, 999_999, 1).line_since(&before);
        assert!(line.chars().count() < 80, "{line}");
    }

    #[test]
    fn figures_read_well() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(percent(Some(0.9999)), "99.9 %");
        assert_eq!(percent(None), "– %");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1500), "1.5 KB");
        assert_eq!(duration(Duration::from_secs(123)), "2 min 3 s");
        assert_eq!(duration(Duration::from_secs(3600)), "1 h 0 min");
    }
}
