//! The head and the footer of a segment.
//!
//! The head says whose file it is. The footer is written when a segment is
//! closed: a table with a row for each record, and a trailer, the last bytes of
//! the file, that says where the table is. It is the checkpoint: with it,
//! recovery need not look at the records.

use crate::format::{ALIGN, PREAMBLE_BYTES, Preamble, preamble, read_preamble, u32_at, u64_at};
use crate::place::{Id, Kind, Place};
use crate::record::bound_sum;

/// Length of a segment's head, and so where its first record begins.
pub(crate) const SEGMENT_HEAD_BYTES: usize = 64;

/// Length of a row of the table.
pub(crate) const ROW_BYTES: usize = 24;

/// Length of the trailer.
pub(crate) const TRAILER_BYTES: usize = 32;

const SEGMENT_MAGIC: [u8; 8] = *b"FBSEGMNT";
const TRAILER_MAGIC: [u8; 8] = *b"FBTRAILR";

/// The head of the segment with this number.
pub(crate) fn segment_head(number: u64) -> [u8; SEGMENT_HEAD_BYTES] {
    let mut out = [0; SEGMENT_HEAD_BYTES];
    out[..PREAMBLE_BYTES].copy_from_slice(&preamble(SEGMENT_MAGIC));
    out[16..24].copy_from_slice(&number.to_le_bytes());
    let sum = crc32c::crc32c(&out[..60]);
    out[60..].copy_from_slice(&sum.to_le_bytes());
    out
}

/// Judges the beginning of a file that should be the segment `number`.
pub(crate) fn read_segment_head(number: u64, bytes: &[u8]) -> Preamble {
    match read_preamble(SEGMENT_MAGIC, bytes) {
        Preamble::Ours => {}
        other => return other,
    }
    let whole = bytes
        .get(..60)
        .is_some_and(|head| u32_at(bytes, 60) == Some(crc32c::crc32c(head)));
    if whole && u64_at(bytes, 16) == Some(number) {
        Preamble::Ours
    } else {
        Preamble::Damaged
    }
}

/// One record of a segment, as the table has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) id: Id,
    pub(crate) kind: Kind,
    pub(crate) offset: u32,
    pub(crate) bytes: u32,
}

impl Row {
    /// Where the record lies.
    pub(crate) fn place(&self, segment: u64) -> Place {
        Place {
            segment,
            offset: self.offset,
            bytes: self.bytes,
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.id.key.to_le_bytes());
        out.extend_from_slice(&self.id.variant.to_le_bytes());
        out.extend_from_slice(&self.offset.to_le_bytes());
        // The length is a multiple of sixteen: the kind has its place below.
        let kind = match self.kind {
            Kind::Entry => 1,
            Kind::Piece => 2,
        };
        out.extend_from_slice(&(self.bytes | kind).to_le_bytes());
        out.extend_from_slice(&[0; 4]);
    }

    fn decode(row: &[u8]) -> Option<Self> {
        let packed = u32_at(row, 16)?;
        Some(Self {
            id: Id {
                key: u64_at(row, 0)?,
                variant: u32_at(row, 8)?,
            },
            kind: match packed & 15 {
                1 => Kind::Entry,
                2 => Kind::Piece,
                _ => return None,
            },
            offset: u32_at(row, 12)?,
            bytes: packed & !15,
        })
    }
}

/// The footer for the records of a segment that end at `at`.
pub(crate) fn encode(number: u64, at: u32, rows: &[Row]) -> Vec<u8> {
    let mut out = Vec::with_capacity(footer_bytes(rows.len()) as usize);
    rows.iter().for_each(|row| row.encode(&mut out));
    let table_sum = crc32c::crc32c(&out);
    let trailer = out.len();
    out.extend_from_slice(&TRAILER_MAGIC);
    out.extend_from_slice(&at.to_le_bytes());
    out.extend_from_slice(&(rows.len() as u32).to_le_bytes());
    out.extend_from_slice(&table_sum.to_le_bytes());
    out.extend_from_slice(&[0; 8]);
    let sum = bound_sum(number, at, &out[trailer..]);
    out.extend_from_slice(&sum.to_le_bytes());
    out
}

/// Length of the footer for so many records.
pub(crate) fn footer_bytes(rows: usize) -> u64 {
    (rows as u64).saturating_mul(ROW_BYTES as u64) + TRAILER_BYTES as u64
}

/// What a trailer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trailer {
    /// Where the table begins and the records end.
    pub(crate) table_at: u32,
    /// Number of rows.
    pub(crate) rows: u32,
    table_sum: u32,
}

impl Trailer {
    /// The trailer in the last bytes of a file of this length, if it is one.
    pub(crate) fn decode(number: u64, file_bytes: u64, bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..TRAILER_BYTES)?;
        let table_at = u32_at(bytes, 8)?;
        let rows = u32_at(bytes, 12)?;
        let whole = bytes[..8] == TRAILER_MAGIC
            && u32_at(bytes, 28)? == bound_sum(number, table_at, &bytes[..28])
            && u64::from(table_at) >= SEGMENT_HEAD_BYTES as u64
            && u64::from(table_at) + footer_bytes(rows as usize) == file_bytes;
        whole.then_some(Self {
            table_at,
            rows,
            table_sum: u32_at(bytes, 16)?,
        })
    }

    /// Length of the table.
    pub(crate) fn table_bytes(&self) -> usize {
        self.rows as usize * ROW_BYTES
    }

    /// The rows of a table, if it is undamaged and its rows are possible.
    pub(crate) fn rows(&self, table: &[u8]) -> Option<Vec<Row>> {
        if table.len() != self.table_bytes() || crc32c::crc32c(table) != self.table_sum {
            return None;
        }
        let rows: Option<Vec<Row>> = table.chunks_exact(ROW_BYTES).map(Row::decode).collect();
        rows.filter(|rows| {
            rows.iter().all(|row| {
                u64::from(row.offset) >= SEGMENT_HEAD_BYTES as u64
                    && u64::from(row.offset) % ALIGN == 0
                    && row.bytes > 0
                    && u64::from(row.offset) + u64::from(row.bytes) <= u64::from(self.table_at)
            })
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn rows() -> Vec<Row> {
        (0..5u32)
            .map(|n| Row {
                id: Id {
                    key: u64::from(n) << 40,
                    variant: n,
                },
                kind: if n == 3 { Kind::Piece } else { Kind::Entry },
                offset: 64 + 160 * n,
                bytes: 160,
            })
            .collect()
    }

    fn read(number: u64, at: u32, footer: &[u8]) -> Option<Vec<Row>> {
        let trailer_at = footer.len().checked_sub(TRAILER_BYTES)?;
        let file_bytes = u64::from(at) + footer.len() as u64;
        let trailer = Trailer::decode(number, file_bytes, &footer[trailer_at..])?;
        trailer.rows(footer.get(..trailer.table_bytes())?)
    }

    #[test]
    fn a_footer_is_read_and_every_flipped_bit_is_seen() {
        let at = 64 + 160 * 5;
        let good = encode(3, at, &rows());
        assert_eq!(good.len() as u64, footer_bytes(5));
        assert_eq!(read(3, at, &good), Some(rows()));
        assert_eq!(read(4, at, &good), None);
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read(3, at, &bad), None, "bit {bit}");
        }
    }

    #[test]
    fn rows_beyond_the_records_are_damage() {
        let good = encode(3, 64 + 160 * 4, &rows());
        assert_eq!(read(3, 64 + 160 * 4, &good), None);
    }

    #[test]
    fn a_segment_head_belongs_to_its_number() {
        let head = segment_head(77);
        assert_eq!(read_segment_head(77, &head), Preamble::Ours);
        assert_eq!(read_segment_head(78, &head), Preamble::Damaged);
        for bit in 0..SEGMENT_HEAD_BYTES * 8 {
            let mut bad = head;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read_segment_head(77, &bad), Preamble::Damaged, "bit {bit}");
        }
    }
}
