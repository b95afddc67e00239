//! The bytes of a check's request, in the protocol of its pool.

use forebay_cgi::{Form, Params};
use forebay_config::settings::Protocol;

/// How the server may see who asks, in its log.
const AGENT: &str = concat!("forebay-health/", env!("CARGO_PKG_VERSION"));

/// A `GET` of `path` (with its query) at `host`.
pub(crate) fn request(protocol: Protocol, path: &str, host: &str) -> Vec<u8> {
    match protocol {
        Protocol::Http => http(path, host),
        Protocol::FastCgi => params(Form::FastCgi { keep: false }, path, host),
        Protocol::Scgi => params(Form::Scgi, path, host),
        Protocol::Uwsgi => params(Form::Uwsgi, path, host),
    }
}

fn http(path: &str, host: &str) -> Vec<u8> {
    format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: {AGENT}\r\nAccept: */*\r\n\
         Connection: close\r\n\r\n"
    )
    .into_bytes()
}

/// The variables of RFC 3875 that a status page needs: PHP-FPM's, for one, goes by `SCRIPT_NAME`
/// and wants a `SCRIPT_FILENAME`.
fn params(form: Form, path: &str, host: &str) -> Vec<u8> {
    let (script, query) = path.split_once('?').unwrap_or((path, ""));
    let mut out = Vec::new();
    let mut params = Params::begin(&mut out, form, Some(0));
    for (name, value) in [
        ("REQUEST_METHOD", "GET"),
        ("SCRIPT_NAME", script),
        ("SCRIPT_FILENAME", script),
        ("PATH_INFO", script),
        ("QUERY_STRING", query),
        ("REQUEST_URI", path),
        ("SERVER_PROTOCOL", "HTTP/1.1"),
        ("GATEWAY_INTERFACE", "CGI/1.1"),
        ("REMOTE_ADDR", "127.0.0.1"),
        ("SERVER_NAME", host),
        ("HTTP_HOST", host),
        ("HTTP_USER_AGENT", AGENT),
    ] {
        params.pair(name.as_bytes(), value.as_bytes());
    }
    // Names and values of settings are far below what a packet holds.
    let _ = params.finish(false);
    out
}
