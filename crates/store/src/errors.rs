//! What can go wrong, worded for the operator.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a log cannot be opened.
#[derive(Debug)]
pub enum OpenError {
    /// Another process, or another log of this one, has the directory.
    Locked {
        /// The directory.
        path: PathBuf,
        /// The process that has it, where it said so.
        holder: Option<u32>,
    },
    /// A file was written in a later version of the format.
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// The size does not hold the least number of the smallest segments.
    TooSmall {
        /// What was asked for, in bytes.
        size_bytes: u64,
        /// The least that is possible, in bytes.
        least_bytes: u64,
    },
    /// The directory or a file in it cannot be used.
    Io {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Locked { path, holder } => {
                write!(f, "{} is in use by ", path.display())?;
                match holder {
                    Some(process) => write!(f, "process {process}"),
                    None => write!(f, "another process"),
                }
            }
            Self::Version { path, found } => write!(
                f,
                "{} has format version {found}, and this program knows {} at most; \
                 use a later program, or another directory",
                path.display(),
                crate::FORMAT_VERSION,
            ),
            Self::TooSmall {
                size_bytes,
                least_bytes,
            } => write!(
                f,
                "{size_bytes} bytes are too few for a log; the least is {least_bytes}"
            ),
            Self::Io { path, error } => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for OpenError {}

/// Why something was not appended.
#[derive(Debug)]
pub enum WriteError {
    /// There is no space until a segment has been reclaimed.
    Full,
    /// The record does not fit into a segment, or its meta is too long.
    TooLarge {
        /// Its length in bytes.
        bytes: u64,
        /// The longest that is possible.
        most: u64,
    },
    /// The log was closed.
    Closed,
    /// The disk failed, now or before. Nothing will be appended any more.
    Failed,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => write!(f, "no space until a segment has been reclaimed"),
            Self::TooLarge { bytes, most } => {
                write!(f, "a record of {bytes} bytes; the most is {most}")
            }
            Self::Closed => write!(f, "the log is closed"),
            Self::Failed => write!(f, "the disk has failed"),
        }
    }
}

impl std::error::Error for WriteError {}

/// Why a record was not read. All of them mean: it is not there.
#[derive(Debug)]
pub enum ReadError {
    /// What lies there is not what was written, or no record begins there.
    Corrupt,
    /// The range asked for is not within the data.
    Range,
    /// The disk failed before.
    Failed,
    /// The disk answered with an error.
    Io(io::Error),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Corrupt => write!(f, "the record is damaged"),
            Self::Range => write!(f, "the range is not within the data"),
            Self::Failed => write!(f, "the disk has failed"),
            Self::Io(error) => write!(f, "reading: {error}"),
        }
    }
}

impl std::error::Error for ReadError {}

/// Why a journal was not opened or written.
#[derive(Debug)]
pub enum JournalError {
    /// It was written in a later version of the format.
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// The record is longer than a record may be.
    TooLarge {
        /// Its length in bytes.
        bytes: u64,
    },
    /// An earlier write failed and could not be undone. A rewrite mends it.
    Failed,
    /// The system refused.
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version { path, found } => write!(
                f,
                "{} has format version {found}, and this program knows {} at most",
                path.display(),
                crate::FORMAT_VERSION,
            ),
            Self::TooLarge { bytes } => write!(
                f,
                "a journal record of {bytes} bytes; the most is {}",
                crate::JOURNAL_RECORD_MOST
            ),
            Self::Failed => write!(f, "an earlier write to the journal failed"),
            Self::Io { path, error } => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for JournalError {}
