//! An item's record in a segment: a header of fixed size, the key, the body.

use crate::index::UNIT;
use crate::item::Item;

/// A header's bytes.
pub(crate) const HEADER: usize = 34;

/// The record is of no item any more: it was removed, or written elsewhere.
pub(crate) const DEAD: u8 = 1;
/// It was read since eviction last passed by.
pub(crate) const HOT: u8 = 2;
/// It was read since it was written.
pub(crate) const READ: u8 = 4;
/// The body is the number of a large value.
pub(crate) const LARGE: u8 = 8;
/// The body is a place that only the table's owner understands.
pub(crate) const ELSEWHERE: u8 = 16;

/// Above these bits: which copy of its journal's is the valid one.
const COPY_SHIFT: u8 = 5;

/// A large value's number, as a body; the rest is room for the place that may follow it.
pub(crate) const LARGE_BODY: usize = ELSEWHERE_BODY;
/// A place elsewhere, as a body.
pub(crate) const ELSEWHERE_BODY: usize = 12;

const LAST_READ: usize = 20;
const BITS: usize = 33;

/// What stands before key and value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) cas: u64,
    /// The value's length wherever it lies.
    pub(crate) value_len: u32,
    pub(crate) flags: u32,
    /// 0: never.
    pub(crate) expires_s: u32,
    /// When it was read last, or written if it was not.
    pub(crate) last_read_s: u32,
    /// How many clears there had been when it was written.
    pub(crate) era: u32,
    pub(crate) key_len: u16,
    /// What the record takes in its segment, in units of [`UNIT`] bytes; it may need fewer.
    pub(crate) units: u16,
    pub(crate) marks: u8,
    pub(crate) bits: u8,
}

impl Header {
    pub(crate) fn read(segment: &[u8], at: usize) -> Self {
        let mut raw = [0; HEADER];
        raw.copy_from_slice(&segment[at..at + HEADER]);
        let u32_at = |n: usize| u32::from_le_bytes([raw[n], raw[n + 1], raw[n + 2], raw[n + 3]]);
        let u16_at = |n: usize| u16::from_le_bytes([raw[n], raw[n + 1]]);
        Self {
            cas: u64::from(u32_at(4)) << 32 | u64::from(u32_at(0)),
            value_len: u32_at(8),
            flags: u32_at(12),
            expires_s: u32_at(16),
            last_read_s: u32_at(LAST_READ),
            era: u32_at(24),
            key_len: u16_at(28),
            units: u16_at(30),
            marks: raw[32],
            bits: raw[BITS],
        }
    }

    pub(crate) fn write(&self, segment: &mut [u8], at: usize) {
        let mut raw = [0; HEADER];
        raw[..8].copy_from_slice(&self.cas.to_le_bytes());
        raw[8..12].copy_from_slice(&self.value_len.to_le_bytes());
        raw[12..16].copy_from_slice(&self.flags.to_le_bytes());
        raw[16..20].copy_from_slice(&self.expires_s.to_le_bytes());
        raw[20..24].copy_from_slice(&self.last_read_s.to_le_bytes());
        raw[24..28].copy_from_slice(&self.era.to_le_bytes());
        raw[28..30].copy_from_slice(&self.key_len.to_le_bytes());
        raw[30..32].copy_from_slice(&self.units.to_le_bytes());
        raw[32] = self.marks;
        raw[BITS] = self.bits;
        segment[at..at + HEADER].copy_from_slice(&raw);
    }

    /// Writes nothing but what a read changes.
    pub(crate) fn write_read(&self, segment: &mut [u8], at: usize) {
        let last_read_s = self.last_read_s.to_le_bytes();
        segment[at + LAST_READ..at + LAST_READ + 4].copy_from_slice(&last_read_s);
        segment[at + BITS] = self.bits;
    }

    pub(crate) fn has(&self, bits: u8) -> bool {
        self.bits & bits != 0
    }

    /// Whether the item is there for anybody who asks at `now_s`.
    pub(crate) fn is_live(&self, era: u32, now_s: u32) -> bool {
        self.era >= era && !self.has_expired(now_s)
    }

    pub(crate) fn has_expired(&self, now_s: u32) -> bool {
        self.expires_s != 0 && self.expires_s <= now_s
    }

    /// See [`crate::Item::copy`].
    pub(crate) fn copy(&self) -> u8 {
        self.bits >> COPY_SHIFT
    }

    /// The same with another copy number.
    pub(crate) fn with_copy(self, copy: u8) -> Self {
        let bits = self.bits & ((1 << COPY_SHIFT) - 1) | copy << COPY_SHIFT;
        Self { bits, ..self }
    }

    /// The body's bytes in the segment.
    pub(crate) fn body_len(&self) -> usize {
        if self.has(LARGE) {
            LARGE_BODY
        } else if self.has(ELSEWHERE) {
            ELSEWHERE_BODY
        } else {
            self.value_len as usize
        }
    }

    /// The bytes that the record needs, in whole units.
    pub(crate) fn needs(&self) -> usize {
        record_bytes(usize::from(self.key_len), self.body_len())
    }

    /// The bytes that it takes.
    pub(crate) fn takes(&self) -> usize {
        usize::from(self.units) * UNIT
    }

    /// The bytes of key and value that are in memory.
    pub(crate) fn payload(&self) -> u64 {
        u64::from(self.key_len) + u64::from(self.value_len) - self.elsewhere()
    }

    /// The bytes of the value that are not.
    pub(crate) fn elsewhere(&self) -> u64 {
        match self.has(ELSEWHERE) {
            true => self.value_len.into(),
            false => 0,
        }
    }
}

/// The bits that say of an item what is known of it beside its value.
pub(crate) fn bits_of(item: &Item<'_>) -> u8 {
    let read = if item.was_read { READ } else { 0 };
    read | item.copy << COPY_SHIFT
}

/// What a record of these lengths takes, in whole units.
pub(crate) fn record_bytes(key_len: usize, body_len: usize) -> usize {
    (HEADER + key_len + body_len).next_multiple_of(UNIT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            cas: u64, words: [u32; 5], key_len: u16, units: u16, marks: u8, bits: u8, at in 0usize..9
        ) {
            let [value_len, flags, expires_s, last_read_s, era] = words;
            let mut header = Header {
                cas, value_len, flags, expires_s, last_read_s, era, key_len, units, marks, bits,
            };
            let mut segment = [0xaa; 50];
            header.write(&mut segment, at);
            prop_assert_eq!(Header::read(&segment, at), header);
            header.last_read_s ^= 77;
            header.bits ^= READ;
            header.write_read(&mut segment, at);
            prop_assert_eq!(Header::read(&segment, at), header);
            prop_assert!(segment[at + HEADER..].iter().all(|byte| *byte == 0xaa));
        }
    }
}
