//! What a slow client has not taken yet of a response that is relayed.
//!
//! The origin is read ahead of its client, as far as `limits.stream_window` and the memory budget
//! allow, so that a server with few places is free again when it has said everything and not when
//! the last client has heard it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;

use forebay_cache::Cache;
use forebay_cache::budget::{Budget, Charge, allocated};

use crate::client::Client;
use crate::exchange::Exchange;
use crate::failure::{Failure, OriginFailure};
use crate::fetch::{self, Fetched};
use crate::relay::Through;
use crate::timers::Timer;

/// Memory is looked for again after so long.
const AGAIN: Duration = Duration::from_secs(1);

/// Bytes that all slow clients have not taken.
static ALL_BYTES: AtomicU64 = AtomicU64::new(0);

/// Pieces of a body, the first of which the client has begun to take.
pub(crate) struct Behind {
    pieces: VecDeque<Vec<u8>>,
    charge: Charge,
}

impl Behind {
    pub(crate) fn new(budget: &Arc<Budget>, first: Vec<u8>) -> Self {
        let mut behind = Self {
            pieces: VecDeque::new(),
            charge: Charge::new(budget),
        };
        behind.push(first);
        behind
    }

    fn push(&mut self, piece: Vec<u8>) {
        if piece.is_empty() {
            return;
        }
        let bytes = allocated(piece.capacity());
        self.charge.set(self.charge.bytes() + bytes);
        ALL_BYTES.fetch_add(bytes, Relaxed);
        self.pieces.push_back(piece);
    }

    /// Whether there is memory for more: all slow clients together displace a quarter of the cache
    /// at most.
    fn finds_memory(&self, cache: &Cache) -> bool {
        let budget = self.charge.budget();
        if ALL_BYTES.load(Relaxed) >= budget.limit() / 4 {
            return false;
        }
        if budget.excess() > 0 {
            cache.make_room();
        }
        budget.excess() <= budget.limit() / 20
    }

    /// Reads and sends side by side, until the client has caught up (`None`), or everything is
    /// here.
    pub(crate) async fn run<C: Client>(
        mut self,
        exchange: &mut Exchange<'_, C>,
        fetched: &mut Fetched,
        through: &mut Through,
    ) -> Result<Option<Self>, Failure> {
        let snapshot = exchange.snapshot;
        let reading = exchange.client.timer().another();
        let mut reading = Patience::new(&reading, fetched.origin.body_timeout(snapshot));
        let sending = exchange.client.timer().another();
        let mut sending = Patience::new(&sending, snapshot.settings.timeouts.send);
        let looking = exchange.client.timer().another();
        let mut looking = Patience::new(&looking, AGAIN);
        let cache = exchange.worker.cache();
        let mut taken = exchange.client.written();
        let window = snapshot.settings.limits.stream_window_bytes as u64;
        std::future::poll_fn(|cx| {
            loop {
                if self.poll_send(exchange.client, cx)?.is_ready() {
                    return Poll::Ready(Ok(true));
                }
                if exchange.client.written() > taken {
                    taken = exchange.client.written();
                    sending.renew();
                }
                let wants = self.charge.bytes() < window;
                let has_room = wants && self.finds_memory(cache);
                let read = match has_room {
                    true => fetched.origin.poll_body(cx)?,
                    // It is not the origin that is waited for.
                    false => {
                        reading.renew();
                        Poll::Pending
                    }
                };
                match read {
                    Poll::Ready(Some(range)) => {
                        let bytes = through.take(fetched.origin.body_bytes(range.clone()))?;
                        exchange.outcome.body_bytes += bytes.len() as u64;
                        self.push(bytes);
                        fetched.origin.consume(range.end);
                        reading.renew();
                    }
                    Poll::Ready(None) => {
                        let bytes = through.end()?;
                        exchange.outcome.body_bytes += bytes.len() as u64;
                        self.push(bytes);
                        return Poll::Ready(Ok(false));
                    }
                    Poll::Pending if has_room && reading.is_over(cx) => {
                        return Poll::Ready(Err(OriginFailure::TimedOut.into()));
                    }
                    Poll::Pending if wants && !has_room && looking.is_over(cx) => looking.renew(),
                    Poll::Pending if sending.is_over(cx) => {
                        return Poll::Ready(Err(Failure::ClientGone));
                    }
                    Poll::Pending => return Poll::Pending,
                }
            }
        })
        .await
        .map(|caught_up| (!caught_up).then_some(self))
    }

    /// Sends what is left when the origin has said everything.
    pub(crate) async fn send_rest<C: Client>(
        mut self,
        exchange: &mut Exchange<'_, C>,
    ) -> Result<(), Failure> {
        fetch::in_time(exchange.client, exchange.snapshot, |client, cx| {
            self.poll_send(client, cx)
        })
        .await
    }

    /// Ready when the client has taken everything.
    fn poll_send<C: Client>(
        &mut self,
        client: &mut C,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Failure>> {
        while let Some(piece) = self.pieces.front() {
            std::task::ready!(client.poll_send(cx, &[piece]))?;
            let piece = self.pieces.pop_front().unwrap_or_default();
            let bytes = allocated(piece.capacity());
            self.charge.set(self.charge.bytes() - bytes);
            ALL_BYTES.fetch_sub(bytes, Relaxed);
        }
        Poll::Ready(Ok(()))
    }
}

impl Drop for Behind {
    fn drop(&mut self) {
        ALL_BYTES.fetch_sub(self.charge.bytes(), Relaxed);
    }
}

/// How long something may take without progress.
struct Patience<'a> {
    timer: &'a Timer,
    limit: Duration,
    armed: bool,
}

impl<'a> Patience<'a> {
    fn new(timer: &'a Timer, limit: Duration) -> Self {
        Self {
            timer,
            limit,
            armed: false,
        }
    }

    fn renew(&mut self) {
        self.armed = false;
    }

    fn is_over(&mut self, cx: &mut Context<'_>) -> bool {
        self.timer
            .poll_elapsed(cx, &mut self.armed, self.limit, false)
    }
}
