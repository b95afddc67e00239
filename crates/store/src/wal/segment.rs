//! One segment: its file, how far it was written, how it is mended.

use std::fs::{self, File};
use std::io::IoSliceMut;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};

use parking_lot::RwLock;
use rustix::io::{Errno, ReadWriteFlags};

use super::buffer::Chunk;
use super::disk::{Disk, sync_directory};
use super::errors::Trouble;
use super::format::{FIRST, beginning, file_name};
use crate::Wait;

/// What is copied at once when a file is written anew.
const COPY_BYTES: usize = 1 << 20;

/// A segment whose file is there.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) number: u32,
    /// What its records are bound to.
    pub(super) tag: u64,
    pub(super) path: PathBuf,
    /// Replaced when the file had to be written anew.
    file: RwLock<Arc<File>>,
    /// Where what was written ends.
    end: AtomicU64,
    /// What the file takes.
    length: AtomicU64,
    /// Nothing is appended to it any more.
    closed: AtomicBool,
    /// An earlier process wrote it, and may not have synced it.
    inherited: AtomicBool,
    /// Syncing what was inherited failed.
    suspect: AtomicBool,
    /// Its name was removed. Changed under the lock of the file.
    gone: AtomicBool,
}

impl Segment {
    /// Takes on a file that is there, of this length.
    pub(super) fn adopt(
        number: u32,
        tag: u64,
        path: PathBuf,
        (file, bytes): (File, u64),
    ) -> Arc<Self> {
        Arc::new(Self {
            number,
            tag,
            path,
            file: RwLock::new(Arc::new(file)),
            end: AtomicU64::new(bytes),
            length: AtomicU64::new(bytes),
            closed: AtomicBool::new(true),
            inherited: AtomicBool::new(true),
            suspect: AtomicBool::new(false),
            gone: AtomicBool::new(false),
        })
    }

    /// Creates the file for a chunk, which is the first of its segment.
    pub(super) fn create(
        disk: &Disk,
        directory: &Path,
        chunk: &Chunk,
        length: u64,
    ) -> Result<Arc<Self>, Trouble> {
        let path = directory.join(file_name(chunk.segment));
        let length = length.max(chunk.stop());
        let file = disk.create(&path, length)?;
        let begun = disk
            .write_all(&file, &beginning(chunk.segment, chunk.tag), 0)
            .map_err(|error| Trouble::new(&path, "writing", error))
            // The name has to be there before a record counts as durable.
            .and_then(|()| sync_directory(directory));
        if let Err(trouble) = begun {
            let _ = fs::remove_file(&path);
            return Err(trouble);
        }
        Ok(Arc::new(Self {
            number: chunk.segment,
            tag: chunk.tag,
            path,
            file: RwLock::new(Arc::new(file)),
            end: AtomicU64::new(u64::from(FIRST)),
            length: AtomicU64::new(length),
            closed: AtomicBool::new(false),
            inherited: AtomicBool::new(false),
            suspect: AtomicBool::new(false),
            gone: AtomicBool::new(false),
        }))
    }

    pub(super) fn file(&self) -> Arc<File> {
        Arc::clone(&self.file.read())
    }

    /// Where what was written ends.
    pub(super) fn end(&self) -> u64 {
        self.end.load(Acquire)
    }

    pub(super) fn set_end(&self, end: u64) {
        self.end.store(end, Release);
    }

    /// What the file takes.
    pub(super) fn length(&self) -> u64 {
        self.length.load(Relaxed)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Acquire)
    }

    /// Cuts the file to what was written. Nothing is appended any more.
    pub(super) fn close(&self) -> Result<(), Trouble> {
        self.cut(self.end())?;
        self.closed.store(true, Release);
        Ok(())
    }

    /// Cuts the file to a length.
    pub(super) fn cut(&self, end: u64) -> Result<(), Trouble> {
        rustix::fs::ftruncate(&*self.file(), end)
            .map_err(|error| Trouble::new(&self.path, "cutting", error))?;
        self.set_end(end);
        self.length.store(end, Relaxed);
        Ok(())
    }

    /// Waits until what an earlier process wrote is on disk, once.
    pub(super) fn sync_inherited(&self, disk: &Disk) -> Result<(), Trouble> {
        if !self.inherited.load(Acquire) {
            return Ok(());
        }
        if self.suspect.load(Acquire) {
            self.rebuild(disk, &[])?;
        } else if let Err(error) = disk.sync(&self.file()) {
            self.suspect.store(true, Release);
            return Err(Trouble::new(&self.path, "syncing", error));
        }
        self.inherited.store(false, Release);
        Ok(())
    }

    /// Removes the name of the file. Those who read it may go on.
    pub(super) fn unlink(&self) -> Result<(), Trouble> {
        let _file = self.file.write();
        fs::remove_file(&self.path).map_err(Trouble::of(&self.path, "removing"))?;
        self.gone.store(true, Release);
        Ok(())
    }

    /// Fills slices from a place on; `false` if that would have had to wait.
    /// What lies behind the end of the file stays as it was.
    pub(super) fn fill(
        &self,
        mut slices: &mut [IoSliceMut<'_>],
        mut at: u64,
        how: Wait,
    ) -> Result<bool, Errno> {
        let file = self.file();
        let flags = match how {
            Wait::No => ReadWriteFlags::NOWAIT,
            Wait::Yes => ReadWriteFlags::empty(),
        };
        while slices.iter().any(|slice| !slice.is_empty()) {
            match rustix::io::preadv2(&*file, slices, at, flags) {
                Ok(0) => break,
                Ok(read) => {
                    at += read as u64;
                    IoSliceMut::advance_slices(&mut slices, read);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN | Errno::OPNOTSUPP) if how == Wait::No => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Writes the file anew, under its own name and number, after a sync failed.
    ///
    /// Linux reports such a failure once, and takes the pages that it could not
    /// write for clean: a second `fdatasync` says that all is well while the
    /// data is gone (PostgreSQL's "fsyncgate", 2018). So what was not yet known
    /// to be on disk comes from memory, what was comes from the old file, and
    /// the new file takes its place once it is on disk. Places stay as they are.
    pub(super) fn rebuild(&self, disk: &Disk, kept: &[Arc<Chunk>]) -> Result<(), Trouble> {
        let mut name = self.path.clone().into_os_string();
        name.push(".new");
        let path = PathBuf::from(name);
        let _ = fs::remove_file(&path);
        let file = disk.create(&path, self.length())?;
        let made = self
            .fill_anew(disk, &file, kept)
            .and_then(|()| disk.sync(&file))
            .map_err(|error| Trouble::new(&path, "writing anew", error))
            .and_then(|()| self.replace(file, &path));
        if made.is_err() {
            let _ = fs::remove_file(&path);
        }
        made?;
        sync_directory(self.path.parent().unwrap_or(Path::new(".")))
    }

    /// Puts another file into the place of this one, unless it was removed.
    fn replace(&self, file: File, path: &Path) -> Result<(), Trouble> {
        let mut own = self.file.write();
        if self.gone.load(Acquire) {
            return fs::remove_file(path).map_err(Trouble::of(path, "removing"));
        }
        fs::rename(path, &self.path).map_err(Trouble::of(path, "renaming"))?;
        *own = Arc::new(file);
        Ok(())
    }

    fn fill_anew(&self, disk: &Disk, file: &File, kept: &[Arc<Chunk>]) -> Result<(), Errno> {
        let end = self.end();
        let known = kept
            .first()
            .map_or(end, |chunk| end.min(chunk.start.into()));
        let mut buffer = vec![0; COPY_BYTES];
        let mut at = 0;
        while at < known {
            let some = (known - at).min(COPY_BYTES as u64) as usize;
            let Some(piece) = buffer.get_mut(..some) else {
                break;
            };
            self.fill(&mut [IoSliceMut::new(piece)], at, Wait::Yes)?;
            disk.write_all(file, piece, at)?;
            at += some as u64;
        }
        for chunk in kept {
            let written = end.saturating_sub(chunk.start.into()) as usize;
            let bytes = chunk.bytes.get(..written).unwrap_or(&chunk.bytes);
            disk.write_all(file, bytes, chunk.start.into())?;
        }
        Ok(())
    }
}
