//! The figures as one JSON object. All keys come from the tables, which hold
//! nothing that JSON would need escaped.

use crate::registry::Snapshot;
use crate::{Gauges, counter, gauge, timing};
use std::fmt::Write;

/// The percentiles shown of each timing.
pub(crate) const PERCENTILES: [(f64, &str); 5] = [
    (50.0, "p50_us"),
    (90.0, "p90_us"),
    (99.0, "p99_us"),
    (99.9, "p999_us"),
    (100.0, "max_us"),
];

/// `{"gauges":{…},"counters":{…},"timings":{NAME:{"count":…,"mean_us":…,"p50_us":…}},"hit_ratio":…}`;
/// `hit_ratio` is `null` before the first request.
pub fn json(snapshot: &Snapshot, gauges: &Gauges) -> String {
    let mut out = String::with_capacity(4 << 10);
    out.push_str("{\"gauges\":");
    object(
        &mut out,
        gauge::ROWS.iter().map(|row| (row.key, (row.read)(gauges))),
    );
    out.push_str(",\"counters\":");
    object(
        &mut out,
        counter::ROWS
            .iter()
            .map(|row| (row.key, snapshot.get(row.counter))),
    );
    out.push_str(",\"timings\":{");
    for (place, row) in timing::ROWS.iter().enumerate() {
        let figures = snapshot.timing(row.timing);
        // Writing to a String cannot fail.
        let _ = write!(out, "{}\"{}\":", if place == 0 { "" } else { "," }, row.key);
        let totals = [("count", figures.count()), ("mean_us", figures.mean())];
        let percentiles = PERCENTILES.map(|(percent, key)| (key, figures.percentile(percent)));
        object(&mut out, totals.into_iter().chain(percentiles));
    }
    out.push_str("},\"hit_ratio\":");
    let _ = match snapshot.hit_ratio() {
        Some(ratio) => write!(out, "{ratio:.4}}}"),
        None => write!(out, "null}}"),
    };
    out
}

fn object<'a>(out: &mut String, members: impl Iterator<Item = (&'a str, u64)>) {
    out.push('{');
    for (place, (key, value)) in members.enumerate() {
        let _ = write!(
            out,
            "{}\"{key}\":{value}",
            if place == 0 { "" } else { "," }
        );
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Counter, Registry, Timing};

    #[test]
    fn figures_stand_under_their_keys() {
        let registry = Registry::new();
        let worker = registry.worker();
        worker.add(Counter::Hits, 2);
        worker.increment(Counter::Misses);
        worker.record(Timing::Hit, 20);
        let text = json(
            &registry.snapshot(),
            &Gauges {
                workers: 2,
                ..Gauges::default()
            },
        );
        for expected in [
            r#"{"gauges":{"connections":0,"#,
            r#""workers":2,"#,
            r#""counters":{"connections_accepted":0,"#,
            r#""hits":2,"#,
            r#""timings":{"hit":{"count":1,"mean_us":20,"p50_us":20,"p90_us":20,"p99_us":20,"p999_us":20,"max_us":20},"miss":"#,
            r#""hit_ratio":0.6667}"#,
        ] {
            assert!(text.contains(expected), "no {expected} in {text}");
        }
    }

    #[test]
    fn before_the_first_request_the_ratio_is_null() {
        let text = json(&Snapshot::default(), &Gauges::default());
        assert!(text.ends_with(r#""hit_ratio":null}"#), "{text}");
    }
}
