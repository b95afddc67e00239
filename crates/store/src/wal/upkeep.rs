//! Closing, removing and copying segments.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Wal;
use super::disk::sync_directory;
use super::errors::{Error, Trouble};
use super::format::{file_name, number_of};
use super::place::Position;
use super::segment::Segment;
use crate::private;

/// A copy of a log at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// What was appended up to here is in it, and nothing else.
    pub position: Position,
    /// How many segments it has.
    pub segments: usize,
    /// Length of their files.
    pub bytes: u64,
}

impl Wal {
    /// Closes the segment that is appended to, if there is anything in it, so
    /// that it may be walked and removed. When the call returns, all that was
    /// appended before it is on disk. Gives how far that was.
    pub fn roll(&self) -> Result<Position, Error> {
        self.roll_all().map(|(position, _)| position)
    }

    fn roll_all(&self) -> Result<(Position, u32), Error> {
        let (position, below) = {
            let mut tail = self.core.tail.lock();
            tail.turn();
            (tail.position(), tail.end().0)
        };
        self.core.settle(position, below)?;
        Ok((Position(position), below))
    }

    /// Removes the oldest segment, which has to be closed. Before that it waits
    /// until all that was appended is synced, whatever is promised otherwise:
    /// what was moved on from it must not be lost together with the original.
    pub fn remove(&self, segment: u32) -> Result<(), Error> {
        let _one_at_a_time = self.core.maintenance.lock();
        let oldest = self.oldest(segment)?;
        if oldest != segment {
            return Err(Error::NotOldest(oldest));
        }
        self.remove_all(segment)
    }

    /// The same with the oldest segments up to this one, with one wait for the
    /// disk: where it is busy, that takes longer than all the rest.
    pub fn remove_through(&self, last: u32) -> Result<(), Error> {
        let _one_at_a_time = self.core.maintenance.lock();
        self.oldest(last)?;
        self.remove_all(last)
    }

    /// The number of the oldest segment, if there is one of this number.
    fn oldest(&self, segment: u32) -> Result<u32, Error> {
        let segments = self.core.segments.read();
        let first = segments.keys().next().copied();
        let there = segments.contains_key(&segment);
        first.filter(|_| there).ok_or(Error::Gone)
    }

    fn remove_all(&self, last: u32) -> Result<(), Error> {
        let going: Vec<Arc<Segment>> = {
            let segments = self.core.segments.read();
            let going = segments.range(..=last);
            going.map(|(_, one)| Arc::clone(one)).collect()
        };
        if going.iter().any(|one| !one.is_closed()) {
            return Err(Error::StillOpen);
        }
        self.sync()?;
        self.sync_inherited()?;
        // Oldest first, and file systems with a journal keep to that: what a
        // crash brings back is the last of them.
        for segment in going {
            segment.unlink()?;
            self.core.segments.write().remove(&segment.number);
        }
        Ok(sync_directory(&self.core.path)?)
    }

    /// What an earlier process wrote may never have been synced, and may be what
    /// replaced a record in the segment that goes.
    fn sync_inherited(&self) -> Result<(), Trouble> {
        let segments: Vec<Arc<Segment>> = {
            let segments = self.core.segments.read();
            segments.values().map(Arc::clone).collect()
        };
        let disk = &self.core.disk;
        segments.iter().try_for_each(|one| one.sync_inherited(disk))
    }

    /// Makes a copy of the log as it is at this moment, in a directory that is
    /// not there or empty and that [`open`](Wal::open) takes. Appending goes on
    /// meanwhile. Files are linked, not copied, where the file system can: so
    /// it takes no space until segments are removed here.
    pub fn snapshot(&self, directory: &Path) -> Result<Snapshot, Error> {
        let _one_at_a_time = self.core.maintenance.lock();
        refuse_unless_empty(directory)?;
        let (position, below) = self.roll_all()?;
        self.sync_inherited()?;
        let segments: Vec<Arc<Segment>> = {
            let segments = self.core.segments.read();
            segments
                .range(..below)
                .map(|(_, one)| Arc::clone(one))
                .collect()
        };
        let part = beside(directory);
        clear(&part)?;
        private::create_directory(&part).map_err(Trouble::of(&part, "creating"))?;
        let mut bytes = 0;
        for segment in &segments {
            link(&segment.path, &part.join(file_name(segment.number)))?;
            bytes += segment.length();
        }
        sync_directory(&part)?;
        fs::rename(&part, directory).map_err(Trouble::of(&part, "renaming"))?;
        match directory.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => sync_directory(parent)?,
            _ => sync_directory(Path::new("."))?,
        }
        Ok(Snapshot {
            position,
            segments: segments.len(),
            bytes,
        })
    }
}

fn refuse_unless_empty(directory: &Path) -> Result<(), Error> {
    match fs::read_dir(directory).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Ok(false) => Err(Error::NotEmpty(directory.to_path_buf())),
        Err(error) => Err(Trouble::of(directory, "reading")(error).into()),
    }
}

/// Where a snapshot is made before it gets its name.
fn beside(directory: &Path) -> PathBuf {
    let mut name = directory.components().as_path().as_os_str().to_owned();
    name.push(".part");
    name.into()
}

fn link(from: &Path, to: &Path) -> Result<(), Trouble> {
    if fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    // Another file system, or one without links.
    fs::copy(from, to).map_err(Trouble::of(to, "copying"))?;
    let copied = fs::File::open(to).and_then(|file| file.sync_all());
    copied.map_err(Trouble::of(to, "syncing"))
}

/// Removes the files of a log from a directory; others are left alone.
pub(super) fn clear(directory: &Path) -> Result<(), Trouble> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Trouble::of(directory, "reading")(error)),
    };
    for entry in entries {
        let path = entry.map_err(Trouble::of(directory, "reading"))?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let ours = name.is_some_and(|name| {
            let name = name.strip_suffix(".new").unwrap_or(name);
            let name = name.strip_suffix(".damaged").unwrap_or(name);
            number_of(name).is_some()
        });
        if ours {
            fs::remove_file(&path).map_err(Trouble::of(&path, "removing"))?;
        }
    }
    sync_directory(directory)
}
