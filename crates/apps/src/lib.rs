//! Application processes: started, watched, multiplied, replaced and ended.
//!
//! ```text
//!  Apps ──orders──▶ supervisor (one thread) ──▶ app ──▶ instance ──▶ guard ──▶ the application
//!                        ▲                       │                     │
//!                        └── events: ready, lines, ended ◀─────────────┘
//!                                                └──▶ Servers: the pool's members
//! ```
//!
//! Each process has a [`guard`]: a small process between Forebay and the application, which ends
//! it and whatever it has started when Forebay is gone, however Forebay went. The supervisor
//! keeps all state on its thread; what it decides ([`scale`], [`backoff`]) is computed by
//! functions that know neither clock nor process.

mod app;
mod backoff;
mod directory;
mod event;
pub mod guard;
mod instance;
mod launch;
mod output;
mod place;
mod ready;
mod scale;
mod servers;
mod status;
mod supervisor;
mod tree;
mod user;

pub use servers::{Queue, ServerLoad, Servers};
pub use status::{AppStatus, InstanceState, InstanceStatus};
pub use supervisor::{Apps, Surroundings};
