//! One exchange, from first byte to last: the table of contents of the proxy.
//!
//! ```text
//!  Receive ─▶ Route ─▶ Lookup ─▶ Hit ───────────────────────────▶ Finish
//!                │        │   (Rules ─▶ answered | Lookup, where a location has any)
//!                │        │   (File ─▶ Hit | sent from disk | Lookup, where files are served)
//!                │        ├─▶ Miss ─▶ (wait | Fetch) ─▶ Deliver ───▲
//!                │        └─▶ Pass ─▶ Fetch ─────────▶ Deliver ────┤
//!                ├─▶ Upgrade ─▶ tunnel ────────────────────────────┤
//!                ├─▶ Join (a back end; the connection leaves HTTP) ┤
//!                └─▶ Purge ────────────────────────────────────────┘
//! ```
//!
//! One function for each step, here or named here:
//!
//! - Receive: [`serve`], over `h1.rs`
//! - Route: `route.rs`
//! - Rules: `rules/`, where a location has any; before all that follows
//! - File: `files/`, where a location has files; before Lookup
//! - Lookup, Hit: here
//! - Miss, Pass, Upgrade: `miss.rs`, with `fetch.rs`, and `arrive.rs` for what
//!   becomes of the response (`partial.rs`, `invalidate.rs`, `fill.rs`, `relay.rs`)
//! - Join: `join_step.rs`
//! - Purge: `purge_step.rs`
//! - Deliver: `deliver.rs`, with `recall.rs` for what lies on disk
//! - Finish: here
//!
//! A hit is decided and written without waiting, unless the client is slow to
//! take it; it allocates nothing.

use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use forebay_cache::purge::Verdict;
use forebay_cache::terms::{Doubt, Serving};
use forebay_cache::{Found, Object};
use forebay_config::settings::Policy;
use forebay_http::Method;
use forebay_http::cache_control::RequestDirectives;
use forebay_http::fields::{FieldId, set};
use forebay_http::framing::remove_hop_by_hop;
use forebay_rules::Held as ClientPlace;
use forebay_stats::{Counter, Timing};
use forebay_stream::Stream;
use forebay_upstream::Pool;

use crate::access::Record;
use crate::answer::{self, Answer};
use crate::cgi;
use crate::client::Client;
use crate::crowd::Counted;
use crate::failure::{Failure, Refused};
use crate::fetch;
use crate::forward::Peer;
use crate::h1::{H1, Received};
use crate::join_step;
use crate::location::Location;
use crate::moment::Moment;
use crate::outcome::{Outcome, Part};
use crate::purge_step::is_purge;
use crate::snapshot::Held;
use crate::worker::{Request, Worker};

/// One request and everything known of it so far.
pub(crate) struct Exchange<'a, C> {
    pub(crate) worker: &'a Rc<Worker>,
    pub(crate) snapshot: &'a Rc<Held>,
    pub(crate) client: &'a mut C,
    pub(crate) request: &'a mut Request,
    pub(crate) peer: Rc<Peer>,
    /// What holds for it.
    pub(crate) location: &'a Location,
    /// The location's.
    pub(crate) policy: &'a Policy,
    /// The request's own terms; none unless the policy heeds them.
    pub(crate) directives: RequestDirectives,
    pub(crate) started: Moment,
    /// The moment its decisions are made by, on both clocks; it moves on after each wait.
    pub(crate) moment: Moment,
    /// When the origin was last asked, in milliseconds since the epoch.
    pub(crate) asked_ms: u64,
    /// How many purges there had been then.
    pub(crate) asked_purges: u64,
    pub(crate) outcome: Outcome,
    /// Field lines for this client that the object does not have.
    pub(crate) extra: Vec<u8>,
    /// Its place among the requests of its client at once.
    pub(crate) held: Option<ClientPlace>,
    /// What the rules put into the request, until it is in it.
    pub(crate) request_lines: Option<Vec<(Vec<u8>, Vec<u8>)>>,
    /// Lines of the origin's answer that stay when a page takes its place.
    pub(crate) kept: Vec<u8>,
    /// Who was let in by name and password.
    pub(crate) user: Option<Box<[u8]>>,
    /// The page of an error, in place of those by status.
    pub(crate) page: Option<(Arc<Bytes>, &'static str)>,
}

/// What comes next.
#[derive(Debug)]
pub(crate) enum Step {
    /// Apply what the location says of requests before they are looked up.
    Rules,
    /// Look for a file; what is in memory of it must be looked at before it is used.
    File(Option<Arc<Object>>),
    /// Look for it in the cache.
    Lookup,
    /// Answer with this object; a refresh behind the answer is due if it is stale.
    Hit(Arc<Object>, Serving),
    /// Ask the origin, for all who ask for the same.
    Miss(Missing),
    /// Ask the origin, for this client alone; the reason is RFC 9211's.
    Pass(&'static str),
    /// Become a tunnel, if the origin agrees.
    Upgrade,
    /// Become a connection of a pool: the client is a back end.
    Join,
    /// Purge what the request says.
    Purge,
    /// Done; the connection is at the start of a message again.
    Finish,
}

/// What the cache has instead of an answer.
#[derive(Debug, Default)]
pub(crate) struct Missing {
    /// An object that needs the origin's word, or that has only parts of the body.
    pub(crate) known: Option<Arc<Object>>,
    /// The reason to forward, in RFC 9211's words.
    pub(crate) forwarded: &'static str,
    /// Responses for this key were not shared lately: it is nobody's turn.
    pub(crate) shunned: bool,
}

impl Missing {
    /// Nothing that could be of use.
    pub(crate) fn nothing(forwarded: &'static str) -> Self {
        Self {
            forwarded,
            ..Self::default()
        }
    }
}

/// Serves one client connection until it ends. `is_introduced`: it begins with a header of the
/// PROXY protocol.
pub(crate) async fn serve(
    worker: &Rc<Worker>,
    stream: Stream,
    peer: Peer,
    number: u64,
    is_introduced: bool,
) {
    let mut client = H1::new(worker, stream, peer, number);
    if is_introduced && !client.receive_preface(&worker.snapshot()).await {
        return;
    }
    let Some(_counted) = Counted::of(worker, &client.peer()) else {
        return;
    };
    loop {
        if !client.wait(&worker.snapshot()).await {
            return;
        }
        let mut request = worker.take_request();
        let again = exchange(worker, &mut client, &mut request).await;
        worker.put_request(request);
        if let Some(joining) = client.take_joining() {
            return client.hand_over(*joining);
        }
        if !again || !client.rest().await {
            return;
        }
    }
}

/// Receives one request and answers it. False when there was none.
async fn exchange(worker: &Rc<Worker>, client: &mut H1, request: &mut Request) -> bool {
    let snapshot = worker.snapshot();
    let received = client.receive(&mut request.head, &snapshot).await;
    let moment = worker.now();
    let (peer, number) = (client.peer(), client.number());
    let refused = match received {
        Received::Request => {
            let refused = client.begin(&request.head, &snapshot).err();
            if refused.is_some() {
                request.forget_host();
            }
            refused
        }
        Received::Refused(refused) => {
            request.forget();
            client.begin_refusal();
            Some(refused)
        }
        Received::Nothing => return false,
    };
    worker.stats.increment(Counter::Requests);
    // A back end is for a pool, whatever host it names and whatever sites there are.
    let joins = refused.is_none() && join_step::wants_to_join(&request.head, &snapshot);
    let routed = match refused {
        Some(refused) => Err(refused),
        None if joins => {
            request.forget_host();
            request.target.clear();
            Ok(usize::MAX)
        }
        None => request.route(&snapshot, &peer),
    };
    let location = match routed {
        Ok(_) if joins => snapshot.locations.nowhere(),
        Ok(site) => snapshot
            .locations
            .find_for(site, &request.asked(&snapshot, &peer)),
        Err(_) => snapshot.locations.nowhere(),
    };
    let routed = routed.and_then(|_| client.limit_body(location.body_limit(&snapshot.settings)));
    let mut exchange = Exchange {
        worker,
        snapshot: &snapshot,
        client,
        request,
        peer,
        location,
        policy: &location.policy,
        directives: RequestDirectives::default(),
        started: moment,
        moment,
        asked_ms: 0,
        asked_purges: 0,
        outcome: Outcome::default(),
        extra: Vec::new(),
        held: None,
        request_lines: None,
        kept: Vec::new(),
        user: None,
        page: None,
    };
    if let Err(refused) = routed {
        let ended = Box::pin(exchange.refuse(refused)).await;
        exchange.finish(number, ended);
        return true;
    }
    let ended = exchange.run().await;
    exchange.finish(number, ended);
    true
}

/// Requests with one of these are not answered by the shortest path.
const SPECIAL: u64 = set(&[
    FieldId::Upgrade,
    FieldId::Cookie,
    FieldId::CacheControl,
    FieldId::Pragma,
    FieldId::Connection,
    FieldId::Forwarded,
    FieldId::XForwardedFor,
    FieldId::XForwardedHost,
    FieldId::XForwardedProto,
]);

impl Exchange<'_, H1> {
    /// The steps after Receive and Route, until Finish.
    async fn run(&mut self) -> Result<(), Failure> {
        let mut step = self.prepare();
        loop {
            step = match step {
                Step::Lookup => self.lookup(),
                Step::Hit(object, serving) => match self.hit(object, serving).await {
                    Ok(next) => next,
                    Err(failure) => return Box::pin(self.give_up(failure)).await,
                },
                Step::Finish => return Ok(()),
                // The rest of the machine is large and kept out of the connection's own size.
                rare => return Box::pin(self.run_slowly(rare)).await,
            };
        }
    }

    async fn run_slowly(&mut self, mut step: Step) -> Result<(), Failure> {
        loop {
            let done = match step {
                Step::Lookup => Ok(self.lookup()),
                Step::Hit(object, serving) => self.hit(object, serving).await,
                Step::Rules => self.apply_rules().await,
                Step::File(known) => self.file(known).await,
                Step::Miss(missing) => self.miss(missing).await,
                Step::Pass(why) => self.pass(why).await,
                Step::Upgrade => self.upgrade().await,
                Step::Join => self.join().await,
                Step::Purge => self.purge().await,
                Step::Finish => return Ok(()),
            };
            step = match done {
                Ok(next) => next,
                Err(failure) => return self.give_up(failure).await,
            };
        }
    }

    /// Answers with what went wrong, if there is someone to answer.
    async fn give_up(&mut self, failure: Failure) -> Result<(), Failure> {
        match failure {
            Failure::Client(refused) => self.refuse(refused).await,
            Failure::Origin(failure) => {
                self.outcome.detail = failure.reason();
                if failure.status() == 503
                    && let Ok(pool) = self.pool()
                {
                    let timeouts = &self.snapshot.settings.timeouts;
                    self.outcome.retry_after_s = pool.retry_after_s(timeouts);
                }
                let refused = Refused::new(failure.status(), failure.reason());
                self.refuse(refused).await
            }
            Failure::ClientGone => Err(Failure::ClientGone),
        }
    }
}

impl<'a, C: Client> Exchange<'a, C> {
    /// What comes after Route: the location's rules, where it has any.
    fn prepare(&mut self) -> Step {
        // Another surrogate, closer to the user, may be told more (W3C Edge Architecture).
        let is_surrogate = || self.request.head.fields.has(FieldId::SurrogateCapability);
        if self.location.heeds_surrogate_control && !is_surrogate() {
            self.client.hide_surrogate_control();
        }
        match self.location.rules {
            Some(_) => {
                self.heed_forwarding();
                Step::Rules
            }
            None => self.admit(),
        }
    }

    fn heed_forwarding(&mut self) {
        let server = &self.snapshot.settings.server;
        self.request.heed_forwarding(server, &self.peer);
    }

    /// Applies the policy to the request; decides whether it is a matter of the cache.
    pub(crate) fn admit(&mut self) -> Step {
        let head = &mut self.request.head;
        // For these the location's rules were passed by: they must not get any further.
        let purges = !head.method.is_get_or_head() && is_purge(&head.method);
        let mut upgrades = false;
        if head.fields.has_any(SPECIAL) {
            upgrades = !purges && crate::h1::wants_upgrade(head);
            if upgrades && join_step::wants_to_join(head, self.snapshot) {
                return Step::Join;
            }
            if !upgrades {
                // What the origin will not see must not choose what is stored for others.
                remove_hop_by_hop(&mut head.fields);
            }
            if self.location.rules.is_none() {
                self.heed_forwarding();
            }
            self.request.filter_cookies(self.policy);
            if self.policy.request_directives {
                self.directives = self.request.directives();
            }
        }
        if self.location.rules.is_some() {
            self.edit_request();
        }
        if purges {
            return Step::Purge;
        }
        if upgrades {
            return Step::Upgrade;
        }
        match &self.location.files {
            Some(place) => self.find_file(place),
            None => self.without_file(),
        }
    }

    /// What comes next where no file answers: the cache, or the origin past it.
    pub(crate) fn without_file(&mut self) -> Step {
        if !self.request.head.method.is_get_or_head() {
            return Step::Pass("method");
        }
        if self.policy.pass || (self.location.by_path && self.request.is_path_ambiguous()) {
            return Step::Pass("bypass");
        }
        if self.client.has_more_body() {
            return Step::Pass("request");
        }
        self.write_key();
        Step::Lookup
    }

    /// Asks the cache, and the object's terms.
    fn lookup(&mut self) -> Step {
        let cache = self.worker.cache();
        let key = cache.key(&self.request.key);
        match cache.find(&key, &self.request.head.fields, self.policy) {
            Found::Object(object) => self.judge(object),
            Found::OtherVariants => Step::Miss(Missing::nothing("vary-miss")),
            Found::Nothing => Step::Miss(Missing::nothing("uri-miss")),
            Found::Shunned { until_ms } => Step::Miss(Missing {
                shunned: until_ms > self.now_ms(),
                ..Missing::nothing("uri-miss")
            }),
        }
    }

    /// Whether an object was made of a file by the files of this location.
    #[cold]
    fn is_of_our_files(&self, object: &Object) -> bool {
        let files = self.location.files.as_ref();
        files.is_some_and(|place| place.is_of(object))
    }

    /// Whether this object answers this request.
    pub(crate) fn judge(&mut self, object: Arc<Object>) -> Step {
        if object.stamp().is_some() && !self.is_of_our_files(&object) {
            return Step::Miss(Missing::nothing("uri-miss"));
        }
        let mut serving = object.terms.serving(self.now_ms(), &self.directives);
        let miss = |object, forwarded| {
            Step::Miss(Missing {
                known: Some(object),
                ..Missing::nothing(forwarded)
            })
        };
        match self.worker.cache().verdict(&object) {
            Verdict::Current => {}
            // Served once more as it is, while it is fetched anew behind the answer.
            Verdict::Soft if serving == Serving::Fresh && !object.terms.never_stale => {
                serving = Serving::Grace;
            }
            Verdict::Soft if serving == Serving::Fresh => return miss(object, "stale"),
            Verdict::Soft => {}
            Verdict::Invalid => return miss(object, "stale"),
            Verdict::Gone => {
                self.worker.cache().remove_purged(&object);
                self.outcome.missed = Some(Counter::MissPurged);
                return Step::Miss(Missing::nothing("uri-miss"));
            }
        }
        if !object.terms.is_worth_keeping(self.now_ms()) {
            self.worker.cache().remove(&object);
            return Step::Miss(Missing::nothing("stale"));
        }
        match serving {
            Serving::Validate(Doubt::Request) => return miss(object, "request"),
            Serving::Validate(_) => return miss(object, "stale"),
            _ => {}
        }
        match object.whole() {
            Some(body) if body.is_windowed() || body.failed() => {
                Step::Miss(Missing::nothing("miss"))
            }
            Some(_) => Step::Hit(object, serving),
            None if self.is_covered(&object) => Step::Hit(object, serving),
            None => miss(object, "partial"),
        }
    }

    /// Answers from the cache.
    async fn hit(&mut self, object: Arc<Object>, serving: Serving) -> Result<Step, Failure> {
        object.touch();
        self.outcome.part = match (self.outcome.part, serving) {
            (Part::None, Serving::Fresh) => Part::Hit,
            (Part::None, _) => Part::Stale,
            (decided, _) => decided,
        };
        if serving == Serving::Grace {
            self.refresh_behind(&object);
        }
        self.deliver(&object).await
    }

    /// Answers with an error of ours.
    async fn refuse(&mut self, refused: Refused) -> Result<(), Failure> {
        let Refused { status, why } = refused;
        if self.outcome.status != 0 {
            // Another head is out already: this one would be taken for a part of its body.
            self.client.break_off();
            return Err(Failure::ClientGone);
        }
        self.worker.stats.increment(Counter::Synthesized);
        match status {
            408 => self.worker.stats.increment(Counter::RequestTimeouts),
            400..500 => self.worker.stats.increment(Counter::BadRequests),
            _ => {}
        }
        self.outcome.status = status;
        let mut extra = Vec::new();
        if self.policy.cache_status && self.outcome.part != Part::None {
            self.outcome
                .write_cache_status(&self.snapshot.settings.server.name, None, &mut extra);
        }
        if status == 405 && self.location.files.is_some() && self.location.pool.is_none() {
            extra.extend_from_slice(b"Allow: GET, HEAD\r\n");
        } else if self.kept.is_empty() {
            self.request
                .write_allow(self.snapshot, self.location.site, status, &mut extra);
        }
        if self.outcome.retry_after_s > 0 {
            let seconds = self.outcome.retry_after_s;
            let seconds = itoa::Buffer::new().format(seconds).to_owned();
            forebay_http::fields::write_line(&mut extra, b"Retry-After", seconds.as_bytes());
        }
        extra.append(&mut self.kept);
        let is_head = self.request.head.method == Method::Head;
        let was_understood = matches!(status, 200 | 401 | 403..=405 | 410 | 421 | 429 | 500..);
        if !was_understood || self.client.has_more_body() {
            self.client.close_after();
        }
        let body = match self.error_page(status) {
            Some((page, kind)) => {
                let answer = Answer {
                    status,
                    kind: Some(kind),
                    lines: &extra,
                    length: page.len() as u64,
                };
                answer::stage_answer(self.client, self.snapshot, self.now_ms(), &answer, is_head);
                page
            }
            None => {
                let now_ms = self.now_ms();
                answer::stage(
                    self.client,
                    self.snapshot,
                    now_ms,
                    status,
                    why,
                    &extra,
                    is_head,
                )
                .into()
            }
        };
        let body: &[u8] = if is_head { &[] } else { &body };
        fetch::send(self.client, self.snapshot, &[body]).await?;
        self.outcome.body_bytes = body.len() as u64;
        Ok(())
    }

    /// Counts and logs what happened.
    fn finish(&mut self, connection: u64, ended: Result<(), Failure>) {
        let stats = &self.worker.stats;
        let outcome = &self.outcome;
        if ended.is_err() {
            stats.increment(Counter::ClientAborts);
            self.client.break_off();
        }
        if let Some(counter) = outcome.part.counter() {
            stats.increment(counter);
        }
        if outcome.status >= 100 {
            stats.increment(Counter::of_status(outcome.status));
        }
        stats.add(Counter::BytesOut, self.client.written());
        if let Some(reason) = outcome.miss_reason() {
            stats.increment(reason);
        }
        if outcome.part.is_from_cache() {
            let all = outcome.body_bytes;
            let from_disk = if outcome.recalled {
                all
            } else {
                outcome.disk_bytes
            };
            stats.add(Counter::ServedMemory, all.saturating_sub(from_disk));
            if from_disk > 0 {
                stats.add(Counter::ServedDisk, from_disk);
            }
        } else {
            stats.add(Counter::ServedOrigin, outcome.body_bytes);
        }
        let duration_us = self.elapsed_us();
        let timing = if outcome.part.is_from_cache() {
            Timing::Hit
        } else {
            Timing::Miss
        };
        stats.record(timing, duration_us);
        if self.worker.log().enabled() {
            self.log(connection, duration_us);
        }
    }

    fn log(&self, connection: u64, duration_us: u64) {
        let (request, outcome) = (&self.request, &self.outcome);
        let site = self.location.site_of(&self.snapshot.settings);
        let record = Record {
            unix_ms: self.now_ms(),
            client: self.client_address(),
            peer: self.peer.address,
            user: self.user.as_deref(),
            secure: request.secure,
            connection,
            method: if request.head.target.is_empty() {
                b""
            } else {
                request.head.method.as_bytes()
            },
            target: &request.head.target,
            http10: request.head.http10,
            host: &request.authority,
            site: site.map_or("", |site| &site.name),
            status: outcome.status,
            body_bytes: outcome.body_bytes,
            duration_us,
            first_byte_us: outcome.first_byte_us,
            cache: outcome.part.as_str(),
            reason: if outcome.detail.is_empty() {
                outcome.forwarded
            } else {
                outcome.detail
            },
            upstream: outcome.upstream.as_deref(),
            upstream_us: outcome.upstream_us,
            fields: &request.head.fields,
        };
        let (log, stats) = (self.worker.log(), &self.worker.stats);
        stats.add(Counter::LogDropped, log.write(&record));
        stats.add(Counter::TailDropped, log.show(&record));
    }

    /// The client, or whom trusted proxies before us speak for.
    fn client_address(&self) -> Option<IpAddr> {
        let fields = &self.request.head.fields;
        match fields.has(FieldId::XForwardedFor) {
            true => self.peer.client(fields, &self.snapshot.settings.server),
            false => self.peer.address.map(|peer| peer.ip()),
        }
    }

    /// The moment its decisions are made by, in milliseconds since the epoch.
    #[inline]
    pub(crate) fn now_ms(&self) -> u64 {
        self.moment.unix_ms
    }

    /// Composes the cache key.
    pub(crate) fn write_key(&mut self) {
        let site = self.location.site_of(&self.snapshot.settings);
        let site = site.map_or("", |site| &site.name);
        self.request
            .write_key(self.policy, site, &self.location.answerer);
    }

    /// Who answers what the cache does not.
    pub(crate) fn pool(&self) -> Result<&'a Arc<Pool>, Failure> {
        const NOBODY: Refused = Refused::new(404, "nothing answers here");
        let Location {
            pool, php, service, ..
        } = self.location;
        if php.is_some() && cgi::is_for_php(self.worker, service, self.request) {
            return php.as_ref().ok_or(Failure::Client(NOBODY));
        }
        pool.as_ref().ok_or(Failure::Client(NOBODY))
    }
}
