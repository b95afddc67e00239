//! Route: whom a request is for, and what it is called in the cache.

use forebay_cache::key::{self, Place};
use forebay_config::settings::{Policy, Server};
use forebay_http::cache_control::RequestDirectives;
use forebay_http::fields::{FieldId, each_member};
use forebay_http::uri::{self, Target};
use forebay_http::{Method, forwarded, query};

use forebay_rules::access;
use forebay_rules::when::Asked;

use crate::failure::Refused;
use crate::forward::{FORWARDING, Peer};
use crate::purge_step::is_purge;
use crate::snapshot::Snapshot;
use crate::worker::Request;

/// Servers of our name that a request may pass; some are in front of each other on purpose.
const MOST_PASSES: usize = 8;

impl Request {
    /// Fills in host, authority and target and finds the site.
    pub(crate) fn route(&mut self, snapshot: &Snapshot, peer: &Peer) -> Result<usize, Refused> {
        self.secure = peer.is_secure;
        let own_port = if peer.is_secure { 443 } else { 80 };
        if self.own_port != own_port {
            self.own_port = own_port;
            self.host_field.clear();
        }
        if let Err(refused) = self.read_target() {
            self.forget_host();
            return Err(refused);
        }
        if self.head.fields.has(FieldId::Via) && self.passed_here(snapshot) >= MOST_PASSES {
            return Err(Refused::new(508, "the request goes in a circle"));
        }
        let site = snapshot.site(&self.host);
        let site = site.ok_or(Refused::new(421, "no site has this host"))?;
        let methods = &snapshot.settings.sites[site].methods;
        let method = self.head.method.as_bytes();
        if !methods.is_empty()
            && !is_purge(&self.head.method)
            && !methods.iter().any(|allowed| allowed.as_bytes() == method)
        {
            return Err(Refused::new(405, "this site does not allow the method"));
        }
        match self.head.method {
            Method::Connect => Err(Refused::new(405, "this is not a forward proxy")),
            Method::Trace => Err(Refused::new(405, "TRACE is not allowed")),
            Method::Options => self
                .count_forwarding()
                .and_then(|()| self.check_expectation().map(|()| site)),
            _ => self.check_expectation().map(|()| site),
        }
    }

    /// RFC 9112 section 3.2: the four forms of a target, and the Host that goes with them.
    fn read_target(&mut self) -> Result<(), Refused> {
        const BAD_HOST: Refused = Refused::new(400, "missing, repeated or malformed Host");
        const BAD_TARGET: Refused = Refused::new(400, "malformed request target");
        self.target.clear();
        self.script.clear();
        let fields = &self.head.fields;
        let host = match fields.only(FieldId::Host) {
            Some(host) => host,
            None if self.head.http10 && !fields.has(FieldId::Host) => b"",
            None => return Err(BAD_HOST),
        };
        let (authority, target) = match uri::parse_target(&self.head.target).ok_or(BAD_TARGET)? {
            Target::Origin(target) => (host, target),
            Target::Absolute {
                scheme,
                authority,
                path,
            } => {
                // The field is not used then, but it must not be something else than a host.
                if !host.is_empty() && uri::parse_host(host).is_none() {
                    return Err(BAD_HOST);
                }
                if !scheme.eq_ignore_ascii_case(b"http") && !scheme.eq_ignore_ascii_case(b"https") {
                    return Err(BAD_TARGET);
                }
                (authority, path)
            }
            Target::Asterisk if self.head.method == Method::Options => (host, &b"*"[..]),
            Target::Authority(authority) if self.head.method == Method::Connect => {
                (authority, &b""[..])
            }
            Target::Asterisk | Target::Authority(_) => return Err(BAD_TARGET),
        };
        if authority.is_empty() && !self.head.http10 {
            return Err(BAD_HOST);
        }
        self.target.extend_from_slice(target);
        if *authority == *self.host_field && !authority.is_empty() {
            // As the request before: most are for the same host.
            return Ok(());
        }
        let parts = uri::parse_host(authority);
        if parts.is_none() && !authority.is_empty() {
            return Err(BAD_HOST);
        }
        let (name, port) = parts.map_or((authority, None), |parts| (parts.name, parts.port));
        // The scheme's own port is left out, so that it makes no other key.
        let shown = if port == Some(self.own_port) {
            name
        } else {
            authority
        };
        replace_lower(&mut self.host, name.strip_suffix(b".").unwrap_or(name));
        replace_lower(&mut self.authority, shown);
        self.host_field.clear();
        self.host_field.extend_from_slice(authority);
        Ok(())
    }

    /// How often `Via` says that servers of our name have passed it on (RFC 9110 section 7.6.3).
    fn passed_here(&self, snapshot: &Snapshot) -> usize {
        let mut passes = 0;
        for value in self.head.fields.all(FieldId::Via) {
            each_member(value, |entry| passes += usize::from(entry == snapshot.via));
        }
        passes
    }

    /// RFC 9110 section 7.6.2: with none left, the request is answered here.
    fn count_forwarding(&mut self) -> Result<(), Refused> {
        let left = self
            .head
            .fields
            .get(FieldId::MaxForwards)
            .and_then(forebay_http::framing::number);
        match left {
            None => Ok(()),
            Some(0) => Err(Refused::new(200, "")),
            Some(left) => {
                self.head
                    .fields
                    .set(FieldId::MaxForwards, (left - 1).to_string().as_bytes());
                Ok(())
            }
        }
    }

    fn check_expectation(&self) -> Result<(), Refused> {
        let unknown = |value: &[u8]| !value.eq_ignore_ascii_case(b"100-continue");
        if self.head.fields.has(FieldId::Expect)
            && self.head.fields.all(FieldId::Expect).any(unknown)
        {
            return Err(Refused::new(417, "only 100-continue can be expected"));
        }
        Ok(())
    }

    /// What path rules look at.
    pub(crate) fn asked<'a>(&'a self, snapshot: &Snapshot, peer: &Peer) -> Asked<'a> {
        Asked {
            method: self.head.method.as_bytes(),
            target: &self.target,
            fields: &self.head.fields,
            client: peer.client(&self.head.fields, &snapshot.settings.server),
        }
    }

    /// The path, without the query.
    pub(crate) fn path(&self) -> &[u8] {
        uri::split_path(&self.target).0
    }

    /// The path that an application's script is found by.
    pub(crate) fn script_path(&self) -> &[u8] {
        if self.script.is_empty() {
            self.path()
        } else {
            &self.script
        }
    }

    /// Whether the origin may take the path for another than the one that rules are matched
    /// against: it has dot segments, or slashes and dots that are hidden by encoding.
    pub(crate) fn is_path_ambiguous(&self) -> bool {
        let path = self.path();
        let mut segments = path.split(|&byte| byte == b'/');
        let is_hidden = |at: usize| {
            let code = path.get(at + 1..at + 3).unwrap_or_default();
            [b"2e", b"2f", b"5c"]
                .iter()
                .any(|hidden| code.eq_ignore_ascii_case(*hidden))
        };
        path.contains(&b'\\')
            || segments.any(|segment| segment == b"." || segment == b"..")
            || path
                .iter()
                .enumerate()
                .any(|(at, &byte)| byte == b'%' && is_hidden(at))
    }

    /// Drops cookies that the policy ignores.
    pub(crate) fn filter_cookies(&mut self, policy: &Policy) {
        let filters = !policy.ignore_cookies.is_empty() || policy.keep_cookies.is_some();
        if !filters || !self.head.fields.has(FieldId::Cookie) {
            return;
        }
        let mut kept = Vec::new();
        let cookies = self.head.fields.all(FieldId::Cookie);
        query::filter_cookies(
            cookies,
            &policy.ignore_cookies,
            policy.keep_cookies.as_deref(),
            &mut kept,
        );
        self.head.fields.remove(FieldId::Cookie);
        if !kept.is_empty() {
            self.head.fields.push(FieldId::Cookie, &kept);
        }
    }

    /// The request's terms; `Pragma: no-cache` counts where Cache-Control is absent (RFC 9111 section 5.4).
    pub(crate) fn directives(&self) -> RequestDirectives {
        let fields = &self.head.fields;
        if fields.has(FieldId::CacheControl) {
            return RequestDirectives::parse(fields.all(FieldId::CacheControl));
        }
        let no_cache = fields.all(FieldId::Pragma).any(|value| {
            value
                .split(|&byte| byte == b',')
                .any(|item| item.trim_ascii().eq_ignore_ascii_case(b"no-cache"))
        });
        RequestDirectives {
            no_cache,
            ..RequestDirectives::default()
        }
    }

    /// Takes what a trusted proxy says of the client, and drops what anybody else says. Of
    /// `Forwarded` and the older fields, either will do: from here on the older ones say it.
    pub(crate) fn heed_forwarding(&mut self, server: &Server, peer: &Peer) {
        let fields = &mut self.head.fields;
        if !fields.has_any(FORWARDING) {
            return;
        }
        if !peer.is_trusted(server) {
            fields.retain(|field| field.id.bit() & FORWARDING == 0);
            return;
        }
        // Whoever sets the older fields need not know this one: it may be the client's.
        let older = FORWARDING & !FieldId::Forwarded.bit();
        if fields.has(FieldId::Forwarded) && !fields.has_any(older) {
            let trusted = |address: &[u8]| access::is_trusted(address, &server.trusted_proxies);
            let said = forwarded::to_x_forwarded(fields.all(FieldId::Forwarded), trusted);
            let addresses = (!said.addresses.is_empty()).then_some(said.addresses);
            for (id, value) in [
                (FieldId::XForwardedFor, addresses),
                (FieldId::XForwardedHost, said.host),
                (FieldId::XForwardedProto, said.proto),
            ] {
                if let Some(value) = value {
                    fields.push(id, &value);
                }
            }
        }
        if let Some(proto) = fields.get(FieldId::XForwardedProto) {
            self.secure = proto.eq_ignore_ascii_case(b"https");
        }
    }

    /// Where this request's keys lie.
    pub(crate) fn place<'a>(&'a self, site: &'a str, answerer: &'a [u8]) -> Place<'a> {
        Place {
            site,
            answerer,
            host: &self.authority,
            secure: self.secure,
        }
    }

    /// Composes the cache key, and drops what the policy ignores from the target.
    pub(crate) fn write_key(&mut self, policy: &Policy, site: &str, answerer: &[u8]) {
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        let place = self.place(site, answerer);
        key::write(policy, &place, &self.target, &self.head.fields, &mut key);
        self.key = key;
        // What the key is without, the origin does without: but not where the request is to change
        // something there.
        if key::filters_query(policy) && self.head.method.is_get_or_head() {
            let (path, search) = uri::split_path(&self.target);
            let path_len = path.len();
            if let Some(search) = search {
                let mut kept = Vec::new();
                // The order stays as the client sent it: only the key is sorted.
                query::filter_query(
                    search,
                    &policy.ignore_query,
                    &policy.keep_query,
                    false,
                    &mut kept,
                );
                self.target.truncate(path_len);
                if !kept.is_empty() {
                    self.target.push(b'?');
                    self.target.extend_from_slice(&kept);
                }
            }
        }
    }

    /// `Allow`, for 405.
    pub(crate) fn write_allow(
        &self,
        snapshot: &Snapshot,
        site: usize,
        status: u16,
        out: &mut Vec<u8>,
    ) {
        if status != 405 && status != 200 {
            return;
        }
        let site = site.min(snapshot.site(&self.host).unwrap_or(usize::MAX));
        let methods = snapshot
            .settings
            .sites
            .get(site)
            .map(|site| site.methods.join(", "));
        let methods = methods.filter(|methods| !methods.is_empty());
        out.extend_from_slice(b"Allow: ");
        let allowed = methods
            .as_deref()
            .unwrap_or("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
        out.extend_from_slice(allowed.as_bytes());
        out.extend_from_slice(b"\r\n");
    }

    /// A copy that outlives the exchange.
    pub(crate) fn copied(&self) -> Box<Self> {
        Box::new(Self {
            head: self.head.clone(),
            host_field: self.host_field.clone(),
            host: self.host.clone(),
            authority: self.authority.clone(),
            own_port: self.own_port,
            secure: self.secure,
            target: self.target.clone(),
            script: self.script.clone(),
            key: self.key.clone(),
        })
    }

    /// Forgets the request before, so that nothing of it is logged for what could not be read.
    pub(crate) fn forget(&mut self) {
        self.secure = false;
        self.head.fields.clear();
        self.head.target.clear();
        self.head.method = Method::Get;
        self.target.clear();
        self.forget_host();
    }

    /// What was made of the host before has nothing to do with this request.
    pub(crate) fn forget_host(&mut self) {
        self.host_field.clear();
        self.host.clear();
        self.authority.clear();
    }
}

fn replace_lower(to: &mut Vec<u8>, from: &[u8]) {
    to.clear();
    to.extend_from_slice(from);
    to.make_ascii_lowercase();
}
