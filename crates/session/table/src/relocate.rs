//! Records of a journal that move, and values that come back into memory: nothing that a client
//! could see.

use crate::item::{Item, Place, Value, next_copy};
use crate::record::{ELSEWHERE, Header};
use crate::shard::{Found, Shard};
use crate::table::Table;
use crate::write::encode;

/// What became of the journal's record of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// There is another one, with [`Item::next_copy`].
    Copied,
    /// The same, and the value, which is not in memory, is to be found here from now on.
    To(Place),
}

impl Table {
    /// Shows `each` the item of `key`, if there is one, and notes what it says became of the
    /// journal's record of it. It does not count as read.
    pub fn relocate(&self, key: &[u8], now_s: u32, each: impl FnOnce(Item<'_>) -> Option<Moved>) {
        let hash = self.shared.hash(key);
        let mut shard = self.shard(hash).lock();
        let Some(found) = shard.find_live(self.now(now_s), key, hash) else {
            return;
        };
        if let Some(moved) = each(shard.item(found.at, &found.header)) {
            shard.relocate(&found, moved);
        }
    }

    /// Takes a value that was spilled back into memory, if it is still the one at `place` and
    /// there is room for it. It counts as read.
    pub fn recall(&self, key: &[u8], now_s: u32, place: Place, value: &[u8]) {
        let hash = self.shared.hash(key);
        let mut shard = self.shard(hash).lock();
        let now = self.now(now_s);
        let Some(found) = shard.find_live(now, key, hash) else {
            return;
        };
        let item = shard.item(found.at, &found.header);
        if item.value != Value::Elsewhere(place) {
            return;
        }
        // The record in the segment moves: what is borrowed from it is only numbers.
        let item = Item {
            value: Value::Here(value),
            was_read: true,
            last_read_s: now_s,
            ..item
        };
        let _ = self.insist(&mut shard, now, &mut |shard, insist| {
            shard.restore(now, key, hash, &item, insist)
        });
    }

    /// Puts expiry and marks back as a journal says, if the item is still the one of this `cas`.
    pub fn restore_changed(&self, key: &[u8], cas: u64, expires_s: u32, marks: crate::Marks) {
        let hash = self.shared.hash(key);
        let mut shard = self.shard(hash).lock();
        let Some(found) = shard.find(key, hash) else {
            return;
        };
        if found.header.cas == cas {
            let header = Header {
                expires_s,
                marks: marks.0,
                ..found.header
            };
            shard.segment(found.at).rewrite(found.at.offset, &header);
        }
    }
}

impl Shard {
    fn relocate(&mut self, found: &Found, moved: Moved) {
        let header = found.header.with_copy(next_copy(found.header.copy()));
        let segment = self.segment(found.at);
        match moved {
            Moved::To(place) if header.has(ELSEWHERE) => {
                segment.rewrite_body(found.at.offset, &header, &encode(place));
            }
            Moved::Copied | Moved::To(_) => segment.rewrite(found.at.offset, &header),
        }
    }
}
