//! The text exposition format of Prometheus, version 0.0.4.

use crate::histogram::HistogramSnapshot;
use crate::registry::Snapshot;
use crate::{Gauges, OriginSnapshot, Row, counter, gauge, origin, pool, session, timing};
use std::fmt::Write;

/// The `Content-Type` of what [`prometheus`] returns.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Name and help of the metric that carries the version.
pub(crate) const BUILD_INFO: (&str, &str) = (
    "forebay_build_info",
    "Always 1; the label says which version runs.",
);

/// Bounds of the exposed buckets, in microseconds, and as Prometheus wants
/// them, in seconds: from a hit's ten microseconds to a request's minute.
const BOUNDS: [(u64, &str); 21] = [
    (10, "0.00001"),
    (25, "0.000025"),
    (50, "0.00005"),
    (100, "0.0001"),
    (250, "0.00025"),
    (500, "0.0005"),
    (1_000, "0.001"),
    (2_500, "0.0025"),
    (5_000, "0.005"),
    (10_000, "0.01"),
    (25_000, "0.025"),
    (50_000, "0.05"),
    (100_000, "0.1"),
    (250_000, "0.25"),
    (500_000, "0.5"),
    (1_000_000, "1"),
    (2_500_000, "2.5"),
    (5_000_000, "5"),
    (10_000_000, "10"),
    (30_000_000, "30"),
    (60_000_000, "60"),
];

/// Help of the families whose members differ in a label.
const FAMILIES: [(&str, &str); 5] = [
    (
        "forebay_cache_miss_reasons_total",
        "Requests forwarded to an origin, by the reason that the cache did not answer them.",
    ),
    (
        "forebay_served_bytes_total",
        "Body bytes sent to clients, by where they came from.",
    ),
    ("forebay_purges_total", "Purges ordered, by kind."),
    (
        "forebay_responses_total",
        "Responses sent to clients, by class of status.",
    ),
    (
        "forebay_request_duration_seconds",
        "Duration of requests, by where the answer came from.",
    ),
];

/// All figures in the exposition format.
pub fn prometheus(snapshot: &Snapshot, gauges: &Gauges, version: &str) -> String {
    let mut out = String::with_capacity(16 << 10);
    let (name, help) = BUILD_INFO;
    head(&mut out, name, help, "gauge");
    line(
        &mut out,
        name,
        &format!("version=\"{}\"", escape_label(version)),
        1,
    );
    for row in gauge::ROWS {
        head(&mut out, row.name, row.help, "gauge");
        line(&mut out, row.name, "", (row.read)(gauges));
    }
    for family in counter::ROWS.chunk_by(|a, b| a.name == b.name) {
        let first = &family[0];
        head(
            &mut out,
            first.name,
            family_help(first.name, first.help),
            "counter",
        );
        for row in family {
            line(&mut out, row.name, row.label, snapshot.get(row.counter));
        }
    }
    for family in timing::ROWS.chunk_by(|a, b| a.name == b.name) {
        let first = &family[0];
        head(
            &mut out,
            first.name,
            family_help(first.name, first.help),
            "histogram",
        );
        for row in family {
            histogram(&mut out, row.name, row.label, snapshot.timing(row.timing));
        }
    }
    each(&mut out, pool::ROWS, snapshot.pools(), |pool| {
        labelled("pool", &pool.pool)
    });
    each(&mut out, session::ROWS, snapshot.sessions(), |session| {
        labelled("store", &session.store)
    });
    origins(&mut out, snapshot.origins());
    out
}

/// The figures of each of several things; `labels` says which it is.
fn each<S>(out: &mut String, rows: &[Row<S>], all: &[S], labels: impl Fn(&S) -> String) {
    if all.is_empty() {
        return;
    }
    for row in rows {
        head(out, row.name, row.help, row.kind());
        for one in all {
            line(out, row.name, &labels(one), (row.read)(one));
        }
    }
}

fn labelled(name: &str, value: &str) -> String {
    format!("{name}=\"{}\"", escape_label(value))
}

/// The figures of each server of each pool.
fn origins(out: &mut String, origins: &[OriginSnapshot]) {
    if origins.is_empty() {
        return;
    }
    let labels = |origin: &OriginSnapshot| {
        let (pool, server) = (
            labelled("pool", &origin.pool),
            labelled("server", &origin.server),
        );
        format!("{pool},{server}")
    };
    each(out, origin::ROWS, origins, labels);
    let (name, help) = origin::FIRST_BYTE;
    head(out, name, help, "histogram");
    for origin in origins {
        histogram(out, name, &labels(origin), &origin.first_byte);
    }
}

/// What a family of metrics means: its own help, or that of its only row.
fn family_help<'a>(name: &str, row: &'a str) -> &'a str {
    FAMILIES
        .iter()
        .find(|(family, _)| *family == name)
        .map_or(row, |(_, help)| help)
}

fn head(out: &mut String, name: &str, help: &str, kind: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn line(out: &mut String, name: &str, labels: &str, value: u64) {
    let _ = match labels {
        "" => writeln!(out, "{name} {value}"),
        labels => writeln!(out, "{name}{{{labels}}} {value}"),
    };
}

fn histogram(out: &mut String, name: &str, label: &str, figures: &HistogramSnapshot) {
    let separator = if label.is_empty() { "" } else { "," };
    let bounds = BOUNDS.map(|(micros, _)| micros);
    for ((_, count), (_, seconds)) in figures.cumulative(&bounds).zip(BOUNDS) {
        let _ = writeln!(
            out,
            "{name}_bucket{{{label}{separator}le=\"{seconds}\"}} {count}"
        );
    }
    let count = figures.count();
    let _ = writeln!(
        out,
        "{name}_bucket{{{label}{separator}le=\"+Inf\"}} {count}"
    );
    let braces = if label.is_empty() {
        String::new()
    } else {
        format!("{{{label}}}")
    };
    let (whole, rest) = (figures.sum() / 1_000_000, figures.sum() % 1_000_000);
    let _ = writeln!(
        out,
        "{name}_sum{braces} {whole}.{rest:06}\n{name}_count{braces} {count}"
    );
}

/// A label's value: backslash, quote and line feed escaped.
fn escape_label(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{Counter, Registry, Timing};
    use std::collections::BTreeSet;

    fn example() -> String {
        let registry = Registry::new();
        let worker = registry.worker();
        worker.add(Counter::Requests, 42);
        worker.add(Counter::Status2xx, 40);
        for micros in [8, 300, 90_000_000] {
            worker.record(Timing::Miss, micros);
        }
        registry.watch_origins(|| {
            let stats = crate::OriginStats::default();
            stats.answered(200, 300);
            let of = |server: &str| OriginSnapshot {
                pool: "app".into(),
                server: server.into(),
                ..stats.snapshot()
            };
            vec![of("127.0.0.1:9000"), of("unix:/run/\"app\".sock")]
        });
        let gauges = Gauges {
            connections: 5,
            ..Gauges::default()
        };
        prometheus(&registry.snapshot(), &gauges, "1.0 \"x\"")
    }

    #[test]
    fn figures_have_their_names_and_values() {
        let text = example();
        for expected in [
            "forebay_build_info{version=\"1.0 \\\"x\\\"\"} 1\n",
            "# TYPE forebay_requests_total counter\nforebay_requests_total 42\n",
            "forebay_responses_total{class=\"2xx\"} 40\n",
            "# TYPE forebay_connections gauge\nforebay_connections 5\n",
            "forebay_request_duration_seconds_bucket{result=\"miss\",le=\"0.00001\"} 1\n",
            "forebay_request_duration_seconds_bucket{result=\"miss\",le=\"60\"} 2\n",
            "forebay_request_duration_seconds_bucket{result=\"miss\",le=\"+Inf\"} 3\n",
            "forebay_request_duration_seconds_sum{result=\"miss\"} 90.000308\n",
            "forebay_request_duration_seconds_count{result=\"miss\"} 3\n",
            "forebay_origin_first_byte_seconds_bucket{le=\"+Inf\"} 0\n",
            "forebay_origin_first_byte_seconds_count 0\n",
            "# TYPE forebay_origin_server_requests_total counter\n",
            "forebay_origin_server_requests_total{pool=\"app\",server=\"unix:/run/\\\"app\\\".sock\"} 0\n",
            "forebay_origin_server_first_byte_seconds_bucket{pool=\"app\",server=\"127.0.0.1:9000\",le=\"0.0005\"} 1\n",
            "forebay_origin_server_first_byte_seconds_sum{pool=\"app\",server=\"127.0.0.1:9000\"} 0.000300\n",
        ] {
            assert!(text.contains(expected), "no {expected:?} in\n{text}");
        }
    }

    #[test]
    fn each_family_has_one_head_and_each_line_belongs_to_it() {
        let text = example();
        let (mut families, mut family) = (BTreeSet::new(), "");
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                family = rest.split(' ').next().unwrap();
                assert!(families.insert(family), "{family} twice");
            } else if !line.starts_with('#') {
                assert!(line.starts_with(family), "{line:?} under {family}");
                assert!(
                    line.rsplit(' ').next().unwrap().parse::<f64>().is_ok(),
                    "{line:?}"
                );
            }
        }
        assert!(text.ends_with('\n'));
    }

    #[test]
    fn families_with_labels_have_a_help_of_their_own() {
        let counters = counter::ROWS.iter().map(|row| (row.name, row.label));
        let timings = timing::ROWS.iter().map(|row| (row.name, row.label));
        for (name, label) in counters.chain(timings) {
            assert_eq!(
                !label.is_empty(),
                FAMILIES.iter().any(|(family, _)| *family == name),
                "{name}"
            );
        }
    }

    #[test]
    fn bounds_in_seconds_say_the_same_as_in_microseconds() {
        for (micros, seconds) in BOUNDS {
            assert_eq!(
                (seconds.parse::<f64>().unwrap() * 1e6).round() as u64,
                micros
            );
        }
        assert!(BOUNDS.is_sorted());
    }
}
