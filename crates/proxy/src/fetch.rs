//! Asking the origin: a connection, the request, the head of its final response; and asking again
//! when that fails and the request can be repeated.
//!
//! ```text
//!  connect ─▶ send, body and interim responses side by side ─▶ final head
//!     │         ├─ a reused connection that died before the first byte: a new one
//!     │         ├─ what `retry_on` names: another server
//!     │         └─ nothing for `hedge_after`: another server beside it, the first head counts
//!     └─ the next server
//! ```
//!
//! One request on one connection is in `talk.rs`, two at once are in `hedge.rs`.

use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use forebay_config::settings::{RetryOn, Service};
use forebay_http::framing::BodyLength;
use forebay_stats::Counter;
use forebay_upstream::{Ask, Connection, Pool, ServerFailure, Tried, acquire};

use crate::affinity::{self, Affinity};
use crate::cgi::Asked;
use crate::client::Client;
use crate::failure::{Failure, OriginFailure};
use crate::forward::{Changes, Peer};
use crate::hedge;
use crate::moment::Moment;
use crate::origin::Origin;
use crate::snapshot::Snapshot;
use crate::spool::Spool;
use crate::talk::Talk;
use crate::upload::Upload;
use crate::worker::{Request, Worker};

/// Everything a fetch needs to know.
pub(crate) struct Fetch<'a> {
    pub(crate) worker: &'a Rc<Worker>,
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) pool: &'a Arc<Pool>,
    pub(crate) request: &'a Request,
    /// What the site says of its applications, and of the request's class.
    pub(crate) service: &'a Service,
    pub(crate) peer: &'a Peer,
    /// What an application is told beside the request; `None` where HTTP is spoken.
    pub(crate) cgi: Option<&'a Asked>,
    pub(crate) changes: &'a Changes,
    /// The request's body, where it was taken from the client before.
    pub(crate) kept: Option<&'a Rc<Spool>>,
    /// When it begins.
    pub(crate) began: Moment,
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
    /// A line for this client that keeps it at its server. Never stored.
    pub(crate) sticky: Option<Vec<u8>>,
    /// When its head was there.
    pub(crate) came: Moment,
}

/// What was done for a fetch so far.
pub(crate) struct Attempts<'a> {
    affinity: Affinity<'a>,
    pub(crate) tried: Tried,
    /// Now, as of the last time that it waited: a clock costs more to read than to remember.
    pub(crate) at: Moment,
    /// Repeats, without connections that did not come about.
    repeats: usize,
    /// No idle connection is used any more.
    fresh: bool,
    /// The successor of a process that died was waited for.
    succeeded: bool,
}

/// Runs a fetch for a client, to whom interim responses go.
pub(crate) async fn run(fetch: &Fetch<'_>, client: &mut impl Client) -> Result<Fetched, Failure> {
    let settings = &fetch.snapshot.settings;
    let mut attempts = Attempts {
        affinity: Affinity::of(fetch.pool, fetch.request, fetch.peer, &settings.server),
        tried: Tried::default(),
        at: fetch.began,
        repeats: 0,
        fresh: false,
        succeeded: false,
    };
    loop {
        let connection = connect(fetch, &mut attempts, client).await?;
        let mut talk = Talk::begin(fetch, connection, attempts.at)?;
        let ended = match hedge::delay(fetch) {
            // Rare and large.
            Some(delay) => Box::pin(hedge::run(&mut talk, delay, &mut attempts, client)).await,
            None => talk.run(client).await,
        };
        if attempts.again(fetch, &talk, &ended) {
            continue;
        }
        let length = ended?;
        return Ok(attempts.fetched(fetch, talk, length));
    }
}

/// Gets a connection; gives up waiting for it when the client is gone.
async fn connect(
    fetch: &Fetch<'_>,
    attempts: &mut Attempts<'_>,
    client: &mut impl Client,
) -> Result<Connection, Failure> {
    let ask = attempts.ask(fetch, true);
    let idle = &fetch.worker.idle;
    let mut connecting = pin!(acquire(fetch.pool, idle, &ask, &mut attempts.tried));
    let mut waited = false;
    let connected = std::future::poll_fn(|cx: &mut Context<'_>| {
        if let Poll::Ready(connected) = connecting.as_mut().poll(cx) {
            return Poll::Ready(connected.map_err(|error| OriginFailure::Connect(error).into()));
        }
        waited = true;
        // Who waits with it for the same object takes over.
        if client.poll_gone(cx) {
            return Poll::Ready(Err(Failure::ClientGone));
        }
        Poll::Pending
    })
    .await;
    if waited {
        attempts.at = fetch.worker.now();
    }
    if matches!(connected, Err(Failure::Origin(_))) {
        fetch.worker.stats.increment(Counter::OriginErrors);
    }
    connected
}

impl<'a> Attempts<'a> {
    /// What the pool is asked for; `wait`: in its queue, if need be.
    pub(crate) fn ask<'f>(&self, fetch: &'f Fetch<'a>, wait: bool) -> Ask<'f>
    where
        'a: 'f,
    {
        Ask {
            timeouts: &fetch.snapshot.settings.timeouts,
            now_ms: self.at.unix_ms,
            priority: fetch.service.priority,
            key: self.affinity.key,
            sticky: self.affinity.sticky,
            fresh: self.fresh,
            ends: fetch.peer.ends,
            wait,
        }
    }

    /// Counts how one request on one connection ended, and decides whether there is another.
    fn again(
        &mut self,
        fetch: &Fetch<'_>,
        talk: &Talk<'_, '_>,
        ended: &Result<BodyLength, Failure>,
    ) -> bool {
        let connection = talk.origin.connection();
        self.at = fetch.worker.now();
        let waited_us = self.at.us.saturating_sub(talk.asked_us);
        let reason = match ended {
            Ok(_) => {
                let status = talk.origin.head.status;
                connection.answered(status, waited_us, self.at.unix_ms);
                RetryOn::Status(status)
            }
            // The server had closed it, and perhaps before it saw the request.
            Err(Failure::Origin(OriginFailure::ClosedEarly)) if talk.origin.is_reused() => {
                self.fresh = true;
                let again = self.may_repeat(fetch, talk);
                if again {
                    self.repeat(fetch, connection);
                } else {
                    count_failure(fetch, connection, OriginFailure::ClosedEarly, waited_us);
                }
                return again;
            }
            Err(Failure::Origin(failure)) => {
                count_failure(fetch, connection, *failure, waited_us);
                match failure {
                    // It has not begun with the request, whatever that was.
                    OriginFailure::Overloaded => {
                        return self.may_send_again(fetch, talk)
                            && self.given_on(fetch, connection, false);
                    }
                    OriginFailure::TimedOut => RetryOn::Timeout,
                    OriginFailure::Invalid(_) => RetryOn::Invalid,
                    _ => RetryOn::Closed,
                }
            }
            Err(_) => return false,
        };
        if !fetch.pool.settings.retry_on.contains(&reason) || !self.may_repeat(fetch, talk) {
            return false;
        }
        // A process that has died is replaced, and that is waited for: once, for it may have been
        // this request that it died of.
        let comes = reason == RetryOn::Closed && fetch.pool.servers_come() && !self.succeeded;
        self.succeeded |= comes;
        self.given_on(fetch, connection, comes)
    }

    /// Gives the request to another server, if there is one, or one `comes` that is waited for, and
    /// the pool's budget allows it.
    fn given_on(&mut self, fetch: &Fetch<'_>, failed: &Connection, comes: bool) -> bool {
        let now_ms = self.at.unix_ms;
        self.tried.add(failed.server());
        let again =
            (comes || fetch.pool.has_other(&self.tried, now_ms)) && fetch.pool.may_repeat(now_ms);
        if again {
            self.repeat(fetch, failed);
        }
        again
    }

    /// Whether the request can be sent once more (RFC 9110 section 9.2.2), and may.
    fn may_repeat(&self, fetch: &Fetch<'_>, talk: &Talk<'_, '_>) -> bool {
        fetch.request.head.method.is_idempotent() && self.may_send_again(fetch, talk)
    }

    /// Whether all of the request is there still, and it may be repeated.
    fn may_send_again(&self, fetch: &Fetch<'_>, talk: &Talk<'_, '_>) -> bool {
        talk.upload.taken == 0 && self.repeats < fetch.pool.settings.retries
    }

    fn repeat(&mut self, fetch: &Fetch<'_>, failed: &Connection) {
        self.repeats += 1;
        fetch.worker.stats.increment(Counter::OriginRetries);
        fetch.pool.count_retry();
        failed.server().stats().retried();
    }

    fn fetched(&self, fetch: &Fetch<'_>, talk: Talk<'_, '_>, length: BodyLength) -> Fetched {
        let Talk { origin, upload, .. } = talk;
        let sticky = affinity::stay(
            origin.connection(),
            &origin.head.fields,
            self.affinity.sticky,
            fetch.request.secure,
            self.at.unix_ms,
        );
        Fetched {
            origin,
            length,
            upload,
            sticky,
            came: self.at,
        }
    }
}

/// Counts a failure of the origin, for all and for the server.
pub(crate) fn count_failure(
    fetch: &Fetch<'_>,
    connection: &Connection,
    failure: OriginFailure,
    waited_us: u64,
) {
    let (counter, kind) = match failure {
        OriginFailure::TimedOut => (Counter::OriginTimeouts, ServerFailure::TimedOut),
        OriginFailure::Invalid(_) => (Counter::OriginInvalid, ServerFailure::Error),
        _ => (Counter::OriginErrors, ServerFailure::Error),
    };
    fetch.worker.stats.increment(counter);
    connection.failed(kind, waited_us, fetch.worker.now_ms());
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

/// Writes in steps until `write` is ready, with the patience of [`send`].
pub(crate) async fn in_time<C: Client>(
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
