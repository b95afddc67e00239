//! The last hour, one row for each second, so that a dashboard has a past when
//! it opens. The table of columns is the definition: what a row holds, the
//! names in the answer and their documentation come from it.

use forebay_stats::{Counter, Gauges, Snapshot, Timing};
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// How many seconds are kept.
pub(crate) const SECONDS: usize = 3_600;

/// One documented column.
pub(crate) struct Column {
    /// Its name in the answer.
    pub(crate) name: &'static str,
    /// What it says.
    pub(crate) doc: &'static str,
    source: Source,
}

enum Source {
    /// What was counted in that second, added up.
    Counted(&'static [Counter]),
    /// The state at its end.
    State(fn(&Gauges) -> u64),
    /// The time that so many per cent did not exceed, over all these.
    Percentile(&'static [Timing], f64),
}

use Source::{Counted, Percentile, State};

const fn column(name: &'static str, source: Source, doc: &'static str) -> Column {
    Column { name, doc, source }
}

const REQUESTS: &[Timing] = &[Timing::Hit, Timing::Miss];

/// All columns, in the order of a row.
#[rustfmt::skip]
pub(crate) const COLUMNS: &[Column] = &[
    column("requests", Counted(&[Counter::Requests]), "Requests."),
    column("hits", Counted(&[Counter::Hits, Counter::HitsStale, Counter::HitsRevalidated, Counter::StaleOnError, Counter::Coalesced]), "Requests served from the cache."),
    column("misses", Counted(&[Counter::Misses, Counter::HitForMiss]), "Requests that were fetched."),
    column("passes", Counted(&[Counter::Passes]), "Requests that went to an origin without a lookup."),
    column("errors", Counted(&[Counter::Status5xx]), "Responses 5xx."),
    column("client_errors", Counted(&[Counter::Status4xx]), "Responses 4xx."),
    column("origin_requests", Counted(&[Counter::OriginRequests]), "Requests sent to origins."),
    column("origin_errors", Counted(&[Counter::OriginErrors, Counter::OriginTimeouts, Counter::OriginInvalid]), "Requests that an origin failed."),
    column("bytes_out", Counted(&[Counter::BytesOut]), "Bytes written to clients."),
    column("bytes_memory", Counted(&[Counter::ServedMemory]), "Body bytes served from memory."),
    column("bytes_disk", Counted(&[Counter::ServedDisk]), "Body bytes served from disk."),
    column("bytes_origin", Counted(&[Counter::ServedOrigin]), "Body bytes served from origins."),
    column("p50_us", Percentile(REQUESTS, 50.0), "Duration of requests in microseconds, the median."),
    column("p99_us", Percentile(REQUESTS, 99.0), "The same, the 99th percentile."),
    column("hit_p50_us", Percentile(&[Timing::Hit], 50.0), "Duration of hits, the median."),
    column("hit_p99_us", Percentile(&[Timing::Hit], 99.0), "Duration of hits, the 99th percentile."),
    column("miss_p50_us", Percentile(&[Timing::Miss], 50.0), "Duration of misses, the median."),
    column("miss_p99_us", Percentile(&[Timing::Miss], 99.0), "Duration of misses, the 99th percentile."),
    column("connections", State(|gauges| gauges.connections), "Client connections open."),
    column("objects", State(|gauges| gauges.objects), "Objects in memory."),
    column("memory_bytes", State(|gauges| gauges.cache_bytes), "Memory that cached objects take."),
    column("resident_bytes", State(|gauges| gauges.resident_bytes), "Memory of the process."),
    column("disk_bytes", State(|gauges| gauges.disk_used_bytes), "Bytes on disk."),
    column("disk_objects", State(|gauges| gauges.disk_objects), "Objects on disk."),
];

type Row = [u64; COLUMNS.len()];

/// The rows. Lives as long as the administration.
#[derive(Default)]
pub(crate) struct History(Mutex<Rows>);

#[derive(Default)]
struct Rows {
    /// The figures at the end of the last row.
    last: Option<Snapshot>,
    /// When that was, seconds since 1970.
    at: u64,
    rows: VecDeque<Row>,
}

impl History {
    /// Adds what happened since the last call, which was a second ago. The
    /// first call only takes note of where the counters stand.
    pub(crate) fn add(&self, snapshot: Snapshot, gauges: &Gauges, unix_s: u64) {
        let mut rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = &rows.last {
            let since = snapshot.since(last);
            let row = std::array::from_fn(|place| COLUMNS[place].source.read(&since, gauges));
            if rows.rows.len() == SECONDS {
                rows.rows.pop_front();
            }
            rows.rows.push_back(row);
        }
        rows.last = Some(snapshot);
        rows.at = unix_s;
    }

    /// The last `seconds` rows, a list for each column.
    pub(crate) fn to_json(&self, seconds: usize) -> Value {
        let rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = rows.rows.len().min(seconds);
        let skipped = rows.rows.len() - count;
        let mut columns = Map::new();
        for (place, column) in COLUMNS.iter().enumerate() {
            let values: Vec<u64> = rows
                .rows
                .iter()
                .skip(skipped)
                .map(|row| row[place])
                .collect();
            columns.insert(column.name.into(), values.into());
        }
        json!({ "until": rows.at, "step_s": 1, "samples": count, "columns": columns })
    }
}

impl Source {
    fn read(&self, since: &Snapshot, gauges: &Gauges) -> u64 {
        match self {
            Counted(counters) => counters.iter().map(|counter| since.get(*counter)).sum(),
            State(read) => read(gauges),
            Percentile([timing], percent) => since.timing(*timing).percentile(*percent),
            Percentile(timings, percent) => percentile(since, timings, *percent),
        }
    }
}

/// A percentile over several timings together, at most 10 % above the exact one.
fn percentile(since: &Snapshot, timings: &[Timing], percent: f64) -> u64 {
    let mut bounds = vec![10_u64];
    while let Some(last) = bounds.last().filter(|last| **last < 600_000_000) {
        bounds.push(last + last / 10);
    }
    let mut below = vec![0; bounds.len()];
    let mut count = 0;
    for timing in timings {
        let figures = since.timing(*timing);
        count += figures.count();
        for (sum, (_, own)) in below.iter_mut().zip(figures.cumulative(&bounds)) {
            *sum += own;
        }
    }
    if count == 0 {
        return 0;
    }
    let rank = (count as f64 * percent / 100.0).ceil() as u64;
    let found = below.iter().position(|seen| *seen >= rank.max(1));
    bounds[found.unwrap_or(bounds.len() - 1)]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use forebay_stats::Registry;
    use std::collections::BTreeSet;

    #[test]
    fn a_row_is_what_happened_in_its_second() {
        let (history, registry) = (History::default(), Registry::new());
        let worker = registry.worker();
        worker.add(Counter::Requests, 100);
        history.add(registry.snapshot(), &Gauges::default(), 10);
        assert_eq!(history.to_json(600)["samples"], 0);
        worker.add(Counter::Requests, 5);
        worker.add(Counter::Hits, 3);
        worker.add(Counter::Coalesced, 1);
        let gauges = Gauges {
            connections: 7,
            ..Gauges::default()
        };
        history.add(registry.snapshot(), &gauges, 11);
        history.add(registry.snapshot(), &gauges, 12);
        let all = history.to_json(600);
        assert_eq!((&all["samples"], &all["until"]), (&json!(2), &json!(12)));
        assert_eq!(all["columns"]["requests"], json!([5, 0]));
        assert_eq!(all["columns"]["hits"], json!([4, 0]));
        assert_eq!(all["columns"]["connections"], json!([7, 7]));
        assert_eq!(history.to_json(1)["columns"]["requests"], json!([0]));
    }

    #[test]
    fn no_more_than_an_hour_is_kept() {
        let history = History::default();
        for second in 0..SECONDS as u64 + 10 {
            history.add(Snapshot::default(), &Gauges::default(), second);
        }
        assert_eq!(history.to_json(usize::MAX)["samples"], SECONDS);
    }

    #[test]
    fn percentiles_are_over_hits_and_misses_together() {
        let registry = Registry::new();
        let worker = registry.worker();
        for _ in 0..90 {
            worker.record(Timing::Hit, 100);
        }
        for _ in 0..10 {
            worker.record(Timing::Miss, 50_000);
        }
        let snapshot = registry.snapshot();
        let at = |percent| percentile(&snapshot, REQUESTS, percent);
        assert!((100..=115).contains(&at(50.0)), "{}", at(50.0));
        assert!((50_000..=57_000).contains(&at(99.0)), "{}", at(99.0));
        assert_eq!(percentile(&Snapshot::default(), REQUESTS, 99.0), 0);
    }

    #[test]
    fn columns_have_one_name_each() {
        let names: BTreeSet<&str> = COLUMNS.iter().map(|column| column.name).collect();
        assert_eq!(names.len(), COLUMNS.len());
    }
}
