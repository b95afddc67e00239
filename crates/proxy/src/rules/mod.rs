//! Rules: what a location does with a request beside handing it to cache and origin.
//!
//! They are compiled with the snapshot and live as long; a location without any has none of this
//! on its path. `step` applies them to a request, `watched` are the files that they read.

mod auth;
mod step;
mod watched;

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use forebay_config::settings::{Maintenance, Network, Rate, Service, Site};
use forebay_rules::{Condition, Cors, RequestEdits, ResponseEdits, Rewriting, Template};

use auth::Auth;
use watched::Watched;

/// The largest page that is read.
const PAGE_BYTES: u64 = 1 << 20;

/// The rules of one location.
#[derive(Debug)]
pub(crate) struct Rules {
    /// The path rule's expression, whose groups templates may name.
    condition: Condition,
    rewriting: Rewriting,
    respond: Option<Respond>,
    request: RequestEdits,
    response: ResponseEdits,
    cors: Option<Cors>,
    auth: Option<Auth>,
    allow: Vec<Network>,
    deny: Vec<Network>,
    rate: Option<Rate>,
    /// Whose requests are counted together for `rate`, over reloads.
    rate_id: u64,
    client_requests: Option<u32>,
    /// The same for `client_requests`.
    client_requests_id: u64,
    maintenance: Option<Closed>,
    pages: BTreeMap<u16, Arc<Watched<Bytes>>>,
    intercepts: bool,
}

/// `respond`
#[derive(Debug)]
struct Respond {
    status: u16,
    body: Template,
    media_type: String,
    /// What comes from the request is escaped.
    is_markup: bool,
}

/// `maintenance`
#[derive(Debug)]
struct Closed {
    settings: Maintenance,
    switch: Option<Watched<()>>,
    page: Option<Watched<Bytes>>,
}

impl Rules {
    /// The rules that a service has; `None`: none. `number` tells the path rules of a site apart; the
    /// site's own have the number behind them.
    pub(crate) fn of(
        condition: &Condition,
        service: &Service,
        (site, number): (&Site, usize),
    ) -> Option<Box<Self>> {
        let groups = condition.groups();
        // A limit that a path rule has from its site is the site's, one for all of its requests.
        let id = |own: bool| {
            let mut hasher = std::hash::DefaultHasher::new();
            let apart = own && number < site.paths.len();
            (&site.name, apart.then_some(number)).hash(&mut hasher);
            hasher.finish()
        };
        let rules = Self {
            condition: condition.clone(),
            rewriting: Rewriting::new(&service.redirect, &service.rewrite),
            respond: service.respond.as_ref().map(|own| Respond {
                status: own.status,
                body: Template::new(&own.body, &groups),
                media_type: own.media_type.clone(),
                is_markup: is_markup(&own.media_type),
            }),
            request: RequestEdits::new(&service.request_headers, &groups),
            response: ResponseEdits::new(&service.response_headers, &groups),
            cors: service.cors.as_ref().map(Cors::new),
            auth: service.auth.as_ref().map(Auth::new),
            allow: service.allow.clone(),
            deny: service.deny.clone(),
            rate: service.request_rate,
            rate_id: id(service.own_rate),
            client_requests: service.client_requests,
            client_requests_id: id(service.own_client_requests),
            maintenance: service.maintenance.as_ref().map(Closed::new),
            pages: pages(service),
            intercepts: service.intercept_errors,
        };
        rules.is_needed(service).then(|| Box::new(rules))
    }

    fn is_needed(&self, service: &Service) -> bool {
        !service.redirect.is_empty()
            || !service.rewrite.is_empty()
            || self.respond.is_some()
            || !self.request.is_empty()
            || !self.response.is_empty()
            || self.cors.is_some()
            || self.auth.is_some()
            || !self.allow.is_empty()
            || !self.deny.is_empty()
            || self.rate.is_some()
            || self.client_requests.is_some()
            || self.maintenance.is_some()
            || !self.pages.is_empty()
    }

    /// The page for a status, and its media type.
    pub(crate) fn page(&self, status: u16, now_ms: u64) -> Option<(Arc<Bytes>, &'static str)> {
        let page = self.pages.get(&status)?;
        Some((page.get(now_ms)?, page.media_type()))
    }

    /// Whether an origin's answer of this status is replaced by a page.
    pub(crate) fn intercepts(&self, status: u16, now_ms: u64) -> bool {
        self.intercepts && status >= 400 && self.page(status, now_ms).is_some()
    }
}

impl Closed {
    fn new(settings: &Maintenance) -> Self {
        let switch = settings.while_exists.as_ref();
        Self {
            switch: switch.map(|path| Watched::switch(path)),
            page: settings.page.as_ref().map(|path| page(path)),
            settings: settings.clone(),
        }
    }

    /// Whether it is on for this client.
    fn holds_for(&self, client: Option<IpAddr>, now_ms: u64) -> bool {
        let is_on = self.switch.as_ref().is_none_or(|file| file.exists(now_ms));
        let mut allowed = self.settings.allow.iter();
        is_on && !client.is_some_and(|ip| allowed.any(|net| net.contains(ip)))
    }
}

/// Whether what a client says must be escaped in a body of this type (which is case-insensitive,
/// RFC 9110 section 8.3.1).
fn is_markup(media_type: &str) -> bool {
    let lower = media_type.to_ascii_lowercase();
    lower.contains("html") || lower.contains("xml")
}

/// Each file once, however many statuses it is for.
fn pages(service: &Service) -> BTreeMap<u16, Arc<Watched<Bytes>>> {
    let mut files = BTreeMap::new();
    for path in service.error_pages.values() {
        files.entry(path).or_insert_with(|| Arc::new(page(path)));
    }
    let pages = service.error_pages.iter();
    pages
        .filter_map(|(status, path)| Some((*status, Arc::clone(files.get(path)?))))
        .collect()
}

fn page(path: &std::path::Path) -> Watched<Bytes> {
    let page = Watched::new(path, PAGE_BYTES, |_, bytes| Bytes::from(bytes));
    // Looked at now, so that one that cannot be read is in the log before it is needed.
    page.get(0);
    page
}
