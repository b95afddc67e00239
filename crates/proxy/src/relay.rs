//! A response from the origin to one client, as it comes.

use std::task::{Context, Poll};
use std::time::Duration;

use forebay_http::Method;

use crate::client::Client;
use crate::exchange::Exchange;
use crate::failure::{Failure, OriginFailure};
use crate::fetch::Fetched;
use crate::timers::Timer;

/// Relays a response; `capture` collects its body up to so many bytes, and is
/// returned when the whole fits.
pub(crate) async fn run<C: Client>(
    exchange: &mut Exchange<'_, C>,
    mut fetched: Fetched,
    capture: Option<u64>,
) -> Result<Option<Vec<u8>>, Failure> {
    let is_head = exchange.request.head.method == Method::Head;
    exchange.begin_relay(&fetched, is_head).await?;
    let mut captured = capture.map(|_| Vec::new());
    let timer = exchange.client.timer().another();
    loop {
        match next(exchange, &mut fetched, &timer).await {
            Ok(Some(range)) => {
                let bytes = fetched.origin.body_bytes(range.clone());
                exchange.outcome.body_bytes += bytes.len() as u64;
                if let (Some(kept), Some(most)) = (&mut captured, capture) {
                    kept.extend_from_slice(bytes);
                    if kept.len() as u64 > most {
                        captured = None;
                    }
                }
                send(exchange, &mut fetched, range.clone()).await?;
                fetched.origin.consume(range.end);
            }
            Ok(None) => break,
            Err(failure) => {
                exchange.outcome.detail = match failure {
                    Failure::Origin(failure) => failure.reason(),
                    _ => "",
                };
                // The head is out: the client can only be shown that this is not the whole.
                exchange.client.break_off();
                return Err(Failure::ClientGone);
            }
        }
    }
    let trailers = fetched.origin.trailers();
    std::future::poll_fn(|cx| exchange.client.poll_end(cx, trailers)).await?;
    if fetched.upload.is_over() {
        let pool = exchange.snapshot.pool(exchange.site);
        fetched.origin.release(pool, exchange.snapshot, exchange.now_ms());
    }
    Ok(captured)
}

/// Waits for more of the body, while what is left of the request's goes out.
async fn next<C: Client>(
    exchange: &mut Exchange<'_, C>,
    fetched: &mut Fetched,
    timer: &Timer,
) -> Result<Option<std::ops::Range<usize>>, Failure> {
    if fetched.origin.is_complete() {
        return Ok(None);
    }
    let limit: Duration = exchange.snapshot.settings.timeouts.response_body;
    let waiting = std::future::poll_fn(|cx| {
        poll_upload(exchange, fetched, cx)?;
        match fetched.origin.poll_body(cx) {
            Poll::Pending => match exchange.client.poll_send(cx, &[]) {
                // While the body makes no progress, what is staged must not wait for it.
                Poll::Ready(Err(failure)) => Poll::Ready(Err(failure)),
                _ if fetched.upload.is_over() && exchange.client.poll_gone(cx) => {
                    Poll::Ready(Err(Failure::ClientGone))
                }
                _ => Poll::Pending,
            },
            Poll::Ready(read) => Poll::Ready(read.map_err(Failure::from)),
        }
    });
    match timer.within(limit, waiting).await {
        Ok(read) => read,
        Err(_) => Err(OriginFailure::TimedOut.into()),
    }
}

async fn send<C: Client>(
    exchange: &mut Exchange<'_, C>,
    fetched: &mut Fetched,
    range: std::ops::Range<usize>,
) -> Result<(), Failure> {
    if fetched.upload.is_over() {
        let bytes = fetched.origin.body_bytes(range);
        return crate::fetch::send(exchange.client, exchange.snapshot, &[bytes]).await;
    }
    // A client that reads only after it has sent everything must not be waited for.
    let limit = exchange.snapshot.settings.timeouts.send;
    let timer = exchange.client.timer().another();
    let sending = std::future::poll_fn(|cx| {
        poll_upload(exchange, fetched, cx)?;
        let bytes = fetched.origin.body_bytes(range.clone());
        exchange.client.poll_send(cx, &[bytes])
    });
    timer.within(limit, sending).await.unwrap_or(Err(Failure::ClientGone))
}

fn poll_upload<C: Client>(
    exchange: &mut Exchange<'_, C>,
    fetched: &mut Fetched,
    cx: &mut Context<'_>,
) -> Result<(), Failure> {
    if fetched.upload.is_over() {
        return Ok(());
    }
    match fetched.upload.poll(exchange.client, &mut fetched.origin, cx) {
        Poll::Ready(Err(failure)) => Err(failure),
        _ => Ok(()),
    }
}
