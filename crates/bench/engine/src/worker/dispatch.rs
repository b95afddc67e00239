//! Requests onto connections: which one carries a request, and opening it.

use std::sync::Arc;

use forebay_results::Cause;

use super::Worker;
use super::connection::{Connection, Flight, NONE, Phase};
use crate::driver::{Driver, Outgoing};
use crate::endpoint::Address;
use crate::plan::Pace;
use crate::transport::Transport;

/// Connections that one user keeps to further places.
const MOST_OTHERS: usize = 6;

impl<D: Driver> Worker<D> {
    /// Sends `self.out[from..]`; false when the user must wait before it may do more.
    pub(super) fn dispatch(
        &mut self,
        user: u32,
        outgoing: Outgoing<D::Session>,
        from: usize,
        due: Option<u64>,
    ) -> bool {
        if let Some(quota) = &mut self.quota {
            *quota -= 1;
        }
        let Some(id) = self.connection_to(user, outgoing.endpoint) else {
            self.out.truncate(from);
            self.tally.counts.completed += 1;
            self.count_failure(Cause::Connect, outgoing.label);
            self.driver.failed(user, Cause::Connect, &mut self.tally);
            self.back_off(user);
            return false;
        };
        let (now, is_scheduled) = (self.now, matches!(self.plan.pace, Pace::Open(_)));
        let Some(connection) = self.connections.get(id) else {
            return false;
        };
        connection.flights.push_back(Flight {
            from: due.filter(|_| is_scheduled).unwrap_or(now),
            sent: now,
            first_byte: 0,
            label: outgoing.label,
            expect: outgoing.expect,
            close: outgoing.close,
        });
        let has_room = connection.flights.len() < self.plan.pipeline.max(1) as usize;
        if connection.phase != Phase::Open {
            connection.unsent.extend_from_slice(&self.out[from..]);
            self.out.truncate(from);
        } else if self.batch != id {
            let bytes = std::mem::take(&mut self.out);
            self.send(id, &bytes[from..]);
            self.out = bytes;
            self.out.truncate(from);
        }
        !outgoing.close && has_room
    }

    /// The user's connection to an endpoint, opened now if there is none.
    fn connection_to(&mut self, user: u32, endpoint: u32) -> Option<u32> {
        if let Some(id) = self.users.of(user).home
            && self
                .connections
                .get(id)
                .is_some_and(|c| c.endpoint == endpoint && c.phase != Phase::Closing)
        {
            return Some(id);
        }
        let others = std::mem::take(&mut self.users.of(user).others);
        let found = others.iter().copied().find(|&id| {
            self.connections
                .get(id)
                .is_some_and(|c| c.endpoint == endpoint && c.phase != Phase::Closing)
        });
        self.users.of(user).others = others;
        if found.is_some() {
            return found;
        }
        let id = self.connect(user, endpoint)?;
        let owner = self.users.of(user);
        if owner.home.is_none() {
            owner.home = Some(id);
        } else {
            owner.others.push(id);
            if owner.others.len() > MOST_OTHERS {
                let oldest = owner.others.remove(0);
                drop(self.connections.take(oldest));
            }
        }
        Some(id)
    }

    pub(super) fn connect(&mut self, user: u32, endpoint: u32) -> Option<u32> {
        if endpoint as usize >= self.endpoints.len() {
            self.endpoints = self.plan.endpoints.all();
        }
        let place = Arc::clone(self.endpoints.get(endpoint as usize)?);
        let turn = user as usize;
        let address: &Address = place.addresses.get(turn % place.addresses.len().max(1))?;
        let sources = &self.plan.sources;
        let source = (!sources.is_empty()).then(|| sources[turn % sources.len()]);
        self.tick();
        let transport = match Transport::connect(address, source, place.tls.as_ref()) {
            Ok(transport) => transport,
            Err(error) => {
                self.tally.fault(&format!("{}: {error}", place.name));
                return None;
            }
        };
        let (id, key) = self.connections.reserve();
        if let Err(error) = self.watch(&transport, key) {
            self.connections.abandon(id);
            self.tally
                .fault(&format!("a connection cannot be watched: {error}"));
            return None;
        }
        let connection = Connection {
            transport,
            session: crate::session::Session::new(),
            user,
            endpoint,
            phase: Phase::Connecting,
            flights: Default::default(),
            unsent: Vec::new(),
            partial: Vec::new(),
            watches_writing: true,
            since: self.now,
        };
        self.connections.put(id, connection);
        Some(id)
    }

    /// Takes a closed connection from its user.
    pub(super) fn forget(&mut self, user: u32, id: u32) {
        if user == NONE {
            return;
        }
        self.driver.disconnected(user);
        let owner = self.users.of(user);
        if owner.home == Some(id) {
            owner.home = None;
        } else {
            owner.others.retain(|&other| other != id);
        }
    }
}
