//! The threads that serve session stores: an event loop each, between sockets and the protocols of
//! `forebay-session`.
//!
//! ```text
//!  Server ──orders──▶ Mailbox ◀──tickets, commits── the stores' own threads
//!                        │
//!                     Worker      one a thread: an event loop, a read and an output buffer
//!                      ├─ Door    listening sockets; the first thread has them all
//!                      ├─ Store   one for each backend: its engine, and who waits for it
//!                      └─ Client  one for each connection: a wire and a protocol's state
//! ```
//!
//! A command that came alone costs one read, one write and a share of one wait. Connections own
//! buffers only while a command is half there or an answer cannot leave.

mod accept;
mod address;
mod answer;
mod bind;
mod buffers;
mod client;
mod clients;
mod clock;
mod letters;
mod mailbox;
mod options;
mod server;
mod store;
mod sweep;
mod tls;
mod turn;
mod wire;
mod worker;

pub use address::ListenAddress;
pub use options::{Inherited, Listen, Options};
pub use server::{Server, StartError};
pub use tls::Tls;
