//! What is waiting to be written to one directory. Its bytes count beside the memory budget:
//! what is being written has left the cache.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use forebay_store::Id;
use parking_lot::{Condvar, Mutex};

use crate::body::Body;
use crate::budget::{Budget, Leaving};
use crate::object::Object;

/// Something to be written.
#[derive(Debug)]
pub(crate) enum Job {
    /// An object, under its key.
    Store { key: Box<[u8]>, object: Arc<Object> },
    /// A part of a large body that is being fetched.
    Piece {
        id: Id,
        body: Arc<Body>,
        /// Offset of the first byte.
        from: u64,
        bytes: Vec<Bytes>,
    },
    /// Nothing is kept under this id any more.
    Forget { id: Id },
    /// Nothing is kept under the hash of this key any more.
    ForgetKey { hash: u64 },
}

impl Job {
    /// Bytes of memory that are given back when it is done.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Store { object, .. } => object.memory_bytes(),
            // They are still the body's until they are written.
            Self::Piece { .. } | Self::Forget { .. } | Self::ForgetKey { .. } => 0,
        }
    }

    /// Bytes of the piece that it is; nothing for others.
    fn piece_bytes(&self) -> u64 {
        match self {
            Self::Piece { bytes, .. } => bytes.iter().map(|bytes| bytes.len() as u64).sum(),
            _ => 0,
        }
    }
}

/// A job, and its bytes outside of the budget.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) job: Job,
    pub(crate) leaving: Leaving,
}

/// The queue of one directory.
#[derive(Debug)]
pub(crate) struct Queue {
    state: Mutex<State>,
    /// Something came.
    filled: Condvar,
    /// Something went.
    emptied: Condvar,
    /// Objects that have left memory and are not on disk yet: who asks for one gets it from here.
    between: Mutex<HashMap<u64, Vec<Between>>>,
    most_bytes: u64,
}

/// An object between memory and disk.
#[derive(Clone, Debug)]
pub(crate) struct Between {
    /// The text of its key.
    pub(crate) key: Box<[u8]>,
    pub(crate) object: Arc<Object>,
}

#[derive(Debug, Default)]
struct State {
    jobs: VecDeque<Waiting>,
    bytes: u64,
    /// Bytes of pieces among them.
    piece_bytes: u64,
}

/// Bytes of pieces that may wait, however little the queue takes: as many as a few fetches bring
/// before they wait themselves.
const LEAST_PIECE_BYTES: u64 = 8 << 20;

impl Queue {
    pub(crate) fn new(most_bytes: u64) -> Self {
        Self {
            state: Mutex::default(),
            filled: Condvar::new(),
            emptied: Condvar::new(),
            between: Mutex::default(),
            most_bytes,
        }
    }

    /// Adds a job, unless too much is waiting.
    pub(crate) fn push(&self, job: Job, budget: &Arc<Budget>) -> bool {
        if self.state.lock().bytes + job.bytes() > self.most_bytes {
            return false;
        }
        self.push_always(job, budget)
    }

    /// Adds a piece of a body, unless too much is waiting. Each fetch waits when a few of its own
    /// pieces do, but there may be any number of fetches, and objects of only a few pieces.
    pub(crate) fn push_piece(&self, job: Job, budget: &Arc<Budget>) -> bool {
        let waiting = self.state.lock().piece_bytes;
        if waiting + job.piece_bytes() > self.most_bytes.max(LEAST_PIECE_BYTES) {
            return false;
        }
        self.push_always(job, budget)
    }

    /// Adds a job. Whoever brings it is held back in another way.
    pub(crate) fn push_always(&self, job: Job, budget: &Arc<Budget>) -> bool {
        let bytes = job.bytes();
        let leaving = Leaving::new(budget, bytes);
        if let Job::Store { key, object } = &job {
            let between = Between {
                key: key.clone(),
                object: Arc::clone(object),
            };
            let mut all = self.between.lock();
            all.entry(object.hash).or_default().push(between);
        }
        let mut state = self.state.lock();
        state.bytes += bytes;
        state.piece_bytes += job.piece_bytes();
        state.jobs.push_back(Waiting { job, leaving });
        let first = state.jobs.len() == 1;
        drop(state);
        if first {
            self.filled.notify_one();
        }
        true
    }

    /// Takes jobs, of `most_bytes` together if there is more than one; waits up to `patience`
    /// for the first.
    pub(crate) fn take(&self, most: usize, most_bytes: u64, patience: Duration) -> Vec<Waiting> {
        let mut state = self.state.lock();
        if state.jobs.is_empty() {
            self.filled.wait_for(&mut state, patience);
        }
        let (mut taken, mut bytes) = (Vec::new(), 0);
        while taken.len() < most
            && let Some(next) = state.jobs.front()
        {
            let piece_bytes = next.job.piece_bytes();
            bytes += next.leaving.bytes() + piece_bytes;
            if bytes > most_bytes && !taken.is_empty() {
                break;
            }
            state.bytes -= next.leaving.bytes();
            state.piece_bytes -= piece_bytes;
            taken.extend(state.jobs.pop_front());
        }
        drop(state);
        self.emptied.notify_all();
        taken
    }

    /// The objects under the hash of a key that are between memory and disk.
    pub(crate) fn between(&self, hash: u64) -> Vec<Between> {
        self.between.lock().get(&hash).cloned().unwrap_or_default()
    }

    /// Whether there are any.
    pub(crate) fn has_between(&self, hash: u64) -> bool {
        self.between.lock().contains_key(&hash)
    }

    /// Whether an object with this id became outdated on its way to the disk.
    pub(crate) fn is_outdated(&self, id: Id) -> bool {
        let all = self.between.lock();
        all.get(&id.key).is_some_and(|of_key| {
            let mut objects = of_key.iter().map(|one| &one.object);
            objects.any(|object| object.is_invalid() && super::id(object) == id)
        })
    }

    /// An object is on disk, or will not be.
    pub(crate) fn settle(&self, object: &Arc<Object>) {
        let mut all = self.between.lock();
        if let Some(of_key) = all.get_mut(&object.hash) {
            of_key.retain(|one| !Arc::ptr_eq(&one.object, object));
            if of_key.is_empty() {
                all.remove(&object.hash);
            }
        }
    }

    /// Waits until a quarter of the room is free; false when the time is over before.
    pub(crate) fn wait_for_room(&self, until: Instant) -> bool {
        let mut state = self.state.lock();
        while state.bytes > self.most_bytes / 4 * 3 {
            if self.emptied.wait_until(&mut state, until).timed_out() {
                return false;
            }
        }
        Instant::now() < until
    }

    /// Bytes that wait.
    pub(crate) fn bytes(&self) -> u64 {
        self.state.lock().bytes
    }

    /// Wakes whoever takes.
    pub(crate) fn wake(&self) {
        self.filled.notify_all();
    }
}
