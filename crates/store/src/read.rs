//! Reading a segment's bytes, now or not at all, or however long it takes.

use std::io::IoSliceMut;
use std::sync::atomic::Ordering::Relaxed;

use rustix::io::{Errno, ReadWriteFlags};

use crate::errors::ReadError;
use crate::extent::Wait;
use crate::segment::{SLICES_MOST, Segment};

impl Segment {
    /// Fills all slices, none of which is empty, from a place of the file on.
    /// False if that would have had to wait for the disk and must not.
    pub(crate) fn fill(
        &self,
        mut slices: &mut [IoSliceMut<'_>],
        mut at: u64,
        how: Wait,
    ) -> Result<bool, ReadError> {
        if self.health.is_failed() {
            return Err(ReadError::Failed);
        }
        if how == Wait::No && !self.health.at_once.load(Relaxed) {
            return Ok(false);
        }
        while !slices.is_empty() {
            let some = slices.len().min(SLICES_MOST);
            let flags = match how {
                Wait::No => ReadWriteFlags::NOWAIT,
                Wait::Yes => ReadWriteFlags::empty(),
            };
            match rustix::io::preadv2(&self.file, &mut slices[..some], at, flags) {
                Ok(0) => return Err(self.corrupt()),
                Ok(read) => {
                    at += read as u64;
                    IoSliceMut::advance_slices(&mut slices, read);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN | Errno::OPNOTSUPP) if how == Wait::No => return Ok(false),
                Err(error) => {
                    self.found_unreadable(error);
                    return Err(ReadError::Io(error.into()));
                }
            }
        }
        Ok(true)
    }

    /// So many bytes from a place of the file on.
    pub(crate) fn bytes_at(
        &self,
        at: u64,
        length: usize,
        how: Wait,
    ) -> Result<Option<Vec<u8>>, ReadError> {
        let mut bytes = vec![0; length];
        let filled = length == 0 || self.fill(&mut [IoSliceMut::new(&mut bytes)], at, how)?;
        Ok(filled.then_some(bytes))
    }

    /// Counts a damaged record.
    pub(crate) fn corrupt(&self) -> ReadError {
        self.found_corrupt();
        ReadError::Corrupt
    }
}
