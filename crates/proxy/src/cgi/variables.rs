//! The variables of a request that say who asks whom, its fields, and the operator's own.

use std::net::IpAddr;

use forebay_cgi::{Params, TooLarge};
use forebay_config::settings::HostSent;
use forebay_http::fields::{Field, FieldId, Fields, set};
use forebay_http::negotiate;

use super::Asked;
use crate::fetch::Fetch;
use crate::forward::{self, Changes};

/// Variables being written; those that the operator sets take the place of ours.
pub(super) struct Variables<'a, 'o> {
    params: Params<'a>,
    own: &'o [(Box<str>, Vec<u8>)],
}

impl<'a, 'o> Variables<'a, 'o> {
    pub(super) fn new(params: Params<'a>, own: &'o [(Box<str>, Vec<u8>)]) -> Self {
        Self { params, own }
    }

    #[inline]
    pub(super) fn pair(&mut self, name: &'static [u8], value: &[u8]) {
        if !self.is_replaced(name) {
            self.params.pair(name, value);
        }
    }

    pub(super) fn joined(&mut self, name: &'static [u8], parts: &[&[u8]]) {
        if !self.is_replaced(name) {
            self.params.joined(name, parts);
        }
    }

    fn is_replaced(&self, name: &[u8]) -> bool {
        self.own.iter().any(|(own, _)| own.as_bytes() == name)
    }

    /// Adds the operator's own, and ends the list.
    pub(super) fn finish(mut self, has_body: bool) -> Result<(), TooLarge> {
        for (name, value) in self.own {
            self.params.pair(name.as_bytes(), value);
        }
        self.params.finish(has_body)
    }
}

/// What is the same for all requests of a client and a host; `host` is what the pool's servers get
/// as `Host`.
pub(super) fn write_own(
    fetch: &Fetch<'_>,
    host: &[u8],
    asked: &Asked,
    variables: &mut Variables<'_, '_>,
) {
    let request = fetch.request;
    let (scheme, own_port): (&[u8], &[u8]) = if request.secure {
        (b"https", b"443")
    } else {
        (b"http", b"80")
    };
    variables.pair(b"GATEWAY_INTERFACE", b"CGI/1.1");
    variables.pair(
        b"SERVER_SOFTWARE",
        concat!("forebay/", env!("CARGO_PKG_VERSION")).as_bytes(),
    );
    // What is stored is served to clients of every version.
    variables.pair(b"SERVER_PROTOCOL", b"HTTP/1.1");
    variables.pair(b"REQUEST_SCHEME", scheme);
    if request.secure {
        variables.pair(b"HTTPS", b"on");
    }
    let port = port_of(host);
    let name = match (is_clients(fetch), port) {
        (true, _) => &request.host,
        (false, Some(port)) => &host[..host.len() - port.len() - 1],
        (false, None) => host,
    };
    variables.pair(
        b"SERVER_NAME",
        if name.is_empty() { b"localhost" } else { name },
    );
    variables.pair(b"SERVER_PORT", port.unwrap_or(own_port));
    if let Some(local) = &asked.local {
        variables.pair(b"SERVER_ADDR", local.as_bytes());
    }
    write_client(fetch, asked, variables);
    write_user(asked, variables);
    // PHP that was built to be run by a redirect refuses to run without it.
    variables.pair(b"REDIRECT_STATUS", b"200");
}

/// Whether applications get the host that the client asked for.
fn is_clients(fetch: &Fetch<'_>) -> bool {
    fetch.pool.settings.host == HostSent::Client
}

fn write_client(fetch: &Fetch<'_>, asked: &Asked, variables: &mut Variables<'_, '_>) {
    let peer = fetch.peer;
    match asked.client {
        Some(client) => {
            let mut text = [0; 64];
            variables.pair(b"REMOTE_ADDR", written(&mut text, client));
        }
        None => match peer.address {
            Some(address) => {
                variables.pair(b"REMOTE_ADDR", peer.text.as_bytes());
                let mut digits = itoa::Buffer::new();
                variables.pair(b"REMOTE_PORT", digits.format(address.port()).as_bytes());
            }
            None => variables.pair(b"REMOTE_ADDR", b"unix:"),
        },
    }
}

/// Who was let in by name and password. What clients say of themselves beside that, nobody has
/// looked at.
fn write_user(asked: &Asked, variables: &mut Variables<'_, '_>) {
    if let Some(user) = &asked.user {
        variables.pair(b"AUTH_TYPE", b"Basic");
        variables.pair(b"REMOTE_USER", user);
    }
}

fn written(text: &mut [u8; 64], ip: IpAddr) -> &[u8] {
    use std::io::Write;
    let mut rest = &mut text[..];
    // The longest address has 45 bytes.
    let _ = write!(rest, "{ip}");
    let left = rest.len();
    &text[..64 - left]
}

/// The port of an authority, if it names one.
fn port_of(authority: &[u8]) -> Option<&[u8]> {
    let colon = authority.iter().rposition(|&byte| byte == b':')?;
    let port = &authority[colon + 1..];
    (!port.is_empty() && port.iter().all(u8::is_ascii_digit)).then_some(port)
}

/// Told otherwise, or not for the application.
const APART: u64 = set(&[
    FieldId::Host,
    FieldId::ContentLength,
    FieldId::ContentType,
    FieldId::Expect,
]);

/// The request's fields, as `HTTP_NAME`.
///
/// Names that would become one of another name (`X_Real_IP` beside `X-Real-IP`) are left out, and so
/// is `Proxy`, which programs take for the variable that names their proxy (CVE-2016-5385).
///
/// Where `host` is not the client's, that is in `X-Forwarded-Host`, as for servers of HTTP.
pub(super) fn write_fields(fetch: &Fetch<'_>, host: &[u8], variables: &mut Variables<'_, '_>) {
    let (fields, changes) = (&fetch.request.head.fields, fetch.changes);
    let params = &mut variables.params;
    let one = |value| std::iter::once(value);
    params.field(b"Host", one(host), b"");
    if let Some(kind) = fields.get(FieldId::ContentType) {
        params.pair(b"CONTENT_TYPE", kind);
    }
    let mut normal = Vec::new();
    let mut dropped = APART | forward::left_out(changes);
    if !is_clients(fetch) {
        let trusted = fetch.peer.is_trusted(&fetch.snapshot.settings.server);
        let given = fields.get(FieldId::XForwardedHost).filter(|_| trusted);
        let asked_for = given.unwrap_or(&fetch.request.authority);
        params.field(b"X-Forwarded-Host", one(asked_for), b"");
        dropped |= FieldId::XForwardedHost.bit();
    }
    if changes.normalize && fields.has(FieldId::AcceptEncoding) {
        dropped |= FieldId::AcceptEncoding.bit();
        negotiate::accept_encoding(fields.all(FieldId::AcceptEncoding), &mut normal);
        let value: &[u8] = if normal.is_empty() {
            b"identity"
        } else {
            &normal
        };
        params.field(b"Accept-Encoding", one(value), b"");
    }
    let mut seen = dropped;
    for (at, field) in fields.iter().enumerate() {
        if seen & field.id.bit() != 0
            || (field.id == FieldId::Other && !is_plain(fields, at, &field))
        {
            continue;
        }
        if field.id != FieldId::Other {
            seen |= field.id.bit();
        }
        let separator: &[u8] = if field.id == FieldId::Cookie {
            b"; "
        } else {
            b", "
        };
        let same = |other: &Field<'_>| {
            other.id == field.id
                && (field.id != FieldId::Other || other.name.eq_ignore_ascii_case(field.name))
        };
        let values = fields.iter().skip(at).filter(same).map(|field| field.value);
        params.field(field.name, values, separator);
    }
    write_changes(changes, params);
    if let Some(value) = fetch.snapshot.capability() {
        params.field(b"Surrogate-Capability", one(value), b"");
    }
}

/// Whether a field that is not known may be passed on, and is the first of its name.
fn is_plain(fields: &Fields, at: usize, field: &Field<'_>) -> bool {
    let name = field.name;
    let is_first = || {
        let mut before = fields.iter().take(at);
        !before.any(|other| other.id == FieldId::Other && other.name.eq_ignore_ascii_case(name))
    };
    name.iter()
        .all(|&byte| byte.is_ascii_alphanumeric() || byte == b'-')
        && !name.eq_ignore_ascii_case(b"Proxy")
        && is_first()
}

fn write_changes(changes: &Changes, params: &mut Params<'_>) {
    let optional: [(&[u8], &Option<Vec<u8>>); 4] = [
        (b"Range", &changes.range),
        (b"If-Range", &changes.if_range),
        (b"If-None-Match", &changes.if_none_match),
        (b"If-Modified-Since", &changes.if_modified_since),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            params.field(name, std::iter::once(&value[..]), b"");
        }
    }
}
