//! Bytes that arrive: responses out of them, and what each means for its user.

use std::io::ErrorKind;
use std::time::Duration;

use forebay_results::Cause;

use super::Worker;
use super::connection::{NONE, Phase};
use crate::driver::Driver;
use crate::session::{Response, Session};

/// What a connection keeps for pieces of heads; more is given back.
const KEPT_PARTIAL: usize = 4096;

impl<D: Driver> Worker<D> {
    pub(super) fn readable_then_broken(&mut self, id: u32) {
        // Called while bytes of a connection are looked at: whoever reads them finds the end as well.
        if self.buffer.is_empty() {
            return;
        }
        self.readable(id);
        if self
            .connections
            .get(id)
            .is_some_and(|connection| connection.phase == Phase::Open)
        {
            self.fail(id, Cause::Reset);
        }
    }

    /// Reads what there is and lets the users go on whose responses it completes.
    pub(super) fn readable(&mut self, id: u32) {
        let mut buffer = std::mem::take(&mut self.buffer);
        while let Some(connection) = self.connections.get(id) {
            let kept = connection.partial.len();
            if kept == buffer.len() {
                self.fail(id, Cause::Malformed);
                break;
            }
            match connection.transport.read(&mut buffer[kept..]) {
                Ok(0) => {
                    self.closed_by_peer(id);
                    break;
                }
                Ok(read) => {
                    if kept > 0 {
                        buffer[..kept].copy_from_slice(&connection.partial);
                        connection.partial.clear();
                    }
                    // What is not full was all there is; under TLS more may be decrypted already.
                    let was_all = kept + read < buffer.len() && !connection.transport.is_tls();
                    self.tick();
                    self.tally.counts.bytes_received += read as u64;
                    if !self.received(id, &buffer[..kept + read]) || was_all {
                        break;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => {
                    self.fail(id, Cause::Reset);
                    break;
                }
            }
        }
        self.buffer = buffer;
    }

    /// Takes responses out of `bytes`; false when the connection is not read further.
    fn received(&mut self, id: u32, bytes: &[u8]) -> bool {
        // Requests that the responses let go out leave together.
        self.batch = id;
        let is_open = self.responses(id, bytes);
        self.batch = NONE;
        if !self.out.is_empty() {
            let out = std::mem::take(&mut self.out);
            if is_open {
                self.send(id, &out);
            }
            self.out = out;
            self.out.clear();
        }
        is_open
    }

    fn responses(&mut self, id: u32, bytes: &[u8]) -> bool {
        let now = self.now;
        let mut at = 0;
        while at < bytes.len() {
            let Some(connection) = self.connections.get(id) else {
                return false;
            };
            let Some(flight) = connection.flights.front_mut() else {
                // Nobody asked for this; a polite server says so before it closes (408).
                self.close(id);
                return false;
            };
            if flight.first_byte == 0 {
                flight.first_byte = now;
            }
            match connection
                .session
                .receive(&mut self.scratch, &bytes[at..], flight.expect)
            {
                Err(malformed) => {
                    self.tally
                        .fault(&format!("malformed response: {}", malformed.0));
                    self.fail(id, Cause::Malformed);
                    return false;
                }
                Ok(progress) => {
                    at += progress.consumed;
                    let Some(response) = progress.done else {
                        if at < bytes.len() {
                            connection.partial.extend_from_slice(&bytes[at..]);
                        } else if connection.partial.capacity() > KEPT_PARTIAL {
                            connection.partial = Vec::new();
                        }
                        return true;
                    };
                    if !self.complete(id, &response) {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// A response is complete; false when its connection is at its end.
    fn complete(&mut self, id: u32, response: &Response) -> bool {
        let now = self.now;
        let Some(connection) = self.connections.get(id) else {
            return false;
        };
        let user = connection.user;
        let Some(flight) = connection.flights.remove(response.which) else {
            return false;
        };
        let whole = now - flight.from;
        let verdict = self.driver.answered(
            user,
            response,
            &mut connection.session,
            Duration::from_nanos(whole),
            &mut self.tally,
        );
        self.measure(response, &flight, verdict);
        if response.reusable && !flight.close {
            self.advance(user);
            return self.connections.get(id).is_some();
        }
        if response.reusable {
            // The server would keep it open; it is this user that does not want it.
            self.close(id);
            self.advance(user);
            return false;
        }
        self.end_after_response(id);
        false
    }

    /// The server closes; requests behind the last response are lost.
    fn end_after_response(&mut self, id: u32) {
        let now = self.now;
        let Some(connection) = self.connections.get(id) else {
            return;
        };
        if !connection.flights.is_empty() {
            return self.fail(id, Cause::Reset);
        }
        connection.phase = Phase::Closing;
        connection.since = now;
        connection.partial = Vec::new();
        self.closing(id);
    }

    /// Waits for the end of a connection, so that it is the server's port that stays in TIME_WAIT.
    pub(super) fn closing(&mut self, id: u32) {
        let Some(connection) = self.connections.get(id) else {
            return;
        };
        let mut rest = [0; 512];
        match connection.transport.read(&mut rest) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Ok(read) if read > 0 => {}
            _ => {
                let user = connection.user;
                self.close(id);
                self.tick();
                self.advance(user);
            }
        }
    }

    fn closed_by_peer(&mut self, id: u32) {
        let Some(connection) = self.connections.get(id) else {
            return;
        };
        let response = match connection.flights.is_empty() {
            true => None,
            false => connection.session.closed(),
        };
        match response {
            Some(response) => drop(self.complete(id, &response)),
            None if connection.flights.is_empty() => self.close(id),
            None => self.fail(id, Cause::Reset),
        }
    }
}
