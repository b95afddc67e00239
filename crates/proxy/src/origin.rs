//! One exchange with an origin, in the language of its pool: a request out, its response in.
//!
//! HTTP/1.1, FastCGI, SCGI and uwsgi differ in how a request is written, in what a response's head
//! looks like and in how its body ends; everything else is here once.

mod application;
mod records;

use std::ops::Range;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use forebay_http::ResponseHead;
use forebay_http::fields::{FieldId, Fields, each_member};
use forebay_http::framing::{self, BodyLength};
use forebay_stats::Counter;
use forebay_stream::Stream;
use forebay_upstream::{Connection, FirstAnswer};

use crate::buffer::Buffer;
use crate::cgi;
use crate::failure::{Failure, OriginFailure};
use crate::fetch::Fetch;
use crate::forward::{self, BodyFraming};
use crate::message::{Incoming, Outgoing, Piece};
use crate::origin::records::Records;
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
    speech: Speech,
    /// The connection is new, and holds a process of the application or waits for one.
    first: Option<FirstAnswer>,
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

/// What the response is written in.
#[derive(Debug)]
enum Speech {
    /// HTTP/1.1
    Http,
    /// SCGI and uwsgi: a head of CGI, and a body that ends with the connection.
    Plain,
    /// FastCGI
    Records(Records),
}

impl Origin {
    /// Stages the request of a fetch for this connection, in the language of its pool.
    pub(crate) fn begin(fetch: &Fetch<'_>, connection: Connection) -> Result<Box<Self>, Failure> {
        let Fetch {
            worker, changes, ..
        } = *fetch;
        let pool = &fetch.pool.settings;
        let keep = pool.idle_connections > 0;
        let form = cgi::form(pool.protocol, keep);
        let mut head = worker.take_scratch();
        let host = forward::host(fetch.request, &connection);
        match (form, fetch.cgi) {
            (Some(form), Some(asked)) => cgi::write_request(fetch, host, asked, form, &mut head)?,
            _ => forward::write_head(
                fetch.request,
                host,
                changes,
                fetch.snapshot,
                fetch.peer,
                &mut head,
            ),
        }
        let mut origin = Self::new(worker, connection, head);
        match form {
            None => origin
                .output
                .frame(changes.body == Some(BodyFraming::Chunked)),
            Some(form) => origin.speak(form, pool, changes.body.is_some()),
        }
        Ok(origin)
    }

    /// Stages `request` (a head, with or without the start of its body) for this connection.
    fn new(worker: &Rc<Worker>, connection: Connection, request: Vec<u8>) -> Box<Self> {
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
            speech: Speech::Http,
            first: None,
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

    /// The connection, for the figures of its server.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The server's address, for the log.
    pub(crate) fn label(&self) -> &std::sync::Arc<str> {
        self.connection.server().label()
    }

    /// Bytes of the request's body that are written at once.
    pub(crate) fn most_at_once(&self) -> usize {
        self.output.most_at_once()
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
                let (taken, is_complete) = self.parse_head(snapshot)?;
                self.input.consume(taken);
                if is_complete {
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

    /// Looks for a head in what was read. Returns the bytes to consume, and whether it is there.
    fn parse_head(&mut self, snapshot: &Snapshot) -> Result<(usize, bool), OriginFailure> {
        let (input, limits) = (self.input.filled(), &snapshot.response_limits);
        let parsed = match &mut self.speech {
            Speech::Http => self.head.parse(input, limits)?,
            Speech::Plain => forebay_cgi::head::parse(&mut self.head, input, limits)?,
            Speech::Records(records) => {
                let server = self.connection.server().label();
                return records
                    .head(&mut self.head, input, limits, server)
                    .inspect_err(|_| self.broken = true);
            }
        };
        Ok((parsed.unwrap_or(0), parsed.is_some()))
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
        if self.received == 0
            && let Some(first) = self.first.take()
        {
            first.came(self.worker.now_ms());
        }
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
        if !matches!(self.speech, Speech::Http) {
            return self.begin_cgi_body(is_head);
        }
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
        match &self.speech {
            Speech::Records(records) => records.is_complete(),
            _ => self.incoming.is_complete(),
        }
    }

    /// The whole body, when it was read together with the head.
    pub(crate) fn body_at_hand(&self) -> Option<&[u8]> {
        if let Speech::Records(records) = &self.speech {
            return records.body_at_hand(self.input.filled());
        }
        let left = self.incoming.known_left()?;
        self.input.filled().get(..usize::try_from(left).ok()?)
    }

    /// Takes what [`Origin::body_at_hand`] returned.
    pub(crate) fn take_body_at_hand(&mut self) {
        if let Speech::Records(records) = &mut self.speech {
            return records.take_body_at_hand(&mut self.input);
        }
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
            let next = match &mut self.speech {
                Speech::Records(records) => {
                    let server = self.connection.server().label();
                    records.body(&mut self.input, server)
                }
                _ => self
                    .incoming
                    .next(self.input.filled())
                    .map_err(OriginFailure::from),
            };
            match next.inspect_err(|_| self.broken = true)? {
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

    /// How long may pass between two reads of the body.
    pub(crate) fn body_timeout(&self, snapshot: &Snapshot) -> std::time::Duration {
        let own = self.connection.pool().settings.response_body_timeout;
        own.unwrap_or(snapshot.settings.timeouts.response_body)
    }

    /// Waits for the next bytes of the body for as long as the settings allow.
    pub(crate) async fn next_body(
        &mut self,
        timer: &Timer,
        snapshot: &Snapshot,
    ) -> Result<Option<Range<usize>>, OriginFailure> {
        let limit = self.body_timeout(snapshot);
        let read = timer
            .within(limit, std::future::poll_fn(|cx| self.poll_body(cx)))
            .await;
        read.unwrap_or(Err(OriginFailure::TimedOut))
    }

    /// Ends the exchange: the connection is kept if it can carry another.
    pub(crate) fn release(mut self: Box<Self>, snapshot: &Snapshot, now_ms: u64) {
        if self.wants_end() {
            return self.await_end(snapshot);
        }
        let reusable = self.keep_alive
            && !self.broken
            && self.request_sent
            && self.is_complete()
            && self.input.is_empty()
            && !self.is_wanted_by_others(now_ms);
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
        if reusable {
            let timeouts = &snapshot.settings.timeouts;
            worker.idle.keep(connection, timeouts, patience_ms, now_ms);
        }
    }

    /// Takes the connection out of HTTP, with what was read of it already.
    pub(crate) fn tunnel(&mut self) -> (&mut Stream, &mut Buffer) {
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
