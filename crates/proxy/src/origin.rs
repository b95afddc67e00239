//! HTTP/1.1 with an origin: one request out, its response in.

use std::ops::Range;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use forebay_http::ResponseHead;
use forebay_http::fields::{FieldId, Fields, each_member};
use forebay_http::framing::{self, BodyLength};
use forebay_stats::Counter;
use forebay_upstream::{Connection, Pool};

use crate::buffer::Buffer;
use crate::failure::OriginFailure;
use crate::message::{Incoming, Outgoing, Piece};
use crate::snapshot::Snapshot;
use crate::timers::Timer;
use crate::worker::Worker;

/// Bytes kept free before a response: with those of its own head there is room for the head that
/// the client gets, which then need not be sent apart from the body nor the body be copied.
const HEAD_ROOM: usize = 512;

/// A connection that carries one exchange with an origin.
pub(crate) struct Origin {
    worker: Rc<Worker>,
    connection: Connection,
    input: Buffer,
    output: Outgoing,
    incoming: Incoming,
    /// The response's head, once it is read.
    pub(crate) head: ResponseHead,
    /// Bytes of the response read so far.
    pub(crate) received: u64,
    keep_alive: bool,
    /// How long the origin says that it keeps an idle connection.
    patience_ms: u64,
    broken: bool,
    /// The request went out whole.
    pub(crate) request_sent: bool,
}

impl Origin {
    /// Stages `request` (a head, with or without the start of its body) for this connection.
    pub(crate) fn new(worker: &Rc<Worker>, connection: Connection, request: Vec<u8>) -> Box<Self> {
        worker.stats.increment(Counter::OriginRequests);
        worker.stats.increment(if connection.reused {
            Counter::OriginReuses
        } else {
            Counter::OriginConnects
        });
        Box::new(Self {
            worker: Rc::clone(worker),
            connection,
            input: Buffer::new(&worker.buffers),
            output: Outgoing::new(request),
            incoming: Incoming::none(),
            head: worker.take_head(),
            received: 0,
            keep_alive: true,
            patience_ms: u64::MAX,
            broken: false,
            request_sent: false,
        })
    }

    pub(crate) fn is_reused(&self) -> bool {
        self.connection.reused
    }

    /// The server's own figures.
    pub(crate) fn server_stats(&self) -> &forebay_stats::OriginStats {
        self.connection.server().stats()
    }

    /// The server's address, for the log.
    pub(crate) fn label(&self) -> &std::sync::Arc<str> {
        self.connection.server().label()
    }

    /// Frames what is sent after the head.
    pub(crate) fn frame_request(&mut self, chunked: bool) {
        self.output.frame(chunked);
    }

    /// Writes what is staged and `data`.
    pub(crate) fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        data: &[&[u8]],
    ) -> Poll<std::io::Result<()>> {
        self.output.poll_send(&mut self.connection.stream, cx, data)
    }

    /// Ends the request's body.
    pub(crate) fn poll_end(
        &mut self,
        cx: &mut Context<'_>,
        trailers: Option<&[u8]>,
    ) -> Poll<std::io::Result<()>> {
        ready!(
            self.output
                .poll_end(&mut self.connection.stream, cx, trailers)
        )?;
        self.request_sent = true;
        Poll::Ready(Ok(()))
    }

    /// Reads the next head, interim or final, into `self.head`.
    pub(crate) fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        snapshot: &Snapshot,
    ) -> Poll<Result<(), OriginFailure>> {
        loop {
            if !self.input.is_empty() {
                let parsed = self
                    .head
                    .parse(self.input.filled(), &snapshot.response_limits)?;
                if let Some(taken) = parsed {
                    self.input.consume(taken);
                    return Poll::Ready(Ok(()));
                }
            }
            match ready!(self.poll_fill(cx)) {
                Ok(read) if read > 0 => {}
                _ if self.received == 0 => return Poll::Ready(Err(OriginFailure::ClosedEarly)),
                _ => return Poll::Ready(Err(OriginFailure::Broken)),
            }
        }
    }

    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<std::io::Result<usize>> {
        if self.input.is_empty() {
            // No buffer is held while there is nothing to read.
            self.input.release_if_empty();
            ready!(self.connection.stream.poll_readable(cx))?;
        }
        let room = if self.received == 0 { HEAD_ROOM } else { 0 };
        let space = self.input.space_behind(room);
        let read = ready!(self.connection.stream.poll_read(cx, space));
        let read = read.inspect_err(|_| self.broken = true)?;
        self.input.added(read);
        self.received += read as u64;
        self.broken |= read == 0;
        self.worker.stats.add(Counter::BytesFromOrigin, read as u64);
        Poll::Ready(Ok(read))
    }

    /// Prepares for the body of the final response in `self.head`, and removes
    /// from it what ends with this hop.
    pub(crate) fn begin_body(
        &mut self,
        is_head: bool,
        snapshot: &Snapshot,
    ) -> Result<BodyLength, OriginFailure> {
        let head = &mut self.head;
        let length = framing::response_body(&head.fields, head.http10, head.status, is_head)?;
        self.keep_alive = framing::keeps_alive(&head.fields, head.http10);
        self.patience_ms = stated_patience_ms(&head.fields);
        framing::remove_hop_by_hop(&mut head.fields);
        let limits = &snapshot.settings.limits;
        self.incoming = Incoming::new(length, limits.chunk_extension_bytes, limits.trailer_bytes);
        Ok(length)
    }

    /// Whether the body has been read to its end.
    pub(crate) fn is_complete(&self) -> bool {
        self.incoming.is_complete()
    }

    /// The whole body, when it was read together with the head.
    pub(crate) fn body_at_hand(&self) -> Option<&[u8]> {
        let left = self.incoming.known_left()?;
        self.input.filled().get(..usize::try_from(left).ok()?)
    }

    /// Takes what [`Origin::body_at_hand`] returned.
    pub(crate) fn take_body_at_hand(&mut self) {
        if let Some(left) = self.incoming.known_left() {
            self.input.consume(left as usize);
            self.incoming = Incoming::none();
        }
    }

    /// The next bytes of the body, or `None` at its end.
    pub(crate) fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Range<usize>>, OriginFailure>> {
        loop {
            match self
                .incoming
                .next(self.input.filled())
                .inspect_err(|_| self.broken = true)?
            {
                Piece::Data(range) => return Poll::Ready(Ok(Some(range))),
                Piece::End(consumed) => {
                    self.input.consume(consumed);
                    return Poll::Ready(Ok(None));
                }
                Piece::Starved(consumed) => self.input.consume(consumed),
            }
            match ready!(self.poll_fill(cx)) {
                Ok(0) if self.incoming.ends_with_connection() => {
                    self.incoming = Incoming::none();
                    return Poll::Ready(Ok(None));
                }
                Ok(read) if read > 0 => {}
                _ => return Poll::Ready(Err(OriginFailure::Broken)),
            }
        }
    }

    /// The bytes that [`Origin::poll_body`] found.
    pub(crate) fn body_bytes(&self, range: Range<usize>) -> &[u8] {
        &self.input.filled()[range]
    }

    /// They and a client's head before them, if there is room for it.
    pub(crate) fn body_behind(&mut self, range: Range<usize>, head: &[u8]) -> Option<&[u8]> {
        self.input.put_before(range, head)
    }

    /// Drops these bytes of the body.
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.input.consume(bytes);
    }

    /// Trailer lines, at the end of the body.
    pub(crate) fn trailers(&self) -> Option<&[u8]> {
        self.incoming.trailers()
    }

    /// Waits for the next bytes of the body for as long as the settings allow.
    pub(crate) async fn next_body(
        &mut self,
        timer: &Timer,
        snapshot: &Snapshot,
    ) -> Result<Option<Range<usize>>, OriginFailure> {
        let limit = snapshot.settings.timeouts.response_body;
        let read = timer
            .within(limit, std::future::poll_fn(|cx| self.poll_body(cx)))
            .await;
        read.unwrap_or(Err(OriginFailure::TimedOut))
    }

    /// Ends the exchange: the connection is kept if it can carry another.
    pub(crate) fn release(self: Box<Self>, pool: &Pool, snapshot: &Snapshot, now_ms: u64) {
        let reusable = self.keep_alive
            && !self.broken
            && self.request_sent
            && self.incoming.is_complete()
            && self.input.is_empty();
        let Self {
            worker,
            connection,
            output,
            head,
            patience_ms,
            ..
        } = *self;
        worker.put_scratch(output.into_buffer());
        worker.put_head(head);
        // An idle connection of one worker is of no use to another that waits for a slot.
        let limited = pool.settings.max_connections.is_some();
        if reusable && !(limited && snapshot.settings.server.workers > 1) {
            let own_ms = snapshot.settings.timeouts.upstream_keep_alive.as_millis() as u64;
            let until = now_ms + own_ms.min(patience_ms);
            worker
                .idle
                .put(connection, pool.settings.idle_connections, until);
        }
    }

    /// Takes the connection out of HTTP, with what was read of it already.
    pub(crate) fn tunnel(&mut self) -> (&mut forebay_upstream::Stream, &mut Buffer) {
        (&mut self.connection.stream, &mut self.input)
    }
}

/// `Keep-Alive: timeout=5`, less half a second: a request sent at the last moment meets a closed
/// connection.
fn stated_patience_ms(fields: &Fields) -> u64 {
    let mut patience = u64::MAX;
    for value in fields.all(FieldId::KeepAlive) {
        each_member(value, |member| {
            if let Some(seconds) = member.strip_prefix(b"timeout=").and_then(framing::number) {
                patience = seconds.saturating_mul(1000).saturating_sub(500);
            }
        });
    }
    patience
}
