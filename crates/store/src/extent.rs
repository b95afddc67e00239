//! Reading a record: whole, its meta, or a range of its data, always verified.
//!
//! An extent holds its segment, so what it reads stays readable after the
//! segment has been reclaimed. Nothing that fails its checksum is handed out.

use std::io::IoSliceMut;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use crate::errors::ReadError;
use crate::format::{BLOCK_BYTES, u32_at};
use crate::place::{Id, Kind, Place};
use crate::record::{HEAD_BYTES, Head};
use crate::segment::Segment;

/// Metas up to this length are read in one go with what comes before them.
const META_GUESS: usize = 4 << 10;

/// Whether a read may wait for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Only what the system has in memory.
    No,
    /// However long it takes: not on a thread that others wait for.
    Yes,
}

/// A record that was read whole and verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// What it is found by, or whose piece it is.
    pub id: Id,
    /// Entry or piece.
    pub kind: Kind,
    /// The owner's description.
    pub meta: Bytes,
    /// The data in chunks of at most [`BLOCK_BYTES`].
    pub data: Vec<Bytes>,
}

/// What comes before the meta: the head and the checksums of the blocks.
#[derive(Debug)]
struct Lead {
    head: Head,
    table: Vec<u8>,
}

/// A record that can be read.
#[derive(Debug)]
pub struct Extent {
    segment: Arc<Segment>,
    place: Place,
    /// Read once, for whoever reads many ranges.
    lead: OnceLock<Lead>,
}

impl Extent {
    pub(crate) fn new(segment: Arc<Segment>, place: Place) -> Self {
        Self {
            segment,
            place,
            lead: OnceLock::new(),
        }
    }

    /// Where the record lies.
    pub fn place(&self) -> Place {
        self.place
    }

    /// The whole record. Nothing if it would have had to wait for the disk and
    /// must not. Memory is taken for all of it.
    pub fn read(&self, how: Wait) -> Result<Option<Record>, ReadError> {
        if self.place.bytes as usize <= BLOCK_BYTES {
            return self.read_short(how);
        }
        let Some(lead) = self.lead(how)? else {
            return Ok(None);
        };
        let mut meta = vec![0; lead.head.meta_bytes as usize];
        let mut blocks = lead.blocks(0..lead.head.data_bytes as usize);
        let mut slices: Vec<IoSliceMut<'_>> = Vec::with_capacity(blocks.len() + 1);
        if !meta.is_empty() {
            slices.push(IoSliceMut::new(&mut meta));
        }
        slices.extend(blocks.iter_mut().map(|block| IoSliceMut::new(block)));
        if !self
            .segment
            .fill(&mut slices, self.at(lead.head.meta_at()), how)?
        {
            return Ok(None);
        }
        self.verify_meta(lead, &meta)?;
        self.verify_blocks(lead, 0, &blocks)?;
        Ok(Some(Record {
            id: lead.head.id,
            kind: lead.head.kind,
            meta: meta.into(),
            data: blocks.into_iter().map(Bytes::from).collect(),
        }))
    }

    /// A record that is read in one go, into one buffer.
    fn read_short(&self, how: Wait) -> Result<Option<Record>, ReadError> {
        self.check()?;
        let length = self.place.bytes as usize;
        let Some(bytes) = self.segment.bytes_at(self.at(0), length, how)? else {
            return Ok(None);
        };
        let lead = self.parse(&bytes)?;
        let (meta, data) = (lead.head.meta_at(), lead.head.data_at());
        let bytes = Bytes::from(bytes).slice(..data + lead.head.data_bytes as usize);
        let record = Record {
            id: lead.head.id,
            kind: lead.head.kind,
            meta: bytes.slice(meta..data),
            data: match bytes.slice(data..) {
                none if none.is_empty() => Vec::new(),
                some => vec![some],
            },
        };
        self.verify_meta(&lead, &record.meta)?;
        self.verify_blocks(&lead, 0, &record.data)?;
        Ok(Some(record))
    }

    /// A range of the data, in chunks of at most [`BLOCK_BYTES`]. Only the
    /// blocks that it touches are read.
    pub fn read_data(&self, range: Range<u64>, how: Wait) -> Result<Option<Vec<Bytes>>, ReadError> {
        let Some(lead) = self.lead(how)? else {
            return Ok(None);
        };
        if range.start > range.end || range.end > u64::from(lead.head.data_bytes) {
            return Err(ReadError::Range);
        }
        if range.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let (start, end) = (range.start as usize, range.end as usize);
        let first = start / BLOCK_BYTES;
        let whole = first * BLOCK_BYTES
            ..(end.div_ceil(BLOCK_BYTES) * BLOCK_BYTES).min(lead.head.data_bytes as usize);
        let mut blocks = lead.blocks(whole.clone());
        let mut slices: Vec<IoSliceMut<'_>> = blocks
            .iter_mut()
            .map(|block| IoSliceMut::new(block))
            .collect();
        let at = self.at(lead.head.data_at() + whole.start);
        if !self.segment.fill(&mut slices, at, how)? {
            return Ok(None);
        }
        self.verify_blocks(lead, first, &blocks)?;
        let mut chunks: Vec<Bytes> = blocks.into_iter().map(Bytes::from).collect();
        if let Some(last) = chunks.last_mut() {
            last.truncate(last.len() - (whole.end - end));
        }
        if let Some(first) = chunks.first_mut() {
            *first = first.slice(start - whole.start..);
        }
        Ok(Some(chunks))
    }

    /// Whose record it is, its meta, and the length of its data in bytes.
    pub fn read_meta(&self, how: Wait) -> Result<Option<(Id, Bytes, u64)>, ReadError> {
        self.check()?;
        let length = (self.lead_most() + META_GUESS).min(self.place.bytes as usize);
        let Some(bytes) = self.segment.bytes_at(self.at(0), length, how)? else {
            return Ok(None);
        };
        let lead = self.parse(&bytes)?;
        let (from, to) = (lead.head.meta_at(), lead.head.data_at());
        let meta = if to <= bytes.len() {
            Bytes::from(bytes).slice(from..to)
        } else {
            match self.segment.bytes_at(self.at(from), to - from, how)? {
                Some(meta) => meta.into(),
                None => return Ok(None),
            }
        };
        self.verify_meta(&lead, &meta)?;
        Ok(Some((lead.head.id, meta, u64::from(lead.head.data_bytes))))
    }

    /// A position of the record in the file.
    fn at(&self, position: usize) -> u64 {
        u64::from(self.place.offset) + position as u64
    }

    /// Head and table are never longer than this.
    fn lead_most(&self) -> usize {
        HEAD_BYTES + 4 * (self.place.bytes as usize).div_ceil(BLOCK_BYTES)
    }

    /// A place can be anything; memory is only taken for what the file has.
    fn check(&self) -> Result<(), ReadError> {
        let end = self.at(self.place.bytes as usize);
        if end > self.segment.end() {
            return Err(self.segment.corrupt());
        }
        Ok(())
    }

    fn lead(&self, how: Wait) -> Result<Option<&Lead>, ReadError> {
        if let Some(lead) = self.lead.get() {
            return Ok(Some(lead));
        }
        self.check()?;
        let length = self.lead_most().min(self.place.bytes as usize);
        let Some(bytes) = self.segment.bytes_at(self.at(0), length, how)? else {
            return Ok(None);
        };
        let lead = self.parse(&bytes)?;
        Ok(Some(self.lead.get_or_init(|| lead)))
    }

    /// Head and table from the first bytes of the record.
    fn parse(&self, bytes: &[u8]) -> Result<Lead, ReadError> {
        parse_lead(bytes, self.place).ok_or_else(|| self.segment.corrupt())
    }

    fn verify_meta(&self, lead: &Lead, meta: &[u8]) -> Result<(), ReadError> {
        if crc32c::crc32c(meta) == lead.head.meta_sum {
            Ok(())
        } else {
            Err(self.segment.corrupt())
        }
    }

    fn verify_blocks(
        &self,
        lead: &Lead,
        first: usize,
        blocks: &[impl AsRef<[u8]>],
    ) -> Result<(), ReadError> {
        let right = blocks.iter().enumerate().all(|(n, block)| {
            u32_at(&lead.table, 4 * (first + n)) == Some(crc32c::crc32c(block.as_ref()))
        });
        if right {
            Ok(())
        } else {
            Err(self.segment.corrupt())
        }
    }
}

fn parse_lead(bytes: &[u8], place: Place) -> Option<Lead> {
    let head = Head::decode(bytes, place.segment, place.offset)?;
    let table = bytes.get(HEAD_BYTES..head.meta_at())?;
    let whole =
        head.record_bytes() == u64::from(place.bytes) && crc32c::crc32c(table) == head.table_sum;
    whole.then(|| Lead {
        head,
        table: table.to_vec(),
    })
}

impl Lead {
    /// Room for the blocks of a range of the data that begins with a block.
    fn blocks(&self, range: Range<usize>) -> Vec<Vec<u8>> {
        range
            .clone()
            .step_by(BLOCK_BYTES)
            .map(|start| vec![0; BLOCK_BYTES.min(range.end - start)])
            .collect()
    }
}
