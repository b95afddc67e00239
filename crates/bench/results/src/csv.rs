//! A report as comma-separated values (RFC 4180): one row for each phase.
//!
//! Figures are plain numbers without separators; durations are in
//! nanoseconds, sizes in bytes. A figure that was not measured is empty.

use crate::{Cause, Histogram, Phase, Report};

/// One column: its name, what it holds, and its value in a phase.
struct Column {
    name: &'static str,
    about: &'static str,
    value: fn(&Phase) -> String,
}

macro_rules! columns {
    ($($name:literal $about:literal = $value:expr;)*) => {
        const COLUMNS: &[Column] = &[$(Column { name: $name, about: $about, value: $value },)*];
    };
}

columns! {
    "phase" "name of the phase" = |p| p.name.clone();
    "connections" "connections, or virtual users" = |p| p.connections.to_string();
    "rate_due" "requests a second that were due; empty at closed load" = |p| optional(p.rate);
    "keep_alive" "whether connections were kept" = |p| p.keep_alive.to_string();
    "pipeline" "requests under way at once on a connection" = |p| p.pipeline.to_string();
    "threads" "threads of the load tester" = |p| p.threads.to_string();
    "seconds" "measured time" = |p| p.seconds.to_string();
    "completed" "requests that came to an end" = |p| p.tally.counts.completed.to_string();
    "succeeded" "requests without a fault" = |p| p.tally.counts.succeeded.to_string();
    "failed" "requests that failed" = |p| p.tally.counts.failures().to_string();
    "failed_connect" "no connection" = |p| cause(p, Cause::Connect);
    "failed_tls" "no TLS" = |p| cause(p, Cause::Tls);
    "failed_timeout" "took too long" = |p| cause(p, Cause::Timeout);
    "failed_reset" "closed or reset too early" = |p| cause(p, Cause::Reset);
    "failed_malformed" "not valid in its protocol" = |p| cause(p, Cause::Malformed);
    "failed_status" "wrong status" = |p| cause(p, Cause::Status);
    "failed_check" "a check failed" = |p| cause(p, Cause::Check);
    "unfinished" "due or under way when the time was up" = |p| p.tally.counts.unfinished.to_string();
    "success_percent" "succeeded of completed, in percent" = |p| if p.tally.counts.completed == 0 {
        String::new()
    } else {
        p.tally.counts.success_percent().to_string()
    };
    "requests_per_second" "that succeeded" = |p| p.requests_per_second().to_string();
    "pages_per_minute" "that succeeded" = |p| p.pages_per_minute().to_string();
    "bytes_per_second" "read, heads included" = |p| p.bytes_per_second().to_string();
    "bytes_received" "heads included" = |p| p.tally.counts.bytes_received.to_string();
    "bytes_sent" "heads included" = |p| p.tally.counts.bytes_sent.to_string();
    "body_bytes" "of response bodies" = |p| p.tally.counts.body_bytes.to_string();
    "connects" "connections opened" = |p| p.tally.counts.connects.to_string();
    "concurrency" "requests under way on the mean" = |p| p.concurrency().to_string();
    "hits" "responses out of a cache" = |p| p.tally.counts.hits.to_string();
    "misses" "responses that a cache fetched" = |p| p.tally.counts.misses.to_string();
    "mean_ns" "whole duration" = |p| time(whole(p), |h| h.mean_ns());
    "min_ns" "whole duration" = |p| time(whole(p), |h| h.min_ns() as f64);
    "p50_ns" "whole duration" = |p| percentile(whole(p), 50.0);
    "p90_ns" "whole duration" = |p| percentile(whole(p), 90.0);
    "p95_ns" "whole duration" = |p| percentile(whole(p), 95.0);
    "p99_ns" "whole duration" = |p| percentile(whole(p), 99.0);
    "p99_9_ns" "whole duration" = |p| percentile(whole(p), 99.9);
    "p99_99_ns" "whole duration" = |p| percentile(whole(p), 99.99);
    "max_ns" "whole duration" = |p| time(whole(p), |h| h.max_ns() as f64);
    "deviation_ns" "standard deviation of the whole duration" = |p| time(whole(p), |h| h.deviation_ns());
    "first_byte_p50_ns" "from request to first byte" = |p| percentile(&p.tally.latency.first_byte, 50.0);
    "first_byte_p99_ns" "from request to first byte" = |p| percentile(&p.tally.latency.first_byte, 99.0);
    "connect_p50_ns" "opening a connection" = |p| percentile(&p.tally.latency.connect, 50.0);
    "connect_p99_ns" "opening a connection" = |p| percentile(&p.tally.latency.connect, 99.0);
    "client_cores" "processors that the load tester kept busy" = |p| p.client_cores().to_string();
    "client_busiest_thread" "share of its time on a processor, 0 to 1" = |p| p.client.busiest_thread.to_string();
    "server_cpu_us_per_request" "processor time in microseconds" = |p| optional(p.server.as_ref().map(|s| s.cpu_us_per_request));
    "server_cores" "processors that the server kept busy" = |p| optional(p.server_cores());
    "server_peak_resident_bytes" "memory of all its processes" = |p| optional(p.server.as_ref().map(|s| s.peak_resident_bytes as f64));
    "sessions" "sessions begun" = |p| session(p, |s| s.sessions);
    "sessions_lost" "second page had nothing" = |p| session(p, |s| s.lost);
    "sessions_wrong" "second page had another's data" = |p| session(p, |s| s.wrong);
}

/// The report: a head with the columns' names, and a row for each phase.
pub fn csv(report: &Report) -> String {
    let head: Vec<String> = COLUMNS
        .iter()
        .map(|column| column.name.to_owned())
        .collect();
    let mut out = line(&head);
    for phase in &report.phases {
        let cells: Vec<String> = COLUMNS.iter().map(|column| (column.value)(phase)).collect();
        out.push_str(&line(&cells));
    }
    out
}

/// Every column's name and what it holds, for the reference.
pub fn csv_columns() -> impl Iterator<Item = (&'static str, &'static str)> {
    COLUMNS.iter().map(|column| (column.name, column.about))
}

fn line(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| quoted(cell)).collect();
    cells.join(",") + "\r\n"
}

/// A field in quotes where RFC 4180 section 2 asks for them. A field that a
/// spreadsheet would take for a formula gets an apostrophe.
fn quoted(cell: &str) -> String {
    let formula = cell.starts_with(['=', '+', '@', '\t'])
        || (cell.starts_with('-') && cell.parse::<f64>().is_err());
    let cell = if formula {
        format!("'{cell}")
    } else {
        cell.to_owned()
    };
    if cell.contains(['"', ',', '\r', '\n']) {
        return format!("\"{}\"", cell.replace('"', "\"\""));
    }
    cell
}

fn optional(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn cause(phase: &Phase, cause: Cause) -> String {
    phase
        .tally
        .counts
        .failed
        .get(&cause)
        .copied()
        .unwrap_or(0)
        .to_string()
}

fn whole(phase: &Phase) -> &Histogram {
    &phase.tally.latency.whole
}

fn time(durations: &Histogram, statistic: fn(&Histogram) -> f64) -> String {
    if durations.count() == 0 {
        String::new()
    } else {
        statistic(durations).to_string()
    }
}

fn percentile(durations: &Histogram, percent: f64) -> String {
    if durations.count() == 0 {
        String::new()
    } else {
        durations.percentile_ns(percent).to_string()
    }
}

fn session(phase: &Phase, figure: fn(&crate::SessionFigures) -> u64) -> String {
    phase
        .tally
        .sessions
        .as_ref()
        .map(|sessions| figure(sessions).to_string())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::sample;

    /// A reader of RFC 4180, for what was written.
    fn read(text: &str) -> Vec<Vec<String>> {
        let (mut rows, mut row, mut cell) = (Vec::new(), Vec::new(), String::new());
        let mut chars = text.chars().peekable();
        let mut inside = false;
        while let Some(c) = chars.next() {
            match (inside, c) {
                (true, '"') if chars.next_if_eq(&'"').is_some() => cell.push('"'),
                (_, '"') => inside = !inside,
                (true, c) => cell.push(c),
                (false, ',') => row.push(std::mem::take(&mut cell)),
                (false, '\r') => assert_eq!(chars.next(), Some('\n')),
                (false, c) => cell.push(c),
            }
            if c == '\r' && !inside {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
        }
        assert!(
            row.is_empty() && cell.is_empty() && !inside,
            "the last line is not ended"
        );
        rows
    }

    fn cell(rows: &[Vec<String>], row: usize, column: &str) -> String {
        let at = rows[0].iter().position(|name| name == column).unwrap();
        rows[row][at].clone()
    }

    #[test]
    fn figures_come_back_exactly() {
        let report = sample::ladder();
        let rows = read(&csv(&report));
        assert_eq!(rows.len(), 4);
        assert_eq!(cell(&rows, 2, "phase"), "1,000 connections");
        for (i, phase) in report.phases.iter().enumerate() {
            assert_eq!(
                cell(&rows, i + 1, "completed"),
                phase.tally.counts.completed.to_string()
            );
            let rate: f64 = cell(&rows, i + 1, "requests_per_second").parse().unwrap();
            assert_eq!(rate, phase.requests_per_second());
            let p99: u64 = cell(&rows, i + 1, "p99_ns").parse().unwrap();
            assert_eq!(p99, phase.tally.latency.whole.percentile_ns(99.0));
        }
    }

    #[test]
    fn every_cause_has_a_column() {
        for cause in Cause::ALL {
            let name = format!("failed_{}", cause.name());
            assert!(csv_columns().any(|(column, _)| column == name), "{name}");
        }
    }

    #[test]
    fn names_are_no_formulas() {
        assert_eq!(quoted("=1+1"), "'=1+1");
        assert_eq!(quoted("-1.5"), "-1.5");
        assert_eq!(quoted("-cmd"), "'-cmd");
    }

    proptest::proptest! {
        #[test]
        fn any_name_comes_back(name in "[a-z\",\r\n ä]{0,20}") {
            let mut report = sample::single();
            report.phases[0].name = name.clone();
            let rows = read(&csv(&report));
            proptest::prop_assert_eq!(rows.len(), 2);
            proptest::prop_assert_eq!(&rows[1][0], &name);
            proptest::prop_assert_eq!(rows[0].len(), rows[1].len());
        }
    }
}
