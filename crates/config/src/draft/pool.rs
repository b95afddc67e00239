//! What has been read of `[pool.NAME]` and `[app.NAME]`.

use crate::settings::{
    App, Eject, HashBy, HealthCheck, OriginTls, Pool, Protocol, ServerAddress, Sticky,
};

use super::Spanned;

/// `[pool.NAME]`
#[derive(Clone, Debug, Default)]
pub(crate) struct PoolDraft {
    /// What needs no check against the rest.
    pub(crate) pool: Pool,
    /// Whether `servers` stands in the file, if only with errors.
    pub(crate) servers_written: bool,
    pub(crate) servers: Vec<Spanned<ServerDraft>>,
    pub(crate) balance: Balancing,
    pub(crate) hash_by: Option<Spanned<Vec<HashBy>>>,
    pub(crate) hash_bound: Option<u32>,
    pub(crate) protocol: Option<Protocol>,
    pub(crate) health: Option<HealthDraft>,
    pub(crate) sticky: Option<Spanned<StickyDraft>>,
    pub(crate) tls: Option<TlsDraft>,
}

/// `pool.balance`, without what belongs to a hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Balancing {
    #[default]
    RoundRobin,
    LeastConnections,
    Latency,
    Random,
    Hash,
}

/// One of `servers`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerDraft {
    pub(crate) address: Option<ServerAddress>,
    /// It was written `https://…`.
    pub(crate) https: bool,
    pub(crate) weight: u32,
    pub(crate) priority: u8,
    pub(crate) backup: bool,
    pub(crate) zone: Option<String>,
    pub(crate) max_connections: Option<usize>,
}

impl Default for ServerDraft {
    fn default() -> Self {
        Self {
            address: None,
            https: false,
            weight: 1,
            priority: 0,
            backup: false,
            zone: None,
            max_connections: None,
        }
    }
}

/// `[pool.NAME.health]`
#[derive(Clone, Debug, Default)]
pub(crate) struct HealthDraft {
    pub(crate) check: HealthCheck,
    pub(crate) path: Option<String>,
    pub(crate) host: Option<Spanned<String>>,
    pub(crate) statuses: Option<Spanned<Vec<std::ops::RangeInclusive<u16>>>>,
    pub(crate) body: Option<Spanned<String>>,
}

/// `[pool.NAME.sticky]`
#[derive(Clone, Debug)]
pub(crate) struct StickyDraft {
    pub(crate) sticky: Sticky,
    pub(crate) cookie: Option<String>,
}

impl Default for StickyDraft {
    fn default() -> Self {
        Self {
            sticky: Sticky {
                cookie: String::new(),
                learn: false,
                lifetime: None,
                most: 100_000,
                secret: None,
            },
            cookie: None,
        }
    }
}

/// `[pool.NAME.tls]`
#[derive(Clone, Debug, Default)]
pub(crate) struct TlsDraft {
    pub(crate) tls: OriginTls,
    pub(crate) certificate: Option<Spanned<String>>,
    pub(crate) key: Option<Spanned<String>>,
}

/// `[pool.NAME.eject]`, whose settings need no check against others.
pub(crate) type EjectDraft = Eject;

/// `[app.NAME]`
#[derive(Clone, Debug, Default)]
pub(crate) struct AppDraft {
    pub(crate) app: App,
    pub(crate) protocol: Option<Protocol>,
    pub(crate) backoff_max: Option<std::time::Duration>,
}
