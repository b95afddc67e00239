//! Stories over real sockets, from basic to exotic. `cargo test -p
//! forebay-tests cache_` runs the themes whose name begins so.

#![allow(clippy::unwrap_used)]

mod harness;

mod basic;
mod framing_request;
mod framing_response;
mod bodies;
mod interim;
mod hop_by_hop;
mod upstream;
