//! Recall: what the disk has of a key, before the origin is asked.
//!
//! A read is tried at once, which what the system has in memory allows; one that would have to
//! wait for a disk is done by a thread of the disk tier, and the worker goes on with others.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use forebay_cache::Object;
use forebay_cache::body::Stored;
use forebay_cache::disk::{Disk, ReadError, Recall, Wait};
use forebay_cache::flight::Lead;
use forebay_stats::{Counter, Timing};
use tokio::sync::oneshot;

use crate::client::Client;
use crate::exchange::Exchange;
use crate::worker::Worker;

/// Why there is nothing to read.
#[derive(Debug)]
pub(crate) enum Unread {
    /// It is damaged, or the disk failed.
    Broken,
    /// Too many reads are waiting.
    Busy,
}

/// Reads at once if that needs no waiting, else on another thread.
async fn read<T: Send + 'static>(
    worker: &Worker,
    disk: &Disk,
    read: impl Fn(Wait) -> Result<Option<T>, ReadError> + Send + 'static,
) -> Result<T, Unread> {
    let stats = &worker.stats;
    stats.increment(Counter::DiskReads);
    match read(Wait::No) {
        Ok(Some(found)) => return Ok(found),
        Ok(None) => {}
        Err(_) => return Err(Unread::Broken),
    }
    stats.increment(Counter::DiskReadWaits);
    let started = worker.now();
    let (answer, answered) = oneshot::channel();
    let job = Box::new(move || {
        // Nobody waits any more: the client has gone.
        let _ = answer.send(read(Wait::Yes));
    });
    if !disk.readers().submit(job) {
        return Err(Unread::Busy);
    }
    let found = answered.await;
    stats.record(Timing::DiskRead, worker.now().us - started.us);
    match found {
        Ok(Ok(Some(found))) => Ok(found),
        _ => Err(Unread::Broken),
    }
}

/// How long a read that too many others are in the way of waits before it tries again.
const BACK_OFF: Duration = Duration::from_millis(20);

/// The bytes of a piece of a body. While too many reads wait it tries again, up to `patience`.
pub(crate) async fn read_stored(
    worker: &Worker,
    disk: &Disk,
    piece: Stored,
    patience: Duration,
) -> Result<Vec<Bytes>, Unread> {
    let started = worker.now();
    loop {
        let piece = piece.clone();
        match read(worker, disk, move |wait| piece.read(wait)).await {
            Err(Unread::Busy) if worker.now().us - started.us < patience.as_micros() as u64 => {
                tokio::time::sleep(BACK_OFF).await;
            }
            done => return done,
        }
    }
}

impl<C: Client> Exchange<'_, C> {
    /// Whether the disk may have what the request asks for.
    pub(crate) fn may_be_on_disk(&self) -> bool {
        let cache = self.worker.cache();
        cache
            .disk()
            .is_some_and(|disk| disk.may_have(self.key().hash))
    }

    /// Brings the object that the request selects from disk into memory. Those who wait for
    /// `lead` get it too.
    pub(crate) async fn recall(&mut self, lead: &mut Option<Lead>) -> Option<Arc<Object>> {
        let worker = self.worker;
        let cache = worker.cache();
        let disk = cache.disk()?;
        let asked = (&self.request.head.fields, self.policy);
        let limits = &self.snapshot.cache_limits;
        if let Some((object, evicted)) = cache.catch(&self.key(), asked, lead, limits) {
            worker.stats.add(Counter::Evicted, evicted);
            return Some(object);
        }
        for (id, extent) in disk.find(self.key().hash, limits.variants) {
            let reading = Arc::clone(&extent);
            let record = match read(worker, disk, move |wait| reading.read(wait)).await {
                Ok(record) => record,
                Err(Unread::Busy) => return None,
                Err(Unread::Broken) => {
                    disk.damaged(id, &extent);
                    self.outcome.missed = Some(Counter::MissDiskError);
                    continue;
                }
            };
            self.moment = worker.now();
            let recalled = cache.recall(
                &self.key(),
                (id, &extent, record),
                (&self.request.head.fields, self.policy),
                lead,
                self.now_ms(),
                &self.snapshot.cache_limits,
            );
            if let Recall::Object(object, evicted) = recalled {
                worker.stats.add(Counter::Evicted, evicted);
                worker.stats.increment(Counter::DiskHits);
                self.outcome.detail = "disk";
                self.outcome.recalled = true;
                return Some(object);
            }
        }
        None
    }
}
