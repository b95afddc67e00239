//! Why a log as a whole cannot be replayed.

use std::fmt;
use std::io;

use super::Format;

/// Why a log cannot be replayed.
#[derive(Debug)]
pub enum LogError {
    /// It could not be read to its end.
    Io(io::Error),
    /// There is no line in it.
    Empty,
    /// It is compressed with what is named.
    Compressed(&'static str),
    /// Its first line is in none of the known formats, or not in the one that was named.
    Format {
        /// The one that was named.
        format: Option<Format>,
        /// The beginning of the first line.
        first: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Empty => f.write_str("the log is empty"),
            Self::Compressed(what) => {
                write!(f, "the log is compressed with {what}; decompress it first")
            }
            Self::Format {
                format: None,
                first,
                ..
            } => write!(
                f,
                "the log is neither combined, nor Squid's, nor JSON lines; it begins with: {first}"
            ),
            Self::Format {
                format: Some(format),
                first,
                reason,
            } => write!(
                f,
                "no line of the log is in the format `{format}` ({reason}); it begins with: {first}"
            ),
        }
    }
}

impl std::error::Error for LogError {}

impl From<io::Error> for LogError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
