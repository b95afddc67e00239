//! What a request is distributed by: the key of a pool that is balanced by hash, and the cookie of a
//! pool whose users stay with their server.

use forebay_config::settings::{Balance, HashBy, Server, Sticky};
use forebay_http::FieldId;
use forebay_http::fields::Fields;
use forebay_upstream::{Connection, Pool};

use crate::forward::Peer;
use crate::worker::Request;

/// What a request brings of both; nothing for most pools.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Affinity<'a> {
    pub(crate) key: Option<u64>,
    /// The value of the pool's sticky cookie.
    pub(crate) sticky: Option<&'a [u8]>,
}

impl<'a> Affinity<'a> {
    pub(crate) fn of(pool: &Pool, request: &'a Request, peer: &Peer, server: &Server) -> Self {
        let key = match &pool.settings.balance {
            Balance::Hash { by, .. } => key(by, request, peer, server),
            _ => None,
        };
        let sticky = pool.settings.sticky.as_ref();
        let fields = &request.head.fields;
        Self {
            key,
            sticky: sticky.and_then(|sticky| cookie(fields, sticky.cookie.as_bytes())),
        }
    }
}

/// `None`: the request has nothing of what the key is made of.
fn key(by: &[HashBy], request: &Request, peer: &Peer, server: &Server) -> Option<u64> {
    let fields = &request.head.fields;
    let mut found = false;
    let mut parts: Vec<&[u8]> = Vec::with_capacity(by.len() + 1);
    let by_client = by.iter().any(|part| matches!(part, HashBy::Client));
    let behind = by_client
        .then(|| client_behind(fields, peer, server))
        .flatten();
    for part in by {
        let value = match part {
            HashBy::Url => {
                parts.push(&request.authority);
                Some(&request.target[..])
            }
            HashBy::Path => Some(request.path()),
            HashBy::Client => Some(behind.as_deref().unwrap_or(&peer.text).as_bytes()),
            HashBy::Header(name) => fields.named(name.as_bytes()).next(),
            HashBy::Cookie(name) => cookie(fields, name.as_bytes()),
        };
        found |= value.is_some();
        parts.push(value.unwrap_or_default());
    }
    found.then(|| forebay_upstream::key(parts))
}

/// The client that trusted proxies before us speak for, as text. `None`: the peer itself.
fn client_behind(fields: &Fields, peer: &Peer, server: &Server) -> Option<String> {
    if !fields.has(FieldId::XForwardedFor) {
        return None;
    }
    Some(peer.client(fields, server)?.to_string())
}

/// The value of a cookie of the request (RFC 6265 section 4.2).
fn cookie<'a>(fields: &'a Fields, name: &[u8]) -> Option<&'a [u8]> {
    let lines = fields.all(FieldId::Cookie);
    let mut pairs = lines.flat_map(|line| line.split(|byte| *byte == b';'));
    pairs.find_map(|pair| value_of(pair, name))
}

/// The value of `name=value`, if it is of this name; quotes are not a part of it.
fn value_of<'a>(pair: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let value = pair.trim_ascii().strip_prefix(name)?.strip_prefix(b"=")?;
    let bare = value
        .strip_prefix(b"\"")
        .and_then(|value| value.strip_suffix(b"\""));
    let value = bare.unwrap_or(value);
    (!value.is_empty()).then_some(value)
}

/// What the response does for its user's stay: a cookie that the application has set is learned; a
/// cookie of ours is returned as a whole line if the user has another or none.
pub(crate) fn stay(
    connection: &Connection,
    response: &Fields,
    sent: Option<&[u8]>,
    secure: bool,
    now_ms: u64,
) -> Option<Vec<u8>> {
    let sticky = connection.pool().settings.sticky.as_ref()?;
    if sticky.learn {
        let name = sticky.cookie.as_bytes();
        let mut set = response.all(FieldId::SetCookie).filter_map(|line| {
            let pair = line.split(|byte| *byte == b';').next()?;
            value_of(pair, name)
        });
        if let Some(value) = set.next() {
            connection.learn(value, now_ms);
        }
        return None;
    }
    let name = connection.sticky_name();
    (sent != Some(&name[..])).then(|| cookie_line(sticky, &name, secure))
}

/// Our cookie (RFC 6265 section 4.1). It says nothing to scripts, and is for the whole site.
fn cookie_line(sticky: &Sticky, value: &[u8], secure: bool) -> Vec<u8> {
    let mut line = Vec::with_capacity(96);
    line.extend_from_slice(b"Set-Cookie: ");
    line.extend_from_slice(sticky.cookie.as_bytes());
    line.push(b'=');
    line.extend_from_slice(value);
    line.extend_from_slice(b"; Path=/; HttpOnly; SameSite=Lax");
    if let Some(lifetime) = sticky.lifetime {
        line.extend_from_slice(b"; Max-Age=");
        line.extend_from_slice(itoa::Buffer::new().format(lifetime.as_secs()).as_bytes());
    }
    if secure {
        line.extend_from_slice(b"; Secure");
    }
    line.extend_from_slice(b"\r\n");
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_cookie_is_found_among_others() {
        for (pair, value) in [
            ("id=5", Some("5")),
            (" id=\"5\" ", Some("5")),
            ("id=a=b", Some("a=b")),
            ("id=", None),
            ("id", None),
            ("aid=5", None),
            ("id2=5", None),
        ] {
            let found = value_of(pair.as_bytes(), b"id");
            assert_eq!(found, value.map(str::as_bytes), "{pair}");
        }
    }

    #[test]
    fn our_cookie_says_how_long_and_to_whom() {
        let mut sticky = Sticky {
            cookie: "route".into(),
            learn: false,
            lifetime: None,
            most: 1,
            secret: None,
        };
        assert_eq!(
            cookie_line(&sticky, b"0a", false),
            b"Set-Cookie: route=0a; Path=/; HttpOnly; SameSite=Lax\r\n"
        );
        sticky.lifetime = Some(Duration::from_secs(60));
        assert_eq!(
            cookie_line(&sticky, b"0a", true),
            b"Set-Cookie: route=0a; Path=/; HttpOnly; SameSite=Lax; Max-Age=60; Secure\r\n"
        );
    }
}
