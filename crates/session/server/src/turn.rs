//! A connection's turn: at most one read, one visit of the protocol, one write. What is left comes
//! again after the others had their turns, without waiting for an event.

use std::cmp::Reverse;
use std::io::ErrorKind;

use forebay_session::{Backend, Commit, Progress, State};

use crate::client::Client;
use crate::clients::Id;
use crate::worker::Worker;

/// What becomes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// It waits for an event, a ticket or a commit.
    Stay,
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
        if client.is_waiting() {
            return After::Stay;
        }
        if client.is_blocked() && !self.send_rest(id, client) {
            return After::Gone;
        }
        if client.is_blocked() {
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
        self.tally(client.store, count, 0);
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
        let taken = client.protocol.take(bytes, engine, self.clock.unix_s, out);
        let counts = client.protocol.take_counts();
        store.tally.counts = store.tally.counts.plus(&counts);
        self.keep_rest(client, input, taken.consumed);
        client.wanted = 0;
        match taken.state {
            State::More { bytes } => client.wanted = bytes.max(client.input.len() + 1),
            State::Full => {}
            State::Close => client.ends = true,
            State::Wait(ticket) => {
                client.ticket = Some(ticket);
                if let Some(store) = self.stores.get_mut(client.store) {
                    store.tickets.insert(ticket, id);
                }
            }
        }
        self.answer(id, client, taken.commit)
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

    /// Sends the output, or keeps it until it may be sent.
    fn answer(&mut self, id: Id, client: &mut Client, commit: Commit) -> After {
        let progress = self.progress(client, commit);
        if progress == Progress::Pending
            && let Some(store) = self.stores.get_mut(client.store)
        {
            store.push = store.push.max(commit);
            if !self.buffers.out.is_empty() {
                store.uncommitted.push(Reverse((commit, id)));
                (client.output, client.sent) = self.buffers.take_out(0);
                client.uncommitted = true;
                return After::Stay;
            }
        }
        if !self.buffers.out.is_empty() {
            if progress == Progress::Failed || !self.send(id, client) {
                self.buffers.clear_out();
                return After::Gone;
            }
            if client.is_blocked() {
                return After::Stay;
            }
        }
        match () {
            () if client.ends => After::Gone,
            () if client.ticket.is_some() => After::Stay,
            () if client.wanted == 0 || client.wire.has_more() => After::Again,
            () => After::Stay,
        }
    }

    fn progress(&self, client: &Client, commit: Commit) -> Progress {
        if commit == Commit::default() {
            return Progress::Durable;
        }
        let store = self.stores.get(client.store);
        store.map_or(Progress::Failed, |store| store.backend.progress(commit))
    }

    /// Sends the thread's output; what the wire does not take becomes the connection's. `false`:
    /// the connection is of no use any more.
    fn send(&mut self, id: Id, client: &mut Client) -> bool {
        let Ok(sent) = client.wire.write(&self.buffers.out) else {
            return false;
        };
        self.tally(client.store, 0, sent);
        if sent == self.buffers.out.len() {
            self.buffers.clear_out();
        } else {
            (client.output, client.sent) = self.buffers.take_out(sent);
        }
        self.await_wire(id, client) != After::Gone
    }

    /// Sends the connection's own output. `false`: the connection is of no use any more.
    fn send_rest(&mut self, id: Id, client: &mut Client) -> bool {
        let rest = client.output.get(client.sent..).unwrap_or_default();
        let Ok(sent) = client.wire.write(rest) else {
            return false;
        };
        if client.wire.flush().is_err() {
            return false;
        }
        if sent > 0 {
            client.since_ms = self.clock.ms;
        }
        client.sent += sent;
        self.tally(client.store, 0, sent);
        if client.sent >= client.output.len() {
            client.sent = 0;
            self.buffers.give_back(&mut client.output);
        }
        self.await_wire(id, client) != After::Gone
    }

    fn tally(&mut self, store: usize, read: usize, written: usize) {
        if let Some(store) = self.stores.get_mut(store) {
            store.tally.bytes_read += read as u64;
            store.tally.bytes_written += written as u64;
        }
    }

    /// Chooses the event that is waited for.
    fn await_wire(&mut self, id: Id, client: &mut Client) -> After {
        let registry = self.poll.registry();
        let writing = client.is_blocked();
        match client.wire.set_writing(registry, id.token(), writing) {
            Ok(()) => After::Stay,
            Err(_) => After::Gone,
        }
    }
}
