//! One connection, as its thread keeps it. While it is idle it owns no buffer.

use forebay_session::{Connection, Ticket};

use crate::wire::Wire;

/// What buffers take is counted in blocks of so many bytes; less than one is not.
pub(crate) const BLOCK_BYTES: usize = 16 << 10;

/// One connection. It lives from the handing over to its thread until either side ends it.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) wire: Wire,
    pub(crate) protocol: Connection,
    /// What was read and not taken.
    pub(crate) input: Vec<u8>,
    /// How much of it there has to be before the protocol is asked again.
    pub(crate) wanted: usize,
    /// What waits to be sent, of which the first bytes have been.
    pub(crate) output: Vec<u8>,
    pub(crate) sent: usize,
    /// What was counted of these buffers, in blocks.
    pub(crate) held: u16,
    /// Which socket it came by.
    pub(crate) port: usize,
    /// Which store is behind that.
    pub(crate) store: usize,
    /// What its store has to call.
    pub(crate) ticket: Option<Ticket>,
    /// The output may not be sent yet.
    pub(crate) uncommitted: bool,
    /// It was read from, or answered, and waits for others of which the same is to be said: the
    /// thread goes on with all of them before it waits for an event.
    pub(crate) in_round: bool,
    /// It ends when its output has left.
    pub(crate) ends: bool,
    /// It stands in the list of those that go on without an event.
    pub(crate) listed: bool,
    /// A time limit concerns it.
    pub(crate) watched: bool,
    /// When it last got on, by the thread's clock.
    pub(crate) since_ms: u64,
}

impl Client {
    /// A connection that came by a port with a store behind it.
    pub(crate) fn new(
        wire: Wire,
        protocol: Connection,
        (port, store): (usize, usize),
        now_ms: u64,
    ) -> Self {
        Self {
            wire,
            protocol,
            input: Vec::new(),
            wanted: 1,
            output: Vec::new(),
            sent: 0,
            held: 0,
            port,
            store,
            ticket: None,
            uncommitted: false,
            in_round: false,
            ends: false,
            listed: false,
            watched: false,
            since_ms: now_ms,
        }
    }

    /// How many whole blocks its buffers take.
    pub(crate) fn holds(&self) -> u16 {
        let of_command = self.protocol.held_bytes();
        let bytes = self.input.capacity() + self.output.capacity() + of_command;
        u16::try_from(bytes / BLOCK_BYTES).unwrap_or(u16::MAX)
    }

    /// Whether it is the store's turn.
    pub(crate) fn is_waiting(&self) -> bool {
        self.ticket.is_some() || self.uncommitted
    }

    /// Whether something waits for the wire to take it.
    pub(crate) fn is_blocked(&self) -> bool {
        self.sent < self.output.len() || self.wire.wants_write()
    }

    /// Whether it is the peer that has to go on with what it began.
    pub(crate) fn is_stalled(&self) -> bool {
        !self.is_waiting()
            && (self.is_blocked() || !self.is_between() || self.wire.is_handshaking())
    }

    /// Whether nothing is under way.
    pub(crate) fn is_idle(&self) -> bool {
        !self.is_waiting() && !self.in_round && !self.is_blocked() && self.is_between()
    }

    fn is_between(&self) -> bool {
        self.input.is_empty() && self.protocol.is_idle()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_connection_costs_less_than_a_kilobyte() {
        let own = size_of::<Client>() - size_of::<Connection>();
        assert!(own <= 160, "{own} bytes beside the protocol's");
        assert!(size_of::<Client>() <= 448, "{}", size_of::<Client>());
    }
}
