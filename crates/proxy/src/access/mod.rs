//! The access log: one line for each exchange that has ended.
//!
//! A worker appends the finished line to a buffer of its own; one thread takes
//! the buffers ten times a second and writes them out. A slow or full disk
//! never holds a worker up: when its buffer is full the line is dropped, and
//! the worker counts that. Whoever wants to see exchanges live opens a [`Tail`].

mod clock;
pub(crate) mod escape;
mod filter;
mod format;
mod output;
mod record;
mod tail;
mod writer;

pub use filter::{CACHE_RESULTS, StatusFilter, TailFilter};
pub(crate) use record::Record;
pub use tail::{MOST_TAILS, Tail, TailError, TailLine};
pub(crate) use writer::{AccessLog, WorkerLog};
