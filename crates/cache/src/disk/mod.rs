//! The disk tier: objects that left memory, large objects, and everything over a restart.
//!
//! ```text
//!             evicted, and used before ─────────▶ queue ─▶ writer ─▶ log
//!  memory  ◀── looked for before the origin is asked ──────────────── log
//!             large: in pieces while it is fetched ─▶ queue ─▶ writer ─▶ log
//! ```
//!
//! Each directory has a [`Log`], a queue and a thread ("disk-N") that alone writes to the log,
//! takes back its oldest segment when it is full, and tests bans against what lies there. What
//! a worker wants to read it tries at once, without waiting; what would have to wait is read
//! by a [`Readers`] thread. A key's objects lie in one directory, chosen by the key's hash; when
//! a directory fails, its keys move to the others and start anew there.
//!
//! - `codec`: an object as the meta of a record
//! - `history`: what a disk has to know besides objects
//! - `queue`: what is waiting to be written
//! - `writer`: the thread of a directory
//! - `keep`: taking back the oldest segment
//! - `tidy`: bans tested behind the requests
//! - `recall`: from a record to an object

pub(crate) mod codec;
mod history;
mod keep;
mod queue;
mod recall;
mod tidy;
mod writer;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use forebay_config::settings::Disk as Settings;
use forebay_store::{Extent, Figures, Id, Log, OpenError, Options, Place, Readers};
use parking_lot::Mutex;

use crate::Cache;
use crate::budget::Budget;
use crate::object::Object;

#[doc(hidden)]
pub use codec::is_meta;
pub use forebay_store::{ReadError, Wait};
pub use recall::Recall;

use queue::{Job, Queue};

/// Reads that may wait for a thread; beyond, a read is given up and the origin asked.
const MOST_READS: usize = 4096;

/// Something that happened, for whoever counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Objects were written, with so many bytes.
    Written {
        /// Heads, bodies and what belongs to them.
        bytes: u64,
    },
    /// An object was not written because too much is waiting.
    Dropped,
    /// A segment was taken back.
    Reclaimed,
    /// An object was written anew because it is still used.
    Reinserted,
    /// What was read is damaged, or the disk failed.
    ReadError,
}

/// Whoever counts events. Called from several threads.
pub type Watch = Box<dyn Fn(Event) + Send + Sync>;

/// The disk tier of a cache.
pub struct Disk {
    directories: Vec<Arc<Directory>>,
    readers: Readers,
    large_bytes: u64,
    object_bytes: u64,
    save_on_stop: Option<Duration>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// One directory, usually one disk.
pub(crate) struct Directory {
    log: Arc<Log>,
    /// Its place among those configured: which keys it has must not depend on which others work.
    number: u64,
    /// Keys that were invalidated before all that lies here was found.
    early: Mutex<Vec<u64>>,
    queue: Queue,
    budget: Arc<Budget>,
    watch: Arc<Watch>,
    stopping: AtomicBool,
    /// From when on a stop does not wait for objects to be written.
    save_until: Mutex<Option<Instant>>,
    /// Objects that a stop did not wait for.
    unsaved: AtomicUsize,
    /// Its objects were given up after it had failed.
    dropped: AtomicBool,
    /// Up to which purge everything here was looked at.
    tidied: AtomicU64,
    /// When the last look through everything ended.
    swept: Mutex<Option<Instant>>,
    /// Nothing has to go for a new object.
    is_roomy: AtomicBool,
}

/// One directory at one moment.
#[derive(Clone, Debug)]
pub struct DirectoryStatus {
    /// Where.
    pub path: PathBuf,
    /// Its figures.
    pub figures: Figures,
    /// Bytes that wait to be written.
    pub queued_bytes: u64,
}

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Disk").finish_non_exhaustive()
    }
}

impl Disk {
    /// Opens the directories. Quick, whatever is in them: what they hold is found by
    /// [`Disk::start`]. A directory that cannot be opened is left out, as long as another one
    /// can; the reasons are given.
    ///
    /// # Errors
    /// No directory can be opened, or the threads for reads not be started.
    pub fn open(
        settings: &Settings,
        budget: &Arc<Budget>,
        watch: Watch,
    ) -> Result<(Arc<Self>, Vec<OpenError>), io::Error> {
        let watch = Arc::new(watch);
        let (mut directories, mut problems) = (Vec::new(), Vec::new());
        for (number, path) in (0..).zip(&settings.directories) {
            let options = Options {
                path: path.clone(),
                size_bytes: settings.size_bytes,
                segment_bytes: None,
            };
            match Log::open(options) {
                Ok(log) => directories.push(Arc::new(Directory {
                    log,
                    number,
                    early: Mutex::default(),
                    queue: Queue::new(settings.write_queue_bytes),
                    budget: Arc::clone(budget),
                    watch: Arc::clone(&watch),
                    stopping: AtomicBool::new(false),
                    save_until: Mutex::default(),
                    unsaved: AtomicUsize::new(0),
                    dropped: AtomicBool::new(false),
                    tidied: AtomicU64::new(0),
                    swept: Mutex::default(),
                    is_roomy: AtomicBool::new(true),
                })),
                Err(problem) => problems.push(problem),
            }
        }
        if directories.is_empty() {
            let reasons: Vec<String> = problems.iter().map(ToString::to_string).collect();
            return Err(io::Error::other(reasons.join("; ")));
        }
        let disk = Self {
            directories,
            readers: Readers::new(settings.readers, MOST_READS)?,
            large_bytes: settings.large_bytes,
            object_bytes: settings.max_object_bytes,
            save_on_stop: settings.save_on_stop,
            threads: Mutex::default(),
        };
        Ok((Arc::new(disk), problems))
    }

    /// Starts the threads: each directory is looked through, newest first, and written to. What
    /// is not found yet is a miss.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn start(&self, cache: &Arc<Cache>) -> io::Result<()> {
        let mut threads = self.threads.lock();
        for (number, directory) in self.directories.iter().enumerate() {
            let recovering = Arc::clone(directory);
            let recover = std::thread::Builder::new().name(format!("recover-{number}"));
            threads.push(recover.spawn(move || recovering.recover())?);
            let (directory, cache) = (Arc::clone(directory), Arc::downgrade(cache));
            let write = std::thread::Builder::new().name(format!("disk-{number}"));
            threads.push(write.spawn(move || directory.run(&cache))?);
        }
        Ok(())
    }

    /// Whether a body of so many bytes goes straight to disk.
    pub fn is_large(&self, bytes: u64) -> bool {
        bytes > self.large_bytes
    }

    /// Bytes of the largest object that is kept.
    pub fn object_bytes(&self) -> u64 {
        self.object_bytes
    }

    /// The threads that wait for reads.
    pub fn readers(&self) -> &Readers {
        &self.readers
    }

    /// What lies on disk under the hash of a key, newest first. It may be another key's. What is
    /// beyond `most` variants is given up.
    pub fn find(&self, hash: u64, most: usize) -> Vec<(Id, Arc<Extent>)> {
        let Some(directory) = self.directory(hash) else {
            return Vec::new();
        };
        let mut hits = directory.log.find(hash).to_vec();
        // What was invalidated while it was written is on disk for a moment. (Looked for behind
        // the index: once it is settled, it is not in the index any more.)
        hits.retain(|hit| !directory.queue.is_outdated(hit.id));
        hits.sort_by_key(|hit| std::cmp::Reverse((hit.place.segment, hit.place.offset)));
        for hit in hits.split_off(hits.len().min(most.max(1))) {
            directory.forget(hit.id, hit.place);
        }
        hits.iter()
            .filter_map(|hit| Some((hit.id, Arc::new(directory.log.extent(hit.place)?))))
            .collect()
    }

    /// Whether anything may lie on disk under the hash of a key.
    #[inline]
    pub fn may_have(&self, hash: u64) -> bool {
        self.directory(hash).is_some_and(|directory| {
            !directory.log.find(hash).is_empty() || directory.queue.has_between(hash)
        })
    }

    /// Objects under the hash of a key that have left memory and are not on disk yet.
    pub(crate) fn between(&self, hash: u64) -> Vec<queue::Between> {
        self.directory(hash)
            .map(|directory| directory.queue.between(hash))
            .unwrap_or_default()
    }

    /// Notes that an object whose body lies on disk was served from there.
    pub fn used(&self, object: &Object) {
        self.touch(id(object));
    }

    /// Notes that an object was brought from disk.
    pub(crate) fn touch(&self, id: Id) {
        if let Some(directory) = self.directory(id.key) {
            directory.log.touch(id);
        }
    }

    /// What was read from there is not what was written, or is of no use any more.
    pub(crate) fn forget(&self, id: Id, extent: &Extent) {
        if let Some(directory) = self.directory(id.key) {
            directory.forget(id, extent.place());
        }
    }

    /// What lies there is nothing: not even worth a word on disk.
    pub(crate) fn skip(&self, id: Id, extent: &Extent) {
        if let Some(directory) = self.directory(id.key) {
            directory.log.remove(id, Some(extent.place()));
        }
    }

    /// Whether this still is what is found under the id.
    pub(crate) fn has(&self, id: Id, extent: &Extent) -> bool {
        self.directory(id.key).is_some_and(|directory| {
            let hits = directory.log.find(id.key);
            hits.iter()
                .any(|hit| hit.id == id && hit.place == extent.place())
        })
    }

    /// What was read is damaged, or could not be read: it is not there any more.
    pub fn damaged(&self, id: Id, extent: &Extent) {
        self.skip(id, extent);
        self.note_damage();
    }

    /// Counts a body that could not be read.
    pub fn note_damage(&self) {
        if let Some(directory) = self.directories.first() {
            (directory.watch)(Event::ReadError);
        }
    }

    /// An object that left memory. It is written if the disk does not have it, and if it was
    /// used or there is room.
    pub(crate) fn offer(&self, object: Arc<Object>, key: Box<[u8]>) {
        // What was read from a file is on a disk already.
        if object.is_on_disk() || object.is_invalid() || object.stamp().is_some() {
            return;
        }
        let Some(directory) = self.directory(object.hash) else {
            return;
        };
        let known_bytes = object.whole().and_then(|body| body.known_len());
        let too_large = known_bytes.is_some_and(|bytes| bytes > self.object_bytes);
        if too_large || !(object.was_used() || directory.is_roomy.load(Relaxed)) {
            return;
        }
        directory.push(Job::Store { key, object });
    }

    /// A new object is in memory: what the disk has in its place is outdated.
    pub(crate) fn replaced(&self, object: &Object) {
        let Some(directory) = self.directory(object.hash) else {
            return;
        };
        let variant = object.variant();
        let is_same = |other: u32| variant == 0 || other == 0 || other == variant;
        // First those on their way to the disk: from then on they are found there.
        for one in directory.queue.between(object.hash) {
            if one.object.id != object.id && is_same(one.object.variant()) {
                one.object.invalidate();
            }
        }
        for hit in directory.log.find(object.hash).iter() {
            if is_same(hit.id.variant) {
                directory.forget(hit.id, hit.place);
            }
        }
    }

    /// Everything under the hash of a key is outdated, also after a crash. Returns how many
    /// objects that are.
    pub(crate) fn invalidate(&self, hash: u64) -> usize {
        let Some(directory) = self.directory(hash) else {
            return 0;
        };
        let between = directory.queue.between(hash);
        between.iter().for_each(|one| {
            one.object.invalidate();
        });
        let hits = directory.log.find(hash);
        for hit in hits.iter() {
            directory.forget(hit.id, hit.place);
        }
        if !directory.log.is_recovered() {
            directory.early.lock().push(hash);
        } else if !between.is_empty() {
            // Behind those that are being written.
            directory.push_always(Job::ForgetKey { hash });
        }
        hits.len() + between.len()
    }

    /// Gives bytes of a body that is being fetched to the disk; when they are written, the body
    /// gives up their memory. False when the disk cannot take them.
    pub fn spool(&self, object: &Arc<Object>, from: u64, bytes: Vec<bytes::Bytes>) -> bool {
        let (Some(directory), Some(body)) = (self.directory(object.hash), object.whole()) else {
            return false;
        };
        let piece = Job::Piece {
            id: id(object),
            body: Arc::clone(body),
            from,
            bytes,
        };
        if directory.log.is_failed() {
            return false;
        }
        let is_taken = directory.queue.push_piece(piece, &directory.budget);
        if !is_taken {
            (directory.watch)(Event::Dropped);
        }
        is_taken
    }

    /// The last piece of a body was given to the disk: the object is kept from now on.
    pub fn seal(&self, object: &Arc<Object>, key: &[u8]) {
        if let Some(directory) = self.directory(object.hash) {
            directory.push_always(Job::Store {
                key: key.into(),
                object: Arc::clone(object),
            });
        }
    }

    /// Bytes of a piece of a large body.
    pub fn piece_bytes(&self) -> u64 {
        let most = self
            .directories
            .iter()
            .map(|directory| directory.log.record_most() / 8);
        most.min().unwrap_or(PIECE_BYTES).min(PIECE_BYTES)
    }

    /// Up to which purge everything on disk was looked at.
    pub(crate) fn tidied(&self) -> u64 {
        let working = self.directories.iter().filter(|one| !one.log.is_failed());
        let tidied = working.map(|directory| directory.tidied.load(Relaxed));
        tidied.min().unwrap_or(u64::MAX)
    }

    /// Every directory at this moment.
    pub fn status(&self) -> Vec<DirectoryStatus> {
        self.directories
            .iter()
            .map(|directory| DirectoryStatus {
                path: directory.log.path().to_owned(),
                figures: directory.log.figures(),
                queued_bytes: directory.queue.bytes(),
            })
            .collect()
    }

    /// A clean stop: what is only in memory is written, the most used first, as far as the time
    /// set for it allows; then the logs are closed. Returns how many objects were written.
    pub fn stop(&self, cache: &Cache) -> usize {
        let mut saved = 0;
        if let Some(patience) = self.save_on_stop {
            let until = Instant::now() + patience;
            for directory in &self.directories {
                *directory.save_until.lock() = Some(until);
            }
            saved = self.save(cache, until);
        }
        for directory in &self.directories {
            directory.stopping.store(true, Relaxed);
            directory.queue.wake();
        }
        for thread in self.threads.lock().drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the disk tier panicked");
            }
        }
        for directory in &self.directories {
            saved = saved.saturating_sub(directory.unsaved.load(Relaxed));
            if let Err(error) = directory.log.close() {
                tracing::warn!("{}: {error}", directory.log.path().display());
            }
        }
        saved
    }

    fn save(&self, cache: &Cache, until: Instant) -> usize {
        let mut objects = Vec::new();
        cache.each(|key, object| {
            if !object.is_on_disk() && !object.is_invalid() && object.stamp().is_none() {
                objects.push((Box::<[u8]>::from(key), Arc::clone(object)));
            }
        });
        objects.sort_by_key(|(_, object)| std::cmp::Reverse(object.hits()));
        let mut saved = 0;
        for (key, object) in objects {
            if !object.whole().is_none_or(|body| body.is_complete()) || cache.is_gone(&object) {
                continue;
            }
            let Some(directory) = self.directory(object.hash) else {
                break;
            };
            if !directory.queue.wait_for_room(until) {
                break;
            }
            directory.push(Job::Store { key, object });
            saved += 1;
        }
        saved
    }

    /// The directory of a key: of those that work, the one whose number mixes with the hash to
    /// the most (rendezvous hashing), so that one that fails moves only its own keys.
    fn directory(&self, hash: u64) -> Option<&Arc<Directory>> {
        if let [only] = &self.directories[..] {
            return (!only.log.is_failed()).then_some(only);
        }
        let working = self.directories.iter();
        working
            .filter(|directory| !directory.log.is_failed())
            .max_by_key(|directory| mix(hash ^ mix(directory.number + 1)))
    }
}

impl Directory {
    /// Notes whether something has to go for a new object.
    fn look_for_room(&self) {
        let figures = self.log.figures();
        let is_roomy = figures.used_bytes + 3 * figures.segment_bytes < figures.limit_bytes;
        self.is_roomy.store(is_roomy, Relaxed);
    }

    /// Takes a record out of the index, and says so on disk: the index is made of what lies
    /// there.
    fn forget(&self, id: Id, place: Place) {
        if self.log.remove(id, Some(place)) {
            self.push_always(Job::Forget { id });
        }
    }

    fn push(&self, job: Job) {
        if !self.queue.push(job, &self.budget) {
            (self.watch)(Event::Dropped);
        }
    }

    fn push_always(&self, job: Job) -> bool {
        !self.log.is_failed() && self.queue.push_always(job, &self.budget)
    }

    fn recover(&self) {
        let started = Instant::now();
        let found = self.log.recover(&self.stopping);
        self.look_for_room();
        for hash in std::mem::take(&mut *self.early.lock()) {
            self.push_always(Job::ForgetKey { hash });
        }
        if found.entries > 0 || found.damaged > 0 {
            tracing::info!(
                "{}: {} objects found in {} segments within {:?}; {} segments damaged",
                self.log.path().display(),
                found.entries,
                found.segments,
                started.elapsed(),
                found.damaged,
            );
        }
    }
}

/// Bytes of a piece of a large body.
const PIECE_BYTES: u64 = 1 << 20;

/// What an object is found by on disk.
pub(crate) fn id(object: &Object) -> Id {
    Id {
        key: object.hash,
        variant: object.variant(),
    }
}

/// A number whose bits all depend on all bits of another (the finalizer of SplitMix64).
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
