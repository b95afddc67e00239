//! Whether a response may be stored, how long it is fresh, and how it may be used.
//!
//! RFC 9111 as a shared cache, with RFC 5861, 8246, 9213 and the operator's
//! policy over it. Everything is a function of heads, policy and times given
//! in milliseconds since the Unix epoch; there is no clock here.

use std::time::Duration;

use forebay_config::settings::Policy;
use forebay_http::cache_control::{RequestDirectives, ResponseDirectives, Scope};
use forebay_http::fields::{FieldId, Fields};
use forebay_http::{Method, ResponseHead, conditional, date, framing, targeted};

/// What an object promises: set when it is stored, replaced when it is validated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// When the response's head came.
    pub response_ms: u64,
    /// Its age at that moment (RFC 9111 section 4.2.3, `corrected_initial_age`).
    pub initial_age_ms: u64,
    /// Its freshness lifetime.
    pub lifetime_ms: u64,
    /// How long past its freshness it may be served while it is fetched anew.
    pub grace_ms: u64,
    /// How long past its freshness it may be served when the origin fails.
    pub error_ms: u64,
    /// How long past its freshness it is worth keeping.
    pub keep_ms: u64,
    /// Last-Modified, in seconds since the epoch.
    pub last_modified: Option<u64>,
    /// Date, in seconds since the epoch.
    pub date: u64,
    /// `no-cache`: it is validated before every use.
    pub always_validate: bool,
    /// `must-revalidate`, `proxy-revalidate`, `s-maxage`, `no-cache`: never served stale.
    pub never_stale: bool,
}

/// Why a response is not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The policy passes this request by the cache.
    Pass,
    /// The method's responses are not stored.
    Method,
    /// The status is one that is not stored, or not understood where it must be.
    Status,
    /// The response says `no-store`.
    NoStore,
    /// The request says `no-store`.
    RequestNoStore,
    /// The response says `private`.
    Private,
    /// The request carried credentials and the response does not allow sharing.
    Authorization,
    /// The response sets a cookie.
    SetCookie,
    /// `Vary: *`
    Vary,
    /// It states no freshness, has no validator and no heuristic applies.
    NoFreshness,
    /// It is larger than the largest object that is stored.
    Size,
}

impl Refusal {
    /// A word for `Cache-Status` and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Method => "method",
            Self::Status => "status",
            Self::NoStore => "no-store",
            Self::RequestNoStore => "request-no-store",
            Self::Private => "private",
            Self::Authorization => "authorization",
            Self::SetCookie => "set-cookie",
            Self::Vary => "vary",
            Self::NoFreshness => "no-freshness",
            Self::Size => "size",
        }
    }
}

/// A response and what it answers.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// The request's method.
    pub method: &'a Method,
    /// The request's fields.
    pub request: &'a Fields,
    /// The response's head.
    pub response: &'a ResponseHead,
    /// Whether its Content-Location names the request's own target.
    pub located_here: bool,
    /// When the request was sent.
    pub request_ms: u64,
    /// When the response's head came.
    pub response_ms: u64,
    /// The policy in force.
    pub policy: &'a Policy,
    /// This cache's token in targeted fields with a target.
    pub device: &'a str,
}

/// How a stored object may be used for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serving {
    /// As it is.
    Fresh,
    /// As it is, though stale, while it is fetched anew behind the answer.
    Grace,
    /// As it is, though stale: the client said that it accepts that.
    StaleAccepted,
    /// Only after the origin confirmed it.
    Validate(Doubt),
}

/// Why an object needs the origin's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Its freshness is over.
    Stale,
    /// The response asks for it (`no-cache`), or the object was invalidated.
    Response,
    /// The request asks for it.
    Request,
}

const STALE_FOREVER: u64 = u64::MAX / 4;

impl Terms {
    /// Its age (RFC 9111 section 4.2.3, `current_age`).
    #[inline]
    pub fn age_ms(&self, now_ms: u64) -> u64 {
        self.initial_age_ms + now_ms.saturating_sub(self.response_ms)
    }

    /// Milliseconds of freshness left; negative when stale.
    #[inline]
    pub fn ttl_ms(&self, now_ms: u64) -> i64 {
        self.lifetime_ms as i64 - self.age_ms(now_ms) as i64
    }

    /// How long past its freshness it may be served at all.
    fn longest_window_ms(&self) -> u64 {
        if self.never_stale {
            0
        } else {
            self.grace_ms.max(self.error_ms)
        }
    }

    /// Whether it can still be of use: fresh, in a window, or worth validating. One that
    /// came stale is past its freshness from its arrival on.
    pub fn is_worth_keeping(&self, now_ms: u64) -> bool {
        let past = self.age_ms(now_ms).saturating_sub(self.lifetime_ms);
        let past = past.min(now_ms.saturating_sub(self.response_ms));
        self.ttl_ms(now_ms) > 0 || past < self.keep_ms.max(self.grace_ms).max(self.error_ms)
    }

    /// How it may be used at `now_ms` for a request with these directives.
    #[inline]
    pub fn serving(&self, now_ms: u64, request: &RequestDirectives) -> Serving {
        if self.always_validate {
            return Serving::Validate(Doubt::Response);
        }
        let ttl = self.ttl_ms(now_ms);
        if *request == RequestDirectives::default() {
            return match ttl {
                1.. => Serving::Fresh,
                _ if !self.never_stale && ttl.unsigned_abs() < self.grace_ms => Serving::Grace,
                _ => Serving::Validate(Doubt::Stale),
            };
        }
        self.serving_on_terms(now_ms, ttl, request)
    }

    /// [`Terms::serving`] for a request that sets terms of its own (RFC 9111 section 5.2.1).
    fn serving_on_terms(&self, now_ms: u64, ttl: i64, request: &RequestDirectives) -> Serving {
        let seconds = |limit: u64| millis(limit) as i64;
        let too_old = request
            .max_age
            .is_some_and(|max| self.age_ms(now_ms) as i64 > seconds(max));
        let too_short = request.min_fresh.is_some_and(|min| ttl < seconds(min));
        if request.no_cache || too_old || too_short {
            return Serving::Validate(Doubt::Request);
        }
        if ttl > 0 {
            return Serving::Fresh;
        }
        let accepted = request.max_stale.is_some_and(|max| -ttl <= seconds(max));
        match (self.never_stale, accepted) {
            (false, true) => Serving::StaleAccepted,
            (false, false) if ttl.unsigned_abs() < self.grace_ms => Serving::Grace,
            _ => Serving::Validate(Doubt::Stale),
        }
    }

    /// Whether it may stand in for an origin that failed (RFC 5861 section 4).
    pub fn may_replace_error(&self, now_ms: u64, request: &RequestDirectives) -> bool {
        if self.never_stale {
            return false;
        }
        let window = request
            .stale_if_error
            .map_or(self.error_ms, |s| self.error_ms.max(millis(s)));
        let past = self.age_ms(now_ms).saturating_sub(self.lifetime_ms);
        past < window
    }
}

/// Decides whether to store a response (RFC 9111 section 3) and on what terms.
pub fn assess(arrival: &Arrival<'_>) -> Result<Terms, Refusal> {
    let Arrival {
        response, policy, ..
    } = *arrival;
    if policy.pass {
        return Err(Refusal::Pass);
    }
    let (directives, is_targeted) = directives(&response.fields, policy, arrival.device);
    let lifetime = stated_lifetime(
        &response.fields,
        &directives,
        is_targeted,
        arrival.response_ms,
    );
    refuse(arrival, &directives, lifetime.is_some())?;
    let terms = terms(arrival, &directives, lifetime);
    let has_validator = terms.last_modified.is_some()
        || response
            .fields
            .get(FieldId::ETag)
            .is_some_and(conditional::is_valid_etag);
    let usable = !terms.always_validate
        && terms.lifetime_ms + terms.longest_window_ms() > terms.initial_age_ms;
    let valid_for_a_while = has_validator && terms.is_worth_keeping(arrival.response_ms);
    if usable || valid_for_a_while {
        Ok(terms)
    } else {
        Err(Refusal::NoFreshness)
    }
}

/// The terms of a response whether it may be stored or not: for one that is used once.
pub fn of(arrival: &Arrival<'_>) -> Terms {
    let fields = &arrival.response.fields;
    let (directives, is_targeted) = directives(fields, arrival.policy, arrival.device);
    let lifetime = stated_lifetime(fields, &directives, is_targeted, arrival.response_ms);
    terms(arrival, &directives, lifetime)
}

/// The directives in force: those of the first valid targeted field (RFC 9213
/// section 2.1), else of Cache-Control.
fn directives(fields: &Fields, policy: &Policy, device: &str) -> (ResponseDirectives, bool) {
    for name in &policy.targeted_fields {
        let values = fields.named(name.as_bytes());
        if values.clone().next().is_none() {
            continue;
        }
        let found = if name.eq_ignore_ascii_case("Surrogate-Control") {
            targeted::parse_surrogate(values, device.as_bytes())
        } else {
            targeted::parse(values)
        };
        if let Some(directives) = found {
            return (directives, true);
        }
    }
    (
        ResponseDirectives::parse(fields.all(FieldId::CacheControl)),
        false,
    )
}

/// Fields that `private` and `no-cache` name, which a shared cache does not keep (RFC 9111 sections
/// 5.2.2.4 and 5.2.2.7): of the directives in force, and of `Cache-Control`, whoever wrote which.
pub fn withheld(fields: &Fields, policy: &Policy, device: &str) -> Vec<Box<str>> {
    let mut names = Vec::new();
    let mut add = |directives: ResponseDirectives| {
        for scope in [directives.private, directives.no_cache] {
            if let Scope::Fields(fields) = scope {
                names.extend(fields);
            }
        }
    };
    let (in_force, is_targeted) = directives(fields, policy, device);
    add(in_force);
    if is_targeted {
        add(ResponseDirectives::parse(fields.all(FieldId::CacheControl)));
    }
    names
}

/// What forbids storing; `stated`: the response states its freshness.
fn refuse(
    arrival: &Arrival<'_>,
    directives: &ResponseDirectives,
    stated: bool,
) -> Result<(), Refusal> {
    let Arrival {
        method,
        request,
        response,
        policy,
        ..
    } = *arrival;
    let forced = policy.force_ttl.is_some() && is_worth_forcing(response.status);
    match method {
        Method::Get => {}
        Method::Post if stated && arrival.located_here => {}
        _ => return Err(Refusal::Method),
    }
    let understood = is_understood(response.status);
    if response.status < 200
        || Policy::NEVER_STORED.contains(&response.status)
        || (directives.must_understand && !understood)
    {
        return Err(Refusal::Status);
    }
    if directives.no_store && !(directives.must_understand && understood) && !forced {
        return Err(Refusal::NoStore);
    }
    if directives.private == Scope::Whole && !forced {
        return Err(Refusal::Private);
    }
    if policy.request_directives
        && request.has(FieldId::CacheControl)
        && RequestDirectives::parse(request.all(FieldId::CacheControl)).no_store
    {
        return Err(Refusal::RequestNoStore);
    }
    let shareable =
        directives.public || directives.must_revalidate || directives.s_maxage.is_some();
    if request.has(FieldId::Authorization) && !shareable {
        return Err(Refusal::Authorization);
    }
    if response.fields.has(FieldId::SetCookie) && !policy.store_set_cookie {
        return Err(Refusal::SetCookie);
    }
    let basis = stated
        || forced
        || directives.public
        || is_heuristic(response.status)
        || policy
            .ttl_status
            .iter()
            .any(|(status, _)| *status == response.status);
    if basis { Ok(()) } else { Err(Refusal::Status) }
}

fn terms(arrival: &Arrival<'_>, directives: &ResponseDirectives, stated: Option<u64>) -> Terms {
    let Arrival {
        response,
        policy,
        response_ms,
        ..
    } = *arrival;
    let fields = &response.fields;
    let date = date_of(fields).unwrap_or(response_ms / 1000);
    let last_modified = fields.get(FieldId::LastModified).and_then(date::parse);
    let forced = policy
        .force_ttl
        .filter(|_| is_worth_forcing(response.status))
        .map(|ttl| ttl.as_millis() as u64);
    let lifetime_ms = forced
        .or(stated)
        .unwrap_or_else(|| granted_lifetime(arrival, directives, date, last_modified));
    let always_validate = directives.no_cache == Scope::Whole && forced.is_none();
    let never_stale = directives.must_revalidate
        || directives.proxy_revalidate
        || directives.s_maxage.is_some()
        || always_validate;
    let initial_age_ms = if forced.is_some() {
        0
    } else {
        initial_age(arrival, date)
    };
    // The operator's windows go on where there was freshness. A response that never had any is
    // shared only if it asks for that itself.
    let has_lifetime = lifetime_ms > 0;
    let operators = |window: Duration| {
        if has_lifetime {
            window.as_millis() as u64
        } else {
            0
        }
    };
    let window = |asked: Option<u64>, own: Duration| asked.map_or(operators(own), millis);
    let grace_ms = window(directives.stale_while_revalidate, policy.grace);
    let error_ms = window(directives.stale_if_error, policy.stale_if_error);
    Terms {
        response_ms,
        initial_age_ms,
        lifetime_ms,
        grace_ms,
        error_ms: error_ms.max(operators(policy.grace)),
        keep_ms: policy.keep.as_millis() as u64,
        last_modified,
        date,
        always_validate,
        never_stale,
    }
}

/// The freshness lifetime the response states, in milliseconds (RFC 9111 section 4.2.1).
fn stated_lifetime(
    fields: &Fields,
    directives: &ResponseDirectives,
    is_targeted: bool,
    response_ms: u64,
) -> Option<u64> {
    if let Some(seconds) = directives.s_maxage.or(directives.max_age) {
        return Some(millis(seconds));
    }
    if is_targeted || !fields.has(FieldId::Expires) {
        return None;
    }
    let date = date_of(fields).unwrap_or(response_ms / 1000);
    let mut values = fields.all(FieldId::Expires);
    let expires = values.next().and_then(date::parse).unwrap_or(0);
    Some(millis(expires.saturating_sub(date)))
}

/// The lifetime of a response that states none: the operator's, else the heuristic one (section 4.2.2).
fn granted_lifetime(
    arrival: &Arrival<'_>,
    directives: &ResponseDirectives,
    date: u64,
    last_modified: Option<u64>,
) -> u64 {
    let Arrival {
        response, policy, ..
    } = *arrival;
    let by_status = policy
        .ttl_status
        .iter()
        .find(|(status, _)| *status == response.status);
    if let Some((_, ttl)) = by_status {
        return ttl.as_millis() as u64;
    }
    if let (Some(ttl), true) = (policy.default_ttl, is_heuristic(response.status)) {
        return ttl.as_millis() as u64;
    }
    let eligible = is_heuristic(response.status) || directives.public;
    match last_modified {
        Some(modified) if policy.heuristic && eligible => (millis(date.saturating_sub(modified))
            / 10)
            .min(policy.heuristic_max.as_millis() as u64),
        _ => 0,
    }
}

/// `corrected_initial_age` in milliseconds. An Age that is not a number counts as very old,
/// and so does one in several lines; of a plain list the first member counts (section 5.1).
fn initial_age(arrival: &Arrival<'_>, date: u64) -> u64 {
    let Arrival {
        response,
        request_ms,
        response_ms,
        ..
    } = *arrival;
    let fields = &response.fields;
    let age_value = if fields.has(FieldId::Age) {
        let mut values = fields.all(FieldId::Age);
        let first = |value: &[u8]| match value.iter().position(|&byte| byte == b',') {
            Some(comma) if value.get(comma + 1).is_some_and(u8::is_ascii_digit) => {
                framing::number(&value[..comma])
            }
            _ => framing::number(value),
        };
        match (values.next().and_then(first), values.next()) {
            (Some(seconds), None) => millis(seconds),
            _ => return STALE_FOREVER,
        }
    } else {
        0
    };
    // Date has a resolution of a second: the age it implies is at least the difference less one.
    let apparent = (response_ms / 1000).saturating_sub(date) * 1000;
    apparent.max(age_value + response_ms.saturating_sub(request_ms))
}

fn date_of(fields: &Fields) -> Option<u64> {
    fields.get(FieldId::Date).and_then(date::parse)
}

/// Seconds to milliseconds, bounded as RFC 9111 section 1.2.2 allows.
fn millis(seconds: u64) -> u64 {
    seconds.min(1 << 33) * 1000
}

/// Heuristically cacheable (RFC 9110 section 15.1).
fn is_heuristic(status: u16) -> bool {
    matches!(
        status,
        200 | 203 | 204 | 206 | 300 | 301 | 308 | 404 | 405 | 410 | 414 | 501
    )
}

/// Statuses whose lifetime `force_ttl` sets: those that say something lasting, not failures.
fn is_worth_forcing(status: u16) -> bool {
    is_heuristic(status) || matches!(status, 302 | 303 | 307)
}

/// Whether this cache knows what the status asks of it (RFC 9111 section 5.2.2.3).
fn is_understood(status: u16) -> bool {
    matches!(
        status,
        200..=206 | 300..=305 | 307 | 308 | 400..=417 | 421 | 422 | 426 | 428 | 429 | 431 | 451
            | 500..=505 | 511
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_600_000_000_000;

    fn response(status: u16, lines: &[(&str, &str)]) -> ResponseHead {
        let mut head = ResponseHead {
            status,
            ..ResponseHead::default()
        };
        for (name, value) in lines {
            head.fields.push_named(name.as_bytes(), value.as_bytes());
        }
        head
    }

    fn assess_get(
        request: &[(&str, &str)],
        policy: &Policy,
        response: &ResponseHead,
    ) -> Result<Terms, Refusal> {
        let mut fields = Fields::new();
        for (name, value) in request {
            fields.push_named(name.as_bytes(), value.as_bytes());
        }
        assess(&Arrival {
            method: &Method::Get,
            request: &fields,
            response,
            located_here: false,
            request_ms: NOW,
            response_ms: NOW,
            policy,
            device: "forebay",
        })
    }

    fn lifetime(lines: &[(&str, &str)]) -> Result<u64, Refusal> {
        let terms = assess_get(&[], &Policy::default(), &response(200, lines));
        terms.map(|terms| terms.lifetime_ms / 1000)
    }

    #[test]
    fn lifetimes_by_table() {
        let date = ("Date", "Sun, 13 Sep 2020 12:26:40 GMT");
        assert_eq!(lifetime(&[("Cache-Control", "max-age=5")]), Ok(5));
        assert_eq!(
            lifetime(&[("Cache-Control", "max-age=5, s-maxage=7")]),
            Ok(7)
        );
        assert_eq!(
            lifetime(&[
                ("Cache-Control", "max-age=5"),
                ("CDN-Cache-Control", "max-age=9")
            ]),
            Ok(9)
        );
        assert_eq!(
            lifetime(&[date, ("Expires", "Sun, 13 Sep 2020 12:26:50 GMT")]),
            Ok(10)
        );
        assert_eq!(
            lifetime(&[date, ("Expires", "0")]),
            Err(Refusal::NoFreshness)
        );
        assert_eq!(
            lifetime(&[date, ("Last-Modified", "Sun, 13 Sep 2020 12:10:00 GMT")]),
            Ok(100)
        );
        assert_eq!(lifetime(&[]), Err(Refusal::NoFreshness));
        assert_eq!(lifetime(&[("ETag", "\"a\"")]), Ok(0));
        assert_eq!(
            lifetime(&[("Cache-Control", "no-store, max-age=5")]),
            Err(Refusal::NoStore)
        );
        assert_eq!(
            lifetime(&[("Cache-Control", "private, max-age=5")]),
            Err(Refusal::Private)
        );
        assert_eq!(
            lifetime(&[("Cache-Control", "max-age=5"), ("Set-Cookie", "a=b")]),
            Err(Refusal::SetCookie)
        );
    }

    #[test]
    fn operators_ttl_applies_only_where_the_response_is_silent() {
        let policy = Policy {
            default_ttl: Some(Duration::from_secs(60)),
            ttl_status: vec![(404, Duration::from_secs(3))],
            ..Policy::default()
        };
        let ttl = |status, lines: &[(&str, &str)], policy: &Policy| {
            assess_get(&[], policy, &response(status, lines)).map(|terms| terms.lifetime_ms / 1000)
        };
        assert_eq!(ttl(200, &[], &policy), Ok(60));
        assert_eq!(ttl(404, &[], &policy), Ok(3));
        assert_eq!(ttl(500, &[], &policy), Err(Refusal::Status));
        assert_eq!(ttl(200, &[("Cache-Control", "max-age=5")], &policy), Ok(5));
        let forced = Policy {
            force_ttl: Some(Duration::from_secs(9)),
            ..Policy::default()
        };
        assert_eq!(
            ttl(200, &[("Cache-Control", "private, no-store")], &forced),
            Ok(9)
        );
        let zero = Policy {
            default_ttl: Some(Duration::ZERO),
            ..Policy::default()
        };
        let modified = &[("Last-Modified", "Sun, 13 Sep 2020 12:10:00 GMT")];
        assert_eq!(ttl(200, modified, &zero), Ok(0));
    }

    #[test]
    fn grace_shares_nothing_that_was_never_fresh() {
        let grace = Some(Duration::from_secs(60));
        let policy = Policy {
            grace: Duration::from_secs(60),
            stale_if_error: Duration::from_secs(60),
            ..Policy::default()
        };
        let assess = |lines: &[(&str, &str)]| assess_get(&[], &policy, &response(200, lines));
        assert_eq!(assess(&[]), Err(Refusal::NoFreshness));
        assert_eq!(assess(&[("Expires", "0")]), Err(Refusal::NoFreshness));
        let zero = assess(&[("Cache-Control", "max-age=0"), ("ETag", "\"a\"")]);
        assert_eq!(
            zero.map(|terms| (terms.grace_ms, terms.error_ms)),
            Ok((0, 0))
        );
        let fresh = assess(&[("Cache-Control", "max-age=1")]);
        let expected = grace.map(|grace| grace.as_millis() as u64);
        assert_eq!(fresh.map(|terms| terms.grace_ms).ok(), expected);
        let asked = assess(&[("Cache-Control", "max-age=0, stale-while-revalidate=5")]);
        assert_eq!(asked.map(|terms| terms.grace_ms), Ok(5_000));
    }

    #[test]
    fn an_answer_to_one_way_of_asking_is_not_everybodys() {
        let policy = Policy {
            force_ttl: Some(Duration::from_secs(9)),
            ..Policy::default()
        };
        for status in [412, 416, 417, 431] {
            let head = response(status, &[("Cache-Control", "max-age=600")]);
            assert_eq!(
                assess_get(&[], &policy, &head),
                Err(Refusal::Status),
                "{status}"
            );
        }
        assert_eq!(
            assess_get(&[], &policy, &response(503, &[])),
            Err(Refusal::Status)
        );
    }

    #[test]
    fn credentials_are_shared_only_when_the_response_says_so() {
        let with = [("Authorization", "Basic x")];
        let policy = Policy::default();
        let get = |cc| assess_get(&with, &policy, &response(200, &[("Cache-Control", cc)])).is_ok();
        assert!(!get("max-age=5"));
        assert!(get("max-age=5, public") && get("s-maxage=5") && get("max-age=5, must-revalidate"));
    }

    #[test]
    fn use_of_a_stale_object_follows_its_terms() {
        let lines = [(
            "Cache-Control",
            "max-age=10, stale-while-revalidate=5, stale-if-error=20",
        )];
        let Ok(terms) = assess_get(&[], &Policy::default(), &response(200, &lines)) else {
            panic!("it states its freshness");
        };
        let none = RequestDirectives::default();
        let at = |seconds: u64| NOW + seconds * 1000;
        assert_eq!(terms.serving(at(9), &none), Serving::Fresh);
        assert_eq!(terms.serving(at(10), &none), Serving::Grace);
        assert_eq!(
            terms.serving(at(15), &none),
            Serving::Validate(Doubt::Stale)
        );
        assert!(terms.may_replace_error(at(29), &none) && !terms.may_replace_error(at(30), &none));
        let strict = RequestDirectives {
            max_age: Some(3),
            ..none
        };
        assert_eq!(
            terms.serving(at(4), &strict),
            Serving::Validate(Doubt::Request)
        );
        let lenient = RequestDirectives {
            max_stale: Some(100),
            ..none
        };
        assert_eq!(terms.serving(at(60), &lenient), Serving::StaleAccepted);
    }

    #[test]
    fn an_age_that_is_no_number_is_old() {
        for bad in ["old", "-1", "0.5", "0, 0", ""] {
            let head = response(
                200,
                &[
                    ("Cache-Control", "max-age=100"),
                    ("Age", bad),
                    ("ETag", "\"a\""),
                ],
            );
            let Ok(terms) = assess_get(&[], &Policy::default(), &head) else {
                panic!("{bad}")
            };
            assert_eq!(
                terms.serving(NOW, &RequestDirectives::default()),
                Serving::Validate(Doubt::Stale)
            );
        }
    }
}
