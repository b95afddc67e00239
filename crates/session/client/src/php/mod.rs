//! PHP's session files: found, read while PHP goes on using them, and named as PHP's handlers for
//! memcached name them.

mod path;

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use forebay_session::{Item, is_expired};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};

pub use path::SavePath;

use crate::clock::now_s;
use crate::error::Error;
use crate::{Each, VALUE_MOST};

/// How often is looked whether a request let go of its session.
const BUSY_STEP: Duration = Duration::from_millis(20);

/// How a session is called in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Naming {
    /// What stands before the identifier.
    pub prefix: Vec<u8>,
}

impl Naming {
    /// As the extension `memcached` does, unless `memcached.sess_prefix` says otherwise.
    #[must_use]
    pub fn memcached() -> Self {
        Self {
            prefix: b"memc.sess.key.".to_vec(),
        }
    }

    /// As the extension `memcache` does: the identifier alone.
    #[must_use]
    pub fn memcache() -> Self {
        Self { prefix: Vec::new() }
    }
}

/// What is read, and how it is named.
#[derive(Clone, Debug)]
pub struct Php {
    /// Where the files lie.
    pub path: SavePath,
    /// How long a session lives behind its last use: `session.gc_maxlifetime`, in seconds.
    pub lifetime_s: u32,
    /// How keys are made.
    pub naming: Naming,
    /// How long is waited for a request that has a session open.
    pub patience: Duration,
}

/// What was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Walked {
    /// Sessions that were handed on.
    pub sessions: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Sessions whose time is over.
    pub expired: u64,
    /// Files that went away between being found and being read.
    pub gone: u64,
    /// Files that are no sessions by their names, and links.
    pub foreign: u64,
    /// Sessions, and directories, that could not be read. Each was reported.
    pub failed: u64,
}

/// Called with what could not be read, and why.
type Report<'r> = dyn FnMut(&Path, &str) + 'r;

struct Walk<'w> {
    php: &'w Php,
    each: &'w mut Each<'w>,
    report: &'w mut Report<'w>,
    walked: Walked,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Php {
    /// Hands every live session to `each`. Links are not followed, and nothing is changed. A
    /// session that a request has open is waited for. What cannot be read is told to `report`, and the rest goes on.
    ///
    /// # Errors
    /// When the directory itself cannot be read, and those of `each`.
    pub fn each_session<'w>(
        &'w self,
        each: &'w mut Each<'w>,
        report: &'w mut Report<'w>,
    ) -> Result<Walked, Error> {
        let root = &self.path.root;
        let entries = fs::read_dir(root).map_err(|error| Error::File {
            path: root.clone(),
            error,
        })?;
        let mut walk = Walk {
            php: self,
            each,
            report,
            walked: Walked::default(),
            key: Vec::new(),
            value: Vec::new(),
        };
        walk.entries(root, entries, &mut Vec::new())?;
        Ok(walk.walked)
    }
}

impl Walk<'_> {
    /// One directory; `levels` are the names of those above it, below the root.
    fn entries(
        &mut self,
        folder: &Path,
        entries: fs::ReadDir,
        levels: &mut Vec<u8>,
    ) -> Result<(), Error> {
        for entry in entries {
            let found = entry.and_then(|entry| Ok((entry.file_name(), entry.file_type()?)));
            let (name, kind) = match found {
                Ok(found) => found,
                Err(error) => {
                    self.failed(folder, &error);
                    continue;
                }
            };
            let path = folder.join(&name);
            match kind {
                kind if kind.is_dir() => self.below(path, &name, levels)?,
                kind if kind.is_file() && self.php.path.has_files(levels.len()) => {
                    self.file(&path, &name, levels)?;
                }
                _ => self.walked.foreign += 1,
            }
        }
        Ok(())
    }

    fn below(&mut self, path: PathBuf, name: &OsStr, levels: &mut Vec<u8>) -> Result<(), Error> {
        let level = path::level(name.as_bytes());
        let Some(level) = level.filter(|_| self.php.path.goes_below(levels.len())) else {
            return Ok(());
        };
        match fs::read_dir(&path) {
            Ok(entries) => {
                levels.push(level);
                self.entries(&path, entries, levels)?;
                levels.pop();
            }
            Err(error) => self.failed(&path, &error),
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, name: &OsStr, levels: &[u8]) -> Result<(), Error> {
        let Some(id) = path::identifier(name.as_bytes(), levels) else {
            self.walked.foreign += 1;
            return Ok(());
        };
        let read = read(path, self.php, &mut self.value);
        match read {
            Ok(Some(expires_s)) => {
                self.key.clear();
                self.key.extend_from_slice(&self.php.naming.prefix);
                self.key.extend_from_slice(id);
                let item = Item {
                    value: &self.value,
                    expires_s,
                    ..Item::default()
                };
                (self.each)(&self.key, item)?;
                self.walked.sessions += 1;
                self.walked.bytes += self.value.len() as u64;
            }
            Ok(None) => self.walked.expired += 1,
            Err(error) if error.kind() == ErrorKind::NotFound => self.walked.gone += 1,
            Err(error) => self.failed(path, &error),
        }
        Ok(())
    }

    fn failed(&mut self, path: &Path, error: &io::Error) {
        self.walked.failed += 1;
        (self.report)(path, &error.to_string());
    }
}

/// Reads a session, and says when it expires, in unix seconds; `None`: it has.
fn read(path: &Path, php: &Php, value: &mut Vec<u8>) -> io::Result<Option<u32>> {
    // A pipe of that name is not waited for, and a link that was put there meanwhile not followed.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(open(path, flags, Mode::empty())?);
    let seen = file.metadata()?;
    if !seen.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is no file"));
    }
    if is_over(&seen, php.lifetime_s) {
        return Ok(None);
    }
    lock(&file, php.patience)?;
    // What the request that had it open has written is its last use.
    let seen = file.metadata()?;
    // The session was ended while it was waited for.
    if seen.nlink() == 0 {
        return Err(ErrorKind::NotFound.into());
    }
    if seen.len() > VALUE_MOST as u64 {
        let words = "it is larger than any store takes";
        return Err(io::Error::new(ErrorKind::FileTooLarge, words));
    }
    value.clear();
    (&file).take(VALUE_MOST as u64).read_to_end(value)?;
    Ok(Some(expiry(&seen, php.lifetime_s)))
}

/// PHP has a session locked while a request works with it, and what is read then may be half
/// written.
fn lock(file: &File, patience: Duration) -> io::Result<()> {
    let until = Instant::now() + patience;
    loop {
        match flock(file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() < until => {
                std::thread::sleep(BUSY_STEP);
            }
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let words = "a request has it open; import once more when it is done";
                return Err(io::Error::new(ErrorKind::ResourceBusy, words));
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn is_over(seen: &Metadata, lifetime_s: u32) -> bool {
    is_expired(expiry(seen, lifetime_s), now_s())
}

/// A lifetime behind the last change, in unix seconds.
fn expiry(seen: &Metadata, lifetime_s: u32) -> u32 {
    let modified = seen.modified().ok();
    let since = modified.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let modified_s = u32::try_from(since.unwrap_or_default().as_secs()).unwrap_or(u32::MAX);
    // 0 would be for ever.
    modified_s.saturating_add(lifetime_s).max(1)
}
