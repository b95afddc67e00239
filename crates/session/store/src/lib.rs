//! Sessions kept: what lies behind the protocols of `forebay-session`.
//!
//! ```text
//!  Handle (one a thread) ── decide ──▶ Table ── told under the shard's lock ──▶ Log ─▶ disk
//!     │ a value that was spilled                                                 ▲
//!     └──▶ Fetches (threads that read) ──────────────────────────────────────────┤
//!  upkeep (one thread): what expired goes, old segments of the log are compacted ┘
//! ```
//!
//! The table is the truth while the program runs; the log is what a restart makes it from. Of
//! each item the log has one valid record: the last `put` with its `cas` and copy number.

mod convert;
mod copy;
mod entry;
mod fetch;
mod figures;
mod handle;
mod log;
mod options;
mod recover;
mod store;
mod upkeep;

pub use entry::Entry;
pub use figures::Figures;
pub use handle::Handle;
pub use options::{Disk, Durability, Full, Options};
pub use recover::{RecoverError, Recovered};
pub use store::{SnapshotError, Store};
