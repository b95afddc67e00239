//! A location's files: settings made ready, and what is remembered of paths without a file.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use forebay_cache::Object;
use forebay_cache::object::Stamp as Numbers;
use forebay_config::settings::{Files, Service};
use forebay_config::template::{Groups, Piece, parse};
use forebay_files::{Answer, Found, Relative, Root, Stamp, Unopened, find};
use rapidhash::quality::RandomState;

/// Where a location's files are.
#[derive(Debug)]
pub(crate) struct FilePlace {
    pub(crate) settings: Files,
    pub(crate) root: Root,
    /// `try_files`, parsed.
    candidates: Vec<Vec<Piece>>,
    /// Tells these settings from others: an object that was made by others is not used.
    pub(crate) number: u64,
    /// [`Files::check`].
    pub(crate) check_ms: u64,
    /// Somebody else answers where there is no file.
    pub(crate) falls_through: bool,
    /// What scripts end in, which are run and never shown.
    scripts: Option<String>,
    /// When the root was last complained about.
    complained_ms: AtomicU64,
}

/// How long a root that is not there is not complained about again.
const COMPLAINT_MS: u64 = 60_000;

impl FilePlace {
    /// That of a service, if it has one. `runs_scripts`: its pool does, or somebody for `php`, so
    /// that their source is never shown.
    pub(crate) fn of(service: &Service, runs_scripts: bool) -> Option<Self> {
        let settings = service.files.clone()?;
        let mut hasher = DefaultHasher::new();
        format!("{settings:?} {:?}", service.compress).hash(&mut hasher);
        let php = service.cgi.php.is_some();
        let extension = Some(service.cgi.extension.clone());
        let candidates = settings.try_files.iter();
        // What cannot be parsed was refused with the file.
        let candidates = candidates.filter_map(|text| parse(text, &Groups::default()).ok());
        Some(Self {
            candidates: candidates.collect(),
            root: Root::new(&settings.root, settings.symlinks),
            number: hasher.finish(),
            check_ms: settings.check.as_millis() as u64,
            falls_through: service.pool.is_some() || php,
            scripts: extension.filter(|extension| runs_scripts && !extension.is_empty()),
            complained_ms: AtomicU64::new(0),
            settings,
        })
    }

    /// The open root.
    pub(super) fn directory(&self, now_ms: u64) -> Result<Arc<OwnedFd>, Unopened> {
        self.root.directory(now_ms, self.check_ms)
    }

    /// What there is for a path.
    pub(super) fn find(&self, directory: &OwnedFd, asked: &Relative, host: &[u8]) -> Answer {
        let candidates = self.candidates.iter();
        let candidates: Vec<Vec<u8>> = candidates
            .filter_map(|candidate| filled(candidate, asked, host))
            .collect();
        if candidates.is_empty() && !self.settings.try_files.is_empty() {
            return Answer::Nothing;
        }
        find(&self.root, directory, &self.settings, asked, &candidates)
    }

    /// Whether a file is a script, which is run and not shown.
    pub(super) fn is_script(&self, found: &Found) -> bool {
        let extension = self.scripts.as_ref();
        extension.is_some_and(|extension| found.path.name().ends_with(extension.as_bytes()))
    }

    /// Whether what files do not answer is the pool's, with no script to be found for it.
    pub(super) fn is_for_the_pool(&self) -> bool {
        self.falls_through && self.scripts.is_none()
    }

    /// Whether an object was made of a file, by these settings.
    #[inline]
    pub(crate) fn is_of(&self, object: &Object) -> bool {
        object.stamp().is_some_and(|stamp| stamp[0] == self.number)
    }

    /// What an object made of this file is recognised by.
    pub(super) fn numbers(&self, stamp: &Stamp) -> Numbers {
        let [device, inode, size, modified, changed] = stamp.to_numbers();
        [self.number, device, inode, size, modified, changed]
    }

    /// The same for what is read now. Content that may yet change without a trace gets numbers
    /// that no file has, so that it is read again.
    pub(super) fn numbers_to_keep(&self, stamp: &Stamp, now_ms: u64) -> Numbers {
        let mut numbers = self.numbers(stamp);
        if !stamp.is_settled(now_ms) {
            numbers[5] ^= 1 << 63;
        }
        numbers
    }

    /// Tells the operator that the root is not there, now and then.
    pub(super) fn complain(&self, error: &Unopened, now_ms: u64) {
        let before = self.complained_ms.load(Relaxed);
        if before == 0 || now_ms.saturating_sub(before) > COMPLAINT_MS {
            self.complained_ms.store(now_ms, Relaxed);
            tracing::warn!("root {}: {error}", self.root.path().display());
        }
    }
}

/// A candidate of `try_files`; `None` when it names something that no file's name can be made of.
fn filled(candidate: &[Piece], asked: &Relative, host: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for piece in candidate {
        match piece {
            Piece::Text(text) => out.extend_from_slice(text.as_bytes()),
            Piece::Path => out.extend_from_slice(asked.as_path()),
            Piece::Host if !host.contains(&b'/') => out.extend_from_slice(host),
            _ => return None,
        }
    }
    Some(out)
}

/// Paths without a file, remembered for as long as a file is not looked at again: what a pool
/// answers must not cost a look at the disk each time.
#[derive(Debug, Default)]
pub(crate) struct Absent(RefCell<HashMap<u64, Noted, RandomState>>);

/// Until when, in milliseconds since the epoch, and the script that answers in its place.
type Noted = (u64, Box<[u8]>);

/// Paths remembered by one worker; then all are forgotten.
const MOST_ABSENT: usize = 16_384;

impl Absent {
    /// Whether there was none lately; puts the script that answers instead, if one does, into
    /// `script`.
    #[inline]
    pub(super) fn find(&self, path: u64, now_ms: u64, script: &mut Vec<u8>) -> bool {
        let absent = self.0.borrow();
        let noted = absent.get(&path);
        let Some((_, noted)) = noted.filter(|(until_ms, _)| now_ms < *until_ms) else {
            return false;
        };
        script.clear();
        script.extend_from_slice(noted);
        true
    }

    pub(super) fn note(&self, path: u64, until_ms: u64, script: &[u8]) {
        let mut absent = self.0.borrow_mut();
        if absent.len() >= MOST_ABSENT {
            absent.clear();
        }
        absent.insert(path, (until_ms, script.into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_filled_with_the_decoded_path() {
        let Ok(asked) = Relative::of_request(b"/a%20b", false) else {
            panic!("a plain path")
        };
        let fill = |template| {
            let template = parse(template, &Groups::default()).ok()?;
            let filled = filled(&template, &asked, b"shop.example")?;
            String::from_utf8(filled).ok()
        };
        assert_eq!(fill("{path}").as_deref(), Some("/a b"));
        assert_eq!(fill("{path}.html").as_deref(), Some("/a b.html"));
        assert_eq!(
            fill("/{host}{path}/").as_deref(),
            Some("/shop.example/a b/")
        );
        assert_eq!(fill("/index.html").as_deref(), Some("/index.html"));
        assert_eq!(fill("=404").as_deref(), Some("=404"));
        assert_eq!(fill("/{{{path}}}").as_deref(), Some("/{/a b}"));
        assert_eq!(fill("/{query}"), None);
        assert_eq!(fill("/{path"), None);
    }
}
