//! What is stored and where: identifiers, kinds and places of records.

/// What an entry is found by. Several variants may share a key.
///
/// The key should be well spread, as a keyed hash is; the index mixes it, and
/// cannot tell apart what its owner gave the same key and variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id {
    /// The primary key.
    pub key: u64,
    /// Which of the variants under the key.
    pub variant: u32,
}

/// What a record is to the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Found by its [`Id`]; replaces the entry that had the same one.
    Entry,
    /// Part of what an entry describes. Not in the index: whoever appended it
    /// keeps its [`Place`].
    Piece,
}

/// A record to be appended. Nothing of it is copied on its way to the disk.
#[derive(Debug, Clone, Copy)]
pub struct New<'a> {
    /// What it is found by, or whose piece it is.
    pub id: Id,
    /// Entry or piece.
    pub kind: Kind,
    /// The owner's description, at most [`META_MOST`](crate::META_MOST) bytes.
    pub meta: &'a [u8],
    /// The data, in order.
    pub data: &'a [&'a [u8]],
}

/// Where a record lies. A place is never used again for another record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// Number of the segment.
    pub segment: u64,
    /// Where in the segment, in bytes.
    pub offset: u32,
    /// Length of the whole record in bytes: heads, meta, data and padding.
    pub bytes: u32,
}

impl Place {
    /// Length of [`to_bytes`](Self::to_bytes).
    pub const ENCODED_BYTES: usize = 16;

    /// The place for an owner who writes it into a meta.
    pub fn to_bytes(self) -> [u8; Self::ENCODED_BYTES] {
        let mut out = [0; Self::ENCODED_BYTES];
        out[..8].copy_from_slice(&self.segment.to_le_bytes());
        out[8..12].copy_from_slice(&self.offset.to_le_bytes());
        out[12..].copy_from_slice(&self.bytes.to_le_bytes());
        out
    }

    /// The place that was written down. Any bytes make some place; one that
    /// there is no record at answers with an error or nothing when it is read.
    pub fn from_bytes(bytes: [u8; Self::ENCODED_BYTES]) -> Self {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = bytes;
        Self {
            segment: u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            offset: u32::from_le_bytes([i, j, k, l]),
            bytes: u32::from_le_bytes([m, n, o, p]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_survives_being_written_down() {
        let place = Place {
            segment: 0x0102_0304_0506_0708,
            offset: 0x1122_3344,
            bytes: 0x5566_7788,
        };
        assert_eq!(Place::from_bytes(place.to_bytes()), place);
        assert_eq!(place.to_bytes()[..2], [8, 7]);
    }
}
