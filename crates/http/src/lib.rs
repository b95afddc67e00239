//! The language of HTTP: heads, HTTP/1 framing, caching directives, dates,
//! ranges, URIs.
//!
//! Everything here is pure: it takes bytes (and, where needed, the time) and
//! returns values. Nothing panics on any input and nothing allocates more than
//! a bounded multiple of what it was given.

pub mod bearer;
pub mod cache_control;
pub mod chunked;
pub mod conditional;
pub mod date;
mod field_id;
pub mod fields;
pub mod forwarded;
pub mod framing;
pub mod glob;
pub mod head;
mod list;
pub mod method;
pub mod negotiate;
pub mod query;
pub mod range;
pub mod status;
mod structured;
pub mod targeted;
pub mod uri;

pub use fields::{FieldId, Fields};
pub use head::{RequestHead, ResponseHead};
pub use method::Method;
