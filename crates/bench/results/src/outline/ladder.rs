//! Several phases beside each other: the rungs of a ladder, the steps of a search.

use super::phase::{causes, more, statuses};
use super::{Grid, Part, micros, or_absent, time};
use crate::{Phase, format};

/// One row for each phase: what a reader compares first, then the rest. Two
/// grids, so that each fits on a terminal.
pub(crate) fn ladder(phases: &[Phase]) -> [Grid; 2] {
    let mut first = Grid::new(&[
        "phase",
        "requests",
        "success",
        "requests/s",
        "pages/min",
        "p50",
        "p99",
        "max",
        "failed",
    ]);
    first.ends_in_text = true;
    first.rows = phases.iter().map(ladder_row).collect();
    let mut second = Grid::new(&[
        "phase",
        "mean",
        "p90",
        "p99.9",
        "p99.99",
        "in flight",
        "read/s",
        "hits",
        "CPU/request",
        "cores",
        "resident",
    ]);
    second.rows = phases.iter().map(ladder_rest).collect();
    [
        first.without_empty_columns(),
        second.without_empty_columns(),
    ]
}

fn ladder_row(phase: &Phase) -> Vec<String> {
    let (counts, whole) = (&phase.tally.counts, &phase.tally.latency.whole);
    vec![
        phase.name.clone(),
        format::count(counts.completed),
        format::success(counts.succeeded, counts.completed),
        format::rate(phase.requests_per_second()),
        format::rate(phase.pages_per_minute()),
        time(whole, whole.percentile_ns(50.0) as f64),
        time(whole, whole.percentile_ns(99.0) as f64),
        time(whole, whole.max_ns() as f64),
        causes(phase),
    ]
}

fn ladder_rest(phase: &Phase) -> Vec<String> {
    let whole = &phase.tally.latency.whole;
    let server = phase.server.as_ref();
    vec![
        phase.name.clone(),
        time(whole, whole.mean_ns()),
        time(whole, whole.percentile_ns(90.0) as f64),
        time(whole, whole.percentile_ns(99.9) as f64),
        time(whole, whole.percentile_ns(99.99) as f64),
        format::rate(phase.concurrency()),
        format::byte_rate(phase.bytes_per_second()),
        or_absent(phase.tally.counts.hit_percent().map(format::percent)),
        or_absent(server.map(|server| micros(server.cpu_us_per_request))),
        or_absent(phase.server_cores().map(format::significant)),
        or_absent(server.map(|server| format::size(server.peak_resident_bytes as f64))),
    ]
}

/// What a row of a ladder leaves out and a reader would ask for.
pub(super) fn details(phase: &Phase, parts: &mut Vec<Part>) {
    let mut rest = Vec::new();
    let counts = &phase.tally.counts;
    if counts.statuses.keys().any(|status| *status >= 400) || counts.statuses.len() > 1 {
        rest.push(Part::Facts(vec![("statuses", statuses(phase))]));
    }
    rest.extend(more(phase));
    if !rest.is_empty() {
        parts.push(Part::Heading(phase.name.clone()));
        parts.extend(rest);
    }
}
