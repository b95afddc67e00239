//! The table's journal: every change becomes an entry of the log.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::*};

use forebay_store::wal::{self, Wal};
use forebay_table::{Item, Journal, Place, Value, Why};
use parking_lot::Mutex;

use crate::entry::{self, PUT_HEAD};

/// The log of a store. Lives as long as the store.
pub(crate) struct Log {
    pub(crate) wal: Arc<Wal>,
    /// Nothing is appended before everything was read.
    recovered: AtomicBool,
    /// Items that were evicted while the log was read: 2 bytes of length before each key.
    evicted: Mutex<Vec<u8>>,
}

impl Log {
    pub(crate) fn new(wal: Arc<Wal>) -> Self {
        Self {
            wal,
            recovered: AtomicBool::new(false),
            evicted: Mutex::default(),
        }
    }

    /// Everything was read: from now on entries are appended. `is_there` says whether a key has
    /// an item: of those that were evicted meanwhile, some came again.
    pub(crate) fn begin(&self, is_there: impl Fn(&[u8]) -> bool) {
        self.recovered.store(true, Release);
        let evicted = std::mem::take(&mut *self.evicted.lock());
        let mut rest = &evicted[..];
        while let Some((len, more)) = rest.split_first_chunk() {
            let (key, more) = more.split_at(usize::from(u16::from_le_bytes(*len)).min(more.len()));
            if !is_there(key) {
                self.wal.append(&[&entry::REMOVED_HEAD, key]);
            }
            rest = more;
        }
    }

    fn is_recovered(&self) -> bool {
        self.recovered.load(Acquire)
    }

    /// Appends an item whose value is `value`.
    pub(crate) fn put(&self, key: &[u8], item: &Item<'_>, value: &[u8]) -> wal::Place {
        self.wal.append(&[&entry::put_head(key, item), key, value])
    }

    /// Notes that everything goes at a second to come.
    pub(crate) fn to_clear(&self, at_s: u32) {
        self.wal.append(&[&entry::to_clear(at_s)]);
    }
}

/// A record's place, as the table keeps it.
pub(crate) fn to_table(place: wal::Place, value_len: usize) -> Place {
    let at = u64::from(place.segment) << 32 | u64::from(place.offset);
    Place(at, value_len as u32)
}

/// The same, as the log wants it.
pub(crate) fn to_log(place: Place, key_len: usize) -> wal::Place {
    wal::Place {
        segment: (place.0 >> 32) as u32,
        offset: place.0 as u32,
        bytes: (PUT_HEAD + key_len) as u32 + place.1,
    }
}

impl Journal for Log {
    fn put(&self, _: usize, key: &[u8], item: &Item<'_>) {
        if let Value::Here(value) = item.value {
            Self::put(self, key, item, value);
        }
    }

    fn changed(&self, _: usize, key: &[u8], item: &Item<'_>) {
        self.wal.append(&[&entry::changed_head(key, item), key]);
    }

    fn removed(&self, _: usize, key: &[u8], _: &Item<'_>, why: Why) {
        match why {
            // The log knows already when it ends, and when there was a clear.
            Why::Expired | Why::Cleared => {}
            Why::Removed | Why::Evicted if self.is_recovered() => {
                self.wal.append(&[&entry::REMOVED_HEAD, key]);
            }
            Why::Removed | Why::Evicted => {
                let mut evicted = self.evicted.lock();
                evicted.extend_from_slice(&(key.len() as u16).to_le_bytes());
                evicted.extend_from_slice(key);
            }
        }
    }

    fn cleared(&self, era: u32) {
        if self.is_recovered() {
            self.wal.append(&[&entry::cleared(era)]);
        }
    }

    fn spill(&self, _: usize, key: &[u8], item: &Item<'_>) -> Option<Place> {
        let Value::Here(value) = item.value else {
            return None;
        };
        // Where the disk refuses, memory would not get free: what was appended waits there.
        let takes = self.is_recovered() && self.wal.state() != wal::State::Failing;
        takes.then(|| to_table(Self::put(self, key, item, value), value.len()))
    }
}
