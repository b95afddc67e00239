//! What nobody waits for: items that expired go, the quota is watched, and the log is compacted.
//!
//! The log is compacted from its oldest end: of the oldest segment, what the table still holds is
//! appended again, then the segment goes. An entry that is not in the oldest segment never
//! outlives what it speaks of, so a removal there is of nothing any more.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use forebay_store::wal;
use forebay_table::{Item, Moved, Value};
use parking_lot::{Condvar, Mutex};

use crate::entry::{Entry, PUT_HEAD};
use crate::log::{Log, to_table};
use crate::store::{Store, now_s};

/// How often it is looked at.
const TICK: Duration = Duration::from_millis(250);
/// What an item takes in the log beside key and value, about.
const RECORD_BYTES: u64 = PUT_HEAD as u64 + 16;
/// The log may be so many times what lives in it.
const LOG_MOST: u64 = 2;
/// So many bytes are moved to the log's end before the disk is waited for. Where clients keep it
/// busy, such a wait takes as long as they need to write many segments.
const MOVED_MOST: u64 = 4 << 20;
/// The same of what is gone through.
const READ_MOST: u64 = 64 << 20;

/// Ends the work.
#[derive(Default)]
pub(crate) struct Bell {
    rung: Mutex<bool>,
    bell: Condvar,
}

impl Bell {
    /// It is to end.
    pub(crate) fn ring_last(&self) {
        *self.rung.lock() = true;
        self.bell.notify_all();
    }

    /// Waits; true: it is to end.
    fn wait(&self, time: Duration) -> bool {
        let mut rung = self.rung.lock();
        if !*rung {
            self.bell.wait_for(&mut rung, time);
        }
        *rung
    }

    fn is_rung(&self) -> bool {
        *self.rung.lock()
    }
}

/// Starts the thread.
pub(crate) fn start(store: &Arc<Store>) -> io::Result<JoinHandle<()>> {
    let store = Arc::clone(store);
    std::thread::Builder::new()
        .name("session-upkeep".into())
        .spawn(move || run(&store))
}

fn run(store: &Store) {
    let work = (store.table.options().memory_bytes / 64).max(4 << 20) as usize;
    let mut swept = Instant::now();
    loop {
        if store.upkeep.wait(TICK) {
            return;
        }
        if swept.elapsed() >= Duration::from_secs(1) {
            swept = Instant::now();
            store.table.maintain(now_s(), work);
        }
        let figures = store.table.figures();
        let held = figures.payload_bytes + figures.elsewhere_bytes;
        store.weigh(held);
        if let Some(disk) = &store.disk {
            disk.fetches.forget_old(swept);
            let live = held + figures.items * RECORD_BYTES;
            loop {
                let excess = store.excess_bytes(live);
                if excess == 0 || store.upkeep.is_rung() || !store.compact_oldest(excess) {
                    break;
                }
            }
        }
    }
}

impl Store {
    /// Compacts the log once from end to end, though it is not yet due.
    ///
    /// # Errors
    /// The disk refuses; what was not done is done later.
    pub fn compact(&self) -> Result<(), wal::Error> {
        let Some(disk) = &self.disk else {
            return Ok(());
        };
        disk.log.wal.roll()?;
        let last = disk.log.wal.segments().last().map(|last| last.number);
        let oldest = || disk.log.wal.segments().first().map(|first| first.number);
        while oldest() < last && self.compact_oldest(1) {}
        Ok(())
    }

    /// By how many bytes the log has grown too long for `live` bytes of entries.
    fn excess_bytes(&self, live: u64) -> u64 {
        let Some(disk) = &self.disk else {
            return 0;
        };
        let segments = disk.log.wal.segments();
        let bytes: u64 = segments.iter().map(|segment| segment.bytes).sum();
        let longest = segments.iter().map(|segment| segment.bytes).max();
        bytes.saturating_sub(live * LOG_MOST + 2 * longest.unwrap_or(0))
    }

    /// Moves what lives in the oldest segments to the end of the log, until so many bytes of them
    /// can go or as many were moved or read as may be at once; false: not now.
    fn compact_oldest(&self, excess_bytes: u64) -> bool {
        let Some(disk) = &self.disk else {
            return false;
        };
        let _alone = self.compacting.lock();
        let wal = &disk.log.wal;
        // Where clients write as fast as the disk takes it, the log is behind most of the time,
        // and would grow for ever if that were waited for.
        if wal.state() == wal::State::Failing {
            return false;
        }
        let (mut moved, mut gone, mut last) = (0, 0, None);
        let mut done = Ok(());
        for segment in wal.segments().iter().take_while(|segment| !segment.open) {
            done = self.move_segment(&disk.log, segment.number, &mut moved);
            if done.is_err() {
                break;
            }
            last = Some(segment.number);
            gone += segment.bytes;
            if gone >= excess_bytes.min(READ_MOST) || moved >= MOVED_MOST {
                break;
            }
        }
        self.compacted_bytes.fetch_add(moved, Relaxed);
        let removed = match last {
            Some(last) => wal.remove_through(last).map_err(|error| error.to_string()),
            None => Ok(()),
        };
        if let Err(error) = done.and(removed) {
            tracing::warn!("session store {:?}: compaction stopped: {error}", self.name);
            return false;
        }
        last.is_some()
    }

    /// Moves what lives in a segment, and counts its bytes.
    fn move_segment(&self, log: &Log, segment: u32, moved: &mut u64) -> Result<(), String> {
        let now_s = now_s();
        let walked = log.wal.walk(segment, |place, bytes| {
            *moved += self.move_on(log, now_s, place, bytes);
        });
        walked.map(drop).map_err(|error| error.to_string())
    }

    /// Appends an entry again if it is still of use; says how many bytes it took.
    fn move_on(&self, log: &Log, now_s: u32, place: wal::Place, bytes: &[u8]) -> u64 {
        match Entry::read(bytes) {
            Some(Entry::Put(key, found)) => self.move_put(log, now_s, place, (key, &found)),
            Some(Entry::ToClear(at_s)) if self.clear_to_come(now_s) == Some(at_s) => {
                log.to_clear(at_s);
                0
            }
            _ => 0,
        }
    }

    fn move_put(
        &self,
        log: &Log,
        now_s: u32,
        place: wal::Place,
        (key, found): (&[u8], &Item<'_>),
    ) -> u64 {
        let mut bytes = 0;
        self.table.relocate(key, now_s, |item| {
            let moved = move_item(log, place, (key, found), &item);
            if moved.is_some() {
                bytes = (PUT_HEAD + key.len() + item.value.len()) as u64;
            }
            moved
        });
        bytes
    }
}

/// Appends an item again, if the entry that was found is the valid one of it.
fn move_item(
    log: &Log,
    place: wal::Place,
    (key, found): (&[u8], &Item<'_>),
    item: &Item<'_>,
) -> Option<Moved> {
    let copy = item.next_copy();
    let next = Item { copy, ..*item };
    match (item.value, found.value) {
        (Value::Here(value), _) if (item.cas, item.copy) == (found.cas, found.copy) => {
            log.put(key, &next, value);
            Some(Moved::Copied)
        }
        (Value::Elsewhere(at), Value::Here(value)) if at == to_table(place, value.len()) => {
            let place = log.put(key, &next, value);
            Some(Moved::To(to_table(place, value.len())))
        }
        _ => None,
    }
}
