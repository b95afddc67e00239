//! Partial responses (RFC 9111 sections 3.3 and 3.4): ranges that are stored,
//! and the fetch that completes them.

use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use forebay_cache::body::Body;
use forebay_cache::object::Content;
use forebay_cache::terms::{Refusal, Serving, Terms};
use forebay_cache::{Object, merge};
use forebay_http::ResponseHead;
use forebay_http::fields::FieldId;
use forebay_http::framing::BodyLength;
use forebay_http::range::ContentRange;
use forebay_stats::Counter;

use crate::client::Client;
use crate::exchange::{Exchange, Step};
use crate::failure::Failure;
use crate::fetch::Fetched;
use crate::fill::Fill;
use crate::miss::Purpose;
use crate::relay;

impl<C: Client> Exchange<'_, C> {
    /// Relays a 206 and stores its range when it came whole.
    pub(crate) async fn store_range(
        &mut self,
        fetched: Fetched,
        purpose: &mut Purpose,
        terms: Terms,
    ) -> Result<Step, Failure> {
        let Some((first, last, complete)) = stated_range(&fetched.origin.head) else {
            self.not_stored(Refusal::Status, purpose);
            relay::run(self, fetched, None).await?;
            return Ok(Step::Finish);
        };
        if let Some(lead) = purpose.lead.take() {
            lead.not_shared(self.now_ms(), 0);
        }
        let head = fetched.origin.head.clone();
        let most = self.snapshot.settings.cache.max_object_bytes;
        self.outcome.stored = last - first < most;
        let capture = self.outcome.stored.then_some(most);
        let body = relay::run(self, fetched, capture).await?;
        if let Some(bytes) = body.filter(|bytes| bytes.len() as u64 == last - first + 1) {
            let withheld = self.withheld(&head);
            let empty = Body::complete(self.worker.cache().budget(), &[]);
            let draft = self.draft(&head, terms, &withheld, Content::Whole(empty));
            let evicted = self.worker.cache().publish_range(
                &self.key(),
                draft,
                (complete, first, Bytes::from(bytes)),
                (&self.request.head.fields, self.policy),
                &self.snapshot.cache_limits,
            );
            self.worker.stats.add(Counter::Evicted, evicted);
            self.worker.stats.increment(Counter::StoredPartial);
        }
        Ok(Step::Finish)
    }

    /// Puts the rest of a body to the parts that are stored (RFC 9111 section 3.4). `None`
    /// when the parts do not belong together.
    pub(crate) fn complete(
        &mut self,
        fetched: Fetched,
        purpose: &mut Purpose,
        known: &Arc<Object>,
    ) -> Option<Step> {
        let Content::Ranges(ranges) = &known.content else {
            return None;
        };
        let head = &fetched.origin.head;
        let missing = ranges.missing();
        let content_range = head
            .fields
            .get(FieldId::ContentRange)
            .and_then(ContentRange::parse)?;
        let same = known
            .strong_etag()
            .is_some_and(|etag| head.fields.get(FieldId::ETag) == Some(etag));
        let bytes = missing.end - missing.start;
        let fits = fetched.length == BodyLength::Length(bytes)
            && content_range.range == Some((missing.start, missing.end - 1))
            && content_range.complete == Some(ranges.complete_len());
        if !same || !fits {
            return None;
        }
        let mut merged = merge::updated(&known.parsed_head(), head);
        merged.status = 200;
        merged.reason = b"OK".to_vec();
        let mut probe = Fetched {
            length: BodyLength::Length(ranges.complete_len()),
            ..fetched
        };
        let fetched_head = std::mem::replace(&mut probe.origin.head, merged);
        let terms = self.assess(&probe).ok()?;
        let merged = std::mem::replace(&mut probe.origin.head, fetched_head);
        let budget = self.worker.cache().budget();
        let (mut writer, body) = Body::growing(budget, Some(ranges.complete_len()), None);
        writer.append(&ranges.bytes_of(&(0..missing.start)).unwrap_or_default());
        let tail = ranges
            .bytes_of(&(missing.end..ranges.complete_len()))
            .unwrap_or_default();
        let withheld = self.withheld(&merged);
        let draft = self.draft(&merged, terms, &withheld, Content::Whole(body));
        let (object, _) = self.worker.cache().publish(
            &self.key(),
            draft,
            purpose.lead.take(),
            &self.snapshot.cache_limits,
        );
        self.outcome.stored = true;
        self.worker.stats.increment(Counter::Stored);
        Fill {
            worker: Rc::clone(self.worker),
            snapshot: Rc::clone(self.snapshot),
            origin: probe.origin,
            writer,
            object: Arc::clone(&object),
            key: self.request.key[..].into(),
            tail,
        }
        .spawn();
        Some(Step::Hit(object, Serving::Fresh))
    }
}

/// First and last byte and whole length of a response with one range.
fn stated_range(head: &ResponseHead) -> Option<(u64, u64, u64)> {
    let mut values = head.fields.all(FieldId::ContentRange);
    let (Some(value), None) = (values.next(), values.next()) else {
        return None;
    };
    let content_range = ContentRange::parse(value)?;
    let (first, last) = content_range.range?;
    Some((first, last, content_range.complete?))
}
