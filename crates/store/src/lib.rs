//! The segment log on disk: append, find, read, recover, reclaim.
//!
//! A [`Log`] is one directory on one disk. It keeps *entries*, found by their
//! [`Id`], and *pieces*, parts of large bodies whose [`Place`] their owner
//! writes down in an entry's meta. What they mean is the owner's affair: the
//! log knows neither HTTP nor sessions. The format is described in
//! `docs/store-format.md`.
//!
//! Space is taken and given back by whole segments. Appending goes to the
//! newest one; [`Log::reclaim`] gives up the oldest, moving on what is to be
//! kept. Because the oldest always goes first, a copy that was replaced is
//! never on disk without the one that replaced it.
//!
//! An owner whose own table is the index uses a [`wal::Wal`] instead.

mod append;
mod errors;
mod extent;
#[cfg(test)]
mod faults;
mod footer;
mod format;
mod index;
mod journal;
mod log;
mod open;
mod place;
pub mod private;
mod read;
mod readers;
mod reclaim;
mod record;
mod recover;
mod rows;
mod segment;
mod space;
pub mod wal;

pub use errors::{JournalError, OpenError, ReadError, WriteError};
pub use extent::{Extent, Record, Wait};
pub use format::{BLOCK_BYTES, FORMAT_VERSION, META_MOST};
pub use index::{Found, Hit};
pub use journal::{JOURNAL_RECORD_MOST, Journal};
pub use log::{Figures, Log, SegmentFigures};
pub use open::Options;
pub use place::{Id, Kind, New, Place};
pub use readers::Readers;
pub use reclaim::{Candidate, ReclaimOutcome, Verdict};
pub use recover::Recovered;
