//! The head of a record: what it is, how long its parts are, their checksums.
//!
//! A record is head, table, meta, data and padding. The table holds the
//! checksum of each block of the data, so that a part of it can be verified
//! alone. The checksum of a head is bound to its place: a head that lies
//! elsewhere than it was written to is damaged.

use crate::format::{ALIGN, BLOCK_BYTES, META_MOST, SEGMENT_MOST, round_up, u32_at, u64_at};
use crate::place::{Id, Kind};

/// Length of a record's head.
pub(crate) const HEAD_BYTES: usize = 48;

const MAGIC: u32 = u32::from_le_bytes(*b"fbRc");

/// A record's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) kind: Kind,
    pub(crate) id: Id,
    /// How many records come before it in its segment.
    pub(crate) ordinal: u32,
    pub(crate) meta_bytes: u32,
    pub(crate) data_bytes: u32,
    pub(crate) table_sum: u32,
    pub(crate) meta_sum: u32,
}

impl Head {
    /// The bytes of the head for a place.
    pub(crate) fn encode(&self, segment: u64, offset: u32) -> [u8; HEAD_BYTES] {
        let mut out = [0; HEAD_BYTES];
        out[..4].copy_from_slice(&MAGIC.to_le_bytes());
        out[4] = match self.kind {
            Kind::Entry => 1,
            Kind::Piece => 2,
        };
        out[8..16].copy_from_slice(&self.id.key.to_le_bytes());
        for (at, value) in [
            (16, self.id.variant),
            (20, self.ordinal),
            (24, self.meta_bytes),
            (28, self.data_bytes),
            (32, self.table_sum),
            (36, self.meta_sum),
        ] {
            out[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        let sum = bound_sum(segment, offset, &out[..44]);
        out[44..].copy_from_slice(&sum.to_le_bytes());
        out
    }

    /// The head that begins with `bytes`, if it was written for this place and
    /// its lengths are possible.
    pub(crate) fn decode(bytes: &[u8], segment: u64, offset: u32) -> Option<Self> {
        let head = bytes.get(..HEAD_BYTES)?;
        if u32_at(head, 0)? != MAGIC || bound_sum(segment, offset, &head[..44]) != u32_at(head, 44)?
        {
            return None;
        }
        let decoded = Self {
            kind: match head[4] {
                1 => Kind::Entry,
                2 => Kind::Piece,
                _ => return None,
            },
            id: Id {
                key: u64_at(head, 8)?,
                variant: u32_at(head, 16)?,
            },
            ordinal: u32_at(head, 20)?,
            meta_bytes: u32_at(head, 24)?,
            data_bytes: u32_at(head, 28)?,
            table_sum: u32_at(head, 32)?,
            meta_sum: u32_at(head, 36)?,
        };
        let possible = decoded.meta_bytes as usize <= META_MOST
            && head[5..8] == [0; 3]
            && head[40..44] == [0; 4]
            && decoded.record_bytes() <= SEGMENT_MOST;
        possible.then_some(decoded)
    }

    /// Length of the table.
    pub(crate) fn table_bytes(&self) -> usize {
        4 * (self.data_bytes as usize).div_ceil(BLOCK_BYTES)
    }

    /// Where the meta begins in the record.
    pub(crate) fn meta_at(&self) -> usize {
        HEAD_BYTES + self.table_bytes()
    }

    /// Where the data begins in the record.
    pub(crate) fn data_at(&self) -> usize {
        self.meta_at() + self.meta_bytes as usize
    }

    /// Length of the record with its padding.
    pub(crate) fn record_bytes(&self) -> u64 {
        record_bytes(u64::from(self.meta_bytes), u64::from(self.data_bytes))
    }
}

/// Length of a record with its padding, for lengths of meta and data.
pub(crate) fn record_bytes(meta: u64, data: u64) -> u64 {
    let table = data.div_ceil(BLOCK_BYTES as u64).saturating_mul(4);
    let all = (HEAD_BYTES as u64)
        .saturating_add(table)
        .saturating_add(meta);
    round_up(all.saturating_add(data), ALIGN)
}

/// The table of checksums of data that comes in slices.
pub(crate) fn table_of(data: &[&[u8]]) -> Vec<u8> {
    let length: usize = data.iter().map(|slice| slice.len()).sum();
    let mut table = Vec::with_capacity(4 * length.div_ceil(BLOCK_BYTES));
    let (mut sum, mut held) = (0, 0);
    for slice in data {
        let mut rest = *slice;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(BLOCK_BYTES - held));
            sum = crc32c::crc32c_append(sum, now);
            held += now.len();
            rest = later;
            if held == BLOCK_BYTES {
                table.extend_from_slice(&sum.to_le_bytes());
                (sum, held) = (0, 0);
            }
        }
    }
    if held > 0 {
        table.extend_from_slice(&sum.to_le_bytes());
    }
    table
}

/// The checksum of `bytes`, bound to the place that they are for.
pub(crate) fn bound_sum(segment: u64, offset: u32, bytes: &[u8]) -> u32 {
    let place = crc32c::crc32c(&segment.to_le_bytes());
    let place = crc32c::crc32c_append(place, &offset.to_le_bytes());
    crc32c::crc32c_append(place, bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn head() -> Head {
        Head {
            kind: Kind::Piece,
            id: Id {
                key: u64::MAX - 5,
                variant: 7,
            },
            ordinal: 3,
            meta_bytes: 100,
            data_bytes: 200_000,
            table_sum: 4,
            meta_sum: 5,
        }
    }

    #[test]
    fn a_head_is_read_only_at_its_place_and_undamaged() {
        let good = head().encode(9, 64);
        assert_eq!(Head::decode(&good, 9, 64), Some(head()));
        assert_eq!(Head::decode(&good, 8, 64), None);
        assert_eq!(Head::decode(&good, 9, 80), None);
        for bit in 0..HEAD_BYTES * 8 {
            let mut bad = good;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Head::decode(&bad, 9, 64), None, "bit {bit}");
        }
    }

    #[test]
    fn impossible_lengths_are_damage_even_with_a_right_checksum() {
        for (meta_bytes, data_bytes) in [(u32::MAX, 0), (META_MOST as u32 + 1, 0), (0, u32::MAX)] {
            let head = Head {
                meta_bytes,
                data_bytes,
                ..head()
            };
            assert_eq!(Head::decode(&head.encode(1, 64), 1, 64), None);
        }
    }

    #[test]
    fn the_table_does_not_depend_on_how_data_is_cut() {
        let data: Vec<u8> = (0..200_000u32).map(|n| (n * 31 % 251) as u8).collect();
        let whole = table_of(&[&data]);
        assert_eq!(whole.len(), 16);
        let (a, b) = data.split_at(70_001);
        let (b, c) = b.split_at(1);
        assert_eq!(table_of(&[a, b, &[], c]), whole);
        let last = crc32c::crc32c(&data[3 * BLOCK_BYTES..]);
        assert_eq!(u32_at(&whole, 12), Some(last));
        assert!(table_of(&[]).is_empty());
        assert_eq!(table_of(&[&data[..BLOCK_BYTES]]).len(), 4);
    }

    #[test]
    fn lengths_of_records_are_aligned_and_never_overflow() {
        assert_eq!(record_bytes(0, 0), 48);
        assert_eq!(record_bytes(1, 1), 64);
        assert_eq!(record_bytes(0, 65_536) % 16, 0);
        assert!(record_bytes(u64::MAX, u64::MAX) > SEGMENT_MOST);
    }
}
