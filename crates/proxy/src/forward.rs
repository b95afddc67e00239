//! The request as the origin gets it (RFC 9110 section 7.6).

use std::net::{IpAddr, SocketAddr};

use forebay_config::settings::{Forwarded, HostSent, Server, ServerAddress};
use forebay_http::fields::{FieldId, Fields, set, write_line};
use forebay_http::{Method, forwarded, negotiate};
use forebay_rules::access;
use forebay_upstream::{Connection, Ends};

use crate::snapshot::Snapshot;
use crate::worker::Request;

/// Who the client is.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// Absent on Unix sockets.
    pub(crate) address: Option<SocketAddr>,
    /// Both ends of its connection, where they are known and an origin is told of them.
    pub(crate) ends: Option<Ends>,
    /// Its IP address as text, written once for all requests of a connection.
    pub(crate) text: Box<str>,
    /// Its connection is encrypted.
    pub(crate) is_secure: bool,
}

impl Peer {
    pub(crate) fn new(address: Option<SocketAddr>) -> Self {
        let text = address.map_or("unknown".into(), |peer| {
            peer.ip().to_canonical().to_string().into()
        });
        Self {
            address,
            ends: None,
            text,
            is_secure: false,
        }
    }

    /// One with TLS.
    pub(crate) fn secure(address: Option<SocketAddr>) -> Self {
        Self {
            is_secure: true,
            ..Self::new(address)
        }
    }

    /// As a proxy before us saw it.
    pub(crate) fn introduced(ends: Ends) -> Self {
        Self {
            ends: Some(ends),
            ..Self::new(Some(ends.source))
        }
    }

    /// Who the client is: itself, or whom trusted proxies before us speak for.
    pub(crate) fn client(&self, fields: &Fields, server: &Server) -> Option<IpAddr> {
        let own = self.address.map(|peer| peer.ip());
        let said = fields.all(FieldId::XForwardedFor);
        access::client(own, said, &server.trusted_proxies)
    }

    /// How it came: `https` or `http`.
    fn scheme(&self) -> &'static [u8] {
        match self.is_secure {
            true => b"https",
            false => b"http",
        }
    }

    /// Whether what it says of other clients is believed.
    pub(crate) fn is_trusted(&self, server: &Server) -> bool {
        let ip = self.address.map(|peer| peer.ip().to_canonical());
        ip.is_none_or(|ip| server.trusted_proxies.iter().any(|net| net.contains(ip)))
    }
}

/// What is changed in a request on its way to the origin.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    /// Leave the client's own conditions and range out: the whole response is wanted.
    pub(crate) unconditional: bool,
    /// Also leave its range out.
    pub(crate) whole: bool,
    /// Ask for this range instead.
    pub(crate) range: Option<Vec<u8>>,
    /// Only if the entity tag is still this one (with `range`).
    pub(crate) if_range: Option<Vec<u8>>,
    /// Only if it is not this one any more.
    pub(crate) if_none_match: Option<Vec<u8>>,
    /// Only if it was modified since this date.
    pub(crate) if_modified_since: Option<Vec<u8>>,
    /// The body that follows is framed so; `None`: there is none.
    pub(crate) body: Option<BodyFraming>,
    /// Wait with the body for the origin's word.
    pub(crate) expect_continue: bool,
    /// The protocol to change to.
    pub(crate) upgrade: Option<Vec<u8>>,
    /// Send `Accept-Encoding` in the form that variants are compared in.
    pub(crate) normalize: bool,
}

/// How a request's body is framed towards the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyFraming {
    Length(u64),
    Chunked,
}

/// A client's conditions.
pub(crate) const CONDITIONS: u64 = set(&[
    FieldId::IfMatch,
    FieldId::IfNoneMatch,
    FieldId::IfModifiedSince,
    FieldId::IfUnmodifiedSince,
]);
const RANGE: u64 = set(&[FieldId::Range, FieldId::IfRange]);
/// What proxies say of the client.
pub(crate) const FORWARDING: u64 = set(&[
    FieldId::Forwarded,
    FieldId::XForwardedFor,
    FieldId::XForwardedHost,
    FieldId::XForwardedProto,
]);
/// Written anew, whatever the client sent.
const REPLACED: u64 = FORWARDING | set(&[FieldId::Host, FieldId::ContentLength, FieldId::Expect]);

/// The client's own fields that are left out.
pub(crate) fn left_out(changes: &Changes) -> u64 {
    let conditions = if changes.unconditional { CONDITIONS } else { 0 };
    let is_other_range = changes.whole || changes.range.is_some();
    conditions | if is_other_range { RANGE } else { 0 }
}

/// The `Host` that a server is sent, as its pool says.
pub(crate) fn host<'a>(request: &'a Request, connection: &'a Connection) -> &'a [u8] {
    match &connection.pool().settings.host {
        HostSent::Client if !request.authority.is_empty() => &request.authority,
        HostSent::Fixed(host) => host.as_bytes(),
        // A client of HTTP/1.0 need not say which host it wants, an origin may want to know.
        HostSent::Client | HostSent::Server => match connection.server().address() {
            Some(ServerAddress::Tcp { host, port })
                if *port == own_port(connection) && !host.contains(':') =>
            {
                host.as_bytes()
            }
            Some(ServerAddress::Tcp { .. }) => connection.server().label().as_bytes(),
            // A socket and a back end that joined have no name that a web server could know.
            _ => b"localhost",
        },
    }
}

/// The port that goes without saying at a connection's server.
fn own_port(connection: &Connection) -> u16 {
    match connection.pool().settings.tls {
        Some(_) => 443,
        None => 80,
    }
}

/// Appends the head of the request; its hop-by-hop fields are gone already.
pub(crate) fn write_head(
    request: &Request,
    host: &[u8],
    changes: &Changes,
    snapshot: &Snapshot,
    peer: &Peer,
    out: &mut Vec<u8>,
) {
    let fields = &request.head.fields;
    out.extend_from_slice(request.head.method.as_bytes());
    out.push(b' ');
    let asterisk = request.head.method == Method::Options && request.head.target == b"*";
    out.extend_from_slice(if asterisk { b"*" } else { &request.target });
    out.extend_from_slice(b" HTTP/1.1\r\nHost: ");
    out.extend_from_slice(host);
    out.extend_from_slice(b"\r\n");
    let dropped = REPLACED | left_out(changes);
    if changes.normalize && fields.has(FieldId::AcceptEncoding) {
        fields.write_without(dropped | FieldId::AcceptEncoding.bit(), out);
        write_accept_encoding(fields, out);
    } else {
        fields.write_without(dropped, out);
    }
    out.extend_from_slice(snapshot.via(request.head.http10));
    write_forwarded(
        fields,
        &request.authority,
        &snapshot.settings.server,
        peer,
        out,
    );
    write_changes(changes, out);
    out.extend_from_slice(&snapshot.capability_line);
    out.extend_from_slice(b"\r\n");
}

/// All lines become one, in the form that variants are compared in.
fn write_accept_encoding(fields: &Fields, out: &mut Vec<u8>) {
    let mut normal = Vec::new();
    negotiate::accept_encoding(fields.all(FieldId::AcceptEncoding), &mut normal);
    if normal.is_empty() {
        normal.extend_from_slice(b"identity");
    }
    write_line(out, b"Accept-Encoding", &normal);
}

fn write_changes(changes: &Changes, out: &mut Vec<u8>) {
    let optional: [(&[u8], &Option<Vec<u8>>); 4] = [
        (b"Range", &changes.range),
        (b"If-Range", &changes.if_range),
        (b"If-None-Match", &changes.if_none_match),
        (b"If-Modified-Since", &changes.if_modified_since),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            write_line(out, name, value);
        }
    }
    match changes.body {
        Some(BodyFraming::Length(bytes)) => {
            write_line(
                out,
                b"Content-Length",
                itoa::Buffer::new().format(bytes).as_bytes(),
            );
        }
        Some(BodyFraming::Chunked) => write_line(out, b"Transfer-Encoding", b"chunked"),
        None => {}
    }
    if changes.expect_continue {
        write_line(out, b"Expect", b"100-continue");
    }
    if let Some(protocol) = &changes.upgrade {
        write_line(out, b"Connection", b"upgrade");
        write_line(out, b"Upgrade", protocol);
    }
}

/// Who the client is: what trusted proxies say is extended, what anyone else says replaced (and
/// gone already). `Forwarded` (RFC 7239) and the older fields say the same.
fn write_forwarded(
    fields: &Fields,
    authority: &[u8],
    server: &Server,
    peer: &Peer,
    out: &mut Vec<u8>,
) {
    let said = fields.has_any(FORWARDING) && peer.is_trusted(server);
    let given = |id| fields.get(id).filter(|_| said);
    let given_for = || fields.all(FieldId::XForwardedFor).filter(|_| said);
    let (host, proto) = (
        given(FieldId::XForwardedHost),
        given(FieldId::XForwardedProto),
    );
    if matches!(server.forwarded, Forwarded::Both | Forwarded::XForwarded) {
        out.extend_from_slice(b"X-Forwarded-For: ");
        for value in given_for() {
            out.extend_from_slice(value);
            out.extend_from_slice(b", ");
        }
        out.extend_from_slice(peer.text.as_bytes());
        out.extend_from_slice(b"\r\n");
        write_line(out, b"X-Forwarded-Host", host.unwrap_or(authority));
        write_line(out, b"X-Forwarded-Proto", proto.unwrap_or(peer.scheme()));
    }
    if matches!(server.forwarded, Forwarded::Both | Forwarded::Rfc7239) {
        out.extend_from_slice(b"Forwarded: ");
        let begin = out.len();
        if said && fields.has(FieldId::Forwarded) {
            for (i, value) in fields.all(FieldId::Forwarded).enumerate() {
                out.extend_from_slice(if i == 0 { b"" } else { b", " });
                out.extend_from_slice(value);
            }
        } else if said {
            forwarded::write_forwarded(given_for(), host, proto, out);
        }
        out.extend_from_slice(if out.len() > begin {
            b", for="
        } else {
            b"for="
        });
        forwarded::write_node(peer.text.as_bytes(), out);
        // What the first proxy was asked for is what the client asked for: an application that
        // looks at the last one must not take us for the client's other end.
        if host.is_none() {
            out.extend_from_slice(b";host=\"");
            out.extend_from_slice(authority);
            out.push(b'"');
        }
        if proto.is_none() {
            out.extend_from_slice(b";proto=");
            out.extend_from_slice(peer.scheme());
        }
        out.extend_from_slice(b"\r\n");
    }
}
