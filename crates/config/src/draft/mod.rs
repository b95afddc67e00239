//! What has been read of a file before the rules between settings are applied:
//! the same as the settings, with the places where they were written.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

mod pool;
mod service;

pub(crate) use pool::{
    AppDraft, Balancing, EjectDraft, HealthDraft, PoolDraft, ServerDraft, StickyDraft, TlsDraft,
};
pub(crate) use service::{PathDraft, Php, ServiceDraft, SiteDraft};

use crate::settings::{
    Cache, Disk, Durability, Full, Limits, ListenAddress, Log, Policy, Purge, SOCKET_MODE, Server,
    Session, Timeouts,
};

/// A value and the bytes of the source it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spanned<T> {
    pub(crate) value: T,
    pub(crate) span: Range<usize>,
}

/// A size, or a part of another size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    Bytes(u64),
    Thousandths(u64),
}

impl Share {
    /// How many bytes that is of `whole`.
    pub(crate) fn of(self, whole: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Thousandths(part) => (u128::from(whole) * u128::from(part) / 1000) as u64,
        }
    }
}

/// `[[listen]]`
#[derive(Debug)]
pub(crate) struct ListenDraft {
    pub(crate) address: Option<Spanned<ListenAddress>>,
    pub(crate) proxy_protocol: bool,
    pub(crate) socket_mode: u32,
    pub(crate) tls: ServerTlsDraft,
}

/// What clients are shown, and what they must show.
#[derive(Debug, Default)]
pub(crate) struct ServerTlsDraft {
    pub(crate) certificate: Option<Spanned<PathBuf>>,
    pub(crate) key: Option<Spanned<PathBuf>>,
    pub(crate) client_ca: Option<Spanned<PathBuf>>,
}

impl Default for ListenDraft {
    fn default() -> Self {
        Self {
            address: None,
            proxy_protocol: false,
            socket_mode: SOCKET_MODE,
            tls: ServerTlsDraft::default(),
        }
    }
}

/// `[admin]`
#[derive(Debug, Default)]
pub(crate) struct AdminDraft {
    pub(crate) addresses: Vec<Spanned<ListenAddress>>,
    pub(crate) read_tokens: Vec<String>,
    pub(crate) purge_tokens: Vec<String>,
    pub(crate) admin_tokens: Vec<String>,
    pub(crate) hosts: Vec<String>,
}

/// `[session.NAME]`
#[derive(Debug, Default)]
pub(crate) struct SessionDraft {
    /// What needs no check against the rest.
    pub(crate) session: Session,
    pub(crate) addresses: Vec<Spanned<ListenAddress>>,
    pub(crate) path: Option<Spanned<PathBuf>>,
    pub(crate) durability: Option<Durability>,
    pub(crate) full: Option<Full>,
    pub(crate) user: Option<Spanned<String>>,
    pub(crate) tls: ServerTlsDraft,
}

/// `[cache.disk]`
#[derive(Debug, Default)]
pub(crate) struct DiskDraft {
    pub(crate) path: Option<Spanned<String>>,
    pub(crate) more_paths: Vec<Spanned<String>>,
    /// Everything else; a size of 0 was not written.
    pub(crate) disk: Disk,
    pub(crate) max_object: Option<Spanned<Share>>,
}

/// `[cache]` without its policy.
#[derive(Debug)]
pub(crate) struct CacheDraft {
    pub(crate) memory: u64,
    pub(crate) max_object: Option<Spanned<Share>>,
    pub(crate) hit_for_miss: Duration,
    pub(crate) tag_fields: Vec<String>,
    pub(crate) disk: Option<DiskDraft>,
}

impl Default for CacheDraft {
    fn default() -> Self {
        let cache = Cache::default();
        Self {
            memory: cache.memory,
            max_object: None,
            hit_for_miss: cache.hit_for_miss,
            tag_fields: cache.tag_fields,
            disk: None,
        }
    }
}

/// The whole file.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) server: Server,
    pub(crate) listen: Vec<Spanned<ListenAddress>>,
    pub(crate) introduced: Vec<ListenAddress>,
    pub(crate) secured: Vec<(Spanned<ListenAddress>, ServerTlsDraft)>,
    pub(crate) socket_modes: BTreeMap<PathBuf, u32>,
    pub(crate) admin: AdminDraft,
    pub(crate) purge: Purge,
    pub(crate) limits: Limits,
    pub(crate) timeouts: Timeouts,
    pub(crate) cache: CacheDraft,
    pub(crate) policy: Policy,
    /// By the name, which is spanned.
    pub(crate) pools: Vec<(Spanned<String>, PoolDraft)>,
    /// By the name, which is spanned.
    pub(crate) apps: Vec<(Spanned<String>, AppDraft)>,
    /// By the name, which is spanned.
    pub(crate) sessions: Vec<(Spanned<String>, SessionDraft)>,
    /// By the name, which is spanned.
    pub(crate) sites: Vec<(Spanned<String>, SiteDraft)>,
    pub(crate) log: Log,
    pub(crate) written: Written,
}

/// Which sections the file has, whether or not what is in them is right: an
/// ill-formed `[[listen]]` is not also a missing one.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub(crate) listen: bool,
    pub(crate) pool: bool,
    pub(crate) app: bool,
    pub(crate) site: bool,
    pub(crate) session: bool,
}
