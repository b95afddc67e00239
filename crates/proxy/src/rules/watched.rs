//! A file that is read at the start and again when it has changed; it is looked at once a second
//! at most, whatever the number of requests.

use std::io::Read as _;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

/// How long what was seen counts, in milliseconds.
const CHECK_MS: u64 = 1_000;

/// What is made of a file's bytes.
type Make<T> = fn(&Path, Vec<u8>) -> T;

/// The file and what was made of it.
#[derive(Debug)]
pub(super) struct Watched<T> {
    path: PathBuf,
    most_bytes: u64,
    make: Option<Make<T>>,
    seen: Mutex<Seen<T>>,
}

#[derive(Debug)]
struct Seen<T> {
    /// When it was looked at; `None`: never.
    at_ms: Option<u64>,
    /// Of the file that `made` was made of.
    stamp: Option<Stamp>,
    made: Option<Arc<T>>,
    /// It could not be read when it was last looked at, which the log has.
    failed: bool,
    exists: bool,
}

/// What changes when a file does, or another takes its place.
type Stamp = (u64, u64, i64, i64, i64, i64);

fn stamp(path: &Path) -> std::io::Result<Stamp> {
    let found = std::fs::metadata(path)?;
    let (size, inode) = (found.size(), found.ino());
    let modified = (found.mtime(), found.mtime_nsec());
    let changed = (found.ctime(), found.ctime_nsec());
    Ok((size, inode, modified.0, modified.1, changed.0, changed.1))
}

impl Watched<()> {
    /// A file of which only counts whether it is there.
    pub(super) fn switch(path: &Path) -> Self {
        Self {
            make: None,
            ..Self::new(path, 0, |_, _| ())
        }
    }

    /// Whether it is there.
    pub(super) fn exists(&self, now_ms: u64) -> bool {
        let mut seen = self.seen.lock();
        if seen.is_due(now_ms) {
            seen.exists = self.path.exists();
        }
        seen.exists
    }
}

impl<T> Watched<T> {
    pub(super) fn new(path: &Path, most_bytes: u64, make: Make<T>) -> Self {
        Self {
            path: path.into(),
            most_bytes,
            make: Some(make),
            seen: Mutex::new(Seen {
                at_ms: None,
                stamp: None,
                made: None,
                failed: false,
                exists: false,
            }),
        }
    }

    /// What the file says now, or said when it could last be read; `None`: it never could.
    pub(super) fn get(&self, now_ms: u64) -> Option<Arc<T>> {
        let mut seen = self.seen.lock();
        if seen.is_due(now_ms) {
            // It may be long: the other workers go on with what was there.
            let known = seen.stamp.filter(|_| !seen.failed);
            drop(seen);
            let looked = self.look(known);
            seen = self.seen.lock();
            self.note(&mut seen, looked);
        }
        seen.made.clone()
    }

    /// What the file says, unless it is the one that is `known`.
    fn look(&self, known: Option<Stamp>) -> std::io::Result<Option<(Stamp, Arc<T>)>> {
        let stamp = stamp(&self.path)?;
        let Some(make) = self.make.filter(|_| known != Some(stamp)) else {
            return Ok(None);
        };
        let made = make(&self.path, self.read()?);
        Ok(Some((stamp, Arc::new(made))))
    }

    fn note(&self, seen: &mut Seen<T>, looked: std::io::Result<Option<(Stamp, Arc<T>)>>) {
        match looked {
            Ok(Some((stamp, made))) => {
                (seen.stamp, seen.made) = (Some(stamp), Some(made));
                seen.failed = false;
            }
            Ok(None) => seen.failed = false,
            Err(error) => {
                // Said once, not once a second.
                if !std::mem::replace(&mut seen.failed, true) {
                    tracing::warn!("cannot read {}: {error}", self.path.display());
                }
            }
        }
    }

    fn read(&self) -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let file = std::fs::File::open(&self.path)?;
        file.take(self.most_bytes + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > self.most_bytes {
            let message = format!("it has more than {} bytes", self.most_bytes);
            return Err(std::io::Error::other(message));
        }
        Ok(bytes)
    }

    /// The media type of a page, by its name.
    pub(super) fn media_type(&self) -> &'static str {
        match self.path.extension().and_then(|own| own.to_str()) {
            Some("txt") => "text/plain; charset=utf-8",
            Some("json") => "application/json",
            Some("xml") => "application/xml",
            _ => "text/html; charset=utf-8",
        }
    }
}

impl<T> Seen<T> {
    fn is_due(&mut self, now_ms: u64) -> bool {
        let fresh = self
            .at_ms
            .is_some_and(|at| now_ms < at + CHECK_MS && now_ms >= at);
        if !fresh {
            self.at_ms = Some(now_ms);
        }
        !fresh
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_seen_after_a_second_and_a_lost_file_keeps_what_it_said() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("page.html");
        std::fs::write(&path, "one").unwrap();
        let page = Watched::new(&path, 10, |_, bytes| bytes);
        let text = |now_ms| {
            page.get(now_ms)
                .map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
        };
        assert_eq!(text(0).as_deref(), Some("one"));
        std::fs::write(&path, "three").unwrap();
        assert_eq!(text(999).as_deref(), Some("one"));
        assert_eq!(text(1_000).as_deref(), Some("three"));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(text(2_000).as_deref(), Some("three"));
        std::fs::write(&path, "far more than it may be").unwrap();
        assert_eq!(text(3_000).as_deref(), Some("three"));
        std::fs::write(&path, "four").unwrap();
        assert_eq!(text(4_000).as_deref(), Some("four"));
    }

    #[test]
    fn a_file_that_could_not_be_read_is_tried_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("users");
        // Nothing about it changes but that it can be read.
        std::fs::create_dir(&path).unwrap();
        let users = Watched::new(&path, 10, |_, bytes| bytes);
        assert!(users.get(0).is_none());
        std::fs::remove_dir(&path).unwrap();
        std::fs::write(&path, "ann").unwrap();
        assert_eq!(users.get(1_000).as_deref(), Some(&b"ann".to_vec()));
    }

    #[test]
    fn a_switch_is_there_or_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("maintenance");
        let switch = Watched::switch(&path);
        assert!(!switch.exists(0));
        std::fs::write(&path, "").unwrap();
        assert!(!switch.exists(500));
        assert!(switch.exists(1_000));
    }
}
