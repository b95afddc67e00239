//! The table of gauges: figures that go up and down, read when asked for.

/// What the row of one gauge says.
#[derive(Clone, Copy, Debug)]
pub struct GaugeRow {
    /// The key in `/status`.
    pub key: &'static str,
    /// The name in `/metrics`.
    pub name: &'static str,
    /// What is measured: `connections`, `bytes`, …
    pub unit: &'static str,
    /// One sentence for the operator.
    pub help: &'static str,
    /// Reads the figure.
    pub read: fn(&Gauges) -> u64,
}

macro_rules! gauges {
    ($($field:ident, $name:literal, $unit:literal, $help:literal;)*) => {
        /// The state of the process at one moment.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Gauges {
            $(#[doc = $help] pub $field: u64,)*
        }

        /// All rows, in the order of the fields of [`Gauges`].
        pub const ROWS: &[GaugeRow] = &[
            $(GaugeRow {
                key: stringify!($field),
                name: concat!("forebay_", $name),
                unit: $unit,
                help: $help,
                read: |gauges| gauges.$field,
            },)*
        ];
    };
}

gauges! {
    connections, "connections", "connections",
        "Client connections open now.";
    objects, "cache_objects", "objects",
        "Objects in the cache, each variant counted.";
    cache_bytes, "cache_memory_bytes", "bytes",
        "Memory that cached objects take, with everything needed to keep them.";
    cache_budget_bytes, "cache_memory_budget_bytes", "bytes",
        "Memory that cached objects may take (`cache.memory`).";
    disk_objects, "disk_objects", "objects",
        "Objects in the cache on disk, each variant counted.";
    disk_used_bytes, "disk_used_bytes", "bytes",
        "Disk space that the cache takes.";
    disk_limit_bytes, "disk_limit_bytes", "bytes",
        "Disk space that the cache may take (`cache.disk`).";
    disk_index_bytes, "disk_index_bytes", "bytes",
        "Memory that the index of the cache on disk takes.";
    disk_failed_directories, "disk_failed_directories", "directories",
        "Directories of the cache on disk that are out of service because they failed.";
    bans, "bans", "bans",
        "Bans in force: expressions that objects are compared with when they are looked up.";
    tails, "tails", "readers",
        "Readers that follow the exchanges live.";
    resident_bytes, "resident_memory_bytes", "bytes",
        "Memory of the process that is in RAM, as the system counts it; 0 where it does not say.";
    upstream_idle, "origin_connections_idle", "connections",
        "Connections to origins kept for the next request.";
    upstream_active, "origin_connections_active", "connections",
        "Connections to origins with a request on them.";
    workers, "workers", "threads",
        "Worker threads.";
    uptime_seconds, "uptime_seconds", "seconds",
        "Time since the process started.";
    config_generation, "config_generation", "count",
        "Configurations taken into service since the start; 1 until the first reload.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_reads_its_own_field() {
        let gauges = Gauges {
            objects: 7,
            config_generation: 3,
            ..Gauges::default()
        };
        let read = |key| {
            ROWS.iter()
                .find(|row| row.key == key)
                .map(|row| (row.read)(&gauges))
        };
        assert_eq!(read("objects"), Some(7));
        assert_eq!(read("config_generation"), Some(3));
        assert_eq!(read("connections"), Some(0));
    }
}
