//! The list of a store's items, taken from it at full speed and kept here while it is worked
//! through: a list that is read slowly holds up a memcached's other clients. What is more than a
//! few megabytes goes to a file without a name in the directory for temporary files.

use std::io::{self, BufReader, Read, Seek, Write};

use tempfile::SpooledTempFile;

use crate::client::Client;
use crate::error::Error;
use crate::metadump::{Dump, Dumped};
use crate::pattern::Pattern;

/// So much is kept in memory.
const MEMORY_BYTES: usize = 8 << 20;

/// How much goes to the file, and comes from it, at a time.
const BUFFER_BYTES: usize = 256 << 10;

/// The length of an item before its key.
const HEAD_BYTES: usize = 27;

/// A list, from its first item on.
pub struct Listing {
    from: BufReader<SpooledTempFile>,
    left: u64,
    may_miss: bool,
}

impl Client {
    /// Takes the list of all items whose keys are chosen. What is written to the store meanwhile
    /// may be in it or not.
    ///
    /// # Errors
    /// When the store does not give lists or does not answer, or there is no room for the list.
    pub fn list(&mut self, pattern: &Pattern) -> Result<Listing, Error> {
        let mut dump = Dump::begin(&mut self.wire)?;
        let mut kept = SpooledTempFile::new(MEMORY_BYTES);
        let mut gathered = Vec::with_capacity(BUFFER_BYTES * 2);
        let mut left = 0;
        while let Some(item) = dump.next_item()? {
            if !pattern.matches(&item.key) {
                continue;
            }
            left += 1;
            write(&mut gathered, &item);
            if gathered.len() >= BUFFER_BYTES {
                kept.write_all(&gathered).map_err(spoiled)?;
                gathered.clear();
            }
        }
        let may_miss = dump.may_miss;
        kept.write_all(&gathered).map_err(spoiled)?;
        kept.rewind().map_err(spoiled)?;
        Ok(Listing {
            from: BufReader::with_capacity(BUFFER_BYTES, kept),
            left,
            may_miss,
        })
    }
}

impl Listing {
    /// Whether items may be missing that were in use while the list was made: older memcacheds
    /// list so.
    #[must_use]
    pub fn may_miss(&self) -> bool {
        self.may_miss
    }

    /// The next item; `None`: that was the last.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn next_item(&mut self) -> Result<Option<Dumped>, Error> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        read(&mut self.from).map(Some).map_err(spoiled)
    }
}

fn spoiled(error: io::Error) -> Error {
    Error::File {
        path: std::env::temp_dir(),
        error,
    }
}

fn write(to: &mut Vec<u8>, item: &Dumped) {
    // A key comes from a line, and no line is that long.
    let key_bytes = u16::try_from(item.key.len()).unwrap_or_default();
    to.extend_from_slice(&key_bytes.to_le_bytes());
    to.extend_from_slice(&item.expires_s.to_le_bytes());
    to.extend_from_slice(&item.used_s.to_le_bytes());
    to.extend_from_slice(&item.cas.to_le_bytes());
    to.extend_from_slice(&item.size_bytes.to_le_bytes());
    to.push(item.is_fetched.into());
    to.extend_from_slice(item.key.get(..key_bytes.into()).unwrap_or_default());
}

fn read(from: &mut impl Read) -> io::Result<Dumped> {
    let mut head = [0; HEAD_BYTES];
    from.read_exact(&mut head)?;
    let mut head = head.as_slice();
    let mut dumped = Dumped {
        key: vec![0; u16::from_le_bytes(number(&mut head)?).into()],
        expires_s: u32::from_le_bytes(number(&mut head)?),
        used_s: u32::from_le_bytes(number(&mut head)?),
        cas: u64::from_le_bytes(number(&mut head)?),
        size_bytes: u64::from_le_bytes(number(&mut head)?),
        is_fetched: number(&mut head)? == [1],
    };
    from.read_exact(&mut dumped.key)?;
    Ok(dumped)
}

fn number<const N: usize>(from: &mut &[u8]) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_kept_whole() {
        let item = Dumped {
            key: b"a b\0".to_vec(),
            expires_s: 1,
            used_s: 2,
            cas: 3,
            is_fetched: true,
            size_bytes: 4,
        };
        let mut kept = Vec::new();
        write(&mut kept, &item);
        assert_eq!(kept.len(), HEAD_BYTES + 4);
        assert_eq!(read(&mut kept.as_slice()).unwrap(), item);
    }
}
