//! A look at every item, in steps between which anything may be written.
//!
//! Items are visited in the order of their tags, which neither moves nor overwrites nor a longer
//! index change: one that is there from the first step to the last is seen exactly once, one that
//! comes or goes meanwhile at most once for each time it came.

use crate::index::TAGS;
use crate::item::Item;
use crate::shard::{Now, Shard};

/// Slots that one step looks at while it holds the lock.
const STEP_SLOTS: usize = 64;

/// How far a scan is. `Cursor::default()` is its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    shard: u32,
    tag: u32,
}

impl Cursor {
    /// As a number, for a protocol whose clients hold cursors.
    pub fn to_number(self) -> u64 {
        u64::from(self.shard) << 32 | u64::from(self.tag)
    }

    /// From such a number; one that never was a cursor's ends the scan, or begins it somewhere.
    pub fn from_number(number: u64) -> Self {
        Self {
            shard: (number >> 32) as u32,
            tag: number as u32,
        }
    }

    pub(crate) fn shard(self) -> usize {
        self.shard as usize
    }

    pub(crate) fn next_shard(self) -> Self {
        Self {
            shard: self.shard.saturating_add(1),
            tag: 0,
        }
    }
}

impl Shard {
    /// Visits the items of the next tags, adds to `seen` how many, and moves `cursor` on.
    pub(crate) fn scan_step(
        &self,
        now: Now<'_>,
        cursor: &mut Cursor,
        seen: &mut usize,
        each: &mut dyn FnMut(&[u8], Item<'_>),
    ) {
        let start = u64::from(cursor.tag).min(TAGS);
        let end = (start + self.index.tags_of(STEP_SLOTS)).min(TAGS);
        if start < end {
            for at in self.index.within(start..end) {
                let segment = &self.segments[at.segment as usize];
                let header = segment.header(at.offset);
                if header.is_live(now.era, now.now_s) {
                    let (key, _) = segment.key_and_body(at.offset, &header);
                    each(key, self.item(at, &header));
                    *seen += 1;
                }
            }
        }
        if end == TAGS {
            *cursor = cursor.next_shard();
        } else {
            cursor.tag = end as u32;
        }
    }
}
