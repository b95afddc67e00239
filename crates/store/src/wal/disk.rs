//! The calls that can fail because of the disk, in one place, so that the tests
//! can put errors in their way.

use std::fs::File;
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use super::errors::Trouble;
use crate::private;
use crate::segment::errno;

/// Errors that calls shall meet. Nothing outside of tests.
#[derive(Debug, Default)]
pub(super) struct Disk {
    #[cfg(test)]
    pub(super) plan: parking_lot::Mutex<Plan>,
}

/// What fails until it is mended.
#[cfg(test)]
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Plan {
    pub(super) create: Option<Errno>,
    /// So many bytes are written before the error.
    pub(super) write: Option<(usize, Errno)>,
    /// After a failed sync, what was written since the last one is gone: the
    /// file is cut to this length, as lost pages would leave it.
    pub(super) sync: Option<(Option<u64>, Errno)>,
}

impl Disk {
    /// Creates a file and takes its space, if there is enough, so that a full
    /// disk is seldom met within a record, and a sync has no length to write.
    ///
    /// Measured on ext4 (virtio disk), median of one `pwrite` and `fdatasync`
    /// in µs, for 1.1 KB and for 64 KB: into a file that grows 170-200 and
    /// 264-327; fallocated 114-156 and 257-259; written with zeros before (what
    /// a recycled file would be) 109-137 and 126-170. Zeros cost a second
    /// write of everything. Recycling would gain as much for large groups only,
    /// and a file that readers or a snapshot still hold must not be recycled.
    pub(super) fn create(&self, path: &Path, bytes: u64) -> Result<File, Trouble> {
        let creating = |error| Trouble::new(path, "creating", error);
        #[cfg(test)]
        if let Some(error) = self.plan.lock().create {
            return Err(creating(error));
        }
        let mut options = private::options();
        let made = options.read(true).write(true).create_new(true).open(path);
        let file = made.map_err(|error| creating(errno(error)))?;
        match fallocate(&file, FallocateFlags::empty(), 0, bytes) {
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(file),
            // What is left is used to the last byte.
            Err(Errno::NOSPC | Errno::DQUOT) => {
                let _ = rustix::fs::ftruncate(&file, 0);
                Ok(file)
            }
            Err(error) => {
                let _ = std::fs::remove_file(path);
                Err(creating(error))
            }
        }
    }

    /// Writes some of `bytes`, and says how many.
    pub(super) fn write(&self, file: &File, bytes: &[u8], at: u64) -> Result<usize, Errno> {
        #[cfg(test)]
        if let Some((some, error)) = &mut self.plan.lock().write {
            let now = (*some).min(bytes.len());
            *some -= now;
            if now == 0 {
                return Err(*error);
            }
            return rustix::io::pwrite(file, &bytes[..now], at);
        }
        loop {
            match rustix::io::pwrite(file, bytes, at) {
                Ok(0) => return Err(Errno::IO),
                Err(Errno::INTR) => {}
                other => return other,
            }
        }
    }

    /// Writes all of `bytes`.
    pub(super) fn write_all(
        &self,
        file: &File,
        mut bytes: &[u8],
        mut at: u64,
    ) -> Result<(), Errno> {
        while !bytes.is_empty() {
            let written = self.write(file, bytes, at)?;
            bytes = bytes.get(written..).unwrap_or_default();
            at += written as u64;
        }
        Ok(())
    }

    /// Waits until what was written to a file is on disk.
    pub(super) fn sync(&self, file: &File) -> Result<(), Errno> {
        #[cfg(test)]
        if let Some((cut, error)) = self.plan.lock().sync {
            if let Some(length) = cut {
                let whole = file.metadata().map_err(errno)?.len();
                rustix::fs::ftruncate(file, length)?;
                rustix::fs::ftruncate(file, whole)?;
            }
            return Err(error);
        }
        rustix::fs::fdatasync(file)
    }
}

/// Waits until the names in a directory are on disk.
pub(super) fn sync_directory(path: &Path) -> Result<(), Trouble> {
    let synced = File::open(path).and_then(|directory| directory.sync_all());
    synced.map_err(Trouble::of(path, "syncing"))
}
