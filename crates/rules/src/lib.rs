//! What a site does with a request beside passing it on: conditions, rewriting, access, limits,
//! changed fields.
//!
//! Pure: it is given heads, addresses and the time, and says what is to be done. Patterns and
//! templates are compiled once, when settings are taken; what is compiled lives as long as they do.

pub mod access;
pub mod apr1;
pub mod cors;
pub mod edits;
pub mod limiter;
pub mod passwords;
pub mod path;
pub mod proven;
pub mod rewrite;
pub mod subject;
pub mod when;

pub use cors::Cors;
pub use edits::{RequestEdits, ResponseEdits};
pub use limiter::{Held, Limiter};
pub use passwords::Passwords;
pub use path::Normal;
pub use proven::Proven;
pub use rewrite::{Redirected, Rewriting};
pub use subject::{Context, Subject, Template};
pub use when::Condition;
