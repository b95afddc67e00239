//! One segment: its file, and what is known of it.
//!
//! A segment is created, appended to, closed (its footer is written and the
//! file cut to its length), and in the end unlinked. The file and the space it
//! takes are given back when the last reader has let go of it.

use std::fs::{self, File};
use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};

use rustix::fs::{Advice, FallocateFlags, fadvise, fallocate};
use rustix::io::Errno;

use crate::footer::{self, Row, SEGMENT_HEAD_BYTES, segment_head};
use crate::private;
use crate::space::Space;

/// Most slices of one vectored call (`IOV_MAX` of Linux).
pub(crate) const SLICES_MOST: usize = 1024;

/// After so many errors of the disk while reading, it is given up.
const READ_ERRORS_MOST: u32 = 16;

/// What all segments of a log share: whether the disk works, what was damaged.
#[derive(Debug, Default)]
pub(crate) struct Health {
    pub(crate) failed: AtomicBool,
    /// Records that were found damaged.
    pub(crate) corrupt: AtomicU64,
    read_errors: AtomicU32,
    /// Reading with `RWF_NOWAIT` works on this file system.
    pub(crate) at_once: AtomicBool,
    /// The error that the next write shall meet.
    #[cfg(test)]
    pub(crate) fault: parking_lot::Mutex<Option<Errno>>,
}

impl Health {
    pub(crate) fn is_failed(&self) -> bool {
        self.failed.load(Relaxed)
    }

    /// The disk is given up.
    pub(crate) fn fail(&self, path: &Path, doing: &str, error: &dyn std::fmt::Display) {
        if !self.failed.swap(true, Relaxed) {
            tracing::error!(
                "{}: {doing}: {error}; the log is not used any more, what it holds counts as lost",
                path.display()
            );
        }
    }

    #[cfg(test)]
    fn fault(&self) -> Result<(), Errno> {
        self.fault.lock().take().map_or(Ok(()), Err)
    }

    #[cfg(not(test))]
    fn fault(&self) -> Result<(), Errno> {
        Ok(())
    }
}

/// A segment, open for reading for as long as anybody holds it.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) number: u64,
    pub(crate) file: File,
    pub(crate) path: PathBuf,
    pub(crate) health: Arc<Health>,
    space: Arc<Space>,
    /// Length of the file.
    bytes: AtomicU64,
    /// Where what may be read ends.
    end: AtomicU64,
    /// Bytes of records that are still referred to.
    live: AtomicU64,
    /// Nothing is appended to it any more.
    closed: AtomicBool,
    /// Its entries are in the index.
    known: AtomicBool,
    warned: AtomicBool,
}

impl Segment {
    /// Takes on a file that is there, of this length, counting its space.
    pub(crate) fn adopt(
        number: u64,
        (path, file, bytes): (PathBuf, File, u64),
        space: &Arc<Space>,
        health: &Arc<Health>,
    ) -> Arc<Self> {
        space.adopt(bytes);
        Self::build(number, (path, file, bytes), space, health, true, bytes)
    }

    /// Creates the file of a new segment. Its space has been taken, and is
    /// given back when this fails.
    pub(crate) fn create(
        number: u64,
        directory: &Path,
        bytes: u64,
        space: &Arc<Space>,
        health: &Arc<Health>,
    ) -> Result<Arc<Self>, Errno> {
        let path = directory.join(file_name(number));
        let file = create_file(number, &path, bytes, health).inspect_err(|error| {
            // What was begun is removed; what was there before is not ours.
            if *error != Errno::EXIST {
                let _ = fs::remove_file(&path);
            }
            space.give_back(bytes);
        })?;
        let end = SEGMENT_HEAD_BYTES as u64;
        let made = Self::build(number, (path, file, bytes), space, health, false, end);
        // A place must not be given twice, so a number must not be: the name is
        // on disk before the first record.
        File::open(directory)
            .and_then(|directory| directory.sync_all())
            .map_err(errno)?;
        Ok(made)
    }

    fn build(
        number: u64,
        (path, file, bytes): (PathBuf, File, u64),
        space: &Arc<Space>,
        health: &Arc<Health>,
        closed: bool,
        end: u64,
    ) -> Arc<Self> {
        // Reads are of whole records: what lies behind them is not wanted.
        let _ = fadvise(&file, 0, None, Advice::Random);
        Arc::new(Self {
            number,
            file,
            path,
            health: Arc::clone(health),
            space: Arc::clone(space),
            bytes: AtomicU64::new(bytes),
            end: AtomicU64::new(end),
            live: AtomicU64::new(0),
            closed: AtomicBool::new(closed),
            known: AtomicBool::new(!closed),
            warned: AtomicBool::new(false),
        })
    }

    /// Length of the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Where what may be read ends.
    pub(crate) fn end(&self) -> u64 {
        self.end.load(Acquire)
    }

    /// Lets what was written up to `end` be read.
    pub(crate) fn set_end(&self, end: u64) {
        self.end.store(end, Release);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Acquire)
    }

    pub(crate) fn is_known(&self) -> bool {
        self.known.load(Acquire)
    }

    pub(crate) fn set_known(&self) {
        self.known.store(true, Release);
    }

    pub(crate) fn live(&self) -> u64 {
        self.live.load(Relaxed)
    }

    pub(crate) fn add_live(&self, bytes: u32) {
        self.live.fetch_add(u64::from(bytes), Relaxed);
    }

    /// A record is no longer referred to. What is said twice stays at nothing.
    pub(crate) fn remove_live(&self, bytes: u32) {
        let _ = self.live.fetch_update(Relaxed, Relaxed, |live| {
            Some(live.saturating_sub(u64::from(bytes)))
        });
    }

    /// Writes slices at a place, all of them or with an error.
    pub(crate) fn write(&self, mut slices: &mut [IoSlice<'_>], mut at: u64) -> Result<(), Errno> {
        self.health.fault()?;
        while !slices.is_empty() {
            let some = slices.len().min(SLICES_MOST);
            match rustix::io::pwritev(&self.file, &slices[..some], at) {
                Ok(0) => return Err(Errno::IO),
                Ok(written) => {
                    at += written as u64;
                    IoSlice::advance_slices(&mut slices, written);
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Closes the segment: footer behind the records, which end at `end`, on
    /// disk, and the rest of the file given back. A footer for which there is
    /// no space is left out; the next start looks at the records instead.
    pub(crate) fn close(&self, end: u64, rows: &[Row]) -> Result<(), Errno> {
        let footer = footer::encode(self.number, end as u32, rows);
        let with_footer = end + footer.len() as u64;
        // Space was kept for the footer, unless the file was cut off.
        let grown = self.bytes().max(with_footer);
        let length = if !self.space.change(self.bytes(), grown) {
            end
        } else {
            self.bytes.store(grown, Relaxed);
            match self.write_footer(&footer, end) {
                Ok(()) => with_footer,
                Err(Errno::NOSPC | Errno::DQUOT) => end,
                Err(error) => return Err(error),
            }
        };
        rustix::fs::ftruncate(&self.file, length)?;
        self.set_end(end);
        self.space.change(self.bytes.swap(length, Relaxed), length);
        self.closed.store(true, Release);
        Ok(())
    }

    fn write_footer(&self, footer: &[u8], at: u64) -> Result<(), Errno> {
        self.write(&mut [IoSlice::new(footer)], at)?;
        rustix::fs::fdatasync(&self.file)
    }

    /// Waits until all that was written is on disk.
    pub(crate) fn sync(&self) -> Result<(), Errno> {
        self.health.fault()?;
        rustix::fs::fdatasync(&self.file)
    }

    /// Removes the file's name. Those who read it may go on.
    pub(crate) fn unlink(&self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }

    /// Counts a damaged record; the first of a segment is logged.
    pub(crate) fn found_corrupt(&self) {
        self.health.corrupt.fetch_add(1, Relaxed);
        if !self.warned.swap(true, Relaxed) {
            tracing::warn!(
                "{}: a record is damaged and counts as missing; \
                 further ones in this file are not reported",
                self.path.display()
            );
        }
    }

    /// Counts an error of the disk while reading; many of them mean that it
    /// has failed.
    pub(crate) fn found_unreadable(&self, error: Errno) {
        if !self.warned.swap(true, Relaxed) {
            tracing::warn!("{}: reading: {error}", self.path.display());
        }
        if self.health.read_errors.fetch_add(1, Relaxed) + 1 == READ_ERRORS_MOST {
            self.health.fail(&self.path, "reading", &error);
        }
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        self.space.give_back(self.bytes());
    }
}

fn create_file(number: u64, path: &Path, bytes: u64, health: &Health) -> Result<File, Errno> {
    health.fault()?;
    let mut options = private::options();
    let file = options
        .read(true)
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(errno)?;
    // With the space taken now, a full disk is met here and not half way
    // through a record.
    match fallocate(&file, FallocateFlags::empty(), 0, bytes) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
            rustix::fs::ftruncate(&file, bytes)?;
        }
        other => other?,
    }
    let head = segment_head(number);
    match rustix::io::pwrite(&file, &head, 0)? {
        written if written == head.len() => Ok(file),
        _ => Err(Errno::NOSPC),
    }
}

/// The name of a segment's file.
pub(crate) fn file_name(number: u64) -> String {
    format!("{number:010}.seg")
}

/// The number in a segment's name, if it is one.
pub(crate) fn number_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".seg")?;
    let number = digits.parse().ok()?;
    (file_name(number) == name).then_some(number)
}

pub(crate) fn errno(error: io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_belong_to_each_other() {
        assert_eq!(file_name(7), "0000000007.seg");
        for number in [0, 7, 9_999_999_999, 10_000_000_000] {
            assert_eq!(number_of(&file_name(number)), Some(number));
        }
        for name in ["7.seg", "0000000007", "+000000007.seg", "journal", ".seg"] {
            assert_eq!(number_of(name), None, "{name}");
        }
    }
}
