//! Active health checks: servers are asked from time to time how they are, so that a request does
//! not have to find out.
//!
//! All checks run in the event loop of one thread, beside the workers. A server counts as up until
//! it was found down.

mod ask;
mod probe;
mod response;
mod verdict;
mod watch;

pub use watch::{WhatPools, start};
