//! Where a record lies, and how far a log has come.

/// Where a record lies. It names one record for ever: when that has been
/// removed, reading says that it is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// Number of the segment.
    pub segment: u32,
    /// Where in the segment, in bytes.
    pub offset: u32,
    /// Length of the payload, in bytes.
    pub bytes: u32,
}

impl Place {
    /// What the record takes in its segment, in bytes.
    pub fn disk_bytes(self) -> u64 {
        u64::from(super::format::record_bytes(self.bytes))
    }
}

/// How many bytes of records had been appended since the log was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position(pub u64);
