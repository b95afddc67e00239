//! The files that options name. An agent gets those of the machine that leads
//! it, so every file is read through here.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Where files come from.
#[derive(Clone, Debug)]
pub(crate) enum Files {
    /// This machine.
    Here,
    /// This machine; what was read is remembered for agents.
    Remembered(Arc<Mutex<BTreeMap<String, Vec<u8>>>>),
    /// What the leading machine sent.
    Sent(Arc<BTreeMap<String, Vec<u8>>>),
}

impl Files {
    /// This machine's, kept for agents if there are any.
    pub(crate) fn here(for_agents: bool) -> Self {
        if for_agents {
            Self::Remembered(Arc::default())
        } else {
            Self::Here
        }
    }

    pub(crate) fn sent(files: BTreeMap<String, Vec<u8>>) -> Self {
        Self::Sent(Arc::new(files))
    }

    /// The bytes of a file.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn bytes(&self, path: &Path) -> io::Result<Vec<u8>> {
        let name = path.to_string_lossy().into_owned();
        match self {
            Self::Here => std::fs::read(path),
            Self::Remembered(read) => {
                let bytes = std::fs::read(path)?;
                read.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(name, bytes.clone());
                Ok(bytes)
            }
            Self::Sent(files) => files.get(&name).cloned().ok_or_else(|| {
                io::Error::new(
                    io::ErrorKind::NotFound,
                    "the leading machine did not send it",
                )
            }),
        }
    }

    /// A file to be read from its beginning, as it may be large.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn open(&self, path: &Path) -> io::Result<Box<dyn BufRead>> {
        Ok(match self {
            Self::Here => Box::new(BufReader::with_capacity(1 << 20, File::open(path)?)),
            _ => Box::new(Cursor::new(self.bytes(path)?)),
        })
    }

    /// The text of a file, with errors that name it.
    ///
    /// # Errors
    /// In words for the user.
    pub(crate) fn text(&self, path: &Path) -> Result<String, String> {
        let bytes = self.bytes(path).map_err(|error| unreadable(path, &error))?;
        String::from_utf8(bytes).map_err(|error| {
            let line = error.as_bytes()[..error.utf8_error().valid_up_to()]
                .iter()
                .filter(|&&byte| byte == b'\n')
                .count();
            format!("{}:{}: it is not UTF-8", path.display(), line + 1)
        })
    }

    /// Everything that was read here.
    pub(crate) fn all(&self) -> BTreeMap<String, Vec<u8>> {
        match self {
            Self::Here => BTreeMap::new(),
            Self::Remembered(read) => read.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            Self::Sent(files) => (**files).clone(),
        }
    }
}

/// A file that cannot be read, in words.
pub(crate) fn unreadable(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}
