//! The connections of one client: counted over all workers, where `limits.client_connections` says
//! how many it may have. A place is held as long as its connection is one of HTTP.

use forebay_rules::{Held, access};
use forebay_stats::Counter;

use crate::forward::Peer;
use crate::worker::Worker;

/// What connections are counted under, beside the rules of sites, which have hashes.
const CONNECTIONS: u64 = 0;

/// One connection in the count of its client, until dropped.
pub(crate) struct Counted {
    #[expect(dead_code, reason = "held, not looked at")]
    held: Option<Box<Held>>,
}

impl Counted {
    /// Counts a connection. `None`: its client has as many as it may, and this one is to be closed.
    ///
    /// Connections of trusted proxies are those of many clients, and those on Unix sockets have no
    /// address: they are not limited.
    #[inline]
    pub(crate) fn of(worker: &Worker, peer: &Peer) -> Option<Self> {
        let snapshot = worker.snapshot();
        let Some(most) = snapshot.settings.limits.client_connections else {
            return Some(Self { held: None });
        };
        let address = peer
            .address
            .filter(|_| !peer.is_trusted(&snapshot.settings.server));
        let Some(address) = address else {
            return Some(Self { held: None });
        };
        let client = access::one_client(address.ip());
        let held = snapshot.locations.limiter.hold(CONNECTIONS, client, most);
        if held.is_none() {
            worker.stats.increment(Counter::ClientConnectionsRefused);
        }
        held.map(|held| Self {
            held: Some(Box::new(held)),
        })
    }
}
