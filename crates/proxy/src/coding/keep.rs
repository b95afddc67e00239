//! A coded form of an object, made once and kept with it.
//!
//! A short body that is here is coded at once. Any other is coded by a task of its own, in slices
//! between which the worker's other tasks get their turn; it reads the plain body as a client
//! would, while that grows or from disk, and its readers follow what comes out.

use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use forebay_cache::Object;
use forebay_cache::body::{Body, Read, Reader, Writer};
use forebay_config::settings::Coding;
use forebay_stats::Counter;

use super::encoder::Encoder;
use super::rules::{Worth, recoded};
use crate::client::Client;
use crate::exchange::Exchange;
use crate::recall::read_stored;
use crate::snapshot::Held;
use crate::worker::Worker;

/// Bodies up to this many bytes are coded before anything else is done: a fifth of a millisecond.
const AT_ONCE_BYTES: u64 = 16 << 10;

/// Plain bytes that are coded before others get their turn: about a quarter of a millisecond.
const SLICE_BYTES: usize = 16 << 10;

const CODINGS: [Coding; 3] = [Coding::Brotli, Coding::Zstd, Coding::Gzip];

impl<C: Client> Exchange<'_, C> {
    /// The form of `object` in `coding`, which may still be growing; `None` when there is none and
    /// none can be made now.
    pub(super) fn made(
        &self,
        object: &Arc<Object>,
        coding: Coding,
        worth: Worth,
    ) -> Option<Arc<Object>> {
        if let Some(coded) = object.coded(coding) {
            return is_readable(coded).then(|| Arc::clone(coded));
        }
        let body = object.whole()?;
        let most = self.snapshot.settings.cache.max_object_bytes;
        if body.failed() || body.is_windowed() || body.known_len().is_some_and(|len| len > most) {
            return None;
        }
        let encoder = self.worker.encoders.begin(coding)?;
        self.worker.stats.increment(Counter::Compressed);
        let head = recoded(object.parsed_head(), coding, worth);
        let budget = self.worker.cache().budget();
        let keep = |body| {
            let stamp = object.stamp().copied();
            object.keep_coded(coding, &head, (body, stamp), budget)
        };
        if let Some(whole) = body.whole().filter(|whole| whole.len() <= AT_ONCE_BYTES) {
            let coded = at_once(encoder, whole.chunks()).ok()?;
            return Some(Arc::clone(keep(Body::complete(budget, &[&coded]))));
        }
        let reader = body.reader(0)?;
        let (writer, growing) = Body::growing(budget, None, None);
        let coded = keep(Arc::clone(&growing));
        if !coded
            .whole()
            .is_some_and(|body| Arc::ptr_eq(body, &growing))
        {
            // Another worker was faster; the writer that is dropped is nobody's.
            return is_readable(coded).then(|| Arc::clone(coded));
        }
        let task = Task {
            worker: Rc::clone(self.worker),
            snapshot: Rc::clone(self.snapshot),
            encoder,
            writer,
        };
        tokio::task::spawn_local(task.run(reader));
        Some(Arc::clone(coded))
    }
}

/// Whether a reader can begin at its first byte and come to its end.
fn is_readable(coded: &Object) -> bool {
    coded
        .whole()
        .is_some_and(|body| !body.failed() && !body.is_windowed())
}

fn at_once(mut encoder: Encoder, chunks: &[Bytes]) -> std::io::Result<Vec<u8>> {
    for chunk in chunks {
        encoder.write(chunk)?;
    }
    let mut coded = encoder.take();
    coded.extend(encoder.finish()?);
    Ok(coded)
}

/// The forms of an object that was confirmed belong to the one that takes its place.
pub(crate) fn carry(worker: &Worker, old: &Object, new: &Object) {
    for coding in CODINGS {
        let Some(coded) = old.coded(coding).filter(|coded| is_readable(coded)) else {
            continue;
        };
        let Some(body) = coded.whole() else { continue };
        let varies = new.fields().any(|(_, name, value)| {
            name.eq_ignore_ascii_case(b"vary")
                && value
                    .to_ascii_lowercase()
                    .windows(15)
                    .any(|window| window == b"accept-encoding")
        });
        let worth = if varies {
            Worth::YesAndVaries
        } else {
            Worth::Yes
        };
        let head = recoded(new.parsed_head(), coding, worth);
        let budget = worker.cache().budget();
        new.keep_coded(
            coding,
            &head,
            (Arc::clone(body), new.stamp().copied()),
            budget,
        );
    }
}

/// A body being coded, beside the exchange that began it.
struct Task {
    worker: Rc<Worker>,
    snapshot: Rc<Held>,
    encoder: Encoder,
    writer: Writer,
}

impl Task {
    async fn run(mut self, reader: Reader) {
        // Where it fails the writer is dropped, and its readers see that it is not the whole.
        let Ok(trailers) = self.code(reader).await else {
            return;
        };
        let Self {
            worker,
            encoder,
            mut writer,
            ..
        } = self;
        let Ok(last) = encoder.finish() else { return };
        writer.append(&last);
        writer.finish(trailers);
        let evicted = worker.cache().make_room();
        worker.stats.add(Counter::Evicted, evicted);
    }

    async fn code(&mut self, mut reader: Reader) -> Result<Option<Box<[u8]>>, Broken> {
        let mut pieces = Vec::new();
        loop {
            pieces.clear();
            let mut is_flushed = false;
            let read = std::future::poll_fn(|cx| {
                let polled = reader.poll_read(cx, 4, &mut pieces);
                if polled.is_pending() && !is_flushed {
                    // What came must not wait here for what comes next.
                    is_flushed = true;
                    let flushed = self.encoder.flush();
                    let coded = self.encoder.take();
                    if flushed.is_err() {
                        return Poll::Ready(Read::Failed);
                    }
                    if !coded.is_empty() {
                        self.writer.append(&coded);
                    }
                }
                polled
            });
            match read.await {
                Read::Data => {}
                Read::Stored(stored) => {
                    let disk = self.worker.cache().disk().ok_or(Broken)?;
                    let patience = self.snapshot.settings.timeouts.send;
                    let read = read_stored(&self.worker, disk, stored, patience).await;
                    pieces = read.map_err(|_| Broken)?;
                }
                Read::End(trailers) => return Ok(trailers),
                Read::Failed => return Err(Broken),
            }
            for piece in &pieces {
                for slice in piece.chunks(SLICE_BYTES) {
                    self.slice(slice).await?;
                }
            }
            self.follow(reader.body())?;
        }
    }

    async fn slice(&mut self, plain: &[u8]) -> Result<(), Broken> {
        self.encoder.write(plain).map_err(|_| Broken)?;
        let coded = self.encoder.take();
        if !coded.is_empty() {
            self.writer.append(&coded);
        }
        std::future::poll_fn(|cx| self.writer.poll_room(cx)).await;
        tokio::task::yield_now().await;
        Ok(())
    }

    /// A plain body that turned out too large to be kept takes its coded form with it, and is
    /// not fetched on when nobody reads that any more.
    fn follow(&mut self, plain: &Body) -> Result<(), Broken> {
        let body = self.writer.body();
        if plain.is_windowed() && !body.is_windowed() {
            let window = self.snapshot.settings.limits.stream_window_bytes as u64;
            self.writer.stop_keeping(window);
        }
        if plain.is_windowed() && !self.writer.has_readers() {
            return Err(Broken);
        }
        Ok(())
    }
}

/// The plain body or the coding failed.
struct Broken;
