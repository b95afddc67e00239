//! One exchange from first byte to last: listeners, workers, the step machine,
//! delivery.
//!
//! Start reading at [`exchange`]: it is the table of contents. A [`Server`]
//! owns the workers' threads; a [`Handle`] lets others look at it and reload it.

mod access;
mod answer;
mod arrive;
mod buffer;
mod client;
mod deliver;
mod exchange;
mod failure;
mod fetch;
mod fill;
mod forward;
mod h1;
mod inspect;
mod invalidate;
mod listener;
mod message;
mod miss;
mod moment;
mod origin;
mod outcome;
mod partial;
mod purge;
mod purge_step;
mod recall;
mod refresh;
mod relay;
mod route;
mod server;
mod snapshot;
mod tier;
mod timers;
mod tunnel;
mod upload;
mod worker;

pub use access::{CACHE_RESULTS, MOST_TAILS, StatusFilter, Tail, TailError, TailFilter, TailLine};
pub use forebay_cache::object::Tier;
pub use forebay_cache::popular::Popular;
pub use inspect::{Inspected, Inspection};
pub use purge::{NotPurged, PurgeOrder, PurgeTarget, Purged};
pub use server::{
    Drained, Handle, Inherited, PoolStatus, ReloadError, Server, ServerStatus, StartError,
};
