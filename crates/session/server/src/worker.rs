//! A thread: its event loop, its connections, and who of them gets a turn.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use forebay_session::{Backend, Connection};
use mio::event::Event;
use mio::{Events, Poll, Token};

use crate::accept::{Doors, Shared, WARN_EVERY_MS};
use crate::answer::Answer;
use crate::bind::Listener;
use crate::buffers::Buffers;
use crate::client::Client;
use crate::clients::{Clients, Id};
use crate::clock::Clock;
use crate::mailbox::{Letters, Mailbox};
use crate::store::Store;
use crate::turn::{After, Visit};
use crate::wire::{Socket, Wire};

/// The token of a thread's waker.
pub(crate) const WAKER: Token = Token(usize::MAX);

/// Events that are taken at a time.
const EVENTS: usize = 512;

/// Output of several connections that is gathered before it is sent, in bytes.
const ANSWERS_BYTES: usize = 64 << 10;

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
    /// Who was read from, to be visited together.
    pub(crate) visits: Vec<Visit>,
    /// Answers that stand in the output, to be sent together.
    pub(crate) answers: Vec<Answer>,
    /// With that much output they are sent; no connection finds more there when its turn comes.
    pub(crate) answers_bytes: usize,
    /// How many connections a time limit concerns, and when they are looked at next.
    pub(crate) watched: usize,
    pub(crate) sweep_next_ms: u64,
    /// When the operator may be told next that buffers take too much.
    warn_next_ms: u64,
    pub(crate) mailbox: Arc<Mailbox>,
    /// Room for what is taken from it.
    pub(crate) letters: Letters,
    /// Who goes on without an event, in the next round.
    pub(crate) ready: Vec<Id>,
    /// It is to end, by then at the latest.
    pub(crate) draining: Option<Instant>,
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
        let limits = shared.ports.iter().map(|port| port.limits.output_bytes / 4);
        let answers_bytes = limits.fold(ANSWERS_BYTES, usize::min);
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
            visits: Vec::new(),
            answers: Vec::new(),
            answers_bytes,
            watched: 0,
            sweep_next_ms: 0,
            warn_next_ms: 0,
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
            if self.mailbox.has_letters() {
                self.read_letters();
                self.go_on();
            }
            std::mem::swap(&mut self.ready, &mut turns);
            for event in &events {
                self.notice(event);
            }
            for id in turns.drain(..) {
                self.serve(id);
            }
            self.go_on();
            self.accept();
            self.sweep();
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
        let ending = event.is_read_closed() || event.is_error();
        if event.is_readable() || ending {
            client.wire.ready(ending);
        }
        if !client.listed {
            self.serve(id);
        }
    }

    /// Takes a connection that was accepted.
    pub(crate) fn admit(&mut self, socket: Socket, number: usize) {
        let Some(port) = self.shared.ports.get(number) else {
            return;
        };
        let id = self.clients.reserve();
        let tls = port.tls.as_ref().map(|tls| tls.now());
        let wire = Wire::new(socket, tls).and_then(|mut wire| {
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
                self.shared.leave(port);
                self.clients.release(id);
                self.unload();
            }
        }
    }

    /// Puts a connection where it waits for what comes next.
    pub(crate) fn settle(&mut self, id: Id, mut client: Box<Client>, after: After) {
        let is_over = self.draining.is_some() && after == After::Stay && client.is_idle();
        // Who is in the round is somewhere else too; it comes here again.
        let may_stay = after == After::InRound || self.may_hold(&mut client);
        if after == After::Gone || is_over || !may_stay {
            return self.end(id, client);
        }
        if after == After::Again && !client.listed {
            client.listed = true;
            self.ready.push(id);
        }
        if after != After::InRound {
            self.watch(&mut client);
        }
        self.clients.put(id, client);
    }

    /// Counts what a connection's buffers take. `false`: those of its store take too much.
    fn may_hold(&mut self, client: &mut Client) -> bool {
        let holds = client.holds();
        if holds == client.held {
            return true;
        }
        let Some(port) = self.shared.ports.get(client.port) else {
            return false;
        };
        let may = self.shared.hold(port, client.held, holds);
        client.held = holds;
        if !may && self.clock.ms >= self.warn_next_ms {
            self.warn_next_ms = self.clock.ms + WARN_EVERY_MS;
            tracing::warn!(
                "session store: a connection was closed: half-sent commands and unread answers \
                 take more than `buffers` allows"
            );
        }
        may
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
                store.tickets.remove(&(ticket.0, id));
            }
        }
        if let Some(port) = self.shared.ports.get(client.port) {
            self.shared.hold(port, client.held, 0);
            self.shared.leave(port);
        }
        self.clients.release(id);
        self.unload();
    }

    fn unload(&self) {
        if let Some(load) = self.shared.loads.get(self.number) {
            load.fetch_sub(1, Relaxed);
        }
    }
}
