//! What may be wrong with the file of an export.

use std::fmt;
use std::io;

/// Why a file cannot be read, or not further.
#[derive(Debug)]
pub enum Damage {
    /// It does not begin as an export.
    Foreign,
    /// A later version of the format than this program knows.
    Version(u32),
    /// It ends before its end mark, behind so many whole items.
    CutOff(u64),
    /// A checksum is wrong, behind so many whole items.
    Corrupt(u64),
    /// Its end mark tells of another number of items.
    Count {
        /// What the end mark says.
        said: u64,
        /// What was there.
        found: u64,
    },
    /// Something follows its end mark.
    Trailing,
    /// It cannot be read.
    Unreadable(io::Error),
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign => f.write_str("is no export of sessions"),
            Self::Version(version) => write!(
                f,
                "is an export of version {version}, which this program does not know: use a later forebay"
            ),
            Self::CutOff(items) => write!(
                f,
                "is cut off behind {items} items: it was not written or copied to its end"
            ),
            Self::Corrupt(items) => {
                write!(f, "is damaged behind {items} items: a checksum is wrong")
            }
            Self::Count { said, found } => write!(
                f,
                "is damaged: its end tells of {said} items, but it has {found}"
            ),
            Self::Trailing => f.write_str("goes on behind its end mark: several files in one?"),
            Self::Unreadable(error) => write!(f, "cannot be read: {error}"),
        }
    }
}
