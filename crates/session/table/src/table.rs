//! The table: which shard a key is in, and what is done there.

use std::cell::Cell;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use rapidhash::v3::RapidSecrets;

use crate::budget::Budget;
use crate::figures::Figures;
use crate::item::{Change, Item, Refused};
use crate::journal::Journal;
use crate::options::Options;
use crate::scan::Cursor;
use crate::shard::{Now, Shard, Shared};
use crate::upkeep::Done;

/// What a thread keeps of a scratch buffer from one update to the next, in bytes.
const SCRATCH_KEPT: usize = 64 << 10;

thread_local! {
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A lock on a cache line pair of its own: neighbours do not slow each other.
#[repr(align(128))]
pub(crate) struct Locked(pub(crate) Mutex<Shard>);

/// Items by key, shared by all threads. It lives as long as the server.
///
/// Callbacks run under a shard's lock: they are short, and do not call the table.
pub struct Table {
    pub(crate) shared: Shared,
    pub(crate) shards: Box<[Locked]>,
    /// When the next clear is; `u32::MAX` if none is.
    clear_at: AtomicU32,
    /// Which shard [`Table::maintain`] sees to next.
    upkept: AtomicUsize,
}

impl Table {
    /// An empty table.
    pub fn new(options: Options) -> Self {
        Self::with(options, None)
    }

    /// An empty table whose changes `journal` is told of.
    pub fn with(options: Options, journal: Option<Arc<dyn Journal>>) -> Self {
        let options = options.corrected();
        let shared = Shared {
            budget: Budget::new(options.memory_bytes),
            options,
            era: AtomicU32::new(0),
            cas_floor: AtomicU64::new(0),
            // Clients choose keys: without the secrets they cannot choose their hashes.
            secrets: RapidSecrets::seed(RandomState::new().hash_one(0x7461_626c_u64)),
            journal,
        };
        let shard = |number| Locked(Mutex::new(Shard::new(number, &shared)));
        let shards = (0..shared.options.shards).map(shard).collect();
        Self {
            shared,
            shards,
            clear_at: AtomicU32::new(u32::MAX),
            upkept: AtomicUsize::new(0),
        }
    }

    /// What it was made with, corrected.
    pub fn options(&self) -> &Options {
        &self.shared.options
    }

    /// What of the budget is taken, in bytes. Never more than the budget.
    pub fn used_bytes(&self) -> u64 {
        self.shared.budget.used()
    }

    /// Shows `each` the item of `key` as it was before this read; `None` if there is none, or it
    /// has ended.
    #[inline]
    pub fn read<R>(&self, key: &[u8], now_s: u32, each: impl FnOnce(Item<'_>) -> R) -> Option<R> {
        let hash = self.shared.hash(key);
        let mut shard = self.shard(hash).lock();
        let found = shard.find_live(self.now(now_s), key, hash)?;
        let answer = each(shard.item(found.at, &found.header));
        shard.note_read(&found, now_s);
        Some(answer)
    }

    /// Shows `decide` the item of `key`, does with it what that says, and returns what else it
    /// says, with the item's `cas` (0 if there is none now). Nobody else sees or changes the item
    /// in between. The buffer that `decide` gets is empty, and for [`crate::Body::Scratch`]: a
    /// value made of the one that is there.
    ///
    /// # Errors
    /// The key or the value is too long, or there is no room. The item is then as it was, or was
    /// evicted.
    pub fn update<'v, R>(
        &self,
        key: &[u8],
        now_s: u32,
        decide: impl FnOnce(Option<Item<'_>>, &mut Vec<u8>) -> (Change<'v>, R),
    ) -> Result<(R, u64), Refused> {
        if key.is_empty() || key.len() > self.shared.options.key_bytes {
            return Err(Refused::Key);
        }
        let hash = self.shared.hash(key);
        let mut scratch = SCRATCH.take();
        scratch.clear();
        let mut shard = self.shard(hash).lock();
        let now = self.now(now_s);
        let found = shard.find_live(now, key, hash);
        let item = found
            .as_ref()
            .map(|found| shard.item(found.at, &found.header));
        let (change, answer) = decide(item, &mut scratch);
        let done = self.insist(&mut shard, now, &mut |shard, insist| {
            shard.apply(now, (key, hash), found.as_ref(), &change, &scratch, insist)
        });
        drop(shard);
        if scratch.capacity() <= SCRATCH_KEPT {
            SCRATCH.set(scratch);
        }
        done.map(|cas| (answer, cas))
    }

    /// Lets all items end that were written before `at_s`, or before this moment if that is not
    /// later. It costs nothing now: an item is found to be cleared when it is next looked at, or
    /// by [`Table::maintain`]. A later clear takes the place of one that has not come yet.
    pub fn clear(&self, at_s: u32, now_s: u32) {
        // One whose moment has come, and that nothing has noticed yet, is not replaced.
        self.now(now_s);
        if at_s > now_s {
            self.clear_at.store(at_s, Ordering::Release);
        } else {
            self.clear_at.store(u32::MAX, Ordering::Release);
            self.next_era();
        }
    }

    /// Does about `work_bytes` of what nobody waits for: see [`Done`]. No lock is held for longer
    /// than a walk through one segment takes. To be called about once a second: with a 64th of the
    /// memory each time, what has ended is gone about a minute later.
    pub fn maintain(&self, now_s: u32, work_bytes: usize) -> Done {
        let mut done = Done::default();
        let mut idle = 0;
        while idle < self.shards.len() {
            if done.work_bytes >= work_bytes {
                done.more = true;
                return done;
            }
            let at = self.upkept.fetch_add(1, Ordering::Relaxed) % self.shards.len();
            let step = self.shards[at].0.lock().upkeep(self.now(now_s));
            match step {
                Some(step) => {
                    idle = 0;
                    done.ended += step.ended;
                    done.work_bytes += step.work_bytes;
                }
                None => idle += 1,
            }
        }
        done
    }

    /// Shows `each` the next items after `cursor`, a few more than `limit` at most, and says where
    /// to go on; `None` at the end. Whatever is written between the calls, an item that stays is
    /// seen exactly once. It does not count as read.
    pub fn scan(
        &self,
        mut cursor: Cursor,
        now_s: u32,
        limit: usize,
        mut each: impl FnMut(&[u8], Item<'_>),
    ) -> Option<Cursor> {
        let mut seen = 0;
        loop {
            let shard = self.shards.get(cursor.shard())?.0.lock();
            shard.scan_step(self.now(now_s), &mut cursor, &mut seen, &mut each);
            drop(shard);
            if seen >= limit {
                return (cursor.shard() < self.shards.len()).then_some(cursor);
            }
        }
    }

    /// What the table says of itself.
    pub fn figures(&self) -> Figures {
        let mut figures = Figures {
            used_bytes: self.used_bytes(),
            memory_bytes: self.shared.budget.most(),
            ..Figures::default()
        };
        for shard in &self.shards {
            figures.add(&shard.0.lock());
        }
        figures
    }

    #[inline]
    pub(crate) fn shard(&self, hash: u64) -> &Mutex<Shard> {
        &self.shards[hash as usize & (self.shards.len() - 1)].0
    }

    /// To be asked for under a shard's lock: what is written there then is of no era before that
    /// of what was read there.
    #[inline]
    pub(crate) fn now(&self, now_s: u32) -> Now<'_> {
        let clear_at = self.clear_at.load(Ordering::Acquire);
        if clear_at <= now_s && clear_at != u32::MAX {
            self.clear_in_time(clear_at);
        }
        Now {
            shared: &self.shared,
            era: self.shared.era.load(Ordering::Acquire),
            now_s,
        }
    }

    #[cold]
    fn clear_in_time(&self, clear_at: u32) {
        let (done, order) = (u32::MAX, Ordering::AcqRel);
        let mine = self
            .clear_at
            .compare_exchange(clear_at, done, order, Ordering::Relaxed);
        if mine.is_ok() {
            self.next_era();
        }
    }

    fn next_era(&self) {
        let era = self.shared.era.fetch_add(1, Ordering::AcqRel) + 1;
        if let Some(journal) = &self.shared.journal {
            journal.cleared(era);
        }
    }
}
