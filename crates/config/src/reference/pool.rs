//! The rows of `[pool.NAME]`; those of the sections in it are in `pool_parts`.

use crate::address;
use crate::diagnostic::Diagnostic;
use crate::draft::{Balancing, PoolDraft, ServerDraft, Spanned};
use crate::settings::{Protocol, ProxyProtocol};
use crate::words;

use super::nested;
use super::pool_parts::{EJECT, HEALTH, POOL_SERVER, STICKY, TLS};
use super::setting::Setting;
use super::value::each_bare;
use super::{DAY, saturate};

const POOL_TOKEN: &str = "tokens of letters, digits and `-._~+/=`";

/// A row of `[pool.NAME]` that is one field of `Pool`.
macro_rules! pool {
    ($kind:ident $name:literal => |$pool:ident, $value:ident| $set:expr, $min:expr, $max:expr, $default:literal, $example:literal, $doc:literal) => {
        Setting::$kind($name, |draft: &mut PoolDraft, $value| {
            let $pool = &mut draft.pool;
            $set;
        })
        .between($min, $max)
        .row("pool", $default, $example, $doc)
    };
}

/// The word of a protocol.
pub(super) fn protocol(word: &str) -> Protocol {
    match word {
        "fastcgi" => Protocol::FastCgi,
        "scgi" => Protocol::Scgi,
        "uwsgi" => Protocol::Uwsgi,
        _ => Protocol::Http,
    }
}

/// The words of the protocols.
pub(super) const PROTOCOLS: &[&str] = &["http", "fastcgi", "scgi", "uwsgi"];

#[rustfmt::skip]
pub(crate) static POOL: &[Setting<PoolDraft>] = &[
    Setting::shape(
        "servers",
        "a list of servers such as \"127.0.0.1:9000\", \"app.internal:80\", \"unix:/run/app.sock\" or { address = \"…\", weight = 2 }",
        |draft: &mut PoolDraft, row, given, out| {
            draft.servers_written = true;
            let before = out.len();
            draft.servers = nested::tables(POOL_SERVER, (row, given), Some(ServerDraft::of_text), out);
            let lacking = draft.servers.iter().find(|server| server.value.address.is_none());
            if let (Some(server), true) = (lacking, out.len() == before) {
                let message = format!("`{}`: a server without an `address`", given.path);
                let diagnostic = Diagnostic::error(server.span.clone(), message);
                out.push(diagnostic.suggest("write address = \"127.0.0.1:9000\""));
            }
        },
    )
    .between(1, u64::MAX)
    .row("pool", "none: it must be given, unless back ends join (`join_tokens`) or are processes ([app.NAME])",
        "[\"127.0.0.1:9000\", \"unix:/run/app.sock\"]",
        "The servers, which give the same answers: texts, or tables (see [[pool.NAME.servers]]). A name is resolved at the start and again as its records expire; `srv:_http._tcp.app.internal` stands for the servers that these records name. Without a port: 80."),
    Setting::choice("protocol", PROTOCOLS, |draft: &mut PoolDraft, word| {
        draft.protocol = match protocol(word) {
            Protocol::Http => None,
            other => Some(other),
        };
    })
    .row("pool", "\"http\"", "\"fastcgi\"", "What is spoken to the servers."),
    Setting::choice(
        "balance",
        &["round_robin", "least_connections", "latency", "random", "hash"],
        |draft: &mut PoolDraft, word| {
            draft.balance = match word {
                "least_connections" => Balancing::LeastConnections,
                "latency" => Balancing::Latency,
                "random" => Balancing::Random,
                "hash" => Balancing::Hash,
                _ => Balancing::RoundRobin,
            };
        },
    )
    .row("pool", "\"round_robin\"", "\"latency\"",
        "How a server is chosen: in turn by weight; the one with the fewest requests under way; the better of two by their latency (peak EWMA) and load; by chance; or the same for the same key (`hash_by`)."),
    Setting::list("hash_by", "\"url\", \"path\", \"client\", \"header:NAME\" or \"cookie:NAME\"",
        |draft: &mut PoolDraft, list, wrong| {
            let span = list.first().map_or(0..0, |first| first.span.clone());
            let value = each_bare(list, words::hash_by, wrong);
            draft.hash_by = Some(Spanned { value, span });
        },
    )
    .between(1, u64::MAX)
    .row("pool", "`url`, with `balance = \"hash\"`", "[\"cookie:session\", \"client\"]",
        "What the key of `balance = \"hash\"` is made of. \"url\" is host, path and query."),
    Setting::percent_or_off("hash_bound", |draft: &mut PoolDraft, percent| {
        draft.hash_bound = percent.map(|percent| u32::try_from(percent).unwrap_or(u32::MAX));
    })
    .between(101, 10_000)
    .row("pool", "\"off\"", "\"125%\"",
        "With `balance = \"hash\"`, the most that a server gets, relative to the mean load; what is beyond goes to the key's next server."),
    pool!(count_or_unlimited "max_connections" => |pool, n| pool.max_connections = n.map(saturate), 1, 1_000_000,
        "\"unlimited\"", "10",
        "Requests to each server at once, of all workers together; others wait in the pool's queue. 1 means that a server never has more than one."),
    pool!(count "queue" => |pool, n| pool.queue = saturate(n), 0, 10_000_000,
        "100000", "500",
        "Requests that may wait for the pool; beyond: 503 with `Retry-After`."),
    pool!(time "queue_timeout" => |pool, time| pool.queue_timeout = Some(time), 1, DAY,
        "`timeouts.queue`", "\"2s\"",
        "How long they wait; beyond: 503 with `Retry-After`."),
    Setting::flag("buffer_requests", |draft: &mut PoolDraft, on| draft.pool.buffer_requests = on)
        .row("pool", "false", "true",
            "Take a request's body whole before a server is asked: a slow upload does not keep its place, and goes to another server if the first fails. Up to `limits.kept_bodies` of all bodies."),
    pool!(count "idle_connections" => |pool, n| pool.idle_connections = saturate(n), 0, 100_000,
        "128", "8",
        "Idle connections kept open to each server by each worker; 0: a connection for every request."),
    pool!(time "idle_timeout" => |pool, time| pool.idle_timeout = Some(time), 1, DAY,
        "`timeouts.upstream_keep_alive`", "\"4s\"",
        "How long they are kept. Best shorter than the server's own time."),
    pool!(time_or_off "connection_age" => |pool, time| pool.connection_age = time, 1, 30 * DAY,
        "\"off\"", "\"1h\"",
        "A connection older than this is not used again, so that names and balance take effect."),
    pool!(count_or_unlimited "connection_requests" => |pool, n| pool.connection_requests = n.unwrap_or(u64::MAX), 1, u64::MAX,
        "\"unlimited\"", "1000",
        "Requests on one connection to a server; then it is closed."),
    pool!(count "fail_after" => |pool, n| pool.fail_after = u32::try_from(n).unwrap_or(u32::MAX), 1, 1_000,
        "1", "3",
        "Failures in a row (not reached, no usable response) after which a server is left out."),
    pool!(time "fail_timeout" => |pool, time| pool.fail_timeout = time, 0, DAY,
        "\"10s\"", "\"1s\"",
        "How long it is left out then, unless all are; afterwards one request tries it."),
    pool!(time "slow_start" => |pool, time| pool.slow_start = time, 0, DAY,
        "\"0s\"", "\"30s\"",
        "How long the share of a server that comes, or comes back, grows to its whole."),
    Setting::text("zone", "a name", |draft: &mut PoolDraft, text| {
        draft.pool.zone = Some(words::plain_name(&text.value)?);
        Ok(())
    })
    .row("pool", "none", "\"rack-a\"",
        "Where this Forebay is: servers of the same `zone` are preferred while one of them can be used."),
    pool!(count "retries" => |pool, n| pool.retries = saturate(n), 0, 100,
        "2", "0",
        "How many more servers or connections are tried when a request can be repeated."),
    Setting::list("retry_on", "\"closed\", \"timeout\", \"invalid\", or a status such as \"502\"",
        |draft: &mut PoolDraft, list, wrong| draft.pool.retry_on = each_bare(list, words::retry_on, wrong))
    .row("pool", "[\"closed\"]", "[\"closed\", \"timeout\", \"502\", \"503\"]",
        "What is tried again, beside connections that do not come about, where a request can be repeated and nothing of the response was sent: the connection ended before the response's head, the head did not come in time, it was not the protocol's, or it had this status."),
    pool!(percent "retry_budget" => |pool, percent| pool.retry_budget_percent = u32::try_from(percent).unwrap_or(u32::MAX), 0, 1_000,
        "\"20%\"", "\"50%\"",
        "Retries and hedges at most, in percent of the requests of the last ten seconds (and a few always), so that they do not finish off servers that are down already."),
    pool!(time_or_off "hedge_after" => |pool, time| pool.hedge_after = time, 1, DAY,
        "\"off\"", "\"200ms\"",
        "Ask a second server too when the first has not answered a `GET` or `HEAD` for so long, and take the faster."),
    Setting::choice("proxy_protocol", &["off", "v1", "v2"], |draft: &mut PoolDraft, word| {
        draft.pool.proxy_protocol = match word {
            "v1" => Some(ProxyProtocol::V1),
            "v2" => Some(ProxyProtocol::V2),
            _ => None,
        };
    })
    .row("pool", "\"off\"", "\"v2\"",
        "A PROXY protocol header at the beginning of each connection tells the server who the client is. Such a connection serves one client."),
    Setting::text("host", "\"client\", \"server\", or a name such as \"app.example\"", |draft: &mut PoolDraft, text| {
        draft.pool.host = address::whose_host(&text.value)?;
        Ok(())
    })
    .row("pool", "\"client\"", "\"app.example\"",
        "The `Host` that servers get: the client's, the server's own name, or this one."),
    pool!(time "connect_timeout" => |pool, time| pool.connect_timeout = Some(time), 1, DAY,
        "`timeouts.connect`", "\"500ms\"", "To open a connection; beyond: the next server."),
    pool!(time "response_head_timeout" => |pool, time| pool.response_head_timeout = Some(time), 1, 30 * DAY,
        "`timeouts.response_head`", "\"5m\"", "From the request sent to the head of the response; beyond: 504."),
    pool!(time "response_body_timeout" => |pool, time| pool.response_body_timeout = Some(time), 1, 30 * DAY,
        "`timeouts.response_body`", "\"5m\"", "Between two reads of a response body; beyond: the response is broken off."),
    Setting::list("join_tokens", POOL_TOKEN, |draft: &mut PoolDraft, list, wrong| {
        draft.pool.join_tokens = each_bare(list, words::join_token, wrong);
    })
    .row("pool", "[]", "[\"a-long-random-text\"]",
        "Secrets with which back ends may join the pool by themselves (`forebay join`); without one: none may."),
    Setting::shape("health", "a section [pool.NAME.health], or true for connections only", |draft: &mut PoolDraft, row, given, out| {
        draft.health = nested::section_or_flag(HEALTH, (row, given), out);
    })
    .row("pool", "false", "{ path = \"/up\" }", "Servers are asked at intervals how they are; see [pool.NAME.health]."),
    Setting::shape("eject", "a section [pool.NAME.eject], or true for its defaults", |draft: &mut PoolDraft, row, given, out| {
        draft.pool.eject = nested::section_or_flag(EJECT, (row, given), out);
    })
    .row("pool", "false", "true", "Servers that answer worse than they should are left out for a while; see [pool.NAME.eject]."),
    Setting::shape("sticky", "a section [pool.NAME.sticky], or true for a cookie of Forebay's", |draft: &mut PoolDraft, row, given, out| {
        let span = given.span.clone();
        draft.sticky = nested::section_or_flag(STICKY, (row, given), out).map(|value| Spanned { value, span });
    })
    .row("pool", "false", "true", "Requests of one user go to one server; see [pool.NAME.sticky]."),
    Setting::shape("tls", "a section [pool.NAME.tls], or true", |draft: &mut PoolDraft, row, given, out| {
        draft.tls = nested::section_or_flag(TLS, (row, given), out);
    })
    .row("pool", "false", "true", "Connections to the servers are encrypted; see [pool.NAME.tls]. Servers written `https://…` mean the same."),
];
