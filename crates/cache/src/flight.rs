//! One fetch at a time for each variant of a key that is known, and those who wait for it.
//!
//! ```text
//!  Lead ──land(Stored | NotShared | Failed)──▶ waiters wake at once
//!    └──dropped──▶ Abandoned: a waiter takes over
//! ```
//!
//! A flight lasts from the miss to the response's head; the body is then
//! followed through the object.
//!
//! Before anything is stored under a key nobody knows what its responses vary by, and all who ask
//! wait for the first. Where that is known, those wait together who will get the same variant.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

use crate::Cache;
use crate::object::Object;

/// How a fetch ended for those who waited.
#[derive(Clone, Debug)]
pub enum Landing {
    /// There is an object; it may or may not be the waiter's variant.
    Stored(Arc<Object>),
    /// The response was not one to share: each goes by itself.
    NotShared,
    /// The origin failed; the waiter gets the same status for the same reason.
    Failed {
        /// The status for the client.
        status: u16,
        /// Why, for the log.
        reason: &'static str,
    },
    /// Whoever fetched gave up without a result: try again.
    Abandoned,
}

#[derive(Debug)]
pub(crate) struct Flight {
    /// The variant that is fetched, as far as it can be told.
    pub(crate) group: u32,
    state: Mutex<State>,
    waiters: AtomicUsize,
    /// The key was invalidated while it was fetched: the response may be older than that.
    pub(crate) invalidated: AtomicBool,
}

#[derive(Debug)]
enum State {
    Open(Vec<Waker>),
    Landed(Landing),
}

impl Flight {
    pub(crate) fn new(group: u32) -> Arc<Self> {
        Arc::new(Self {
            group,
            state: Mutex::new(State::Open(Vec::new())),
            waiters: AtomicUsize::new(0),
            invalidated: AtomicBool::new(false),
        })
    }

    pub(crate) fn waiters(&self) -> usize {
        self.waiters.load(Relaxed)
    }

    pub(crate) fn land(&self, landing: Landing) {
        let before = std::mem::replace(&mut *self.state.lock(), State::Landed(landing));
        if let State::Open(wakers) = before {
            wakers.into_iter().for_each(Waker::wake);
        }
    }
}

/// One who waits for a fetch.
#[derive(Debug)]
pub struct Waiter {
    flight: Arc<Flight>,
    /// Its place among the wakers, once it has one.
    place: Cell<Option<usize>>,
}

impl Waiter {
    pub(crate) fn new(flight: &Arc<Flight>) -> Self {
        flight.waiters.fetch_add(1, Relaxed);
        Self {
            flight: Arc::clone(flight),
            place: Cell::new(None),
        }
    }

    /// Ready with the outcome once there is one.
    pub fn poll(&self, cx: &mut Context<'_>) -> Poll<Landing> {
        match &mut *self.flight.state.lock() {
            State::Landed(landing) => Poll::Ready(landing.clone()),
            State::Open(wakers) => {
                match self.place.get().and_then(|place| wakers.get_mut(place)) {
                    Some(waker) => waker.clone_from(cx.waker()),
                    None => {
                        self.place.set(Some(wakers.len()));
                        wakers.push(cx.waker().clone());
                    }
                }
                Poll::Pending
            }
        }
    }

    /// Waits for the outcome.
    pub async fn landed(&self) -> Landing {
        std::future::poll_fn(|cx| self.poll(cx)).await
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.flight.waiters.fetch_sub(1, Relaxed);
    }
}

/// The one who fetches. Whatever happens to it, its waiters learn of it.
#[derive(Debug)]
pub struct Lead {
    pub(crate) cache: Arc<Cache>,
    pub(crate) key: Box<[u8]>,
    pub(crate) hash: u64,
    pub(crate) flight: Arc<Flight>,
    pub(crate) landed: bool,
}

impl Lead {
    /// The response is not to be shared; for `shun_ms` requests for this key do not wait for each other.
    pub fn not_shared(mut self, now_ms: u64, shun_ms: u64) {
        if shun_ms > 0 {
            self.cache
                .shun(self.hash, &self.key, now_ms.saturating_add(shun_ms));
        }
        self.finish(Landing::NotShared);
    }

    /// There is an object already in the index that answers.
    pub fn stored(mut self, object: &Arc<Object>) {
        self.finish(Landing::Stored(Arc::clone(object)));
    }

    /// The origin failed.
    pub fn failed(mut self, status: u16, reason: &'static str) {
        self.finish(Landing::Failed { status, reason });
    }

    /// The key's text.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Whether the key was invalidated since the fetch began.
    pub fn is_outdated(&self) -> bool {
        self.flight.invalidated.load(Relaxed)
    }

    pub(crate) fn finish(&mut self, landing: Landing) {
        if !self.landed {
            self.landed = true;
            self.cache.end_flight(self.hash, &self.key, &self.flight);
            self.flight.land(landing);
        }
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        self.finish(Landing::Abandoned);
    }
}
