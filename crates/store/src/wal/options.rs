//! Where a log is, and what it promises.

use std::path::PathBuf;
use std::time::Duration;

/// The shortest segment, in bytes.
const SEGMENT_LEAST: u64 = 64 << 10;

/// The longest segment, in bytes.
const SEGMENT_MOST: u64 = 1 << 30;

/// The length of a segment where nothing is said, in bytes.
const SEGMENT_USUAL: u64 = 64 << 20;

/// What may wait to be written where nothing is said, in bytes.
pub const BUFFER_USUAL: usize = 32 << 20;

/// Under [`Sync::Always`], what nobody waits for is written so often.
const UNASKED: Duration = Duration::from_secs(1);

/// When what was appended reaches the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// Everything that was [pushed](super::Wal::push) is written and synced,
    /// all that came meanwhile in one go.
    Always,
    /// Written and synced at least so often.
    Every(Duration),
    /// Written at least so often, and left to the system from there.
    Never(Duration),
}

impl Sync {
    /// How often the writer looks, whether it was asked or not.
    pub(super) fn interval(self) -> Duration {
        match self {
            Self::Always => UNASKED,
            Self::Every(often) | Self::Never(often) => {
                often.clamp(Duration::from_millis(1), Duration::from_secs(3600))
            }
        }
    }
}

/// How a log is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// The directory; it is created if it does not exist.
    pub path: PathBuf,
    /// Length of a segment in bytes, from 64 KiB to 1 GiB; 64 MiB by default. A
    /// record that is longer gets a segment of its own. It may differ from one
    /// start to the next.
    pub segment_bytes: Option<u64>,
    /// When more bytes than these wait for the disk, the log is
    /// [`Behind`](super::State::Behind). Appending goes on: whether to slow
    /// down is the owner's decision. Usually [`BUFFER_USUAL`]; below 4 MiB it
    /// is behind without need, since up to 1 MiB is gathered before a write.
    pub buffer_bytes: usize,
    /// What is promised.
    pub sync: Sync,
}

impl Options {
    /// Options with the usual lengths.
    pub fn new(path: impl Into<PathBuf>, sync: Sync) -> Self {
        Self {
            path: path.into(),
            segment_bytes: None,
            buffer_bytes: BUFFER_USUAL,
            sync,
        }
    }

    pub(super) fn segment_length(&self) -> u32 {
        let wanted = self.segment_bytes.unwrap_or(SEGMENT_USUAL);
        wanted.clamp(SEGMENT_LEAST, SEGMENT_MOST) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_a_segment_is_kept_to_what_is_possible() {
        let mut options = Options::new("x", Sync::Always);
        assert_eq!(options.segment_length(), 64 << 20);
        for (wanted, length) in [(1, 64 << 10), (1 << 20, 1 << 20), (u64::MAX, 1 << 30)] {
            options.segment_bytes = Some(wanted);
            assert_eq!(options.segment_length(), length);
        }
    }
}
