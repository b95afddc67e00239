//! Figures of each server of each pool: counted where requests are sent to it, shown with the
//! labels `pool` and `server`. There are as many as the configuration names, and no more.
//!
//! They are written by every worker, so they are atomic: a request to an origin costs a
//! thousand times what counting it does.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::histogram::{Histogram, HistogramSnapshot};
use crate::row::Row;

/// Name and help of the one timing of a server.
pub const FIRST_BYTE: (&str, &str) = (
    "forebay_origin_server_first_byte_seconds",
    "From a request given to the server's connection to the head of its response.",
);

/// The figures of one server. They live as long as it stays in the configuration.
pub struct OriginStats {
    requests: AtomicU64,
    connects: AtomicU64,
    errors: AtomicU64,
    timeouts: AtomicU64,
    failures: AtomicU64,
    waits: AtomicU64,
    retries: AtomicU64,
    hedges: AtomicU64,
    ejections: AtomicU64,
    first_byte: Histogram,
}

/// One server's figures at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OriginSnapshot {
    /// Its pool.
    pub pool: String,
    /// Its address as configured.
    pub server: String,
    /// Requests it is working on.
    pub active: u64,
    /// Whether it is left out because it failed requests in a row.
    pub failed: bool,
    /// Whether it is left out because it answers worse than others.
    pub ejected: bool,
    /// Requests sent to it, repeats included.
    pub requests: u64,
    /// Connections opened to it.
    pub connects: u64,
    /// Requests that got no usable response: it could not be reached, broke off, or answered
    /// what must not be forwarded.
    pub errors: u64,
    /// Requests, or attempts to connect, that took too long.
    pub timeouts: u64,
    /// Responses of it with a status of 500 or above.
    pub failures: u64,
    /// Requests that had waited in the pool's queue before they were given to it.
    pub waits: u64,
    /// Requests of it that were given to another server or connection, because it failed them.
    pub retries: u64,
    /// Requests that were given to it because another server was slow.
    pub hedges: u64,
    /// How often it was left out because it answers worse than others.
    pub ejections: u64,
    /// Times from the request to the head of the response, in microseconds.
    pub first_byte: HistogramSnapshot,
}

macro_rules! rows {
    ($($field:ident, $name:literal, $counter:literal, $unit:literal, $help:literal;)*) => {
        /// All rows, in the order of `/metrics`.
        pub const ROWS: &[Row<OriginSnapshot>] = &[
            $(Row {
                key: stringify!($field),
                name: concat!("forebay_origin_server_", $name),
                counter: $counter,
                unit: $unit,
                help: $help,
                read: |server| u64::from(server.$field),
            },)*
        ];
    };
}

rows! {
    active, "active", false, "requests",
        "Requests that the server is working on.";
    failed, "failed", false, "0 or 1",
        "1 while the server is avoided because it failed requests in a row.";
    ejected, "ejected", false, "0 or 1",
        "1 while the server is avoided because it answers worse than `eject` allows.";
    requests, "requests_total", true, "requests",
        "Requests sent to the server, repeats included.";
    connects, "connects_total", true, "connections",
        "Connections opened to the server.";
    errors, "errors_total", true, "requests",
        "Requests that the server gave no usable response to: unreachable, broken off, malformed.";
    timeouts, "timeouts_total", true, "requests",
        "Requests, or attempts to connect, that took the server too long.";
    failures, "failures_total", true, "responses",
        "Responses of the server with a status of 500 or above.";
    waits, "waits_total", true, "requests",
        "Requests that had waited in the pool's queue before they were given to the server.";
    retries, "retries_total", true, "requests",
        "Requests that were given to another server or connection because the server failed them.";
    hedges, "hedges_total", true, "requests",
        "Requests that were given to the server because another one was slow.";
    ejections, "ejections_total", true, "times",
        "How often the server was left out because it answers worse than `eject` allows.";
}

impl Default for OriginStats {
    fn default() -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            requests: zero(),
            connects: zero(),
            errors: zero(),
            timeouts: zero(),
            failures: zero(),
            waits: zero(),
            retries: zero(),
            hedges: zero(),
            ejections: zero(),
            first_byte: Histogram::new(),
        }
    }
}

impl OriginStats {
    /// A request is about to be sent.
    pub fn request(&self) {
        self.requests.fetch_add(1, Relaxed);
    }

    /// A connection was opened.
    pub fn connect(&self) {
        self.connects.fetch_add(1, Relaxed);
    }

    /// There was no usable response.
    pub fn error(&self) {
        self.errors.fetch_add(1, Relaxed);
    }

    /// The response, or the connection, took too long.
    pub fn timeout(&self) {
        self.timeouts.fetch_add(1, Relaxed);
    }

    /// A request is given to it that has waited.
    pub fn waited(&self) {
        self.waits.fetch_add(1, Relaxed);
    }

    /// A request that it failed is given to another.
    pub fn retried(&self) {
        self.retries.fetch_add(1, Relaxed);
    }

    /// A request is given to it because another server is slow.
    pub fn hedged(&self) {
        self.hedges.fetch_add(1, Relaxed);
    }

    /// It is left out because it answers worse than others.
    pub fn ejected(&self) {
        self.ejections.fetch_add(1, Relaxed);
    }

    /// Requests sent to it so far.
    pub fn requests(&self) -> u64 {
        self.requests.load(Relaxed)
    }

    /// Requests that have an outcome, and those of them that failed or were answered with 500 or
    /// above.
    pub fn totals(&self) -> (u64, u64) {
        let unanswered = self.errors.load(Relaxed) + self.timeouts.load(Relaxed);
        let answered = self.first_byte.count();
        (
            answered + unanswered,
            unanswered + self.failures.load(Relaxed),
        )
    }

    /// The head of the final response is there, so many microseconds after the request.
    pub fn answered(&self, status: u16, after_us: u64) {
        self.first_byte.record_shared(after_us);
        if status >= 500 {
            self.failures.fetch_add(1, Relaxed);
        }
    }

    /// The figures now; who it is and how it is, the caller fills in.
    pub fn snapshot(&self) -> OriginSnapshot {
        let mut first_byte = HistogramSnapshot::default();
        first_byte.merge(&self.first_byte);
        OriginSnapshot {
            requests: self.requests.load(Relaxed),
            connects: self.connects.load(Relaxed),
            errors: self.errors.load(Relaxed),
            timeouts: self.timeouts.load(Relaxed),
            failures: self.failures.load(Relaxed),
            waits: self.waits.load(Relaxed),
            retries: self.retries.load(Relaxed),
            hedges: self.hedges.load(Relaxed),
            ejections: self.ejections.load(Relaxed),
            first_byte,
            ..OriginSnapshot::default()
        }
    }
}

impl std::fmt::Debug for OriginStats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OriginStats")
            .field("requests", &self.requests)
            .field("errors", &self.errors)
            .finish_non_exhaustive()
    }
}

impl OriginSnapshot {
    /// What happened since `earlier`; what is not counted stays as it is.
    #[must_use]
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            requests: self.requests.saturating_sub(earlier.requests),
            connects: self.connects.saturating_sub(earlier.connects),
            errors: self.errors.saturating_sub(earlier.errors),
            timeouts: self.timeouts.saturating_sub(earlier.timeouts),
            failures: self.failures.saturating_sub(earlier.failures),
            waits: self.waits.saturating_sub(earlier.waits),
            retries: self.retries.saturating_sub(earlier.retries),
            hedges: self.hedges.saturating_sub(earlier.hedges),
            ejections: self.ejections.saturating_sub(earlier.ejections),
            first_byte: self.first_byte.since(&earlier.first_byte),
            ..self.clone()
        }
    }

    /// Whether both are of the same server.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.pool == other.pool && self.server == other.server
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_reads_what_its_event_counted() {
        let stats = OriginStats::default();
        for _ in 0..5 {
            stats.request();
        }
        stats.connect();
        stats.connect();
        stats.error();
        stats.timeout();
        stats.answered(200, 100);
        stats.answered(503, 300);
        (0..3).for_each(|_| stats.waited());
        (0..4).for_each(|_| stats.retried());
        (0..6).for_each(|_| stats.hedged());
        (0..8).for_each(|_| stats.ejected());
        assert_eq!(stats.totals(), (4, 3));
        let snapshot = OriginSnapshot {
            active: 7,
            failed: true,
            ..stats.snapshot()
        };
        let read: Vec<u64> = ROWS.iter().map(|row| (row.read)(&snapshot)).collect();
        assert_eq!(read, [7, 1, 0, 5, 2, 1, 1, 1, 3, 4, 6, 8]);
        assert_eq!(
            (snapshot.first_byte.count(), snapshot.first_byte.mean()),
            (2, 200)
        );
    }

    #[test]
    fn counters_and_only_they_are_named_so() {
        for row in ROWS {
            assert_eq!(row.counter, row.name.ends_with("_total"), "{}", row.name);
            assert!(row.help.ends_with('.'), "{}", row.name);
        }
    }

    #[test]
    fn since_takes_off_what_was_counted_before() {
        let stats = OriginStats::default();
        stats.request();
        stats.answered(200, 5);
        let earlier = stats.snapshot();
        stats.request();
        stats.answered(500, 7);
        let new = stats.snapshot().since(&earlier);
        assert_eq!(
            (new.requests, new.failures, new.first_byte.sum()),
            (1, 1, 7)
        );
    }
}
