//! A part of the index: the table of its keys, and what is known under each.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use forebay_config::settings::Policy;
use forebay_http::fields::Fields;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry as Slot;
use smallvec::SmallVec;

use crate::budget::Charge;
use crate::eviction::Item;
use crate::flight::Flight;
use crate::key::Key;
use crate::object::Object;

#[derive(Debug, Default)]
pub(super) struct Shard {
    pub(super) table: HashTable<Entry>,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) hash: u64,
    pub(super) key: Box<[u8]>,
    /// Newest last.
    pub(super) variants: Vec<Arc<Object>>,
    /// One for each group of requests at most that was not overtaken by an invalidation.
    pub(super) flights: SmallVec<[Arc<Flight>; 1]>,
    pub(super) shun: Option<Shun>,
}

/// The response for this key was not one to share. It leaves with the queues like an object.
#[derive(Debug)]
pub(super) struct Shun {
    /// Until then requests for this key do not wait for each other.
    pub(super) until_ms: u64,
    pub(super) charge: Charge,
}

impl Shard {
    #[inline]
    pub(super) fn entry(&self, hash: u64, key: &[u8]) -> Option<&Entry> {
        self.table
            .find(hash, |entry| entry.hash == hash && *entry.key == *key)
    }

    pub(super) fn entry_or_new(&mut self, key: &Key<'_>) -> &mut Entry {
        let same = |entry: &Entry| entry.hash == key.hash && *entry.key == *key.text;
        self.table
            .entry(key.hash, same, |entry| entry.hash)
            .or_insert_with(|| Entry {
                hash: key.hash,
                key: key.text.into(),
                variants: Vec::new(),
                flights: SmallVec::new(),
                shun: None,
            })
            .into_mut()
    }

    /// The object an item stands for, if it is still here.
    pub(super) fn held(&self, item: &Item) -> Option<&Arc<Object>> {
        let entry = self.table.find(item.hash, |entry| {
            entry.hash == item.hash && entry.position(item.id).is_some()
        })?;
        entry.position(item.id).map(|at| &entry.variants[at])
    }

    pub(super) fn is_marked(&self, hash: u64) -> bool {
        self.table
            .find(hash, |entry| entry.hash == hash && entry.shun.is_some())
            .is_some()
    }

    /// Takes a key's mark out, and its entry when nothing is left in it. Returns the bytes given back.
    pub(super) fn take_mark(&mut self, hash: u64) -> u64 {
        let same = |entry: &Entry| entry.hash == hash && entry.shun.is_some();
        let Slot::Occupied(mut slot) = self.table.entry(hash, same, |entry| entry.hash) else {
            return 0;
        };
        let entry = slot.get_mut();
        let bytes = entry.shun.take().map_or(0, |shun| shun.charge.bytes());
        if entry.is_idle() {
            slot.remove();
        }
        bytes
    }

    /// Takes the object with this id out, and its entry when nothing is left in it. Also gives
    /// the text of its key.
    pub(super) fn take(&mut self, hash: u64, id: u64) -> Option<(Arc<Object>, Box<[u8]>)> {
        let same = |entry: &Entry| entry.hash == hash && entry.position(id).is_some();
        let Slot::Occupied(mut slot) = self.table.entry(hash, same, |entry| entry.hash) else {
            return None;
        };
        let entry = slot.get_mut();
        let at = entry.position(id)?;
        let object = entry.variants.remove(at);
        let key = if entry.is_idle() {
            slot.remove().0.key
        } else {
            entry.key.clone()
        };
        Some((object, key))
    }
}

impl Entry {
    /// The newest variant that the request selects (RFC 9111 section 4.1).
    #[inline]
    pub(super) fn select(&self, request: &Fields, policy: &Policy) -> Option<&Arc<Object>> {
        self.variants
            .iter()
            .rev()
            .find(|object| object.selects(request, policy))
    }

    /// Those who wait for the same fetch: requests that select the same variant, as far as the
    /// newest that varies tells by what; 0 where nothing does.
    pub(super) fn group(&self, request: &Fields, policy: &Policy) -> u32 {
        let mut newest = self.variants.iter().rev();
        newest
            .find_map(|object| object.selector.as_ref())
            .map_or(0, |selector| selector.fingerprint_for(request, policy))
    }

    /// The fetch that requests of this group may wait for: not one that began before the resource
    /// changed.
    pub(super) fn flight(&self, group: u32) -> Option<&Arc<Flight>> {
        let mut flights = self.flights.iter();
        flights.find(|flight| flight.group == group && !flight.invalidated.load(Relaxed))
    }

    /// Begins a fetch for a group.
    pub(super) fn begin(&mut self, group: u32) -> Arc<Flight> {
        let flight = Flight::new(group);
        self.flights.retain(|other| other.group != group);
        self.flights.push(Arc::clone(&flight));
        flight
    }

    /// What is being fetched began before the resource changed.
    pub(super) fn invalidate_flights(&self) {
        for flight in &self.flights {
            flight.invalidated.store(true, Relaxed);
        }
    }

    pub(super) fn position(&self, id: u64) -> Option<usize> {
        self.variants.iter().position(|object| object.id == id)
    }

    /// Whether nothing is left in it.
    pub(super) fn is_idle(&self) -> bool {
        self.variants.is_empty() && self.flights.is_empty() && self.shun.is_none()
    }

    pub(super) fn is_shunned(&self, now_ms: u64) -> bool {
        self.shun
            .as_ref()
            .is_some_and(|shun| shun.until_ms > now_ms)
    }
}
