//! Figures of each store of sessions. Shown with the label `store`.

use crate::row::figures;

figures! {
    /// The figures of one store at one moment.
    SessionSnapshot, store, "forebay_session_";
    connections, "connections", false, "connections",
        "Clients that are connected.";
    connections_total, "connections_total", true, "connections",
        "Clients that have connected.";
    connections_refused, "connections_refused_total", true, "connections",
        "Clients that were sent away because `max_connections` were there.";
    bytes_in, "received_bytes_total", true, "bytes",
        "Bytes that clients sent.";
    bytes_out, "sent_bytes_total", true, "bytes",
        "Bytes that clients were sent.";
    gets, "gets_total", true, "commands",
        "Keys that were asked for.";
    get_hits, "get_hits_total", true, "commands",
        "Keys that were asked for and had an item.";
    sets, "sets_total", true, "commands",
        "Commands that store a value.";
    deletes, "deletes_total", true, "items",
        "Items that clients deleted.";
    touches, "touches_total", true, "items",
        "Items that clients gave a new end.";
    refused, "refused_total", true, "commands",
        "Writes that were refused for want of room.";
    items, "items", false, "items",
        "Items that are kept.";
    memory_bytes, "memory_bytes", false, "bytes",
        "Memory that they take, everything counted.";
    payload_bytes, "payload_bytes", false, "bytes",
        "Their keys and values that are in memory.";
    spilled_items, "spilled_items", false, "items",
        "Items whose values are on disk only.";
    spilled_bytes, "spilled_bytes", false, "bytes",
        "Those values.";
    evictions, "evictions_total", true, "items",
        "Items that made room for others.";
    expired, "expired_total", true, "items",
        "Items that ended at their time.";
    disk_bytes, "disk_bytes", false, "bytes",
        "What the log takes on disk.";
    log_bytes, "log_written_bytes_total", true, "bytes",
        "What was written to the log.";
    log_compacted, "log_compacted_bytes_total", true, "bytes",
        "What of it was written because the log was compacted.";
    log_waiting, "log_waiting_bytes", false, "bytes",
        "What waits to be written to the log.";
    log_syncs, "log_syncs_total", true, "times",
        "How often the disk was waited for.";
    log_failures, "log_failures_total", true, "times",
        "How often the log could not be written.";
    log_failing, "log_failing", false, "0 or 1",
        "1 while the log cannot be written, and writes are refused.";
}

#[cfg(test)]
mod tests {
    use super::ROWS;

    #[test]
    fn counters_and_only_they_are_named_so() {
        crate::row::are_well_named(ROWS);
    }
}
