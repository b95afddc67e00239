//! The body of a response that is stored, on its way from origin to object.
//!
//! It goes on at the origin's pace, whoever reads it; when the first client
//! leaves, others or the cache still want it. A large one goes to disk while it
//! comes, piece by piece, and counts as kept when the last piece is followed by
//! the record that lists them. An object that turns out too large stops being
//! kept and follows its readers.

use std::rc::Rc;
use std::sync::Arc;

use forebay_cache::body::Writer;
use forebay_cache::disk::Disk;
use forebay_cache::{Object, index};
use forebay_stats::Counter;

use crate::failure::OriginFailure;
use crate::origin::Origin;
use crate::snapshot::Held;
use crate::timers::Timer;
use crate::worker::Worker;

/// What becomes of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It is kept in memory.
    Kept,
    /// It goes to disk.
    Spooled,
    /// It follows its readers and is gone with the last.
    Windowed,
}

/// Pieces of a body that may wait for the disk, in memory.
const MOST_UNWRITTEN: u64 = 4;

/// A body being fetched.
pub(crate) struct Fill {
    pub(crate) worker: Rc<Worker>,
    pub(crate) snapshot: Rc<Held>,
    pub(crate) origin: Box<Origin>,
    pub(crate) writer: Writer,
    pub(crate) object: Arc<Object>,
    /// The text of its key.
    pub(crate) key: Box<[u8]>,
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
        let mut fate = Fate::Kept;
        match self.fill(&timer, &mut fate).await {
            Ok(trailers) => {
                let Self {
                    worker,
                    snapshot,
                    origin,
                    mut writer,
                    object,
                    key,
                    tail,
                } = self;
                let now_ms = worker.now_ms();
                origin.release(&snapshot, now_ms);
                writer.append(&tail);
                let cache = worker.cache();
                match (fate, cache.disk()) {
                    (Fate::Spooled, Some(disk)) => {
                        writer.close_chunk();
                        while spool_piece(disk, &mut writer, &object, 1) {}
                        if writer.body().is_windowed() {
                            // The disk gave up at the very end.
                            fate = Fate::Windowed;
                            cache.remove(&object);
                        }
                        writer.finish_spooled(trailers);
                        if fate == Fate::Spooled {
                            disk.seal(&object, &key);
                        }
                    }
                    _ => writer.finish(trailers),
                }
                if fate != Fate::Windowed {
                    let evicted = cache.settle(&object);
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
        fate: &mut Fate,
    ) -> Result<Option<Box<[u8]>>, OriginFailure> {
        loop {
            let room = std::future::poll_fn(|cx| self.writer.poll_room(cx));
            let patience = self.snapshot.settings.timeouts.send;
            if timer.within(patience, room).await.is_err() {
                self.writer.leave_slowest_behind();
                continue;
            }
            if *fate == Fate::Windowed && !self.writer.has_readers() {
                return Err(OriginFailure::Broken);
            }
            let Some(range) = self.origin.next_body(timer, &self.snapshot).await? else {
                return Ok(self.origin.trailers().map(Into::into));
            };
            self.writer.append(self.origin.body_bytes(range.clone()));
            self.origin.consume(range.end);
            *fate = match *fate {
                Fate::Kept => self.keep(),
                Fate::Spooled => self.spool(timer).await,
                Fate::Windowed => Fate::Windowed,
            };
        }
    }

    /// Gives what has come to the disk, and waits when that is slower than the origin.
    async fn spool(&mut self, timer: &Timer) -> Fate {
        let Some(disk) = self.worker.cache().disk() else {
            return self.keep_no_more();
        };
        let piece_bytes = disk.piece_bytes();
        while spool_piece(disk, &mut self.writer, &self.object, piece_bytes) {}
        let most = MOST_UNWRITTEN * piece_bytes;
        let patience = self.snapshot.settings.timeouts.send;
        let written = std::future::poll_fn(|cx| self.writer.poll_spooled(cx, most));
        if timer.within(patience, written).await.is_err() {
            self.writer.body().give_up_spooling();
        }
        if self.writer.written() > disk.object_bytes() || self.writer.body().is_windowed() {
            return self.keep_no_more();
        }
        Fate::Spooled
    }

    /// Whether the body is still worth storing, and where; it gives up the object when not.
    fn keep(&mut self) -> Fate {
        let cache = self.worker.cache();
        let body = self.writer.body();
        let bytes = body.known_len().unwrap_or(0).max(self.writer.written());
        let most = self.snapshot.settings.cache.max_object_bytes;
        if let Some(disk) = cache.disk()
            && (disk.is_large(bytes) || bytes.max(body.memory_bytes()) > most)
        {
            return Fate::Spooled;
        }
        let evicted = cache.make_room();
        self.worker.stats.add(Counter::Evicted, evicted);
        if index::fits(cache.budget(), body, most) {
            return Fate::Kept;
        }
        self.keep_no_more()
    }

    fn keep_no_more(&mut self) -> Fate {
        self.worker.cache().remove(&self.object);
        self.writer
            .stop_keeping(self.snapshot.settings.limits.stream_window_bytes as u64);
        self.worker.stats.increment(Counter::NotStored);
        Fate::Windowed
    }
}

/// Gives the next piece of a body to the disk, if there are `least` bytes of it.
fn spool_piece(disk: &Disk, writer: &mut Writer, object: &Arc<Object>, least: u64) -> bool {
    let Some((from, bytes)) = writer.take_for_disk(least) else {
        return false;
    };
    disk.spool(object, from, bytes) || {
        writer.body().give_up_spooling();
        false
    }
}
