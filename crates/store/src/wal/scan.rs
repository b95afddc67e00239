//! Going through the records of a segment, one batch after another.
//!
//! Damage is stepped over: behind a head that does not count, the next one that
//! does is looked for at every multiple of 8. Memory is taken for a batch, or
//! for a record whose head counts and which ends within the file.

use std::io::IoSliceMut;
use std::sync::Arc;

use super::format::{ALIGN, FIRST, HEAD_BYTES, Head, RECORD_MAGIC, record_bytes};
use super::place::Place;
use super::segment::Segment;
use crate::Wait;
use crate::format::{u32_at, u64_at};

/// What is read at once.
const BATCH_BYTES: usize = 1 << 20;

/// After an error of the disk, so many bytes count as damaged.
const UNREADABLE_BYTES: usize = 4096;

/// Whole records, verified.
#[derive(Debug, Default)]
pub(super) struct Batch {
    bytes: Vec<u8>,
    /// How many of the bytes count.
    filled: usize,
    segment: u32,
    /// Offset in the segment of the first byte.
    start: u32,
    /// Where payloads begin in the bytes, and their lengths.
    records: Vec<(u32, u32)>,
}

impl Batch {
    /// The records, in order.
    pub(super) fn records(&self) -> impl Iterator<Item = (Place, &[u8])> {
        self.records.iter().filter_map(|&(from, bytes)| {
            let place = Place {
                segment: self.segment,
                offset: self.start + from - HEAD_BYTES as u32,
                bytes,
            };
            let from = from as usize;
            Some((place, self.bytes.get(from..from + bytes as usize)?))
        })
    }
}

/// What was found in a segment.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Found {
    pub(super) records: u64,
    /// Length of the payloads.
    pub(super) bytes: u64,
    pub(super) damaged_records: u64,
    pub(super) damaged_bytes: u64,
    /// Where the last whole record ends.
    pub(super) end: u64,
    /// Bytes behind it that are not a whole record and not zeros.
    pub(super) torn_bytes: u64,
    /// The disk did not give all of it.
    pub(super) unreadable: bool,
}

/// Bytes that are not a whole record, until it is known what follows them.
#[derive(Debug, Clone, Copy, Default)]
struct Hole {
    from: u64,
    /// Where the last byte in it ends that is not zero.
    last: u64,
    records: u64,
}

/// A segment that is being gone through.
pub(super) struct Scan {
    segment: Arc<Segment>,
    /// What was read and does not yet make a record.
    carry: Vec<u8>,
    /// What is read next.
    at: u64,
    end: u64,
    /// What the next batch has to hold at least.
    need: usize,
    hole: Option<Hole>,
    pub(super) found: Found,
}

impl Scan {
    pub(super) fn new(segment: Arc<Segment>) -> Self {
        Self {
            end: segment.end(),
            segment,
            carry: Vec::new(),
            at: FIRST.into(),
            need: 0,
            hole: None,
            found: Found {
                end: FIRST.into(),
                ..Found::default()
            },
        }
    }

    /// Reads the next batch. `false` if there is no more; then what was found
    /// is complete.
    pub(super) fn next(&mut self, batch: &mut Batch) -> bool {
        if self.at >= self.end {
            self.finish();
            return false;
        }
        batch.records.clear();
        batch.segment = self.segment.number;
        batch.start = (self.at - self.carry.len() as u64) as u32;
        self.load(batch);
        let parsed = self.parse(batch);
        let rest = batch.bytes.get(parsed..batch.filled).unwrap_or_default();
        self.carry.clear();
        self.carry.extend_from_slice(rest);
        true
    }

    /// Fills a batch with what was carried over and what follows it.
    fn load(&mut self, batch: &mut Batch) {
        let carried = self.carry.len();
        let wanted = BATCH_BYTES.max(self.need);
        if batch.bytes.len() < wanted || batch.bytes.len() > 4 * wanted {
            batch.bytes = vec![0; wanted];
        }
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        let (head, rest) = batch.bytes.split_at_mut(carried.min(wanted));
        head.copy_from_slice(self.carry.get(..head.len()).unwrap_or_default());
        let some = left.min(rest.len());
        if let Some(rest) = rest.get_mut(..some) {
            self.read(rest);
        }
        self.at += some as u64;
        batch.filled = carried + some;
    }

    /// Reads from where it is; what the disk does not give counts as zeros.
    fn read(&mut self, out: &mut [u8]) {
        if self
            .segment
            .fill(&mut [IoSliceMut::new(out)], self.at, Wait::Yes)
            .is_ok()
        {
            return;
        }
        let mut at = self.at;
        for piece in out.chunks_mut(UNREADABLE_BYTES) {
            let read = self
                .segment
                .fill(&mut [IoSliceMut::new(piece)], at, Wait::Yes);
            if let Err(error) = read {
                piece.fill(0);
                if !self.found.unreadable {
                    let path = self.segment.path.display();
                    tracing::warn!("{path}: reading at {at}: {error}; records there are lost");
                }
                self.found.unreadable = true;
            }
            at += piece.len() as u64;
        }
    }

    /// Finds the records of a batch, and says how far it got.
    fn parse(&mut self, batch: &mut Batch) -> usize {
        let bytes = batch.bytes.get(..batch.filled).unwrap_or_default();
        let mut at = 0;
        self.need = 0;
        while bytes.len() - at >= HEAD_BYTES {
            let rest = bytes.get(at..).unwrap_or_default();
            let offset = u64::from(batch.start) + at as u64;
            let left = self.end - offset;
            let head = Head::decode(rest, self.segment.tag, offset as u32);
            // The padding of the last record need not be there.
            let whole = |head: &Head| HEAD_BYTES as u64 + u64::from(head.length) <= left;
            let Some(head) = head.filter(whole) else {
                at += self.skip(rest, offset);
                continue;
            };
            let length = u64::from(record_bytes(head.length)).min(left) as usize;
            if length > rest.len() {
                self.need = length;
                break;
            }
            let payload = HEAD_BYTES..HEAD_BYTES + head.length as usize;
            if rest.get(payload).map(crc32c::crc32c) == Some(head.sum) {
                self.whole(offset, length, head.length);
                batch.records.push(((at + HEAD_BYTES) as u32, head.length));
            } else {
                let hole = self.hole(offset);
                hole.last = offset + length as u64;
                hole.records += 1;
            }
            at += length;
        }
        at
    }

    fn whole(&mut self, offset: u64, length: usize, payload: u32) {
        if let Some(hole) = self.hole.take() {
            self.found.damaged_records += hole.records.max(1);
            self.found.damaged_bytes += offset - hole.from;
        }
        self.found.records += 1;
        self.found.bytes += u64::from(payload);
        self.found.end = offset + length as u64;
    }

    fn hole(&mut self, offset: u64) -> &mut Hole {
        self.hole.get_or_insert(Hole {
            from: offset,
            last: offset,
            records: 0,
        })
    }

    /// Goes to where the next record may begin, and says how far that is.
    fn skip(&mut self, bytes: &[u8], offset: u64) -> usize {
        let hole = self.hole(offset);
        let mut at = 0;
        loop {
            if u64_at(bytes, at) != Some(0) {
                hole.last = offset + (at + ALIGN) as u64;
            }
            at += ALIGN;
            if bytes.len() < at + HEAD_BYTES || u32_at(bytes, at) == Some(RECORD_MAGIC) {
                return at;
            }
        }
    }

    /// Judges what lies behind the last record.
    fn finish(&mut self) {
        let end = self.found.end;
        let mut last = self.hole.take().map_or(end, |hole| hole.last.max(end));
        if let Some(at) = self.carry.iter().rposition(|byte| *byte != 0) {
            last = self.end - (self.carry.len() - at - 1) as u64;
        }
        self.carry.clear();
        self.found.torn_bytes = last.min(self.end).saturating_sub(end);
    }
}
