//! Accepting: one thread has all listening sockets, and hands each connection to the thread that
//! has the fewest. Clients of session stores are few and stay, and chance would leave cores idle.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use forebay_session::Backend;
use mio::{Registry, Token};
use rustix::io::Errno;

use crate::bind::{Listener, refuse};
use crate::client::BLOCK_BYTES;
use crate::mailbox::Mailbox;
use crate::store::Port;
use crate::wire::Socket;
use crate::worker::Worker;

/// Connections of one socket that are accepted before others get their turn.
const AT_ONCE: usize = 64;

/// How long nothing is accepted when the system has no more room, and how often that is said.
const PAUSE_MS: u64 = 100;
pub(crate) const WARN_EVERY_MS: u64 = 10_000;

/// What threads share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) ports: Vec<Port>,
    pub(crate) mailboxes: Vec<Arc<Mailbox>>,
    /// How many connections each thread has.
    pub(crate) loads: Vec<AtomicUsize>,
    /// How many connections each store has.
    pub(crate) open: Vec<AtomicUsize>,
    /// What the buffers of each store's connections take, in blocks.
    pub(crate) held: Vec<AtomicUsize>,
}

impl Shared {
    /// Counts one more connection of the port's store, if it may have one.
    fn enter(&self, port: &Port) -> bool {
        let Some(open) = self.open.get(port.store) else {
            return false;
        };
        let entered = open.fetch_add(1, Relaxed) < port.max_connections;
        if !entered {
            open.fetch_sub(1, Relaxed);
        }
        entered
    }

    /// Notes that a connection of the port's store holds `now` blocks in place of `before`.
    /// `false`: all of them hold too much.
    pub(crate) fn hold(&self, port: &Port, before: u16, now: u16) -> bool {
        let Some(held) = self.held.get(port.store) else {
            return false;
        };
        if now <= before {
            held.fetch_sub(usize::from(before - now), Relaxed);
            return true;
        }
        let more = usize::from(now - before);
        let all = held.fetch_add(more, Relaxed).saturating_add(more);
        all <= port.buffers_bytes / BLOCK_BYTES
    }

    /// One that was counted has gone.
    pub(crate) fn leave(&self, port: &Port) {
        if let Some(open) = self.open.get(port.store) {
            open.fetch_sub(1, Relaxed);
        }
    }
}

/// The listening sockets; the place of each is the number of its port.
#[derive(Debug, Default)]
pub(crate) struct Doors {
    doors: Vec<Door>,
    /// Nothing is accepted before this moment.
    pause_until_ms: u64,
    warn_next_ms: u64,
}

#[derive(Debug)]
struct Door {
    listener: Listener,
    /// Connections may be waiting.
    ready: bool,
}

/// The token of a door; the highest is the waker's.
pub(crate) fn token(door: usize) -> Token {
    Token(usize::MAX - 1 - door)
}

impl Doors {
    pub(crate) fn new(listeners: Vec<Listener>) -> Self {
        let door = |listener| Door {
            listener,
            ready: false,
        };
        Self {
            doors: listeners.into_iter().map(door).collect(),
            ..Self::default()
        }
    }

    /// From now on connections are told of.
    pub(crate) fn open(&mut self, registry: &Registry) -> io::Result<()> {
        for (number, door) in self.doors.iter_mut().enumerate() {
            door.listener.register(registry, token(number))?;
        }
        Ok(())
    }

    /// There was an event of this token; `false`: it is none of a door.
    pub(crate) fn ready(&mut self, event: Token) -> bool {
        let number = token(0).0.wrapping_sub(event.0);
        let door = self.doors.get_mut(number);
        door.map(|door| door.ready = true).is_some()
    }

    /// In how many milliseconds there is something to accept; `None`: when there is an event.
    pub(crate) fn due_ms(&self, now_ms: u64) -> Option<u64> {
        let is_ready = self.doors.iter().any(|door| door.ready);
        is_ready.then(|| self.pause_until_ms.saturating_sub(now_ms))
    }

    /// Something did not work: those who wait go on waiting for a while, and the operator is told.
    fn pause(&mut self, error: &io::Error, now_ms: u64) {
        self.pause_until_ms = now_ms + PAUSE_MS;
        if now_ms >= self.warn_next_ms {
            self.warn_next_ms = now_ms + WARN_EVERY_MS;
            tracing::warn!(
                "session store: connections cannot be accepted and wait: {error} \
                 (more open files can be allowed with LimitNOFILE or ulimit -n)"
            );
        }
    }
}

impl<B: Backend> Worker<B> {
    /// Accepts who waits at the doors.
    pub(crate) fn accept(&mut self) {
        let now_ms = self.clock.ms;
        if self.doors.due_ms(now_ms) != Some(0) {
            return;
        }
        for number in 0..self.doors.doors.len() {
            for _ in 0..AT_ONCE {
                let Some(door) = self.doors.doors.get_mut(number).filter(|door| door.ready) else {
                    break;
                };
                match door.listener.accept() {
                    Ok(socket) => self.hand_over(socket, number),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => door.ready = false,
                    Err(error) if is_exhausted(&error) => return self.doors.pause(&error, now_ms),
                    // That one has gone already.
                    Err(_) => {}
                }
            }
        }
    }

    fn hand_over(&mut self, socket: Socket, number: usize) {
        let shared = Arc::clone(&self.shared);
        let Some(port) = shared.ports.get(number) else {
            return;
        };
        if !shared.enter(port) {
            if let Some(store) = self.stores.get(port.store) {
                store.traffic.refused();
            }
            if port.tls.is_none() {
                refuse(&socket);
            }
            return;
        }
        let loads = shared.loads.iter().enumerate();
        let fewest = loads.min_by_key(|(_, load)| load.load(Relaxed));
        let to = fewest.map_or(0, |(thread, _)| thread);
        if let Some(load) = shared.loads.get(to) {
            load.fetch_add(1, Relaxed);
        }
        if to == self.number {
            self.admit(socket, number);
        } else if let Some(mailbox) = shared.mailboxes.get(to) {
            mailbox.post(|letters| letters.connections.push((socket, number)));
        }
    }
}

/// Whether the next attempt would fail for the same reason.
fn is_exhausted(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    let known = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
    errno.is_some_and(|errno| known.contains(&errno))
}
