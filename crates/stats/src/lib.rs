//! Counters, gauges and timings: their definitions, their storage, their sums.
//!
//! Every figure Forebay shows is one row of a table here ([`counter`],
//! [`timing`], [`gauge`], [`pool`], [`origin`], [`session`]). The enum that code counts with, the names in
//! `/metrics` and `/status` and the page `docs/metrics.md` all come from the
//! row, so a figure that is not documented does not exist.
//!
//! Each worker counts in an array of its own ([`WorkerStats`]) with plain
//! loads and stores; [`Registry::snapshot`] adds the arrays up when somebody
//! asks. Nothing on the path of a request touches memory that another core
//! writes.

pub mod counter;
pub mod expose;
pub mod gauge;
pub mod histogram;
pub mod origin;
pub mod pool;
mod reference;
mod registry;
mod row;
pub mod session;
pub mod timing;
mod worker;

pub use counter::Counter;
pub use gauge::Gauges;
pub use histogram::HistogramSnapshot;
pub use origin::{OriginSnapshot, OriginStats};
pub use pool::PoolSnapshot;
pub use reference::reference_markdown;
pub use registry::{Registry, Snapshot};
pub use row::Row;
pub use session::SessionSnapshot;
pub use timing::Timing;
pub use worker::{SharedCounters, WorkerStats};
