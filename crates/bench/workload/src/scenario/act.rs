//! What passes between a virtual user and the engine that sends for it.

use std::time::Duration;

use forebay_http::ResponseHead;

/// What a user does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// It sends the request whose bytes were appended, and waits for the response.
    Send(Sent),
    /// It does nothing for so long.
    Pause(Duration),
    /// Its next request cannot be made (a variable made a URL that is none). It counts as failed,
    /// as a [`FaultKind::Check`]; then `next` is called again.
    Unsendable {
        /// Index into [`Compiled::labels`](super::Compiled::labels).
        label: usize,
        /// Why.
        fault: Fault,
    },
    /// It went through its flow once; `next` is called again.
    EndOfIteration,
    /// It has nothing more to do, ever.
    Finished,
}

/// A request, as far as the engine must know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Where it goes: for [`Compiled::place`](super::Compiled::place).
    pub place: usize,
    /// What it is counted under: index into [`Compiled::labels`](super::Compiled::labels).
    pub label: usize,
    /// The response has no body whatever its fields say.
    pub is_head: bool,
    /// The user wants to see the response's body.
    pub keep_body: bool,
    /// The request asks the server to close the connection.
    pub close: bool,
}

/// The response to the request a user sent last.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// Its status.
    pub status: u16,
    /// Its fields.
    pub head: &'a ResponseHead,
    /// Its body without codings of the transfer; empty unless [`Sent::keep_body`].
    pub body: &'a [u8],
    /// From sending (or from when it was due) to the last byte.
    pub whole: Duration,
    /// When it came, in seconds of Unix time: cookies expire.
    pub now: u64,
}

/// Why a request counts as failed although a response came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// For the report: the step, and what was found. The same failure has the same words, so that
    /// reports can count them.
    pub words: String,
    /// What it is counted under.
    pub kind: FaultKind,
}

/// What a fault is counted under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// Another status than expected.
    Status,
    /// A check or an extraction.
    Check,
}
