//! Stores of sessions.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A store of sessions.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SessionState {
    /// Its name.
    pub name: String,
    /// Where clients connect.
    pub addresses: Vec<String>,
    /// What it counts and holds, by key.
    pub figures: Map<String, Value>,
}

/// That a store's contents, as they are at this moment, are to be copied.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotOrder {
    /// The store's name.
    pub store: String,
    /// The directory that is made; an absolute path on the server's machine.
    pub directory: PathBuf,
}
