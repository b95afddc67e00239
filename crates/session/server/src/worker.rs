//! A thread: its event loop, its connections, and who of them gets a turn.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use forebay_session::{Backend, Connection, Progress};
use mio::event::Event;
use mio::{Events, Poll, Token};

use crate::accept::{Doors, Shared};
use crate::bind::Listener;
use crate::buffers::Buffers;
use crate::client::Client;
use crate::clients::{Clients, Id};
use crate::clock::Clock;
use crate::mailbox::{Letters, Mailbox};
use crate::store::Store;
use crate::turn::After;
use crate::wire::{Socket, Wire};

/// The token of a thread's waker.
pub(crate) const WAKER: Token = Token(usize::MAX);

/// Events that are taken at a time.
const EVENTS: usize = 512;

/// One thread. It lives until it was told to drain and has no connection left.
pub(crate) struct Worker<B: Backend> {
    pub(crate) number: usize,
    pub(crate) poll: Poll,
    pub(crate) shared: Arc<Shared>,
    pub(crate) stores: Vec<Store<B>>,
    pub(crate) doors: Doors,
    pub(crate) clients: Clients,
    pub(crate) buffers: Buffers,
    pub(crate) clock: Clock,
    /// How many connections a time limit concerns, and when they are looked at next.
    pub(crate) watched: usize,
    pub(crate) sweep_next_ms: u64,
    mailbox: Arc<Mailbox>,
    letters: Letters,
    /// Who goes on without an event, in the next round.
    ready: Vec<Id>,
    draining: Option<Instant>,
}

impl<B: Backend> Worker<B> {
    /// To be called on the thread itself, which the engines stay on.
    pub(crate) fn new(
        number: usize,
        poll: Poll,
        shared: Arc<Shared>,
        mailbox: Arc<Mailbox>,
        backends: &[Arc<B>],
        listeners: Vec<Listener>,
    ) -> Self {
        let backends = backends.iter().enumerate();
        let store = |(at, backend): (usize, &Arc<B>)| Store::new(Arc::clone(backend), &mailbox, at);
        Self {
            number,
            poll,
            shared,
            stores: backends.map(store).collect(),
            doors: Doors::new(listeners),
            clients: Clients::default(),
            buffers: Buffers::new(),
            clock: Clock::new(),
            watched: 0,
            sweep_next_ms: 0,
            mailbox,
            letters: Letters::default(),
            ready: Vec::new(),
            draining: None,
        }
    }

    /// Serves until the drain is over, and says how many connections were cut then.
    ///
    /// # Errors
    /// The event loop is of no use.
    pub(crate) fn run(&mut self) -> io::Result<usize> {
        let mut events = Events::with_capacity(EVENTS);
        let mut turns = Vec::new();
        loop {
            let timeout = self.timeout();
            match self.poll.poll(&mut events, timeout) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                polled => polled?,
            }
            self.clock.tick();
            std::mem::swap(&mut self.ready, &mut turns);
            if self.mailbox.has_letters() {
                self.read_letters();
            }
            for event in &events {
                self.notice(event);
            }
            for id in turns.drain(..) {
                self.serve(id);
            }
            self.accept();
            self.sweep();
            for store in &mut self.stores {
                store.end_round();
            }
            if let Some(cut) = self.is_drained() {
                return Ok(cut);
            }
        }
    }

    fn timeout(&self) -> Option<Duration> {
        if !self.ready.is_empty() {
            return Some(Duration::ZERO);
        }
        let doors = self.doors.due_ms(self.clock.ms).map(Duration::from_millis);
        let drain = self
            .draining
            .map(|by| by.saturating_duration_since(Instant::now()));
        [doors, drain, self.sweep_in()].into_iter().flatten().min()
    }

    fn notice(&mut self, event: &Event) {
        let token = event.token();
        if token == WAKER || self.doors.ready(token) {
            return;
        }
        let id = Id::of(token);
        let Some(client) = self.clients.get(id) else {
            return;
        };
        if event.is_readable() || event.is_error() {
            client
                .wire
                .ready(event.is_read_closed() || event.is_error());
        }
        if !client.listed {
            self.serve(id);
        }
    }

    fn read_letters(&mut self) {
        let mut letters = std::mem::take(&mut self.letters);
        self.mailbox.empty(&mut letters);
        for (socket, port) in letters.connections.drain(..) {
            self.admit(socket, port);
        }
        for (store, ticket) in letters.tickets.drain(..) {
            let waiting = self.stores.get_mut(store);
            let Some(id) = waiting.and_then(|store| store.tickets.remove(&ticket)) else {
                continue;
            };
            if let Some(client) = self.clients.get(id) {
                client.ticket = None;
                client.since_ms = self.clock.ms;
                client.protocol.resume(ticket);
                self.serve(id);
            }
        }
        for store in letters.progressed.drain(..) {
            self.progressed(store);
        }
        if std::mem::take(&mut letters.accept)
            && let Err(error) = self.doors.open(self.poll.registry())
        {
            tracing::error!("session store: a socket cannot be listened on: {error}");
        }
        if let Some(by) = letters.drain.take() {
            self.begin_drain(by);
        }
        self.letters = letters;
    }

    /// Sends what has become durable.
    fn progressed(&mut self, number: usize) {
        while let Some(store) = self.stores.get_mut(number)
            && let Some(&std::cmp::Reverse((commit, id))) = store.uncommitted.peek()
        {
            let progress = store.backend.progress(commit);
            if progress == Progress::Pending {
                return;
            }
            store.uncommitted.pop();
            if progress == Progress::Failed {
                self.close(id);
            } else if let Some(client) = self.clients.get(id) {
                client.uncommitted = false;
                client.since_ms = self.clock.ms;
                self.serve(id);
            }
        }
    }

    /// Takes a connection that was accepted.
    pub(crate) fn admit(&mut self, socket: Socket, number: usize) {
        let Some(port) = self.shared.ports.get(number) else {
            return;
        };
        let id = self.clients.reserve();
        let wire = Wire::new(socket, port.tls.as_ref()).and_then(|mut wire| {
            wire.register(self.poll.registry(), id.token())?;
            Ok(wire)
        });
        match wire {
            Ok(wire) if self.draining.is_none() => {
                let protocol = Connection::new(port.limits, port.access.clone());
                let mut client = Box::new(Client::new(
                    wire,
                    protocol,
                    (number, port.store),
                    self.clock.ms,
                ));
                if let Some(store) = self.stores.get(port.store) {
                    store.traffic.opened();
                }
                self.watch(&mut client);
                self.clients.put(id, client);
            }
            refused => {
                if let Err(error) = refused {
                    tracing::warn!("session store: a connection cannot be served: {error}");
                }
                port.open.fetch_sub(1, Relaxed);
                self.clients.release(id);
                self.unload();
            }
        }
    }

    /// Gives a connection its turn. A fault of ours ends that connection, not the thread.
    pub(crate) fn serve(&mut self, id: Id) {
        let Some(mut client) = self.clients.take(id) else {
            return;
        };
        client.listed = false;
        let turn = AssertUnwindSafe(|| self.turn(id, &mut client));
        let mut after = catch_unwind(turn).unwrap_or_else(|_| {
            self.buffers.clear_out();
            tracing::error!("session store: a connection is closed after an internal fault");
            After::Gone
        });
        if after == After::Stay && self.draining.is_some() && client.is_idle() {
            after = After::Gone;
        }
        if after == After::Gone {
            return self.end(id, client);
        }
        if after == After::Again {
            client.listed = true;
            self.ready.push(id);
        }
        self.watch(&mut client);
        self.clients.put(id, client);
    }

    /// Ends a connection, whatever it is about.
    pub(crate) fn close(&mut self, id: Id) {
        if let Some(client) = self.clients.take(id) {
            self.end(id, client);
        }
    }

    fn end(&mut self, id: Id, mut client: Box<Client>) {
        self.set_watched(&mut client, false);
        client.wire.end();
        self.buffers.give_back(&mut client.input);
        self.buffers.give_back(&mut client.output);
        if let Some(store) = self.stores.get_mut(client.store) {
            store.traffic.closed();
            if let Some(ticket) = client.ticket {
                store.tickets.remove(&ticket);
            }
        }
        if let Some(port) = self.shared.ports.get(client.port) {
            port.open.fetch_sub(1, Relaxed);
        }
        self.clients.release(id);
        self.unload();
    }

    fn unload(&self) {
        if let Some(load) = self.shared.loads.get(self.number) {
            load.fetch_sub(1, Relaxed);
        }
    }

    /// Nothing is accepted any more; every connection gets a turn, after which it is closed if
    /// nothing is under way.
    fn begin_drain(&mut self, by: Instant) {
        self.draining = Some(by);
        self.doors = Doors::default();
        let all: Vec<Id> = self.clients.iter().map(|(id, _)| id).collect();
        for id in all {
            if let Some(client) = self.clients.get(id) {
                client.wire.ready(false);
            }
            self.serve(id);
        }
    }

    /// Whether the drain is over, and how many connections it has cut.
    fn is_drained(&mut self) -> Option<usize> {
        let by = self.draining?;
        if self.clients.len() > 0 && Instant::now() < by {
            return None;
        }
        let rest: Vec<Id> = self.clients.iter().map(|(id, _)| id).collect();
        for &id in &rest {
            self.close(id);
        }
        Some(rest.len())
    }
}
