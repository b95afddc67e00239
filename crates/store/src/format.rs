//! The numbers of the format, and the head that every file begins with.
//!
//! All integers are little-endian. `docs/store-format.md` has the tables.

/// The version that is written, and the latest that is read.
pub const FORMAT_VERSION: u32 = 1;

/// Data is checksummed in blocks of this many bytes.
pub const BLOCK_BYTES: usize = 64 << 10;

/// The longest meta of a record, in bytes.
pub const META_MOST: usize = 1 << 20;

/// Everything in a segment begins at a multiple of this.
pub(crate) const ALIGN: u64 = 16;

/// The shortest segment, in bytes.
pub(crate) const SEGMENT_LEAST: u64 = 16 << 10;

/// The longest segment, in bytes: 26 bits of offset in units of [`ALIGN`].
pub(crate) const SEGMENT_MOST: u64 = 1 << 30;

/// What files are counted in, since file systems give space in blocks.
pub(crate) const PAGE: u64 = 4096;

/// Length of what every version begins a file with.
pub(crate) const PREAMBLE_BYTES: usize = 16;

/// What the first sixteen bytes of a file say.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Preamble {
    /// This version.
    Ours,
    /// A later one.
    Later(u32),
    /// Not such a file, or damaged.
    Damaged,
}

/// The beginning of every file, of all versions: magic, version, checksum.
pub(crate) fn preamble(magic: [u8; 8]) -> [u8; PREAMBLE_BYTES] {
    let mut out = [0; PREAMBLE_BYTES];
    out[..8].copy_from_slice(&magic);
    out[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    let sum = crc32c::crc32c(&out[..12]);
    out[12..].copy_from_slice(&sum.to_le_bytes());
    out
}

/// Reads the beginning of a file.
pub(crate) fn read_preamble(magic: [u8; 8], bytes: &[u8]) -> Preamble {
    let (Some(head), Some(version), Some(sum)) =
        (bytes.get(..12), u32_at(bytes, 8), u32_at(bytes, 12))
    else {
        return Preamble::Damaged;
    };
    if head[..8] != magic || crc32c::crc32c(head) != sum {
        return Preamble::Damaged;
    }
    match version {
        FORMAT_VERSION => Preamble::Ours,
        0 => Preamble::Damaged,
        later => Preamble::Later(later),
    }
}

/// The next multiple of `unit`, which is a power of two.
pub(crate) fn round_up(n: u64, unit: u64) -> u64 {
    n.saturating_add(unit - 1) & !(unit - 1)
}

/// The `u32` at a position, where there is one.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(four.try_into().ok()?))
}

/// The `u64` at a position, where there is one.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let eight = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(eight.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preamble_is_read_and_every_flipped_bit_is_seen() {
        let good = preamble(*b"ABCDEFGH");
        assert_eq!(read_preamble(*b"ABCDEFGH", &good), Preamble::Ours);
        for bit in 0..PREAMBLE_BYTES * 8 {
            let mut bad = good;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read_preamble(*b"ABCDEFGH", &bad), Preamble::Damaged);
        }
        for short in 0..PREAMBLE_BYTES {
            assert_eq!(
                read_preamble(*b"ABCDEFGH", &good[..short]),
                Preamble::Damaged
            );
        }
    }

    #[test]
    fn a_later_version_is_told_apart_from_damage() {
        let mut later = preamble(*b"ABCDEFGH");
        later[8] = 9;
        let sum = crc32c::crc32c(&later[..12]);
        later[12..].copy_from_slice(&sum.to_le_bytes());
        assert_eq!(read_preamble(*b"ABCDEFGH", &later), Preamble::Later(9));
    }
}
