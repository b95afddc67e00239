//! Asking the origin: a connection, the request, the head of its final response.
//!
//! ```text
//!  connect ─▶ send, body and interim responses side by side ─▶ final head
//!     │         └─ a reused connection that died before the first byte: once more
//!     └─ the next server
//! ```

use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use forebay_http::framing::BodyLength;
use forebay_http::{FieldId, Method};
use forebay_stats::{Counter, OriginStats};
use forebay_upstream::{Pool, acquire};

use crate::client::Client;
use crate::failure::{Failure, OriginFailure, Refused};
use crate::forward::{self, Changes, Peer};
use crate::origin::Origin;
use crate::snapshot::Snapshot;
use crate::timers::Elapsed;
use crate::upload::Upload;
use crate::worker::{Request, Worker};

/// Everything a fetch needs to know.
pub(crate) struct Fetch<'a> {
    pub(crate) worker: &'a Rc<Worker>,
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) pool: &'a Pool,
    pub(crate) request: &'a Request,
    pub(crate) peer: &'a Peer,
    pub(crate) changes: &'a Changes,
    /// When it begins, in milliseconds since the epoch.
    pub(crate) now_ms: u64,
    /// Nobody else wants the response: it is given up when the client is gone.
    pub(crate) own: bool,
}

/// A response whose head is there and whose body is to come.
pub(crate) struct Fetched {
    pub(crate) origin: Box<Origin>,
    /// How its body is framed.
    pub(crate) length: BodyLength,
    /// The request's body, which may still be on its way.
    pub(crate) upload: Upload,
}

/// How long a client that expects 100 is kept waiting for the origin's word.
const CONTINUE_PATIENCE: Duration = Duration::from_secs(1);

/// Runs a fetch for a client, to whom interim responses go.
pub(crate) async fn run(fetch: &Fetch<'_>, client: &mut impl Client) -> Result<Fetched, Failure> {
    let Fetch {
        worker,
        snapshot,
        pool,
        request,
        changes,
        ..
    } = *fetch;
    let repeatable = request.head.method.is_idempotent();
    let mut attempt = 0;
    loop {
        let connecting = acquire(
            pool,
            &worker.idle,
            &snapshot.settings.timeouts,
            fetch.now_ms,
            attempt > 0,
        );
        let connection = connecting.await.map_err(|error| {
            worker.stats.increment(Counter::OriginErrors);
            OriginFailure::Connect(error)
        })?;
        let mut head = worker.take_scratch();
        forward::write_head(request, changes, snapshot, fetch.peer, &mut head);
        let mut origin = Origin::new(worker, connection, head);
        origin.frame_request(changes.body == Some(forward::BodyFraming::Chunked));
        let upload = match changes.body {
            Some(_) => Upload::new(changes.expect_continue),
            None => Upload::empty(),
        };
        let mut talk = Talk {
            fetch,
            origin,
            upload,
            continued: false,
        };
        let asked = worker.now();
        match talk.run(client).await {
            Ok(length) => {
                let waited_us = worker.now().us - asked.us;
                let stats = talk.origin.server_stats();
                stats.answered(talk.origin.head.status, waited_us);
                let Talk { origin, upload, .. } = talk;
                return Ok(Fetched {
                    origin,
                    length,
                    upload,
                });
            }
            Err(Failure::Origin(OriginFailure::ClosedEarly))
                if talk.origin.is_reused()
                    && repeatable
                    && talk.upload.taken == 0
                    && attempt < pool.settings.retries =>
            {
                attempt += 1;
                worker.stats.increment(Counter::OriginRetries);
            }
            Err(failure) => {
                count_failure(worker, talk.origin.server_stats(), failure);
                return Err(failure);
            }
        }
    }
}

/// Counts a failure of the origin, for all and for the server.
fn count_failure(worker: &Worker, server: &OriginStats, failure: Failure) {
    match failure {
        Failure::Origin(OriginFailure::TimedOut) => {
            worker.stats.increment(Counter::OriginTimeouts);
            server.timeout();
        }
        Failure::Origin(failure) => {
            let is_invalid = matches!(failure, OriginFailure::Invalid(_));
            worker.stats.increment(if is_invalid {
                Counter::OriginInvalid
            } else {
                Counter::OriginErrors
            });
            server.error();
        }
        _ => {}
    }
}

/// One request on one connection, up to the head of the final response.
struct Talk<'a, 'f> {
    fetch: &'a Fetch<'f>,
    origin: Box<Origin>,
    upload: Upload,
    continued: bool,
}

/// What a wait ended with.
enum Event {
    Uploaded,
    Head,
}

impl Talk<'_, '_> {
    /// Returns the framing of the final response.
    async fn run(&mut self, client: &mut impl Client) -> Result<BodyLength, Failure> {
        let Fetch {
            snapshot, request, ..
        } = *self.fetch;
        let mut interim = 0;
        loop {
            match self.wait(client).await? {
                Event::Uploaded => continue,
                Event::Head if self.origin.head.status == 101 => break,
                Event::Head if self.origin.head.status >= 200 => break,
                Event::Head => {}
            }
            interim += 1;
            if interim > snapshot.settings.limits.interim_responses {
                return Err(OriginFailure::Invalid("too many interim responses").into());
            }
            self.interim(client).await?;
        }
        if self.origin.head.status == 101 && self.fetch.changes.upgrade.is_none() {
            return Err(
                OriginFailure::Invalid("a change of protocol that nobody asked for").into(),
            );
        }
        let is_head = request.head.method == Method::Head;
        let length = match self.origin.head.status {
            101 => BodyLength::None,
            _ => self.origin.begin_body(is_head, snapshot)?,
        };
        Ok(length)
    }

    /// Waits for the next head, while the request's body goes out.
    async fn wait(&mut self, client: &mut impl Client) -> Result<Event, Failure> {
        let timeouts = &self.fetch.snapshot.settings.timeouts;
        loop {
            let taken = self.upload.taken;
            let limit = match () {
                () if self.upload.is_held() => CONTINUE_PATIENCE,
                () if self.upload.is_over() => timeouts.response_head,
                () if self.upload.waits_for_client() => timeouts.request_body,
                () => timeouts.request_body.max(timeouts.response_head),
            };
            let mut armed = false;
            let waited = std::future::poll_fn(|cx| match self.poll(client, cx) {
                Poll::Ready(event) => Poll::Ready(Ok(event)),
                Poll::Pending if client.timer().poll_elapsed(cx, &mut armed, limit, false) => {
                    Poll::Ready(Err(Elapsed))
                }
                Poll::Pending => Poll::Pending,
            })
            .await;
            client.timer().disarm();
            match waited {
                Ok(event) => return event,
                Err(_) if self.upload.is_held() => {
                    // An origin that ignores the expectation would wait for ever.
                    self.continue_client(client).await?;
                }
                Err(_) if self.upload.taken > taken => {}
                Err(_) if self.upload.waits_for_client() => {
                    return Err(Refused::new(408, "the request's body did not come in time").into());
                }
                Err(_) => return Err(OriginFailure::TimedOut.into()),
            }
        }
    }

    fn poll(
        &mut self,
        client: &mut impl Client,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Event, Failure>> {
        if !self.upload.is_over()
            && let Poll::Ready(result) = self.upload.poll(client, &mut self.origin, cx)
        {
            return Poll::Ready(result.map(|()| Event::Uploaded));
        }
        if let Poll::Ready(head) = self.origin.poll_head(cx, self.fetch.snapshot) {
            return Poll::Ready(head.map(|()| Event::Head).map_err(Failure::from));
        }
        if self.fetch.own && client.poll_gone(cx) {
            return Poll::Ready(Err(Failure::ClientGone));
        }
        Poll::Pending
    }

    /// Passes an interim response on (RFC 9110 section 15.2).
    async fn interim(&mut self, client: &mut impl Client) -> Result<(), Failure> {
        let is_continue = self.origin.head.status == 100;
        if is_continue {
            if self.upload.is_held() {
                self.continue_client(client).await?;
            }
            return Ok(());
        }
        if client.is_http10() {
            return Ok(());
        }
        let head = &mut self.origin.head;
        forebay_http::framing::remove_hop_by_hop(&mut head.fields);
        head.fields.remove(FieldId::ContentLength);
        let mut text = Vec::new();
        forebay_cache::object::write_status_line(head.status, &head.reason, &mut text);
        head.fields.write_to(&mut text);
        client.stage_interim(&text);
        flush(client, self.fetch.snapshot).await
    }

    async fn continue_client(&mut self, client: &mut impl Client) -> Result<(), Failure> {
        self.upload.let_go();
        if std::mem::replace(&mut self.continued, true) || client.is_http10() {
            return Ok(());
        }
        client.stage_interim(b"HTTP/1.1 100 Continue\r\n");
        flush(client, self.fetch.snapshot).await
    }
}

/// Writes what is staged for the client.
pub(crate) async fn flush(client: &mut impl Client, snapshot: &Snapshot) -> Result<(), Failure> {
    send(client, snapshot, &[]).await
}

/// Writes `data` to the client, who may take as long as it takes some of it in time.
pub(crate) async fn send(
    client: &mut impl Client,
    snapshot: &Snapshot,
    data: &[&[u8]],
) -> Result<(), Failure> {
    in_time(client, snapshot, |client, cx| client.poll_send(cx, data)).await
}

/// Ends the body of a response, with the same patience.
pub(crate) async fn end(
    client: &mut impl Client,
    snapshot: &Snapshot,
    trailers: Option<&[u8]>,
) -> Result<(), Failure> {
    in_time(client, snapshot, |client, cx| client.poll_end(cx, trailers)).await
}

async fn in_time<C: Client>(
    client: &mut C,
    snapshot: &Snapshot,
    mut write: impl FnMut(&mut C, &mut Context<'_>) -> Poll<Result<(), Failure>>,
) -> Result<(), Failure> {
    let limit = snapshot.settings.timeouts.send;
    let mut armed = false;
    let mut seen = client.written();
    let result = std::future::poll_fn(|cx| {
        if let Poll::Ready(sent) = write(client, cx) {
            return Poll::Ready(sent);
        }
        if client.written() > seen {
            seen = client.written();
            armed = false;
        }
        if client.timer().poll_elapsed(cx, &mut armed, limit, false) {
            return Poll::Ready(Err(Failure::ClientGone));
        }
        Poll::Pending
    })
    .await;
    if armed {
        client.timer().disarm();
    }
    result
}
