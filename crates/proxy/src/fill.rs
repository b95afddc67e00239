//! The body of a response that is stored, on its way from origin to object.
//!
//! It goes on at the origin's pace, whoever reads it; when the first client
//! leaves, others or the cache still want it. An object that turns out too
//! large stops being kept and follows its readers.

use std::rc::Rc;
use std::sync::Arc;

use forebay_cache::body::Writer;
use forebay_cache::{Object, index};
use forebay_stats::Counter;
use forebay_upstream::Pool;

use crate::failure::OriginFailure;
use crate::origin::Origin;
use crate::snapshot::Held;
use crate::timers::Timer;
use crate::worker::Worker;

/// A body being fetched.
pub(crate) struct Fill {
    pub(crate) worker: Rc<Worker>,
    pub(crate) snapshot: Rc<Held>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) origin: Box<Origin>,
    pub(crate) writer: Writer,
    pub(crate) object: Arc<Object>,
    /// Bytes known already that follow those to be fetched.
    pub(crate) tail: bytes::Bytes,
}

impl Fill {
    /// Goes on beside the exchange that began it.
    pub(crate) fn spawn(self) {
        self.worker.note_filling(self.writer.body());
        tokio::task::spawn_local(self.run());
    }

    async fn run(mut self) {
        let timer = self.worker.timers.timer();
        let mut kept = true;
        match self.fill(&timer, &mut kept).await {
            Ok(trailers) => {
                let Self {
                    worker,
                    snapshot,
                    pool,
                    origin,
                    mut writer,
                    object,
                    tail,
                } = self;
                let now_ms = worker.now_ms();
                origin.release(&pool, &snapshot, now_ms);
                writer.append(&tail);
                writer.finish(trailers);
                if kept {
                    let evicted = worker.cache().settle(&object);
                    worker.stats.add(Counter::Evicted, evicted);
                }
            }
            Err(failure) => {
                self.worker.cache().remove(&self.object);
                self.worker.stats.increment(match failure {
                    OriginFailure::TimedOut => Counter::OriginTimeouts,
                    _ => Counter::OriginErrors,
                });
            }
        }
    }

    async fn fill(
        &mut self,
        timer: &Timer,
        kept: &mut bool,
    ) -> Result<Option<Box<[u8]>>, OriginFailure> {
        loop {
            let room = std::future::poll_fn(|cx| self.writer.poll_room(cx));
            let patience = self.snapshot.settings.timeouts.send;
            if timer.within(patience, room).await.is_err() {
                self.writer.leave_slowest_behind();
                continue;
            }
            if !*kept && !self.writer.has_readers() {
                return Err(OriginFailure::Broken);
            }
            let Some(range) = self.origin.next_body(timer, &self.snapshot).await? else {
                return Ok(self.origin.trailers().map(Into::into));
            };
            self.writer.append(self.origin.body_bytes(range.clone()));
            self.origin.consume(range.end);
            if *kept {
                *kept = self.keep();
            }
        }
    }

    /// Whether the body is still worth storing; it gives up the object when not.
    fn keep(&mut self) -> bool {
        let cache = self.worker.cache();
        let evicted = cache.make_room();
        self.worker.stats.add(Counter::Evicted, evicted);
        let most = self.snapshot.settings.cache.max_object_bytes;
        if index::fits(cache.budget(), self.writer.body(), most) {
            return true;
        }
        cache.remove(&self.object);
        self.writer
            .stop_keeping(self.snapshot.settings.limits.stream_window_bytes as u64);
        self.worker.stats.increment(Counter::NotStored);
        false
    }
}
