//! What a disk has to know besides objects: the seed that key hashes are made with, and what
//! was purged. Each directory has all of it, so that any of them can be lost.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crc32c::crc32c;
use forebay_store::{Journal, Log, private};

use super::Disk;
use crate::key::Key;
use crate::purge::journal::{self, Entry, Scope};
use crate::purge::{Keep, Purges, Verdict, seed_mark};

/// The file of the seed: 16 hexadecimal digits, 16 of what a known text hashes to with it, and 8
/// of the checksum of both. A hash that changed makes everything unfindable, like another seed.
pub(super) const SEED: &str = "seed";
/// The file of the purges.
const PURGES: &str = "purges";

/// The journals of all directories. A purge is durable when it is in that of every directory
/// that works; one that cannot be written to is given up with its objects, for what was purged
/// would come back from there.
struct Journals(Vec<(Arc<Log>, Journal)>);

impl Journals {
    fn each(&self, write: impl Fn(&Journal) -> io::Result<()>) -> io::Result<()> {
        let working = self.0.iter().filter(|(log, _)| !log.is_failed());
        let (mut written, mut failed) = (0, Vec::new());
        for (log, journal) in working {
            match write(journal) {
                Ok(()) => written += 1,
                Err(error) => failed.push((log, error)),
            }
        }
        // Where nothing can be kept any more, nothing can come back.
        if written == 0 {
            return failed.pop().map_or(Ok(()), |(_, error)| Err(error));
        }
        for (log, error) in failed {
            tracing::error!(
                "{}: purges cannot be written down: {error}",
                log.path().display()
            );
            log.fail();
        }
        Ok(())
    }
}

impl Keep for Journals {
    fn append(&self, record: &[u8]) -> io::Result<()> {
        self.each(|journal| journal.append(record).map_err(io::Error::other))
    }

    fn rewrite(&self, records: &[Vec<u8>]) -> io::Result<()> {
        let records: Vec<&[u8]> = records.iter().map(|record| &record[..]).collect();
        self.each(|journal| journal.rewrite(&records).map_err(io::Error::other))
    }
}

impl Disk {
    /// The seed of the hashes on disk, or `fresh` where there is none, and what was purged
    /// while it was in use; with what was wrong, in words for the operator.
    ///
    /// # Errors
    /// No directory can be written to.
    pub fn history(&self, fresh: u64) -> io::Result<(u64, Purges, Vec<String>)> {
        let paths = || {
            self.directories
                .iter()
                .map(|directory| directory.log.path())
        };
        let seed = paths().find_map(read_seed).unwrap_or(fresh);
        let (mut journals, mut records) = (Vec::new(), Vec::new());
        let mut problems = Vec::new();
        // The last moment of each journal. Every start writes one to all of them, so that one
        // that was away, or lost its end, is behind.
        let mut last = Vec::new();
        let mut is_whole = true;
        for directory in &self.directories {
            let path = directory.log.path();
            let is_known = read_seed(path) == Some(seed);
            if !is_known {
                // What lies there cannot be found: its hashes were made otherwise.
                write_seed(path, seed)?;
            }
            match Journal::open(&path.join(PURGES)) {
                Ok((journal, kept)) => {
                    if is_known {
                        is_whole &= journal.lost_bytes() == 0;
                        last.push(last_moment(&kept, seed));
                        records.extend(kept);
                    }
                    journals.push((Arc::clone(&directory.log), journal));
                }
                Err(error) => {
                    problems.push(error.to_string());
                    directory.log.fail();
                }
            }
        }
        is_whole &= last.windows(2).all(|two| two[0] == two[1]) && !last.contains(&None);
        if !is_whole {
            // Read as damage: all that is older is validated before its next use.
            records.push(Vec::new());
            records.extend(journal::encode(&[later_than_any()], seed_mark(seed)));
        }
        let (purges, wrong) = Purges::with_journal(seed, Box::new(Journals(journals)), records);
        problems.extend(wrong);
        Ok((seed, purges, problems))
    }
}

/// A moment after all those that objects on disk can know, though no journal tells of them:
/// time runs faster than moments are used up (256 for a purge, a million for a start).
fn later_than_any() -> Entry {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_ms = since.map_or(0, |since| since.as_millis() as u64);
    Entry {
        moment: now_ms << 10,
        strength: Verdict::Current,
        scope: Scope::Moment,
    }
}

/// The latest moment that a journal knows; `None` for one that has nothing in it.
fn last_moment(records: &[Vec<u8>], seed: u64) -> Option<u64> {
    let entries = records
        .iter()
        .flat_map(|record| journal::decode(record, seed_mark(seed)).0);
    entries.map(|entry| entry.moment).max()
}

fn read_seed(path: &Path) -> Option<u64> {
    let text = fs::read_to_string(path.join(SEED)).ok()?;
    let (known, sum) = text.trim().split_at_checked(32)?;
    if u32::from_str_radix(sum, 16).ok()? != crc32c(known.as_bytes()) {
        return None;
    }
    let (seed, mark) = known.split_at_checked(16)?;
    let seed = u64::from_str_radix(seed, 16).ok()?;
    (u64::from_str_radix(mark, 16).ok()? == mark_of(seed)).then_some(seed)
}

fn mark_of(seed: u64) -> u64 {
    Key::new(b"forebay", seed).hash
}

/// Writes the file beside and puts it in its place, so that there is an old one or a new one.
fn write_seed(path: &Path, seed: u64) -> io::Result<()> {
    let digits = format!("{seed:016x}{:016x}", mark_of(seed));
    let beside = path.join("seed.new");
    let mut options = private::options();
    let mut file = options
        .write(true)
        .create(true)
        .truncate(true)
        .open(&beside)?;
    write!(file, "{digits}{:08x}", crc32c(digits.as_bytes()))?;
    file.sync_all()?;
    fs::rename(&beside, path.join(SEED))?;
    fs::File::open(path)?.sync_all()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_kept_and_a_damaged_one_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        assert_eq!(read_seed(path), None);
        write_seed(path, 0x0123_4567_89ab_cdef).unwrap();
        assert_eq!(read_seed(path), Some(0x0123_4567_89ab_cdef));
        let text = fs::read_to_string(path.join(SEED)).unwrap();
        for at in 0..text.len() {
            let mut damaged = text.clone().into_bytes();
            damaged[at] = if damaged[at] == b'0' { b'1' } else { b'0' };
            fs::write(path.join(SEED), damaged).unwrap();
            assert_eq!(read_seed(path), None, "digit {at}");
        }
    }
}
