//! What a log's files hold: the head of a segment and the head of a record.
//!
//! `docs/store-format.md` has the tables. Checksums of records are bound to a
//! number that each segment draws when it is created, and to the offset. So
//! neither what lay on the disk before, nor what a client put into a value, can
//! pass for a record when the search for the next one comes across it.

use std::hash::{BuildHasher, Hasher, RandomState};

use crate::format::{PREAMBLE_BYTES, Preamble, preamble, read_preamble, round_up, u32_at, u64_at};

/// The longest payload of a record, in bytes.
pub const RECORD_MOST: usize = 1 << 30;

/// Records begin at a multiple of this.
pub(super) const ALIGN: usize = 8;

/// Where the first record of a segment begins.
pub(super) const FIRST: u32 = 4096;

/// Length of a record's head.
pub(super) const HEAD_BYTES: usize = 16;

/// The first four bytes of a record.
pub(super) const RECORD_MAGIC: u32 = u32::from_le_bytes(*b"fbWr");

const SEGMENT_MAGIC: [u8; 8] = *b"FBWALSEG";

/// Length of a segment's head, of which there are two.
const SEGMENT_HEAD_BYTES: usize = 64;

/// Where the second copy of the head lies: all records depend on it.
const TWIN_AT: usize = 2048;

/// What the beginning of a segment says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Beginning {
    /// This version, with what its records are bound to.
    Ours(u64),
    /// A later version.
    Later(u32),
    /// Not such a file, or damaged.
    Damaged,
}

/// A number that nobody can know beforehand.
pub(super) fn draw() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// What a segment's file begins with.
pub(super) fn beginning(number: u32, tag: u64) -> [u8; FIRST as usize] {
    let mut head = [0; SEGMENT_HEAD_BYTES];
    head[..PREAMBLE_BYTES].copy_from_slice(&preamble(SEGMENT_MAGIC));
    head[16..24].copy_from_slice(&u64::from(number).to_le_bytes());
    head[24..32].copy_from_slice(&tag.to_le_bytes());
    let sum = crc32c::crc32c(&head[..60]);
    head[60..].copy_from_slice(&sum.to_le_bytes());
    let mut out = [0; FIRST as usize];
    out[..SEGMENT_HEAD_BYTES].copy_from_slice(&head);
    out[TWIN_AT..TWIN_AT + SEGMENT_HEAD_BYTES].copy_from_slice(&head);
    out
}

/// Judges the beginning of a file that should be the segment `number`.
pub(super) fn read_beginning(number: u32, bytes: &[u8]) -> Beginning {
    let twin = bytes.get(TWIN_AT..).unwrap_or_default();
    match (read_head(number, bytes), read_head(number, twin)) {
        (later @ Beginning::Later(_), _) | (_, later @ Beginning::Later(_)) => later,
        (Beginning::Damaged, second) => second,
        (first, _) => first,
    }
}

fn read_head(number: u32, bytes: &[u8]) -> Beginning {
    match read_preamble(SEGMENT_MAGIC, bytes) {
        Preamble::Ours => {}
        Preamble::Later(version) => return Beginning::Later(version),
        Preamble::Damaged => return Beginning::Damaged,
    }
    let whole = bytes
        .get(..60)
        .is_some_and(|head| u32_at(bytes, 60) == Some(crc32c::crc32c(head)));
    match (u64_at(bytes, 16), u64_at(bytes, 24)) {
        (Some(found), Some(tag)) if whole && found == u64::from(number) => Beginning::Ours(tag),
        _ => Beginning::Damaged,
    }
}

/// A record's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    /// Length of the payload.
    pub(super) length: u32,
    /// Checksum of the payload.
    pub(super) sum: u32,
}

impl Head {
    /// The bytes of the head for a place.
    pub(super) fn encode(self, tag: u64, offset: u32) -> [u8; HEAD_BYTES] {
        let mut out = [0; HEAD_BYTES];
        out[..4].copy_from_slice(&RECORD_MAGIC.to_le_bytes());
        out[4..8].copy_from_slice(&self.length.to_le_bytes());
        out[8..12].copy_from_slice(&self.sum.to_le_bytes());
        let sum = bound_sum(tag, offset, &out);
        out[12..].copy_from_slice(&sum.to_le_bytes());
        out
    }

    /// The head that begins with `bytes`, if it was written for this place.
    pub(super) fn decode(bytes: &[u8], tag: u64, offset: u32) -> Option<Self> {
        let head = bytes.get(..HEAD_BYTES)?;
        if u32_at(head, 0)? != RECORD_MAGIC || u32_at(head, 12)? != bound_sum(tag, offset, head) {
            return None;
        }
        let length = u32_at(head, 4)?;
        let sum = u32_at(head, 8)?;
        (length as usize <= RECORD_MOST).then_some(Self { length, sum })
    }
}

/// The checksum of all of a head but its last four bytes, bound to its place.
/// In one go: 15 ns, where [`crate::record::bound_sum`] takes 42.
fn bound_sum(tag: u64, offset: u32, head: &[u8]) -> u32 {
    let mut bytes = [0; 24];
    bytes[..8].copy_from_slice(&tag.to_le_bytes());
    bytes[8..12].copy_from_slice(&offset.to_le_bytes());
    for (to, from) in bytes[12..].iter_mut().zip(head) {
        *to = *from;
    }
    crc32c::crc32c(&bytes)
}

/// Length of a record with its head and padding.
pub(super) fn record_bytes(length: u32) -> u32 {
    round_up(HEAD_BYTES as u64 + u64::from(length), ALIGN as u64) as u32
}

/// The name of a segment's file.
pub(super) fn file_name(number: u32) -> String {
    format!("{number:010}.wal")
}

/// The number in a segment's name, if it is one.
pub(super) fn number_of(name: &str) -> Option<u32> {
    let number = name.strip_suffix(".wal")?.parse().ok()?;
    (file_name(number) == name).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_damaged_byte_does_not_cost_the_head_of_a_segment() {
        let good = beginning(7, 99);
        assert_eq!(read_beginning(7, &good), Beginning::Ours(99));
        assert_eq!(read_beginning(8, &good), Beginning::Damaged);
        for at in 0..good.len() {
            let mut bad = good;
            bad[at] ^= 0x10;
            assert_eq!(read_beginning(7, &bad), Beginning::Ours(99), "byte {at}");
        }
        for short in 0..SEGMENT_HEAD_BYTES {
            assert_eq!(read_beginning(7, &good[..short]), Beginning::Damaged);
        }
    }

    #[test]
    fn the_checksum_of_a_head_is_the_bound_one_of_the_other_formats() {
        let bytes = Head { length: 5, sum: 17 }.encode(3, 4096);
        let sum = crate::record::bound_sum(3, 4096, &bytes[..12]);
        assert_eq!(bytes[12..], sum.to_le_bytes());
    }

    #[test]
    fn a_head_counts_only_where_it_was_written() {
        let head = Head { length: 5, sum: 17 };
        let bytes = head.encode(3, 4096);
        assert_eq!(Head::decode(&bytes, 3, 4096), Some(head));
        assert_eq!(Head::decode(&bytes, 4, 4096), None);
        assert_eq!(Head::decode(&bytes, 3, 4104), None);
        for bit in 0..HEAD_BYTES * 8 {
            let mut bad = bytes;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Head::decode(&bad, 3, 4096), None, "bit {bit}");
        }
    }

    #[test]
    fn names_and_numbers_belong_to_each_other() {
        for number in [0, 7, u32::MAX] {
            assert_eq!(number_of(&file_name(number)), Some(number));
        }
        for name in [
            "7.wal",
            "0000000007",
            "0000000007.seg",
            "0000000007.wal.new",
        ] {
            assert_eq!(number_of(name), None, "{name}");
        }
    }
}
