//! A file that is read at the start and again when it has changed; it is looked at once a second
//! at most, whatever the number of requests.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

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
    stamp: Option<Stamp>,
    made: Option<Arc<T>>,
    exists: bool,
}

/// What changes when a file does.
type Stamp = (u64, Option<SystemTime>);

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
                exists: false,
            }),
        }
    }

    /// What the file says now, or said when it could last be read; `None`: it never could.
    pub(super) fn get(&self, now_ms: u64) -> Option<Arc<T>> {
        let mut seen = self.seen.lock();
        if seen.is_due(now_ms) {
            self.look(&mut seen);
        }
        seen.made.clone()
    }

    fn look(&self, seen: &mut Seen<T>) {
        let stamp = std::fs::metadata(&self.path).map(|found| (found.len(), found.modified().ok()));
        let was_there = std::mem::replace(&mut seen.exists, stamp.is_ok());
        let read = match stamp {
            Ok(stamp) if seen.stamp == Some(stamp) => return,
            Ok(stamp) => {
                seen.stamp = Some(stamp);
                self.read()
            }
            Err(error) => Err(error),
        };
        match (read, self.make) {
            (Ok(bytes), Some(make)) => seen.made = Some(Arc::new(make(&self.path, bytes))),
            (Ok(_), None) => {}
            // Said once, not once a second.
            (Err(error), _)
                if was_there || seen.exists || seen.made.is_none() && seen.stamp.is_none() =>
            {
                seen.stamp.get_or_insert((0, None));
                tracing::warn!("cannot read {}: {error}", self.path.display());
            }
            (Err(_), _) => {}
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
