//! One server of a pool: who it is, what it may be asked, what is known of it. It lives as long as
//! it is in the pool, over reloads, and as long as a request is under way there.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};

use forebay_config::settings::ServerAddress;
use forebay_stats::OriginStats;

use crate::addresses::Addresses;
use crate::idle::Shelf;
use crate::latency::Latency;
use crate::outlier::Outlier;
use crate::passive::Passive;
use crate::starved::Unanswered;

/// One server of a pool.
#[derive(Debug)]
pub struct Server {
    /// Unique in the process: what idle connections are kept under.
    pub(crate) id: u64,
    kind: ServerKind,
    label: Arc<str>,
    pub(crate) addresses: Addresses,
    orders: AtomicU8,
    healthy: AtomicBool,
    /// Requests under way.
    pub(crate) active: AtomicU64,
    /// What `active` may reach; `u64::MAX`: any number.
    pub(crate) limit: AtomicU64,
    /// When its next turn is; see `balance::round_robin`.
    pub(crate) pass: AtomicU64,
    /// When it came, or came back, in milliseconds since the epoch; 0: it was there from the start.
    since_ms: AtomicU64,
    pub(crate) passive: Passive,
    pub(crate) outlier: Outlier,
    pub(crate) latency: Latency,
    /// Its idle connections, where workers share them.
    pub(crate) shelf: Shelf,
    /// New connections to it that have not had an answer.
    pub(crate) unanswered: Unanswered,
    stats: OriginStats,
}

/// How connections to a server come about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ServerKind {
    /// They are opened to this address.
    Listed(ServerAddress),
    /// The server opens them, and they are handed in with `Pool::supply`. The name is for logs
    /// and figures; it is unique in the pool.
    DialedIn(Arc<str>),
}

/// A name that is not an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name<'a> {
    /// A host's.
    Host(&'a str),
    /// A service's (RFC 2782), whose servers are members of the pool in its place.
    Service(&'a str),
}

/// What the operator has said of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Order {
    /// It is asked like the others.
    #[default]
    Up = 0,
    /// It gets no new requests; sticky users stay with it.
    Drain = 1,
    /// It gets no requests.
    Down = 2,
    /// It is about to go, and takes its users' requests no more than those of others.
    Leaving = 3,
    /// It is out of the pool.
    Removed = 4,
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl Server {
    pub(crate) fn new(kind: ServerKind) -> Self {
        let (label, resolved): (Arc<str>, _) = match &kind {
            ServerKind::Listed(address) => (address.to_string().into(), known_address(address)),
            ServerKind::DialedIn(name) => (Arc::clone(name), None),
        };
        let addresses = Addresses::default();
        addresses.set(resolved.into_iter());
        Self {
            id: NEXT_ID.fetch_add(1, Relaxed),
            kind,
            label,
            addresses,
            orders: AtomicU8::new(Order::Up as u8),
            healthy: AtomicBool::new(true),
            active: AtomicU64::new(0),
            limit: AtomicU64::new(u64::MAX),
            pass: AtomicU64::new(0),
            since_ms: AtomicU64::new(0),
            passive: Passive::default(),
            outlier: Outlier::default(),
            latency: Latency::default(),
            shelf: Shelf::default(),
            unanswered: Unanswered::default(),
            stats: OriginStats::default(),
        }
    }

    /// How connections to it come about.
    pub fn kind(&self) -> &ServerKind {
        &self.kind
    }

    /// Its address as configured; `None`: it opens connections itself.
    pub fn address(&self) -> Option<&ServerAddress> {
        match &self.kind {
            ServerKind::Listed(address) => Some(address),
            ServerKind::DialedIn(_) => None,
        }
    }

    /// Whether connections to it can be opened, for checks or requests: it neither opens them itself
    /// nor stands for others.
    pub fn is_reached(&self) -> bool {
        self.address().is_some() && !self.stands_for_others()
    }

    /// Its address, or its name, as text: for logs, figures and orders.
    pub fn label(&self) -> &Arc<str> {
        &self.label
    }

    /// The host of its address, which TLS asks for; empty where there is none.
    pub(crate) fn host(&self) -> &str {
        match &self.kind {
            ServerKind::Listed(ServerAddress::Tcp { host, .. }) => host,
            _ => "",
        }
    }

    /// The addresses its name has now.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.addresses.all()
    }

    /// Where what happens with it is counted. Requests and connections are counted here already.
    pub fn stats(&self) -> &OriginStats {
        &self.stats
    }

    /// Whether the requests to it at once are limited.
    pub fn is_limited(&self) -> bool {
        self.limit().is_some()
    }

    /// Requests it may be working on at once.
    pub fn limit(&self) -> Option<u64> {
        Some(self.limit.load(Relaxed)).filter(|limit| *limit != u64::MAX)
    }

    /// Requests it is working on.
    pub fn active(&self) -> u64 {
        self.active.load(Relaxed)
    }

    /// What the operator has said of it.
    pub fn order(&self) -> Order {
        match self.orders.load(Relaxed) {
            0 => Order::Up,
            1 => Order::Drain,
            2 => Order::Down,
            3 => Order::Leaving,
            _ => Order::Removed,
        }
    }

    pub(crate) fn set_order(&self, order: Order) {
        self.orders.store(order as u8, Relaxed);
    }

    /// Whether active checks find it well. It is, as long as nobody says otherwise.
    pub fn is_healthy(&self) -> bool {
        self.healthy.load(Relaxed)
    }

    pub(crate) fn set_healthy(&self, healthy: bool) {
        self.healthy.store(healthy, Relaxed);
    }

    /// Whether it is left out because of failures in a row.
    pub fn is_failed(&self, now_ms: u64) -> bool {
        self.passive.is_out(now_ms)
    }

    /// Whether it is left out because it answers worse than others.
    pub fn is_ejected(&self, now_ms: u64) -> bool {
        self.outlier.is_out(now_ms)
    }

    /// Whether workers keep its idle connections together: so that none of them blocks a request
    /// that another worker has for a server that takes only so many.
    #[inline]
    pub(crate) fn shares_connections(&self) -> bool {
        self.is_limited() || matches!(self.kind, ServerKind::DialedIn(_))
    }

    /// From now on it gets a growing share, where the pool has a slow start.
    pub(crate) fn came(&self, now_ms: u64) {
        self.since_ms.store(now_ms, Relaxed);
    }

    /// The part of its weight that counts now, in thousandths: from a tenth to the whole.
    pub(crate) fn share(&self, slow_start_ms: u64, now_ms: u64) -> u64 {
        if slow_start_ms == 0 {
            return 1000;
        }
        let there_ms = now_ms.saturating_sub(self.since_ms.load(Relaxed));
        (there_ms.saturating_mul(1000) / slow_start_ms).clamp(100, 1000)
    }

    /// What has to be asked for before it can be reached.
    pub fn name(&self) -> Option<Name<'_>> {
        match self.address()? {
            ServerAddress::Tcp { host, .. } if host.parse::<IpAddr>().is_err() => {
                Some(Name::Host(host))
            }
            ServerAddress::Srv(service) => Some(Name::Service(service)),
            _ => None,
        }
    }

    /// Takes over the addresses that its name has now.
    pub fn set_addresses(&self, found: &[IpAddr]) {
        if let Some(ServerAddress::Tcp { port, .. }) = self.address() {
            let found = found.iter().map(|ip| SocketAddr::new(*ip, *port));
            self.addresses.set(found);
        }
    }

    /// Whether it stands for others, the servers of a service: it is never asked itself.
    #[inline]
    pub(crate) fn stands_for_others(&self) -> bool {
        matches!(self.kind, ServerKind::Listed(ServerAddress::Srv(_)))
    }
}

fn known_address(address: &ServerAddress) -> Option<SocketAddr> {
    match address {
        ServerAddress::Tcp { host, port } => {
            let ip = host.parse().ok()?;
            Some(SocketAddr::new(ip, *port))
        }
        ServerAddress::Unix(_) | ServerAddress::Srv(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_one_that_came_grows_to_its_whole() {
        let server = Server::new(ServerKind::DialedIn("a".into()));
        assert_eq!(server.share(0, 5), 1000);
        assert_eq!(server.share(10_000, 1_000_000), 1000, "it was there before");
        server.came(1_000_000);
        for (after_ms, share) in [
            (0, 100),
            (500, 100),
            (2_500, 250),
            (10_000, 1000),
            (99_000, 1000),
        ] {
            assert_eq!(server.share(10_000, 1_000_000 + after_ms), share);
        }
    }
}
