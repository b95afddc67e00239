//! A response from the origin to one client, as it comes.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use forebay_cache::budget::{Budget, Charge};
use forebay_cache::object::write_status_line;
use forebay_http::Method;
use forebay_http::fields::FieldId;
use forebay_http::framing::BodyLength;

use crate::client::{Client, Framing};
use crate::coding::Encoder;
use crate::exchange::Exchange;
use crate::failure::{Failure, OriginFailure};
use crate::fetch::{Fetched, flush};

/// Relays a response; `capture` collects its body up to so many bytes, and is
/// returned when the whole fits.
pub(crate) async fn run<C: Client>(
    exchange: &mut Exchange<'_, C>,
    mut fetched: Fetched,
    capture: Option<u64>,
) -> Result<Option<Vec<u8>>, Failure> {
    if exchange.client.wants_nothing() {
        return Ok(None);
    }
    let head = &fetched.origin.head;
    let fields = head.fields.iter().map(|field| (field.name, field.value));
    exchange.intercept(head.status, fields)?;
    let is_head = exchange.request.head.method == Method::Head;
    // A part that is kept is kept as it came.
    let mut encoder = match capture {
        None => exchange.begin_coding(&mut fetched),
        Some(_) => None,
    };
    let is_coded = encoder.is_some();
    exchange.begin_relay(&fetched, is_head, is_coded).await?;
    let budget = exchange.worker.cache().budget();
    let mut captured = capture.map(|most| Capture::new(budget, most));
    let relayed = match encoder.take() {
        Some(encoder) if !is_head => coded_body(exchange, &mut fetched, encoder).await,
        _ => body(exchange, &mut fetched, &mut captured).await,
    };
    if let Err(failure) = relayed {
        exchange.outcome.detail = match failure {
            Failure::Origin(failure) => failure.reason(),
            Failure::Client(refused) => refused.why,
            Failure::ClientGone => "",
        };
        // The head is out: the client can only be shown that this is not the whole.
        exchange.client.break_off();
        return Err(Failure::ClientGone);
    }
    let trailers: Option<Box<[u8]>> = fetched.origin.trailers().map(Into::into);
    if fetched.upload.is_over() {
        let now_ms = exchange.now_ms();
        fetched.origin.release(exchange.snapshot, now_ms);
    }
    crate::fetch::end(exchange.client, exchange.snapshot, trailers.as_deref()).await?;
    Ok(captured.and_then(|capture| capture.kept))
}

async fn body<C: Client>(
    exchange: &mut Exchange<'_, C>,
    fetched: &mut Fetched,
    captured: &mut Option<Capture>,
) -> Result<(), Failure> {
    while let Some(range) = next(exchange, fetched).await? {
        let bytes = fetched.origin.body_bytes(range.clone());
        exchange.outcome.body_bytes += bytes.len() as u64;
        if let Some(capture) = captured {
            capture.add(bytes);
        }
        send(exchange, fetched, range.clone()).await?;
        fetched.origin.consume(range.end);
    }
    Ok(())
}

/// Relays a body through an encoder.
async fn coded_body<C: Client>(
    exchange: &mut Exchange<'_, C>,
    fetched: &mut Fetched,
    mut encoder: Encoder,
) -> Result<(), Failure> {
    const FAILED: OriginFailure = OriginFailure::Invalid("the response could not be compressed");
    // A body of unknown length may be one that somebody waits for piece by piece.
    let is_stream = !matches!(fetched.length, BodyLength::Length(_));
    while let Some(range) = next(exchange, fetched).await? {
        encoder
            .write(fetched.origin.body_bytes(range.clone()))
            .and_then(|()| if is_stream { encoder.flush() } else { Ok(()) })
            .map_err(|_| FAILED)?;
        fetched.origin.consume(range.end);
        send_coded(exchange, fetched, &encoder.take()).await?;
    }
    let last = encoder.finish().map_err(|_| FAILED)?;
    send_coded(exchange, fetched, &last).await
}

async fn send_coded<C: Client>(
    exchange: &mut Exchange<'_, C>,
    fetched: &mut Fetched,
    bytes: &[u8],
) -> Result<(), Failure> {
    if bytes.is_empty() {
        return Ok(());
    }
    exchange.outcome.body_bytes += bytes.len() as u64;
    if fetched.upload.is_over() {
        return crate::fetch::send(exchange.client, exchange.snapshot, &[bytes]).await;
    }
    send_during_upload(exchange, fetched, |exchange, _, cx| {
        exchange.client.poll_send(cx, &[bytes])
    })
    .await
}

/// A copy of a body that passes, counted in the budget and given up when it grows too large.
struct Capture {
    kept: Option<Vec<u8>>,
    most: u64,
    charge: Charge,
}

impl Capture {
    fn new(budget: &Arc<Budget>, most: u64) -> Self {
        Self {
            kept: Some(Vec::new()),
            most,
            charge: Charge::new(budget),
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        let Some(kept) = &mut self.kept else { return };
        kept.extend_from_slice(bytes);
        self.charge.set(kept.capacity() as u64);
        if kept.len() as u64 > self.most || self.charge.budget().excess() > 0 {
            self.kept = None;
            self.charge.set(0);
        }
    }
}

/// Waits for more of the body, while what is left of the request's goes out.
async fn next<C: Client>(
    exchange: &mut Exchange<'_, C>,
    fetched: &mut Fetched,
) -> Result<Option<std::ops::Range<usize>>, Failure> {
    if fetched.origin.is_complete() {
        return Ok(None);
    }
    let timeouts = &exchange.snapshot.settings.timeouts;
    let limit: Duration = if fetched.upload.is_over() {
        fetched.origin.body_timeout(exchange.snapshot)
    } else {
        let body_timeout = fetched.origin.body_timeout(exchange.snapshot);
        body_timeout.max(timeouts.request_body)
    };
    let mut armed = false;
    let mut progress = fetched.upload.progress();
    let waiting = std::future::poll_fn(|cx| {
        poll_upload(exchange, fetched, cx)?;
        if fetched.upload.progress() > progress {
            progress = fetched.upload.progress();
            armed = false;
        }
        if let Poll::Ready(read) = fetched.origin.poll_body(cx) {
            return Poll::Ready(read.map_err(Failure::from));
        }
        // While the body makes no progress, what is staged must not wait for it.
        if let Poll::Ready(Err(failure)) = exchange.client.poll_send(cx, &[]) {
            return Poll::Ready(Err(failure));
        }
        if fetched.upload.is_over() && exchange.client.poll_gone(cx) {
            return Poll::Ready(Err(Failure::ClientGone));
        }
        if exchange
            .client
            .timer()
            .poll_elapsed(cx, &mut armed, limit, false)
        {
            return Poll::Ready(Err(OriginFailure::TimedOut.into()));
        }
        Poll::Pending
    });
    let read = waiting.await;
    if armed {
        exchange.client.timer().disarm();
        exchange.moment = exchange.worker.now();
    }
    read
}

async fn send<C: Client>(
    exchange: &mut Exchange<'_, C>,
    fetched: &mut Fetched,
    range: std::ops::Range<usize>,
) -> Result<(), Failure> {
    if fetched.upload.is_over() {
        let Exchange {
            client, snapshot, ..
        } = exchange;
        // Head and body in one piece without a copy of the body: 560 instructions for 6 KB.
        if let Some(head) = client.unsent_head()
            && let Some(bytes) = fetched.origin.body_behind(range.clone(), head)
        {
            head.clear();
            return crate::fetch::send(*client, snapshot, &[bytes]).await;
        }
        let bytes = fetched.origin.body_bytes(range);
        return crate::fetch::send(*client, snapshot, &[bytes]).await;
    }
    send_during_upload(exchange, fetched, |exchange, fetched, cx| {
        let bytes = fetched.origin.body_bytes(range.clone());
        exchange.client.poll_send(cx, &[bytes])
    })
    .await
}

/// A client that reads only after it has sent everything must not be waited for.
async fn send_during_upload<'e, C: Client>(
    exchange: &mut Exchange<'e, C>,
    fetched: &mut Fetched,
    mut write: impl FnMut(
        &mut Exchange<'e, C>,
        &mut Fetched,
        &mut Context<'_>,
    ) -> Poll<Result<(), Failure>>,
) -> Result<(), Failure> {
    let limit = exchange.snapshot.settings.timeouts.send;
    let timer = exchange.client.timer().another();
    let sending = std::future::poll_fn(|cx| {
        poll_upload(exchange, fetched, cx)?;
        write(exchange, fetched, cx)
    });
    timer
        .within(limit, sending)
        .await
        .unwrap_or(Err(Failure::ClientGone))
}

fn poll_upload<C: Client>(
    exchange: &mut Exchange<'_, C>,
    fetched: &mut Fetched,
    cx: &mut Context<'_>,
) -> Result<(), Failure> {
    if fetched.upload.is_over() {
        return Ok(());
    }
    match fetched
        .upload
        .poll(exchange.client, &mut fetched.origin, cx)
    {
        Poll::Ready(Err(failure)) => Err(failure),
        _ => Ok(()),
    }
}

impl<C: Client> Exchange<'_, C> {
    /// Status line, fields and framing of a response that is relayed.
    /// A coded body is as long as it turns out.
    async fn begin_relay(
        &mut self,
        fetched: &Fetched,
        is_head: bool,
        is_coded: bool,
    ) -> Result<(), Failure> {
        let head = &fetched.origin.head;
        self.outcome.status = head.status;
        let now_ms = self.now_ms();
        self.note_first_byte();
        let out = self.client.head();
        write_status_line(head.status, &head.reason, out);
        head.fields.write_without(FieldId::ContentLength.bit(), out);
        if !head.fields.has(FieldId::Date) {
            out.extend_from_slice(b"Date: ");
            forebay_http::date::write(now_ms / 1000, out);
            out.extend_from_slice(b"\r\n");
        }
        if let Some(line) = &fetched.sticky {
            out.extend_from_slice(line);
        }
        if self.policy.cache_status {
            out.extend_from_slice(&self.snapshot.via_and_status);
            self.outcome.end_cache_status(None, out);
        } else {
            out.extend_from_slice(&self.snapshot.via_line);
        }
        let stated = || {
            forebay_http::framing::content_length(&head.fields)
                .ok()
                .flatten()
        };
        let framing = match fetched.length {
            BodyLength::Length(bytes) if !is_coded => Framing::Length(bytes),
            BodyLength::None if is_head || head.status == 304 => {
                stated().map_or(Framing::None, Framing::Length)
            }
            BodyLength::None => Framing::None,
            _ => Framing::Stream,
        };
        if !fetched.upload.is_done() {
            // The origin did not want it all: what the client still sends is nobody's request.
            self.client.close_after();
        }
        let has_body = fetched.length != BodyLength::None;
        self.client.end_head(framing, has_body);
        if has_body {
            Ok(())
        } else {
            flush(self.client, self.snapshot).await
        }
    }
}
