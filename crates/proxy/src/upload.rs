//! The request's body on its way from client to origin, at the pace of both.

use std::ops::Range;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use crate::client::Client;
use crate::failure::{Failure, Refused};
use crate::origin::Origin;
use crate::spool::Spool;

/// Where the body stands.
#[derive(Debug)]
pub(crate) struct Upload {
    state: State,
    /// Bytes taken from the client.
    pub(crate) taken: u64,
    trailers: Option<Box<[u8]>>,
    stored: Option<Box<Stored>>,
}

/// A body that is here already.
#[derive(Debug)]
struct Stored {
    spool: Rc<Spool>,
    /// Bytes of it that were written.
    at: u64,
    /// Room for those that are read from disk.
    piece: Vec<u8>,
}

/// What cannot be read back was kept for nothing.
const LOST: Refused = Refused::new(500, "the request's body cannot be read again");

#[derive(Debug, PartialEq, Eq)]
enum State {
    /// The client waits for a word before it sends.
    Held,
    Reading,
    /// What is stored of it is being written.
    Replaying,
    /// These bytes of the client's buffer are being written, some at a time.
    Writing(Range<usize>),
    Ending,
    Done,
    /// The origin takes no more of it; its answer may still come.
    Refused,
}

impl Upload {
    /// A body that flows at once, or is `held` until [`Upload::let_go`].
    pub(crate) fn new(held: bool) -> Self {
        let state = if held { State::Held } else { State::Reading };
        Self {
            state,
            taken: 0,
            trailers: None,
            stored: None,
        }
    }

    /// A body that was taken from the client before.
    pub(crate) fn stored(spool: &Rc<Spool>) -> Self {
        let stored = Stored {
            spool: Rc::clone(spool),
            at: 0,
            piece: Vec::new(),
        };
        Self {
            state: State::Replaying,
            stored: Some(Box::new(stored)),
            ..Self::empty()
        }
    }

    /// No body: only what is staged is to be written.
    pub(crate) fn empty() -> Self {
        Self {
            state: State::Ending,
            taken: 0,
            trailers: None,
            stored: None,
        }
    }

    pub(crate) fn is_held(&self) -> bool {
        self.state == State::Held
    }

    pub(crate) fn let_go(&mut self) {
        if self.is_held() {
            self.state = State::Reading;
        }
    }

    /// Whether nothing is left to be done for it.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, State::Done | State::Refused)
    }

    /// Whether it went out whole.
    pub(crate) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Whether it is the client that is waited for.
    pub(crate) fn waits_for_client(&self) -> bool {
        self.state == State::Reading
    }

    /// Bytes of the body that went on, for who asks whether anything does.
    pub(crate) fn progress(&self) -> u64 {
        self.taken + self.stored.as_ref().map_or(0, |stored| stored.at)
    }

    /// Moves the body on. Only the client's failures are errors: an origin that
    /// takes no more has perhaps answered already.
    pub(crate) fn poll(
        &mut self,
        client: &mut impl Client,
        origin: &mut Origin,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Failure>> {
        loop {
            match &self.state {
                State::Done | State::Refused => return Poll::Ready(Ok(())),
                State::Held => {
                    // The head goes out without waiting.
                    if ready!(origin.poll_send(cx, &[])).is_err() {
                        self.state = State::Refused;
                        continue;
                    }
                    return Poll::Pending;
                }
                State::Reading => match client.poll_body(cx) {
                    Poll::Ready(piece) => self.take(piece?, client),
                    Poll::Pending => {
                        // The head does not wait for the body's first byte.
                        if ready!(origin.poll_send(cx, &[])).is_ok() {
                            return Poll::Pending;
                        }
                        self.state = State::Refused;
                    }
                },
                State::Writing(range) => {
                    let piece_end = range
                        .end
                        .min(range.start.saturating_add(origin.most_at_once()));
                    let piece = client.body_bytes(range.start..piece_end);
                    let sent = ready!(origin.poll_send(cx, &[piece]));
                    if sent.is_ok() && piece_end < range.end {
                        self.state = State::Writing(piece_end..range.end);
                        continue;
                    }
                    client.consume_body(range.end);
                    self.state = if sent.is_ok() {
                        State::Reading
                    } else {
                        State::Refused
                    };
                }
                State::Replaying => self.state = ready!(self.poll_replay(origin, cx))?,
                State::Ending => {
                    let sent = ready!(origin.poll_end(cx, self.trailers.as_deref()));
                    self.state = if sent.is_ok() {
                        State::Done
                    } else {
                        State::Refused
                    };
                }
            }
        }
    }

    /// Writes some of what is stored; returns the state after it.
    fn poll_replay(
        &mut self,
        origin: &mut Origin,
        cx: &mut Context<'_>,
    ) -> Poll<Result<State, Failure>> {
        let Some(Stored { spool, at, piece }) = self.stored.as_deref_mut() else {
            return Poll::Ready(Ok(State::Ending));
        };
        let bytes = spool.read(*at, piece).map_err(|_| LOST)?;
        let part = &bytes[..bytes.len().min(origin.most_at_once())];
        if part.is_empty() {
            return Poll::Ready(Ok(State::Ending));
        }
        let sent = ready!(origin.poll_send(cx, &[part]));
        *at += part.len() as u64;
        Poll::Ready(Ok(match sent {
            Ok(()) => State::Replaying,
            Err(_) => State::Refused,
        }))
    }

    fn take(&mut self, piece: Option<Range<usize>>, client: &impl Client) {
        self.state = match piece {
            Some(range) => {
                self.taken += range.len() as u64;
                State::Writing(range)
            }
            None => {
                self.trailers = client.body_trailers().map(Into::into);
                State::Ending
            }
        };
    }
}
