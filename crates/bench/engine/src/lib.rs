//! The load engine: a thread, an event loop and a set of connections a core.
//!
//! Three parts meet here, and each knows little of the others:
//! - a [`Driver`] is the virtual users: it says what each sends next and looks
//!   at what came back;
//! - a [`Session`] is a protocol on one connection, without sockets or clock:
//!   bytes in, responses out. It may have several responses under way and need
//!   not end them in order, so that a multiplexed protocol fits;
//! - a [`Plan`] says how many users, for how long, and by which [`Pace`].
//!
//! [`start`] runs them; what was measured arrives as [`Interval`]s, twice a
//! second from each thread.

mod driver;
mod endpoint;
mod http1;
mod pacer;
mod plan;
mod run;
mod session;
mod transport;
mod worker;

pub use driver::{Driver, Fault, Next, Outgoing};
pub use endpoint::{Address, Endpoint, Endpoints, Tls};
pub use http1::{Expect, Http1, Kept};
pub use pacer::Arrivals;
pub use plan::{Pace, Plan};
pub use run::{Interval, Running, start};
pub use session::{Malformed, Progress, Response, Session};
