//! The thread that brings what was appended to the disk.
//!
//! In each round it takes what is there, writes it, syncs it if that is
//! promised or asked for, and tells those who wait. What came meanwhile is the
//! next round's: so the slower the disk, the larger the groups.

use std::sync::Arc;
use std::sync::atomic::Ordering::*;
use std::time::{Duration, Instant};

use super::buffer::Chunk;
use super::core::{Core, State};
use super::errors::Trouble;
use super::options::Sync;
use super::segment::Segment;
use super::unsynced::Unsynced;

/// After a refusal of the disk, the next attempt comes after this, then twice
/// this, and so on.
const RETRY_LEAST: Duration = Duration::from_millis(100);

const RETRY_MOST: Duration = Duration::from_secs(1);

/// A group is waited for only if the last one had so many records.
const GROUP_LEAST: u64 = 8;

/// A group is waited for at most this long.
const GATHER_MOST: Duration = Duration::from_micros(150);

pub(super) struct Writer {
    core: Arc<Core>,
    open: Option<Arc<Segment>>,
    unsynced: Unsynced,
    batch: Vec<Arc<Chunk>>,
    /// When everything is written next, asked for or not.
    due: Instant,
    retry: Duration,
    /// What was appended when the last due round came.
    seen: u64,
    /// Bytes and records of the last group.
    last_group: (u64, u64),
    /// Records that were taken so far.
    records: u64,
}

impl Writer {
    pub(super) fn new(core: Arc<Core>) -> Self {
        let due = Instant::now() + core.sync.interval();
        Self {
            core,
            open: None,
            unsynced: Unsynced::default(),
            batch: Vec::new(),
            due,
            retry: RETRY_LEAST,
            seen: 0,
            last_group: (0, 0),
            records: 0,
        }
    }

    pub(super) fn run(mut self) {
        let mut told = (self.core.durable(), 0, State::Good);
        loop {
            self.sleep();
            self.core.rounds.fetch_add(1, SeqCst);
            let stop = self.core.stop.load(Acquire);
            let result = self.round(stop);
            let over = stop && (result.is_err() || self.is_finished());
            self.note(result);
            if over {
                self.core.stopped.store(true, Release);
            }
            let synced = self.core.marks.synced.load(Relaxed);
            let now = (self.core.durable(), synced, self.core.state());
            if now == told {
                self.core.done.announce();
            } else {
                told = now;
                self.core.announce();
            }
            if over {
                return;
            }
        }
    }

    fn sleep(&self) {
        let core = &self.core;
        if core.failing.load(Relaxed) {
            // Only who asks for it can hasten the next attempt.
            core.bell.wait(self.retry, None);
            return;
        }
        let open = self.open.as_ref().map_or(u32::MAX, |open| open.number);
        let ready = || {
            let marks = &core.marks;
            marks.wanted.load(SeqCst) > marks.written.load(Relaxed)
                || marks.asked.load(SeqCst) > marks.synced.load(Relaxed)
                || core.closed_below.load(SeqCst) > open
                || core.stop.load(SeqCst)
        };
        let most = self.due.saturating_duration_since(Instant::now());
        core.bell.wait(most, Some(&ready));
        self.gather();
    }

    /// Lets a group come together. After a sync all who waited for it append
    /// their next at about the same time; without this, the first ones would
    /// have a sync of their own. Measured on two busy processors, with 64
    /// threads that wait for a commit each: 59 come to a sync instead of 53; it
    /// makes no difference for two threads that append for 32 clients each.
    fn gather(&self) {
        let core = &self.core;
        if core.sync != Sync::Always || self.last_group.1 < GROUP_LEAST {
            return;
        }
        let written = core.marks.written.load(Relaxed);
        let half = Duration::from_micros(core.counts.last_sync_us.load(Relaxed) / 2);
        let until = Instant::now() + half.min(GATHER_MOST);
        let enough = self.last_group.0 / 8 * 7;
        while core.marks.appended.load(Relaxed) - written < enough && Instant::now() < until {
            std::thread::yield_now();
        }
    }

    /// Writes what there is, and syncs it where that is due.
    fn round(&mut self, stop: bool) -> Result<(), Trouble> {
        let core = Arc::clone(&self.core);
        self.unsynced.mend(&core)?;
        let began = Instant::now();
        let due = began >= self.due;
        let written = core.marks.written.load(Relaxed);
        let asked = core.marks.asked.load(Relaxed);
        let always = core.sync == Sync::Always;
        let all = due || stop || always || asked > written;
        let (complete, current, records) = {
            let mut tail = core.tail.lock();
            if stop {
                tail.turn();
            }
            let complete = tail.collect(written, all, &mut self.batch);
            (complete, tail.end().0, tail.records())
        };
        self.write_batch()?;
        let turned = |open: &Arc<Segment>| open.number < current;
        if complete && self.open.as_ref().is_some_and(turned) {
            self.close_open()?;
        }
        if stop || self.wants_sync(due, asked) {
            self.sync()?;
        }
        let group = core.marks.written.load(Relaxed) - written;
        self.last_group = (
            group,
            records - std::mem::replace(&mut self.records, records),
        );
        if due && complete {
            self.due = began + core.sync.interval();
        }
        self.release(due);
        Ok(())
    }

    /// Forgets what needs no keeping any more.
    fn release(&mut self, due: bool) {
        let mut tail = self.core.tail.lock();
        tail.release(self.core.durable());
        if !due {
            return;
        }
        let idle = tail.position() == self.seen;
        tail.shrink(idle);
        self.seen = tail.position();
    }

    fn wants_sync(&self, due: bool, asked: u64) -> bool {
        let marks = &self.core.marks;
        let (written, synced) = (marks.written.load(Relaxed), marks.synced.load(Relaxed));
        if written == synced && self.unsynced.is_empty() {
            return false;
        }
        let promised = match self.core.sync {
            Sync::Always => true,
            // What is not synced is kept in memory, so it is not let grow.
            Sync::Every(_) => due || written - synced > self.core.buffer_bytes / 4,
            Sync::Never(_) => false,
        };
        // Somebody may wait for a segment to be closed.
        let below = self.core.closed_below.load(Relaxed);
        promised || asked > synced || self.unsynced.any_below(below)
    }

    fn write_batch(&mut self) -> Result<(), Trouble> {
        let mut batch = std::mem::take(&mut self.batch);
        let wrote = batch.iter().try_for_each(|chunk| self.write(chunk));
        // Before they are released, so that their memory is used again.
        batch.clear();
        self.batch = batch;
        wrote
    }

    /// Writes what is left of a chunk. What was written stays written when an
    /// error comes in between, and the next attempt goes on behind it.
    fn write(&mut self, chunk: &Chunk) -> Result<(), Trouble> {
        let segment = self.segment_of(chunk)?;
        let file = segment.file();
        let marks = &self.core.marks;
        loop {
            let done = marks.written.load(Relaxed).saturating_sub(chunk.position);
            let rest = chunk.bytes.get(done as usize..).unwrap_or_default();
            if rest.is_empty() {
                return Ok(());
            }
            let at = u64::from(chunk.start) + done;
            let wrote = self.core.disk.write(&file, rest, at);
            let some = wrote.map_err(|error| Trouble::new(&segment.path, "writing", error))?;
            segment.set_end(at + some as u64);
            marks.written.fetch_add(some as u64, Release);
        }
    }

    fn segment_of(&mut self, chunk: &Chunk) -> Result<Arc<Segment>, Trouble> {
        if self
            .open
            .as_ref()
            .is_some_and(|open| open.number != chunk.segment)
        {
            self.close_open()?;
        }
        let open = match &self.open {
            Some(open) => Arc::clone(open),
            None => {
                let core = &self.core;
                let length = core.segment_bytes.into();
                let made = Segment::create(&core.disk, &core.path, chunk, length)?;
                core.segments.write().insert(made.number, Arc::clone(&made));
                Arc::clone(self.open.insert(made))
            }
        };
        self.unsynced.add(&open);
        Ok(open)
    }

    fn close_open(&mut self) -> Result<(), Trouble> {
        let Some(open) = &self.open else {
            return Ok(());
        };
        open.close()?;
        // Its new length is not on disk yet.
        self.unsynced.add(open);
        self.open = None;
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Trouble> {
        let marks = &self.core.marks;
        let written = marks.written.load(Relaxed);
        self.unsynced.sync(&self.core)?;
        marks.synced.store(written, Release);
        Ok(())
    }

    /// Everything is on disk and the last segment closed.
    fn is_finished(&self) -> bool {
        let marks = &self.core.marks;
        self.open.is_none() && marks.synced.load(Relaxed) == self.core.tail.lock().position()
    }

    /// Keeps and tells how the round went.
    fn note(&mut self, result: Result<(), Trouble>) {
        let core = &self.core;
        match result {
            Ok(()) => {
                self.retry = RETRY_LEAST;
                if core.failing.swap(false, AcqRel) {
                    tracing::info!("{}: the disk takes writes again", core.path.display());
                }
            }
            Err(trouble) => {
                if core.failing.load(Relaxed) {
                    self.retry = (self.retry * 2).min(RETRY_MOST);
                } else {
                    tracing::error!("{trouble}; what was appended is kept and tried again");
                }
                *core.trouble.lock() = Some(trouble);
                core.failing.store(true, Release);
                core.counts.failures.fetch_add(1, Relaxed);
                core.refused.store(core.rounds.load(Relaxed), Release);
            }
        }
    }
}
