//! A small file of records that are on disk before `append` returns.
//!
//! Each record has a head with a checksum of its own, so that a record with a
//! damaged content can be stepped over. What follows a damaged head is lost.

use std::fs::{self, File};
use std::io::{self, IoSlice, Read};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use crate::errors::JournalError;
use crate::format::{PREAMBLE_BYTES, Preamble, preamble, read_preamble, u32_at};
use crate::private;
use crate::record::bound_sum;
use crate::segment::SLICES_MOST;

/// The longest record of a journal, in bytes.
pub const JOURNAL_RECORD_MOST: usize = 16 << 20;

const MAGIC: [u8; 8] = *b"FBJOURNL";
const HEAD_BYTES: usize = 12;

/// An append-only file of records.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    state: Mutex<State>,
    lost_bytes: u64,
}

#[derive(Debug)]
struct State {
    file: File,
    bytes: u64,
    /// The file may end in something that is not known.
    failed: bool,
}

impl Journal {
    /// Opens a journal, or creates one, and gives its records. A torn end is
    /// cut off. One process at a time may have it.
    pub fn open(path: &Path) -> Result<(Self, Vec<Vec<u8>>), JournalError> {
        let failure = |error| failure(path, error);
        let _ = fs::remove_file(beside(path));
        let mut options = private::options();
        let mut file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failure)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failure)?;
        let preamble = read_preamble(MAGIC, &bytes);
        if let Preamble::Later(found) = preamble {
            let path = path.to_path_buf();
            return Err(JournalError::Version { path, found });
        }
        let found = read_records(&bytes);
        let journal = Self {
            path: path.to_path_buf(),
            state: Mutex::new(State {
                file,
                bytes: found.end,
                failed: false,
            }),
            lost_bytes: found.lost,
        };
        if found.lost > 0 {
            tracing::warn!("{}: {} bytes are damaged", path.display(), found.lost);
        }
        if preamble != Preamble::Ours {
            // New, or damaged there: the records have checksums of their own.
            let records: Vec<&[u8]> = found.records.iter().map(Vec::as_slice).collect();
            journal.rewrite(&records)?;
        } else if found.end < bytes.len() as u64 {
            let state = journal.state.lock();
            state.file.set_len(found.end).map_err(failure)?;
            state.file.sync_data().map_err(failure)?;
        }
        Ok((journal, found.records))
    }

    /// Appends a record. When the call returns it is on disk.
    pub fn append(&self, record: &[u8]) -> Result<(), JournalError> {
        self.append_all(&[record])
    }

    /// Appends records, waiting for the disk once. After an error none, some
    /// or all of them may be there when the journal is next opened.
    pub fn append_all(&self, records: &[&[u8]]) -> Result<(), JournalError> {
        check(records)?;
        let mut state = self.state.lock();
        if state.failed {
            return Err(JournalError::Failed);
        }
        match write_records(&state.file, state.bytes, records) {
            Ok(end) => {
                state.bytes = end;
                Ok(())
            }
            Err(error) => {
                // What was begun is cut off, or the next record would come
                // behind something that cannot be read.
                let undone = state
                    .file
                    .set_len(state.bytes)
                    .and_then(|()| state.file.sync_data());
                state.failed = undone.is_err();
                Err(failure(&self.path, error))
            }
        }
    }

    /// Replaces the journal by these records: all or nothing. After an error,
    /// what was there before is still there.
    pub fn rewrite(&self, records: &[&[u8]]) -> Result<(), JournalError> {
        check(records)?;
        let mut state = self.state.lock();
        let (file, bytes) = self
            .write_anew(records)
            .map_err(|error| failure(&self.path, error))?;
        *state = State {
            file,
            bytes,
            failed: false,
        };
        Ok(())
    }

    fn write_anew(&self, records: &[&[u8]]) -> io::Result<(File, u64)> {
        let path = beside(&self.path);
        let mut options = private::options();
        let file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)?;
        write_all(&file, &mut [IoSlice::new(&preamble(MAGIC))], 0)?;
        let bytes = write_records(&file, PREAMBLE_BYTES as u64, records)?;
        fs::rename(&path, &self.path)?;
        let directory = match self.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        File::open(directory)?.sync_all()?;
        Ok((file, bytes))
    }

    /// Length of the file.
    pub fn bytes(&self) -> u64 {
        self.state.lock().bytes
    }

    /// Bytes that were there when it was opened and could not be read. A
    /// record that was being written when the process ended counts as well.
    pub fn lost_bytes(&self) -> u64 {
        self.lost_bytes
    }
}

fn failure(path: &Path, error: io::Error) -> JournalError {
    JournalError::Io {
        path: path.to_path_buf(),
        error,
    }
}

/// Where a journal is written anew.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    name.into()
}

fn check(records: &[&[u8]]) -> Result<(), JournalError> {
    let longest = records.iter().map(|record| record.len()).max().unwrap_or(0);
    if longest > JOURNAL_RECORD_MOST {
        let bytes = longest as u64;
        return Err(JournalError::TooLarge { bytes });
    }
    Ok(())
}

/// Length of the record, checksum of it, checksum of these two bound to where
/// they are in the file.
fn head(at: u64, record: &[u8]) -> [u8; HEAD_BYTES] {
    let mut out = [0; HEAD_BYTES];
    out[..4].copy_from_slice(&(record.len() as u32).to_le_bytes());
    out[4..8].copy_from_slice(&crc32c::crc32c(record).to_le_bytes());
    let sum = bound_sum(at, 0, &out[..8]);
    out[8..].copy_from_slice(&sum.to_le_bytes());
    out
}

/// Writes records from a place of the file on and waits for the disk. Gives
/// where they end.
fn write_records(file: &File, at: u64, records: &[&[u8]]) -> io::Result<u64> {
    let mut end = at;
    let mut heads = Vec::with_capacity(records.len());
    for record in records {
        heads.push(head(end, record));
        end += (HEAD_BYTES + record.len()) as u64;
    }
    let parts = heads.iter().zip(records);
    let mut slices: Vec<IoSlice<'_>> = parts
        .flat_map(|(head, record)| [&head[..], record])
        .filter(|slice| !slice.is_empty())
        .map(IoSlice::new)
        .collect();
    write_all(file, &mut slices, at)?;
    file.sync_data()?;
    Ok(end)
}

fn write_all(file: &File, mut slices: &mut [IoSlice<'_>], mut at: u64) -> io::Result<()> {
    while !slices.is_empty() {
        let some = slices.len().min(SLICES_MOST);
        match rustix::io::pwritev(file, &slices[..some], at) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                at += written as u64;
                IoSlice::advance_slices(&mut slices, written);
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[derive(Debug, Default)]
struct Found {
    records: Vec<Vec<u8>>,
    /// Where the last whole record ends.
    end: u64,
    lost: u64,
}

fn read_records(bytes: &[u8]) -> Found {
    let mut found = Found {
        end: PREAMBLE_BYTES as u64,
        ..Found::default()
    };
    let mut at = PREAMBLE_BYTES;
    while let Some((length, sum)) = read_head(bytes, at) {
        let from = at + HEAD_BYTES;
        let Some(record) = bytes.get(from..from + length) else {
            break;
        };
        at = from + length;
        if crc32c::crc32c(record) == sum {
            found.records.push(record.to_vec());
            found.end = at as u64;
        } else {
            found.lost += (HEAD_BYTES + length) as u64;
        }
    }
    found.lost += bytes.len().saturating_sub(at) as u64;
    found
}

fn read_head(bytes: &[u8], at: usize) -> Option<(usize, u32)> {
    let head = bytes.get(at..at.checked_add(HEAD_BYTES)?)?;
    let length = u32_at(head, 0)? as usize;
    let whole = u32_at(head, 8)? == bound_sum(at as u64, 0, &head[..8]);
    (whole && length <= JOURNAL_RECORD_MOST).then_some((length, u32_at(head, 4)?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn records() -> Vec<Vec<u8>> {
        let lengths = [0usize, 1, 11, 12, 13, 100];
        lengths.iter().map(|n| vec![*n as u8 + 1; *n]).collect()
    }

    fn written(path: &Path) -> Vec<u8> {
        let _ = fs::remove_file(path);
        let (journal, none) = Journal::open(path).unwrap();
        assert!(none.is_empty());
        for record in records() {
            journal.append(&record).unwrap();
        }
        fs::read(path).unwrap()
    }

    fn open(path: &Path) -> (Journal, Vec<Vec<u8>>) {
        Journal::open(path).unwrap()
    }

    #[test]
    fn records_are_there_after_opening_and_after_rewriting() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        written(&path);
        let (journal, found) = open(&path);
        assert_eq!((found, journal.lost_bytes()), (records(), 0));
        journal.rewrite(&[b"one", b"two"]).unwrap();
        journal.append_all(&[b"three", b"four"]).unwrap();
        assert_eq!(journal.bytes(), fs::metadata(&path).unwrap().len());
        drop(journal);
        assert_eq!(open(&path).1, [&b"one"[..], b"two", b"three", b"four"]);
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
    }

    #[test]
    fn a_journal_cut_at_any_byte_has_all_that_came_before_and_goes_on() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        let whole = written(&path);
        let mut ends = vec![PREAMBLE_BYTES];
        for record in records() {
            ends.push(ends.last().unwrap() + HEAD_BYTES + record.len());
        }
        for cut in 0..=whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            let before = ends.iter().filter(|end| **end <= cut).count().max(1) - 1;
            let (journal, found) = open(&path);
            assert_eq!(found, records()[..before], "cut at {cut}");
            journal.append(b"next").unwrap();
            drop(journal);
            let (_, found) = open(&path);
            assert_eq!(found[..before], records()[..before]);
            assert_eq!(found[before..], [b"next".to_vec()], "cut at {cut}");
        }
    }

    #[test]
    fn a_flipped_or_zeroed_byte_loses_no_record_before_it_and_invents_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        let whole = written(&path);
        for at in 0..whole.len() {
            for damage in [whole[at] ^ 0x40, 0] {
                let mut bytes = whole.clone();
                bytes[at] = damage;
                fs::write(&path, &bytes).unwrap();
                let (journal, found) = open(&path);
                let mut expected = records().into_iter();
                let in_order = found.iter().all(|one| expected.any(|other| other == *one));
                assert!(in_order, "byte {at}: {found:?}");
                let before = read_records(&whole[..at]).records.len();
                assert!(found.len() >= before, "byte {at}");
                let damaged = damage != whole[at] && at >= PREAMBLE_BYTES;
                assert_eq!(journal.lost_bytes() > 0, damaged, "byte {at}");
            }
        }
    }

    #[test]
    fn a_later_version_is_refused_and_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        let mut bytes = written(&path);
        bytes[8] = 2;
        let sum = crc32c::crc32c(&bytes[..12]);
        bytes[12..16].copy_from_slice(&sum.to_le_bytes());
        fs::write(&path, &bytes).unwrap();
        let error = Journal::open(&path).unwrap_err();
        assert!(
            matches!(error, JournalError::Version { found: 2, .. }),
            "{error}"
        );
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }

    #[test]
    fn too_long_a_record_is_refused_and_nothing_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        let (journal, _) = open(&path);
        let long = vec![0; JOURNAL_RECORD_MOST + 1];
        assert!(matches!(
            journal.append_all(&[b"x", &long]),
            Err(JournalError::TooLarge { .. })
        ));
        drop(journal);
        assert!(open(&path).1.is_empty());
    }
}
