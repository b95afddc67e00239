//! Opening a directory: whose it is, what is in it, how its space is laid out.
//!
//! Only the heads of the segments are read, so that it takes milliseconds
//! however much there is. What is in them is found by [`Log::recover`].

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, IoSliceMut, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::*};

use parking_lot::{Mutex, RwLock};
use rustix::fs::FlockOperation;
use rustix::io::{Errno, ReadWriteFlags};

use crate::append::Writer;
use crate::errors::OpenError;
use crate::footer::{SEGMENT_HEAD_BYTES, read_segment_head};
use crate::format::{PAGE, Preamble, SEGMENT_LEAST, SEGMENT_MOST};
use crate::index::{Index, SEGMENTS_MOST};
use crate::log::Log;
use crate::private;
use crate::segment::{Health, Segment, number_of};
use crate::space::Space;

/// There are at least so many segments, so that reclaiming one loses little.
const SEGMENTS_LEAST: u64 = 8;

/// The smallest log, in bytes.
const SIZE_LEAST: u64 = 256 << 10;

/// Where a log is and how large it may be.
#[derive(Debug, Clone)]
pub struct Options {
    /// The directory; it is created if it does not exist.
    pub path: PathBuf,
    /// What the directory may take on disk, in bytes. The files in it never
    /// exceed it, as long as the owner's own stay within [`Log::spare_bytes`].
    pub size_bytes: u64,
    /// Length of a segment in bytes, at most an eighth of the size. By default
    /// a sixty-fourth of the size, from 4 to 64 MiB, and more for a log so
    /// large that it would have more than 4096 of them.
    pub segment_bytes: Option<u64>,
}

/// The options as they are carried out.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) path: PathBuf,
    pub(crate) segment_bytes: u64,
    pub(crate) spare_bytes: u64,
    /// What the segments may take.
    budget_bytes: u64,
}

impl Layout {
    fn new(options: Options) -> Result<Self, OpenError> {
        let size_bytes = options.size_bytes;
        if size_bytes < SIZE_LEAST {
            return Err(OpenError::TooSmall {
                size_bytes,
                least_bytes: SIZE_LEAST,
            });
        }
        let spare_bytes = spare_bytes(size_bytes);
        let budget_bytes = size_bytes - spare_bytes;
        let usual = (budget_bytes / 64).clamp(4 << 20, 64 << 20);
        let wanted = options
            .segment_bytes
            .unwrap_or(usual.max(budget_bytes / 4096));
        let most = (budget_bytes / SEGMENTS_LEAST).min(SEGMENT_MOST);
        Ok(Self {
            path: options.path,
            segment_bytes: wanted.clamp(SEGMENT_LEAST, most) & !(PAGE - 1),
            spare_bytes,
            budget_bytes,
        })
    }
}

/// What is left of a size for other files than segments.
fn spare_bytes(size_bytes: u64) -> u64 {
    (size_bytes / 128).min(16 << 20)
}

impl Log {
    /// Changes the size while the log is in use; segments keep their length.
    /// When it is exceeded, [`needs_reclaim`](Self::needs_reclaim) is true
    /// until enough has gone.
    pub fn resize(&self, size_bytes: u64) {
        self.space.configure(size_bytes - spare_bytes(size_bytes));
    }

    /// Opens a directory. What is in it is adopted but not yet found: start
    /// [`recover`](Self::recover) on a thread of its own. If it holds more than
    /// the size, the oldest segments go.
    pub fn open(options: Options) -> Result<Arc<Self>, OpenError> {
        let layout = Layout::new(options)?;
        let lock = lock_directory(&layout.path)?;
        let space = Arc::new(Space::new(layout.budget_bytes));
        let health = Arc::new(Health::default());
        health.at_once.store(reads_at_once(&lock), Relaxed);
        let (mut segments, next_number) = adopt(&layout.path, &space, &health)?;
        while space.taken() > layout.budget_bytes
            && let Some((_, oldest)) = segments.pop_first()
        {
            oldest
                .unlink()
                .map_err(|error| failure(&oldest.path, error))?;
        }
        Ok(Arc::new(Self {
            recovered: AtomicBool::new(segments.is_empty()),
            removed: Mutex::new((!segments.is_empty()).then(Default::default)),
            layout,
            space,
            health,
            index: Index::new(),
            segments: RwLock::new(segments),
            writer: Mutex::new(Writer {
                open: None,
                next_number,
                closed: false,
            }),
            maintenance: Mutex::new(()),
            _lock: lock,
        }))
    }
}

pub(crate) fn failure(path: &Path, error: io::Error) -> OpenError {
    OpenError::Io {
        path: path.to_path_buf(),
        error,
    }
}

/// Creates the directory if there is none, and keeps others out of it.
pub(crate) fn lock_directory(directory: &Path) -> Result<File, OpenError> {
    private::create_directory(directory).map_err(|error| failure(directory, error))?;
    let path = directory.join("lock");
    let mut options = private::options();
    let mut lock = options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(|error| failure(&path, error))?;
    match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => {
            let mut text = String::new();
            let _ = (&mut lock).take(20).read_to_string(&mut text);
            return Err(OpenError::Locked {
                path: directory.to_path_buf(),
                holder: text.trim().parse().ok(),
            });
        }
        Err(error) => return Err(failure(&path, error.into())),
    }
    // Only for the message above.
    let _ = lock.set_len(0);
    let _ = lock.write_all(format!("{}\n", std::process::id()).as_bytes());
    Ok(lock)
}

/// Whether `RWF_NOWAIT` is known to the file system of an open file. At its end
/// there is nothing to wait for, so only the flag is judged.
pub(crate) fn reads_at_once(file: &File) -> bool {
    let mut byte = [0];
    let mut slices = [IoSliceMut::new(&mut byte)];
    let end = file.metadata().map_or(PAGE, |file| file.len());
    rustix::io::preadv2(file, &mut slices, end, ReadWriteFlags::NOWAIT).is_ok()
}

type Segments = BTreeMap<u64, Arc<Segment>>;

/// The segments of a directory, and the number that the next one gets.
fn adopt(
    directory: &Path,
    space: &Arc<Space>,
    health: &Arc<Health>,
) -> Result<(Segments, u64), OpenError> {
    let mut segments = Segments::new();
    let mut next_number = 1;
    let entries = fs::read_dir(directory).map_err(|error| failure(directory, error))?;
    for entry in entries {
        let entry = entry.map_err(|error| failure(directory, error))?;
        let Some(number) = entry.file_name().to_str().and_then(number_of) else {
            continue;
        };
        next_number = next_number.max(number.saturating_add(1));
        let path = entry.path();
        match adopt_file(number, &path).map_err(|error| failure(&path, error))? {
            Adopted::Segment(file, bytes) => {
                let segment = Segment::adopt(number, (path, file, bytes), space, health);
                segments.insert(number, segment);
            }
            Adopted::Later(found) => return Err(OpenError::Version { path, found }),
            Adopted::Damaged => {
                tracing::warn!("{}: not a segment, or damaged; removed", path.display());
                fs::remove_file(&path).map_err(|error| failure(&path, error))?;
            }
            Adopted::Unused => {
                fs::remove_file(&path).map_err(|error| failure(&path, error))?;
            }
        }
    }
    Ok((segments, next_number))
}

enum Adopted {
    Segment(File, u64),
    Later(u32),
    Damaged,
    /// The program ended before it had written anything to it.
    Unused,
}

fn adopt_file(number: u64, path: &Path) -> io::Result<Adopted> {
    let mut file = File::options().read(true).write(true).open(path)?;
    let bytes = file.metadata()?.len();
    let mut head = Vec::with_capacity(SEGMENT_HEAD_BYTES);
    (&mut file)
        .take(SEGMENT_HEAD_BYTES as u64)
        .read_to_end(&mut head)?;
    if head.iter().all(|byte| *byte == 0) {
        return Ok(Adopted::Unused);
    }
    Ok(match read_segment_head(number, &head) {
        Preamble::Later(version) => Adopted::Later(version),
        Preamble::Ours if bytes <= SEGMENT_MOST && number < SEGMENTS_MOST => {
            Adopted::Segment(file, bytes)
        }
        _ => Adopted::Damaged,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn layout(size_bytes: u64, segment_bytes: Option<u64>) -> Result<Layout, OpenError> {
        Layout::new(Options {
            path: PathBuf::new(),
            size_bytes,
            segment_bytes,
        })
    }

    #[test]
    fn segments_are_a_sixty_fourth_of_the_size_within_bounds() {
        let mib = |n: u64| n << 20;
        for (size, least, most) in [
            (SIZE_LEAST, 28 << 10, 32 << 10),
            (mib(8), mib(1) - (64 << 10), mib(1)),
            (mib(64), mib(4), mib(4)),
            (mib(1024), mib(15), mib(16)),
            (mib(100 << 10), mib(64), mib(64)),
            (mib(1 << 20), mib(255), mib(256)),
        ] {
            let layout = layout(size, None).unwrap();
            assert!((least..=most).contains(&layout.segment_bytes), "{layout:?}");
            assert!(layout.budget_bytes / layout.segment_bytes >= SEGMENTS_LEAST);
            assert!(layout.budget_bytes + layout.spare_bytes == size);
        }
    }

    #[test]
    fn a_wanted_segment_length_is_kept_to_what_is_possible() {
        assert_eq!(layout(1 << 20, Some(1)).unwrap().segment_bytes, 16 << 10);
        let large = layout(1 << 20, Some(1 << 20)).unwrap();
        assert_eq!(large.segment_bytes, 124 << 10);
        assert!(matches!(
            layout(SIZE_LEAST - 1, None),
            Err(OpenError::TooSmall { .. })
        ));
    }
}
