//! A small file in the cache's memory: an object like any other, which is looked at instead of
//! being fetched anew when it was not for a while.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use forebay_cache::body::Body;
use forebay_cache::object::{Content, Draft};
use forebay_cache::purge::Verdict;
use forebay_cache::terms::{Serving, Terms};
use forebay_cache::{Object, merge};
use forebay_config::settings::Coding;
use forebay_files::{Found, Stamp, describe};
use forebay_http::ResponseHead;
use forebay_http::fields::FieldId;
use forebay_stats::Counter;
use rustix::io::{Errno, ReadWriteFlags};

use super::place::FilePlace;
use crate::client::Client;
use crate::coding::{self, Worth};
use crate::exchange::{Exchange, Step};
use crate::failure::{Failure, Refused};
use crate::outcome::Part;

/// How long an object that is not asked for may be looked at again instead of being read.
const KEPT_MS: u64 = 1 << 40;

/// The forms of a file that lie beside it.
type Beside = Vec<(Coding, Found)>;

impl<C: Client> Exchange<'_, C> {
    /// Answers with a file.
    pub(super) async fn found(
        &mut self,
        place: &FilePlace,
        directory: &Arc<OwnedFd>,
        found: Found,
        known: Option<Arc<Object>>,
    ) -> Result<Step, Failure> {
        let asked = self.worker.cache().purges().moment();
        let beside = beside(place, directory, &found);
        if let Some(known) = known.filter(|known| self.is_the_same(place, known, &found, &beside)) {
            let object = self.fresh_again(place, &known, &found, asked);
            return Ok(Step::Hit(object, Serving::Fresh));
        }
        let all = beside.iter().map(|(_, found)| found.stamp.size);
        let largest = all.chain([found.stamp.size]).max().unwrap_or(0);
        if self.policy.pass || largest > self.most_bytes(place) {
            return self.send_found(place, found, beside).await;
        }
        let Some(body) = content(&found).await? else {
            return self.send_found(place, found, beside).await;
        };
        let mut bodies = Vec::with_capacity(beside.len());
        for (coding, coded) in &beside {
            // One that cannot be read is as if it were not there.
            if let Ok(Some(body)) = content(coded).await {
                bodies.push((*coding, coded.stamp, body));
            }
        }
        self.moment = self.worker.now();
        let object = self.keep(place, (&found, &body), &bodies, asked);
        self.outcome.part = Part::Miss;
        self.outcome.detail = "file";
        Ok(Step::Hit(object, Serving::Fresh))
    }

    fn most_bytes(&self, place: &FilePlace) -> u64 {
        let cache = &self.snapshot.settings.cache;
        place.settings.cached_bytes.min(cache.max_object_bytes)
    }

    /// Whether what is in memory is what lies on disk, in all its forms.
    fn is_the_same(
        &self,
        place: &FilePlace,
        known: &Object,
        found: &Found,
        beside: &Beside,
    ) -> bool {
        let is = |object: &Object, stamp: &Stamp| object.stamp() == Some(&place.numbers(stamp));
        let is_beside = |&coding: &Coding| {
            let on_disk = beside.iter().find(|(other, _)| *other == coding);
            let coded = known.coded(coding);
            let coded = coded.filter(|coded| coded.stamp() != known.stamp());
            match (coded, on_disk) {
                (Some(coded), Some((_, found))) => is(coded, &found.stamp),
                (None, None) => true,
                _ => false,
            }
        };
        is(known, &found.stamp)
            && place.settings.precompressed.iter().all(is_beside)
            && self.worker.cache().verdict(known) == Verdict::Current
    }

    /// The same content, looked at now.
    fn fresh_again(
        &self,
        place: &FilePlace,
        known: &Arc<Object>,
        found: &Found,
        asked: u64,
    ) -> Arc<Object> {
        let cache = self.worker.cache();
        // Its date is that of the look.
        let head = merge::updated(&known.parsed_head(), &ResponseHead::default());
        let terms = self.file_terms(place, &found.stamp);
        let content = known.content.clone();
        let stamp = known.stamp().copied();
        let draft = self.file_draft(&head, (terms, stamp, asked), content);
        let object = cache.refresh(known, &self.key(), draft);
        for coding in &place.settings.precompressed {
            if let Some(coded) = known.coded(*coding)
                && coded.stamp() != known.stamp()
                && let Some(body) = coded.whole()
            {
                let head = merge::updated(&coded.parsed_head(), &ResponseHead::default());
                let kept = (Arc::clone(body), coded.stamp().copied());
                object.keep_coded(*coding, &head, kept, cache.budget());
            }
        }
        coding::carry(self.worker, known, &object);
        object
    }

    /// Puts a file into memory, with the forms that lie beside it.
    fn keep(
        &self,
        place: &FilePlace,
        (found, body): (&Found, &[u8]),
        beside: &[(Coding, Stamp, Vec<u8>)],
        asked: u64,
    ) -> Arc<Object> {
        let cache = self.worker.cache();
        let budget = cache.budget();
        let now_ms = self.now_ms();
        let varies = !beside.is_empty();
        let describe = |stamp: &Stamp, coding| {
            describe::head(&found.path, stamp, coding, varies, &place.settings)
        };
        let head = describe(&found.stamp, None);
        let terms = self.file_terms(place, &found.stamp);
        let numbers = Some(place.numbers_to_keep(&found.stamp, now_ms));
        let content = Content::Whole(Body::complete(budget, &[body]));
        let draft = self.file_draft(&head, (terms, numbers, asked), content);
        let limits = &self.snapshot.cache_limits;
        let (object, evicted) = cache.publish(&self.key(), draft, None, limits);
        for (coding, stamp, body) in beside {
            let kept = (
                Body::complete(budget, &[body]),
                Some(place.numbers_to_keep(stamp, now_ms)),
            );
            object.keep_coded(*coding, &describe(stamp, Some(*coding)), kept, budget);
        }
        self.worker.stats.add(Counter::Evicted, evicted);
        self.worker.stats.increment(Counter::FilesRead);
        object
    }

    fn file_terms(&self, place: &FilePlace, stamp: &Stamp) -> Terms {
        let now_ms = self.now_ms();
        Terms {
            response_ms: now_ms,
            initial_age_ms: 0,
            lifetime_ms: place.check_ms,
            grace_ms: 0,
            error_ms: 0,
            keep_ms: KEPT_MS,
            last_modified: Some(stamp.modified()),
            date: now_ms / 1000,
            always_validate: false,
            never_stale: true,
        }
    }

    fn file_draft<'h>(
        &self,
        head: &'h ResponseHead,
        (terms, stamp, asked): (Terms, Option<forebay_cache::object::Stamp>, u64),
        content: Content,
    ) -> Draft<'h> {
        Draft {
            response: head,
            terms,
            // All forms of a file are under one object, which every request selects.
            selector: None,
            url: self.file_url(),
            tags: Box::default(),
            asked,
            withheld: &[],
            stamp,
            content,
        }
    }

    /// A file that is sent from where it is, in the form that the client wants.
    async fn send_found(
        &mut self,
        place: &FilePlace,
        found: Found,
        beside: Beside,
    ) -> Result<Step, Failure> {
        let weights = self.coding_weights();
        let varies = !beside.is_empty();
        let there = beside.iter().map(|(coding, _)| *coding);
        let wanted = coding::wanted(&weights, there);
        let coded = beside
            .into_iter()
            .find(|(coding, _)| Some(*coding) == wanted);
        let (coding, path) = (coded.as_ref().map(|coded| coded.0), found.path.clone());
        let found = coded.map_or(found, |(_, coded)| coded);
        let mut head = describe::head(&path, &found.stamp, coding, varies, &place.settings);
        let worth = self.worth(&head, found.stamp.size);
        if worth == Worth::Yes {
            head.fields.push(FieldId::Vary, b"Accept-Encoding");
        }
        let terms = self.file_terms(place, &found.stamp);
        let numbers = Some(place.numbers(&found.stamp));
        let size = found.stamp.size;
        let file = Arc::new(std::fs::File::from(found.file));
        let content = Content::File(file, size);
        let draft = self.file_draft(&head, (terms, numbers, 0), content);
        let object = Object::apart(draft, self.worker.cache().budget());
        self.outcome.part = Part::File;
        self.outcome.detail = "file";
        self.worker.stats.increment(Counter::FilesSent);
        self.deliver(&object).await
    }
}

/// The forms of a file that lie beside it.
fn beside(place: &FilePlace, directory: &OwnedFd, found: &Found) -> Beside {
    let codings = place.settings.precompressed.iter();
    codings
        .filter_map(|&coding| Some((coding, found.coded(&place.root, &directory, coding)?)))
        .collect()
}

/// All bytes of a file; `None` when it changed while it was read.
async fn content(found: &Found) -> Result<Option<Vec<u8>>, Failure> {
    const UNREAD: Refused = Refused::new(500, "the file cannot be read; see the error log");
    let size = usize::try_from(found.stamp.size).map_err(|_| UNREAD)?;
    let read = match read(&found.file, size, ReadWriteFlags::NOWAIT) {
        Err(Errno::AGAIN | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
            let file = rustix::io::fcntl_dupfd_cloexec(&found.file, 0).map_err(|_| UNREAD)?;
            let waiting =
                tokio::task::spawn_blocking(move || read(&file, size, ReadWriteFlags::empty()));
            waiting.await.map_err(|_| UNREAD)?
        }
        read => read,
    };
    let bytes = read.map_err(|error| {
        tracing::warn!("{}: {error}", String::from_utf8_lossy(found.path.as_path()));
        UNREAD
    })?;
    let after = rustix::fs::fstat(&found.file).map_err(|_| UNREAD)?;
    let is_whole = bytes.len() == size && Stamp::of(&after) == found.stamp;
    Ok(is_whole.then_some(bytes))
}

/// Up to `size` bytes from the start.
fn read(file: impl AsFd, size: usize, flags: ReadWriteFlags) -> Result<Vec<u8>, Errno> {
    let mut bytes = vec![0; size];
    let mut filled = 0;
    while filled < size {
        let mut slices = [std::io::IoSliceMut::new(&mut bytes[filled..])];
        match rustix::io::preadv2(&file, &mut slices, filled as u64, flags) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}
