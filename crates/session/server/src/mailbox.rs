//! What other threads tell a thread: connections from the one that accepts, tickets and commits
//! from the stores, orders from the server. A thread that was woken and has not looked yet is not
//! woken again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use forebay_session::{Calls, Ticket};
use mio::Waker;
use parking_lot::Mutex;

use crate::wire::Socket;

/// What lies in a mailbox.
#[derive(Debug, Default)]
pub(crate) struct Letters {
    /// Connections, and which socket each came by.
    pub(crate) connections: Vec<(Socket, usize)>,
    /// Tickets that were called, and the store of each.
    pub(crate) tickets: Vec<(usize, Ticket)>,
    /// Stores whose commits have got on; a store stands here once.
    pub(crate) progressed: Vec<usize>,
    /// Connections are to be accepted.
    pub(crate) accept: bool,
    /// Everything ends by then.
    pub(crate) drain: Option<Instant>,
}

/// The mailbox of one thread.
#[derive(Debug)]
pub(crate) struct Mailbox {
    letters: Mutex<Letters>,
    woken: AtomicBool,
    waker: Waker,
}

impl Mailbox {
    pub(crate) fn new(waker: Waker) -> Self {
        Self {
            letters: Mutex::default(),
            woken: AtomicBool::new(false),
            waker,
        }
    }

    /// Puts something in, and wakes the thread.
    pub(crate) fn post(&self, put: impl FnOnce(&mut Letters)) {
        put(&mut self.letters.lock());
        if !self.woken.swap(true, Ordering::AcqRel)
            && let Err(error) = self.waker.wake()
        {
            // The next event finds the letter; it is late, not lost.
            self.woken.store(false, Ordering::Release);
            tracing::error!("a thread of the session stores cannot be woken: {error}");
        }
    }

    /// Whether something was put in since the last call of [`Mailbox::empty`].
    pub(crate) fn has_letters(&self) -> bool {
        self.woken.load(Ordering::Acquire)
    }

    /// Exchanges what lies there for `emptied`, whose room is used again.
    pub(crate) fn empty(&self, emptied: &mut Letters) {
        // Before looking: what comes from here on wakes again.
        self.woken.store(false, Ordering::Release);
        std::mem::swap(&mut *self.letters.lock(), emptied);
    }
}

/// How one store reaches one thread.
pub(crate) struct Caller {
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) store: usize,
}

impl Calls for Caller {
    fn call(&self, ticket: Ticket) {
        self.mailbox
            .post(|letters| letters.tickets.push((self.store, ticket)));
    }

    fn progressed(&self) {
        self.mailbox.post(|letters| {
            if !letters.progressed.contains(&self.store) {
                letters.progressed.push(self.store);
            }
        });
    }
}
