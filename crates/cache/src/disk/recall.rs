//! From a record on disk to an object in memory.

use std::sync::Arc;

use forebay_config::settings::Policy;
use forebay_http::fields::Fields;
use forebay_store::{Extent, Id, Record};

use super::codec::{self, Layout, Recalled};
use crate::body::Stored;
use crate::flight::{Landing, Lead};
use crate::index::{Cache, Limits};
use crate::key::Key;
use crate::object::{Object, lines};
use crate::purge::{self, Subject, Verdict};

/// What became of a record that was read for a request.
#[derive(Debug)]
pub enum Recall {
    /// It is in memory now, and answers the request as far as variants go. So many others had
    /// to go for it.
    Object(Arc<Object>, u64),
    /// It is another key's, another variant's, purged or outdated.
    Nothing,
}

impl purge::Fields for Recalled {
    fn any(&self, name: &str, test: &mut dyn FnMut(&[u8]) -> bool) -> bool {
        lines(self.head())
            .any(|(own, value)| own.eq_ignore_ascii_case(name.as_bytes()) && test(value))
    }
}

impl Recalled {
    /// What purges look at.
    fn subject(&self, hash: u64) -> Subject<'_> {
        Subject {
            host: self.url.host(),
            target: self.url.target(),
            status: self.status(),
            fields: self,
            key: hash,
            tags: &self.tags,
            asked: self.seen.asked(),
            checked: self.seen.checked(),
        }
    }

    fn selects(&self, request: &Fields, policy: &Policy) -> bool {
        self.selector
            .as_ref()
            .is_none_or(|selector| selector.matches(request, policy, self.language()))
    }
}

impl Cache {
    /// What purges made of something that lies on disk.
    pub(crate) fn purged(&self, recalled: &Recalled) -> Verdict {
        let hash = self.key(&recalled.key).hash;
        self.purges().check(&recalled.seen, &recalled.subject(hash))
    }

    /// Takes an object that has left memory and is not on disk yet back into memory, if it is
    /// what `request` selects under `key`, and tells those who wait for it through `lead`. Also
    /// returns how many others had to go for it.
    pub fn catch(
        &self,
        key: &Key<'_>,
        (request, policy): (&Fields, &Policy),
        lead: &mut Option<Lead>,
        limits: &Limits,
    ) -> Option<(Arc<Object>, u64)> {
        let mut between = self.disk()?.between(key.hash).into_iter();
        let caught = between.find(|one| {
            *one.key == *key.text
                && one.object.selects(request, policy)
                && !one.object.is_invalid()
                && !self.is_gone(&one.object)
        })?;
        if lead.as_ref().is_some_and(Lead::is_outdated) {
            return None;
        }
        let object = caught.object;
        self.put(key, Arc::clone(&object), limits);
        if let Some(mut lead) = lead.take() {
            lead.finish(Landing::Stored(Arc::clone(&object)));
        }
        let evicted = self.settle(&object);
        Some((object, evicted))
    }

    /// Takes an object that was read from disk into memory, if it is what `request` selects
    /// under `key`, and tells those who wait for it through `lead`.
    pub fn recall(
        &self,
        key: &Key<'_>,
        (id, extent, record): (Id, &Extent, Record),
        (request, policy): (&Fields, &Policy),
        lead: &mut Option<Lead>,
        now_ms: u64,
        limits: &Limits,
    ) -> Recall {
        let Some(disk) = self.disk() else {
            return Recall::Nothing;
        };
        let Some(recalled) = codec::decode(&record.meta) else {
            // An empty meta, or one of a later version: it is of no use to anybody.
            disk.skip(id, extent);
            return Recall::Nothing;
        };
        if *recalled.key != *key.text || !recalled.selects(request, policy) {
            return Recall::Nothing;
        }
        let of_use =
            recalled.terms.is_worth_keeping(now_ms) && self.purged(&recalled) != Verdict::Gone;
        let pieces = disk.pieces_of(key.hash, &recalled.layout);
        let content =
            pieces.and_then(|pieces| recalled.content(record.data, pieces, self.budget()));
        let (true, Some(content)) = (of_use, content) else {
            disk.forget(id, extent);
            return Recall::Nothing;
        };
        if lead.as_ref().is_some_and(Lead::is_outdated) || !disk.has(id, extent) {
            return Recall::Nothing;
        }
        disk.touch(id);
        let parts = recalled.into_parts(self.new_id(), key.hash, content);
        let object = Arc::new(Object::of_parts(parts, key.text.len(), self.budget()));
        object.set_on_disk(true);
        self.put(key, Arc::clone(&object), limits);
        if !disk.has(id, extent) {
            // It was replaced or invalidated in between.
            self.remove(&object);
            return Recall::Nothing;
        }
        if let Some(mut lead) = lead.take() {
            lead.finish(Landing::Stored(Arc::clone(&object)));
        }
        let evicted = self.settle(&object);
        Recall::Object(object, evicted)
    }
}

impl super::Disk {
    /// The pieces of a large body; none for another layout; `None` when one of them is gone.
    fn pieces_of(&self, hash: u64, layout: &Layout) -> Option<Vec<Stored>> {
        let Layout::Pieces(places) = layout else {
            return Some(Vec::new());
        };
        let directory = self.directory(hash)?;
        places
            .iter()
            .map(|piece| {
                let extent = directory.log.extent(piece.place)?;
                Some(Stored::new(Arc::new(extent), piece.len))
            })
            .collect()
    }
}
