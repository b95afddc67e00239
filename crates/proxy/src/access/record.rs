//! What is known of an exchange when it has ended.

use std::net::{IpAddr, SocketAddr};

use forebay_http::fields::Fields;

/// One exchange. It borrows everything; the log copies what its format names.
#[derive(Clone, Debug)]
pub(crate) struct Record<'a> {
    /// When the exchange ended, in milliseconds since 1970.
    pub(crate) unix_ms: u64,
    /// The client, or whom trusted proxies speak for; absent on a Unix socket.
    pub(crate) client: Option<IpAddr>,
    /// The other end of the connection; absent on a Unix socket.
    pub(crate) peer: Option<SocketAddr>,
    /// Who was let in by name and password.
    pub(crate) user: Option<&'a [u8]>,
    /// The client came by https.
    pub(crate) secure: bool,
    /// The number of the client connection.
    pub(crate) connection: u64,
    /// The method as sent; empty when the head could not be read.
    pub(crate) method: &'a [u8],
    /// The request target as sent.
    pub(crate) target: &'a [u8],
    /// Whether the request's version was HTTP/1.0.
    pub(crate) http10: bool,
    /// The host asked for; may be empty.
    pub(crate) host: &'a [u8],
    /// The site that answered; may be empty.
    pub(crate) site: &'a str,
    /// The status sent; 0 when nothing was.
    pub(crate) status: u16,
    /// Bytes of the body sent.
    pub(crate) body_bytes: u64,
    /// From the request's first byte to the response's last, in microseconds.
    pub(crate) duration_us: u64,
    /// From the request's first byte to the response's first, in microseconds.
    pub(crate) first_byte_us: u64,
    /// What the cache did; may be empty.
    pub(crate) cache: &'static str,
    /// Why it was not a hit; may be empty.
    pub(crate) reason: &'static str,
    /// The server asked, as printed.
    pub(crate) upstream: Option<&'a str>,
    /// From the request sent to the origin to its response's head, in
    /// microseconds; of no meaning without `upstream`.
    pub(crate) upstream_us: u64,
    /// The request's fields.
    pub(crate) fields: &'a Fields,
}

#[cfg(test)]
static NO_FIELDS: std::sync::OnceLock<Fields> = std::sync::OnceLock::new();

/// An exchange, for tests.
#[cfg(test)]
pub(super) fn example(connection: u64, target: &[u8]) -> Record<'_> {
    Record {
        unix_ms: 0,
        client: None,
        peer: None,
        user: None,
        secure: false,
        connection,
        method: b"GET",
        target,
        http10: false,
        host: b"",
        site: "",
        status: 200,
        body_bytes: 0,
        duration_us: 0,
        first_byte_us: 0,
        cache: "hit",
        reason: "",
        upstream: None,
        upstream_us: 0,
        fields: NO_FIELDS.get_or_init(Fields::new),
    }
}
