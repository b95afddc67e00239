//! `[pool.NAME]`: servers that give the same answers; how one is chosen, limited, watched and
//! spoken to.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

/// One pool.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    /// Empty where servers come by themselves (`join_tokens`) or are processes (`[app.NAME]`).
    pub servers: Vec<PoolServer>,
    /// What is spoken to them.
    pub protocol: Protocol,
    /// How one is chosen.
    pub balance: Balance,
    /// Connections to each server at once, of all workers together; the rest wait in a queue.
    /// `None`: unlimited.
    pub max_connections: Option<usize>,
    /// Requests that may wait for the pool; beyond: 503.
    pub queue: usize,
    /// How long they wait; beyond: 503. `None`: `timeouts.queue`.
    pub queue_timeout: Option<Duration>,
    /// Bodies of requests are here whole before a server is asked.
    pub buffer_requests: bool,
    /// Idle connections kept to each server by each worker.
    pub idle_connections: usize,
    /// How long they are kept. `None`: `timeouts.upstream_keep_alive`.
    pub idle_timeout: Option<Duration>,
    /// A connection older than this is not used again.
    pub connection_age: Option<Duration>,
    /// Requests on one connection; then it is closed.
    pub connection_requests: u64,
    /// Failures in a row (not reached, no usable response) after which a server is left out.
    pub fail_after: u32,
    /// How long it is left out then (unless all are); afterwards one request tries it.
    pub fail_timeout: Duration,
    /// Servers that answer worse than the others are left out.
    pub eject: Option<Eject>,
    /// How long the share of a server that comes (back) grows to its whole.
    pub slow_start: Duration,
    /// Where this Forebay is: servers of the same zone are preferred.
    pub zone: Option<String>,
    /// How many more servers or connections are tried when a request can be repeated.
    pub retries: usize,
    /// What is tried again, beside connections that do not come about.
    pub retry_on: Vec<RetryOn>,
    /// Retries and hedges, in percent of the requests of the last ten seconds (and a few always).
    pub retry_budget_percent: u32,
    /// Ask a second server when the first has not answered for so long, and take the faster.
    pub hedge_after: Option<Duration>,
    /// Requests of one user go to one server.
    pub sticky: Option<Sticky>,
    /// Servers are asked how they are.
    pub health: Option<HealthCheck>,
    /// Connections are encrypted.
    pub tls: Option<OriginTls>,
    /// A PROXY protocol header tells the server who the client is.
    pub proxy_protocol: Option<ProxyProtocol>,
    /// What it is told of the host.
    pub host: HostSent,
    /// `None`: `timeouts.connect`.
    pub connect_timeout: Option<Duration>,
    /// `None`: `timeouts.response_head`.
    pub response_head_timeout: Option<Duration>,
    /// `None`: `timeouts.response_body`.
    pub response_body_timeout: Option<Duration>,
    /// Secrets with which back ends may join the pool by themselves; empty: none may.
    pub join_tokens: Vec<String>,
}

/// One server of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolServer {
    /// Where it is.
    pub address: ServerAddress,
    /// Its share, relative to the others'.
    pub weight: u32,
    /// Servers of a greater number are used only when none of a smaller one can be; a backup has
    /// [`PoolServer::BACKUP`].
    pub priority: u8,
    /// Where it stands.
    pub zone: Option<String>,
    /// In place of the pool's.
    pub max_connections: Option<usize>,
}

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ServerAddress {
    /// `host:port` or `ip:port`; a name is resolved at start and again as its records expire.
    Tcp {
        /// Name or address, without brackets.
        host: String,
        /// Port.
        port: u16,
    },
    /// `unix:/run/app.sock`
    Unix(PathBuf),
    /// `srv:_http._tcp.app.internal`: the servers that these records name (RFC 2782).
    Srv(String),
}

/// `pool.protocol`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1
    #[default]
    Http,
    /// FastCGI
    FastCgi,
    /// SCGI
    Scgi,
    /// uwsgi
    Uwsgi,
}

/// `pool.balance`
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Balance {
    /// In turn, by weight (smooth weighted round robin).
    #[default]
    RoundRobin,
    /// The one with the fewest requests under way, relative to its weight.
    LeastConnections,
    /// The better of two taken by chance, by peak EWMA of their latency times their load.
    Latency,
    /// By chance, by weight.
    Random,
    /// The same for the same key (ketama).
    Hash {
        /// What the key is made of.
        by: Vec<HashBy>,
        /// No server gets more than this many hundredths of the mean load; the key's next one
        /// takes over. `None`: no bound.
        bound_percent: Option<u32>,
    },
}

/// One part of the key of `balance = "hash"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HashBy {
    /// Host, path and query.
    Url,
    /// The path.
    Path,
    /// The client's address.
    Client,
    /// A request field (name in lower case).
    Header(String),
    /// A cookie.
    Cookie(String),
}

/// What is tried again, where a request can be repeated and nothing of the response was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryOn {
    /// The connection ended before the response's head.
    Closed,
    /// The response's head did not come in time.
    Timeout,
    /// The response is not the protocol's.
    Invalid,
    /// A response of this status.
    Status(u16),
}

/// `[pool.NAME.eject]`: outliers are left out for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eject {
    /// Failures and responses of 500 or above, in percent of a server's requests in `window`.
    pub error_percent: u32,
    /// Requests in `window` below which a server is not judged.
    pub requests: u64,
    /// What is looked at.
    pub window: Duration,
    /// How long it is left out; each time in a row once more as long.
    pub time: Duration,
    /// At most so many of the pool's servers at once, in percent (one always).
    pub most_percent: u32,
}

/// `[pool.NAME.sticky]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sticky {
    /// The cookie's name.
    pub cookie: String,
    /// Whether the cookie is ours, or the application's and learned from its `Set-Cookie`.
    pub learn: bool,
    /// How long a cookie of ours is kept by the browser (`None`: as long as it runs), or one
    /// that was learned is remembered since it was last seen.
    pub lifetime: Option<Duration>,
    /// Cookies remembered; beyond: the oldest goes.
    pub most: usize,
    /// What the value of a cookie of ours is made with, so that nobody can tell a server by it.
    pub secret: Option<String>,
}

/// `[pool.NAME.health]`: active checks.
#[derive(Clone, Debug, PartialEq)]
pub struct HealthCheck {
    /// What is asked.
    pub probe: Probe,
    /// From one check of a server to the next, a tenth more or less by chance.
    pub interval: Duration,
    /// For the whole check.
    pub timeout: Duration,
    /// Good ones in a row after which a server that was down is up.
    pub rise: u32,
    /// Bad ones in a row after which a server is down.
    pub fall: u32,
}

/// What an active check asks.
#[derive(Clone, Debug, PartialEq)]
pub enum Probe {
    /// That a connection comes about.
    Tcp,
    /// `GET path` in the pool's protocol (HTTP, or over FastCGI, SCGI, uwsgi).
    Request {
        /// Path and query. PHP-FPM's `ping.path`, for example.
        path: String,
        /// `Host`.
        host: String,
        /// Statuses that are good.
        statuses: Vec<RangeInclusive<u16>>,
        /// Text that the first 64 KiB of the body must contain.
        body: Option<String>,
    },
}

/// `[pool.NAME.tls]`: TLS to the servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginTls {
    /// Whether the certificate is verified.
    pub verify: bool,
    /// The name sent (SNI) and verified; `None`: the server's.
    pub name: Option<String>,
    /// PEM file of the authorities; `None`: the system's.
    pub authorities: Option<PathBuf>,
    /// PEM file of the certificate chain that is shown to the server, and of its key.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

/// `pool.proxy_protocol`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyProtocol {
    /// The line of text.
    V1,
    /// Binary.
    V2,
}

/// `pool.host`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HostSent {
    /// As the client sent it.
    #[default]
    Client,
    /// The server's own name.
    Server,
    /// This.
    Fixed(String),
}

impl PoolServer {
    /// The priority of `backup = true`.
    pub const BACKUP: u8 = 255;

    /// A server like any other, at `address`.
    pub fn at(address: ServerAddress) -> Self {
        Self {
            address,
            weight: 1,
            priority: 0,
            zone: None,
            max_connections: None,
        }
    }
}

impl Default for Pool {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            protocol: Protocol::Http,
            balance: Balance::RoundRobin,
            max_connections: None,
            queue: 100_000,
            queue_timeout: None,
            buffer_requests: false,
            idle_connections: 128,
            idle_timeout: None,
            connection_age: None,
            connection_requests: u64::MAX,
            fail_after: 1,
            fail_timeout: Duration::from_secs(10),
            eject: None,
            slow_start: Duration::ZERO,
            zone: None,
            retries: 2,
            retry_on: vec![RetryOn::Closed],
            retry_budget_percent: 20,
            hedge_after: None,
            sticky: None,
            health: None,
            tls: None,
            proxy_protocol: None,
            host: HostSent::Client,
            connect_timeout: None,
            response_head_timeout: None,
            response_body_timeout: None,
            join_tokens: Vec::new(),
        }
    }
}

impl Default for Eject {
    fn default() -> Self {
        Self {
            error_percent: 50,
            requests: 20,
            window: Duration::from_secs(10),
            time: Duration::from_secs(30),
            most_percent: 50,
        }
    }
}

impl Default for HealthCheck {
    fn default() -> Self {
        Self {
            probe: Probe::Tcp,
            interval: Duration::from_secs(5),
            timeout: Duration::from_secs(2),
            rise: 2,
            fall: 3,
        }
    }
}

impl Default for OriginTls {
    fn default() -> Self {
        Self {
            verify: true,
            name: None,
            authorities: None,
            certificate: None,
        }
    }
}

impl std::fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Srv(name) => write!(f, "srv:{name}"),
        }
    }
}
