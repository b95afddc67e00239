//! What a command has at hand while it is carried out, and what stays on a connection between
//! commands.

use crate::counts::Counts;
use crate::engine::{Answer, Commit, Cursor, Done, Engine, Op, Request, Ticket};
use crate::limits::{Access, Limits};

/// Why no (further) command was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The command needs at least so many bytes of input.
    Need(usize),
    /// The engine will answer later; so many bytes of the input are done with.
    Wait(usize, Ticket),
    /// The connection ends here.
    Close,
}

impl Stop {
    /// The same, when a part of the input is done with.
    pub(crate) fn after(self, bytes: usize) -> Self {
        match self {
            Self::Wait(done, ticket) => Self::Wait(done + bytes, ticket),
            other => other,
        }
    }
}

/// How many bytes of the input a command took.
pub(crate) type Step = Result<usize, Stop>;

/// The keys of a `get` whose line is not at its end: the input goes on with the next key.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Keys {
    /// With the items' numbers.
    pub(crate) with_cas: bool,
    /// Their new expiry.
    pub(crate) touch: Option<u32>,
    /// It was answered by an error; the line is skipped.
    pub(crate) failed: bool,
}

/// A walk over all keys that a client asks for one by one.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    /// Where it goes on; `None`: at its end.
    pub(crate) cursor: Option<Cursor>,
    /// Keys that the engine showed and the client has not seen: 4 bytes of length before each.
    pub(crate) keys: Vec<u8>,
    /// How much of them the client has seen.
    pub(crate) seen: usize,
}

/// The state of a connection that commands share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Input that is to be passed over.
    pub(crate) swallow: usize,
    /// The `get` that is not at its end.
    pub(crate) keys: Option<Keys>,
    /// The dump of all items that is not at its end.
    pub(crate) dump: Option<Cursor>,
    /// The token was shown.
    pub(crate) admitted: bool,
    /// Tyrant's iterator.
    pub(crate) walk: Walk,
    /// How many records of a command on many were done before the engine had to wait.
    pub(crate) records_done: u32,
    /// How many of them counted.
    pub(crate) records_found: u32,
    /// One of them could not be done.
    pub(crate) records_failed: bool,
    /// Their part of the answer.
    pub(crate) parked: Vec<u8>,
    /// The client of HTTP was told to send the body.
    pub(crate) continued: bool,
    /// Keys that had to be decoded.
    pub(crate) key: Vec<u8>,
}

/// What a command has at hand.
pub(crate) struct Run<'r, E> {
    pub(crate) engine: &'r E,
    pub(crate) now_s: u32,
    pub(crate) out: &'r mut Vec<u8>,
    pub(crate) limits: &'r Limits,
    pub(crate) access: &'r Access,
    pub(crate) counts: &'r mut Counts,
    pub(crate) shared: &'r mut Shared,
    /// The ticket that was called; for the first operation.
    pub(crate) resumed: Option<Ticket>,
    /// The number that the next operation is to give its item.
    pub(crate) number: Option<u64>,
    /// What must be durable before the output may go.
    pub(crate) commit: Commit,
}

impl<E: Engine> Run<'_, E> {
    /// Does an operation; `answer` appends to the output.
    pub(crate) fn apply(
        &mut self,
        key: &[u8],
        op: Op<'_>,
        mut answer: impl FnMut(&mut Vec<u8>, &mut Counts, Answer<'_>),
    ) -> Result<(), Stop> {
        let request = Request {
            key,
            op,
            now_s: self.now_s,
            resumed: self.resumed.take(),
            number: self.number.take(),
        };
        let (out, counts) = (&mut *self.out, &mut *self.counts);
        match self
            .engine
            .apply(request, &mut |given| answer(out, counts, given))
        {
            Done::Ready(commit) => {
                self.commit = self.commit.max(commit);
                Ok(())
            }
            Done::Pending(ticket) => Err(Stop::Wait(0, ticket)),
        }
    }

    /// Appends bytes to the output.
    pub(crate) fn say(&mut self, text: &[u8]) {
        self.out.extend_from_slice(text);
    }

    /// Whether no further command is to be taken before the output was sent.
    pub(crate) fn is_full(&self) -> bool {
        self.out.len() >= self.limits.output_bytes
    }

    /// Everything written before `at_s` goes.
    ///
    /// # Errors
    /// As the engine has them.
    pub(crate) fn flush(&mut self, at_s: u32) -> Result<(), &'static str> {
        self.counts.cmd_flush += 1;
        let commit = self.engine.flush(at_s, self.now_s)?;
        self.commit = self.commit.max(commit);
        Ok(())
    }
}
