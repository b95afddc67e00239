//! One request on one connection to an origin, up to the head of the final response.

use std::task::{Context, Poll, ready};
use std::time::Duration;

use forebay_http::framing::BodyLength;
use forebay_http::{FieldId, Method};
use forebay_upstream::Connection;

use crate::client::Client;
use crate::failure::{Failure, OriginFailure, Refused};
use crate::fetch::{Fetch, flush};
use crate::moment::Moment;
use crate::origin::Origin;
use crate::timers::Elapsed;
use crate::turn::behind_others;
use crate::upload::Upload;

/// How long a client that expects 100 is kept waiting for the origin's word.
const CONTINUE_PATIENCE: Duration = Duration::from_secs(1);

/// One request on one connection, up to the head of the final response.
pub(crate) struct Talk<'a, 'f> {
    pub(crate) fetch: &'a Fetch<'f>,
    pub(crate) origin: Box<Origin>,
    pub(crate) upload: Upload,
    continued: bool,
    /// When it began.
    pub(crate) asked_us: u64,
}

/// What a wait ended with.
enum Event {
    Uploaded,
    Head,
}

impl<'a, 'f> Talk<'a, 'f> {
    /// Stages the request for a connection that there is since `now`.
    pub(crate) fn begin(
        fetch: &'a Fetch<'f>,
        connection: Connection,
        now: Moment,
    ) -> Result<Self, Failure> {
        Ok(Self {
            fetch,
            origin: Origin::begin(fetch, connection)?,
            upload: match (fetch.changes.body, fetch.kept) {
                (_, Some(body)) => Upload::stored(body),
                (Some(_), None) => Upload::new(fetch.changes.expect_continue),
                (None, None) => Upload::empty(),
            },
            continued: false,
            asked_us: now.us,
        })
    }

    /// Returns the framing of the final response.
    pub(crate) async fn run(&mut self, client: &mut impl Client) -> Result<BodyLength, Failure> {
        let snapshot = self.fetch.snapshot;
        let mut interim = 0;
        behind_others().await;
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
        self.begin_response()
    }

    /// Prepares for what follows the final head.
    pub(crate) fn begin_response(&mut self) -> Result<BodyLength, Failure> {
        let Fetch {
            snapshot,
            request,
            changes,
            ..
        } = *self.fetch;
        let is_head = request.head.method == Method::Head;
        match self.origin.head.status {
            101 if changes.upgrade.is_none() => {
                let why = "a change of protocol that nobody asked for";
                Err(OriginFailure::Invalid(why).into())
            }
            101 => Ok(BodyLength::None),
            _ => Ok(self.origin.begin_body(is_head, snapshot)?),
        }
    }

    /// How long the server may take for the head of its response.
    pub(crate) fn head_timeout(&self) -> Duration {
        let own = self.fetch.pool.settings.response_head_timeout;
        own.unwrap_or(self.fetch.snapshot.settings.timeouts.response_head)
    }

    /// The same as [`Talk::run`], step by step, for requests without a body; interim responses are
    /// dropped.
    pub(crate) fn poll_final(
        &mut self,
        client: &mut impl Client,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Failure>> {
        loop {
            match ready!(self.poll(client, cx)) {
                Ok(Event::Head) if self.origin.head.status >= 200 => return Poll::Ready(Ok(())),
                Ok(Event::Head | Event::Uploaded) => {}
                Err(failure) => return Poll::Ready(Err(failure)),
            }
        }
    }

    /// Waits for the next head, while the request's body goes out.
    async fn wait(&mut self, client: &mut impl Client) -> Result<Event, Failure> {
        let timeouts = &self.fetch.snapshot.settings.timeouts;
        let head_timeout = self.head_timeout();
        loop {
            let progress = self.upload.progress();
            let limit = match () {
                () if self.upload.is_held() => CONTINUE_PATIENCE,
                () if self.upload.is_over() => head_timeout,
                () if self.upload.waits_for_client() => timeouts.request_body,
                () => timeouts.request_body.max(head_timeout),
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
                Err(_) if self.upload.progress() > progress => {}
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
