//! What goes wrong between this client and a store, worded for the operator.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::archive::Damage;

/// An error that ends what was begun.
#[derive(Debug)]
pub enum Error {
    /// No connection came about.
    Unreachable {
        /// The store.
        address: String,
        /// Why not.
        error: io::Error,
    },
    /// The connection broke, or the store was silent for too long.
    Lost {
        /// The store.
        address: String,
        /// How.
        error: io::Error,
    },
    /// The store said no.
    Refused {
        /// The store.
        address: String,
        /// In its own words.
        words: String,
    },
    /// What came back is no answer to what was asked.
    Strange {
        /// The store.
        address: String,
        /// What was expected, and what came.
        words: String,
    },
    /// A file cannot be read or written.
    File {
        /// Which.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// An export that is not whole.
    Damaged {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        damage: Damage,
    },
    /// What is asked for cannot be asked of a store.
    Unaskable(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable { address, error } => unreachable(f, address, error),
            Self::Lost { address, error } => lost(f, address, error),
            Self::Refused { address, words } => write!(f, "{address} refused: {words}"),
            Self::Strange { address, words } => write!(
                f,
                "{address} does not answer as a session store does ({words}): is it another service, or an older memcached than 1.6?"
            ),
            Self::File { path, error } => write!(f, "{}: {error}", path.display()),
            Self::Damaged { path, damage } => write!(f, "{}: {damage}", path.display()),
            Self::Unaskable(words) => f.write_str(words),
        }
    }
}

impl std::error::Error for Error {}

fn unreachable(f: &mut fmt::Formatter<'_>, address: &str, error: &io::Error) -> fmt::Result {
    match error.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => write!(
            f,
            "nobody listens on {address}: is the store running, with this address?"
        ),
        io::ErrorKind::PermissionDenied => {
            write!(f, "{address} may not be used by this user: {error}")
        }
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            write!(f, "{address} did not answer in time")
        }
        _ => write!(f, "{address} cannot be reached: {error}"),
    }
}

fn lost(f: &mut fmt::Formatter<'_>, address: &str, error: &io::Error) -> fmt::Result {
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            write!(f, "{address} did not answer in time")
        }
        io::ErrorKind::UnexpectedEof => write!(f, "{address} closed the connection"),
        _ => write!(f, "the connection to {address} broke: {error}"),
    }
}
