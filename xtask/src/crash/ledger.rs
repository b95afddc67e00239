//! What the crash test knows about each object, over all lives of the server: the origin's version, the oldest version
//! that may still be served after the purges that were acknowledged, and since when it is on disk.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use super::content::Filler;

/// How long an object has to have been on disk before it may not be lost.
pub(super) const SETTLED: Duration = Duration::from_secs(2);
/// A start may take back so many of the oldest segments, to have room to write.
const SPARE_SEGMENTS: u64 = 6;

/// Of all objects.
#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) filler: Filler,
    rows: Vec<Row>,
    /// The newest segment file.
    newest: AtomicU64,
}

#[derive(Debug, Default)]
struct Row {
    /// The origin's.
    current: AtomicU32,
    /// Older ones were purged, and that was acknowledged.
    least: AtomicU32,
    stored: Mutex<Option<Stored>>,
}

/// The newest version that was seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored {
    pub(super) version: u32,
    /// It is in this segment or a later one: the newest when it was first asked for.
    segment: u64,
    /// When it was first seen to be on disk.
    on_disk: Option<Instant>,
}

/// Where an answer came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    /// It was fetched for this request.
    Origin,
    /// It lay in memory; it may be on disk as well.
    Memory,
    Disk,
}

/// The numbers of the oldest and the newest segment file in `dir`.
pub(super) fn segments(dir: &Path) -> Option<(u64, u64)> {
    let files = std::fs::read_dir(dir).ok()?.flatten();
    let numbers = files.filter_map(|f| {
        let name = f.file_name();
        name.to_str()?.strip_suffix(".seg")?.parse().ok()
    });
    numbers.fold(None, |found, number: u64| match found {
        None => Some((number, number)),
        Some((oldest, newest)) => Some((number.min(oldest), number.max(newest))),
    })
}

impl Ledger {
    pub(super) fn new(objects: usize) -> Self {
        Self {
            filler: Filler::new(),
            rows: std::iter::repeat_with(Row::default).take(objects).collect(),
            newest: AtomicU64::new(0),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The origin's version, if there is such an object.
    pub(super) fn current(&self, number: usize) -> Option<u32> {
        self.rows.get(number).map(|row| row.current.load(SeqCst))
    }

    /// The oldest version that an answer to a request from now on may have.
    pub(super) fn least(&self, number: usize) -> u32 {
        self.rows
            .get(number)
            .map_or(0, |row| row.least.load(SeqCst))
    }

    /// The origin has something new for these objects, and a purge is about to say so.
    pub(super) fn change(&self, numbers: &[usize]) {
        for row in numbers.iter().filter_map(|&n| self.rows.get(n)) {
            row.current.fetch_add(1, SeqCst);
        }
    }

    /// The purge of these objects was acknowledged. Only one thread changes and purges.
    pub(super) fn purged(&self, numbers: &[usize]) {
        for row in numbers.iter().filter_map(|&n| self.rows.get(n)) {
            row.least.store(row.current.load(SeqCst), SeqCst);
        }
    }

    /// The newest segment as of a moment ago.
    pub(super) fn newest(&self) -> u64 {
        self.newest.load(SeqCst)
    }

    pub(super) fn set_newest(&self, segment: u64) {
        self.newest.store(segment, SeqCst);
    }

    /// An answer had this version. `newest` is the newest segment as of before the request.
    pub(super) fn saw(&self, number: usize, version: u32, newest: u64, from: From) {
        let row = self.rows.get(number);
        let Some(mut stored) = row.and_then(|row| row.stored.lock().ok()) else {
            return;
        };
        let is_new = match *stored {
            None => true,
            Some(stored) if stored.version == version => from == From::Origin,
            Some(stored) => stored.version < version,
        };
        if is_new {
            *stored = Some(Stored {
                version,
                segment: newest,
                on_disk: None,
            });
        }
        if let Some(stored) = stored.as_mut()
            && from == From::Disk
            && stored.version == version
        {
            stored.on_disk.get_or_insert_with(Instant::now);
        }
    }

    /// What may not be lost by a kill at that moment, where `oldest` is the oldest segment that is left.
    pub(super) fn expected(&self, number: usize, killed: Instant, oldest: u64) -> Option<Stored> {
        let row = self.rows.get(number)?;
        let stored = (*row.stored.lock().ok()?)?;
        let settled = stored
            .on_disk
            .is_some_and(|since| killed.saturating_duration_since(since) > SETTLED);
        let is_current = row.current.load(SeqCst) == stored.version;
        let is_left = stored.segment >= oldest + SPARE_SEGMENTS;
        (settled && is_current && is_left).then_some(stored)
    }

    /// It is not stored any more.
    pub(super) fn lost(&self, number: usize) {
        if let Some(mut stored) = self.rows.get(number).and_then(|row| row.stored.lock().ok()) {
            *stored = None;
        }
    }

    /// Whether it was on disk when it was last seen.
    pub(super) fn was_on_disk(&self, number: usize) -> bool {
        let row = self.rows.get(number);
        row.and_then(|row| row.stored.lock().ok())
            .is_some_and(|stored| stored.is_some_and(|s| s.on_disk.is_some()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATER: Duration = Duration::from_millis(2001);

    #[test]
    fn only_what_is_settled_current_and_not_taken_back_is_expected() {
        let ledger = Ledger::new(2);
        ledger.saw(0, 0, 10, From::Memory);
        let killed = Instant::now() + LATER;
        assert!(ledger.expected(0, killed, 0).is_none(), "not on disk");
        ledger.saw(0, 0, 12, From::Disk);
        let killed = Instant::now() + LATER;
        assert!(ledger.expected(0, killed, 4).is_some());
        assert!(
            ledger.expected(0, killed, 5).is_none(),
            "its segment may have gone"
        );
        assert!(
            ledger.expected(0, Instant::now(), 4).is_none(),
            "not settled"
        );
        ledger.change(&[0]);
        assert!(
            ledger.expected(0, killed, 4).is_none(),
            "a purge may have reached it"
        );
        assert_eq!(ledger.least(0), 0);
        ledger.purged(&[0]);
        assert_eq!((ledger.least(0), ledger.current(0)), (1, Some(1)));
    }

    #[test]
    fn a_new_version_is_on_disk_only_when_it_was_seen_there() {
        let ledger = Ledger::new(1);
        ledger.saw(0, 0, 10, From::Disk);
        ledger.change(&[0]);
        ledger.saw(0, 1, 11, From::Memory);
        ledger.saw(0, 0, 11, From::Disk);
        assert!(ledger.expected(0, Instant::now() + LATER, 0).is_none());
        ledger.saw(0, 1, 12, From::Disk);
        assert!(ledger.expected(0, Instant::now() + LATER, 0).is_some());
        ledger.saw(0, 1, 13, From::Origin);
        assert!(
            ledger.expected(0, Instant::now() + LATER, 0).is_none(),
            "it was fetched again"
        );
    }
}
