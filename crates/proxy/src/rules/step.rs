//! Rules, applied to one request: the step between Route and everything else.
//!
//! In this order: maintenance, networks, rate and number of requests, the preflight of a
//! cross-origin request, name and password, redirection, an answer of the operator's, rewriting.
//! What is changed in the response is told to the client's side, which changes every head that
//! goes out, whatever it comes from; what is changed in the request waits until its hop-by-hop
//! fields are gone.

use std::net::IpAddr;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use bytes::Bytes;
use forebay_http::Method;
use forebay_http::fields::{FieldId, write_line};
use forebay_rules::edits::HeadChanges;
use forebay_rules::{Context, Subject, access, cors, path};
use forebay_stats::Counter;

use super::Rules;
use super::auth::Verdict;
use crate::answer::{self, Answer};
use crate::client::Client;
use crate::exchange::{Exchange, Step};
use crate::failure::{Failure, Refused};
use crate::fetch;
use crate::purge_step::is_purge;

/// Rates are counted by all workers together, each of which has a clock of its own.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// What is known of a request while its rules are applied.
struct Known {
    client: Option<IpAddr>,
    /// The client's address as text.
    text: String,
    secure: bool,
    /// The path that patterns are matched against.
    path: Vec<u8>,
}

impl<C: Client> Exchange<'_, C> {
    /// Applies the location's rules; what comes next.
    pub(crate) async fn apply_rules(&mut self) -> Result<Step, Failure> {
        let Some(rules) = self.location.rules.as_deref() else {
            return Ok(self.admit());
        };
        let known = self.known();
        if is_purge(&self.request.head.method) {
            // Who may purge is said elsewhere; what is purged is what requests are looked up by.
            self.rewrite(rules, &known)?;
            return Ok(self.admit());
        }
        self.change_response(rules, &known, Vec::new());
        self.check_access(rules, &known)?;
        if let Some(lines) = self.preflight(rules) {
            self.client.change_head(HeadChanges::default());
            return self.answer(204, None, &lines, Bytes::new()).await;
        }
        if rules.auth.is_some() {
            Box::pin(self.authenticate(rules, &known)).await?;
        }
        if let Some(step) = self.answer_here(rules, &known).await? {
            return Ok(step);
        }
        self.prepare_request_edits(rules, &known);
        self.rewrite(rules, &known)?;
        Ok(self.admit())
    }

    fn known(&self) -> Known {
        let fields = &self.request.head.fields;
        let server = &self.snapshot.settings.server;
        let client = self.peer.client(fields, server);
        Known {
            client,
            text: client.map_or_else(|| "unknown".into(), |ip| ip.to_string()),
            secure: self.request.secure,
            path: path::normal(self.request.path()).into_owned(),
        }
    }

    fn subject<'s>(&'s self, known: &'s Known) -> Subject<'s> {
        Subject {
            host: &self.request.authority,
            target: &self.request.target,
            method: self.request.head.method.as_bytes(),
            client: &known.text,
            secure: known.secure,
            fields: &self.request.head.fields,
        }
    }

    /// Tells the client's side what is changed in every head of this exchange; `more` are whole
    /// lines that come with it.
    fn change_response(&mut self, rules: &Rules, known: &Known, more: Vec<u8>) {
        let regex = rules.condition.regex();
        let captures = regex.and_then(|regex| regex.captures(&known.path));
        let subject = self.subject(known);
        let mut changes = rules.response.for_request(&subject, captures.as_ref());
        if let Some(cors) = &rules.cors {
            changes.dropped = cors::REPLACED;
            let origin = self.request.head.fields.named(b"origin").next();
            cors.write(origin, &mut changes.lines);
        }
        changes.lines.extend_from_slice(&more);
        if !changes.is_empty() {
            self.client.change_head(changes);
        }
    }

    /// Who may, and how much.
    fn check_access(&mut self, rules: &Rules, known: &Known) -> Result<(), Failure> {
        let now_ms = self.now_ms();
        if let Some(closed) = &rules.maintenance
            && closed.holds_for(known.client, now_ms)
        {
            self.outcome.retry_after_s = seconds(closed.settings.retry_after);
            let page = closed.page.as_ref();
            self.page = page.and_then(|page| Some((page.get(now_ms)?, page.media_type())));
            return Err(Refused::new(503, "this site is being maintained").into());
        }
        if !access::may(known.client, &rules.allow, &rules.deny) {
            return Err(Refused::new(403, "this address is not allowed here").into());
        }
        let Some(client) = known.client.map(access::one_client) else {
            return Ok(());
        };
        let limiter = &self.snapshot.locations.limiter;
        if let Some(rate) = rules.rate {
            let now_us = START.elapsed().as_micros() as u64;
            if let Err(wait) = limiter.count(rules.rate_id, client, rate, now_us) {
                self.outcome.retry_after_s = seconds(wait);
                return Err(Refused::new(429, "too many requests in a short time").into());
            }
        }
        if let Some(most) = rules.client_requests {
            self.held = limiter.hold(rules.client_requests_id, client, most);
            if self.held.is_none() {
                self.outcome.retry_after_s = 1;
                return Err(Refused::new(429, "too many requests at once").into());
            }
        }
        Ok(())
    }

    /// The lines that answer a preflight, if the request is one.
    fn preflight(&self, rules: &Rules) -> Option<Vec<u8>> {
        let cors = rules.cors.as_ref()?;
        let fields = &self.request.head.fields;
        if self.request.head.method != Method::Options {
            return None;
        }
        let origin = fields.named(b"origin").next()?;
        let method = fields.named(b"access-control-request-method").next()?;
        let headers = fields.named(b"access-control-request-headers").next();
        let mut lines = Vec::new();
        cors.write_preflight(origin, method, headers, &mut lines);
        Some(lines)
    }

    async fn authenticate(&mut self, rules: &Rules, known: &Known) -> Result<(), Failure> {
        let Some(auth) = &rules.auth else {
            return Ok(());
        };
        let fields = &self.request.head.fields;
        let given = fields.only(FieldId::Authorization).map(<[u8]>::to_vec);
        let verdict = auth.verify(given.as_deref(), self.now_ms()).await;
        self.moment = self.worker.now();
        match verdict {
            Verdict::Good(user) => {
                self.user = Some(user);
                Ok(())
            }
            Verdict::Busy => {
                self.outcome.retry_after_s = 1;
                Err(Refused::new(503, "too many passwords are being verified").into())
            }
            Verdict::Bad => {
                let mut challenge = Vec::new();
                write_line(&mut challenge, b"WWW-Authenticate", &auth.challenge);
                self.change_response(rules, known, challenge);
                Err(Refused::new(401, "a name and a password are needed").into())
            }
        }
    }

    /// Redirections, and answers of the operator's.
    async fn answer_here(&mut self, rules: &Rules, known: &Known) -> Result<Option<Step>, Failure> {
        let subject = self.subject(known);
        if let Some(sent) = rules.rewriting.redirect(&known.path, &subject) {
            let mut lines = Vec::new();
            write_line(&mut lines, b"Location", &sent.location);
            let step = self.answer(sent.status, None, &lines, Bytes::new()).await?;
            return Ok(Some(step));
        }
        let Some(respond) = &rules.respond else {
            return Ok(None);
        };
        let regex = rules.condition.regex();
        let captures = regex.and_then(|regex| regex.captures(&known.path));
        let context = match respond.is_markup {
            true => Context::Markup,
            false => Context::Text,
        };
        let mut body = Vec::new();
        respond
            .body
            .expand(&subject, captures.as_ref(), context, &mut body);
        let kind = (!body.is_empty()).then_some(respond.media_type.as_str());
        let step = self.answer(respond.status, kind, &[], body.into()).await?;
        Ok(Some(step))
    }

    /// What is looked up and sent in place of what the client asked for.
    fn rewrite(&mut self, rules: &Rules, known: &Known) -> Result<(), Failure> {
        let Some(target) = rules.rewriting.rewrite(&known.path, &self.subject(known)) else {
            return Ok(());
        };
        if target.len() > self.snapshot.settings.limits.request_line_bytes {
            return Err(Refused::new(414, "the rewritten target is too long").into());
        }
        self.request.target = target;
        Ok(())
    }

    /// Notes what is changed in the request when its hop-by-hop fields are gone.
    fn prepare_request_edits(&mut self, rules: &Rules, known: &Known) {
        if rules.request.is_empty() {
            return;
        }
        let regex = rules.condition.regex();
        let captures = regex.and_then(|regex| regex.captures(&known.path));
        let lines = rules.request.lines(&self.subject(known), captures.as_ref());
        self.request_lines = Some(lines);
    }

    /// Changes the request's fields as the location's rules say, once. What the client calls
    /// hop-by-hop must be gone before, or it could take away what is put in here.
    pub(crate) fn edit_request(&mut self) {
        if let Some(lines) = self.request_lines.take()
            && let Some(rules) = self.location.rules.as_deref()
        {
            rules.request.apply(&mut self.request.head.fields, &lines);
        }
    }

    /// Refuses where an answer of the origin's is replaced by a page. What a client must know of
    /// the answer to go on stays.
    pub(crate) fn intercept<'f>(
        &mut self,
        status: u16,
        fields: impl Iterator<Item = (&'f [u8], &'f [u8])>,
    ) -> Result<(), Failure> {
        if status < 400 {
            return Ok(());
        }
        let rules = self.location.rules.as_deref();
        if !rules.is_some_and(|rules| rules.intercepts(status, self.now_ms())) {
            return Ok(());
        }
        const STAYS: [&[u8]; 3] = [b"www-authenticate", b"retry-after", b"allow"];
        for (name, value) in fields {
            if STAYS.iter().any(|known| name.eq_ignore_ascii_case(known)) {
                write_line(&mut self.kept, name, value);
            }
        }
        Err(Refused::new(status, "the origin's answer is replaced").into())
    }

    /// The page for an error, if the operator has one.
    pub(crate) fn error_page(&mut self, status: u16) -> Option<(Bytes, &'static str)> {
        let now_ms = self.now_ms();
        let rules = self.location.rules.as_deref();
        let own = self.page.take();
        let (page, kind) = own.or_else(|| rules?.page(status, now_ms))?;
        Some((Bytes::clone(&page), kind))
    }

    /// Sends an answer that no origin gave.
    async fn answer(
        &mut self,
        status: u16,
        kind: Option<&str>,
        lines: &[u8],
        body: Bytes,
    ) -> Result<Step, Failure> {
        self.worker.stats.increment(Counter::Synthesized);
        self.outcome.status = status;
        if self.client.has_more_body() {
            self.client.close_after();
        }
        let is_head = self.request.head.method == Method::Head;
        let answer = Answer {
            status,
            kind,
            lines,
            length: body.len() as u64,
        };
        answer::stage_answer(self.client, self.snapshot, self.now_ms(), &answer, is_head);
        let bodyless = is_head || matches!(status, 204 | 304);
        let sent: &[u8] = if bodyless { &[] } else { &body };
        fetch::send(self.client, self.snapshot, &[sent]).await?;
        self.outcome.body_bytes = sent.len() as u64;
        Ok(Step::Finish)
    }
}

/// Whole seconds, at least one.
fn seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0).max(u64::from(time.is_zero()))
}
