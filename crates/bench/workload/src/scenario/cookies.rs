//! A user's cookies (RFC 6265). There is no list of public suffixes: a server
//! may set a cookie for every domain that it belongs to, `com` included. A
//! user talks to servers under test, not to strangers.

use forebay_http::{FieldId, ResponseHead};

use super::cookie_date;
use crate::Target;

/// Cookies of one user; the oldest goes when there are more.
const MOST: usize = 100;
/// Bytes of name and value together; longer cookies are ignored.
const MAX_BYTES: usize = 4096;

/// A user's cookies, in the order they are sent: the longest path first, then the oldest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Jar(Vec<Cookie>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Cookie {
    /// `name=value`, and how much of it is the name.
    pair: Box<[u8]>,
    name_bytes: u16,
    domain: Box<str>,
    host_only: bool,
    path: Box<[u8]>,
    secure: bool,
    /// Unix seconds; `None`: for as long as the user lives.
    expires: Option<u64>,
}

impl Cookie {
    fn name(&self) -> &[u8] {
        &self.pair[..usize::from(self.name_bytes)]
    }

    fn is(&self, other: &Self) -> bool {
        self.name() == other.name() && self.domain == other.domain && self.path == other.path
    }

    fn goes_to(&self, host: &str, path: &[u8], tls: bool) -> bool {
        let host_fits = if self.host_only {
            host == &*self.domain
        } else {
            domain_matches(host, &self.domain)
        };
        host_fits && path_matches(path, &self.path) && (tls || !self.secure)
    }
}

impl Jar {
    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keeps what a response sets. `path` is that of the request, with or without query.
    pub(crate) fn take(&mut self, head: &ResponseHead, from: &Target, path: &[u8], now: u64) {
        for value in head.fields.all(FieldId::SetCookie) {
            if let Some(cookie) = parse(value, host_of(from), path_only(path), now) {
                self.put(cookie, now);
            }
        }
    }

    fn put(&mut self, cookie: Cookie, now: u64) {
        let gone = cookie.expires.is_some_and(|expires| expires <= now);
        if let Some(known) = self.0.iter().position(|known| known.is(&cookie)) {
            // The place of the one before it stays (section 5.3, step 11.3).
            match gone {
                true => drop(self.0.remove(known)),
                false => self.0[known] = cookie,
            }
            return;
        }
        if gone {
            return;
        }
        if self.0.len() == MOST {
            self.0.remove(0);
        }
        let shorter = |known: &Cookie| known.path.len() < cookie.path.len();
        let at = self.0.iter().position(shorter).unwrap_or(self.0.len());
        self.0.insert(at, cookie);
    }

    /// Appends `Cookie: a=1; b=2` as a line, if any cookie goes there.
    pub(crate) fn write_to(&mut self, to: &Target, path: &[u8], now: u64, out: &mut Vec<u8>) {
        self.0
            .retain(|cookie| cookie.expires.is_none_or(|expires| expires > now));
        let (host, path) = (host_of(to), path_only(path));
        let mut before: &[u8] = b"Cookie: ";
        for cookie in &self.0 {
            if cookie.goes_to(host, path, to.tls) {
                out.extend_from_slice(before);
                out.extend_from_slice(&cookie.pair);
                before = b"; ";
            }
        }
        if before == b"; " {
            out.extend_from_slice(b"\r\n");
        }
    }
}

/// The cookie of that name which a response sets.
pub(crate) fn set_by<'a>(head: &'a ResponseHead, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    head.fields.all(FieldId::SetCookie).filter_map(move |line| {
        let (found, value) = pair_of(first_part(line).0)?;
        (found == name.as_bytes()).then_some(value)
    })
}

fn host_of(target: &Target) -> &str {
    if target.unix.is_some() {
        "localhost"
    } else {
        &target.host
    }
}

fn path_only(path: &[u8]) -> &[u8] {
    path.split(|&byte| byte == b'?').next().unwrap_or_default()
}

/// Up to the first `;`, and the rest.
fn first_part(line: &[u8]) -> (&[u8], &[u8]) {
    match line.iter().position(|&byte| byte == b';') {
        Some(at) => (&line[..at], &line[at + 1..]),
        None => (line, &[]),
    }
}

fn pair_of(part: &[u8]) -> Option<(&[u8], &[u8])> {
    let equals = part.iter().position(|&byte| byte == b'=')?;
    let (name, value) = (part[..equals].trim_ascii(), part[equals + 1..].trim_ascii());
    (!name.is_empty()).then_some((name, value))
}

/// RFC 6265 sections 5.2 and 5.3; `None` when the cookie is to be ignored.
fn parse(line: &[u8], host: &str, path: &[u8], now: u64) -> Option<Cookie> {
    let (pair, mut rest) = first_part(line);
    let (name, value) = pair_of(pair)?;
    if name.len() + value.len() > MAX_BYTES {
        return None;
    }
    let mut cookie = Cookie {
        pair: [name, b"=", value].concat().into_boxed_slice(),
        name_bytes: name.len() as u16,
        domain: host.into(),
        host_only: true,
        path: default_path(path).into(),
        secure: false,
        expires: None,
    };
    let mut max_age = None;
    while !rest.is_empty() {
        let (attribute, more) = first_part(rest);
        rest = more;
        let (name, value) = pair_of(attribute).unwrap_or((attribute.trim_ascii(), b""));
        match name.to_ascii_lowercase().as_slice() {
            b"expires" => cookie.expires = cookie_date::parse(value).or(cookie.expires),
            b"max-age" => max_age = seconds(value).or(max_age),
            b"domain" => set_domain(&mut cookie, value, host)?,
            b"path" if value.starts_with(b"/") => cookie.path = value.into(),
            b"path" => cookie.path = default_path(path).into(),
            b"secure" => cookie.secure = true,
            _ => {}
        }
    }
    if let Some(age) = max_age {
        cookie.expires = Some(now.saturating_add(age));
    }
    Some(cookie)
}

/// `Max-Age`: what is not positive means gone at once.
fn seconds(value: &[u8]) -> Option<u64> {
    if value.first() == Some(&b'-') && value.len() > 1 {
        return Some(0);
    }
    let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(value).ok().filter(|_| digits)?;
    Some(text.parse().unwrap_or(u64::MAX))
}

/// `None` when the server does not belong to the domain.
fn set_domain(cookie: &mut Cookie, value: &[u8], host: &str) -> Option<()> {
    let value = std::str::from_utf8(value).ok()?;
    let domain = value
        .strip_prefix('.')
        .unwrap_or(value)
        .to_ascii_lowercase();
    if domain.is_empty() {
        return Some(());
    }
    if !domain_matches(host, &domain) {
        return None;
    }
    cookie.host_only = false;
    cookie.domain = domain.into();
    Some(())
}

/// Section 5.1.3: the same, or a part of it behind a dot; an address has no parts.
fn domain_matches(host: &str, domain: &str) -> bool {
    if host == domain {
        return true;
    }
    let above = host
        .strip_suffix(domain)
        .is_some_and(|rest| rest.ends_with('.'));
    above && host.parse::<std::net::IpAddr>().is_err()
}

/// Section 5.1.4.
fn path_matches(path: &[u8], cookie: &[u8]) -> bool {
    let Some(rest) = path.strip_prefix(cookie) else {
        return false;
    };
    rest.is_empty() || cookie.ends_with(b"/") || rest.starts_with(b"/")
}

/// Section 5.1.4: the path up to its last slash, without it.
fn default_path(path: &[u8]) -> &[u8] {
    match path.iter().rposition(|&byte| byte == b'/') {
        Some(at) if at > 0 && path.starts_with(b"/") => &path[..at],
        _ => b"/",
    }
}

#[cfg(test)]
#[path = "cookies_tests.rs"]
mod tests;
