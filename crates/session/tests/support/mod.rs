//! A connection and an engine without sockets.

#![allow(dead_code, clippy::unwrap_used)]

pub(crate) mod engine;
pub(crate) mod serve;

use engine::Plain;
use forebay_session::{Access, Connection, Counts, Limits, State};

/// The tests' clock, in unix seconds.
pub(crate) const NOW_S: u32 = 1_700_000_000;

/// A client's side of a connection.
pub(crate) struct Client<'e> {
    engine: &'e Plain,
    connection: Connection,
    counts: Counts,
    input: Vec<u8>,
    pub(crate) now_s: u32,
    pub(crate) closed: bool,
    /// How much input the connection asked for at last.
    pub(crate) wanted: usize,
}

impl<'e> Client<'e> {
    pub(crate) fn new(engine: &'e Plain) -> Self {
        Self::with(engine, Limits::default(), Access::Open)
    }

    pub(crate) fn with(engine: &'e Plain, limits: Limits, access: Access) -> Self {
        Self {
            engine,
            connection: Connection::new(limits, access),
            counts: Counts::default(),
            input: Vec::new(),
            now_s: NOW_S,
            closed: false,
            wanted: 0,
        }
    }

    /// Sends bytes, and returns everything that is answered to them.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut answer = Vec::new();
        if self.closed {
            return answer;
        }
        self.input.extend_from_slice(bytes);
        loop {
            let mut out = Vec::new();
            let taken = self.connection.take(
                &self.input,
                self.engine,
                self.now_s,
                &mut out,
                &mut self.counts,
            );
            assert!(taken.consumed <= self.input.len());
            self.input.drain(..taken.consumed);
            let progressed = taken.consumed > 0 || !out.is_empty();
            answer.append(&mut out);
            match taken.state {
                State::Full => assert!(progressed, "full without any output"),
                State::Wait(ticket) => self.connection.resume(ticket),
                State::Close => {
                    self.closed = true;
                    return answer;
                }
                State::More { bytes } => {
                    assert!(bytes > self.input.len(), "more input would not help");
                    self.wanted = bytes;
                    return answer;
                }
            }
        }
    }

    /// The same, as text.
    pub(crate) fn say(&mut self, text: &str) -> String {
        String::from_utf8_lossy(&self.send(text.as_bytes())).into_owned()
    }

    pub(crate) fn counts(&mut self) -> Counts {
        std::mem::take(&mut self.counts)
    }
}

/// Sends pieces on a connection of its own, and returns everything that is answered.
pub(crate) fn talk(engine: &Plain, limits: Limits, pieces: &[&[u8]]) -> Vec<u8> {
    let mut client = Client::with(engine, limits, Access::Open);
    let mut answer: Vec<u8> = pieces.iter().flat_map(|piece| client.send(piece)).collect();
    if client.closed {
        answer.extend_from_slice(b"<closed>");
    }
    answer
}
