//! Sessions: memcached's text, meta and binary protocols, and Tokyo Tyrant's binary and HTTP
//! protocols, over an engine that keeps the items.
//!
//! A [`Connection`] is a state machine: bytes in, bytes out. The protocols are told apart by a
//! connection's first bytes. Pure: it knows neither sockets nor clocks. The answers are those of
//! memcached 1.6.

mod ahead;
mod backend;
mod binary;
mod connection;
mod counts;
mod decide;
mod engine;
mod expiry;
mod http;
mod limits;
mod meta;
mod number;
mod run;
mod stats;
mod text;
mod tyrant;

pub use ahead::Ahead;
pub use backend::{Backend, Calls, Clients, Progress, Traffic};
pub use connection::{Connection, State, Taken};
pub use counts::{Counts, Figures};
pub use decide::{Change, Reply, Source, decide};
pub use engine::{
    Answer, Arithmetic, Commit, Copied, Cursor, Done, Engine, Item, Marks, MetaGet, Mode, Op,
    Recache, Request, Store, Ticket,
};
pub use expiry::is_expired;
pub use limits::{Access, KEY_MOST, LINE_MOST, Limits};
