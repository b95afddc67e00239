//! The file's head, and the head of each of its records.

use super::Damage;
use crate::VALUE_MOST;

const MAGIC: [u8; 8] = *b"FBEXPORT";
const VERSION: u32 = 1;

/// The length of the file's head.
pub(super) const FILE_BYTES: usize = 16;

/// The length of a record's head.
pub(super) const RECORD_BYTES: usize = 20;

const ITEM: u8 = 1;
const END: u8 = 2;

/// The file's head.
pub(super) fn file() -> [u8; FILE_BYTES] {
    let mut head = [0; FILE_BYTES];
    let (bytes, checksum) = head.split_at_mut(12);
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..].copy_from_slice(&VERSION.to_le_bytes());
    checksum.copy_from_slice(&crc32c::crc32c(bytes).to_le_bytes());
    head
}

/// Checks the file's head.
pub(super) fn check_file(head: &[u8; FILE_BYTES]) -> Result<(), Damage> {
    let is_whole = is_checked(head, 12);
    let version = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
    match (head.starts_with(&MAGIC) && is_whole, version) {
        (false, _) => Err(Damage::Foreign),
        (true, VERSION) => Ok(()),
        (true, version) => Err(Damage::Version(version)),
    }
}

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// An item, whose key and value follow.
    Item {
        key_bytes: u16,
        value_bytes: u32,
        flags: u32,
        expires_s: u32,
    },
    /// The end mark: how many items there are.
    End(u64),
}

impl Record {
    pub(super) fn encode(self) -> [u8; RECORD_BYTES] {
        let mut head = [0; RECORD_BYTES];
        match self {
            Self::Item {
                key_bytes,
                value_bytes,
                flags,
                expires_s,
            } => {
                head[0] = ITEM;
                head[2..4].copy_from_slice(&key_bytes.to_le_bytes());
                head[4..8].copy_from_slice(&value_bytes.to_le_bytes());
                head[8..12].copy_from_slice(&flags.to_le_bytes());
                head[12..16].copy_from_slice(&expires_s.to_le_bytes());
            }
            Self::End(items) => {
                head[0] = END;
                head[8..16].copy_from_slice(&items.to_le_bytes());
            }
        }
        let (bytes, checksum) = head.split_at_mut(16);
        checksum.copy_from_slice(&crc32c::crc32c(bytes).to_le_bytes());
        head
    }

    /// `None`: it is damaged.
    pub(super) fn decode(head: &[u8; RECORD_BYTES]) -> Option<Self> {
        if !is_checked(head, 16) {
            return None;
        }
        let number = |at: usize| {
            let bytes = head.get(at..).and_then(<[u8]>::first_chunk);
            bytes.copied().map(u32::from_le_bytes)
        };
        match head[0] {
            ITEM => Some(Self::Item {
                key_bytes: u16::from_le_bytes([head[2], head[3]]),
                value_bytes: number(4).filter(|bytes| *bytes as usize <= VALUE_MOST)?,
                flags: number(8)?,
                expires_s: number(12)?,
            }),
            END => {
                let items = head.get(8..).and_then(<[u8]>::first_chunk);
                items.copied().map(u64::from_le_bytes).map(Self::End)
            }
            _ => None,
        }
    }
}

/// Whether the bytes behind the first `bytes` are their checksum.
fn is_checked(head: &[u8], bytes: usize) -> bool {
    let Some((bytes, checksum)) = head.split_at_checked(bytes) else {
        return false;
    };
    checksum == crc32c::crc32c(bytes).to_le_bytes()
}
