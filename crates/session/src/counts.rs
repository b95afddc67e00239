//! What is counted, and what the statistics tell.

/// How often each thing happened; every connection counts for itself, its caller adds them up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // The names are those of memcached's statistics.
pub struct Counts {
    pub cmd_get: u64,
    pub cmd_set: u64,
    pub cmd_flush: u64,
    pub cmd_touch: u64,
    pub cmd_meta: u64,
    pub get_hits: u64,
    pub get_misses: u64,
    pub delete_misses: u64,
    pub delete_hits: u64,
    pub incr_misses: u64,
    pub incr_hits: u64,
    pub decr_misses: u64,
    pub decr_hits: u64,
    pub cas_misses: u64,
    pub cas_hits: u64,
    pub cas_badval: u64,
    pub touch_hits: u64,
    pub touch_misses: u64,
    pub store_too_large: u64,
    pub store_no_memory: u64,
    pub auth_cmds: u64,
    pub auth_errors: u64,
}

impl Counts {
    /// The counts under memcached's names for them, in its order.
    pub fn rows(&self) -> [(&'static str, u64); 22] {
        [
            ("cmd_get", self.cmd_get),
            ("cmd_set", self.cmd_set),
            ("cmd_flush", self.cmd_flush),
            ("cmd_touch", self.cmd_touch),
            ("cmd_meta", self.cmd_meta),
            ("get_hits", self.get_hits),
            ("get_misses", self.get_misses),
            ("delete_misses", self.delete_misses),
            ("delete_hits", self.delete_hits),
            ("incr_misses", self.incr_misses),
            ("incr_hits", self.incr_hits),
            ("decr_misses", self.decr_misses),
            ("decr_hits", self.decr_hits),
            ("cas_misses", self.cas_misses),
            ("cas_hits", self.cas_hits),
            ("cas_badval", self.cas_badval),
            ("touch_hits", self.touch_hits),
            ("touch_misses", self.touch_misses),
            ("store_too_large", self.store_too_large),
            ("store_no_memory", self.store_no_memory),
            ("auth_cmds", self.auth_cmds),
            ("auth_errors", self.auth_errors),
        ]
    }

    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        self.with(other, u64::wrapping_add)
    }

    /// What came since `other` was counted.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        self.with(other, u64::wrapping_sub)
    }

    fn with(&self, other: &Self, of: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            cmd_get: of(self.cmd_get, other.cmd_get),
            cmd_set: of(self.cmd_set, other.cmd_set),
            cmd_flush: of(self.cmd_flush, other.cmd_flush),
            cmd_touch: of(self.cmd_touch, other.cmd_touch),
            cmd_meta: of(self.cmd_meta, other.cmd_meta),
            get_hits: of(self.get_hits, other.get_hits),
            get_misses: of(self.get_misses, other.get_misses),
            delete_misses: of(self.delete_misses, other.delete_misses),
            delete_hits: of(self.delete_hits, other.delete_hits),
            incr_misses: of(self.incr_misses, other.incr_misses),
            incr_hits: of(self.incr_hits, other.incr_hits),
            decr_misses: of(self.decr_misses, other.decr_misses),
            decr_hits: of(self.decr_hits, other.decr_hits),
            cas_misses: of(self.cas_misses, other.cas_misses),
            cas_hits: of(self.cas_hits, other.cas_hits),
            cas_badval: of(self.cas_badval, other.cas_badval),
            touch_hits: of(self.touch_hits, other.touch_hits),
            touch_misses: of(self.touch_misses, other.touch_misses),
            store_too_large: of(self.store_too_large, other.store_too_large),
            store_no_memory: of(self.store_no_memory, other.store_no_memory),
            auth_cmds: of(self.auth_cmds, other.auth_cmds),
            auth_errors: of(self.auth_errors, other.auth_errors),
        }
    }
}

/// What the statistics tell of the process and the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// The process's number.
    pub pid: u32,
    /// For how many seconds it has run.
    pub uptime_s: u32,
    /// How many workers there are.
    pub threads: u32,
    /// The port that it listens on.
    pub port: u16,
    /// How many connections there may be.
    pub max_connections: u64,
    /// How many there are.
    pub curr_connections: u64,
    /// How many there were.
    pub total_connections: u64,
    /// How many were sent away for want of room.
    pub rejected_connections: u64,
    /// How many bytes clients sent.
    pub bytes_read: u64,
    /// How many bytes they were sent.
    pub bytes_written: u64,
    /// The other connections' counts.
    pub counts: Counts,
    /// How many items there are.
    pub curr_items: u64,
    /// How many there were.
    pub total_items: u64,
    /// How many bytes they take.
    pub bytes: u64,
    /// How many they may.
    pub limit_bytes: u64,
    /// Whether items have to go where there is no room for others.
    pub evicts: bool,
    /// How many items had to go.
    pub evictions: u64,
    /// How many expired without being read.
    pub expired_unfetched: u64,
    /// How many were evicted without being read.
    pub evicted_unfetched: u64,
    /// How many were reclaimed when they had expired.
    pub reclaimed: u64,
}
