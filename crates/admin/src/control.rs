//! What the administration can be asked, and the types of the answers.
//!
//! The program implements [`Control`]; this crate knows nothing else of it.
//! The types are what the API says in JSON: their field names are a contract.

use forebay_stats::{Gauges, Snapshot};
use serde::Serialize;
use serde_json::Value;
use std::time::Duration;

mod pools;
mod server_order;
mod sessions;

pub use pools::{AppState, PoolServer, PoolState, ProcessState, ServerChanged};
pub use server_order::{ServerAct, ServerOrder, Share};
pub use sessions::{SessionState, SnapshotOrder};

/// What the administration address shows and does. It is called from threads
/// that may wait, several at once.
///
/// A method with a body here is one that a server may be without; it answers
/// that it is not available.
pub trait Control: Send + Sync {
    /// The sums of counters and timings.
    fn snapshot(&self) -> Snapshot;

    /// The state of the process. A `resident_bytes` of 0 is filled in here.
    fn gauges(&self) -> Gauges;

    /// Reads the configuration again and takes it into service whole. It may
    /// take its time; there is never more than one call at once.
    ///
    /// `Ok` carries warnings for the operator. An [`Admin`](crate::Admin)
    /// dropped in here does not answer the request that asked for the reload
    /// any more; drop it later when the address moves.
    ///
    /// # Errors
    /// Why the configuration was refused; the old one is still in service.
    fn reload(&self) -> Result<Vec<String>, String>;

    /// The version of the program.
    fn version(&self) -> &str;

    /// More members of `/status`: listening addresses, pools with their
    /// servers and state. An object; members named like one of the figures'
    /// (`version`, `gauges`, `counters`, `timings`, `hit_ratio`) are ignored.
    fn status_extra(&self) -> Value;

    /// The parts of the server now, for `/api/v1/status`.
    fn state(&self) -> State {
        State::default()
    }

    /// Every setting in force.
    fn settings(&self) -> Vec<SettingInForce> {
        Vec::new()
    }

    /// What is stored for a URL: `http://host/path?query`, or `host/path`.
    ///
    /// # Errors
    /// [`Problem::Invalid`] when it is no URL.
    fn inspect(&self, _url: &str) -> Result<Inspection, Problem> {
        Err(Problem::absent("looking objects up"))
    }

    /// The objects with the most hits, the first first; at most `limit`.
    ///
    /// # Errors
    /// [`Problem::Unavailable`]
    fn hottest(&self, _limit: usize) -> Result<Vec<Popular>, Problem> {
        Err(Problem::absent("the list of the hottest objects"))
    }

    /// The largest objects, the first first; at most `limit`.
    ///
    /// # Errors
    /// [`Problem::Unavailable`]
    fn biggest(&self, _limit: usize) -> Result<Vec<Popular>, Problem> {
        Err(Problem::absent("the list of the biggest objects"))
    }

    /// Carries out one purge. When it returns, no older object is served
    /// any more, and the purge survives a crash.
    ///
    /// # Errors
    /// [`Problem::Invalid`] for an order that makes no sense (nothing was done),
    /// [`Problem::Failed`] when it could not be made durable (nothing was done).
    fn purge(&self, _order: &Order) -> Result<Purged, Problem> {
        Err(Problem::absent("purging"))
    }

    /// Many purges, each with its own outcome, in order. Together they may be
    /// made durable at once, which is why they are given together.
    fn purge_batch(&self, orders: &[Order]) -> Vec<Result<Purged, Problem>> {
        orders.iter().map(|order| self.purge(order)).collect()
    }

    /// The purges that are still compared with objects, the newest first.
    ///
    /// # Errors
    /// [`Problem::Unavailable`]
    fn bans(&self) -> Result<Vec<Ban>, Problem> {
        Err(Problem::absent("the list of bans"))
    }

    /// Changes a server of a pool, or which there are.
    ///
    /// # Errors
    /// [`Problem::NotFound`] without such a pool or server, [`Problem::Conflict`] when one to be
    /// added is there, [`Problem::Failed`] when it could not be written down (nothing was done).
    fn change_server(&self, _order: &ServerOrder) -> Result<ServerChanged, Problem> {
        Err(Problem::absent("changing servers"))
    }

    /// The applications with their processes.
    fn apps(&self) -> Vec<AppState> {
        Vec::new()
    }

    /// Begins to replace the processes of an application one by one. Returns at once.
    ///
    /// # Errors
    /// [`Problem::NotFound`] without such an application.
    fn replace_app(&self, _name: &str) -> Result<(), Problem> {
        Err(Problem::absent("replacing processes"))
    }

    /// The stores of sessions.
    fn sessions(&self) -> Vec<SessionState> {
        Vec::new()
    }

    /// Copies what a store holds, as it is at this moment, into a new directory; says how many
    /// bytes that are.
    ///
    /// # Errors
    /// [`Problem::NotFound`] without such a store, [`Problem::Failed`] when the directory cannot
    /// be made.
    fn snapshot_session(&self, _order: &SnapshotOrder) -> Result<u64, Problem> {
        Err(Problem::absent("copying stores of sessions"))
    }

    /// Begins to follow exchanges as they end; it stops when dropped.
    ///
    /// # Errors
    /// [`Problem::Unavailable`] when there are too many followers.
    fn tail(&self, _filter: &TailFilter) -> Result<Box<dyn Tail>, Problem> {
        Err(Problem::absent("following exchanges"))
    }

    /// Stops accepting, lets exchanges finish, ends the process. Returns at once.
    ///
    /// # Errors
    /// [`Problem::Conflict`] when that is under way already.
    fn drain(&self) -> Result<(), Problem> {
        Err(Problem::absent("draining"))
    }

    /// The level of the error log in force: `error`, `warn`, `info`, `debug`.
    fn log_level(&self) -> String {
        "info".into()
    }

    /// Changes the level until the next reload or start.
    ///
    /// # Errors
    /// [`Problem::Invalid`] when there is no such level.
    fn set_log_level(&self, _level: &str) -> Result<(), Problem> {
        Err(Problem::absent("changing the log level"))
    }
}

/// Why something was not done; the text is for the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// What was asked makes no sense (422).
    Invalid(String),
    /// It is not there (404).
    NotFound(String),
    /// Not now: something else is under way (409).
    Conflict(String),
    /// Not in this server, or not at this time (503).
    Unavailable(String),
    /// Our own failure (500).
    Failed(String),
}

impl Problem {
    /// This server does not have `what`.
    fn absent(what: &str) -> Self {
        Self::Unavailable(format!("{what} is not available in this server"))
    }

    /// The status of the answer.
    pub fn status(&self) -> u16 {
        match self {
            Self::Invalid(_) => 422,
            Self::NotFound(_) => 404,
            Self::Conflict(_) => 409,
            Self::Unavailable(_) => 503,
            Self::Failed(_) => 500,
        }
    }

    /// The words.
    pub fn message(&self) -> &str {
        match self {
            Self::Invalid(text)
            | Self::NotFound(text)
            | Self::Conflict(text)
            | Self::Unavailable(text)
            | Self::Failed(text) => text,
        }
    }
}

/// The parts of the server at one moment.
#[derive(Debug, Clone, Default, Serialize)]
pub struct State {
    /// No connections are accepted any more.
    pub draining: bool,
    /// Addresses that clients connect to.
    pub listening: Vec<String>,
    /// Pools with their servers.
    pub pools: Vec<PoolState>,
    /// Sites.
    pub sites: Vec<SiteState>,
    /// The disk tier; `None` without one.
    pub disk: Option<DiskState>,
    /// The file that a reload reads.
    pub config_file: Option<String>,
}

/// A site.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SiteState {
    /// Its name.
    pub name: String,
    /// Its hosts; empty: every host.
    pub hosts: Vec<String>,
    /// The pool it is fetched from.
    pub pool: String,
}

/// The disk tier.
#[derive(Debug, Clone, Default, Serialize)]
pub struct DiskState {
    /// Bytes on disk.
    pub used_bytes: u64,
    /// What it may take.
    pub limit_bytes: u64,
    /// Objects on disk.
    pub objects: u64,
    /// Memory that its index takes.
    pub index_bytes: u64,
    /// Its directories.
    pub directories: Vec<DirectoryState>,
}

/// A directory of the disk tier.
#[derive(Debug, Clone, Default, Serialize)]
pub struct DirectoryState {
    /// Where it is.
    pub path: String,
    /// `ready`, `recovering`, `failed`.
    pub state: String,
    /// Bytes on disk.
    pub used_bytes: u64,
    /// What it may take.
    pub limit_bytes: u64,
    /// Why it failed.
    pub error: Option<String>,
}

/// One setting in force.
#[derive(Debug, Clone, Serialize)]
pub struct SettingInForce {
    /// `cache.grace`, `pool.app.servers`
    pub name: String,
    /// Its value, as it would stand in the file. Secrets are left out (`null`).
    pub value: Value,
    /// Whether the file does not say it.
    pub default: bool,
}

/// What is known about a URL.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Inspection {
    /// The URL that was looked up, in its normal form.
    pub url: String,
    /// The site it belongs to; `None`: no site answers this host.
    pub site: Option<String>,
    /// The cache key in readable form.
    pub key: String,
    /// What is stored under it.
    pub variants: Vec<Variant>,
    /// What a plain GET would get, and why: `hit: fresh for 30 s more`,
    /// `pass: the site is never cached`.
    pub verdict: String,
}

/// A stored variant of an object.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Variant {
    /// The stored status.
    pub status: u16,
    /// Seconds since the origin made it (RFC 9111 section 4.2.3).
    pub age_s: u64,
    /// Seconds that it is fresh in all.
    pub ttl_s: u64,
    /// Seconds it may be used beyond that.
    pub grace_s: u64,
    /// `fresh`, `grace`, `stale`, `invalid`.
    pub freshness: String,
    /// `memory`, `disk`, `growing`.
    pub tier: String,
    /// How often it was used since it came to where it lies.
    pub hits: u64,
    /// Bytes of the body.
    pub size_bytes: u64,
    /// Its tags and cache groups.
    pub tags: Vec<String>,
    /// The request fields that choose it, `accept-encoding: gzip`.
    pub vary: Vec<String>,
    /// When it was stored, seconds since 1970.
    pub stored_at: u64,
    /// Its `ETag`, if any.
    pub etag: Option<String>,
    /// Its `Last-Modified`, if any.
    pub last_modified: Option<String>,
    /// Its `Content-Type`, if any.
    pub content_type: Option<String>,
    /// Why it is, or is not, served as it is.
    pub why: String,
}

/// An object of a list.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Popular {
    /// Its URL.
    pub url: String,
    /// How often it was used.
    pub hits: u64,
    /// Bytes of the body.
    pub size_bytes: u64,
    /// Seconds since the origin made it.
    pub age_s: u64,
    /// `memory`, `disk`, `growing`.
    pub tier: String,
}

/// What to purge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// One URL, all its variants.
    Url(String),
    /// All URLs that begin so: `http://host/path` or `host/path`, or `/path` on every host.
    Prefix(String),
    /// URLs (path and query) that match a regular expression, of one host or of all.
    Regex {
        /// The expression.
        regex: String,
        /// The host, if not every.
        host: Option<String>,
    },
    /// An expression over request and response: `obj.status == 404 && req.url ~ "^/news"`.
    Ban(String),
    /// Everything that carries one of these tags.
    Tags(Vec<String>),
    /// Everything.
    All,
}

/// A purge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// What.
    pub what: What,
    /// Make it stale, not gone: the next request refreshes it.
    pub soft: bool,
}

/// A purge that was carried out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Purged {
    /// What was done, in words.
    pub done: String,
    /// `url`, `prefix`, `regex`, `ban`, `tag`, `all`
    pub kind: String,
    /// Whether things were made stale rather than gone.
    pub soft: bool,
    /// Objects that were hit, when that is known already.
    pub objects: Option<u64>,
    /// Objects that may be hit when they are looked up.
    pub may_touch: Option<u64>,
    /// Whether an equal purge stood in the list and was replaced.
    pub merged: bool,
}

/// A purge that objects are still compared with.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Ban {
    /// Its number; a newer one is greater.
    pub moment: u64,
    /// Whether it makes stale rather than gone.
    pub soft: bool,
    /// What it matches, in words or as an expression.
    pub expression: String,
    /// Objects compared with it.
    pub tests: u64,
    /// Objects hit by it.
    pub hits: u64,
}

/// Which exchanges to follow; all that are given must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TailFilter {
    /// Statuses, any of them: `404` is `(404, 404)`, the class `5xx` is `(500, 599)`;
    /// empty: every status.
    pub status: Vec<(u16, u16)>,
    /// A glob over the host.
    pub host: Option<String>,
    /// A glob over the target: path and query.
    pub url: Option<String>,
    /// Cache results, any of them: `hit`, `miss`, `pass`, … as in the access log.
    pub cache: Vec<String>,
    /// Exchanges that took longer.
    pub slower_than: Option<Duration>,
}

/// Exchanges being followed.
pub trait Tail: Send {
    /// Waits for the next event, at most `patience`.
    fn next(&mut self, patience: Duration) -> TailEvent;
}

/// What a [`Tail`] says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TailEvent {
    /// One exchange: a JSON object, without an end of line.
    Exchange(Vec<u8>),
    /// So many exchanges that matched could not be kept for this reader.
    Dropped(u64),
    /// Nothing happened while it waited.
    Quiet,
    /// There will be no more: the server stops.
    End,
}
