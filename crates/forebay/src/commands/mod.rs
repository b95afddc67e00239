//! The commands: each a function from its arguments to an outcome.

pub(crate) mod app;
pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod client;
pub(crate) mod compare;
pub(crate) mod drain;
pub(crate) mod explain;
pub(crate) mod join;
pub(crate) mod log;
pub(crate) mod objects;
pub(crate) mod pool;
pub(crate) mod purge;
pub(crate) mod reload;
pub(crate) mod serve;
pub(crate) mod session;
pub(crate) mod show;
pub(crate) mod stats;
pub(crate) mod top;
pub(crate) mod trust;
