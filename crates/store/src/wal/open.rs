//! Opening a directory: whose it is, and what is in it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32};

use parking_lot::{Mutex, RwLock};

use super::Wal;
use super::buffer::Tail;
use super::core::Core;
use super::disk::sync_directory;
use super::format::{Beginning, FIRST, number_of, read_beginning};
use super::options::Options;
use super::recover::Recovery;
use super::segment::Segment;
use super::upkeep;
use super::writer::Writer;
use crate::errors::OpenError;
use crate::open::{failure, lock_directory, reads_at_once};

/// Longer files were not written by this program.
const FILE_MOST: u64 = 1 << 31;

/// Numbers are left for as long as the log is open.
const NUMBER_MOST: u32 = 3 << 30;

type Segments = BTreeMap<u32, Arc<Segment>>;

/// What a directory holds.
#[derive(Default)]
struct Contents {
    segments: Segments,
    next_number: u32,
    set_aside: usize,
}

impl Wal {
    /// Opens a directory, or creates it. What is in it is found by
    /// [`Recovery::run`], before which nothing may be appended.
    pub fn open(options: Options) -> Result<(Arc<Self>, Recovery), OpenError> {
        let lock = lock_directory(&options.path)?;
        let Contents {
            segments,
            next_number,
            set_aside,
        } = read_directory(&options.path)?;
        if segments.is_empty() {
            // The directory may be new; what it holds is worth no more than its name.
            let _ = options.path.parent().map(sync_directory);
        }
        let all = segments.values().map(Arc::clone).collect();
        let core = Arc::new(core(options, lock, segments, next_number));
        let recovery = Recovery {
            core: Arc::clone(&core),
            segments: all,
            set_aside,
        };
        Ok((Self::start(core)?, recovery))
    }

    fn start(core: Arc<Core>) -> Result<Arc<Self>, OpenError> {
        let writer = Writer::new(Arc::clone(&core));
        let thread = std::thread::Builder::new()
            .name("wal".into())
            .spawn(move || writer.run())
            .map_err(|error| failure(&core.path, error))?;
        Ok(Arc::new(Self {
            core,
            thread: Mutex::new(Some(thread)),
        }))
    }

    /// Removes what a log left in a directory, whatever its version; other
    /// files stay. Nobody may have it open.
    pub fn clear(path: &Path) -> Result<(), OpenError> {
        let _lock = lock_directory(path)?;
        upkeep::clear(path).map_err(|trouble| failure(&trouble.path, trouble.error.into()))
    }
}

fn core(options: Options, lock: File, segments: Segments, next_number: u32) -> Core {
    let segment_bytes = options.segment_length();
    Core {
        sync: options.sync,
        segment_bytes,
        buffer_bytes: options.buffer_bytes as u64,
        tail: Mutex::new(Tail::new(next_number, segment_bytes)),
        recovered: AtomicBool::new(segments.is_empty()),
        segments: RwLock::new(segments),
        marks: Default::default(),
        bell: Default::default(),
        done: Default::default(),
        stop: AtomicBool::new(false),
        stopped: AtomicBool::new(false),
        failing: AtomicBool::new(false),
        rounds: Default::default(),
        refused: Default::default(),
        trouble: Mutex::new(None),
        counts: Default::default(),
        listeners: Mutex::new(Vec::new()),
        maintenance: Mutex::new(()),
        at_once: reads_at_once(&lock),
        disk: Default::default(),
        closed_below: AtomicU32::new(0),
        path: options.path,
        _lock: lock,
    }
}

fn read_directory(path: &Path) -> Result<Contents, OpenError> {
    let mut contents = Contents {
        next_number: 1,
        ..Contents::default()
    };
    let mut damaged = Vec::new();
    for entry in fs::read_dir(path).map_err(|error| failure(path, error))? {
        let file = entry.map_err(|error| failure(path, error))?.path();
        let name = file.file_name().and_then(|name| name.to_str());
        let Some(number) = name.and_then(number_of) else {
            continue;
        };
        contents.next_number = contents.next_number.max(number.saturating_add(1));
        match adopt(number, &file).map_err(|error| failure(&file, error))? {
            Adopted::Segment(segment) => {
                contents.segments.insert(number, segment);
            }
            Adopted::Later(found) => return Err(OpenError::Version { path: file, found }),
            Adopted::Damaged => damaged.push((file, true)),
            Adopted::Unused => damaged.push((file, false)),
        }
    }
    if contents.next_number > NUMBER_MOST {
        let error = io::Error::other("the numbers of segments are used up; clear the directory");
        return Err(failure(path, error));
    }
    // Only now: if one file is of a later version, all are left alone.
    for (file, holds) in damaged {
        contents.set_aside += usize::from(holds);
        set_aside(&file, holds).map_err(|error| failure(&file, error))?;
    }
    Ok(contents)
}

/// What cannot be a segment goes out of the way: under another name if it may
/// hold something.
fn set_aside(path: &Path, holds: bool) -> io::Result<()> {
    if !holds {
        return fs::remove_file(path);
    }
    let mut name = path.as_os_str().to_owned();
    name.push(".damaged");
    tracing::error!(
        "{}: not a segment, or its beginning is damaged; renamed to {}, its records are lost",
        path.display(),
        Path::new(&name).display()
    );
    fs::rename(path, name)
}

enum Adopted {
    Segment(Arc<Segment>),
    Later(u32),
    Damaged,
    /// The program ended before it had written anything to it.
    Unused,
}

fn adopt(number: u32, path: &Path) -> io::Result<Adopted> {
    let mut file = File::options().read(true).write(true).open(path)?;
    let bytes = file.metadata()?.len();
    let mut head = Vec::with_capacity(2 * FIRST as usize);
    (&mut file)
        .take(2 * u64::from(FIRST))
        .read_to_end(&mut head)?;
    if head.iter().all(|byte| *byte == 0) {
        return Ok(Adopted::Unused);
    }
    Ok(match read_beginning(number, &head) {
        Beginning::Later(version) => Adopted::Later(version),
        Beginning::Ours(tag) if bytes < FILE_MOST => Adopted::Segment(Segment::adopt(
            number,
            tag,
            path.to_path_buf(),
            (file, bytes),
        )),
        _ => Adopted::Damaged,
    })
}
