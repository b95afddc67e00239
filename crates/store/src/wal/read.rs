//! Reading a record by its place, and walking through a segment.

use std::io::IoSliceMut;
use std::sync::Arc;
use std::sync::atomic::Ordering::*;

use super::Wal;
use super::buffer::Buffered;
use super::errors::{ReadError, Trouble};
use super::format::{HEAD_BYTES, Head};
use super::place::Place;
use super::scan::{Batch, Scan};
use super::segment::Segment;
use crate::Wait;

/// What a walk found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Walked {
    /// Whole records.
    pub records: u64,
    /// Length of their payloads, in bytes.
    pub bytes: u64,
    /// Records that are damaged, and were not given.
    pub damaged_records: u64,
    /// What they take, in bytes.
    pub damaged_bytes: u64,
}

impl Wal {
    /// Replaces what is in `out` by the payload of a record, verified. `false`
    /// if that would have had to wait for the disk and must not; what is not
    /// yet written never has to. After an error `out` is empty.
    pub fn read(&self, place: Place, how: Wait, out: &mut Vec<u8>) -> Result<bool, ReadError> {
        out.clear();
        let read = self.read_into(place, how, out);
        if !matches!(read, Ok(true)) {
            out.clear();
        }
        if matches!(read, Err(ReadError::Corrupt)) {
            self.core.counts.corrupt.fetch_add(1, Relaxed);
        }
        read
    }

    fn read_into(&self, place: Place, how: Wait, out: &mut Vec<u8>) -> Result<bool, ReadError> {
        let mut head = [0; HEAD_BYTES];
        let found = self.core.tail.lock().find(place, &mut head, out);
        match found {
            Buffered::Corrupt => Err(ReadError::Corrupt),
            // What is in memory is checked for its length alone: a place that
            // names no record is the mistake that could be met here.
            Buffered::Copied => same_length(&head, place),
            Buffered::Sealed(chunk) => {
                let record = chunk
                    .record(place)
                    .and_then(|record| record.split_first_chunk());
                let (head, payload) = record.ok_or(ReadError::Corrupt)?;
                out.extend_from_slice(payload);
                same_length(head, place)
            }
            Buffered::Elsewhere => self.read_file(place, how, out),
        }
    }

    fn read_file(&self, place: Place, how: Wait, out: &mut Vec<u8>) -> Result<bool, ReadError> {
        let mut head = [0; HEAD_BYTES];
        let segment = self.core.segments.read().get(&place.segment).cloned();
        let segment = segment.ok_or(ReadError::Gone)?;
        let end = u64::from(place.offset) + (HEAD_BYTES as u64) + u64::from(place.bytes);
        // A place can be anything; memory is only taken for what the file has.
        if end > segment.end() {
            return Err(ReadError::Corrupt);
        }
        if how == Wait::No && !self.core.at_once {
            return Ok(false);
        }
        out.resize(place.bytes as usize, 0);
        let mut slices = [IoSliceMut::new(&mut head), IoSliceMut::new(out)];
        match segment.fill(&mut slices, place.offset.into(), how) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(error) => return Err(unreadable(&segment, error)),
        }
        let head = Head::decode(&head, segment.tag, place.offset).ok_or(ReadError::Corrupt)?;
        if head.length == place.bytes && crc32c::crc32c(out) == head.sum {
            Ok(true)
        } else {
            Err(ReadError::Corrupt)
        }
    }

    /// Gives all records of a closed segment to `each`, oldest first. Damaged
    /// ones are counted and stepped over.
    pub fn walk(
        &self,
        segment: u32,
        mut each: impl FnMut(Place, &[u8]),
    ) -> Result<Walked, ReadError> {
        let segment = self.core.segments.read().get(&segment).cloned();
        let segment = segment.ok_or(ReadError::Gone)?;
        if !segment.is_closed() {
            return Err(ReadError::StillOpen);
        }
        let mut scan = Scan::new(Arc::clone(&segment));
        let mut batch = Batch::default();
        while scan.next(&mut batch) {
            for (place, payload) in batch.records() {
                each(place, payload);
            }
        }
        let found = scan.found;
        // What the disk does not give now it may give later: whoever compacts
        // must not take it for lost and remove the segment.
        if found.unreadable {
            return Err(unreadable(&segment, rustix::io::Errno::IO));
        }
        Ok(Walked {
            records: found.records,
            bytes: found.bytes,
            damaged_records: found.damaged_records + u64::from(found.torn_bytes > 0),
            damaged_bytes: found.damaged_bytes + found.torn_bytes,
        })
    }
}

fn same_length(head: &[u8; HEAD_BYTES], place: Place) -> Result<bool, ReadError> {
    let length = crate::format::u32_at(head, 4);
    let magic = crate::format::u32_at(head, 0);
    let right = magic == Some(super::format::RECORD_MAGIC) && length == Some(place.bytes);
    right.then_some(true).ok_or(ReadError::Corrupt)
}

fn unreadable(segment: &Segment, error: rustix::io::Errno) -> ReadError {
    ReadError::Io(Trouble::new(&segment.path, "reading", error))
}
