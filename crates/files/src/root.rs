//! A root directory, and files below it: nothing outside of it is ever opened.
//!
//! The system does the work: `openat2` resolves a path below a directory in one call that no
//! renaming meanwhile can lead astray. Where it is missing (before Linux 5.6, or forbidden by a
//! sandbox), and for symbolic links with an absolute target, `walk.rs` goes from name to name.

use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use forebay_config::settings::Symlinks;
use parking_lot::Mutex;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;

use crate::walk;

/// A directory whose files are served.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    symlinks: Symlinks,
    /// It is opened anew from time to time: it may be a symbolic link that now leads elsewhere,
    /// as deployments leave it.
    opened: Mutex<Option<Opened>>,
}

#[derive(Clone, Debug)]
struct Opened {
    directory: Arc<OwnedFd>,
    until_ms: u64,
}

/// Why a file was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unopened {
    /// There is none, or the settings forbid the symbolic link that leads to it.
    Missing,
    /// It is there, and this process may not read it.
    Forbidden,
    /// The system failed: no descriptor is left, the disk is broken.
    Failed(Errno),
}

impl fmt::Display for Unopened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("no such file"),
            Self::Forbidden => f.write_str("the file may not be read"),
            Self::Failed(error) => write!(f, "the file cannot be opened: {error}"),
        }
    }
}

impl From<Errno> for Unopened {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV | Errno::NAMETOOLONG => {
                Self::Missing
            }
            // A socket, or a device that is not there.
            Errno::NXIO | Errno::NODEV | Errno::INVAL => Self::Missing,
            Errno::ACCESS | Errno::PERM => Self::Forbidden,
            error => Self::Failed(error),
        }
    }
}

/// `openat2` is not there: it is not tried again.
static WITHOUT_OPENAT2: AtomicBool = AtomicBool::new(false);

/// How often a resolution that a renaming disturbed is begun again.
const MOST_ATTEMPTS: usize = 8;

/// Never waits for the other end of a pipe, never becomes a controlling terminal.
pub(crate) const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Only to be looked at.
pub(crate) const LOOK: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

impl Root {
    /// The directory at `path`; it is opened when something below it is.
    pub fn new(path: &Path, symlinks: Symlinks) -> Self {
        Self {
            path: path.to_owned(),
            symlinks,
            opened: Mutex::new(None),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory itself. It is opened again when it was opened before `until_ms`, a moment of
    /// its last opening, has passed.
    ///
    /// # Errors
    /// It is not there, or may not be entered.
    pub fn directory(&self, now_ms: u64, keep_ms: u64) -> Result<Arc<OwnedFd>, Unopened> {
        let mut opened = self.opened.lock();
        if let Some(opened) = opened.as_ref().filter(|opened| now_ms < opened.until_ms) {
            return Ok(Arc::clone(&opened.directory));
        }
        let directory = openat(CWD, &self.path, LOOK | OFlags::DIRECTORY, Mode::empty())?;
        let directory = Arc::new(directory);
        *opened = Some(Opened {
            directory: Arc::clone(&directory),
            until_ms: now_ms.saturating_add(keep_ms),
        });
        Ok(directory)
    }

    /// Opens what is at `path` below `directory`, which is this root's; the empty path is the
    /// directory. The caller looks whether it is a regular file.
    ///
    /// # Errors
    /// See [`Unopened`].
    pub fn open(&self, directory: impl AsFd, path: &[u8]) -> Result<OwnedFd, Unopened> {
        self.open_as(directory.as_fd(), path, READ)
    }

    /// The same, only to be looked at: it need not be readable.
    ///
    /// # Errors
    /// See [`Unopened`].
    pub fn look(&self, directory: impl AsFd, path: &[u8]) -> Result<OwnedFd, Unopened> {
        self.open_as(directory.as_fd(), path, LOOK)
    }

    fn open_as(
        &self,
        directory: std::os::fd::BorrowedFd<'_>,
        path: &[u8],
        flags: OFlags,
    ) -> Result<OwnedFd, Unopened> {
        let path = if path.is_empty() { b"." } else { path };
        if self.symlinks == Symlinks::Follow {
            return Ok(openat(directory, path, flags, Mode::empty())?);
        }
        if !WITHOUT_OPENAT2.load(Relaxed) {
            let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
            if self.symlinks == Symlinks::Never {
                resolve |= ResolveFlags::NO_SYMLINKS;
            }
            match resolved(directory, path, flags, resolve) {
                Err(Errno::NOSYS) => WITHOUT_OPENAT2.store(true, Relaxed),
                // Some sandboxes forbid what they do not know: walking shows what it was.
                Err(Errno::PERM) => {}
                // A link with an absolute target, which may lie below the root all the same.
                Err(Errno::XDEV) if self.symlinks == Symlinks::Inside => {}
                other => return Ok(other?),
            }
        }
        let walk = walk::Walk {
            root: directory,
            root_path: &self.path,
            follow: self.symlinks == Symlinks::Inside,
        };
        Ok(walk.open(path, flags)?)
    }
}

fn resolved(
    directory: std::os::fd::BorrowedFd<'_>,
    path: &[u8],
    flags: OFlags,
    resolve: ResolveFlags,
) -> Result<OwnedFd, Errno> {
    let mut last = Errno::AGAIN;
    for _ in 0..MOST_ATTEMPTS {
        match openat2(directory, path, flags, Mode::empty(), resolve) {
            Err(error @ (Errno::AGAIN | Errno::INTR)) => last = error,
            done => return done,
        }
    }
    Err(last)
}
