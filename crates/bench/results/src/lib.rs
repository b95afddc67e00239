//! What a load test measured: [`Tally`] while it runs, [`Report`] when it is
//! over, and the renderings of a report.
//!
//! Nothing here knows a socket or a clock: times come in as nanoseconds.

pub mod assert;
mod csv;
pub mod diff;
pub mod format;
mod histogram;
mod html;
mod markdown;
mod outline;
pub mod page;
mod report;
#[cfg(test)]
mod sample;
mod table;
mod tally;

pub use assert::Assertion;
pub use csv::{csv, csv_columns};
pub use diff::diff;
pub use histogram::Histogram;
pub use html::html;
pub use markdown::markdown;
pub use report::{
    ClientUse, LabelFigures, Machine, Phase, Point, Report, ServerSample, ServerUse, SessionFigures,
};
pub use table::table;
pub use tally::{Cause, Counts, LabelTally, Latency, Lookup, Tally};
