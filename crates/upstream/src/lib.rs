//! Pools of servers: who they are, which one gets a request, limits with a queue, connections.
//!
//! [`Pools`] is part of the configuration's snapshot and shared by all workers; what a pool knows of
//! its servers stays over reloads. A worker's own part is [`Local`]. [`acquire`] is where both meet:
//! a request asks for a connection, and gets one, or waits for one, or is told why not.

mod acquire;
mod addresses;
mod balance;
mod budget;
mod connection;
mod gate;
mod idle;
mod latency;
mod members;
mod open;
mod outlier;
mod passive;
mod pool;
mod pools;
mod queue;
mod secure;
mod server;
mod starved;
mod sticky;
mod watch;

pub use acquire::{Ask, ConnectError, Tried, acquire};
pub use balance::hash::hash as key;
pub use connection::{Connection, ServerFailure};
pub use forebay_preface::Ends;
pub use idle::Local;
pub use members::{MemberState, NewServer, Owner};
pub use open::connect;
pub use pool::{CheckPlace, Pool};
pub use pools::{Pools, Prepared};
pub use server::{Name, Order, Server, ServerKind};
pub use starved::FirstAnswer;

/// Milliseconds since the Unix epoch by the system's clock.
pub(crate) fn unix_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}
