//! Time limits: once a second, and only while there is a connection that one concerns, all are
//! looked at. Ten thousand take some hundred microseconds.

use std::time::Duration;

use forebay_session::Backend;

use crate::client::Client;
use crate::clients::Id;
use crate::store::Port;
use crate::worker::Worker;

/// How often, in milliseconds.
const EVERY_MS: u64 = 1000;

/// The limit that concerns a connection now, in milliseconds.
fn limit_ms(client: &Client, port: &Port) -> Option<u64> {
    if client.is_waiting() {
        None
    } else if client.is_stalled() {
        Some(port.stalled_ms)
    } else {
        port.idle_ms
    }
}

impl<B: Backend> Worker<B> {
    /// Notes whether a time limit concerns a connection from now on.
    pub(crate) fn watch(&mut self, client: &mut Client) {
        let port = self.shared.ports.get(client.port);
        let watched = port.is_some_and(|port| limit_ms(client, port).is_some());
        self.set_watched(client, watched);
    }

    pub(crate) fn set_watched(&mut self, client: &mut Client, watched: bool) {
        match (client.watched, watched) {
            (false, true) => self.watched += 1,
            (true, false) => self.watched -= 1,
            _ => return,
        }
        client.watched = watched;
    }

    /// How long nothing has to be looked at; `None`: until there is an event.
    pub(crate) fn sweep_in(&self) -> Option<Duration> {
        let wait_ms = self.sweep_next_ms.saturating_sub(self.clock.ms);
        (self.watched > 0).then(|| Duration::from_millis(wait_ms.min(EVERY_MS)))
    }

    /// Closes those whose time is up.
    pub(crate) fn sweep(&mut self) {
        let now_ms = self.clock.ms;
        if self.watched == 0 || now_ms < self.sweep_next_ms {
            return;
        }
        self.sweep_next_ms = now_ms + EVERY_MS;
        let is_over = |client: &Client| {
            let port = self.shared.ports.get(client.port);
            let limit_ms = port.and_then(|port| limit_ms(client, port));
            limit_ms.is_some_and(|limit_ms| now_ms.saturating_sub(client.since_ms) > limit_ms)
        };
        let all = self.clients.iter();
        let over = all.filter(|(_, client)| client.watched && is_over(client));
        let over: Vec<Id> = over.map(|(id, _)| id).collect();
        for id in over {
            self.close(id);
        }
    }
}
