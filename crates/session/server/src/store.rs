//! A store as one thread sees it: its engine, who waits for it, and what its clients did in this
//! round of the event loop.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::sync::Arc;

use forebay_session::{Access, Backend, Commit, Counts, Limits, Ticket, Traffic};

use crate::clients::Id;
use crate::mailbox::{Caller, Mailbox};
use crate::options::Listen;
use crate::tls::Tls;

/// What is the same for all connections that come by one socket; all threads share it.
#[derive(Debug)]
pub(crate) struct Port {
    /// Which store is behind it.
    pub(crate) store: usize,
    pub(crate) limits: Limits,
    pub(crate) access: Access,
    pub(crate) tls: Option<Arc<Tls>>,
    pub(crate) max_connections: usize,
    pub(crate) buffers_bytes: usize,
    pub(crate) idle_ms: Option<u64>,
    pub(crate) stalled_ms: u64,
}

impl Port {
    /// The port of a socket; its store's backend is added to `backends` unless it is there.
    pub(crate) fn new<B>(listen: Listen<B>, backends: &mut Vec<Arc<B>>) -> Self {
        let known = backends
            .iter()
            .position(|known| Arc::ptr_eq(known, &listen.backend));
        let store = known.unwrap_or_else(|| {
            backends.push(listen.backend);
            backends.len() - 1
        });
        let ms = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Self {
            store,
            limits: listen.limits,
            access: listen.access,
            tls: listen.tls,
            max_connections: listen.max_connections,
            buffers_bytes: listen.buffers_bytes,
            idle_ms: listen.idle_timeout.map(ms),
            stalled_ms: ms(listen.stalled_timeout),
        }
    }
}

/// What clients did since the last [`Store::tell`].
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Tally {
    pub(crate) bytes_read: u64,
    pub(crate) bytes_written: u64,
    pub(crate) counts: Counts,
}

/// A store, for one thread.
pub(crate) struct Store<B: Backend> {
    pub(crate) backend: Arc<B>,
    pub(crate) engine: B::Engine,
    pub(crate) traffic: Arc<Traffic>,
    pub(crate) tally: Tally,
    /// Who waits for which ticket; several may for one.
    pub(crate) tickets: BTreeSet<(u64, Id)>,
    /// Who waits for which commit, the next first; some may be gone.
    pub(crate) uncommitted: BinaryHeap<Reverse<(Commit, Id)>>,
    /// The highest commit that somebody began to wait for and nobody has asked for.
    pub(crate) awaited: Commit,
}

impl<B: Backend> Store<B> {
    pub(crate) fn new(backend: Arc<B>, mailbox: &Arc<Mailbox>, store: usize) -> Self {
        let traffic = Arc::new(Traffic::default());
        let mailbox = Arc::clone(mailbox);
        let engine = backend.engine(Arc::new(Caller { mailbox, store }), Arc::clone(&traffic));
        Self {
            backend,
            engine,
            traffic,
            tally: Tally::default(),
            tickets: BTreeSet::new(),
            uncommitted: BinaryHeap::new(),
            awaited: Commit::default(),
        }
    }

    /// Somebody who waits for this ticket, and no longer does.
    pub(crate) fn take_called(&mut self, ticket: Ticket) -> Option<Id> {
        let mut from = self.tickets.range((ticket.0, Id::LEAST)..);
        let first = *from.next()?;
        if first.0 != ticket.0 {
            return None;
        }
        self.tickets.remove(&first);
        Some(first.1)
    }

    /// Tells others what the clients did.
    pub(crate) fn tell(&mut self) {
        if self.tally != Tally::default() {
            let tally = std::mem::take(&mut self.tally);
            self.traffic
                .add(tally.bytes_read, tally.bytes_written, &tally.counts);
        }
    }

    /// Asks once for all commits that are waited for since the last call.
    pub(crate) fn push(&mut self) {
        self.tell();
        if self.awaited > Commit::default() {
            self.backend.push(std::mem::take(&mut self.awaited));
        }
    }
}
