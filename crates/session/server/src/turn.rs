//! A connection's turn: at most one read, one visit of the protocol, and an answer for
//! `answer.rs` to send. What is left comes again after the others had their turns, without waiting
//! for an event.

use std::io::ErrorKind;

use forebay_session::{Backend, State};

use crate::client::Client;
use crate::clients::Id;
use crate::worker::Worker;

/// What becomes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// It waits for an event, a ticket or a commit.
    Stay,
    /// Its answer is about to leave with those of others.
    Answered,
    /// It can go on at once.
    Again,
    /// It ends.
    Gone,
}

/// Where the input of a turn lies.
#[derive(Clone, Copy, Debug)]
enum Input {
    /// So many bytes in the thread's buffer.
    Shared(usize),
    /// In the connection's own.
    Own,
}

impl<B: Backend> Worker<B> {
    /// One turn.
    pub(crate) fn turn(&mut self, id: Id, client: &mut Client) -> After {
        if client.uncommitted || client.answered {
            return After::Stay;
        }
        if client.is_blocked() && !self.send_rest(id, client) {
            return After::Gone;
        }
        if client.is_blocked() || client.ticket.is_some() {
            return After::Stay;
        }
        if client.ends {
            return After::Gone;
        }
        match self.receive(id, client) {
            Ok(input) => self.carry_out(id, client, input),
            Err(after) => after,
        }
    }

    /// Reads, if the protocol needs more than is there.
    fn receive(&mut self, id: Id, client: &mut Client) -> Result<Input, After> {
        if client.input.len() >= client.wanted {
            return Ok(Input::Own);
        }
        let buffer = &mut self.buffers.read;
        let (wire, is_shared) = (&mut client.wire, client.input.is_empty());
        let read = match is_shared {
            true => wire.read(buffer),
            false => wire.read_on(&mut client.input, client.wanted, buffer),
        };
        let count = match read {
            // All that could be answered was: nothing is read before.
            Ok(0) => return Err(After::Gone),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => return Err(After::Again),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                // A handshake's answer, say.
                return Err(self.await_wire(id, client));
            }
            Err(_) => return Err(After::Gone),
        };
        client.since_ms = self.clock.ms;
        if let Some(store) = self.stores.get_mut(client.store) {
            store.tally.bytes_read += count as u64;
        }
        match is_shared {
            true => Ok(Input::Shared(count)),
            false if client.input.len() >= client.wanted => Ok(Input::Own),
            false if client.wire.has_more() => Err(After::Again),
            false => Err(After::Stay),
        }
    }

    /// Lets the protocol take what is there.
    fn carry_out(&mut self, id: Id, client: &mut Client, input: Input) -> After {
        let bytes = match input {
            Input::Shared(count) => self.buffers.read.get(..count).unwrap_or_default(),
            Input::Own => &client.input,
        };
        let Some(store) = self.stores.get_mut(client.store) else {
            return After::Gone;
        };
        let (engine, out) = (&store.engine, &mut self.buffers.out);
        let start = out.len();
        let (now_s, counts) = (self.clock.unix_s, &mut store.tally.counts);
        let taken = client.protocol.take(bytes, engine, now_s, out, counts);
        store.tally.bytes_written += (out.len() - start) as u64;
        if let State::Wait(ticket) = taken.state {
            client.ticket = Some(ticket);
            store.tickets.insert((ticket.0, id));
        }
        self.keep_rest(client, input, taken.consumed);
        client.wanted = 0;
        match taken.state {
            State::More { bytes } => client.wanted = bytes.max(client.input.len() + 1),
            State::Close => client.ends = true,
            State::Full | State::Wait(_) => {}
        }
        self.answer(id, client, start, taken.commit)
    }

    /// Keeps what was not taken of the input.
    fn keep_rest(&mut self, client: &mut Client, input: Input, consumed: usize) {
        match input {
            Input::Shared(count) if consumed == count => {}
            Input::Shared(count) => client.input = self.buffers.lend_read(consumed, count),
            Input::Own if consumed >= client.input.len() => {
                self.buffers.give_back(&mut client.input);
            }
            Input::Own => {
                client.input.drain(..consumed);
                if client.input.capacity() / 4 > client.input.len().max(16 << 10) {
                    client.input.shrink_to_fit();
                }
            }
        }
    }
}
