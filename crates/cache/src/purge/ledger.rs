//! The journal as purges see it: what is written, and when it is worth writing anew.

use std::hash::Hasher;
use std::io;

use rapidhash::quality::RapidHasher;

use super::journal::{self, Entry, Keep};

/// Bytes that a journal grows by, beyond doubling, before it is worth writing it anew.
const WORTH_BYTES: u64 = 256 << 10;
/// Bytes after which it is written anew even while somebody waits for a purge.
const MUCH_BYTES: u64 = 16 << 20;

/// The journal, and how much of it is worth keeping.
pub(crate) struct Ledger {
    keep: Option<Box<dyn Keep>>,
    /// Says under which seed hashes are made.
    mark: u64,
    /// Bytes written since it was last written anew.
    grown: u64,
    /// Bytes it had then.
    base: u64,
}

impl Ledger {
    /// A journal of so many bytes, or none.
    pub(crate) fn new(keep: Option<Box<dyn Keep>>, seed: u64, bytes: u64) -> Self {
        Self {
            keep,
            mark: seed_mark(seed),
            grown: bytes,
            base: 0,
        }
    }

    /// Whether anything is written at all.
    pub(crate) fn is_kept(&self) -> bool {
        self.keep.is_some()
    }

    /// Adds entries; they are durable when this returns.
    pub(crate) fn write(&mut self, entries: &[Entry]) -> io::Result<()> {
        let Some(keep) = &self.keep else {
            return Ok(());
        };
        for record in journal::encode(entries, self.mark) {
            keep.append(&record)?;
            self.grown += record.len() as u64;
        }
        Ok(())
    }

    /// Puts entries in the place of everything. When that fails, it is not worth another try
    /// before the journal has doubled.
    pub(crate) fn rewrite(&mut self, entries: &[Entry]) -> io::Result<()> {
        let Some(keep) = &self.keep else {
            return Ok(());
        };
        let records = journal::encode(entries, self.mark);
        if let Err(error) = keep.rewrite(&records) {
            self.base = self.grown;
            return Err(error);
        }
        self.base = records.iter().map(|record| record.len() as u64).sum();
        self.grown = 0;
        Ok(())
    }

    /// Whether so much was written since it was last written anew that it should be again.
    pub(crate) fn is_worth_rewriting(&self) -> bool {
        self.grown > WORTH_BYTES + self.base
    }

    /// Whether that cannot wait for somebody who has time.
    pub(crate) fn must_be_rewritten(&self) -> bool {
        self.grown > MUCH_BYTES + 8 * self.base
    }
}

/// Says under which seed hashes were made, without saying the seed.
pub(crate) fn seed_mark(seed: u64) -> u64 {
    let mut hasher = RapidHasher::new(seed);
    hasher.write(b"purges");
    hasher.finish()
}
