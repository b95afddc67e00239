//! What a thread does when others tell it something: a ticket was called, a commit has got on, the
//! server is to accept or to end.

use std::cmp::Reverse;
use std::time::Instant;

use forebay_session::{Backend, Progress, Ticket};

use crate::accept::Doors;
use crate::clients::Id;
use crate::worker::Worker;

impl<B: Backend> Worker<B> {
    /// Does what the mailbox's letters say.
    pub(crate) fn read_letters(&mut self) {
        let mut letters = std::mem::take(&mut self.letters);
        self.mailbox.empty(&mut letters);
        for (socket, port) in letters.connections.drain(..) {
            self.admit(socket, port);
        }
        for (store, ticket) in letters.tickets.drain(..) {
            self.called(store, ticket);
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

    /// Lets everybody go on in this round who waits for this ticket.
    fn called(&mut self, number: usize, ticket: Ticket) {
        while let Some(store) = self.stores.get_mut(number)
            && let Some(id) = store.take_called(ticket)
        {
            if let Some(client) = self.clients.get(id) {
                client.ticket = None;
                client.since_ms = self.clock.ms;
                client.protocol.resume(ticket);
                // Not at once: it might wait for the same ticket again.
                if !client.listed {
                    client.listed = true;
                    self.ready.push(id);
                }
            }
        }
    }

    /// Sends what has become durable.
    fn progressed(&mut self, number: usize) {
        while let Some(store) = self.stores.get_mut(number)
            && let Some(&Reverse((commit, id))) = store.uncommitted.peek()
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
    pub(crate) fn is_drained(&mut self) -> Option<usize> {
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
