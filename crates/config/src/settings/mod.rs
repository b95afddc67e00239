//! The checked settings: what the rest of the program may rely on.
//!
//! A value of [`Settings`] exists only if every rule holds (names resolve,
//! sizes and times are in range), so its readers check nothing again. One
//! value lives from one reload to the next and is shared by all workers.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

mod app;
mod pool;
mod service;
mod session;

pub use app::App;
pub use pool::{
    Balance, Eject, HashBy, HealthCheck, HostSent, OriginTls, Pool, PoolServer, Probe, Protocol,
    ProxyProtocol, RetryOn, ServerAddress, Sticky,
};
pub use service::{
    BasicAuth, Cgi, Coding, Compress, Cors, Files, HeaderEdits, Maintenance, PathRule, Priority,
    Rate, Redirect, Respond, Rewrite, Service, Site, Symlinks, When,
};
pub use session::{Durability, Full, Session};

/// The whole configuration.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `[server]`
    pub server: Server,
    /// `[[listen]]`, in the order of the file; empty where there are only stores of sessions.
    pub listen: Vec<ListenAddress>,
    /// Those of them whose connections begin with a header of the PROXY protocol.
    pub introduced: Vec<ListenAddress>,
    /// Those of them whose connections are encrypted.
    pub secured: Vec<(ListenAddress, ServerTls)>,
    /// The permissions of the Unix sockets among them that have others than usual.
    pub socket_modes: BTreeMap<PathBuf, u32>,
    /// `[admin]`
    pub admin: Admin,
    /// `[purge]`
    pub purge: Purge,
    /// `[limits]`
    pub limits: Limits,
    /// `[timeouts]`
    pub timeouts: Timeouts,
    /// `[cache]`
    pub cache: Cache,
    /// `[pool.NAME]`
    pub pools: BTreeMap<String, Pool>,
    /// `[app.NAME]`; the pool of the same name is theirs.
    pub apps: BTreeMap<String, App>,
    /// `[session.NAME]`
    pub sessions: BTreeMap<String, Session>,
    /// `[site.NAME]`, in the order of the file.
    pub sites: Vec<Site>,
    /// `[log]`
    pub log: Log,
}

/// The permissions of a Unix socket of `[[listen]]` for which none were written: everybody's.
pub(crate) const SOCKET_MODE: u32 = 0o666;

/// A certificate that clients are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerTls {
    /// The PEM file of the certificate, followed by those that signed it.
    pub certificate: PathBuf,
    /// The PEM file of its key.
    pub key: PathBuf,
    /// Authorities of which clients must have a certificate.
    pub client_ca: Option<PathBuf>,
}

/// Where clients, or a server of a pool, are reached.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ListenAddress {
    /// `127.0.0.1:8080`, `[::1]:8080`; port 0 takes any free port.
    Tcp(SocketAddr),
    /// `unix:/run/forebay.sock`
    Unix(PathBuf),
}

/// `[admin]`: metrics, status and administration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admin {
    /// Where it is served; empty: nowhere.
    pub addresses: Vec<ListenAddress>,
    /// Bearer tokens that may look.
    pub read_tokens: Vec<String>,
    /// Bearer tokens that may look and purge.
    pub purge_tokens: Vec<String>,
    /// Bearer tokens that may do everything.
    pub admin_tokens: Vec<String>,
    /// Names that it may be reached by, beside IP addresses and `localhost`.
    pub hosts: Vec<String>,
}

/// `[purge]`: who may purge with the methods `PURGE` and `BAN` on the listening addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Purge {
    /// Clients that may.
    pub allow: Vec<Network>,
    /// Bearer tokens with which anybody may.
    pub tokens: Vec<String>,
}

/// `[server]`: the process as a whole.
#[derive(Clone, Debug)]
pub struct Server {
    /// Worker threads.
    pub workers: usize,
    /// Client connections at once, in the whole process.
    pub max_connections: usize,
    /// How long connections may finish after SIGTERM.
    pub drain_timeout: Duration,
    /// This server's name in `Via` and `Cache-Status`.
    pub name: String,
    /// Networks whose `X-Forwarded-*` and `Forwarded` fields are believed and extended.
    pub trusted_proxies: Vec<Network>,
    /// DNS servers that names of servers are asked of; empty: the system's.
    pub resolvers: Vec<SocketAddr>,
    /// Where changes of servers that are to be kept are written down; `None`: nowhere.
    pub state_file: Option<PathBuf>,
    /// Which fields tell the origin who the client is.
    pub forwarded: Forwarded,
}

/// An address block, `10.0.0.0/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// Any address of the block.
    pub address: IpAddr,
    /// How many leading bits count.
    pub prefix: u8,
}

/// `server.forwarded`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forwarded {
    /// `X-Forwarded-For`, `-Host`, `-Proto` and `Forwarded`.
    Both,
    /// `X-Forwarded-*` only.
    XForwarded,
    /// RFC 7239 `Forwarded` only.
    Rfc7239,
    /// Neither.
    None,
}

/// `[limits]`: every quantity a peer can drive.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections of one client at once, of all workers; beyond: closed. `None`: unlimited.
    pub client_connections: Option<u32>,
    /// Bytes of a request line; beyond: 414.
    pub request_line_bytes: usize,
    /// Bytes of a request head; beyond: 431.
    pub request_head_bytes: usize,
    /// Fields of a request head; beyond: 431.
    pub request_fields: usize,
    /// Bytes of a request body; beyond: 413. `u64::MAX`: unlimited.
    pub request_body_bytes: u64,
    /// Bytes of all request bodies that are kept until their length is known; beyond: 503.
    pub kept_bodies_bytes: u64,
    /// Bytes of an origin's response head; beyond: 502.
    pub response_head_bytes: usize,
    /// Fields of an origin's response head; beyond: 502.
    pub response_fields: usize,
    /// Bytes of chunk extensions on one chunk; beyond: 400 or 502.
    pub chunk_extension_bytes: usize,
    /// Bytes of a trailer section; beyond: 400 or 502.
    pub trailer_bytes: usize,
    /// 1xx responses before a final one; beyond: 502.
    pub interim_responses: usize,
    /// Requests that may wait for one fetch; the rest go to the origin themselves.
    pub waiters: usize,
    /// Variants kept under one key; beyond: the oldest goes.
    pub variants: usize,
    /// Ranges answered in one request; beyond: the field is ignored and 200 sent.
    pub ranges: usize,
    /// Requests answered on one client connection before it is closed.
    pub requests_per_connection: u64,
    /// Bytes that the fetch of a response that is not stored may be ahead of its slowest reader.
    pub stream_window_bytes: usize,
}

/// `[timeouts]`
#[derive(Clone, Debug)]
pub struct Timeouts {
    /// From the first byte of a request to the end of its head; beyond: 408.
    pub request_head: Duration,
    /// Between two reads of a request body; beyond: 408.
    pub request_body: Duration,
    /// An idle client connection between requests; beyond: closed.
    pub keep_alive: Duration,
    /// Between two writes that the client accepts; beyond: closed.
    pub send: Duration,
    /// To open a connection to one address of a server; beyond: the next one.
    pub connect: Duration,
    /// From the request sent to the response's head; beyond: 504.
    pub response_head: Duration,
    /// Between two reads of a response body; beyond: the response is broken off.
    pub response_body: Duration,
    /// An idle connection to a server; beyond: closed.
    pub upstream_keep_alive: Duration,
    /// For a connection slot of a server whose `max_connections` is reached; beyond: 503.
    pub queue: Duration,
    /// Without a byte in either direction of an upgraded connection; beyond: closed.
    pub tunnel: Duration,
}

/// `[cache]`: the memory tier and the defaults of every site's policy.
#[derive(Clone, Debug)]
pub struct Cache {
    /// Bytes that cached objects may take, with everything needed to keep them.
    pub memory: u64,
    /// Objects larger than this are streamed, not stored.
    pub max_object_bytes: u64,
    /// How long requests for a key are not collapsed after a response that was not cacheable.
    pub hit_for_miss: Duration,
    /// Response fields that carry an object's tags.
    pub tag_fields: Vec<String>,
    /// `[cache.disk]`; absent: memory only.
    pub disk: Option<Disk>,
    /// What sites and paths start from.
    pub policy: Policy,
}

/// `[cache.disk]`: the disk tier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// One for each disk; at least one.
    pub directories: Vec<PathBuf>,
    /// Bytes that each directory may take.
    pub size_bytes: u64,
    /// Objects larger than this are streamed, not stored on disk.
    pub max_object_bytes: u64,
    /// Objects larger than this go straight to disk and are read from there in pieces.
    pub large_bytes: u64,
    /// How long a stop may take to write what is only in memory; `None`: it is not written.
    pub save_on_stop: Option<Duration>,
    /// Threads that wait for reads.
    pub readers: usize,
    /// Bytes that wait to be written; beyond: not written, and counted.
    pub write_queue_bytes: u64,
}

/// The cache policy in force for a request: `[cache]`, then the site's, then the path's settings over it.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Never look up, never store.
    pub pass: bool,
    /// Freshness of a response that states none; absent: the RFC's rules alone.
    pub default_ttl: Option<Duration>,
    /// Freshness whatever the response states (also for `private`, `no-cache`, `no-store` and `max-age=0`).
    pub force_ttl: Option<Duration>,
    /// Freshness by status of a response that states none; stronger than `default_ttl`. Sorted by status.
    pub ttl_status: Vec<(u16, Duration)>,
    /// How long past its freshness an object may be served while it is fetched anew (unless the response forbids it).
    pub grace: Duration,
    /// How long past its freshness an object may be served when the origin fails (unless the response forbids it).
    pub stale_if_error: Duration,
    /// How long past its freshness an object is kept so that it can be validated.
    pub keep: Duration,
    /// Guess freshness from `Last-Modified` (RFC 9111 section 4.2.2).
    pub heuristic: bool,
    /// The longest guess.
    pub heuristic_max: Duration,
    /// Store responses that carry `Set-Cookie`.
    pub store_set_cookie: bool,
    /// Obey `Cache-Control` and `Pragma` of requests (RFC 9111 section 5.2.1).
    pub request_directives: bool,
    /// Response fields that override `Cache-Control` here, in order of preference (RFC 9213).
    pub targeted_fields: Vec<String>,
    /// What a cache key is made of.
    pub key: Vec<KeyPart>,
    /// Query parameters dropped from key and request (globs).
    pub ignore_query: Vec<String>,
    /// When not empty: the only query parameters kept (globs).
    pub keep_query: Vec<String>,
    /// Sort query parameters by name in the key.
    pub sort_query: bool,
    /// Cookies dropped from the request (globs).
    pub ignore_cookies: Vec<String>,
    /// When present: the only cookies kept in the request (globs); an empty list drops all.
    pub keep_cookies: Option<Vec<String>>,
    /// Compare and forward `Accept-Language` in normal form.
    pub normalize_accept_language: bool,
    /// Add `Cache-Status` (RFC 9211) to responses.
    pub cache_status: bool,
}

/// One part of a cache key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPart {
    /// The host, in lower case, with its port unless it is the scheme's own.
    Host,
    /// The path as sent.
    Path,
    /// The query, after `ignore_query`, `keep_query` and `sort_query`.
    Query,
    /// A request field, `header:NAME` (name in lower case).
    Header(String),
    /// A cookie, `cookie:NAME`.
    Cookie(String),
}

/// `[log]`
#[derive(Clone, Debug)]
pub struct Log {
    /// Where accesses are logged.
    pub access: LogTarget,
    /// How.
    pub format: LogFormat,
    /// Where everything else is logged.
    pub error: LogTarget,
    /// The least level logged: `error`, `warn`, `info`, `debug`.
    pub level: String,
    /// Bytes of log lines waiting to be written, for each worker; beyond: lines are dropped and counted.
    pub buffer_bytes: usize,
}

/// Where a log goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogTarget {
    /// `off`
    Off,
    /// `stdout`
    Stdout,
    /// `stderr`
    Stderr,
    /// A file, appended to and reopened on reload.
    File(PathBuf),
}

/// `log.format`
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Apache's combined format.
    Combined,
    /// One JSON object a line.
    Json,
    /// A string with `{field}` placeholders, checked against the list of fields.
    Custom(String),
}

impl Settings {
    /// The permissions of a Unix socket of `[[listen]]`.
    pub fn socket_mode(&self, path: &Path) -> u32 {
        self.socket_modes.get(path).copied().unwrap_or(SOCKET_MODE)
    }
}

impl Admin {
    /// Whether there is a token of any kind: then nothing is served over TCP without one.
    pub fn has_tokens(&self) -> bool {
        [&self.read_tokens, &self.purge_tokens, &self.admin_tokens]
            .iter()
            .any(|tokens| !tokens.is_empty())
    }

    /// The first TCP address, which a command on this machine uses.
    pub fn address(&self) -> Option<SocketAddr> {
        self.addresses.iter().find_map(|address| match address {
            ListenAddress::Tcp(tcp) => Some(*tcp),
            ListenAddress::Unix(_) => None,
        })
    }
}

impl Network {
    /// Whether `ip` lies in this block; an IPv4-mapped IPv6 address counts as IPv4.
    pub fn contains(&self, ip: IpAddr) -> bool {
        fn bits(ip: IpAddr) -> (u128, u8) {
            match ip.to_canonical() {
                IpAddr::V4(v4) => (u128::from(u32::from(v4)) << 96, 32),
                IpAddr::V6(v6) => (u128::from(v6), 128),
            }
        }
        let ((own, own_len), (other, other_len)) = (bits(self.address), bits(ip));
        own_len == other_len
            && (self.prefix == 0
                || (own ^ other) >> (128 - u32::from(self.prefix.min(own_len))) == 0)
    }
}

impl std::fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl Default for Server {
    fn default() -> Self {
        Self {
            workers: 1,
            max_connections: 65_536,
            drain_timeout: Duration::from_secs(30),
            state_file: None,
            name: "forebay".into(),
            trusted_proxies: Vec::new(),
            resolvers: Vec::new(),
            forwarded: Forwarded::Both,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            client_connections: None,
            request_line_bytes: 8 << 10,
            request_head_bytes: 32 << 10,
            request_fields: 100,
            request_body_bytes: u64::MAX,
            kept_bodies_bytes: 1 << 30,
            response_head_bytes: 64 << 10,
            response_fields: 256,
            chunk_extension_bytes: 256,
            trailer_bytes: 8 << 10,
            interim_responses: 16,
            waiters: 10_000,
            variants: 64,
            ranges: 16,
            requests_per_connection: u64::MAX,
            stream_window_bytes: 1 << 20,
        }
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        let s = Duration::from_secs;
        Self {
            request_head: s(15),
            request_body: s(30),
            keep_alive: s(60),
            send: s(30),
            connect: s(5),
            response_head: s(60),
            response_body: s(30),
            upstream_keep_alive: s(30),
            queue: s(30),
            tunnel: s(600),
        }
    }
}

impl Default for Cache {
    fn default() -> Self {
        Self {
            memory: 256 << 20,
            max_object_bytes: 32 << 20,
            hit_for_miss: Duration::from_secs(120),
            tag_fields: ["Surrogate-Key", "Cache-Tag", "xkey"]
                .map(String::from)
                .into(),
            disk: None,
            policy: Policy::default(),
        }
    }
}

impl Default for Disk {
    fn default() -> Self {
        Self {
            directories: Vec::new(),
            size_bytes: 0,
            max_object_bytes: 1 << 30,
            large_bytes: 1 << 20,
            save_on_stop: Some(Duration::from_secs(20)),
            readers: 4,
            write_queue_bytes: 64 << 20,
        }
    }
}

impl Policy {
    /// Final statuses whose responses are never stored, whatever they and the policy say, in order: a
    /// confirmation of what is stored, and answers to one way of asking. Another client that asks
    /// well must not get them (a 416 to a range, a 412 to a condition, a 431 to a head).
    pub const NEVER_STORED: [u16; 15] = [
        304, 407, 408, 411, 412, 413, 415, 416, 417, 421, 422, 425, 426, 428, 431,
    ];

    /// Whether a targeted field of this name is heeded.
    pub fn heeds(&self, field: &str) -> bool {
        let mut names = self.targeted_fields.iter();
        names.any(|name| name.eq_ignore_ascii_case(field))
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            pass: false,
            default_ttl: None,
            force_ttl: None,
            ttl_status: Vec::new(),
            grace: Duration::ZERO,
            stale_if_error: Duration::ZERO,
            keep: Duration::from_secs(3600),
            heuristic: true,
            heuristic_max: Duration::from_secs(86_400),
            store_set_cookie: false,
            request_directives: true,
            targeted_fields: vec!["CDN-Cache-Control".into()],
            key: vec![KeyPart::Host, KeyPart::Path, KeyPart::Query],
            ignore_query: Vec::new(),
            keep_query: Vec::new(),
            sort_query: false,
            ignore_cookies: Vec::new(),
            keep_cookies: None,
            normalize_accept_language: false,
            cache_status: true,
        }
    }
}

impl Default for Log {
    fn default() -> Self {
        Self {
            access: LogTarget::Off,
            format: LogFormat::Combined,
            error: LogTarget::Stderr,
            level: "info".into(),
            buffer_bytes: 8 << 20,
        }
    }
}
