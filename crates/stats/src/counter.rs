//! The table of counters: one documented row each.
//!
//! A counter only grows, from 0 at the start of the process. The order of the
//! rows is the order of `/metrics`; rows of one family (same name, different
//! label) must stand together.

/// What the row of one counter says.
#[derive(Clone, Copy, Debug)]
pub struct CounterRow {
    /// The counter.
    pub counter: Counter,
    /// The key in `/status`.
    pub key: &'static str,
    /// The name in `/metrics`.
    pub name: &'static str,
    /// `label="value"` in `/metrics`, or empty.
    pub label: &'static str,
    /// What is counted: `requests`, `bytes`, …
    pub unit: &'static str,
    /// One sentence for the operator.
    pub help: &'static str,
}

macro_rules! counters {
    ($($variant:ident, $key:literal, $name:literal, $label:literal, $unit:literal, $help:literal;)*) => {
        /// Something that is counted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(usize)]
        pub enum Counter {
            $(#[doc = $help] $variant,)*
        }

        /// All rows, in the order of [`Counter`].
        pub const ROWS: &[CounterRow] = &[
            $(CounterRow {
                counter: Counter::$variant,
                key: $key,
                name: concat!("forebay_", $name, "_total"),
                label: $label,
                unit: $unit,
                help: $help,
            },)*
        ];
    };
}

counters! {
    ConnectionsAccepted, "connections_accepted", "connections_accepted", "", "connections",
        "Client connections accepted.";
    ConnectionsClosed, "connections_closed", "connections_closed", "", "connections",
        "Client connections closed, by either side.";
    ConnectionsRefused, "connections_refused", "connections_refused", "", "connections",
        "Client connections closed at once because `server.max_connections` was reached.";
    ClientConnectionsRefused, "client_connections_refused", "client_connections_refused", "", "connections",
        "Client connections closed at once because their client had `limits.client_connections` already.";
    TlsFailed, "tls_failed", "tls_failed", "", "connections",
        "Client connections at addresses with a `certificate` that could not agree on TLS.";

    Requests, "requests", "requests", "", "requests",
        "Requests whose head was read whole and accepted.";
    BadRequests, "bad_requests", "bad_requests", "", "requests",
        "Requests refused because of their form or their size (400, 413, 414, 417, 431, 501, 505).";
    RequestTimeouts, "request_timeouts", "request_timeouts", "", "requests",
        "Requests that came too slowly (408).";

    Hits, "hits", "cache_hits", "", "requests",
        "Requests answered with a fresh object.";
    HitsStale, "hits_stale", "cache_stale_hits", "", "requests",
        "Requests answered with a stale object within `grace` or `stale-while-revalidate`.";
    HitsRevalidated, "hits_revalidated", "cache_revalidated_hits", "", "requests",
        "Requests answered with an object that the origin confirmed first (304).";
    StaleOnError, "stale_on_error", "cache_stale_on_error", "", "requests",
        "Requests answered with a stale object because the origin failed (`stale-if-error`).";
    Misses, "misses", "cache_misses", "", "requests",
        "Requests that went to the origin because no usable object was there.";
    Coalesced, "coalesced", "cache_coalesced", "", "requests",
        "Requests answered from a fetch that another request had begun.";
    HitForMiss, "hit_for_miss", "cache_hit_for_miss", "", "requests",
        "Requests that went to the origin on their own because its last response for the key could not be stored.";
    Passes, "passes", "cache_passes", "", "requests",
        "Requests that went to the origin without a lookup.";

    MissUri, "miss_uri", "cache_miss_reasons", r#"reason="uri-miss""#, "requests",
        "Requests forwarded because nothing was stored under their key.";
    MissVary, "miss_vary", "cache_miss_reasons", r#"reason="vary-miss""#, "requests",
        "Requests forwarded because only other variants were stored.";
    MissStale, "miss_stale", "cache_miss_reasons", r#"reason="stale""#, "requests",
        "Requests forwarded because the stored object had to be validated or replaced.";
    MissRequest, "miss_request", "cache_miss_reasons", r#"reason="request""#, "requests",
        "Requests forwarded because they asked for it themselves (`Cache-Control`, a body).";
    MissPartial, "miss_partial", "cache_miss_reasons", r#"reason="partial""#, "requests",
        "Requests forwarded because only other ranges of the object were stored.";
    MissHitForMiss, "miss_hit_for_miss", "cache_miss_reasons", r#"reason="hit-for-miss""#, "requests",
        "Requests forwarded because the last response for their key could not be stored.";
    MissBypass, "miss_bypass", "cache_miss_reasons", r#"reason="bypass""#, "requests",
        "Requests forwarded because the configuration says so (`pass`), or to become a tunnel.";
    MissMethod, "miss_method", "cache_miss_reasons", r#"reason="method""#, "requests",
        "Requests forwarded because of their method.";
    MissPurged, "miss_purged", "cache_miss_reasons", r#"reason="purged""#, "requests",
        "Requests forwarded because the stored object had been purged.";
    MissDiskError, "miss_disk_error", "cache_miss_reasons", r#"reason="disk-error""#, "requests",
        "Requests forwarded because the stored object could not be read from disk.";
    MissOther, "miss_other", "cache_miss_reasons", r#"reason="other""#, "requests",
        "Requests forwarded because the stored object was still on its way and could not be joined.";

    NotModified, "not_modified", "not_modified", "", "responses",
        "304 responses to clients whose copy was current.";
    Partial, "partial", "partial_responses", "", "responses",
        "206 responses to clients.";
    Synthesized, "synthesized", "synthesized_responses", "", "responses",
        "Responses that Forebay made itself: errors, refusals, `OPTIONS *`.";
    Upgrades, "upgrades", "upgrades", "", "connections",
        "Client connections that became tunnels (101).";
    ClientAborts, "client_aborts", "client_aborts", "", "requests",
        "Requests whose client went away before the response was complete.";

    Status1xx, "status_1xx", "responses", r#"class="1xx""#, "responses",
        "Interim responses sent to clients.";
    Status2xx, "status_2xx", "responses", r#"class="2xx""#, "responses",
        "Successful responses sent to clients.";
    Status3xx, "status_3xx", "responses", r#"class="3xx""#, "responses",
        "Redirections and 304 sent to clients.";
    Status4xx, "status_4xx", "responses", r#"class="4xx""#, "responses",
        "Responses sent to clients that blame the request.";
    Status5xx, "status_5xx", "responses", r#"class="5xx""#, "responses",
        "Responses sent to clients that blame the origin or Forebay.";

    BytesIn, "bytes_in", "client_received_bytes", "", "bytes",
        "Bytes read from clients, heads included.";
    BytesOut, "bytes_out", "client_sent_bytes", "", "bytes",
        "Bytes written to clients, heads included.";
    BytesFromCache, "bytes_from_cache", "cache_served_bytes", "", "bytes",
        "Body bytes sent to clients out of the cache, in memory or on disk.";
    ServedMemory, "served_memory", "served_bytes", r#"source="memory""#, "bytes",
        "Body bytes sent to clients out of the cache in memory.";
    ServedDisk, "served_disk", "served_bytes", r#"source="disk""#, "bytes",
        "Body bytes sent to clients out of the cache on disk.";
    ServedOrigin, "served_origin", "served_bytes", r#"source="origin""#, "bytes",
        "Body bytes sent to clients that were fetched for them, or made by Forebay.";
    BytesFromOrigin, "bytes_from_origin", "origin_received_bytes", "", "bytes",
        "Bytes read from origins, heads included.";

    OriginRequests, "origin_requests", "origin_requests", "", "requests",
        "Requests sent to origins, repeats included.";
    OriginConnects, "origin_connects", "origin_connects", "", "connections",
        "Connections opened to origins.";
    OriginReuses, "origin_reuses", "origin_reuses", "", "requests",
        "Requests sent on a connection that had served another before.";
    OriginRetries, "origin_retries", "origin_retries", "", "requests",
        "Requests sent again after a connection or a server failed.";
    OriginErrors, "origin_errors", "origin_errors", "", "requests",
        "Requests that failed because an origin could not be reached or broke off.";
    OriginTimeouts, "origin_timeouts", "origin_timeouts", "", "requests",
        "Requests that failed because an origin was too slow (504).";
    OriginInvalid, "origin_invalid", "origin_invalid", "", "responses",
        "Responses of origins refused because of their form or their size (502).";
    BackgroundFetches, "background_fetches", "background_fetches", "", "requests",
        "Fetches that no client waited for: a stale object renewed, a range completed.";

    Stored, "stored", "cache_stored", "", "objects",
        "Responses stored whole.";
    StoredPartial, "stored_partial", "cache_stored_partial", "", "objects",
        "Partial responses stored or added to a stored part.";
    NotStored, "not_stored", "cache_not_stored", "", "objects",
        "Fetched responses that were not stored.";
    FilesRead, "files_read", "files_read", "", "files",
        "Static files read into memory: those that were not there, or had changed.";
    FilesSent, "files_sent", "files_sent", "", "files",
        "Static files sent from where they lie, because they are large or not to be kept.";
    Compressed, "compressed", "compressed", "", "responses",
        "Responses that were compressed here; those kept and sent again count once.";
    Evicted, "evicted", "cache_evicted", "", "objects",
        "Objects removed to make room.";
    Invalidated, "invalidated", "cache_invalidated", "", "objects",
        "Objects made unusable by an unsafe method or a cache group.";

    DiskHits, "disk_hits", "disk_hits", "", "requests",
        "Requests answered with an object that was on disk and not in memory.";
    DiskReads, "disk_reads", "disk_reads", "", "reads",
        "Reads from the cache on disk.";
    DiskReadBytes, "disk_read_bytes", "disk_read_bytes", "", "bytes",
        "Bytes read from the cache on disk.";
    DiskReadWaits, "disk_read_waits", "disk_read_waits", "", "reads",
        "Reads that had to wait for the disk, because the system did not have the bytes in memory.";
    DiskReadErrors, "disk_read_errors", "disk_read_errors", "", "reads",
        "Reads that failed: the disk gave an error, or bytes that do not match their checksum.";
    DiskWritten, "disk_written", "disk_written_objects", "", "objects",
        "Objects written to the cache on disk.";
    DiskWrittenBytes, "disk_written_bytes", "disk_written_bytes", "", "bytes",
        "Bytes written to the cache on disk.";
    DiskWriteDropped, "disk_write_dropped", "disk_write_dropped", "", "objects",
        "Objects that were to be written to disk and were not, because the disk did not keep up or failed.";
    DiskReclaimed, "disk_reclaimed", "disk_reclaimed_segments", "", "segments",
        "Segments on disk given up to make room.";
    DiskReinserted, "disk_reinserted", "disk_reinserted_objects", "", "objects",
        "Objects written again because they were still asked for when their segment was given up.";

    PurgesUrl, "purges_url", "purges", r#"kind="url""#, "purges",
        "Purges of a URL.";
    PurgesPrefix, "purges_prefix", "purges", r#"kind="prefix""#, "purges",
        "Purges of all URLs that begin alike.";
    PurgesBan, "purges_ban", "purges", r#"kind="ban""#, "purges",
        "Bans, by an expression.";
    PurgesTag, "purges_tag", "purges", r#"kind="tag""#, "purges",
        "Purges of a tag.";
    PurgesAll, "purges_all", "purges", r#"kind="all""#, "purges",
        "Purges of everything.";

    LogDropped, "log_dropped", "log_dropped_lines", "", "lines",
        "Access log lines dropped because `log.buffer` was full.";
    TailDropped, "tail_dropped", "tail_dropped_lines", "", "lines",
        "Lines dropped because whoever follows the exchanges live did not keep up.";
}

/// How many counters there are.
pub const COUNT: usize = ROWS.len();

impl Counter {
    /// Where this counter stands in an array of [`COUNT`].
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// This counter's row.
    pub const fn row(self) -> &'static CounterRow {
        &ROWS[self as usize]
    }

    /// The counter of a status code's class; codes outside 100 to 599 count as 5xx.
    #[inline]
    pub const fn of_status(status: u16) -> Self {
        match status / 100 {
            1 => Self::Status1xx,
            2 => Self::Status2xx,
            3 => Self::Status3xx,
            4 => Self::Status4xx,
            _ => Self::Status5xx,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn rows_stand_where_their_counter_says() {
        for (place, row) in ROWS.iter().enumerate() {
            assert_eq!(row.counter.index(), place, "{}", row.key);
            assert_eq!(row.counter.row().key, row.key);
        }
    }

    #[test]
    fn keys_and_names_are_unique_and_well_formed() {
        let (mut keys, mut names) = (BTreeSet::new(), BTreeSet::new());
        for row in ROWS {
            assert!(keys.insert(row.key), "{} twice", row.key);
            assert!(names.insert((row.name, row.label)), "{} twice", row.name);
            assert!(
                row.name
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b == b'_')
            );
            assert!(
                row.help.ends_with('.') && !row.help.contains('\n'),
                "{}",
                row.key
            );
            assert_eq!(
                row.unit == "bytes",
                row.name.ends_with("_bytes_total"),
                "{}",
                row.key
            );
        }
    }

    #[test]
    fn rows_of_a_family_stand_together() {
        let mut seen = BTreeSet::new();
        for family in ROWS.chunk_by(|a, b| a.name == b.name) {
            assert!(
                seen.insert(family[0].name),
                "{} is torn apart",
                family[0].name
            );
        }
    }

    #[test]
    fn status_classes() {
        assert_eq!(Counter::of_status(103), Counter::Status1xx);
        assert_eq!(Counter::of_status(404), Counter::Status4xx);
        assert_eq!(Counter::of_status(999), Counter::Status5xx);
    }
}
