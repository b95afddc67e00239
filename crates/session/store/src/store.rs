//! A store: the table, its log, and who waits for it. Lives from the start of the program to its
//! end.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use forebay_session::{Backend, Calls, Commit, KEY_MOST, Progress, Ticket, Traffic};
use forebay_store::OpenError;
use forebay_store::wal::{self, Position, Recovery, Sync, Wal};
use forebay_table::{Journal, Options as TableOptions, Table};
use parking_lot::Mutex;

use crate::fetch::Fetches;
use crate::handle::Handle;
use crate::log::Log;
use crate::options::{Durability, Options};
use crate::upkeep;

/// How often what was written goes to disk where nobody waits for it: twice, it is still less
/// than a second.
const INTERVAL: Duration = Duration::from_millis(400);
/// What of spilled values that are read comes back into memory when that is full: bringing one
/// back sends another one away.
const COMES_BACK: u32 = 4;

/// The directory, in that of the log, of copies that clients ask for.
const COPIES: &str = "copies";

/// One store of sessions.
pub struct Store {
    pub(crate) name: String,
    pub(crate) table: Table,
    pub(crate) item_bytes: usize,
    quota_bytes: Option<u64>,
    over_quota: AtomicBool,
    max_connections: u64,
    port: u16,
    pub(crate) disk: Option<Disk>,
    pub(crate) threads: Mutex<Vec<Thread>>,
    pub(crate) waiting: Mutex<Vec<(Ticket, Arc<dyn Calls>)>>,
    /// The second of a clear that is still to come; 0: none.
    pub(crate) to_clear: AtomicU32,
    fetched: AtomicU32,
    pub(crate) began: Instant,
    pub(crate) compacted_bytes: AtomicU64,
    /// Held while a segment is compacted: one at a time.
    pub(crate) compacting: Mutex<()>,
    pub(crate) base: Mutex<crate::figures::Base>,
    pub(crate) upkeep: upkeep::Bell,
    /// A copy is being made that a client has asked for: one at a time.
    pub(crate) copying: AtomicBool,
    /// What works in the background.
    pub(crate) working: Mutex<Vec<JoinHandle<()>>>,
}

/// Where the store is kept.
pub(crate) struct Disk {
    pub(crate) log: Arc<Log>,
    pub(crate) fetches: Arc<Fetches>,
    pub(crate) durability: Durability,
    /// Where copies are kept that clients ask for.
    pub(crate) copies: PathBuf,
    /// What the log held when it was opened, until it has been read.
    pub(crate) recovery: Mutex<Option<Recovery>>,
}

/// A thread that serves the store's clients.
pub(crate) struct Thread {
    pub(crate) calls: Arc<dyn Calls>,
    pub(crate) traffic: Arc<Traffic>,
}

impl Store {
    /// Opens a store. What its log holds is not there before [`Store::recover`], which has to be
    /// called also if there is none.
    ///
    /// # Errors
    /// The log cannot be opened.
    pub fn open(options: Options) -> Result<Arc<Self>, OpenError> {
        let disk = options.disk.as_ref().map(|disk| open_disk(&options, disk));
        let disk = disk.transpose()?;
        let journal = disk
            .as_ref()
            .map(|disk| Arc::clone(&disk.log) as Arc<dyn Journal>);
        let table = TableOptions {
            full: options.full,
            key_bytes: KEY_MOST,
            value_bytes: options.item_bytes,
            ..TableOptions::within(options.memory_bytes)
        };
        let store = Arc::new(Self {
            table: Table::with(table, journal),
            name: options.name,
            item_bytes: options.item_bytes,
            quota_bytes: options.quota_bytes,
            over_quota: AtomicBool::new(false),
            max_connections: options.max_connections,
            port: options.port,
            disk,
            threads: Mutex::default(),
            waiting: Mutex::default(),
            to_clear: AtomicU32::new(0),
            fetched: AtomicU32::new(0),
            began: Instant::now(),
            compacted_bytes: AtomicU64::new(0),
            compacting: Mutex::default(),
            base: Mutex::default(),
            upkeep: upkeep::Bell::default(),
            copying: AtomicBool::new(false),
            working: Mutex::default(),
        });
        if let Some(disk) = &store.disk {
            let told = Arc::downgrade(&store);
            disk.log.wal.notify(Box::new(move || {
                if let Some(store) = told.upgrade() {
                    store.log_moved();
                }
            }));
        }
        Ok(store)
    }

    /// Starts what works in the background. To be called after [`Store::recover`].
    ///
    /// # Errors
    /// The system has no threads left.
    pub fn start(self: &Arc<Self>) -> io::Result<()> {
        let mut working = self.working.lock();
        if let Some(disk) = &self.disk {
            working.extend(disk.fetches.start()?);
        }
        working.push(upkeep::start(self)?);
        Ok(())
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether its log cannot be written now, so that writes are refused.
    pub fn is_failing(&self) -> bool {
        let disk = self.disk.as_ref();
        disk.is_some_and(|disk| disk.log.wal.state() == wal::State::Failing)
    }

    /// A copy of the log as it is at this moment, in a new directory that a store can be opened
    /// on. It takes no room of its own on the same file system until the log is compacted.
    ///
    /// # Errors
    /// There is no log, or the directory cannot be made.
    pub fn snapshot(&self, directory: &Path) -> Result<wal::Snapshot, SnapshotError> {
        let disk = self.disk.as_ref().ok_or(SnapshotError::NoLog)?;
        let made = disk.log.wal.snapshot(directory);
        made.map_err(SnapshotError::Log)
    }

    /// Waits until everything is on disk, and ends what works in the background.
    ///
    /// # Errors
    /// What was written last cannot be kept.
    pub fn stop(&self) -> Result<(), wal::Error> {
        self.upkeep.ring_last();
        if let Some(disk) = &self.disk {
            disk.fetches.stop();
        }
        let working = std::mem::take(&mut *self.working.lock());
        for thread in working {
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
        let disk = self.disk.as_ref();
        disk.map_or(Ok(()), |disk| disk.log.wal.close())
    }

    /// The commit that a write's answer waits for.
    pub(crate) fn commit(&self) -> Commit {
        match &self.disk {
            Some(disk) if disk.durability == Durability::Always => {
                Commit(disk.log.wal.position().0)
            }
            _ => Commit::default(),
        }
    }

    pub(crate) fn clear(&self, at_s: u32, now_s: u32) {
        let later = at_s > now_s;
        self.to_clear.store(if later { at_s } else { 0 }, Relaxed);
        if later && let Some(disk) = &self.disk {
            disk.log.to_clear(at_s);
        }
        self.table.clear(at_s, now_s);
    }

    /// Calls the ticket when the log takes more.
    pub(crate) fn wait_for_room(&self, ticket: Ticket, calls: &Arc<dyn Calls>) {
        self.waiting.lock().push((ticket, Arc::clone(calls)));
        // It may have caught up in between.
        self.call_waiting();
    }

    /// Calls who waits for room, if there is some.
    fn call_waiting(&self) {
        let disk = self.disk.as_ref();
        if disk.is_some_and(|disk| disk.log.wal.state() == wal::State::Behind) {
            return;
        }
        let waiting = std::mem::take(&mut *self.waiting.lock());
        for (ticket, calls) in waiting {
            calls.call(ticket);
        }
    }

    /// The log's position or its state changed.
    fn log_moved(&self) {
        self.call_waiting();
        for thread in &*self.threads.lock() {
            thread.calls.progressed();
        }
    }

    /// Whether a spilled value that was read is to come back into memory.
    pub(crate) fn comes_back(&self) -> bool {
        let most = self.table.options().memory_bytes;
        self.table.used_bytes() < most - most / 8
            || self
                .fetched
                .fetch_add(1, Relaxed)
                .is_multiple_of(COMES_BACK)
    }

    pub(crate) fn is_over_quota(&self) -> bool {
        self.over_quota.load(Relaxed)
    }

    /// Compares what is held with the quota.
    pub(crate) fn weigh(&self, held_bytes: u64) {
        let over = self.quota_bytes.is_some_and(|quota| held_bytes >= quota);
        self.over_quota.store(over, Relaxed);
    }

    pub(crate) fn max_connections(&self) -> u64 {
        self.max_connections
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

/// Why there is no snapshot.
#[derive(Debug)]
pub enum SnapshotError {
    /// The store is in memory only.
    NoLog,
    /// The log says why.
    Log(wal::Error),
}

impl std::fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoLog => f.write_str("the store has no path: it is in memory only"),
            Self::Log(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SnapshotError {}

fn open_disk(options: &Options, disk: &crate::options::Disk) -> Result<Disk, OpenError> {
    let usual = (options.memory_bytes / 32).clamp(1 << 20, 64 << 20);
    let (wal, recovery) = Wal::open(wal::Options {
        path: disk.path.clone(),
        segment_bytes: Some(disk.segment_bytes.unwrap_or(usual)),
        buffer_bytes: (options.memory_bytes / 8).clamp(4 << 20, 32 << 20) as usize,
        sync: match disk.durability {
            Durability::Always => Sync::Always,
            Durability::Interval => Sync::Every(INTERVAL),
            Durability::Never => Sync::Never(INTERVAL),
        },
    })?;
    Ok(Disk {
        fetches: Fetches::new(Arc::clone(&wal)),
        log: Arc::new(Log::new(wal)),
        durability: disk.durability,
        copies: disk.path.join(COPIES),
        recovery: Mutex::new(Some(recovery)),
    })
}

/// The clock, in unix seconds.
pub(crate) fn now_s() -> u32 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs() as u32)
}

impl Backend for Store {
    type Engine = Handle;

    fn engine(self: &Arc<Self>, calls: Arc<dyn Calls>, traffic: Arc<Traffic>) -> Handle {
        self.threads.lock().push(Thread {
            calls: Arc::clone(&calls),
            traffic,
        });
        Handle::new(Arc::clone(self), calls)
    }

    fn progress(&self, commit: Commit) -> Progress {
        let Some(disk) = &self.disk else {
            return Progress::Durable;
        };
        let wal = &disk.log.wal;
        match wal.state() {
            // Where less is promised, only who asks for a sync has a commit to wait for.
            _ if wal.synced().0 >= commit.0 => Progress::Durable,
            wal::State::Failing => Progress::Failed,
            _ => Progress::Pending,
        }
    }

    fn push(&self, commit: Commit) {
        match &self.disk {
            Some(disk) if disk.durability == Durability::Always => disk.log.wal.push(),
            Some(disk) => disk.log.wal.ask(Position(commit.0)),
            None => {}
        }
    }
}
