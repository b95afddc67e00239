//! HTTP/1.x with a client: requests in, responses out, one after the other.
//!
//! ```text
//!  receive ─▶ exchange ─▶ rest ─▶ receive …      kept alive
//!     │                    └────▶ linger ─▶ end   to be closed
//!     └─ idle too long, closed, draining ─▶ end
//! ```
//!
//! A connection between requests holds its socket, a timer and nothing else.

use std::cell::{Cell, OnceCell};
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use forebay_http::RequestHead;
use forebay_http::fields::FieldId;
use forebay_http::framing::{self, BodyLength};
use forebay_http::head::find_end;
use forebay_rules::edits::HeadChanges;
use forebay_stats::Counter;
use forebay_stream::Stream;
use forebay_upstream::Ends;

use crate::buffer::Buffer;
use crate::client::{Client, Framing};
use crate::deliver::find_line;
use crate::failure::{Failure, Refused};
use crate::forward::Peer;
use crate::join_step::{self, Joining};
use crate::message::{Incoming, Outgoing, Piece};
use crate::snapshot::Snapshot;
use crate::timers::Timer;
use crate::worker::{Worker, reset_on_close};

/// One client connection.
pub(crate) struct H1 {
    worker: Rc<Worker>,
    stream: Stream,
    peer: Rc<Peer>,
    number: u64,
    timer: Timer,
    input: Buffer,
    output: Outgoing,
    incoming: Incoming,
    body_length: BodyLength,
    /// The client waits for 100 before it sends its body, or for a final answer not to send it.
    expecting: bool,
    body_read: u64,
    /// Bytes of the body that were found in the input and not yet consumed.
    lent: usize,
    body_limit: u64,
    requests: u64,
    http10: bool,
    /// The client said that no request follows the one under way.
    is_last: bool,
    keep_alive: Cell<bool>,
    /// The address that the client reached as text, once somebody has asked for it.
    local: OnceCell<Option<Rc<str>>>,
    /// The peer has ended its direction.
    input_ended: bool,
    /// Something was seen to follow the request: there is nothing more to watch for.
    watched: bool,
    broken: bool,
    /// The client is a back end that was admitted: the connection is not HTTP any more.
    joining: Option<Box<Joining>>,
    /// What is changed in the head of the answer.
    changes: Option<Box<HeadChanges>>,
    /// `Surrogate-Control` is left out of the answer.
    hides_surrogate_control: bool,
}

/// Who the client is; with both ends of its connection, where some origin is told of them.
fn introducible(worker: &Worker, stream: &Stream, mut peer: Peer) -> Peer {
    if worker.snapshot().introduces {
        let local = stream.tcp().and_then(|stream| stream.local_addr().ok());
        let ends = peer.address.zip(local);
        peer.ends = ends.map(|(source, destination)| Ends {
            source,
            destination,
        });
    }
    peer
}

/// What came instead of, or as, a request.
#[derive(Debug)]
pub(crate) enum Received {
    /// A request's head.
    Request,
    /// A request that must be refused.
    Refused(Refused),
    /// Nothing more: closed, idle for too long, or draining.
    Nothing,
}

impl H1 {
    pub(crate) fn new(worker: &Rc<Worker>, stream: Stream, peer: Peer, number: u64) -> Self {
        Self {
            peer: Rc::new(introducible(worker, &stream, peer)),
            worker: Rc::clone(worker),
            stream,
            number,
            timer: worker.timers.timer(),
            input: Buffer::new(&worker.buffers),
            output: Outgoing::default(),
            incoming: Incoming::none(),
            body_length: BodyLength::None,
            expecting: false,
            body_read: 0,
            lent: 0,
            body_limit: u64::MAX,
            requests: 0,
            http10: false,
            is_last: false,
            keep_alive: Cell::new(true),
            local: OnceCell::new(),
            input_ended: false,
            watched: false,
            broken: false,
            joining: None,
            changes: None,
            hides_surrogate_control: false,
        }
    }

    /// Who the client is.
    pub(crate) fn peer(&self) -> Rc<Peer> {
        Rc::clone(&self.peer)
    }

    /// This connection's number in the process.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Waits for the first byte of a request, holding nothing. False when none comes.
    pub(crate) async fn wait(&mut self, snapshot: &Snapshot) -> bool {
        if !self.input.is_empty() {
            return true;
        }
        self.input.release_if_empty();
        if self.worker.is_draining() && self.requests > 0 {
            self.stream.say_end();
            return false;
        }
        let timeouts = &snapshot.settings.timeouts;
        let patience = if self.requests == 0 {
            timeouts.request_head
        } else {
            timeouts.keep_alive
        };
        let mut armed = false;
        let is_readable = std::future::poll_fn(|cx| {
            if let Poll::Ready(ready) = self.poll_first(cx) {
                return Poll::Ready(ready);
            }
            if self.timer.poll_elapsed(cx, &mut armed, patience, true) {
                return Poll::Ready(false);
            }
            Poll::Pending
        })
        .await;
        self.timer.disarm();
        if !is_readable {
            self.stream.say_end();
        }
        is_readable
    }

    /// Ready when there is something to read; with false when nothing will come.
    fn poll_first(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        let ready = ready!(self.stream.poll_readable(cx));
        if self.requests > 0 {
            return Poll::Ready(ready.is_ok());
        }
        // A socket that was just accepted is taken for readable before anything is known of it.
        let read = self.poll_fill(cx);
        if read.is_pending() {
            self.input.release_if_empty();
        }
        read.map(|read| read.is_ok_and(|bytes| bytes > 0))
    }

    /// Reads the header of the PROXY protocol, which stands before the first request of a
    /// connection from a proxy. False: there is none, and the connection is of no use.
    pub(crate) async fn receive_preface(&mut self, snapshot: &Snapshot) -> bool {
        let limit = snapshot.settings.timeouts.request_head;
        let mut armed = false;
        let header = std::future::poll_fn(|cx| {
            loop {
                match forebay_preface::read(self.input.filled()) {
                    Ok(Some(header)) => return Poll::Ready(Some(header)),
                    Ok(None) => {}
                    Err(error) => {
                        tracing::warn!(client = ?self.peer.address, "connection closed: {error}");
                        return Poll::Ready(None);
                    }
                }
                match self.poll_fill(cx) {
                    Poll::Ready(Ok(0)) | Poll::Ready(Err(_)) => return Poll::Ready(None),
                    Poll::Ready(Ok(_)) => {}
                    Poll::Pending => break,
                }
            }
            match self.timer.poll_elapsed(cx, &mut armed, limit, false) {
                true => Poll::Ready(None),
                false => Poll::Pending,
            }
        })
        .await;
        self.timer.disarm();
        let Some(header) = header else { return false };
        self.input.consume(header.bytes);
        if let Some(ends) = header.ends {
            self.peer = Rc::new(Peer::introduced(ends));
        }
        true
    }

    /// Reads the head of a request.
    pub(crate) async fn receive(
        &mut self,
        head: &mut RequestHead,
        snapshot: &Snapshot,
    ) -> Received {
        let limit = snapshot.settings.timeouts.request_head;
        let mut armed = false;
        let mut scanned = 0;
        let received = std::future::poll_fn(|cx| {
            loop {
                let filled = self.input.filled();
                // A head in many pieces is looked at again only where it grew.
                let limits = &snapshot.request_limits;
                let look = scanned == 0
                    || (scanned <= limits.line_bytes && filled.len() > limits.line_bytes)
                    || (scanned < limits.head_bytes && filled.len() >= limits.head_bytes)
                    || find_end(filled, scanned);
                if look && !filled.is_empty() {
                    match head.parse(filled, &snapshot.request_limits) {
                        Ok(Some(taken)) => {
                            self.input.consume(taken);
                            return Poll::Ready(Received::Request);
                        }
                        Ok(None) => {}
                        Err(error) => return Poll::Ready(Received::Refused(error.into())),
                    }
                }
                scanned = self.input.filled().len();
                match self.poll_fill(cx) {
                    Poll::Ready(Ok(0)) | Poll::Ready(Err(_)) => {
                        return Poll::Ready(Received::Nothing);
                    }
                    Poll::Ready(Ok(_)) => {}
                    Poll::Pending => break,
                }
            }
            if self.timer.poll_elapsed(cx, &mut armed, limit, false) {
                // An empty line behind the request before is not a request.
                return Poll::Ready(if self.input.filled().iter().all(u8::is_ascii_whitespace) {
                    Received::Nothing
                } else {
                    Received::Refused(Refused::new(408, "the request did not come in time"))
                });
            }
            Poll::Pending
        })
        .await;
        if armed {
            self.timer.disarm();
        }
        received
    }

    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<std::io::Result<usize>> {
        let read = ready!(self.stream.poll_read(cx, self.input.space()))?;
        self.input.added(read);
        self.input_ended |= read == 0;
        self.worker.stats.add(Counter::BytesIn, read as u64);
        Poll::Ready(Ok(read))
    }

    /// Prepares for the exchange of a request that was received.
    pub(crate) fn begin(&mut self, head: &RequestHead, snapshot: &Snapshot) -> Result<(), Refused> {
        self.requests += 1;
        self.http10 = head.http10;
        let limits = &snapshot.settings.limits;
        let is_wanted = framing::keeps_alive(&head.fields, head.http10);
        self.is_last = !is_wanted;
        let keep = is_wanted
            && self.requests < limits.requests_per_connection
            && !self.worker.is_draining();
        self.keep_alive.set(keep);
        self.output = Outgoing::new(self.worker.take_scratch());
        self.watched = false;
        self.lent = 0;
        self.body_read = 0;
        self.body_limit = limits.request_body_bytes;
        self.changes = None;
        self.hides_surrogate_control = false;
        self.incoming = Incoming::none();
        let length = framing::request_body(&head.fields, head.http10).inspect_err(|_| {
            self.keep_alive.set(false);
        })?;
        self.body_length = length;
        self.expecting = length != BodyLength::None && head.fields.has(FieldId::Expect);
        if length == BodyLength::None {
            return Ok(());
        }
        self.incoming = Incoming::new(length, limits.chunk_extension_bytes, limits.trailer_bytes);
        Ok(())
    }

    /// Sets how many bytes the request's body may have.
    pub(crate) fn limit_body(&mut self, bytes: u64) -> Result<(), Refused> {
        self.body_limit = bytes;
        match self.body_length {
            BodyLength::Length(length) if length > bytes => {
                Err(Refused::new(413, "the request's body is too large"))
            }
            _ => Ok(()),
        }
    }

    /// Prepares for the answer to what is not a request; the connection ends after it.
    pub(crate) fn begin_refusal(&mut self) {
        self.changes = None;
        self.hides_surrogate_control = false;
        self.http10 = false;
        self.is_last = false;
        self.keep_alive.set(false);
        self.incoming = Incoming::none();
        self.output = Outgoing::new(self.worker.take_scratch());
    }

    /// Ends the exchange. Returns whether another may follow.
    pub(crate) async fn rest(&mut self) -> bool {
        let output = std::mem::take(&mut self.output);
        let flushed = output.is_flushed();
        self.worker.put_scratch(output.into_buffer());
        if self.broken || !flushed {
            // Where only the end of the connection would end the body, a plain close would look complete.
            reset_on_close(&self.stream);
            return false;
        }
        if self.lent > 0 {
            // Given to a request that ended early: what they are is known, what follows is not.
            self.keep_alive.set(false);
        }
        if self.keep_alive.get() && !self.incoming.is_complete() {
            // What is left of a small body is cheaper to read than a new connection.
            let small = self
                .incoming
                .known_left()
                .is_some_and(|left| left <= 64 << 10);
            let keep = small && self.discard_body().await;
            self.keep_alive.set(keep);
        }
        if self.keep_alive.get() && !(self.input_ended && self.input.is_empty()) {
            return true;
        }
        // A client that said itself that this is its last request, and sent nothing behind it, is not
        // waited for: four system calls and a wake-up of each short connection.
        let is_done = self.is_last && self.incoming.is_complete() && self.input.is_empty();
        if is_done && self.lent == 0 {
            self.stream.say_end();
        } else {
            self.linger().await;
        }
        false
    }

    async fn discard_body(&mut self) -> bool {
        let timer = self.timer.another();
        let reading = async {
            loop {
                match std::future::poll_fn(|cx| self.poll_body(cx)).await {
                    Ok(Some(range)) => self.consume_body(range.end),
                    Ok(None) => return true,
                    Err(_) => return false,
                }
            }
        };
        matches!(
            timer.within(Duration::from_secs(1), reading).await,
            Ok(true)
        )
    }

    /// Ends our direction and waits for the client's end, so that what it still
    /// sends does not reset the connection under our last answer (RFC 9112 section 9.6).
    async fn linger(&mut self) {
        let timer = self.timer.another();
        let mut left: usize = 1 << 20;
        let mut is_shut = false;
        let lingering = std::future::poll_fn(|cx| {
            if !is_shut && self.stream.poll_shutdown(cx).is_pending() {
                return Poll::Pending;
            }
            is_shut = true;
            while left > 0 && !self.input_ended {
                let unread = self.input.filled().len();
                self.input.consume(unread);
                match ready!(self.poll_fill(cx)) {
                    Ok(read) if read > 0 => left = left.saturating_sub(read),
                    _ => break,
                }
            }
            Poll::Ready(())
        });
        let _ = timer.within(Duration::from_secs(2), lingering).await;
    }

    /// Takes the connection out of HTTP, with what was read of it already.
    pub(crate) fn tunnel(&mut self) -> (&mut Stream, &mut Buffer) {
        self.keep_alive.set(false);
        (&mut self.stream, &mut self.input)
    }

    /// The client was admitted as a back end: the connection is to be handed over.
    pub(crate) fn leave_http(&mut self, joining: Joining) {
        self.joining = Some(Box::new(joining));
    }

    /// What it was admitted for, if it was.
    pub(crate) fn take_joining(&mut self) -> Option<Box<Joining>> {
        self.joining.take()
    }

    /// Gives the connection to the pool. Whoever has sent something before it was asked to does
    /// not know the protocol.
    pub(crate) fn hand_over(self, joining: Joining) {
        if self.input.is_empty() {
            join_step::take_over(&self.worker, self.stream, joining);
        }
    }

    /// Ends a head after which the connection is not HTTP any more: nothing is said of framing.
    pub(crate) fn end_upgrade_head(&mut self) {
        self.apply_changes();
        self.output.stage().extend_from_slice(b"\r\n");
    }

    /// Changes the head that is staged, as [`Client::change_head`] said.
    fn apply_changes(&mut self) {
        let changes = self.changes.take();
        if changes.is_none() && !self.hides_surrogate_control {
            return;
        }
        let out = self.output.stage();
        // What comes before are interim responses, which are whole.
        let ended = memchr::memmem::rfind(out, b"\r\n\r\n");
        let from = ended.map_or(0, |at| at + 4);
        if self.hides_surrogate_control {
            while let Some(line) = find_line(&out[from..], b"surrogate-control") {
                out.drain(from + line.start..from + line.end);
            }
        }
        if let Some(changes) = changes {
            changes.apply(out, from);
        }
    }

    /// The tunnel has ended: nothing follows. `is_whole`: by itself, and what the client has not
    /// taken yet is to reach it; else it must not look complete.
    pub(crate) fn end_tunnel(&mut self, is_whole: bool) {
        self.broken = !is_whole;
        self.input_ended |= is_whole;
    }

    fn failed<T>(&mut self, result: std::io::Result<T>) -> Result<T, Failure> {
        result.map_err(|_| {
            self.broken = true;
            Failure::ClientGone
        })
    }
}

impl Client for H1 {
    fn timer(&self) -> &Timer {
        &self.timer
    }

    fn is_http10(&self) -> bool {
        self.http10
    }

    fn local_address(&self) -> Option<Rc<str>> {
        let ask = || {
            let local = self.stream.tcp()?.local_addr().ok()?;
            Some(local.ip().to_canonical().to_string().into())
        };
        self.local.get_or_init(ask).clone()
    }

    fn body_length(&self) -> BodyLength {
        self.body_length
    }

    fn has_more_body(&self) -> bool {
        !self.incoming.is_complete()
    }

    fn poll_body(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Range<usize>>, Failure>> {
        loop {
            let piece = self.incoming.next(self.input.filled()).map_err(|_| {
                self.keep_alive.set(false);
                Failure::Client(Refused::new(400, "malformed chunk"))
            })?;
            match piece {
                Piece::Data(range) => {
                    self.body_read += range.len() as u64;
                    if self.body_read > self.body_limit {
                        self.keep_alive.set(false);
                        let refused = Refused::new(413, "the request's body is too large");
                        return Poll::Ready(Err(refused.into()));
                    }
                    self.lent = range.end;
                    return Poll::Ready(Ok(Some(range)));
                }
                Piece::End(consumed) => {
                    self.input.consume(consumed);
                    return Poll::Ready(Ok(None));
                }
                Piece::Starved(consumed) => self.input.consume(consumed),
            }
            let read = ready!(self.poll_fill(cx));
            if self.failed(read)? == 0 {
                self.broken = true;
                return Poll::Ready(Err(Failure::ClientGone));
            }
        }
    }

    fn body_bytes(&self, range: Range<usize>) -> &[u8] {
        &self.input.filled()[range]
    }

    fn consume_body(&mut self, bytes: usize) {
        self.lent = 0;
        self.input.consume(bytes);
    }

    fn body_trailers(&self) -> Option<&[u8]> {
        self.incoming.trailers()
    }

    fn stage_interim(&mut self, head: &[u8]) {
        self.expecting &= !head.starts_with(b"HTTP/1.1 100");
        self.output.stage().extend_from_slice(head);
        self.output.stage().extend_from_slice(b"\r\n");
    }

    fn head(&mut self) -> &mut Vec<u8> {
        self.output.stage()
    }

    fn unsent_head(&mut self) -> Option<&mut Vec<u8>> {
        self.output.unsent_head()
    }

    fn change_head(&mut self, changes: HeadChanges) {
        self.changes = Some(Box::new(changes));
    }

    fn hide_surrogate_control(&mut self) {
        self.hides_surrogate_control = true;
    }

    fn end_head(&mut self, framing: Framing, has_body: bool) {
        self.apply_changes();
        let chunked = framing == Framing::Stream && !self.http10;
        if framing == Framing::Stream && !chunked && has_body {
            self.keep_alive.set(false);
        }
        // Whether a body follows that was never asked for, only the client knows.
        if self.worker.is_draining() || self.expecting {
            self.keep_alive.set(false);
        }
        let keep = self.keep_alive.get();
        let out = self.output.stage();
        match framing {
            Framing::Length(bytes) => {
                out.extend_from_slice(b"Content-Length: ");
                out.extend_from_slice(itoa::Buffer::new().format(bytes).as_bytes());
                out.extend_from_slice(b"\r\n");
            }
            Framing::Stream if chunked => out.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
            Framing::Stream | Framing::None => {}
        }
        match (keep, self.http10) {
            (false, _) => out.extend_from_slice(b"Connection: close\r\n"),
            (true, true) => out.extend_from_slice(b"Connection: keep-alive\r\n"),
            (true, false) => {}
        }
        out.extend_from_slice(b"\r\n");
        self.output.frame(chunked && has_body);
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, data: &[&[u8]]) -> Poll<Result<(), Failure>> {
        let sent = ready!(self.output.poll_send(&mut self.stream, cx, data));
        Poll::Ready(self.failed(sent))
    }

    fn poll_send_file(
        &mut self,
        cx: &mut Context<'_>,
        file: BorrowedFd<'_>,
        at: u64,
        bytes: usize,
    ) -> Poll<Result<usize, Failure>> {
        ready!(self.poll_send(cx, &[]))?;
        let sent = ready!(self.stream.poll_send_file(cx, file, at, bytes));
        let sent = self.failed(sent)?;
        self.output.total += sent as u64;
        Poll::Ready(Ok(sent))
    }

    fn poll_end(
        &mut self,
        cx: &mut Context<'_>,
        trailers: Option<&[u8]>,
    ) -> Poll<Result<(), Failure>> {
        let sent = ready!(self.output.poll_end(&mut self.stream, cx, trailers));
        Poll::Ready(self.failed(sent))
    }

    fn poll_gone(&mut self, cx: &mut Context<'_>) -> bool {
        // What follows the request, be it another or the end, is left for its time.
        if self.watched || !self.input.is_empty() {
            return false;
        }
        match self.stream.poll_peek(cx) {
            Poll::Pending => false,
            Poll::Ready(Ok(_)) => {
                self.watched = true;
                false
            }
            Poll::Ready(Err(_)) => {
                self.broken = true;
                true
            }
        }
    }

    fn close_after(&mut self) {
        self.keep_alive.set(false);
    }

    fn break_off(&mut self) {
        self.broken = true;
    }

    fn written(&self) -> u64 {
        self.output.total
    }
}

/// Whether a request asks to leave HTTP for another protocol that is forwarded.
/// `h2c` is not: what follows it would pass by every check made here.
pub(crate) fn wants_upgrade(head: &RequestHead) -> bool {
    !head.http10
        && head.fields.has(FieldId::Upgrade)
        && framing::connection_names(&head.fields, b"upgrade")
        && !head.fields.all(FieldId::Upgrade).any(|protocol| {
            protocol
                .to_ascii_lowercase()
                .windows(3)
                .any(|window| window == b"h2c")
        })
}
