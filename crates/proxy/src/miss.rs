//! Miss, Pass and Upgrade: the steps that ask the origin.
//!
//! What becomes of a response is decided in `Exchange::arrived`:
//!
//! ```text
//!  304 to our own condition ─▶ the object with a newer head
//!  a server error, and an object that may stand in ─▶ that object, stale
//!  206 to our own range ─▶ combined with the parts we have, else asked again whole
//!  may be stored ─▶ a new object, delivered while it grows
//!  else ─▶ relayed to this client alone
//! ```

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use forebay_cache::flight::{Landing, Lead};
use forebay_cache::{Object, Turn};
use forebay_config::settings::Protocol;
use forebay_http::Method;
use forebay_http::fields::{FieldId, set};
use forebay_http::framing::BodyLength;
use forebay_stats::{Counter, Timing};

use crate::client::Client;
use crate::exchange::{Exchange, Missing, Step};
use crate::failure::{Failure, OriginFailure};
use crate::fetch::{self, Fetch, Fetched};
use crate::forward::{BodyFraming, Changes};
use crate::h1::H1;
use crate::outcome::Part;
use crate::tunnel;

/// How often an exchange may find that an object it waited for is not one it can use.
const MOST_TURNS: usize = 4;

const UNASKED_RANGE: &str = "an answer to a range that was not asked for";

const VALIDATING: u64 = set(&[FieldId::Range, FieldId::IfRange]);

/// What a fetch is for.
pub(crate) struct Purpose {
    /// Those who wait for it.
    pub(crate) lead: Option<Lead>,
    /// The object that needs the origin's word, or has parts of the body.
    pub(crate) known: Option<Arc<Object>>,
    /// The response may be stored.
    pub(crate) store: bool,
    /// What was changed in the request.
    pub(crate) changes: Changes,
    /// `known` was known to be outdated when it was asked for.
    pub(crate) was_invalid: bool,
}

impl<C: Client> Exchange<'_, C> {
    /// Gets what is missing: waits for another's fetch, or fetches.
    pub(crate) async fn miss(&mut self, missing: Missing) -> Result<Step, Failure> {
        if missing.known.is_none()
            && self.is_for_itself()
            && self.may_be_on_disk()
            && let Some(object) = self.recall(&mut None).await
            && let Step::Hit(object, serving) = self.judge(object)
        {
            return Ok(Step::Hit(object, serving));
        }
        self.outcome.forwarded = missing.forwarded;
        if self.directives.only_if_cached {
            self.outcome.part = Part::Miss;
            return Err(OriginFailure::Shared {
                status: 504,
                reason: "not cached",
            }
            .into());
        }
        if self.request.head.method == Method::Head {
            return match missing.known.filter(|known| known.whole().is_some()) {
                Some(known) => self.validate_for_head(known).await,
                None => self.pass(missing.forwarded).await,
            };
        }
        let mut known = missing.known;
        if missing.shunned && !self.is_own(None) {
            self.outcome.part = Part::HitForMiss;
            return self.fetch_missing(None, None).await;
        }
        for _ in 0..MOST_TURNS {
            let landing = match self.turn(known.as_ref()) {
                Turn::Lead(lead) => {
                    let mut lead = Some(lead);
                    if known.is_none()
                        && self.may_be_on_disk()
                        && let Some(object) = self.recall(&mut lead).await
                    {
                        match self.judge(object) {
                            Step::Miss(found) => {
                                self.outcome.forwarded = found.forwarded;
                                self.outcome.detail = "";
                                known = found.known;
                                continue;
                            }
                            step => {
                                self.outcome.forwarded = "";
                                return Ok(step);
                            }
                        }
                    }
                    return self.fetch_missing(lead, known).await;
                }
                Turn::Shunned => {
                    self.outcome.part = Part::HitForMiss;
                    return self.fetch_missing(None, known).await;
                }
                Turn::Alone => return self.fetch_missing(None, known).await,
                Turn::Landed(object) => Landing::Stored(object),
                Turn::Wait(waiter) => waiter.landed().await,
            };
            // Time has passed: an object must be judged by the clock of its arrival.
            self.moment = self.worker.now();
            match landing {
                Landing::Stored(object) => {
                    let selects = object.selects(&self.request.head.fields, self.policy);
                    if let Some(step) = self.judge_landed(Arc::clone(&object)) {
                        return Ok(step);
                    }
                    if selects && object.whole().is_some() {
                        // It needs the origin's word each time: nobody waits for others' words.
                        return self.fetch_missing(None, Some(object)).await;
                    }
                    known = self.find_again();
                }
                Landing::NotShared => {
                    self.outcome.part = Part::HitForMiss;
                    return self.fetch_missing(None, known).await;
                }
                Landing::Failed { status, reason } => {
                    self.outcome.part = Part::Miss;
                    self.outcome.collapsed = true;
                    let failure = OriginFailure::Shared { status, reason };
                    return self.failed(failure.into(), known.as_ref());
                }
                Landing::Abandoned => {}
            }
        }
        self.fetch_missing(None, known).await
    }

    /// Answers a HEAD whose object is stale: with the object if the origin confirms it, or if it
    /// may stand in, else with the origin's own answer, which has no body to store.
    async fn validate_for_head(&mut self, known: Arc<Object>) -> Result<Step, Failure> {
        self.outcome.part = Part::Miss;
        let mut purpose = Purpose {
            lead: None,
            changes: changes_for(Some(&known), false),
            was_invalid: self.worker.cache().is_invalid(&known),
            known: Some(known),
            store: false,
        };
        match self.ask(&purpose.changes, true).await {
            Ok(fetched) => match self.arrived(fetched, &mut purpose).await? {
                Some(step) => Ok(step),
                None => Err(OriginFailure::Invalid(UNASKED_RANGE).into()),
            },
            Err(failure) => self.failed(failure, purpose.known.as_ref()),
        }
    }

    /// Whether the response is no one else's: a range nobody has, what credentials may make
    /// different, or what the client wants nobody to keep.
    fn is_own(&self, known: Option<&Arc<Object>>) -> bool {
        let fields = &self.request.head.fields;
        self.directives.no_store
            || fields.has(FieldId::Authorization)
            || (fields.has_any(VALIDATING)
                && known.is_none_or(|known| known.whole().is_none())
                && !(known.is_none() && self.asks_from_the_start()))
    }

    /// Whether the range asked for is everything, as players ask first of all.
    pub(crate) fn asks_from_the_start(&self) -> bool {
        let fields = &self.request.head.fields;
        fields.only(FieldId::Range) == Some(b"bytes=0-") && !fields.has(FieldId::IfRange)
    }

    /// Whether nobody else's fetch would do: what is on disk is looked for without a turn.
    fn is_for_itself(&self) -> bool {
        self.request.head.method == Method::Head
            || self.directives.only_if_cached
            || self.is_own(None)
    }

    fn turn(&self, known: Option<&Arc<Object>>) -> Turn {
        if self.is_own(known) && !self.is_being_fetched(known) {
            return Turn::Alone;
        }
        let cache = self.worker.cache();
        let key = cache.key(&self.request.key);
        cache.turn(
            &key,
            &self.request.head.fields,
            self.policy,
            known,
            self.now_ms(),
            &self.snapshot.cache_limits,
        )
    }

    fn is_being_fetched(&self, known: Option<&Arc<Object>>) -> bool {
        let cache = self.worker.cache();
        known.is_none()
            && !self.request.head.fields.has(FieldId::Authorization)
            && cache.is_being_fetched(&cache.key(&self.request.key))
    }

    /// The step that an object brought by another's fetch leads to, if it is of use.
    fn judge_landed(&mut self, object: Arc<Object>) -> Option<Step> {
        if !object.selects(&self.request.head.fields, self.policy) {
            return None;
        }
        match self.judge(object) {
            Step::Hit(object, serving) => {
                self.outcome.part = Part::Coalesced;
                self.outcome.collapsed = true;
                Some(Step::Hit(object, serving))
            }
            _ => None,
        }
    }

    fn find_again(&self) -> Option<Arc<Object>> {
        let cache = self.worker.cache();
        let key = cache.key(&self.request.key);
        match cache.find(&key, &self.request.head.fields, self.policy) {
            forebay_cache::Found::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Fetches for the cache and this client.
    async fn fetch_missing(
        &mut self,
        lead: Option<Lead>,
        known: Option<Arc<Object>>,
    ) -> Result<Step, Failure> {
        if self.outcome.part == Part::None {
            self.outcome.part = Part::Miss;
        }
        let mut changes = changes_for(
            known.as_deref(),
            self.request.head.fields.has(FieldId::Range),
        );
        if self.outcome.part == Part::HitForMiss && known.is_none() {
            // Most likely it is not stored: the client's conditions are the origin's to judge.
            changes.unconditional = false;
        } else if known.is_none() && self.asks_from_the_start() {
            changes.whole = true;
        }
        let was_invalid = known
            .as_ref()
            .is_some_and(|known| self.worker.cache().is_invalid(known));
        let mut purpose = Purpose {
            lead,
            known,
            store: true,
            changes,
            was_invalid,
        };
        loop {
            match self.ask(&purpose.changes, false).await {
                Ok(fetched) => match self.arrived(fetched, &mut purpose).await? {
                    Some(step) => return Ok(step),
                    // The parts did not fit together: now the whole.
                    None => purpose.changes = changes_for(None, false),
                },
                Err(failure) => {
                    if let (Failure::Origin(failure), Some(lead)) = (failure, purpose.lead.take()) {
                        failure.tell(lead);
                    }
                    return self.failed(failure, purpose.known.as_ref());
                }
            }
        }
    }

    /// What a failed fetch leads to: an object that may stand in, or the error.
    pub(crate) fn failed(
        &mut self,
        failure: Failure,
        known: Option<&Arc<Object>>,
    ) -> Result<Step, Failure> {
        let Failure::Origin(origin) = failure else {
            return Err(failure);
        };
        if let Some(object) = known.filter(|object| self.may_stand_in(object)) {
            self.outcome.part = Part::StaleOnError;
            self.outcome.detail = origin.reason();
            return Ok(Step::Hit(
                Arc::clone(object),
                forebay_cache::terms::Serving::StaleAccepted,
            ));
        }
        // RFC 9111 section 5.2.2.2: an object that must not be used unvalidated is answered with 504.
        let must = known.is_some_and(|object| object.terms.never_stale && object.whole().is_some());
        if must && origin.status() == 502 {
            return Err(OriginFailure::Shared {
                status: 504,
                reason: origin.reason(),
            }
            .into());
        }
        Err(failure)
    }

    /// Whether a stale object may be served because the origin failed (RFC 5861 section 4).
    pub(crate) fn may_stand_in(&self, object: &Object) -> bool {
        object.whole().is_some_and(|body| body.is_complete())
            && !self.worker.cache().is_invalid(object)
            && object
                .terms
                .may_replace_error(self.now_ms(), &self.directives)
    }

    /// Sends the request to the origin and waits for the head of its response.
    pub(crate) async fn ask(&mut self, changes: &Changes, own: bool) -> Result<Fetched, Failure> {
        forebay_http::framing::remove_hop_by_hop(&mut self.request.head.fields);
        self.edit_request();
        let asked = self.moment;
        self.asked_purges = self.worker.cache().purges().moment();
        let pool = self.pool()?;
        let mut changes = Cow::Borrowed(changes);
        let cgi = match pool.settings.protocol {
            Protocol::Http => None,
            _ => Some(self.settle(pool)?),
        };
        let kept = match changes.body {
            None => None,
            Some(_) => self.keep_body(pool, &mut changes).await?,
        };
        let fetch = Fetch {
            worker: self.worker,
            snapshot: self.snapshot,
            pool,
            request: self.request,
            service: &self.location.service,
            peer: &self.peer,
            cgi: cgi.as_ref(),
            changes: &changes,
            kept: kept.as_ref(),
            // What is told an application, or kept, may have had to be waited for.
            began: match cgi.is_some() || kept.is_some() {
                true => self.worker.now(),
                false => asked,
            },
            own,
        };
        let fetched = fetch::run(&fetch, self.client).await;
        if let Some(cgi) = cgi {
            cgi.end(self.worker);
        }
        self.moment = match &fetched {
            Ok(fetched) => fetched.came,
            Err(_) => self.worker.now(),
        };
        let waited_us = self.moment.us - asked.us;
        self.outcome.upstream_us += waited_us;
        let fetched = fetched?;
        self.worker.stats.record(Timing::OriginFirstByte, waited_us);
        self.asked_ms = asked.unix_ms;
        self.outcome.upstream = Some(Arc::clone(fetched.origin.label()));
        self.outcome.origin_status = fetched.origin.head.status;
        Ok(fetched)
    }

    /// Asks for this client alone.
    pub(crate) async fn pass(&mut self, why: &'static str) -> Result<Step, Failure> {
        self.outcome.part = if why == "uri-miss" || why == "vary-miss" || why == "stale" {
            Part::Miss
        } else {
            Part::Pass
        };
        self.outcome.forwarded = why;
        let changes = Changes {
            body: self.body_framing(),
            expect_continue: self.request.head.fields.has(FieldId::Expect)
                && self.client.has_more_body(),
            ..Changes::default()
        };
        let store = self.request.head.method == Method::Post && !self.policy.pass;
        if store {
            self.write_key();
        }
        let fetched = self.ask(&changes, true).await?;
        let mut purpose = Purpose {
            lead: None,
            known: None,
            store,
            changes,
            was_invalid: false,
        };
        match self.arrived(fetched, &mut purpose).await? {
            Some(step) => Ok(step),
            None => Err(OriginFailure::Invalid(UNASKED_RANGE).into()),
        }
    }

    fn body_framing(&self) -> Option<BodyFraming> {
        match self.client.body_length() {
            BodyLength::Length(bytes) => Some(BodyFraming::Length(bytes)),
            BodyLength::Chunked => Some(BodyFraming::Chunked),
            BodyLength::None | BodyLength::UntilClose => None,
        }
    }

    /// Begins to fetch a stale object anew behind the answer, unless that is under way.
    pub(crate) fn refresh_behind(&self, object: &Arc<Object>) {
        let cache = self.worker.cache();
        let Some(lead) = cache.refresh_turn(&cache.key(&self.request.key), object) else {
            return;
        };
        self.worker.stats.increment(Counter::BackgroundFetches);
        let refresh = crate::refresh::Refresh {
            worker: Rc::clone(self.worker),
            snapshot: Rc::clone(self.snapshot),
            request: self.request.copied(),
            peer: Rc::clone(&self.peer),
            location: self.location.number,
            known: Arc::clone(object),
            lead,
        };
        refresh.spawn();
    }
}

impl Exchange<'_, H1> {
    /// Asks the origin to change the protocol, and becomes a tunnel if it does.
    pub(crate) async fn upgrade(&mut self) -> Result<Step, Failure> {
        self.outcome.part = Part::Pass;
        self.outcome.forwarded = "bypass";
        let protocols: Vec<&[u8]> = self.request.head.fields.all(FieldId::Upgrade).collect();
        let changes = Changes {
            upgrade: Some(protocols.join(&b", "[..])),
            body: self.body_framing(),
            ..Changes::default()
        };
        let mut fetched = self.ask(&changes, true).await?;
        let mut purpose = Purpose {
            lead: None,
            known: None,
            store: false,
            changes,
            was_invalid: false,
        };
        if fetched.origin.head.status != 101 {
            return match self.arrived(fetched, &mut purpose).await? {
                Some(step) => Ok(step),
                None => Err(OriginFailure::Invalid(UNASKED_RANGE).into()),
            };
        }
        self.worker.stats.increment(Counter::Upgrades);
        self.outcome.status = 101;
        let head = &fetched.origin.head;
        let out = self.client.head();
        forebay_cache::object::write_status_line(101, &head.reason, out);
        // Nothing ends with this hop: what makes the upgrade are such fields.
        head.fields.write_to(out);
        out.extend_from_slice(fetched.sticky.as_deref().unwrap_or_default());
        self.client.end_upgrade_head();
        fetch::flush(self.client, self.snapshot).await?;
        let idle = self.snapshot.settings.timeouts.tunnel;
        let timer = self.client.timer().another();
        let carried =
            tunnel::run(&timer, idle, self.client.tunnel(), fetched.origin.tunnel()).await;
        self.outcome.body_bytes = carried.down;
        self.client.end_tunnel(carried.is_whole);
        Ok(Step::Finish)
    }
}

/// What to change in the request, given what is known already.
pub(crate) fn changes_for(known: Option<&Object>, asks_range: bool) -> Changes {
    let mut changes = Changes {
        unconditional: true,
        normalize: true,
        ..Changes::default()
    };
    let Some(known) = known else { return changes };
    match &known.content {
        forebay_cache::object::Content::Whole(_) => {
            changes.whole = true;
            changes.if_none_match = known.etag().map(<[u8]>::to_vec);
            changes.if_modified_since = known.terms.last_modified.map(|seconds| {
                let mut date = Vec::new();
                forebay_http::date::write(seconds, &mut date);
                date
            });
        }
        forebay_cache::object::Content::Ranges(ranges) if !asks_range => {
            let missing = ranges.missing();
            changes.range = Some(forebay_cache::ranges::request_value(
                &missing,
                ranges.complete_len(),
            ));
            changes.if_range = known.strong_etag().map(<[u8]>::to_vec);
        }
        forebay_cache::object::Content::Ranges(_) | forebay_cache::object::Content::File(..) => {}
    }
    changes
}
