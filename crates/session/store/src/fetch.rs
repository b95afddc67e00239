//! Values that were spilled, and are not in the operating system's memory either: read by threads
//! of their own, so that nobody else waits for the disk.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use forebay_session::{Calls, Ticket};
use forebay_store::wal::{ReadError, Wait, Wal};
use forebay_table::Place;
use parking_lot::{Condvar, Mutex};

use crate::entry::PUT_HEAD;
use crate::log::to_log;

/// Threads that read: what a disk does at once is worth more than what two cores do.
const THREADS: usize = 4;
/// How long a value waits for a client that may have gone.
const KEPT: Duration = Duration::from_secs(30);

/// A value that was read.
pub(crate) struct Fetched {
    /// Where it lay.
    pub(crate) place: Place,
    /// The entry it stands in.
    entry: Vec<u8>,
    value_at: usize,
}

impl Fetched {
    pub(crate) fn value(&self) -> &[u8] {
        self.entry.get(self.value_at..).unwrap_or_default()
    }
}

/// What came of a ticket.
pub(crate) enum Outcome {
    Value(Fetched),
    /// It is not at this place: it was moved, or the item is another one, or the disk has not kept
    /// it.
    Gone(Place),
    /// The disk failed; another time it may not.
    Failed,
    /// It was no value that was waited for, but a copy of the store: whether it is there.
    Copied(bool),
}

struct Wanted {
    ticket: Ticket,
    place: Place,
    key_len: usize,
    calls: Arc<dyn Calls>,
}

#[derive(Default)]
struct State {
    wanted: VecDeque<Wanted>,
    done: HashMap<Ticket, (Instant, Outcome)>,
    tickets: u64,
    stopped: bool,
}

/// What is read for whom. One for a store.
pub(crate) struct Fetches {
    wal: Arc<Wal>,
    state: Mutex<State>,
    more: Condvar,
}

impl Fetches {
    pub(crate) fn new(wal: Arc<Wal>) -> Arc<Self> {
        Arc::new(Self {
            wal,
            state: Mutex::default(),
            more: Condvar::new(),
        })
    }

    /// Starts the threads.
    ///
    /// # Errors
    /// The system has none left.
    pub(crate) fn start(self: &Arc<Self>) -> io::Result<Vec<JoinHandle<()>>> {
        let start = |number| {
            let fetches = Arc::clone(self);
            std::thread::Builder::new()
                .name(format!("session-read-{number}"))
                .spawn(move || fetches.run())
        };
        (0..THREADS).map(start).collect()
    }

    /// A value, if it can be had without waiting.
    pub(crate) fn at_once(&self, place: Place, key_len: usize) -> Option<Outcome> {
        self.read(place, key_len, Wait::No)
    }

    /// A ticket that is called when the value is there.
    pub(crate) fn later(&self, place: Place, key_len: usize, calls: &Arc<dyn Calls>) -> Ticket {
        let mut state = self.state.lock();
        let ticket = state.next_ticket();
        state.wanted.push_back(Wanted {
            ticket,
            place,
            key_len,
            calls: Arc::clone(calls),
        });
        drop(state);
        self.more.notify_one();
        ticket
    }

    /// A ticket for something else than a value.
    pub(crate) fn ticket(&self) -> Ticket {
        self.state.lock().next_ticket()
    }

    /// What came of a ticket that was called.
    pub(crate) fn take(&self, ticket: Ticket) -> Option<Outcome> {
        self.state.lock().done.remove(&ticket).map(|(_, done)| done)
    }

    /// Drops what nobody asked for in time.
    pub(crate) fn forget_old(&self, now: Instant) {
        let mut state = self.state.lock();
        state
            .done
            .retain(|_, (since, _)| now.saturating_duration_since(*since) < KEPT);
    }

    /// Ends the threads.
    pub(crate) fn stop(&self) {
        self.state.lock().stopped = true;
        self.more.notify_all();
    }

    fn run(&self) {
        while let Some(wanted) = self.next() {
            let read = self.read(wanted.place, wanted.key_len, Wait::Yes);
            let outcome = read.unwrap_or(Outcome::Failed);
            self.finish(wanted.ticket, outcome, &wanted.calls);
        }
    }

    /// Keeps what came of a ticket, and calls it.
    pub(crate) fn finish(&self, ticket: Ticket, outcome: Outcome, calls: &Arc<dyn Calls>) {
        let mut state = self.state.lock();
        state.done.insert(ticket, (Instant::now(), outcome));
        drop(state);
        calls.call(ticket);
    }

    fn next(&self) -> Option<Wanted> {
        let mut state = self.state.lock();
        loop {
            if state.stopped {
                return None;
            }
            if let Some(wanted) = state.wanted.pop_front() {
                return Some(wanted);
            }
            self.more.wait(&mut state);
        }
    }

    /// `None`: not without waiting.
    fn read(&self, place: Place, key_len: usize, wait: Wait) -> Option<Outcome> {
        let mut entry = Vec::new();
        match self.wal.read(to_log(place, key_len), wait, &mut entry) {
            Ok(true) => Some(Outcome::Value(Fetched {
                place,
                entry,
                value_at: PUT_HEAD + key_len,
            })),
            Ok(false) => None,
            Err(ReadError::Gone | ReadError::Corrupt) => Some(Outcome::Gone(place)),
            Err(error) => {
                tracing::error!("a session's value cannot be read: {error}");
                Some(Outcome::Failed)
            }
        }
    }
}

impl State {
    fn next_ticket(&mut self) -> Ticket {
        self.tickets += 1;
        Ticket(self.tickets)
    }
}
