//! What can go wrong, worded for the operator.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::segment::errno;

/// What the disk refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// The file or directory.
    pub path: PathBuf,
    /// What was tried.
    pub doing: &'static str,
    /// What the system said.
    pub error: Errno,
}

impl Trouble {
    pub(super) fn new(path: &Path, doing: &'static str, error: Errno) -> Self {
        Self {
            path: path.to_path_buf(),
            doing,
            error,
        }
    }

    /// For `map_err` of what the standard library does.
    pub(super) fn of(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |error| Self {
            path,
            doing,
            error: errno(error),
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = io::Error::from(self.error);
        write!(f, "{}: {}: {error}", self.path.display(), self.doing)
    }
}

impl std::error::Error for Trouble {}

/// Why something was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The disk refused. What was appended is kept in memory and tried again.
    Disk(Trouble),
    /// There is no such segment, or it was removed.
    Gone,
    /// The segment is still appended to: [`roll`](super::Wal::roll) comes first.
    StillOpen,
    /// Segments are removed from the oldest on, and this one is older.
    NotOldest(u32),
    /// A snapshot goes into a directory of its own.
    NotEmpty(PathBuf),
}

impl From<Trouble> for Error {
    fn from(trouble: Trouble) -> Self {
        Self::Disk(trouble)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(trouble) => write!(f, "{trouble}"),
            Self::Gone => write!(f, "there is no such segment"),
            Self::StillOpen => write!(f, "the segment is still appended to"),
            Self::NotOldest(oldest) => write!(f, "segment {oldest} is older and goes first"),
            Self::NotEmpty(path) => write!(
                f,
                "{} is there and not empty; name a directory that does not exist",
                path.display()
            ),
        }
    }
}

impl std::error::Error for Error {}

/// Why a record was not read.
#[derive(Debug)]
pub enum ReadError {
    /// Its segment was removed: whoever had the place has an old one.
    Gone,
    /// What lies there is not what was written, or no record begins there.
    Corrupt,
    /// The segment is still appended to and cannot be walked.
    StillOpen,
    /// The disk answered with an error.
    Io(Trouble),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone => write!(f, "the segment was removed"),
            Self::Corrupt => write!(f, "the record is damaged"),
            Self::StillOpen => write!(f, "the segment is still appended to"),
            Self::Io(trouble) => write!(f, "{trouble}"),
        }
    }
}

impl std::error::Error for ReadError {}
