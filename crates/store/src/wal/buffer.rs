//! What was appended and is not yet on disk.
//!
//! A record is copied into the chunk that is being filled. The writer takes
//! chunks from there, while the next one is filled. A chunk stays readable, and
//! can be written once more, until what it holds is as durable as promised.
//! Chunks are used again; those that nobody needs are given back.

use std::collections::VecDeque;
use std::sync::Arc;

use super::format::{ALIGN, FIRST, HEAD_BYTES, Head, draw, record_bytes};
use super::place::Place;

/// Length of a chunk; a longer record gets one of its own.
pub(super) const CHUNK_BYTES: usize = 1 << 20;

/// Most empty chunks that are kept for use again.
const SPARE_MOST: usize = 16;

/// Most chunks that are written before they are synced.
const BATCH_MOST: usize = 8;

/// Whole records that lie one after another in a segment.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) segment: u32,
    /// What the segment's records are bound to.
    pub(super) tag: u64,
    /// Where in the segment it begins.
    pub(super) start: u32,
    /// How many bytes were appended before it since the log was opened.
    pub(super) position: u64,
    pub(super) bytes: Vec<u8>,
}

impl Chunk {
    /// The position behind it.
    pub(super) fn end(&self) -> u64 {
        self.position + self.bytes.len() as u64
    }

    /// Where in the segment it ends.
    pub(super) fn stop(&self) -> u64 {
        u64::from(self.start) + self.bytes.len() as u64
    }

    fn holds(&self, place: Place) -> bool {
        self.segment == place.segment
            && place.offset >= self.start
            && u64::from(place.offset) < self.stop()
    }

    /// Head and payload of the record that a place names, if it lies within.
    pub(super) fn record(&self, place: Place) -> Option<&[u8]> {
        let from = place.offset.checked_sub(self.start)? as usize;
        let length = HEAD_BYTES.checked_add(place.bytes as usize)?;
        self.bytes.get(from..from.checked_add(length)?)
    }
}

/// Where a record may be found that is still in memory.
pub(super) enum Buffered {
    /// In a chunk that does not change any more.
    Sealed(Arc<Chunk>),
    /// It was copied.
    Copied,
    /// No record begins there.
    Corrupt,
    /// Not here: it is in its file, or was removed.
    Elsewhere,
}

/// The end of the log.
#[derive(Debug)]
pub(super) struct Tail {
    segment_bytes: u32,
    records: u64,
    filling: Chunk,
    /// Oldest first.
    sealed: VecDeque<Arc<Chunk>>,
    spare: Vec<Vec<u8>>,
}

impl Tail {
    /// The end of a log whose next segment is `segment`.
    pub(super) fn new(segment: u32, segment_bytes: u32) -> Self {
        Self {
            segment_bytes,
            records: 0,
            filling: Chunk {
                segment,
                tag: draw(),
                start: FIRST,
                position: 0,
                bytes: Vec::new(),
            },
            sealed: VecDeque::new(),
            spare: Vec::new(),
        }
    }

    /// Copies a record to the end. Says whether a chunk became full by it.
    pub(super) fn append(&mut self, parts: &[&[u8]], head: Head) -> (Place, bool) {
        let length = record_bytes(head.length);
        let end = self.filling.stop();
        let mut full = false;
        if end > u64::from(FIRST) && end + u64::from(length) > u64::from(self.segment_bytes) {
            self.turn();
            full = true;
        }
        let room = self.filling.bytes.capacity() - self.filling.bytes.len();
        if room < length as usize {
            full |= self.seal();
            self.filling.bytes = self.room(length as usize);
        }
        // A segment ends below 2^31: it is at most 1 GiB, and so is a record.
        let offset = self.filling.stop() as u32;
        let bytes = &mut self.filling.bytes;
        bytes.extend_from_slice(&head.encode(self.filling.tag, offset));
        for part in parts {
            bytes.extend_from_slice(part);
        }
        let padding = length as usize - HEAD_BYTES - head.length as usize;
        bytes.extend_from_slice(&[0; ALIGN][..padding]);
        self.records += 1;
        let place = Place {
            segment: self.filling.segment,
            offset,
            bytes: head.length,
        };
        (place, full)
    }

    /// How many records were appended.
    pub(super) fn records(&self) -> u64 {
        self.records
    }

    /// The position behind the last record.
    pub(super) fn position(&self) -> u64 {
        self.filling.end()
    }

    /// The segment that is appended to, and where the next record goes.
    pub(super) fn end(&self) -> (u32, u64) {
        (self.filling.segment, self.filling.stop())
    }

    /// The next record goes into a new segment.
    pub(super) fn turn(&mut self) {
        if self.filling.stop() == u64::from(FIRST) {
            return;
        }
        self.seal();
        self.filling.segment += 1;
        self.filling.tag = draw();
        self.filling.start = FIRST;
    }

    /// Lets the chunk that is being filled go to the writer.
    fn seal(&mut self) -> bool {
        if self.filling.bytes.is_empty() {
            return false;
        }
        let (start, position) = (self.filling.stop() as u32, self.filling.end());
        let next = Chunk {
            start,
            position,
            bytes: Vec::new(),
            ..self.filling
        };
        let full = std::mem::replace(&mut self.filling, next);
        self.sealed.push_back(Arc::new(full));
        true
    }

    fn room(&mut self, least: usize) -> Vec<u8> {
        if least > CHUNK_BYTES {
            return Vec::with_capacity(least);
        }
        let spare = self.spare.pop();
        spare.unwrap_or_else(|| Vec::with_capacity(CHUNK_BYTES))
    }

    /// Gives chunks that hold something behind `written`, the one that is being
    /// filled only if `all` are wanted. Returns whether that is all.
    pub(super) fn collect(&mut self, written: u64, all: bool, into: &mut Vec<Arc<Chunk>>) -> bool {
        let from = self.sealed.partition_point(|chunk| chunk.end() <= written);
        if all && self.sealed.len() - from < BATCH_MOST {
            self.seal();
        }
        let some = self.sealed.iter().skip(from).take(BATCH_MOST);
        into.extend(some.map(Arc::clone));
        let complete = from + into.len() == self.sealed.len();
        complete && (!all || self.filling.bytes.is_empty())
    }

    /// Chunks of a segment that are still here.
    pub(super) fn of(&self, segment: u32) -> Vec<Arc<Chunk>> {
        let same = self.sealed.iter().filter(|one| one.segment == segment);
        same.map(Arc::clone).collect()
    }

    /// Forgets what is durable up to a position.
    pub(super) fn release(&mut self, durable: u64) {
        while let Some(first) = self.sealed.front()
            && first.end() <= durable
        {
            // A reader may have it still; then it is not used again.
            let first = self.sealed.pop_front().map(Arc::into_inner);
            if let Some(Some(Chunk { mut bytes, .. })) = first
                && bytes.capacity() == CHUNK_BYTES
                && self.spare.len() < SPARE_MOST
            {
                bytes.clear();
                self.spare.push(bytes);
            }
        }
    }

    /// Gives back chunks that were not needed of late; all of them if nothing
    /// was appended.
    pub(super) fn shrink(&mut self, idle: bool) {
        self.spare
            .truncate(if idle { 0 } else { self.spare.len() / 2 });
        if idle && self.filling.bytes.is_empty() {
            self.filling.bytes = Vec::new();
        }
    }

    /// Memory that all of it takes, in bytes.
    pub(super) fn memory(&self) -> usize {
        let sealed: usize = self.sealed.iter().map(|one| one.bytes.capacity()).sum();
        sealed + self.spare.len() * CHUNK_BYTES + self.filling.bytes.capacity()
    }

    /// Looks for a record, and copies it if its chunk is being filled.
    pub(super) fn find(
        &self,
        place: Place,
        head: &mut [u8; HEAD_BYTES],
        out: &mut Vec<u8>,
    ) -> Buffered {
        if self.filling.holds(place) {
            let Some((first, payload)) = self
                .filling
                .record(place)
                .and_then(|record| record.split_first_chunk())
            else {
                return Buffered::Corrupt;
            };
            *head = *first;
            out.extend_from_slice(payload);
            return Buffered::Copied;
        }
        let wanted = (place.segment, place.offset);
        let after = self
            .sealed
            .partition_point(|chunk| (chunk.segment, chunk.start) <= wanted);
        let before = after.checked_sub(1).and_then(|at| self.sealed.get(at));
        match before {
            Some(chunk) if chunk.holds(place) => Buffered::Sealed(Arc::clone(chunk)),
            _ => Buffered::Elsewhere,
        }
    }
}
