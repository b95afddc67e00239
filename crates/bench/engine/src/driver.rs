//! What virtual users are to the engine.

use std::time::Duration;

use forebay_results::{Cause, Tally};

use crate::session::{Response, Session};

/// The virtual users of one thread. They are numbered from 0.
pub trait Driver {
    /// The protocol they speak.
    type Session: Session;

    /// What a user does next; a request's bytes are appended to `out`. With pipelining it is
    /// called again before the answers.
    fn next(&mut self, user: u32, out: &mut Vec<u8>) -> Next<Self::Session>;

    /// The response to the user's oldest request is complete; `whole` is counted as reports count
    /// it. What the user counts itself goes into `tally`.
    ///
    /// # Errors
    /// When it is not what the user expected.
    fn answered(
        &mut self,
        user: u32,
        response: &Response,
        session: &mut Self::Session,
        whole: Duration,
        tally: &mut Tally,
    ) -> Result<(), Fault>;

    /// The user's oldest request failed without a response.
    fn failed(&mut self, user: u32, cause: Cause, tally: &mut Tally);

    /// A connection of the user is gone, with or without requests under way; what it sends next
    /// may be the first on a new one.
    fn disconnected(&mut self, user: u32) {
        let _ = user;
    }

    /// Whether what the user does next is something that an open load schedules: a request by
    /// itself, or the first of a sequence.
    fn is_scheduled(&self, user: u32) -> bool;

    /// Where the user's connection goes, if that is known before it has something to send:
    /// connections are then opened before the load begins.
    fn home(&self, user: u32) -> Option<u32>;
}

/// What a user does next.
#[derive(Debug)]
pub enum Next<S: Session> {
    /// It sends the request that was appended.
    Send(Outgoing<S>),
    /// It does nothing for so long.
    Wait(Duration),
    /// It came to the end of a sequence: asked again, when the schedule lets it begin another.
    Again,
    /// It cannot make its request, which counts as failed.
    Unsendable {
        /// Index of the label it is counted under.
        label: u32,
        /// Why.
        fault: Fault,
    },
    /// It has nothing more to do, ever.
    Finished,
}

/// Of a request that is sent.
#[derive(Debug)]
pub struct Outgoing<S: Session> {
    /// Index into [`crate::Endpoints`].
    pub endpoint: u32,
    /// Index of the label it is counted under.
    pub label: u32,
    /// What the session must know.
    pub expect: S::Expect,
    /// The connection is not used again after the response.
    pub close: bool,
}

/// Why a complete response counts as failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Under which cause it is counted.
    pub cause: Cause,
    /// What was wrong, for the report.
    pub words: Option<String>,
}

impl Fault {
    /// A status that nobody wants.
    pub fn status() -> Self {
        Self {
            cause: Cause::Status,
            words: None,
        }
    }
}
