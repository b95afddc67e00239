//! memcached's meta commands: `mg`, `ms`, `md`, `ma`, `me`; lines of the text protocol whose flags
//! say what is to be done and what is to be told. The flags are answered in the order in which
//! they were asked.

mod base64;
mod change;
mod debug;
mod flags;
mod get;
mod set;

pub(crate) use change::{arithmetic, delete};
pub(crate) use debug::debug;
pub(crate) use get::get;
pub(crate) use set::set;
