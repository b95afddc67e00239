//! Words that the block and the plain lines share.

use std::collections::BTreeMap;

use forebay_results::{Cause, format};

use super::Now;

/// A line for logs: `  4 s  12,345/s  p50 1.20 ms  …`
pub(super) fn line(now: &Now<'_>) -> String {
    let mut parts = vec![format!("{:>4} s", now.elapsed.as_secs())];
    parts.extend(now.rate().map(|rate| format!("{}/s", format::rate(rate))));
    if let Some(last) = now.last {
        parts.push(format!("p50 {}", format::duration(last.p50_ns as f64)));
        parts.push(format!("p99 {}", format::duration(last.p99_ns as f64)));
        parts.push(format::byte_rate(
            last.bytes_received as f64 / last.seconds.max(1e-9),
        ));
    }
    parts.push(format!("{} done", format::count(now.completed)));
    parts.push(format!("{} open", format::count(now.open)));
    if let Some(cores) = now.server_cores {
        parts.push(format!("server {cores:.2} cores"));
    }
    parts.extend(failures(now.failed));
    parts.join("  ") + "\n"
}

/// `12 failed (10 timeout, 2 reset)`, or nothing.
pub(super) fn failures(failed: &BTreeMap<Cause, u64>) -> Option<String> {
    let all: u64 = failed.values().sum();
    if all == 0 {
        return None;
    }
    let mut causes: Vec<_> = failed.iter().filter(|(_, count)| **count > 0).collect();
    causes.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let words = causes
        .iter()
        .map(|(cause, count)| format!("{} {}", format::count(**count), cause.name()));
    Some(format!(
        "{} failed ({})",
        format::count(all),
        words.collect::<Vec<_>>().join(", ")
    ))
}
