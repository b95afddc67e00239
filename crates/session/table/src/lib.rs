//! The session table: items by key, in memory, in a byte budget that is kept.
//!
//! ```text
//!  Table ──hash of the key──▶ Shard (one lock)
//!                              ├─ index      8 bytes a slot: tag of the hash, segment, offset
//!                              ├─ segments   256 KiB each: header, key, value; header, key, …
//!                              ├─ spare      a segment to move items to
//!                              └─ larges     values above a quarter of a segment
//! ```
//!
//! An item costs its key, its value, 34 bytes of header rounded up to 4, and 10 to 13 bytes of
//! index. Reading copies nothing: the caller sees the value where it lies, for as long as the
//! shard is locked. Writing copies the value once.
//!
//! Pure: it knows neither sockets nor clocks nor files. Callers say what second it is.

mod apply;
mod budget;
mod evict;
mod figures;
mod index;
mod item;
mod journal;
mod large;
#[cfg(test)]
mod model;
mod options;
mod prefetch;
mod record;
mod relocate;
mod restore;
mod room;
mod scan;
mod segment;
mod shard;
mod share;
mod table;
mod upkeep;
mod write;

pub use figures::Figures;
pub use item::{Body, Change, Item, Marks, Number, Place, Put, Refused, Value};
pub use journal::{Journal, Why};
pub use options::{Full, Options};
pub use relocate::Moved;
pub use scan::Cursor;
pub use table::Table;
pub use upkeep::Done;
