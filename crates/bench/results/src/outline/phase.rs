//! One phase in full.

use super::{Grid, Part, micros, time};
use crate::{Phase, SessionFigures, format};

/// All of one phase.
pub(super) fn parts(phase: &Phase, parts: &mut Vec<Part>) {
    parts.push(Part::Facts(facts(phase)));
    parts.push(Part::Grid(latency(phase)));
    let uses = uses(phase);
    if !uses.is_empty() {
        parts.push(Part::Facts(uses));
    }
    parts.extend(more(phase));
}

/// How the load was made: `500 connections, keep-alive, 2 threads, 10 s`.
pub(crate) fn settings(phase: &Phase) -> String {
    let mut words = Vec::new();
    let connections = format::counted(phase.connections, "connection", "connections");
    if let Some(rate) = phase.rate {
        words.push(format!("{} requests/s due", format::rate(rate)));
    }
    words.push(connections);
    words.push(
        if phase.keep_alive {
            "keep-alive"
        } else {
            "one connection per request"
        }
        .into(),
    );
    if phase.pipeline > 1 {
        words.push(format!("{} requests pipelined", phase.pipeline));
    }
    words.push(format::counted(
        u64::from(phase.threads),
        "thread",
        "threads",
    ));
    words.push(format::length(phase.seconds));
    if !phase.name.is_empty() && !words.iter().any(|word| word.starts_with(&phase.name)) {
        words.insert(0, phase.name.clone());
    }
    words.join(", ")
}

/// What was sent and what came back.
pub(crate) fn facts(phase: &Phase) -> Vec<(&'static str, String)> {
    let counts = &phase.tally.counts;
    let (succeeded, success) = (
        format::count(counts.succeeded),
        format::success(counts.succeeded, counts.completed),
    );
    let mut facts = vec![
        ("load", settings(phase)),
        ("requests", format::count(counts.completed)),
        ("succeeded", format!("{succeeded} ({success})")),
        ("failed", failed(phase)),
    ];
    if counts.unfinished > 0 {
        let unfinished = format::count(counts.unfinished);
        facts.push(("unfinished", format!("{unfinished} when the time was up")));
    }
    let [rate, pages, flight] = [
        phase.requests_per_second(),
        phase.pages_per_minute(),
        phase.concurrency(),
    ]
    .map(format::rate);
    facts.push(("rate", format!("{rate} requests/s, {pages} pages/min")));
    facts.push(("read", bytes(phase)));
    facts.push(("in flight", format!("{flight} on the mean")));
    facts.push((
        "connections",
        format!("{} opened", format::count(counts.connects)),
    ));
    if !counts.statuses.is_empty() {
        facts.push(("statuses", statuses(phase)));
    }
    if let Some(percent) = counts.hit_percent().map(format::percent) {
        let [hits, misses] = [counts.hits, counts.misses].map(format::count);
        facts.push(("cache", format!("{hits} hits ({percent}), {misses} misses")));
    }
    facts
}

fn bytes(phase: &Phase) -> String {
    let counts = &phase.tally.counts;
    format!(
        "{} ({}), of it bodies {}; written {}",
        format::size(counts.bytes_received as f64),
        format::byte_rate(phase.bytes_per_second()),
        format::size(counts.body_bytes as f64),
        format::size(counts.bytes_sent as f64),
    )
}

fn failed(phase: &Phase) -> String {
    let causes = causes(phase);
    let failures = format::count(phase.tally.counts.failures());
    if causes.is_empty() {
        failures
    } else {
        format!("{failures}: {causes}")
    }
}

/// `12 timeout, 3 reset`; empty when nothing failed.
pub(super) fn causes(phase: &Phase) -> String {
    let failed = phase
        .tally
        .counts
        .failed
        .iter()
        .filter(|(_, count)| **count > 0);
    let words: Vec<String> = failed
        .map(|(cause, &count)| format!("{} {}", format::count(count), cause.name()))
        .collect();
    words.join(", ")
}

pub(super) fn statuses(phase: &Phase) -> String {
    let statuses = phase.tally.counts.statuses.iter();
    let words: Vec<String> = statuses
        .map(|(status, &count)| format!("{status}: {}", format::count(count)))
        .collect();
    words.join(", ")
}

/// Percentiles that reports show, with their names.
const PERCENTILES: &[(&str, f64)] = &[
    ("50 %", 50.0),
    ("90 %", 90.0),
    ("95 %", 95.0),
    ("99 %", 99.0),
    ("99.9 %", 99.9),
    ("99.99 %", 99.99),
];

pub(crate) fn latency(phase: &Phase) -> Grid {
    let mut columns = vec!["latency", "mean", "min"];
    columns.extend(PERCENTILES.iter().map(|(name, _)| *name));
    columns.extend(["max", "deviation"]);
    let mut grid = Grid::new(&columns);
    let latency = &phase.tally.latency;
    for (name, durations) in [
        ("connect", &latency.connect),
        ("first byte", &latency.first_byte),
        ("whole", &latency.whole),
    ] {
        if durations.count() > 0 {
            let mut row = vec![
                name.to_owned(),
                format::duration(durations.mean_ns()),
                format::duration(durations.min_ns() as f64),
            ];
            row.extend(
                PERCENTILES
                    .iter()
                    .map(|&(_, percent)| format::duration(durations.percentile_ns(percent) as f64)),
            );
            row.push(format::duration(durations.max_ns() as f64));
            row.push(format::duration(durations.deviation_ns()));
            grid.rows.push(row);
        }
    }
    grid
}

/// What the server and the load tester used.
pub(crate) fn uses(phase: &Phase) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if let Some(server) = &phase.server {
        let processes = format::counted(server.pids.len() as u64, "process", "processes");
        facts.push((
            "server",
            format!(
                "{} ({processes}): {} CPU a request, {} cores, {} peak resident",
                server.name,
                micros(server.cpu_us_per_request),
                format::significant(phase.server_cores().unwrap_or(0.0)),
                format::size(server.peak_resident_bytes as f64),
            ),
        ));
    }
    let client = &phase.client;
    if client.cpu_seconds > 0.0 {
        facts.push((
            "load tester",
            format!(
                "{} cores, busiest thread {}, {} resident",
                format::significant(phase.client_cores()),
                format::share(client.busiest_thread),
                format::size(client.resident_bytes as f64),
            ),
        ));
    }
    facts
}

/// What only some phases have: labels, sessions, faults.
pub(crate) fn more(phase: &Phase) -> Vec<Part> {
    let mut parts = Vec::new();
    let labels = labels(phase);
    if !labels.rows.is_empty() {
        parts.push(Part::Grid(labels));
    }
    if let Some(figures) = &phase.tally.sessions {
        parts.push(Part::Facts(sessions(figures)));
    }
    let mut faults: Vec<_> = phase.tally.faults.iter().collect();
    faults.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    if !faults.is_empty() {
        let words = faults
            .into_iter()
            .map(|(text, &count)| format!("{} × {text}", format::count(count)));
        parts.push(Part::List("faults", words.collect()));
    }
    parts
}

fn sessions(figures: &SessionFigures) -> Vec<(&'static str, String)> {
    let [sessions, kept, lost, wrong] =
        [figures.sessions, figures.kept, figures.lost, figures.wrong].map(format::count);
    let between = &figures.between;
    let [p50, p99, max] =
        [50.0, 99.0, 100.0].map(|percent| format::duration(between.percentile_ns(percent) as f64));
    let mean = format::duration(between.mean_ns());
    vec![
        (
            "sessions",
            format!("{sessions} begun, {kept} kept, {lost} lost, {wrong} wrong"),
        ),
        (
            "page 1 to 2",
            format!("mean {mean}, 50 % {p50}, 99 % {p99}, max {max}"),
        ),
    ]
}

fn labels(phase: &Phase) -> Grid {
    let mut grid = Grid::new(&[
        "label",
        "requests",
        "success",
        "requests/s",
        "mean",
        "p50",
        "p90",
        "p99",
        "p99.9",
        "max",
    ]);
    for label in phase.label_figures() {
        let (tally, whole) = (label.tally, &label.tally.whole);
        let all = tally.succeeded + tally.failed;
        let per_second = if phase.seconds > 0.0 {
            tally.succeeded as f64 / phase.seconds
        } else {
            0.0
        };
        grid.rows.push(vec![
            label.name.to_owned(),
            format::count(all),
            format::success(tally.succeeded, all),
            format::rate(per_second),
            time(whole, whole.mean_ns()),
            time(whole, whole.percentile_ns(50.0) as f64),
            time(whole, whole.percentile_ns(90.0) as f64),
            time(whole, whole.percentile_ns(99.0) as f64),
            time(whole, whole.percentile_ns(99.9) as f64),
            time(whole, whole.max_ns() as f64),
        ]);
    }
    grid
}
