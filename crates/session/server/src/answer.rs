//! Answers: gathered from several turns and sent in a row, or kept until they may leave. What the
//! clients did is told to the statistics before the first of them hears of it.

use std::cmp::Reverse;

use forebay_session::{Backend, Commit, Progress};

use crate::client::Client;
use crate::clients::Id;
use crate::turn::After;
use crate::worker::Worker;

/// An answer in the thread's output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    id: Id,
    start: usize,
    end: usize,
}

impl<B: Backend> Worker<B> {
    /// Puts the output from `start` on, if there is any, among the answers to be sent, or keeps it
    /// until its commit has got on.
    pub(crate) fn answer(
        &mut self,
        id: Id,
        client: &mut Client,
        start: usize,
        commit: Commit,
    ) -> After {
        let end = self.buffers.out.len();
        match self.progress(client, commit) {
            // Also where nobody is told: it is to be durable all the same.
            Progress::Pending => self.await_commit(id, client, start, commit),
            _ if start == end => {}
            Progress::Durable => {
                self.answers.push(Answer { id, start, end });
                client.in_round = true;
                return After::InRound;
            }
            Progress::Failed => {
                self.buffers.out.truncate(start);
                return After::Gone;
            }
        }
        after_answer(client)
    }

    fn progress(&self, client: &Client, commit: Commit) -> Progress {
        if commit == Commit::default() {
            return Progress::Durable;
        }
        let store = self.stores.get(client.store);
        store.map_or(Progress::Failed, |store| store.backend.progress(commit))
    }

    /// Keeps the output from `start` on, if there is any, until this commit has got on.
    fn await_commit(&mut self, id: Id, client: &mut Client, start: usize, commit: Commit) {
        let Some(store) = self.stores.get_mut(client.store) else {
            return;
        };
        store.awaited = store.awaited.max(commit);
        if start < self.buffers.out.len() {
            store.uncommitted.push(Reverse((commit, id)));
            client.output = self.buffers.cut_out(start);
            client.uncommitted = true;
        }
    }

    /// Whether answers are to be sent before more are made.
    pub(crate) fn is_answer_due(&self) -> bool {
        self.buffers.out.len() >= self.answers_bytes
    }

    /// Sends all answers.
    pub(crate) fn send_answers(&mut self) {
        if self.answers.is_empty() {
            // What a fault has left is nobody's.
            return self.buffers.clear_out();
        }
        for store in &mut self.stores {
            store.tell();
        }
        let mut answers = std::mem::take(&mut self.answers);
        for answer in answers.drain(..) {
            let Some(mut client) = self.clients.take(answer.id) else {
                continue;
            };
            client.in_round = false;
            let after = match self.send(answer, &mut client) {
                true => after_answer(&client),
                false => After::Gone,
            };
            self.settle(answer.id, client, after);
        }
        self.answers = answers;
        self.buffers.clear_out();
    }

    /// Sends an answer; what the wire does not take becomes the connection's. `false`: the
    /// connection is of no use any more.
    fn send(&mut self, answer: Answer, client: &mut Client) -> bool {
        let Answer { id, start, end } = answer;
        let bytes = self.buffers.out.get(start..end).unwrap_or_default();
        let Ok(sent) = client.wire.write(bytes) else {
            return false;
        };
        if sent < bytes.len() {
            client.output = self.buffers.lend_out(start + sent, end);
        }
        self.await_wire(id, client) != After::Gone
    }

    /// Sends the connection's own output. `false`: the connection is of no use any more.
    pub(crate) fn send_rest(&mut self, id: Id, client: &mut Client) -> bool {
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
        if client.sent >= client.output.len() {
            client.sent = 0;
            self.buffers.give_back(&mut client.output);
        }
        self.await_wire(id, client) != After::Gone
    }

    /// Chooses the event that is waited for.
    pub(crate) fn await_wire(&mut self, id: Id, client: &mut Client) -> After {
        let registry = self.poll.registry();
        let writing = client.is_blocked();
        match client.wire.set_writing(registry, id.token(), writing) {
            Ok(()) => After::Stay,
            Err(_) => After::Gone,
        }
    }
}

/// What becomes of a connection that was answered.
fn after_answer(client: &Client) -> After {
    if client.is_waiting() || client.is_blocked() {
        After::Stay
    } else if client.ends {
        After::Gone
    } else if client.wanted == 0 || client.wire.has_more() {
        After::Again
    } else {
        After::Stay
    }
}
