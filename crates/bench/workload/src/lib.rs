//! What a load test sends: single URLs, lists of them, access logs, HAR
//! files, generated catalogues, scenarios; and what other tools wrote.
//!
//! Pure: text and numbers in, requests out. No socket, no clock; randomness
//! comes from a seed that the caller gives.

mod alias;
mod base;
mod catalogue;
#[cfg(test)]
mod chi_square;
pub mod har;
pub mod import;
mod lines;
pub mod log;
mod mix;
mod replay;
mod request;
pub mod scenario;
mod sizes;
mod skipped;
mod target;
mod time;
pub mod urls;
mod zipf;

pub use alias::Alias;
pub use base::Base;
pub use catalogue::Catalogue;
pub use lines::{LineError, LineErrors};
pub use mix::{Mix, Order};
pub use replay::{Builder, Replay, Slot};
pub use request::Request;
pub use sizes::Sizes;
pub use skipped::Skipped;
pub use target::{Target, TargetError};
pub use zipf::Zipf;
