//! The table, made again from the log.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use forebay_store::wal;
use forebay_table::{Item, Refused, Value};

use crate::entry::Entry;
use crate::log::to_table;
use crate::store::{Store, now_s};

/// Nothing expires while the log is read: a later entry may say that it ends later.
const NEVER: u32 = 0;

/// More numbers than are given in the second that a crash may lose.
const LOST_NUMBERS: u64 = 1 << 28;

/// What was found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recovered {
    /// What the log says of itself.
    pub log: wal::Recovered,
    /// Entries that are none, though their checksum is right.
    pub unknown: u64,
    /// Items that are there now, expired ones too.
    pub items: u64,
}

/// Why a store is not what it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoverError {
    /// What the log holds does not fit the memory, and nothing may go.
    Memory,
    /// It was told to stop.
    Stopped,
}

impl fmt::Display for RecoverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => {
                "its memory is too small for what its path holds: raise `memory`, or let values \
                 leave it with full = \"spill\""
            }
            Self::Stopped => "stopped before everything was read",
        })
    }
}

impl std::error::Error for RecoverError {}

/// Where the log is read to.
struct Reading<'s> {
    store: &'s Store,
    /// Above this many bytes in use values stay on disk.
    memory_most: u64,
    to_clear: u32,
    unknown: u64,
    failed: bool,
}

impl Store {
    /// Makes the table from the log, and lets writes begin. To be called once, before anybody is
    /// served. Takes about a second for each gigabyte.
    ///
    /// # Errors
    /// See [`RecoverError`].
    pub fn recover(&self, stop: &AtomicBool) -> Result<Recovered, RecoverError> {
        let Some(disk) = &self.disk else {
            return Ok(Recovered::default());
        };
        let Some(recovery) = disk.recovery.lock().take() else {
            return Ok(Recovered::default());
        };
        let most = self.table.options().memory_bytes;
        let mut reading = Reading {
            store: self,
            memory_most: most - most / 8,
            to_clear: 0,
            unknown: 0,
            failed: false,
        };
        let log = recovery.run(stop, |place, bytes| reading.take(place, bytes));
        if reading.failed {
            return Err(RecoverError::Memory);
        }
        if log.stopped {
            return Err(RecoverError::Stopped);
        }
        let (to_clear, unknown) = (reading.to_clear, reading.unknown);
        if log.records > 0 {
            self.table.leave_numbers(LOST_NUMBERS);
        }
        let is_there = |key: &[u8]| self.table.read(key, NEVER, |_| ()).is_some();
        disk.log.begin(is_there);
        if to_clear != 0 {
            self.clear(to_clear, now_s());
        }
        Ok(Recovered {
            log,
            unknown,
            items: self.table.figures().items,
        })
    }

    /// The second of a clear that is still to come.
    pub(crate) fn clear_to_come(&self, now_s: u32) -> Option<u32> {
        let at_s = self.to_clear.load(Relaxed);
        (at_s > now_s).then_some(at_s)
    }
}

impl Reading<'_> {
    fn take(&mut self, place: wal::Place, bytes: &[u8]) {
        let table = &self.store.table;
        match Entry::read(bytes) {
            Some(Entry::Put(key, item)) => self.put(place, key, &item),
            Some(Entry::Changed {
                key,
                cas,
                expires_s,
                marks,
            }) => table.restore_changed(key, cas, expires_s, marks),
            Some(Entry::Removed(key)) => table.restore_removed(key, NEVER),
            Some(Entry::Cleared(era)) => {
                table.restore_era(era);
                self.to_clear = 0;
            }
            Some(Entry::ToClear(at_s)) => self.to_clear = at_s,
            None => self.unknown += 1,
        }
    }

    fn put(&mut self, place: wal::Place, key: &[u8], item: &Item<'_>) {
        let table = &self.store.table;
        let spills = table.options().full == forebay_table::Full::Spill;
        let len = item.value.len();
        let elsewhere = Item {
            value: Value::Elsewhere(to_table(place, len)),
            ..*item
        };
        let mut restored = match spills && table.used_bytes() > self.memory_most {
            true => Err(Refused::Full),
            false => table.restore(key, NEVER, item),
        };
        if restored.is_err() && spills {
            restored = table.restore(key, NEVER, &elsewhere);
        }
        match restored {
            Ok(()) => {}
            Err(Refused::Full) => self.failed = true,
            // It was taken with other limits; one that is too long now cannot be asked for.
            Err(Refused::Key | Refused::TooLarge) => self.unknown += 1,
        }
    }
}
