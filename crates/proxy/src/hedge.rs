//! Two servers at once: when the first has not answered for a while, a second is asked, and the first
//! head counts. For requests that change nothing and have no body.
//!
//! The slower connection is closed; its server may go on working. So hedging costs load, and what it
//! may cost is the pool's budget of retries.

use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use forebay_http::framing::BodyLength;
use forebay_upstream::{Connection, acquire};

use crate::client::Client;
use crate::failure::{Failure, OriginFailure};
use crate::fetch::{Attempts, Fetch, count_failure};
use crate::talk::Talk;

/// After how long a second server is asked; `None`: never.
pub(crate) fn delay(fetch: &Fetch<'_>) -> Option<Duration> {
    let delay = fetch.pool.settings.hedge_after?;
    let changes = fetch.changes;
    let is_safe = fetch.request.head.method.is_get_or_head();
    let is_plain = changes.body.is_none() && changes.upgrade.is_none();
    // A user that belongs to one server has nothing at another.
    let is_at_home = fetch.pool.settings.sticky.is_some();
    (is_safe && is_plain && !is_at_home).then_some(delay)
}

/// Runs a talk, and another beside it if it takes longer than `delay`. `talk` is then the one that
/// answered.
pub(crate) async fn run<'a, 'f>(
    talk: &mut Talk<'a, 'f>,
    delay: Duration,
    attempts: &mut Attempts<'f>,
    client: &mut impl Client,
) -> Result<BodyLength, Failure> {
    // The worker's own timers are too coarse for this.
    match tokio::time::timeout(delay, talk.run(client)).await {
        Ok(ended) => return ended,
        Err(_) => client.timer().disarm(),
    }
    let fetch = talk.fetch;
    attempts.tried.add(talk.origin.connection().server());
    attempts.at = fetch.worker.now();
    let now_ms = attempts.at.unix_ms;
    if !fetch.pool.has_ready(&attempts.tried, now_ms) || !fetch.pool.may_repeat(now_ms) {
        return talk.run(client).await;
    }
    let ask = attempts.ask(fetch, false);
    let idle = &fetch.worker.idle;
    let opening = pin!(acquire(fetch.pool, idle, &ask, &mut attempts.tried));
    race(talk, opening, client).await
}

/// The first head of both.
async fn race<'a, 'f, E>(
    first: &mut Talk<'a, 'f>,
    mut opening: impl Future<Output = Result<Connection, E>> + Unpin,
    client: &mut impl Client,
) -> Result<BodyLength, Failure> {
    let fetch = first.fetch;
    let limit = first.head_timeout();
    let mut armed = false;
    let mut second: Option<Talk<'a, 'f>> = None;
    let (mut is_opening, mut failed) = (true, None);
    let ended = std::future::poll_fn(|cx: &mut Context<'_>| {
        if failed.is_none()
            && let Poll::Ready(ended) = first.poll_final(client, cx)
        {
            match ended {
                Err(Failure::Origin(failure)) if is_opening || second.is_some() => {
                    failed = Some(failure);
                }
                ended => return Poll::Ready(ended.map(|()| false)),
            }
        }
        if is_opening && let Poll::Ready(opened) = Pin::new(&mut opening).poll(cx) {
            is_opening = false;
            second = opened.ok().and_then(|connection| begin(fetch, connection));
        }
        if let Some(talk) = &mut second
            && let Poll::Ready(ended) = talk.poll_final(client, cx)
        {
            match ended {
                Ok(()) => return Poll::Ready(Ok(true)),
                Err(Failure::Origin(failure)) => lose(fetch, &mut second, failure),
                Err(failure) => return Poll::Ready(Err(failure)),
            }
        }
        if !is_opening
            && second.is_none()
            && let Some(failure) = failed
        {
            return Poll::Ready(Err(failure.into()));
        }
        if client.timer().poll_elapsed(cx, &mut armed, limit, false) {
            return Poll::Ready(Err(OriginFailure::TimedOut.into()));
        }
        Poll::Pending
    })
    .await;
    client.timer().disarm();
    if ended? && let Some(second) = second {
        change(first, second, failed);
    }
    first.begin_response()
}

/// The second server is asked.
fn begin<'a, 'f>(fetch: &'a Fetch<'f>, connection: Connection) -> Option<Talk<'a, 'f>> {
    fetch.pool.count_hedge();
    connection.server().stats().hedged();
    Talk::begin(fetch, connection, fetch.worker.now()).ok()
}

/// The second server has failed; the first may still answer.
fn lose(fetch: &Fetch<'_>, second: &mut Option<Talk<'_, '_>>, failure: OriginFailure) {
    if let Some(talk) = second.take() {
        let waited_us = fetch.worker.now().us.saturating_sub(talk.asked_us);
        count_failure(fetch, talk.origin.connection(), failure, waited_us);
    }
}

/// The second has won: what the first did is counted, and its connection closed.
fn change<'a, 'f>(first: &mut Talk<'a, 'f>, second: Talk<'a, 'f>, failed: Option<OriginFailure>) {
    let fetch = first.fetch;
    let now = fetch.worker.now();
    let waited_us = now.us.saturating_sub(first.asked_us);
    let connection = first.origin.connection();
    match failed {
        Some(failure) => count_failure(fetch, connection, failure, waited_us),
        None => connection.outrun(waited_us, now.unix_ms),
    }
    *first = second;
}
