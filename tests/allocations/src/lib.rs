//! The server inside the test's own process, between an origin and clients of
//! plain blocking sockets, with an allocator that counts what its workers do.
//!
//! A count depends neither on the machine nor on its mood, so what is promised
//! of the path of a hit can be tested exactly.

#![allow(clippy::unwrap_used)]

pub mod client;
pub mod counting;
pub mod origin;
pub mod server;

/// How long anything may take before the test fails.
pub const DEADLINE: std::time::Duration = std::time::Duration::from_secs(20);
