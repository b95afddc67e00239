//! The thread of a directory: it alone writes there.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use forebay_store::{Id, Kind, META_MOST, New, Place, WriteError};

use super::codec::{self, PiecePlace};
use super::queue::{Job, Waiting};
use super::{Directory, Event, id};
use crate::Cache;
use crate::body::Stored;
use crate::object::{Content, Object};

/// Records of one write.
const MOST_RECORDS: usize = 256;
/// Bytes of one write, if it has more than one record.
const MOST_BYTES: u64 = 2 << 20;
/// How long the thread waits for work before it tidies up.
const PATIENCE: Duration = Duration::from_millis(200);
/// How often it tidies up at least, however much there is to write.
const TIDY_EVERY: Duration = Duration::from_secs(1);
/// How often a write is tried again after room was made for it.
const MOST_TRIES: usize = 4;

/// A record that is about to be written.
struct Draft<'a> {
    id: Id,
    kind: Kind,
    meta: Vec<u8>,
    data: Vec<&'a [u8]>,
}

impl Directory {
    /// Writes what comes, until the tier is stopped and nothing waits any more.
    pub(super) fn run(&self, cache: &Weak<Cache>) {
        let (mut tidying, mut tidied) = (None, Instant::now());
        loop {
            let mut jobs = self.queue.take(MOST_RECORDS, MOST_BYTES, PATIENCE);
            let idle = jobs.is_empty();
            if self
                .save_until
                .lock()
                .is_some_and(|until| Instant::now() >= until)
            {
                jobs.retain(|waiting| self.is_still_written(&waiting.job));
            }
            if self.log.is_failed() {
                self.give_up(jobs, cache);
            } else {
                self.write_all(jobs, cache);
                if !idle {
                    self.look_for_room();
                }
                if self.log.needs_reclaim() {
                    self.reclaim(cache);
                }
            }
            if idle && self.stopping.load(Relaxed) {
                return;
            }
            if idle || tidied.elapsed() > TIDY_EVERY {
                self.tidy(&mut tidying, idle, cache);
                tidied = Instant::now();
            }
        }
    }

    /// Whether a job is worth waiting for when a stop has no more time for saving: what takes
    /// long is left, but not the word that something is outdated, or it would come back.
    fn is_still_written(&self, job: &Job) -> bool {
        match job {
            Job::Store { object, .. } if !is_spooled(job) => {
                self.queue.settle(object);
                self.unsaved.fetch_add(1, Relaxed);
                (self.watch)(Event::Dropped);
                false
            }
            Job::Piece { body, .. } => {
                body.give_up_spooling();
                false
            }
            Job::Store { .. } | Job::Forget { .. } | Job::ForgetKey { .. } => true,
        }
    }

    /// The disk has failed: what lay there is gone, what was to go there as well.
    fn give_up(&self, jobs: Vec<Waiting>, cache: &Weak<Cache>) {
        for waiting in &jobs {
            match &waiting.job {
                Job::Piece { body, .. } => body.give_up_spooling(),
                Job::Store { object, .. } => self.queue.settle(object),
                Job::Forget { .. } | Job::ForgetKey { .. } => {}
            }
        }
        if !self.dropped.swap(true, Relaxed) {
            // What is purged from now on is not written down here: should the disk come back,
            // what lies on it must not be believed. If it can be said at all.
            let _ = std::fs::remove_file(self.log.path().join(super::history::SEED));
            tracing::error!(
                "{}: the disk has failed; what it held is fetched anew",
                self.log.path().display()
            );
            if let Some(cache) = cache.upgrade() {
                cache.forget_disk();
            }
        }
    }

    /// Writes jobs in their order, in as few writes as that allows.
    fn write_all(&self, jobs: Vec<Waiting>, cache: &Weak<Cache>) {
        let mut together = Vec::new();
        for waiting in jobs {
            if let Job::ForgetKey { hash } = waiting.job {
                self.write(std::mem::take(&mut together), cache);
                for hit in self.log.find(hash).iter() {
                    self.forget(hit.id, hit.place);
                }
                continue;
            }
            // Its pieces have to be on disk before they can be listed.
            if is_spooled(&waiting.job) {
                self.write(std::mem::take(&mut together), cache);
            }
            together.push(waiting);
        }
        self.write(together, cache);
    }

    fn write(&self, jobs: Vec<Waiting>, cache: &Weak<Cache>) {
        self.write_drafts(&jobs, cache);
        for waiting in &jobs {
            if let Job::Store { object, .. } = &waiting.job {
                self.queue.settle(object);
            }
        }
    }

    fn write_drafts(&self, jobs: &[Waiting], cache: &Weak<Cache>) {
        let mut drafts = Vec::new();
        let mut written = Vec::new();
        for waiting in jobs {
            if let Some(draft) = self.draft(&waiting.job, cache) {
                drafts.push(draft);
                written.push(&waiting.job);
            }
        }
        if drafts.is_empty() {
            return;
        }
        match self.append(&drafts, cache) {
            Ok(places) => {
                for ((job, place), draft) in written.iter().zip(&places).zip(&drafts) {
                    self.is_written(job, *place, draft);
                }
            }
            Err(error) => {
                tracing::debug!("{}: {error}", self.log.path().display());
                for job in written {
                    match job {
                        Job::Piece { body, .. } => body.give_up_spooling(),
                        _ => (self.watch)(Event::Dropped),
                    }
                }
            }
        }
    }

    fn is_written(&self, job: &Job, place: Place, draft: &Draft<'_>) {
        match job {
            Job::Store { object, .. } => {
                object.set_on_disk(true);
                (self.watch)(Event::Written {
                    bytes: u64::from(place.bytes),
                });
                // It became outdated while it was being written; whoever said so could not yet
                // find it here, and a word about it may wait behind much else.
                if object.is_invalid() {
                    self.forget(id(object), place);
                }
            }
            Job::Piece { body, from, .. } => match self.log.extent(place) {
                Some(extent) => {
                    let len = draft.data.iter().map(|data| data.len() as u64).sum();
                    body.stored(*from, Stored::new(Arc::new(extent), len));
                }
                None => body.give_up_spooling(),
            },
            // The record says it; in the index it would only be in the way.
            Job::Forget { id } => drop(self.log.remove(*id, Some(place))),
            Job::ForgetKey { .. } => {}
        }
    }

    fn draft<'a>(&self, job: &'a Job, cache: &Weak<Cache>) -> Option<Draft<'a>> {
        match job {
            Job::Store { key, object } => {
                let outdated = cache
                    .upgrade()
                    .is_some_and(|cache| cache.is_outdated(key, object));
                // Judged now, so that no purge is forgotten between a look through what lies here
                // and this write.
                let gone = cache.upgrade().is_some_and(|cache| cache.is_gone(object));
                if outdated || gone || object.is_invalid() {
                    return None;
                }
                self.draft_object(key, object, cache)
            }
            Job::Piece { id, bytes, .. } => Some(Draft {
                id: *id,
                kind: Kind::Piece,
                meta: Vec::new(),
                data: bytes.iter().map(|bytes| &bytes[..]).collect(),
            }),
            Job::Forget { id } => Some(Draft {
                id: *id,
                kind: Kind::Entry,
                meta: Vec::new(),
                data: Vec::new(),
            }),
            Job::ForgetKey { .. } => None,
        }
    }

    fn draft_object<'a>(
        &self,
        key: &[u8],
        object: &'a Arc<Object>,
        cache: &Weak<Cache>,
    ) -> Option<Draft<'a>> {
        let mut pieces = Vec::new();
        let mut data: Vec<&[u8]> = Vec::new();
        match &object.content {
            // It is a file already.
            Content::File(..) => return None,
            Content::Ranges(ranges) => {
                data.extend(ranges.parts().iter().map(|(_, bytes)| &bytes[..]));
            }
            Content::Whole(body) => match body.whole() {
                Some(whole) if whole.len() > self.log.record_most() / 2 => {
                    pieces = self.write_pieces(id(object), whole.chunks(), cache)?;
                }
                Some(whole) => data.extend(whole.chunks().iter().map(|chunk| &chunk[..])),
                None => {
                    let stored = body.stored_pieces()?;
                    pieces.extend(stored.iter().map(|stored| PiecePlace {
                        place: stored.extent().place(),
                        len: stored.len(),
                    }));
                }
            },
        }
        let mut meta = Vec::with_capacity(512);
        codec::encode(key, object, &pieces, &mut meta);
        let bytes = data.iter().map(|data| data.len() as u64).sum::<u64>() + meta.len() as u64;
        let fits = bytes + 4096 < self.log.record_most() && meta.len() < META_MOST;
        fits.then_some(Draft {
            id: id(object),
            kind: Kind::Entry,
            meta,
            data,
        })
    }

    /// Writes a body that is too long for one record, piece by piece.
    fn write_pieces(
        &self,
        id: Id,
        chunks: &[Bytes],
        cache: &Weak<Cache>,
    ) -> Option<Vec<PiecePlace>> {
        let most = (self.log.record_most() / 2).min(super::PIECE_BYTES) as usize;
        let per_piece = (most / chunks.iter().map(Bytes::len).max()?.max(1)).max(1);
        let mut places = Vec::new();
        for group in chunks.chunks(per_piece) {
            let draft = Draft {
                id,
                kind: Kind::Piece,
                meta: Vec::new(),
                data: group.iter().map(|chunk| &chunk[..]).collect(),
            };
            let place = self.append(&[draft], cache).ok()?.first().copied()?;
            places.push(PiecePlace {
                place,
                len: group.iter().map(|chunk| chunk.len() as u64).sum(),
            });
        }
        Some(places)
    }

    /// Writes a piece on behalf of an object that is being moved.
    pub(super) fn append_piece(
        &self,
        id: Id,
        data: &[Bytes],
        cache: &Weak<Cache>,
    ) -> Option<Place> {
        let draft = Draft {
            id,
            kind: Kind::Piece,
            meta: Vec::new(),
            data: data.iter().map(|chunk| &chunk[..]).collect(),
        };
        self.append(&[draft], cache).ok()?.first().copied()
    }

    /// Writes an object's record anew, with another meta.
    pub(super) fn append_entry(
        &self,
        id: Id,
        meta: Vec<u8>,
        data: &[Bytes],
        cache: &Weak<Cache>,
    ) -> Option<Place> {
        let draft = Draft {
            id,
            kind: Kind::Entry,
            meta,
            data: data.iter().map(|chunk| &chunk[..]).collect(),
        };
        self.append(&[draft], cache).ok()?.first().copied()
    }

    fn append(&self, drafts: &[Draft<'_>], cache: &Weak<Cache>) -> Result<Vec<Place>, WriteError> {
        let records: Vec<New<'_>> = drafts
            .iter()
            .map(|draft| New {
                id: draft.id,
                kind: draft.kind,
                meta: &draft.meta,
                data: &draft.data,
            })
            .collect();
        let mut tries = 0;
        loop {
            match self.log.append(&records) {
                Err(WriteError::Full) if tries < MOST_TRIES => {
                    tries += 1;
                    self.reclaim(cache);
                }
                done => return done,
            }
        }
    }
}

/// Whether the job is an object whose body was given to the disk in pieces.
fn is_spooled(job: &Job) -> bool {
    match job {
        Job::Store { object, .. } => object.whole().is_some_and(|body| body.whole().is_none()),
        _ => false,
    }
}
