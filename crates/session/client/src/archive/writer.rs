//! An export while it is written.

use std::io::{self, Write};

use forebay_session::Item;

use super::head::{self, Record};
use crate::VALUE_MOST;

/// Writes items, and at last the end mark.
pub struct Writer<W> {
    to: W,
    items: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a file; `to` should be buffered.
    ///
    /// # Errors
    /// Those of writing.
    pub fn new(mut to: W) -> io::Result<Self> {
        to.write_all(&head::file())?;
        Ok(Self { to, items: 0 })
    }

    /// Adds an item: its value, flags and expiry are kept.
    ///
    /// # Errors
    /// Those of writing; `InvalidInput`: its key or value is longer than the format has room for.
    pub fn put(&mut self, key: &[u8], item: Item<'_>) -> io::Result<()> {
        let is_known = item.value.len() <= VALUE_MOST;
        let value_bytes = u32::try_from(item.value.len()).ok().filter(|_| is_known);
        let lengths = u16::try_from(key.len()).ok().zip(value_bytes);
        let Some((key_bytes, value_bytes)) = lengths else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let record = Record::Item {
            key_bytes,
            value_bytes,
            flags: item.flags,
            expires_s: item.expires_s,
        };
        let checksum = crc32c::crc32c_append(crc32c::crc32c(key), item.value);
        self.to.write_all(&record.encode())?;
        self.to.write_all(key)?;
        self.to.write_all(item.value)?;
        self.to.write_all(&checksum.to_le_bytes())?;
        self.items += 1;
        Ok(())
    }

    /// Writes the end mark, without which the file counts as cut off, and gives back what was
    /// written to, flushed.
    ///
    /// # Errors
    /// Those of writing.
    pub fn finish(mut self) -> io::Result<W> {
        self.to.write_all(&Record::End(self.items).encode())?;
        self.to.flush()?;
        Ok(self.to)
    }
}
