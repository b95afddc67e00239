//! The client's side of an exchange, as the step machine sees it: it does not
//! know which protocol brought the request.

use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::rc::Rc;
use std::task::{Context, Poll};

use forebay_http::framing::BodyLength;
use forebay_rules::edits::HeadChanges;

use crate::failure::Failure;
use crate::timers::Timer;

/// How the end of a response's body is going to be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// A response that has no body and says so by its status.
    None,
    /// So many bytes.
    Length(u64),
    /// Until it ends.
    Stream,
}

/// A request's body in, a response out.
///
/// Sending calls may be repeated until they are ready, with the same
/// arguments; a call that is given up ends the exchange.
pub(crate) trait Client {
    /// The deadline of this exchange's waits.
    fn timer(&self) -> &Timer;

    /// Whether the client may be sent interim responses and chunks.
    fn is_http10(&self) -> bool;

    /// Whether nobody is there to take what is sent.
    fn wants_nothing(&self) -> bool {
        false
    }

    /// Our own address that the client reached, as text, where it has one.
    fn local_address(&self) -> Option<Rc<str>> {
        None
    }

    /// How the request's body is framed.
    fn body_length(&self) -> BodyLength;

    /// Whether some of the request's body has not been read.
    fn has_more_body(&self) -> bool;

    /// The next bytes of the request's body, or `None` at its end.
    fn poll_body(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Range<usize>>, Failure>>;

    /// The bytes that [`Client::poll_body`] found.
    fn body_bytes(&self, range: Range<usize>) -> &[u8];

    /// Drops these bytes of the request's body.
    fn consume_body(&mut self, bytes: usize);

    /// The request's trailer lines, at the end of its body.
    fn body_trailers(&self) -> Option<&[u8]>;

    /// Stages an interim response: status line and field lines without the empty line.
    fn stage_interim(&mut self, head: &[u8]);

    /// Where status line and field lines of the final response are written.
    fn head(&mut self) -> &mut Vec<u8>;

    /// The head, ended, when the body is sent as it is and nothing is written yet. Whoever sends
    /// it otherwise empties it.
    fn unsent_head(&mut self) -> Option<&mut Vec<u8>> {
        None
    }

    /// Changes the head of the final response when it is ended, whoever writes it.
    fn change_head(&mut self, _changes: HeadChanges) {}

    /// Leaves `Surrogate-Control` out of the final response, whoever writes it.
    fn hide_surrogate_control(&mut self) {}

    /// Ends the head; the framing fields are added here. `has_body` is false for HEAD.
    fn end_head(&mut self, framing: Framing, has_body: bool);

    /// Writes what is staged and `data`, at most `MOST_SLICES` slices.
    fn poll_send(&mut self, cx: &mut Context<'_>, data: &[&[u8]]) -> Poll<Result<(), Failure>>;

    /// Writes what is staged, then up to `bytes` bytes of a file from `at` on, without a copy
    /// through this program; ready with how many these were, 0 at the file's end.
    fn poll_send_file(
        &mut self,
        _cx: &mut Context<'_>,
        _file: BorrowedFd<'_>,
        _at: u64,
        _bytes: usize,
    ) -> Poll<Result<usize, Failure>> {
        Poll::Ready(Err(Failure::ClientGone))
    }

    /// Ends the body and writes what is still staged.
    fn poll_end(
        &mut self,
        cx: &mut Context<'_>,
        trailers: Option<&[u8]>,
    ) -> Poll<Result<(), Failure>>;

    /// Whether the client has broken its connection off; wakes the task when that may have
    /// changed. One that has only ended its own direction still wants its answer.
    fn poll_gone(&mut self, cx: &mut Context<'_>) -> bool;

    /// No other request is answered on this connection after this one.
    fn close_after(&mut self);

    /// The response cannot be completed: the client must not take it for whole.
    fn break_off(&mut self);

    /// Bytes written so far, for the log and to tell a slow client from a stuck one.
    fn written(&self) -> u64;
}
