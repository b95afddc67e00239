//! One exchange from first byte to last: listeners, workers, the step machine,
//! delivery.
//!
//! Start reading at [`exchange`]: it is the table of contents. A [`Server`]
//! owns the workers' threads; a [`Handle`] lets others look at it and reload it.

mod access;
mod affinity;
mod answer;
mod arrive;
mod behind;
mod buffer;
mod cgi;
mod client;
mod coding;
mod crowd;
mod deliver;
mod entrance;
mod exchange;
mod failure;
mod fetch;
mod files;
mod fill;
mod forward;
mod h1;
mod hedge;
mod inspect;
mod invalidate;
mod join_control;
mod join_step;
mod listener;
mod location;
mod message;
mod miss;
mod moment;
mod names;
mod origin;
mod outcome;
mod partial;
mod purge;
mod purge_step;
mod recall;
mod refresh;
mod relay;
mod route;
mod rules;
mod server;
mod snapshot;
mod spool;
mod talk;
mod tier;
mod timers;
mod tunnel;
mod turn;
mod upload;
mod worker;

pub use access::{CACHE_RESULTS, MOST_TAILS, StatusFilter, Tail, TailError, TailFilter, TailLine};
pub use forebay_cache::object::Tier;
pub use forebay_cache::popular::Popular;
pub use forebay_cache::purge::tag_words;
pub use inspect::{Inspected, Inspection};
pub use purge::{NotPurged, PurgeOrder, PurgeTarget, Purged};
pub use server::{
    Drained, Handle, Inherited, PoolStatus, ReloadError, Server, ServerStatus, StartError,
};
