//! The rows of a segment: from its footer, or, without one, from its records.

use std::io::IoSliceMut;

use crate::errors::ReadError;
use crate::extent::Wait;
use crate::footer::{Row, SEGMENT_HEAD_BYTES, TRAILER_BYTES, Trailer};
use crate::format::{BLOCK_BYTES, u32_at};
use crate::record::{HEAD_BYTES, Head};
use crate::segment::Segment;

/// How much is read ahead while records are looked at.
const WINDOW_BYTES: usize = 256 << 10;

/// The records of a segment.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) rows: Vec<Row>,
    /// They come from the records: there is no footer, or it is damaged.
    pub(crate) scanned: bool,
    /// Where the records end.
    pub(crate) end: u64,
    /// Records whose head is whole and whose content is not.
    pub(crate) damaged: u64,
}

/// The records of a segment that is not appended to.
pub(crate) fn load(segment: &Segment) -> Result<Rows, ReadError> {
    match from_footer(segment)? {
        Some(rows) => Ok(rows),
        None => from_records(segment),
    }
}

fn from_footer(segment: &Segment) -> Result<Option<Rows>, ReadError> {
    let length = segment.bytes();
    let least = (SEGMENT_HEAD_BYTES + TRAILER_BYTES) as u64;
    if length < least {
        return Ok(None);
    }
    let at = length - TRAILER_BYTES as u64;
    let Some(bytes) = segment.bytes_at(at, TRAILER_BYTES, Wait::Yes)? else {
        return Ok(None);
    };
    let Some(trailer) = Trailer::decode(segment.number, length, &bytes) else {
        return Ok(None);
    };
    let end = u64::from(trailer.table_at);
    let Some(table) = segment.bytes_at(end, trailer.table_bytes(), Wait::Yes)? else {
        return Ok(None);
    };
    Ok(trailer.rows(&table).map(|rows| Rows {
        rows,
        scanned: false,
        end,
        damaged: 0,
    }))
}

/// Goes from record to record until there is no whole head. A record with a
/// damaged content is stepped over: after a loss of power, what was written
/// later may be on disk and what was written earlier may not.
fn from_records(segment: &Segment) -> Result<Rows, ReadError> {
    let mut window = Window::new(segment);
    let mut found = Rows {
        rows: Vec::new(),
        scanned: true,
        end: SEGMENT_HEAD_BYTES as u64,
        damaged: 0,
    };
    while let Some(head) = head_at(&mut window, found.end)? {
        let bytes = head.record_bytes();
        let seen = found.rows.len() as u64 + found.damaged;
        if u64::from(head.ordinal) != seen || found.end + bytes > segment.bytes() {
            break;
        }
        if is_whole(&mut window, found.end, &head)? {
            found.rows.push(Row {
                id: head.id,
                kind: head.kind,
                offset: found.end as u32,
                bytes: bytes as u32,
            });
        } else {
            found.damaged += 1;
        }
        found.end += bytes;
    }
    Ok(found)
}

fn head_at(window: &mut Window<'_>, at: u64) -> Result<Option<Head>, ReadError> {
    let number = window.segment.number;
    let Ok(offset) = u32::try_from(at) else {
        return Ok(None);
    };
    let bytes = window.get(at, HEAD_BYTES)?;
    Ok(bytes.and_then(|bytes| Head::decode(bytes, number, offset)))
}

/// Verifies all of a record that lies within the file.
fn is_whole(window: &mut Window<'_>, at: u64, head: &Head) -> Result<bool, ReadError> {
    let at_part = |position: usize| at + position as u64;
    let Some(table) = window.get(at_part(HEAD_BYTES), head.table_bytes())? else {
        return Ok(false);
    };
    if crc32c::crc32c(table) != head.table_sum {
        return Ok(false);
    }
    let table = table.to_vec();
    let meta = window.get(at_part(head.meta_at()), head.meta_bytes as usize)?;
    if meta.map(crc32c::crc32c) != Some(head.meta_sum) {
        return Ok(false);
    }
    let data_bytes = head.data_bytes as usize;
    for (n, start) in (0..data_bytes).step_by(BLOCK_BYTES).enumerate() {
        let length = BLOCK_BYTES.min(data_bytes - start);
        let block = window.get(at_part(head.data_at() + start), length)?;
        if block.map(crc32c::crc32c) != u32_at(&table, 4 * n) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A part of the file in memory that moves on as it is read.
struct Window<'a> {
    segment: &'a Segment,
    bytes: Vec<u8>,
    at: u64,
}

impl<'a> Window<'a> {
    fn new(segment: &'a Segment) -> Self {
        Self {
            segment,
            bytes: Vec::new(),
            at: 0,
        }
    }

    /// Some bytes of the file, nothing where it ends before them.
    fn get(&mut self, at: u64, length: usize) -> Result<Option<&[u8]>, ReadError> {
        let file_bytes = self.segment.bytes();
        let end = at.saturating_add(length as u64);
        if end > file_bytes {
            return Ok(None);
        }
        if at < self.at || end > self.at + self.bytes.len() as u64 {
            let ahead = (file_bytes - at).min(WINDOW_BYTES.max(length) as u64);
            self.bytes.resize(ahead as usize, 0);
            self.at = at;
            if !self.bytes.is_empty() {
                let mut slices = [IoSliceMut::new(&mut self.bytes)];
                self.segment.fill(&mut slices, at, Wait::Yes)?;
            }
        }
        let from = (at - self.at) as usize;
        Ok(self.bytes.get(from..from + length))
    }
}
