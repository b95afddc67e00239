//! What happens on connections: opened, readable, writable, closed, too late.

use std::io::{self, ErrorKind};

use forebay_results::Cause;
use rustix::event::epoll::{self, Event, EventData, EventFlags};

use super::Worker;
use super::connection::Phase;
use crate::driver::Driver;
use crate::transport::Transport;

/// How long a server that announced it may take to close.
const CLOSING_NS: u64 = 100_000_000;

impl<D: Driver> Worker<D> {
    pub(super) fn watch(&self, transport: &Transport, key: u64) -> io::Result<()> {
        let data = EventData::new_u64(key);
        Ok(epoll::add(
            &self.poll,
            transport,
            data,
            EventFlags::IN | EventFlags::OUT,
        )?)
    }

    pub(super) fn event(&mut self, event: Event) {
        let Some(id) = self.connections.of_key(event.data.u64()) else {
            return;
        };
        let Some(connection) = self.connections.get(id) else {
            return;
        };
        let flags = event.flags;
        match connection.phase {
            Phase::Connecting => self.connected(id),
            Phase::Handshake => self.handshake(id),
            Phase::Open => {
                if flags.contains(EventFlags::OUT) {
                    self.send(id, &[]);
                }
                if flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) {
                    self.readable(id);
                }
            }
            Phase::Closing => self.closing(id),
        }
    }

    fn connected(&mut self, id: u32) {
        let Some(connection) = self.connections.get(id) else {
            return;
        };
        if let Err(error) = connection.transport.connected() {
            return self.cannot_connect(id, Cause::Connect, &error);
        }
        if connection.transport.is_tls() {
            connection.phase = Phase::Handshake;
            return self.handshake(id);
        }
        self.opened(id);
    }

    fn handshake(&mut self, id: u32) {
        let Some(connection) = self.connections.get(id) else {
            return;
        };
        match connection.transport.handshake() {
            Ok(true) => self.opened(id),
            Ok(false) => self.follow_writing(id),
            Err(error) => self.cannot_connect(id, Cause::Tls, &error),
        }
    }

    fn opened(&mut self, id: u32) {
        let now = self.now;
        let Some(connection) = self.connections.get(id) else {
            return;
        };
        connection.phase = Phase::Open;
        let took = now - std::mem::replace(&mut connection.since, now);
        let user = connection.user;
        let unsent = std::mem::take(&mut connection.unsent);
        self.tally.counts.connects += 1;
        self.tally.latency.connect.record(took);
        self.forgive(user);
        self.send(id, &unsent);
        self.opened_early();
    }

    fn cannot_connect(&mut self, id: u32, cause: Cause, error: &io::Error) {
        let name = self
            .connections
            .get(id)
            .and_then(|connection| self.endpoints.get(connection.endpoint as usize))
            .map(|endpoint| endpoint.name.clone())
            .unwrap_or_default();
        self.tally.fault(&format!("{name}: {error}"));
        self.fail(id, cause);
    }

    /// Sends what waits and `bytes`.
    pub(super) fn send(&mut self, id: u32, bytes: &[u8]) {
        let Some(connection) = self.connections.get(id) else {
            return;
        };
        let mut rest = bytes;
        let mut sent = 0;
        let result = loop {
            let waiting = std::mem::take(&mut connection.unsent);
            let from: &[u8] = if waiting.is_empty() { rest } else { &waiting };
            if from.is_empty() {
                break connection.transport.flush();
            }
            match connection.transport.write(from) {
                Ok(taken) => {
                    sent += taken;
                    if waiting.is_empty() {
                        rest = &rest[taken..];
                    } else {
                        connection.unsent = waiting[taken..].to_vec();
                    }
                    if rest.is_empty() && connection.unsent.is_empty() {
                        break Ok(());
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    connection.unsent = waiting;
                    connection.unsent.extend_from_slice(rest);
                    break Ok(());
                }
                Err(error) => break Err(error),
            }
        };
        self.tally.counts.bytes_sent += sent as u64;
        match result {
            Ok(()) => self.follow_writing(id),
            // Its answer may have come before it closed.
            Err(_) => self.readable_then_broken(id),
        }
    }

    /// Asks epoll for room to write exactly while there is something to write.
    fn follow_writing(&mut self, id: u32) {
        let key = self.connections.key(id);
        let Some(connection) = self.connections.get(id) else {
            return;
        };
        let wants = !connection.unsent.is_empty() || connection.transport.wants_write();
        if wants == connection.watches_writing {
            return;
        }
        connection.watches_writing = wants;
        let mut flags = EventFlags::IN;
        flags.set(EventFlags::OUT, wants);
        // The descriptor is open and known, so this does not fail.
        let _ = epoll::modify(
            &self.poll,
            &connection.transport,
            EventData::new_u64(key),
            flags,
        );
    }

    /// Everything under way on a connection failed; its user goes on with another.
    pub(super) fn fail(&mut self, id: u32, cause: Cause) {
        let Some(connection) = self.connections.take(id) else {
            return;
        };
        let user = connection.user;
        self.forget(user, id);
        let was_opening = matches!(connection.phase, Phase::Connecting | Phase::Handshake);
        let mut cause = cause;
        for flight in &connection.flights {
            self.count_lost(flight, cause);
            self.driver.failed(user, cause, &mut self.tally);
            if cause == Cause::Timeout {
                // Those behind it were not answered because it was not.
                cause = Cause::Reset;
            }
        }
        if was_opening {
            if self.begun.is_none() {
                return self.opened_early();
            }
            self.back_off(user);
        } else {
            self.advance(user);
        }
    }

    /// Closes a connection on which nothing is under way.
    pub(super) fn close(&mut self, id: u32) {
        if let Some(connection) = self.connections.take(id) {
            self.forget(connection.user, id);
        }
    }

    /// Ends what takes too long, and hands figures over.
    pub(super) fn sweep(&mut self) {
        self.next_sweep = self.now + super::SWEEP_NS;
        let timeout = self.plan.timeout.as_nanos() as u64;
        let connect = self.plan.connect_timeout.as_nanos() as u64;
        for id in self.connections.ids() {
            let now = self.now;
            let Some(connection) = self.connections.get(id) else {
                continue;
            };
            let age = now.saturating_sub(connection.since);
            match connection.phase {
                Phase::Connecting | Phase::Handshake if age > connect => {
                    self.fail(id, Cause::Timeout)
                }
                Phase::Closing if age > CLOSING_NS => {
                    let user = connection.user;
                    self.close(id);
                    self.advance(user);
                }
                Phase::Open => {
                    let sent = connection
                        .flights
                        .front()
                        .map_or(now, |flight| flight.sent.max(connection.since));
                    if now.saturating_sub(sent) > timeout {
                        self.fail(id, Cause::Timeout);
                    }
                }
                _ => {}
            }
        }
        self.publish_if_due();
    }
}
