//! The request's body on its way from client to origin, at the pace of both.

use std::ops::Range;
use std::task::{Context, Poll, ready};

use crate::client::Client;
use crate::failure::Failure;
use crate::origin::Origin;

/// Where the body stands.
#[derive(Debug)]
pub(crate) struct Upload {
    state: State,
    /// Bytes taken from the client.
    pub(crate) taken: u64,
    trailers: Option<Box<[u8]>>,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    /// The client waits for a word before it sends.
    Held,
    Reading,
    /// These bytes of the client's buffer are being written.
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
        }
    }

    /// No body: only what is staged is to be written.
    pub(crate) fn empty() -> Self {
        Self {
            state: State::Ending,
            taken: 0,
            trailers: None,
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
                    let sent = ready!(origin.poll_send(cx, &[client.body_bytes(range.clone())]));
                    client.consume_body(range.end);
                    self.state = if sent.is_ok() {
                        State::Reading
                    } else {
                        State::Refused
                    };
                }
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
