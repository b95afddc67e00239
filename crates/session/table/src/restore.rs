//! Items as a journal had them: written without a word to the journal.

use std::sync::atomic::Ordering;

use crate::item::{Item, Refused, Value};
use crate::record;
use crate::room::Short;
use crate::shard::{Now, Shard};
use crate::table::Table;
use crate::write::{New, NewValue};

/// Numbers of the table's own go on from those that were restored, unless they are this large:
/// such a one can only be a client's.
const CAS_OWN: u64 = 1 << 62;

impl Table {
    /// Puts an item back as a journal had it, and does not tell the journal. Items may come in
    /// any order of their keys; of one key, the last counts.
    ///
    /// # Errors
    /// As [`Table::update`].
    pub fn restore(&self, key: &[u8], now_s: u32, item: &Item<'_>) -> Result<(), Refused> {
        if key.is_empty() || key.len() > self.shared.options.key_bytes {
            return Err(Refused::Key);
        }
        if item.cas < CAS_OWN {
            self.shared.cas_floor.fetch_max(item.cas, Ordering::Relaxed);
        }
        self.restore_era(item.era);
        let hash = self.shared.hash(key);
        let mut shard = self.shard(hash).lock();
        let now = self.now(now_s);
        let done = self.insist(&mut shard, now, &mut |shard, insist| {
            shard.restore(now, key, hash, item, insist)
        });
        done.map(drop)
    }

    /// Takes an item out as a journal says, and does not tell the journal.
    pub fn restore_removed(&self, key: &[u8], now_s: u32) {
        let hash = self.shared.hash(key);
        let mut shard = self.shard(hash).lock();
        shard.restore_removed(self.now(now_s), key, hash);
    }

    /// The table's own numbers go on only so many beyond those that were restored: what a journal
    /// lost, or had no use for any more, had numbers too, and clients may still hold them.
    pub fn leave_numbers(&self, count: u64) {
        self.shared.cas_floor.fetch_add(count, Ordering::Relaxed);
    }

    /// Lets all items of eras before `era` end, as a journal says: there was a clear.
    pub fn restore_era(&self, era: u32) {
        self.shared.era.fetch_max(era, Ordering::AcqRel);
    }
}

impl Shard {
    /// Writes an item as it was before, without a word to the journal.
    pub(crate) fn restore(
        &mut self,
        now: Now<'_>,
        key: &[u8],
        hash: u64,
        item: &Item<'_>,
        insist: bool,
    ) -> Result<u64, Short> {
        let parts: [&[u8]; 1];
        let value = match item.value {
            Value::Here(bytes) => {
                parts = [bytes];
                NewValue::Parts(&parts)
            }
            Value::Elsewhere(place) => NewValue::Elsewhere(place),
        };
        let new = New {
            value,
            flags: item.flags,
            expires_s: item.expires_s,
            marks: item.marks,
            cas: Some(item.cas),
            bits: record::bits_of(item),
            last_read_s: item.last_read_s,
            era: item.era,
            restored: true,
        };
        self.put(now, key, hash, &new, insist)
    }

    /// Takes an item out without a word to the journal.
    pub(crate) fn restore_removed(&mut self, now: Now<'_>, key: &[u8], hash: u64) {
        if let Some(found) = self.find(key, hash) {
            self.index.remove(found.slot);
            self.bury(now.shared, found.at, &found.header);
            self.settle(now.shared, found.at.segment);
        }
    }
}
