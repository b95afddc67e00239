//! What becomes of a response whose head has arrived.

use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use forebay_cache::body::Body;
use forebay_cache::flight::Lead;
use forebay_cache::merge;
use forebay_cache::object::{Content, Draft, Url};
use forebay_cache::purge::tag_words;
use forebay_cache::terms::{self, Arrival, Refusal, Serving, Terms};
use forebay_cache::vary::Selector;
use forebay_cache::{Key, Object};
use forebay_http::conditional::{self, Verdict};
use forebay_http::fields::FieldId;
use forebay_http::framing::BodyLength;
use forebay_http::range::ContentRange;
use forebay_http::{Method, ResponseHead, targeted};
use forebay_stats::Counter;

use crate::client::Client;
use crate::deliver::OF_THE_BODY;
use crate::exchange::{Exchange, Step};
use crate::failure::{Failure, Refused};
use crate::fetch::Fetched;
use crate::fill::Fill;
use crate::forward::CONDITIONS;
use crate::miss::Purpose;
use crate::outcome::Part;
use crate::relay;

/// Groups of one response or request that are heeded (RFC 9875 section 2 asks for at least 128).
pub(crate) const MOST_GROUPS: usize = 128;

/// What those who waited for a response with such a status are told.
const ORIGIN_ERROR: &str = "the origin answered with a server error";

impl<C: Client> Exchange<'_, C> {
    /// Decides on a response and answers with it. `None`: ask again for the whole.
    pub(crate) async fn arrived(
        &mut self,
        mut fetched: Fetched,
        purpose: &mut Purpose,
    ) -> Result<Option<Step>, Failure> {
        self.invalidate(&fetched.origin.head);
        if let Some(path) = self.handed_file(&mut fetched.origin.head) {
            return self.send_instead(fetched, purpose, path).await.map(Some);
        }
        let status = fetched.origin.head.status;
        let known = purpose.known.clone();
        if let Some(known) = &known {
            if status == 304 && known.whole().is_some() {
                return Ok(Some(self.revalidated(fetched, purpose, known)));
            }
            let failed = matches!(status, 500 | 502 | 503 | 504);
            if failed && self.may_stand_in(known) {
                self.outcome.part = Part::StaleOnError;
                if let Some(lead) = purpose.lead.take() {
                    // Those who wait may use the stale object too.
                    lead.failed(status, ORIGIN_ERROR);
                }
                return Ok(Some(Step::Hit(Arc::clone(known), Serving::StaleAccepted)));
            }
            if purpose.changes.range.is_some() && status == 206 {
                return Ok(self.complete(fetched, purpose, known));
            }
        }
        if !purpose.store {
            self.relay_judged(fetched, purpose).await?;
            return Ok(Some(Step::Finish));
        }
        match self.assess(&fetched) {
            // Rare and large.
            Ok(terms) if status == 206 => Box::pin(self.store_range(fetched, purpose, terms))
                .await
                .map(Some),
            Ok(terms) => self.store(fetched, purpose, terms).await.map(Some),
            Err(refusal) => {
                self.not_stored(refusal, purpose);
                fetched.origin.head.fields.remove(FieldId::Trailer);
                if purpose.changes.whole && known.is_none() {
                    name_range(&mut fetched);
                }
                self.relay_judged(fetched, purpose).await?;
                Ok(Some(Step::Finish))
            }
        }
    }

    /// Relays a response to this client alone, as its own conditions have it.
    async fn relay_judged(&mut self, fetched: Fetched, purpose: &Purpose) -> Result<(), Failure> {
        match self.verdict_for_client(&fetched.origin.head, purpose) {
            Verdict::Proceed => relay::run(self, fetched, None).await.map(drop),
            Verdict::NotModified => self.relay_unchanged(fetched).await,
            Verdict::PreconditionFailed => Err(Refused::new(412, "a precondition failed").into()),
        }
    }

    /// What the client's own conditions say of a response, where the origin was not told them
    /// (RFC 9110 section 13.2).
    fn verdict_for_client(&self, head: &ResponseHead, purpose: &Purpose) -> Verdict {
        let fields = &self.request.head.fields;
        if !purpose.changes.unconditional || !fields.has_any(CONDITIONS) {
            return Verdict::Proceed;
        }
        let stored = conditional::Stored {
            etag: head.fields.get(FieldId::ETag),
            last_modified: head
                .fields
                .get(FieldId::LastModified)
                .and_then(forebay_http::date::parse),
            date: None,
            status: head.status,
        };
        conditional::evaluate(
            fields.all(FieldId::IfMatch),
            fields.all(FieldId::IfNoneMatch),
            fields.get(FieldId::IfUnmodifiedSince),
            fields.get(FieldId::IfModifiedSince),
            true,
            &stored,
        )
    }

    /// Answers with 304 in place of a response that the client has already.
    async fn relay_unchanged(&mut self, mut fetched: Fetched) -> Result<(), Failure> {
        self.worker.stats.increment(Counter::NotModified);
        // A body that is not here yet is not waited for: its connection is given up.
        let is_whole = fetched.origin.body_at_hand().is_some();
        if is_whole {
            fetched.origin.take_body_at_hand();
        }
        let head = &mut fetched.origin.head;
        (head.status, head.reason) = (304, b"Not Modified".to_vec());
        let of_the_body = OF_THE_BODY | FieldId::ContentLength.bit();
        head.fields
            .retain(|field| field.id.bit() & of_the_body == 0);
        fetched.length = BodyLength::None;
        relay::head_alone(self, &fetched).await?;
        if is_whole {
            fetched.origin.release(self.snapshot, self.now_ms());
        }
        Ok(())
    }

    pub(crate) fn not_stored(&mut self, refusal: Refusal, purpose: &mut Purpose) {
        self.outcome.detail = refusal.as_str();
        self.worker.stats.increment(Counter::NotStored);
        let Some(lead) = purpose.lead.take() else {
            return;
        };
        match (refusal, self.outcome.origin_status) {
            // That says something of this request, nothing of the key: the next one takes over.
            (Refusal::RequestNoStore | Refusal::Authorization | Refusal::Method, _) => drop(lead),
            // An origin in trouble is not asked by all who wait at once.
            (_, status @ (500 | 502 | 503 | 504)) => lead.failed(status, ORIGIN_ERROR),
            _ => {
                let shun = self.snapshot.settings.cache.hit_for_miss;
                lead.not_shared(self.now_ms(), shun.as_millis() as u64);
            }
        }
    }

    pub(crate) fn assess(&self, fetched: &Fetched) -> Result<Terms, Refusal> {
        let head = &fetched.origin.head;
        let located = head.fields.get(FieldId::ContentLocation);
        let located_here = located
            .and_then(|reference| self.resolve(reference))
            .is_some_and(|target| target == self.request.target);
        let arrival = Arrival {
            method: &self.request.head.method,
            request: &self.request.head.fields,
            response: head,
            located_here,
            request_ms: self.asked_ms,
            response_ms: self.now_ms(),
            policy: self.policy,
            device: &self.snapshot.settings.server.name,
        };
        let terms = terms::assess(&arrival)?;
        if Selector::of(&head.fields, &self.request.head.fields, self.policy).is_err() {
            return Err(Refusal::Vary);
        }
        let on_disk = self.worker.cache().disk();
        let most = self
            .snapshot
            .settings
            .cache
            .max_object_bytes
            .max(on_disk.map_or(0, |disk| disk.object_bytes()));
        let too_large = |bytes| bytes > most;
        match fetched.length {
            BodyLength::Length(bytes) if too_large(bytes) => Err(Refusal::Size),
            _ if !fetched.upload.is_done() => Err(Refusal::Method),
            _ => Ok(terms),
        }
    }

    /// Everything of a new object but its body.
    pub(crate) fn draft<'r>(
        &self,
        head: &'r ResponseHead,
        terms: Terms,
        withheld: &'r [Box<str>],
        content: Content,
    ) -> Draft<'r> {
        let fields = &self.request.head.fields;
        let selector = Selector::of(&head.fields, fields, self.policy)
            .ok()
            .flatten();
        Draft {
            response: head,
            terms,
            selector,
            url: Url::new(&self.request.authority, &self.request.target),
            tags: self.tags(head),
            asked: self.asked_purges,
            withheld,
            stamp: None,
            content,
        }
    }

    /// What a shared cache does not keep of a response.
    pub(crate) fn withheld(&self, head: &ResponseHead) -> Vec<Box<str>> {
        let device = &self.snapshot.settings.server.name;
        terms::withheld(&head.fields, self.policy, device)
    }

    /// Fields that are not stored still belong to the client whose request brought them.
    fn keep_for_client(&mut self, head: &ResponseHead, withheld: &[Box<str>]) {
        for name in withheld {
            for value in head.fields.named(name.as_bytes()) {
                forebay_http::fields::write_line(&mut self.extra, name.as_bytes(), value);
            }
        }
    }

    /// Its cache groups, and the tags that the fields for tags name.
    fn tags(&self, head: &ResponseHead) -> Box<[u64]> {
        let purges = self.worker.cache().purges();
        let mut tags = Vec::new();
        if head.fields.has(FieldId::CacheGroups) {
            let groups = head.fields.all(FieldId::CacheGroups);
            let names = targeted::parse_string_list(groups, MOST_GROUPS).unwrap_or_default();
            let origin = Some(&self.request.authority[..]);
            tags.extend(names.iter().map(|name| purges.tag(origin, name)));
            // An operator may name a group as a tag, without saying whose it is.
            tags.extend(names.iter().map(|name| purges.tag(None, name)));
        }
        for field in &self.snapshot.settings.cache.tag_fields {
            for value in head.fields.named(field.as_bytes()) {
                tags.extend(tag_words(value).map(|word| purges.tag(None, word)));
            }
        }
        tags.sort_unstable();
        tags.dedup();
        tags.into()
    }

    pub(crate) fn key(&self) -> Key<'_> {
        self.worker.cache().key(&self.request.key)
    }

    /// The origin confirmed the object: it gets a newer head and the client the object.
    fn revalidated(
        &mut self,
        fetched: Fetched,
        purpose: &mut Purpose,
        known: &Arc<Object>,
    ) -> Step {
        let merged = merge::updated(&known.parsed_head(), &fetched.origin.head);
        let changed_meanwhile = purpose.lead.as_ref().is_some_and(Lead::is_outdated)
            || (self.worker.cache().is_invalid(known) && !purpose.was_invalid);
        let arrival = Arrival {
            method: &Method::Get,
            request: &self.request.head.fields,
            response: &merged,
            located_here: false,
            request_ms: self.asked_ms,
            response_ms: self.now_ms(),
            policy: self.policy,
            device: &self.snapshot.settings.server.name,
        };
        let assessed = terms::assess(&arrival);
        self.outcome.part = Part::Revalidated;
        let Some(body) = known.whole() else {
            return Step::Finish;
        };
        let content = Content::Whole(Arc::clone(body));
        let object = match assessed {
            Ok(terms) if !changed_meanwhile => {
                let withheld = self.withheld(&merged);
                self.keep_for_client(&merged, &withheld);
                let draft = self.draft(&merged, terms, &withheld, content);
                self.outcome.stored = true;
                let object = self.worker.cache().refresh(known, &self.key(), draft);
                crate::coding::carry(self.worker, known, &object);
                if let Some(lead) = purpose.lead.take() {
                    lead.stored(&object);
                }
                object
            }
            // Valid for this client, with all that was said to it, and for nobody else.
            assessed => {
                let about_request = matches!(
                    assessed,
                    Err(Refusal::RequestNoStore | Refusal::Authorization)
                );
                if changed_meanwhile || !about_request {
                    self.worker.cache().remove(known);
                }
                let terms = terms::of(&arrival);
                if let Err(refusal) = assessed {
                    self.not_stored(refusal, purpose);
                }
                let draft = self.draft(&merged, terms, &[], content);
                self.worker.cache().unstored(&self.key(), draft)
            }
        };
        fetched.origin.release(self.snapshot, self.now_ms());
        Step::Hit(object, Serving::Fresh)
    }

    /// Stores a response and delivers it, while it grows if it is not here yet.
    async fn store(
        &mut self,
        fetched: Fetched,
        purpose: &mut Purpose,
        terms: Terms,
    ) -> Result<Step, Failure> {
        let budget = self.worker.cache().budget();
        let mut origin = fetched.origin;
        let expected = match fetched.length {
            BodyLength::Length(bytes) => Some(bytes),
            BodyLength::None => Some(0),
            BodyLength::Chunked | BodyLength::UntilClose => None,
        };
        let at_hand = origin
            .body_at_hand()
            .map(|bytes| Body::complete(budget, &[bytes]));
        let (writer, body) = match at_hand {
            Some(body) => (None, body),
            None => {
                let (writer, body) = Body::growing(budget, expected, None);
                (Some(writer), body)
            }
        };
        let head = std::mem::take(&mut origin.head);
        let withheld = self.withheld(&head);
        self.keep_for_client(&head, &withheld);
        let draft = self.draft(&head, terms, &withheld, Content::Whole(body));
        self.outcome.stored = purpose.lead.as_ref().is_none_or(|lead| !lead.is_outdated());
        let limits = &self.snapshot.cache_limits;
        let lead = purpose.lead.take();
        let (object, evicted) = self
            .worker
            .cache()
            .publish(&self.key(), draft, lead, limits);
        self.worker.stats.add(Counter::Evicted, evicted);
        self.worker.stats.increment(Counter::Stored);
        match writer {
            None => {
                origin.take_body_at_hand();
                origin.release(self.snapshot, self.now_ms());
                self.deliver(&object).await
            }
            Some(writer) => {
                let fill = Fill {
                    worker: Rc::clone(self.worker),
                    snapshot: Rc::clone(self.snapshot),
                    origin,
                    writer,
                    object: Arc::clone(&object),
                    key: self.request.key[..].into(),
                    tail: Bytes::new(),
                };
                fill.spawn();
                if self.client.wants_nothing() {
                    return Ok(Step::Finish);
                }
                self.deliver(&object).await
            }
        }
    }
}

/// Calls a whole response the range from its start on, as which it was asked for (RFC 9110 section
/// 14.4).
fn name_range(fetched: &mut Fetched) {
    let BodyLength::Length(complete @ 1..) = fetched.length else {
        return;
    };
    let head = &mut fetched.origin.head;
    if head.status != 200 {
        return;
    }
    (head.status, head.reason) = (206, b"Partial Content".to_vec());
    let mut value = Vec::new();
    let range = ContentRange {
        range: Some((0, complete - 1)),
        complete: Some(complete),
    };
    range.write(&mut value);
    head.fields.push(FieldId::ContentRange, &value);
}
