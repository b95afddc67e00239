//! The rows of `[limits]` and `[timeouts]`.

use crate::settings::{Limits, Timeouts};

use super::setting::Setting;
use super::{DAY, saturate};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// A row of `[limits]`.
macro_rules! limit {
    ($kind:ident $name:literal => $field:ident, $min:expr, $max:expr, $default:literal, $example:literal, $doc:literal) => {
        Setting::$kind($name, |limits: &mut Limits, n| limits.$field = saturate(n))
            .between($min, $max)
            .row("limits", $default, $example, $doc)
    };
}

#[rustfmt::skip]
pub(crate) static LIMITS: &[Setting<Limits>] = &[
    Setting::count_or_unlimited("client_connections", |limits: &mut Limits, n| {
        limits.client_connections = n.map(|n| u32::try_from(n).unwrap_or(u32::MAX));
    })
    .between(1, 1_000_000)
    .row("limits", "\"unlimited\"", "100",
        "Connections of one client at once (an IPv4 address, or an IPv6 network of 64 bits), of all workers; beyond: closed at once. Those of `server.trusted_proxies` are not limited; with `proxy_protocol` a client is whom the header names."),
    limit!(size "request_line" => request_line_bytes, 64, MIB, "\"8KiB\"", "\"4KiB\"",
        "A request line; beyond: 414. RFC 9112 section 3 asks for 8000 bytes at least."),
    limit!(size "request_head" => request_head_bytes, 256, 16 * MIB, "\"32KiB\"", "\"64KiB\"",
        "A request head; beyond: 431."),
    limit!(count "request_fields" => request_fields, 1, 10_000, "100", "200",
        "Fields of a request head; beyond: 431."),
    Setting::size_or_unlimited("request_body", |limits: &mut Limits, bytes| {
        limits.request_body_bytes = bytes.unwrap_or(u64::MAX);
    })
    .row("limits", "\"unlimited\"", "\"10MiB\"",
        "A request body; beyond: 413."),
    Setting::size("kept_bodies", |limits: &mut Limits, bytes| limits.kept_bodies_bytes = bytes)
        .row("limits", "\"1GiB\"", "\"256MiB\"",
        "All request bodies at once that are kept: those of `buffer_requests`, and those that came without a length for applications that must be told it (FastCGI, SCGI, uwsgi); beyond: 503, for one alone that is larger 413."),
    limit!(size "response_head" => response_head_bytes, 256, 16 * MIB, "\"64KiB\"", "\"128KiB\"",
        "An origin's response head; beyond: 502."),
    limit!(count "response_fields" => response_fields, 1, 10_000, "256", "500",
        "Fields of an origin's response head; beyond: 502."),
    limit!(size "chunk_extension" => chunk_extension_bytes, 0, 64 * KIB, "256", "64",
        "Extensions on one chunk of a body (RFC 9112 section 7.1.1); beyond: 400 to a client, 502 for an origin."),
    limit!(size "trailer" => trailer_bytes, 0, MIB, "\"8KiB\"", "\"1KiB\"",
        "A trailer section; beyond: 400 to a client, 502 for an origin."),
    limit!(count "interim_responses" => interim_responses, 0, 1_000, "16", "4",
        "1xx responses before the final one; beyond: 502."),
    limit!(count "waiters" => waiters, 0, 10_000_000, "10000", "500",
        "Requests that may wait for one fetch of the same object; the rest go to the origin themselves."),
    limit!(count "variants" => variants, 1, 10_000, "64", "8",
        "Variants kept under one cache key (`Vary`); beyond: the oldest goes."),
    limit!(count "ranges" => ranges, 0, 1_000, "16", "1",
        "Ranges answered in one request; beyond: `Range` is ignored and the whole object sent."),
    Setting::count_or_unlimited("requests_per_connection", |limits: &mut Limits, n| {
        limits.requests_per_connection = n.unwrap_or(u64::MAX);
    })
    .between(1, u64::MAX)
    .row("limits", "\"unlimited\"", "1000",
        "Requests answered on one client connection before it is closed."),
    limit!(size "stream_window" => stream_window_bytes, 16 * KIB, 1024 * MIB, "\"1MiB\"", "\"256KiB\"",
        "How far the fetch of a response that is not stored may be ahead of its slowest reader: so much of it is kept in memory for a slow client, and its server is free again."),
];

/// A row of `[timeouts]`; none may be zero, for nothing happens in no time.
macro_rules! timeout {
    ($name:literal => $field:ident, $default:literal, $example:literal, $doc:literal) => {
        Setting::time($name, |timeouts: &mut Timeouts, time| {
            timeouts.$field = time
        })
        .between(1, 30 * DAY)
        .row("timeouts", $default, $example, $doc)
    };
}

#[rustfmt::skip]
pub(crate) static TIMEOUTS: &[Setting<Timeouts>] = &[
    timeout!("request_head" => request_head, "\"15s\"", "\"5s\"",
        "From the first byte of a request to the end of its head; beyond: 408."),
    timeout!("request_body" => request_body, "\"30s\"", "\"10s\"",
        "Between two reads of a request body; beyond: 408."),
    timeout!("keep_alive" => keep_alive, "\"1m\"", "\"15s\"",
        "An idle client connection between two requests; beyond: closed."),
    timeout!("send" => send, "\"30s\"", "\"2m\"",
        "Between two writes that the client accepts; beyond: closed."),
    timeout!("connect" => connect, "\"5s\"", "\"500ms\"",
        "To open a connection to one address of a server; beyond: the next one is tried."),
    timeout!("response_head" => response_head, "\"1m\"", "\"10s\"",
        "From the request sent to the head of the origin's response; beyond: 504."),
    timeout!("response_body" => response_body, "\"30s\"", "\"10s\"",
        "Between two reads of an origin's response body; beyond: the response is broken off."),
    timeout!("upstream_keep_alive" => upstream_keep_alive, "\"30s\"", "\"4s\"",
        "An idle connection to a server; beyond: closed. Best shorter than the server's own."),
    timeout!("queue" => queue, "\"30s\"", "\"2s\"",
        "Waiting for a connection to a server whose `max_connections` is reached; beyond: 503."),
    timeout!("tunnel" => tunnel, "\"10m\"", "\"1h\"",
        "An upgraded connection (WebSocket) without a byte in either direction; beyond: closed."),
];
