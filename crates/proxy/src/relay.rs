//! A response from the origin to one client, as it comes.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use forebay_cache::budget::{Budget, Charge};
use forebay_cache::object::write_status_line;
use forebay_http::Method;
use forebay_http::fields::FieldId;
use forebay_http::framing::BodyLength;

use crate::behind::Behind;
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
    let encoder = match capture {
        None => exchange.begin_coding(&mut fetched),
        Some(_) => None,
    };
    exchange
        .begin_relay(&fetched, is_head, encoder.is_some())
        .await?;
    let mut through = match encoder.filter(|_| !is_head) {
        Some(encoder) => Through::Coder {
            encoder: Some(encoder),
            // A body of unknown length may be one that somebody waits for piece by piece.
            is_stream: !matches!(fetched.length, BodyLength::Length(_)),
        },
        None => {
            let budget = exchange.worker.cache().budget();
            Through::Capture(capture.map(|most| Capture::new(budget, most)))
        }
    };
    let relayed = match through {
        Through::Capture(_) => body(exchange, &mut fetched, &mut through).await,
        Through::Coder { .. } => coded_body(exchange, &mut fetched, &mut through).await,
    };
    let behind = match relayed {
        Ok(behind) => behind,
        Err(failure) => return Err(broken_off(exchange, failure)),
    };
    let trailers: Option<Box<[u8]>> = fetched.origin.trailers().map(Into::into);
    if fetched.upload.is_over() {
        let now_ms = exchange.now_ms();
        fetched.origin.release(exchange.snapshot, now_ms);
    }
    if let Some(behind) = behind
        && let Err(failure) = Box::pin(behind.send_rest(exchange)).await
    {
        return Err(broken_off(exchange, failure));
    }
    crate::fetch::end(exchange.client, exchange.snapshot, trailers.as_deref()).await?;
    Ok(match through {
        Through::Capture(Some(capture)) => capture.kept,
        _ => None,
    })
}

/// What becomes of a body on its way from the origin to the client.
pub(crate) enum Through {
    /// It stays as it is; a copy of it may be kept.
    Capture(Option<Capture>),
    /// It is coded; `encoder` is gone when that has ended.
    Coder {
        encoder: Option<Encoder>,
        is_stream: bool,
    },
}

impl Through {
    /// What the client gets for these bytes; perhaps nothing yet.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<Vec<u8>, Failure> {
        match self {
            Self::Capture(capture) => {
                if let Some(capture) = capture {
                    capture.add(bytes);
                }
                Ok(bytes.to_vec())
            }
            Self::Coder { encoder, is_stream } => {
                let Some(encoder) = encoder else {
                    return Ok(Vec::new());
                };
                encoder
                    .write(bytes)
                    .and_then(|()| if *is_stream { encoder.flush() } else { Ok(()) })
                    .map_err(|_| NOT_CODED)?;
                Ok(encoder.take())
            }
        }
    }

    /// What it gets at the end.
    pub(crate) fn end(&mut self) -> Result<Vec<u8>, Failure> {
        match self {
            Self::Coder { encoder, .. } => match encoder.take() {
                Some(encoder) => encoder.finish().map_err(|_| NOT_CODED.into()),
                None => Ok(Vec::new()),
            },
            Self::Capture(_) => Ok(Vec::new()),
        }
    }
}

const NOT_CODED: OriginFailure = OriginFailure::Invalid("the response could not be compressed");

/// The head is out: the client can only be shown that this is not the whole.
fn broken_off<C: Client>(exchange: &mut Exchange<'_, C>, failure: Failure) -> Failure {
    exchange.outcome.detail = match failure {
        Failure::Origin(failure) => failure.reason(),
        Failure::Client(refused) => refused.why,
        Failure::ClientGone => "",
    };
    exchange.client.break_off();
    Failure::ClientGone
}

/// Relays a response that has no body.
pub(crate) async fn head_alone<C: Client>(
    exchange: &mut Exchange<'_, C>,
    fetched: &Fetched,
) -> Result<(), Failure> {
    if exchange.client.wants_nothing() {
        return Ok(());
    }
    exchange.begin_relay(fetched, false, false).await?;
    crate::fetch::end(exchange.client, exchange.snapshot, None).await
}

/// Relays a body as it is; returns what the client has not taken yet of one that is here whole.
async fn body<C: Client>(
    exchange: &mut Exchange<'_, C>,
    fetched: &mut Fetched,
    through: &mut Through,
) -> Result<Option<Behind>, Failure> {
    while let Some(range) = next(exchange, fetched).await? {
        let bytes = fetched.origin.body_bytes(range.clone());
        exchange.outcome.body_bytes += bytes.len() as u64;
        if let Through::Capture(Some(capture)) = through {
            capture.add(bytes);
        }
        if fetched.upload.is_over() {
            let begun = send(exchange, fetched, range.clone()).await?;
            fetched.origin.consume(range.end);
            if let Some(first) = begun
                && let Some(behind) = fall_behind(exchange, fetched, through, first).await?
            {
                return Ok(Some(behind));
            }
        } else {
            send_during_upload(exchange, fetched, |exchange, fetched, cx| {
                let bytes = fetched.origin.body_bytes(range.clone());
                exchange.client.poll_send(cx, &[bytes])
            })
            .await?;
            fetched.origin.consume(range.end);
        }
    }
    Ok(None)
}

/// The same through an encoder.
async fn coded_body<C: Client>(
    exchange: &mut Exchange<'_, C>,
    fetched: &mut Fetched,
    through: &mut Through,
) -> Result<Option<Behind>, Failure> {
    loop {
        let (bytes, is_last) = match next(exchange, fetched).await? {
            Some(range) => {
                let bytes = through.take(fetched.origin.body_bytes(range.clone()))?;
                fetched.origin.consume(range.end);
                (bytes, false)
            }
            None => (through.end()?, true),
        };
        exchange.outcome.body_bytes += bytes.len() as u64;
        if !bytes.is_empty()
            && let Some(behind) = send_coded(exchange, fetched, through, bytes).await?
        {
            return Ok(Some(behind));
        }
        if is_last {
            return Ok(None);
        }
    }
}

async fn send_coded<C: Client>(
    exchange: &mut Exchange<'_, C>,
    fetched: &mut Fetched,
    through: &mut Through,
    bytes: Vec<u8>,
) -> Result<Option<Behind>, Failure> {
    if !fetched.upload.is_over() {
        return send_during_upload(exchange, fetched, |exchange, _, cx| {
            exchange.client.poll_send(cx, &[&bytes])
        })
        .await
        .map(|()| None);
    }
    match begin_to_send(exchange.client, &bytes).await? {
        Poll::Ready(()) => Ok(None),
        Poll::Pending => fall_behind(exchange, fetched, through, bytes).await,
    }
}

/// Goes on while the client is slow; `first` is what it has begun to take. Returns what it has not
/// taken when the origin has said everything.
async fn fall_behind<C: Client>(
    exchange: &mut Exchange<'_, C>,
    fetched: &mut Fetched,
    through: &mut Through,
    first: Vec<u8>,
) -> Result<Option<Behind>, Failure> {
    let behind = Behind::new(exchange.worker.cache().budget(), first);
    // Rare and large.
    let behind = Box::pin(behind.run(exchange, fetched, through)).await;
    exchange.moment = exchange.worker.now();
    behind
}

/// A copy of a body that passes, counted in the budget and given up when it grows too large.
pub(crate) struct Capture {
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

    pub(crate) fn add(&mut self, bytes: &[u8]) {
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

/// Sends a part of the body if the client takes it at once; returns what it has begun to take else.
async fn send<C: Client>(
    exchange: &mut Exchange<'_, C>,
    fetched: &mut Fetched,
    range: std::ops::Range<usize>,
) -> Result<Option<Vec<u8>>, Failure> {
    let client = &mut *exchange.client;
    // Head and body in one piece without a copy of the body: 560 instructions for 6 KB.
    let joined = match client.unsent_head() {
        Some(head) => {
            let joined = fetched.origin.body_behind(range.clone(), head);
            if joined.is_some() {
                head.clear();
            }
            joined
        }
        None => None,
    };
    let bytes = match joined {
        Some(bytes) => bytes,
        None => fetched.origin.body_bytes(range),
    };
    let begun = begin_to_send(client, bytes).await?;
    Ok(begun.is_pending().then(|| bytes.to_vec()))
}

/// Sends what the client takes now; pending: that is not all.
async fn begin_to_send(client: &mut impl Client, bytes: &[u8]) -> Result<Poll<()>, Failure> {
    std::future::poll_fn(|cx| {
        Poll::Ready(match client.poll_send(cx, &[bytes]) {
            Poll::Ready(sent) => sent.map(Poll::Ready),
            Poll::Pending => Ok(Poll::Pending),
        })
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
        out.extend_from_slice(self.snapshot.via(head.http10));
        if self.policy.cache_status {
            let via_bytes = self.snapshot.via_line.len();
            out.extend_from_slice(&self.snapshot.via_and_status[via_bytes..]);
            self.outcome.end_cache_status(None, out);
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
