//! Reads that are known before they are due.

use std::hint::black_box;

use parking_lot::MutexGuard;

use crate::index::{At, Index};
use crate::record::HEADER;
use crate::shard::Shard;
use crate::table::Table;

/// A cache line's bytes.
const LINE: usize = 64;

/// Of a record no more is brought near: behind that the processor has seen where it leads.
const AHEAD_MOST: usize = 2048;

/// The shard of a key, among those that are held, and its tag there.
type Wanted = (usize, u64);

impl Table {
    /// How many keys [`Table::prefetch`] takes at once.
    pub const PREFETCH_MOST: usize = 16;

    /// Brings what reads of `keys` will look at near to the processor. Read one after another, each
    /// key waits for memory two or three times, because taking a lock ends what was loaded ahead.
    /// Here all locks are taken first; then the slots of all keys are loaded at once, then all
    /// records.
    ///
    /// It is a hint, and changes nothing: keys beyond [`Table::PREFETCH_MOST`] and those of a shard
    /// that is locked are left alone. Reading ten values of 1 KB takes a third less with it, in a
    /// table much larger than the processor's caches (`examples/table_speed.rs`).
    pub fn prefetch(&self, keys: &[&[u8]]) {
        let mut held = [const { None }; Self::PREFETCH_MOST];
        let mut wanted = [(0, 0); Self::PREFETCH_MOST];
        let mut count = 0;
        for key in keys.iter().take(Self::PREFETCH_MOST) {
            let hash = self.shared.hash(key);
            if let Some(shard) = self.hold(hash, &mut held) {
                wanted[count] = (shard, Index::tag(hash));
                count += 1;
            }
        }
        load(&held, &wanted[..count]);
    }

    /// Takes the lock of a hash's shard if it is free and not among those that are held; says which
    /// of these it is.
    #[inline]
    fn hold<'t>(&'t self, hash: u64, held: &mut [Option<MutexGuard<'t, Shard>>]) -> Option<usize> {
        let shard = self.shard(hash);
        let is_it = |guard: &MutexGuard<'_, Shard>| std::ptr::eq(MutexGuard::mutex(guard), shard);
        let at = held
            .iter()
            .position(|guard| guard.as_ref().is_none_or(is_it))?;
        if held[at].is_none() {
            // Waiting for a lock here, with others held, could be forever.
            held[at] = Some(shard.try_lock()?);
        }
        Some(at)
    }
}

/// Loads step by step for all keys, so that what one step waits for is under way for all of them.
/// Nothing is decided by what was loaded before the step is over.
#[inline]
fn load(held: &[Option<MutexGuard<'_, Shard>>], wanted: &[Wanted]) {
    let shards = || {
        let held = |(at, tag): &Wanted| Some((held.get(*at)?.as_deref()?, *tag));
        wanted.iter().filter_map(held)
    };
    let mut seen = 0_u64;
    for (shard, tag) in shards() {
        seen ^= shard.index.glance(tag);
    }
    let mut places = [None; Table::PREFETCH_MOST];
    for (place, (shard, tag)) in places.iter_mut().zip(shards()) {
        let found = shard.index.find(tag, |_| true);
        *place = found.map(|(_, at)| (shard, at));
    }
    let records = || places.iter().flatten();
    for (shard, at) in records() {
        seen ^= u64::from(shard.byte(*at, 0)) ^ u64::from(shard.byte(*at, HEADER));
    }
    for (shard, at) in records() {
        let segment = &shard.segments[at.segment as usize];
        let bytes = segment.header(at.offset).needs().min(AHEAD_MOST);
        for line in (LINE..bytes + LINE).step_by(LINE) {
            seen ^= u64::from(shard.byte(*at, line));
        }
    }
    black_box(seen);
}

impl Shard {
    /// A byte behind the start of a record.
    #[inline]
    fn byte(&self, at: At, behind: usize) -> u8 {
        let segment = self.segments.get(at.segment as usize);
        let byte = segment.and_then(|segment| segment.bytes.get(at.offset + behind));
        byte.copied().unwrap_or_default()
    }
}
