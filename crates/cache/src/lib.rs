//! Objects: keys, variants, freshness, the memory tier and its eviction.
//!
//! The cache knows neither sockets nor clocks: it is given heads, bytes and
//! the time in milliseconds, and does not know which protocol brought them.
//!
//! - [`terms`]: may it be stored, how long is it fresh, how may it be used
//! - [`key`], [`vary`]: what a request asks for, and which variant answers it
//! - [`object`], [`body`], [`ranges`]: what is stored
//! - [`index`]: where; [`flight`]: one fetch per key at a time
//! - [`purge`]: many objects made stale, invalid or gone at once
//! - [`disk`]: what memory does not hold, kept over a restart
//! - [`budget`]: what it all may take

pub mod body;
pub mod budget;
mod codings;
pub mod disk;
mod eviction;
pub mod flight;
pub mod glimpse;
pub mod index;
pub mod key;
pub mod merge;
pub mod object;
pub mod popular;
pub mod purge;
pub mod ranges;
pub mod terms;
pub mod vary;

pub use index::{Cache, Found, Limits, Turn};
pub use key::Key;
pub use object::Object;
