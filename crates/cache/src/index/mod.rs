//! The index: from keys to objects, sharded, and one order of eviction for all.
//!
//! A shard's lock is held for a look-up in a table and never over I/O, over a
//! wait, or while another shard's is held. Objects are dropped outside of it.
//! The queues of eviction have a lock of their own, which a hit never takes;
//! whoever holds it may take a shard's, never the other way round.
//!
//! Here: looking up, whose turn it is, and putting in. `shard`: a part of the
//! table; `room`: who has to go; `purging`: what purges make of objects;
//! `tier`: what the disk asks.

mod purging;
mod room;
mod shard;
mod tier;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use bytes::Bytes;
use forebay_config::settings::Policy;
use forebay_http::fields::{FieldId, Fields};
use hashbrown::hash_table::Entry as Slot;
use parking_lot::Mutex;

use crate::body::Body;
use crate::budget::Budget;
use crate::disk::Disk;
use crate::eviction::Queues;
use crate::flight::{Flight, Landing, Lead, Waiter};
use crate::key::Key;
use crate::object::{Content, Draft, Object};
use crate::purge::Purges;
use crate::ranges::Ranges;
use crate::vary::Selector;

use shard::Shard;

/// How many parts the index has; a power of two. So many that one with a thousandth of all
/// objects can be walked through under its lock.
const SHARDS: usize = 1024;

/// The id of no object: an item of the queues that has it is a [`Shun`].
const MARK: u64 = 0;

/// Limits of the index that are settings.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Requests that may wait for one fetch.
    pub waiters: usize,
    /// Variants kept under one key.
    pub variants: usize,
    /// Bytes of one object; ranges that are put together do not grow beyond.
    pub object_bytes: u64,
}

/// Pieces of a body that are kept apart; beyond, the newest alone are kept.
const MOST_PIECES: usize = 1024;

/// Objects in memory.
#[derive(Debug)]
pub struct Cache {
    shards: Box<[Mutex<Shard>]>,
    queues: Mutex<Queues>,
    budget: Arc<Budget>,
    purges: Arc<Purges>,
    disk: Option<Arc<Disk>>,
    seed: u64,
    next_id: AtomicU64,
    objects: AtomicU64,
    /// Purges up to this moment are forgotten: what was asked for before comes too late.
    retired: AtomicU64,
}

/// What a look-up found.
#[derive(Debug)]
pub enum Found {
    /// The object the request selects.
    Object(Arc<Object>),
    /// The key is known, but none of its variants is selected.
    OtherVariants,
    /// Nothing is stored under the key.
    Nothing,
    /// Nothing is stored or being fetched, for until then the response is taken for one that
    /// is not shared: who finds this need not ask whose turn it is.
    Shunned {
        /// Milliseconds since the Unix epoch; it may have passed.
        until_ms: u64,
    },
}

/// Whose turn it is to ask the origin.
#[derive(Debug)]
pub enum Turn {
    /// The caller's, for all who come after.
    Lead(Lead),
    /// Another's; the caller waits.
    Wait(Waiter),
    /// The caller's, for itself alone: too many wait already.
    Alone,
    /// The caller's, for itself alone: responses for this key were not shared lately.
    Shunned,
    /// Meanwhile there is an object that was not there before.
    Landed(Arc<Object>),
}

impl Cache {
    /// An empty cache of `memory_bytes`, without a disk; `seed` is secret and random.
    pub fn new(memory_bytes: u64, seed: u64) -> Arc<Self> {
        let budget = Budget::new(memory_bytes);
        Self::with(budget, seed, Arc::new(Purges::new(seed)), None)
    }

    /// A cache of that budget over a disk. `seed` and `purges` are those that the disk was
    /// written with, if anything is on it.
    pub fn with(
        budget: Arc<Budget>,
        seed: u64,
        purges: Arc<Purges>,
        disk: Option<Arc<Disk>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            budget,
            purges,
            disk,
            seed,
            next_id: AtomicU64::new(1),
            queues: Mutex::default(),
            objects: AtomicU64::new(0),
            retired: AtomicU64::new(0),
        })
    }

    /// The memory budget that bodies are counted in.
    pub fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// What was purged.
    pub fn purges(&self) -> &Arc<Purges> {
        &self.purges
    }

    /// The disk tier, if there is one.
    pub fn disk(&self) -> Option<&Arc<Disk>> {
        self.disk.as_ref()
    }

    /// Objects in the index.
    pub fn objects(&self) -> u64 {
        self.objects.load(Relaxed)
    }

    /// A key of this cache.
    #[inline]
    pub fn key<'a>(&self, text: &'a [u8]) -> Key<'a> {
        Key::new(text, self.seed)
    }

    /// Finds what `request` selects under `key`. It says nothing of freshness.
    #[inline]
    pub fn find(&self, key: &Key<'_>, request: &Fields, policy: &Policy) -> Found {
        let shard = self.shard(key.hash).lock();
        let Some(entry) = shard.entry(key.hash, key.text) else {
            return Found::Nothing;
        };
        match entry.select(request, policy) {
            Some(object) => Found::Object(Arc::clone(object)),
            None if !entry.variants.is_empty() => Found::OtherVariants,
            None => match &entry.shun {
                Some(shun) if entry.flights.is_empty() => Found::Shunned {
                    until_ms: shun.until_ms,
                },
                _ => Found::Nothing,
            },
        }
    }

    /// Decides who asks the origin for `key`; `known` is the object the caller could not use.
    pub fn turn(
        self: &Arc<Self>,
        key: &Key<'_>,
        request: &Fields,
        policy: &Policy,
        known: Option<&Arc<Object>>,
        now_ms: u64,
        limits: &Limits,
    ) -> Turn {
        let mut shard = self.shard(key.hash).lock();
        let entry = shard.entry_or_new(key);
        if let Some(object) = entry.select(request, policy)
            && !known.is_some_and(|known| Arc::ptr_eq(known, object))
            && object.whole().is_some()
        {
            return Turn::Landed(Arc::clone(object));
        }
        // Those who cannot use the same object wait for the same word about it.
        let known = known.and_then(|known| known.selector.as_ref());
        let group = known.map_or_else(|| entry.group(request, policy), Selector::fingerprint);
        match entry.flight(group) {
            Some(flight) if flight.waiters() < limits.waiters => Turn::Wait(Waiter::new(flight)),
            Some(_) => Turn::Alone,
            None if entry.is_shunned(now_ms) => Turn::Shunned,
            None if entry.flights.len() > limits.variants => Turn::Alone,
            None => {
                let flight = entry.begin(group);
                drop(shard);
                Turn::Lead(self.lead(key, flight))
            }
        }
    }

    /// Whether somebody is asking the origin for `key` now.
    pub fn is_being_fetched(&self, key: &Key<'_>) -> bool {
        let shard = self.shard(key.hash).lock();
        shard
            .entry(key.hash, key.text)
            .is_some_and(|entry| !entry.flights.is_empty())
    }

    /// Like [`Cache::turn`] for a refresh of `object` behind an answer: `None` when one is under
    /// way.
    pub fn refresh_turn(self: &Arc<Self>, key: &Key<'_>, object: &Object) -> Option<Lead> {
        let group = object.selector.as_ref().map_or(0, Selector::fingerprint);
        let mut shard = self.shard(key.hash).lock();
        let entry = shard.entry_or_new(key);
        if entry.flights.iter().any(|flight| flight.group == group) {
            return None;
        }
        let flight = entry.begin(group);
        drop(shard);
        Some(self.lead(key, flight))
    }

    fn lead(self: &Arc<Self>, key: &Key<'_>, flight: Arc<Flight>) -> Lead {
        Lead {
            cache: Arc::clone(self),
            key: key.text.into(),
            hash: key.hash,
            flight,
            landed: false,
        }
    }

    /// Puts a response into the index, growing or complete, and tells those who
    /// waited for it. With `lead` outdated by an invalidation it is not kept.
    /// Returns the object and how many others had to go.
    pub fn publish(
        &self,
        key: &Key<'_>,
        draft: Draft<'_>,
        lead: Option<Lead>,
        limits: &Limits,
    ) -> (Arc<Object>, u64) {
        let too_late = draft.asked < self.retired.load(Relaxed);
        let object = Arc::new(Object::new(
            draft,
            self.new_id(),
            key.hash,
            key.text.len(),
            &self.budget,
        ));
        let outdated = too_late || lead.as_ref().is_some_and(Lead::is_outdated);
        if outdated {
            // Those who waited may have asked after the change: it is not for them.
            object.invalidate();
        } else {
            self.put(key, Arc::clone(&object), limits);
            if let Some(disk) = &self.disk {
                disk.replaced(&object);
            }
        }
        if let Some(mut lead) = lead {
            lead.finish(Landing::Stored(Arc::clone(&object)));
        }
        let complete = object.whole().is_none_or(|body| body.is_complete());
        let evicted = if complete && !outdated {
            self.settle(&object)
        } else {
            0
        };
        (object, evicted)
    }

    /// An object for whoever asked, and for nobody else: it is not put into the index.
    pub fn unstored(&self, key: &Key<'_>, draft: Draft<'_>) -> Arc<Object> {
        let id = self.new_id();
        let key_len = key.text.len();
        Arc::new(Object::new(draft, id, key.hash, key_len, &self.budget))
    }

    pub(crate) fn new_id(&self) -> u64 {
        self.next_id.fetch_add(1, Relaxed)
    }

    pub(crate) fn put(&self, key: &Key<'_>, object: Arc<Object>, limits: &Limits) {
        let mut gone = Vec::new();
        let mut shard = self.shard(key.hash).lock();
        let entry = shard.entry_or_new(key);
        let keep = |other: &Arc<Object>| {
            other.selector.is_some()
                && object.selector.is_some()
                && other.selector != object.selector
        };
        entry.variants.retain(|other| {
            let kept = keep(other);
            if !kept {
                gone.push(Arc::clone(other));
            }
            kept
        });
        while entry.variants.len() >= limits.variants.max(1) {
            gone.push(entry.variants.remove(0));
        }
        entry.variants.push(object);
        entry.shun = None;
        drop(shard);
        self.objects.fetch_add(1, Relaxed);
        self.objects.fetch_sub(gone.len() as u64, Relaxed);
    }

    /// Takes an object out of the index.
    pub fn remove(&self, object: &Arc<Object>) {
        let mut shard = self.shard(object.hash).lock();
        let removed = shard.take(object.hash, object.id);
        drop(shard);
        if removed.is_some() {
            self.objects.fetch_sub(1, Relaxed);
        }
    }

    /// Calls `each` for every object in memory, with the text of its key. A part of the index is
    /// locked meanwhile: it has to be quick.
    pub fn each(&self, mut each: impl FnMut(&[u8], &Arc<Object>)) {
        for shard in &self.shards {
            for entry in &shard.lock().table {
                entry
                    .variants
                    .iter()
                    .for_each(|object| each(&entry.key, object));
            }
        }
    }

    /// Every variant in memory under a key, the newest last.
    pub fn variants(&self, key: &Key<'_>) -> Vec<Arc<Object>> {
        let shard = self.shard(key.hash).lock();
        let entry = shard.entry(key.hash, key.text);
        entry.map_or_else(Vec::new, |entry| entry.variants.clone())
    }

    /// Puts a new head over the body of `old`, where `old` still is in the index.
    pub fn refresh(&self, old: &Arc<Object>, key: &Key<'_>, draft: Draft<'_>) -> Arc<Object> {
        let new = Object::new(draft, old.id, old.hash, key.text.len(), &self.budget);
        new.inherit(old);
        let new = Arc::new(new);
        let mut shard = self.shard(old.hash).lock();
        let slot = shard
            .table
            .find_mut(old.hash, |entry| {
                entry.hash == old.hash && *entry.key == *key.text
            })
            .and_then(|entry| {
                entry
                    .variants
                    .iter_mut()
                    .find(|variant| Arc::ptr_eq(variant, old))
            });
        let replaced = slot.map(|slot| std::mem::replace(slot, Arc::clone(&new)));
        drop(shard);
        drop(replaced);
        new
    }

    /// Stores the bytes from `first` on of a body of `complete` bytes, together
    /// with what is stored of the same representation already. Returns how many
    /// objects had to go.
    pub fn publish_range(
        &self,
        key: &Key<'_>,
        mut draft: Draft<'_>,
        (complete, first, bytes): (u64, u64, Bytes),
        (request, policy): (&Fields, &Policy),
        limits: &Limits,
    ) -> u64 {
        let mut ranges = Ranges::new(&self.budget, complete, first, bytes);
        let stored = match self.find(key, request, policy) {
            Found::Object(object) => Some(object),
            _ => None,
        };
        let etag = draft.response.fields.get(FieldId::ETag);
        if let Some(stored) = stored {
            let same = stored.strong_etag().is_some() && stored.strong_etag() == etag;
            match &stored.content {
                Content::Ranges(others) if same && others.complete_len() == complete => {
                    let combined = ranges.combined(others);
                    let fits = combined.memory_bytes() <= limits.object_bytes;
                    if fits && combined.pieces() <= MOST_PIECES {
                        ranges = combined;
                    }
                }
                Content::Whole(body) if same && body.known_len() == Some(complete) => return 0,
                _ => {}
            }
        }
        if let Some(pieces) = ranges.slices_of(&(0..complete)) {
            let pieces: Vec<&[u8]> = pieces.iter().map(|piece| &piece[..]).collect();
            let mut whole = draft.response.clone();
            (whole.status, whole.reason) = (200, b"OK".to_vec());
            whole.fields.remove(FieldId::ContentRange);
            let content = Content::Whole(Body::complete(&self.budget, &pieces));
            return self
                .publish(
                    key,
                    Draft {
                        response: &whole,
                        content,
                        ..draft
                    },
                    None,
                    limits,
                )
                .1;
        }
        draft.content = Content::Ranges(Arc::new(ranges));
        self.publish(key, draft, None, limits).1
    }

    pub(crate) fn end_flight(&self, hash: u64, key: &[u8], flight: &Arc<Flight>) {
        let mut shard = self.shard(hash).lock();
        if let Slot::Occupied(mut slot) = shard.table.entry(
            hash,
            |entry| entry.hash == hash && *entry.key == *key,
            |entry| entry.hash,
        ) {
            let entry = slot.get_mut();
            entry
                .flights
                .retain(|current| !Arc::ptr_eq(current, flight));
            if entry.is_idle() {
                slot.remove();
            }
        }
    }

    #[inline]
    fn shard(&self, hash: u64) -> &Mutex<Shard> {
        // Neither the lowest bits nor the highest: by them the table finds its slots.
        &self.shards[(hash >> 48) as usize % SHARDS]
    }
}

/// Whether a body that is being fetched still may be stored: it fits, and so do all others in transit.
pub fn fits(budget: &Budget, body: &Body, max_object_bytes: u64) -> bool {
    body.memory_bytes() <= max_object_bytes && budget.excess() <= budget.limit() / 20
}
