//! One connection, and the table of them.

use std::collections::VecDeque;
use std::mem;

use crate::session::Session;
use crate::transport::Transport;

/// No connection, no user.
pub(crate) const NONE: u32 = u32::MAX;

/// From the first SYN to the close.
pub(crate) struct Connection<S: Session> {
    pub(crate) transport: Transport,
    pub(crate) session: S,
    /// Whose it is.
    pub(crate) user: u32,
    pub(crate) endpoint: u32,
    pub(crate) phase: Phase,
    /// Requests under way, the oldest first.
    pub(crate) flights: VecDeque<Flight<S::Expect>>,
    /// Bytes that the socket did not take yet.
    pub(crate) unsent: Vec<u8>,
    /// Bytes read that are not a whole piece of the protocol yet.
    pub(crate) partial: Vec<u8>,
    /// Whether epoll reports room to write.
    pub(crate) watches_writing: bool,
    /// When the phase began, in nanoseconds.
    pub(crate) since: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Connecting,
    Handshake,
    Open,
    /// The response is complete and the server said that it closes.
    Closing,
}

/// A request under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight<E> {
    /// From when its duration counts, in nanoseconds.
    pub(crate) from: u64,
    /// When it was handed to the connection.
    pub(crate) sent: u64,
    /// When its first byte came; 0 before.
    pub(crate) first_byte: u64,
    pub(crate) label: u32,
    pub(crate) expect: E,
    pub(crate) close: bool,
}

/// Connections by number. A number is used again; the generation in a key tells old events from new.
pub(crate) struct Table<S: Session> {
    slots: Vec<Slot<S>>,
    free: Vec<u32>,
    open: u64,
}

struct Slot<S: Session> {
    generation: u32,
    connection: Option<Connection<S>>,
}

impl<S: Session> Table<S> {
    pub(crate) fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            open: 0,
        }
    }

    /// The number and key of the connection that [`Table::put`] takes next.
    pub(crate) fn reserve(&mut self) -> (u32, u64) {
        let id = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot {
                generation: 0,
                connection: None,
            });
            (self.slots.len() - 1) as u32
        });
        let generation = self.slots[id as usize].generation;
        (id, u64::from(generation) << 32 | u64::from(id))
    }

    pub(crate) fn put(&mut self, id: u32, connection: Connection<S>) {
        self.slots[id as usize].connection = Some(connection);
        self.open += 1;
    }

    /// Gives back a reserved number.
    pub(crate) fn abandon(&mut self, id: u32) {
        self.free.push(id);
    }

    /// The connection of an event, unless it is gone.
    #[inline]
    pub(crate) fn of_key(&self, key: u64) -> Option<u32> {
        let id = key as u32;
        let slot = self.slots.get(id as usize)?;
        (slot.generation == (key >> 32) as u32 && slot.connection.is_some()).then_some(id)
    }

    #[inline]
    pub(crate) fn get(&mut self, id: u32) -> Option<&mut Connection<S>> {
        self.slots.get_mut(id as usize)?.connection.as_mut()
    }

    /// The epoll key of a connection.
    pub(crate) fn key(&self, id: u32) -> u64 {
        u64::from(self.slots[id as usize].generation) << 32 | u64::from(id)
    }

    /// Takes a connection out; dropping it closes the socket and takes it out of epoll.
    pub(crate) fn take(&mut self, id: u32) -> Option<Connection<S>> {
        let slot = self.slots.get_mut(id as usize)?;
        let connection = mem::take(&mut slot.connection)?;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(id);
        self.open -= 1;
        Some(connection)
    }

    /// How many there are.
    pub(crate) fn open(&self) -> u64 {
        self.open
    }

    /// The numbers of all, in use or not.
    pub(crate) fn ids(&self) -> std::ops::Range<u32> {
        0..self.slots.len() as u32
    }
}
