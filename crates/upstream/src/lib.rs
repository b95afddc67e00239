//! Pools of servers: addresses, turns, limits with a queue, connection reuse.
//!
//! A [`Pools`] is part of the configuration's snapshot and shared by all
//! workers; [`Idle`] connections belong to one worker.

mod connect;
mod pool;
mod stream;

pub use connect::{ConnectError, Connection, Idle, acquire};
pub use pool::{Pool, Pools, Server};
pub use stream::Stream;
