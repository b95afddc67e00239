//! What a protocol on one connection is to the engine.

use forebay_results::{Cause, Lookup};

/// A protocol on one connection, from the client's side, without sockets or clock.
pub trait Session {
    /// What must be known of a request to read its response.
    type Expect: Copy + std::fmt::Debug;
    /// What the connections of a thread share, so that each is small.
    type Scratch: Default;

    /// A session on a new connection.
    fn new() -> Self;

    /// Reads `input`, the bytes that have not been consumed yet. `expect` is of the oldest request
    /// under way. Called again with the rest after a response, and with more after [`Progress::done`]
    /// was `None`.
    ///
    /// # Errors
    /// When the bytes are not of this protocol; the connection is closed then.
    fn receive(
        &mut self,
        scratch: &mut Self::Scratch,
        input: &[u8],
        expect: Self::Expect,
    ) -> Result<Progress, Malformed>;

    /// The peer closed the connection: the response that this completes, if it does.
    fn closed(&mut self) -> Option<Response>;
}

/// How far a call of [`Session::receive`] came.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Bytes that need not be shown again.
    pub consumed: usize,
    /// A response that is complete.
    pub done: Option<Response>,
}

/// A complete response, as far as every protocol has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// Which of the requests under way it belongs to, counted from the oldest.
    pub which: usize,
    /// HTTP's status; 0 where the protocol has none.
    pub status: u16,
    /// Whether a cache had it.
    pub lookup: Lookup,
    /// Bytes of the body.
    pub body_bytes: u64,
    /// Whether the connection can carry another request.
    pub reusable: bool,
    /// A failure that the protocol itself tells.
    pub fault: Option<Cause>,
}

/// Bytes that are not of the protocol, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);
