//! A configuration file from the disk.

use std::path::{Path, PathBuf};

use crate::diagnostic::{Diagnostic, Source, render};
use crate::{Checked, parse};

/// A larger file is no configuration; reading it would only cost memory.
const MAX_BYTES: u64 = 16 << 20;

/// Why a file gave no settings.
#[derive(Debug)]
pub enum LoadError {
    /// It could not be read.
    Read(PathBuf, std::io::Error),
    /// It has more bytes than a configuration may.
    TooLarge(PathBuf),
    /// It is not UTF-8; the offset in bytes of what is not.
    NotText(PathBuf, usize),
    /// It was read, and what it says is wrong.
    Refused(Source, Vec<Diagnostic>),
}

impl LoadError {
    /// The error for a terminal or a log, of one or many lines.
    pub fn render(&self, color: bool) -> String {
        match self {
            Self::Read(path, error) => format!("error: cannot read {}: {error}\n", path.display()),
            Self::TooLarge(path) => {
                format!(
                    "error: {} has more than {MAX_BYTES} bytes\n",
                    path.display()
                )
            }
            Self::NotText(path, offset) => {
                format!("error: {} is not UTF-8 at byte {offset}\n", path.display())
            }
            Self::Refused(source, diagnostics) => render(source, diagnostics, color),
        }
    }
}

impl std::fmt::Display for LoadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.render(false).trim_end())
    }
}

impl std::error::Error for LoadError {}

/// Reads and checks a file.
///
/// # Errors
/// It cannot be read, is not text, or has an error in it; all of its errors are reported.
pub fn load(path: &Path) -> Result<Checked, LoadError> {
    let source = read(path)?;
    parse(&source).map_err(|diagnostics| LoadError::Refused(source, diagnostics))
}

fn read(path: &Path) -> Result<Source, LoadError> {
    use std::io::Read as _;
    let failed = |error| LoadError::Read(path.into(), error);
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(LoadError::TooLarge(path.into()));
    }
    let text = String::from_utf8(bytes)
        .map_err(|error| LoadError::NotText(path.into(), error.utf8_error().valid_up_to()))?;
    Ok(Source {
        name: path.display().to_string(),
        text,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn says_which_file_and_why() {
        let error = load(Path::new("/nonexistent/forebay.toml")).unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("error: cannot read /nonexistent/forebay.toml: "),
            "{text}"
        );

        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let text = load(Path::new(manifest)).unwrap_err().to_string();
        assert!(text.contains("unknown section `package`"), "{text}");
        assert!(text.contains("Cargo.toml:1:"), "{text}");
    }
}
