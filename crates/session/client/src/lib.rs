//! A client of session stores: of Forebay's, of memcached (1.6 and later) and of Tokyo Tyrant.
//!
//! Blocking sockets with time limits, requests in batches, and memory that does not grow with what
//! a store holds: items are handed on one by one as they arrive. What a store, a file or a
//! directory says is checked; nothing of it is trusted to have a form or a length.

mod address;
mod archive;
mod client;
mod clock;
mod error;
mod key;
mod listing;
mod meta;
mod metadump;
mod pattern;
mod php;
mod reads;
mod save;
mod stats;
mod stores;
mod tls;
mod tyrant;
mod wire;

pub use address::{Address, DEFAULT_PORT, Login, Target};
pub use archive::{Damage, Reader, Writer};
pub use client::{Client, Condition, Outcome};
pub use clock::now_s;
pub use error::Error;
pub use forebay_tls::{Identity, Trust};
pub use listing::Listing;
pub use meta::Seen;
pub use metadump::Dumped;
pub use pattern::Pattern;
pub use php::{Naming, Php, SavePath, Walked};
pub use reads::{Passed, each_item};
pub use save::Save;
pub use stores::{Restored, Stores};
pub use tls::Tls;
pub use tyrant::{Taken, Tyrant};

/// The longest value that is taken, in bytes: memcached's own most.
pub const VALUE_MOST: usize = 1 << 30;

/// What items are handed to, with their keys; an error ends the reading.
pub type Each<'e> = dyn FnMut(&[u8], forebay_session::Item<'_>) -> Result<(), Error> + 'e;
