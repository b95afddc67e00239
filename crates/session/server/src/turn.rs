//! A connection's turn: at most one read, one visit of the protocol, and an answer for `answer.rs`
//! to send. What is left comes again after the others had their turns, without waiting for an event.
//!
//! The turns of several connections are taken step by step: all are read from, then all are
//! visited, then all are answered. So the engine hears of all their keys before it looks for the
//! first ([`Connection::look_ahead`]), and a round goes three times through a path of its own
//! instead of many times through all three, which the processor's caches do not hold together.
//!
//! [`Connection::look_ahead`]: forebay_session::Connection::look_ahead

use std::io::ErrorKind;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use forebay_session::{Ahead, Backend, State};

use crate::client::Client;
use crate::clients::Id;
use crate::worker::Worker;

/// How many connections are read from in a row; the first of them waits for the last to be
/// visited.
const VISITS: usize = 16;

/// What becomes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// It waits for an event, a ticket or a commit.
    Stay,
    /// The thread goes on with it in this round.
    InRound,
    /// It can go on at once, after the others.
    Again,
    /// It ends.
    Gone,
}

/// Where the input of a turn lies.
#[derive(Clone, Debug)]
enum Input {
    /// In the thread's buffer.
    Shared(Range<usize>),
    /// In the connection's own.
    Own,
}

/// A connection that was read from, and is to be visited.
#[derive(Debug)]
pub(crate) struct Visit {
    id: Id,
    input: Input,
}

impl<B: Backend> Worker<B> {
    /// Gives a connection its turn, of which [`Worker::go_on`] makes the rest.
    pub(crate) fn serve(&mut self, id: Id) {
        let Some(mut client) = self.clients.take(id) else {
            return;
        };
        client.listed = false;
        let after = guarded(|| self.turn(id, &mut client)).unwrap_or(After::Gone);
        self.settle(id, client, after);
        if self.visits.len() >= VISITS || self.buffers.input.is_full() {
            self.go_on();
        }
    }

    /// Visits who was read from, sends all answers, and asks for the commits that others wait for:
    /// the disk is at work on these while the next are read from.
    pub(crate) fn go_on(&mut self) {
        // A hint: without it all goes on.
        let _ = guarded(|| self.look_ahead());
        let mut visits = std::mem::take(&mut self.visits);
        for Visit { id, input } in visits.drain(..) {
            let Some(mut client) = self.clients.take(id) else {
                continue;
            };
            client.in_round = false;
            let step = guarded(|| self.carry_out(id, &mut client, input));
            let after = step.unwrap_or(After::Gone);
            self.settle(id, client, after);
            if self.is_answer_due() {
                self.send_answers();
            }
        }
        self.visits = visits;
        self.buffers.input.clear();
        self.send_answers();
        for store in &mut self.stores {
            store.push();
        }
    }

    /// Tells the engines what those who are to be visited ask for first.
    fn look_ahead(&mut self) {
        if self.visits.len() < 2 {
            return;
        }
        for (number, store) in self.stores.iter().enumerate() {
            let mut ahead = Ahead::default();
            for visit in &self.visits {
                if let Some(client) = self.clients.get(visit.id)
                    && client.store == number
                    && let Input::Shared(at) = &visit.input
                {
                    let bytes = self.buffers.input.get(at.clone());
                    client.protocol.look_ahead(bytes, &mut ahead);
                }
            }
            ahead.tell(&store.engine);
        }
    }

    /// The first step of a turn.
    fn turn(&mut self, id: Id, client: &mut Client) -> After {
        if client.uncommitted || client.in_round {
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
            Ok(input) => {
                self.visits.push(Visit { id, input });
                client.in_round = true;
                After::InRound
            }
            Err(after) => after,
        }
    }

    /// Reads, if the protocol needs more than is there.
    fn receive(&mut self, id: Id, client: &mut Client) -> Result<Input, After> {
        if client.input.len() >= client.wanted {
            return Ok(Input::Own);
        }
        let buffer = self.buffers.input.room();
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
            true => Ok(Input::Shared(self.buffers.input.fill(count))),
            false if client.input.len() >= client.wanted => Ok(Input::Own),
            false if client.wire.has_more() => Err(After::Again),
            false => Err(After::Stay),
        }
    }

    /// Lets the protocol take what is there.
    fn carry_out(&mut self, id: Id, client: &mut Client, input: Input) -> After {
        let bytes = match &input {
            Input::Shared(at) => self.buffers.input.get(at.clone()),
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
            Input::Shared(at) if consumed == at.len() => {}
            Input::Shared(at) => {
                client.input = self.buffers.lend_input(at.start + consumed..at.end);
            }
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

/// A fault of ours in a step does not end the thread; `None`, after which the connection that the
/// step was for ends.
fn guarded<T>(step: impl FnOnce() -> T) -> Option<T> {
    let done = catch_unwind(AssertUnwindSafe(step));
    if done.is_err() {
        tracing::error!("session store: an internal fault in the turn of a connection");
    }
    done.ok()
}
