//! Files and directories as they are made: what clients said lies in them, so that they are for
//! the eyes of the process's own user alone. What is there already keeps its permissions.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

const FILE_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;

/// How a file is opened that may be made by it.
pub fn options() -> OpenOptions {
    let mut options = File::options();
    options.mode(FILE_MODE);
    options
}

/// Makes a directory with those above it, if they are not there.
///
/// # Errors
/// The system's.
pub fn create_directory(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.mode(DIRECTORY_MODE).recursive(true).create(path)
}
