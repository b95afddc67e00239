//! The commands: each a function from its arguments to an outcome.

pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod explain;
pub(crate) mod reload;
pub(crate) mod serve;
