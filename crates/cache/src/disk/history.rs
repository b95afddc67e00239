//! What a disk has to know besides objects: the seed that key hashes are made with, and what
//! was purged. Each directory has all of it, so that any of them can be lost.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use forebay_store::{Journal, Log};

use super::Disk;
use crate::key::Key;
use crate::purge::{Keep, Purges};

/// The file of the seed: 16 hexadecimal digits, 16 of what a known text hashes to with it, and 8
/// of the checksum of both. A hash that changed makes everything unfindable, like another seed.
const SEED: &str = "seed";
/// The file of the purges.
const PURGES: &str = "purges";

/// The journals of all directories. A purge is durable when it is in that of every directory
/// that works; one that cannot be written to is given up with its objects, for what was purged
/// would come back from there.
struct Journals(Vec<(Arc<Log>, Journal)>);

impl Journals {
    fn each(&self, write: impl Fn(&Journal) -> io::Result<()>) -> io::Result<()> {
        let mut outcome = Err(io::Error::other("no directory of the disk tier works"));
        for (log, journal) in &self.0 {
            if log.is_failed() {
                continue;
            }
            match write(journal) {
                Ok(()) => outcome = Ok(()),
                Err(error) if self.0.len() == 1 => return Err(error),
                Err(error) => {
                    tracing::error!(
                        "{}: purges cannot be written down: {error}",
                        log.path().display()
                    );
                    log.fail();
                }
            }
        }
        outcome
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
        let (purges, wrong) = Purges::with_journal(seed, Box::new(Journals(journals)), records);
        problems.extend(wrong);
        Ok((seed, purges, problems))
    }
}

fn read_seed(path: &Path) -> Option<u64> {
    let text = fs::read_to_string(path.join(SEED)).ok()?;
    let (known, sum) = text.trim().split_at_checked(32)?;
    if u32::from_str_radix(sum, 16).ok()? != checksum(known) {
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
    let mut file = fs::File::create(&beside)?;
    write!(file, "{digits}{:08x}", checksum(&digits))?;
    file.sync_all()?;
    fs::rename(&beside, path.join(SEED))?;
    fs::File::open(path)?.sync_all()
}

/// FNV-1a: it finds accidents, which is all that it is for.
fn checksum(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |sum, byte| {
        (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
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
