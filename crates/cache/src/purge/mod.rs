//! Purging: many objects made stale, invalid or gone at once, decided when one is looked up.
//!
//! Nothing is scanned. There is one counter, the *moment*, that grows with every purge. An
//! object knows at which moment its response was asked of the origin and up to which moment
//! purges were found not to hit it ([`Seen`]); on a hit the two are compared, and that is all
//! while nothing was purged. After a purge each object is judged once, when it is next asked
//! for ([`Purges::check`]).
//!
//! ```text
//!  order ──▶ journal (durable) ──▶ state, moment grows ──▶ answered
//!                                     │
//!  hit: moment == seen? ──no──▶ judged: keys, tags, prefixes, bans newer than what was seen
//! ```
//!
//! What holds whatever the order of things: when [`Purges::purge`] has returned, no object
//! asked for before it was called is found current, also not after a restart or a crash, and
//! also not when it is stored later. Where something is forgotten because a table is full, or
//! cannot be read from the journal, more is purged than was ordered, never less.
//!
//! - [`order`]: what can be ordered; [`expression`]: the language of bans
//! - [`purges`]: what they did to an object; `carry`: carrying orders out, durable and in order
//! - `state`: what was purged when, made of `generations` (keys and tags), `prefixes`, `bans`
//! - [`reach`]: how strong a purge is; [`seen`]: what an object remembers
//! - [`journal`]: how it is written down
//!
//! It knows no socket, no clock and no disk: the journal is a [`Keep`].

mod bans;
mod carry;
pub mod expression;
mod generations;
pub mod journal;
mod ledger;
pub mod order;
mod parse;
mod prefixes;
pub mod purges;
pub mod reach;
pub mod seen;
mod state;
pub mod subject;

pub use expression::{Expression, ExpressionError};
pub use journal::Keep;
pub(crate) use ledger::seed_mark;
pub use order::{Done, Order, PurgeError, What, tag_words};
pub use purges::Purges;
pub use reach::Verdict;
pub use seen::Seen;
pub use state::BanLine;
pub use subject::{Fields, Subject};
