//! The harness of the scenarios: the real program between a scripted client
//! and a scripted origin, over real sockets.
//!
//! Everything is plain threads and blocking reads with a deadline, so that a
//! hang of the program fails a test instead of blocking it, and so that the
//! harness shares no code with what it tests.

#![allow(clippy::unwrap_used)]

pub mod app;
pub mod bench;
pub mod cache_status;
pub mod client;
pub mod config;
pub mod connection;
pub mod date;
pub mod dns;
pub mod event;
pub mod fastcgi;
pub mod figures;
pub mod forebay;
pub mod head;
pub mod kv_server;
pub mod nginx;
pub mod origin;
pub mod php;
pub mod program;
pub mod response;
pub mod session;
pub mod site;
pub mod strace;
pub mod stream;
pub mod uwsgi;
pub mod wire;

pub use bench::{Bench, Ended, RunningBench};
pub use client::{Client, Received};
pub use config::Config;
pub use connection::{Connection, Request};
pub use dns::Dns;
pub use event::Event;
pub use fastcgi::FastCgiRequest;
pub use figures::Figures;
pub use forebay::{Forebay, Said};
pub use nginx::Nginx;
pub use origin::Origin;
pub use php::PhpFpm;
pub use response::{Response, reply};
pub use session::SessionClient;
pub use site::{Site, SiteConfig};
pub use strace::{Fault, Strace};
pub use stream::Address;
pub use uwsgi::Uwsgi;
pub use wire::Broken;

/// How long anything may take before the test fails.
pub const DEADLINE: std::time::Duration = std::time::Duration::from_secs(10);
