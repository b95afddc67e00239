//! What stands in the log: one entry for each change of an item. Pure.
//!
//! ```text
//! put        1  marks  copy|read  0  key length  flags  expires  era  last read  cas  key  value
//!            1  1      1          1  2           4      4        4    4          8
//! changed    2  marks  key length  expires  cas  key
//!            1  1      2           4        8
//! removed    3  key
//! cleared    4  era
//! to clear   5  second
//! ```
//! Numbers are little-endian. What an entry's own length does not allow is no entry.

use forebay_table::{Item, Marks, Value};

/// The bytes before the key of a `put`.
pub(crate) const PUT_HEAD: usize = 30;
/// The bytes before the key of a `changed`.
const CHANGED_HEAD: usize = 16;

const PUT: u8 = 1;
const CHANGED: u8 = 2;
const REMOVED: u8 = 3;
const CLEARED: u8 = 4;
const TO_CLEAR: u8 = 5;

/// It was read since it was written.
const READ: u8 = 8;

/// More clears than any store sees. The number of the next one is to be one higher.
const ERA_MOST: u32 = 1 << 31;

/// A change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry<'a> {
    /// A key has this item now; its value is always here.
    Put(&'a [u8], Item<'a>),
    /// What stands beside the value changed, if the item is still that of this `cas`.
    Changed {
        /// The key.
        key: &'a [u8],
        /// The item's.
        cas: u64,
        /// The second it ends; 0: never.
        expires_s: u32,
        /// Its marks.
        marks: Marks,
    },
    /// The key has no item any more.
    Removed(&'a [u8]),
    /// Items of eras before this one are gone.
    Cleared(u32),
    /// Everything will be gone at this second.
    ToClear(u32),
}

impl<'a> Entry<'a> {
    /// Reads an entry; `None`: it is none.
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        match *bytes.first()? {
            PUT => Self::read_put(bytes),
            CHANGED => {
                let key = key(bytes, CHANGED_HEAD, u16_at(bytes, 2)?)?;
                (CHANGED_HEAD + key.len() == bytes.len()).then_some(())?;
                Some(Self::Changed {
                    key,
                    cas: u64_at(bytes, 8)?,
                    expires_s: u32_at(bytes, 4)?,
                    marks: Marks(*bytes.get(1)?),
                })
            }
            REMOVED => {
                let key = bytes.get(1..)?;
                (!key.is_empty()).then_some(Self::Removed(key))
            }
            CLEARED if bytes.len() == 5 => Some(Self::Cleared(era_at(bytes, 1)?)),
            TO_CLEAR if bytes.len() == 5 => Some(Self::ToClear(u32_at(bytes, 1)?)),
            _ => None,
        }
    }

    fn read_put(bytes: &'a [u8]) -> Option<Self> {
        let key = key(bytes, PUT_HEAD, u16_at(bytes, 4)?)?;
        let bits = *bytes.get(2)?;
        let item = Item {
            value: Value::Here(bytes.get(PUT_HEAD + key.len()..)?),
            flags: u32_at(bytes, 6)?,
            expires_s: u32_at(bytes, 10)?,
            cas: u64_at(bytes, 22)?,
            marks: Marks(*bytes.get(1)?),
            last_read_s: u32_at(bytes, 18)?,
            was_read: bits & READ != 0,
            era: era_at(bytes, 14)?,
            copy: bits & (READ - 1),
        };
        Some(Self::Put(key, item))
    }
}

/// What stands before key and value of a `put`.
pub(crate) fn put_head(key: &[u8], item: &Item<'_>) -> [u8; PUT_HEAD] {
    let mut out = [0; PUT_HEAD];
    out[0] = PUT;
    out[1] = item.marks.0;
    out[2] = item.copy & (READ - 1) | if item.was_read { READ } else { 0 };
    out[4..6].copy_from_slice(&(key.len() as u16).to_le_bytes());
    out[6..10].copy_from_slice(&item.flags.to_le_bytes());
    out[10..14].copy_from_slice(&item.expires_s.to_le_bytes());
    out[14..18].copy_from_slice(&item.era.to_le_bytes());
    out[18..22].copy_from_slice(&item.last_read_s.to_le_bytes());
    out[22..30].copy_from_slice(&item.cas.to_le_bytes());
    out
}

/// What stands before the key of a `changed`.
pub(crate) fn changed_head(key: &[u8], item: &Item<'_>) -> [u8; CHANGED_HEAD] {
    let mut out = [0; CHANGED_HEAD];
    out[0] = CHANGED;
    out[1] = item.marks.0;
    out[2..4].copy_from_slice(&(key.len() as u16).to_le_bytes());
    out[4..8].copy_from_slice(&item.expires_s.to_le_bytes());
    out[8..16].copy_from_slice(&item.cas.to_le_bytes());
    out
}

/// What stands before the key of a `removed`.
pub(crate) const REMOVED_HEAD: [u8; 1] = [REMOVED];

/// A whole `cleared`.
pub(crate) fn cleared(era: u32) -> [u8; 5] {
    numbered(CLEARED, era)
}

/// A whole `to clear`.
pub(crate) fn to_clear(at_s: u32) -> [u8; 5] {
    numbered(TO_CLEAR, at_s)
}

fn numbered(kind: u8, number: u32) -> [u8; 5] {
    let [a, b, c, d] = number.to_le_bytes();
    [kind, a, b, c, d]
}

fn key(bytes: &[u8], at: usize, len: u16) -> Option<&[u8]> {
    let key = bytes.get(at..at + usize::from(len))?;
    (!key.is_empty()).then_some(key)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn era_at(bytes: &[u8], at: usize) -> Option<u32> {
    u32_at(bytes, at).filter(|era| *era <= ERA_MOST)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_era_after_which_there_is_no_other_is_none() {
        assert_eq!(Entry::read(&cleared(7)), Some(Entry::Cleared(7)));
        assert_eq!(Entry::read(&cleared(u32::MAX)), None);
        let value = Value::Here(b"value");
        let (marks, copy, was_read) = (Marks(0), 0, false);
        let (flags, expires_s, cas, last_read_s) = (0, 0, 1, 1);
        let item = |era| Item {
            value,
            marks,
            copy,
            was_read,
            flags,
            expires_s,
            cas,
            last_read_s,
            era,
        };
        let put = |era| [&put_head(b"key", &item(era))[..], b"key", b"value"].concat();
        assert!(Entry::read(&put(7)).is_some());
        assert_eq!(Entry::read(&put(u32::MAX)), None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            key in proptest::collection::vec(any::<u8>(), 1..300),
            value in proptest::collection::vec(any::<u8>(), 0..300),
            words: [u32; 4], cas: u64, marks: u8, copy in 0u8..8, was_read: bool,
        ) {
            let [flags, expires_s, era, last_read_s] = words;
            let era = era % ERA_MOST;
            let item = Item {
                value: Value::Here(&value),
                marks: Marks(marks),
                flags, expires_s, cas, last_read_s, was_read, era, copy,
            };
            let put = [&put_head(&key, &item)[..], &key, &value].concat();
            prop_assert_eq!(Entry::read(&put), Some(Entry::Put(&key, item)));
            let changed = [&changed_head(&key, &item)[..], &key].concat();
            let expected = Entry::Changed { key: &key, cas, expires_s, marks: Marks(marks) };
            prop_assert_eq!(Entry::read(&changed), Some(expected));
            let removed = [&REMOVED_HEAD[..], &key].concat();
            prop_assert_eq!(Entry::read(&removed), Some(Entry::Removed(&key)));
            let (cleared, to_clear) = (cleared(era), to_clear(era));
            prop_assert_eq!(Entry::read(&cleared), Some(Entry::Cleared(era)));
            prop_assert_eq!(Entry::read(&to_clear), Some(Entry::ToClear(era)));
        }

        #[test]
        fn no_bytes_are_too_odd_to_be_read(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            if let Some(Entry::Put(key, _) | Entry::Changed { key, .. }) = Entry::read(&bytes) {
                prop_assert!(!key.is_empty());
            }
        }
    }
}
