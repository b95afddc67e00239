//! The administration address: metrics, status, reload.
//!
//! A small HTTP/1.1 server on a thread of its own, strict and bounded like the
//! proxy, but made for one operator: one request on a connection, a handful of
//! paths. It never touches the workers; everything it shows or does goes
//! through [`Control`].
//!
//! | Method and path | Answer |
//! |---|---|
//! | `GET /` | a page with the figures |
//! | `GET /metrics` | all figures, in the text format of Prometheus |
//! | `GET /status` | all figures and the state of the pools, as JSON |
//! | `POST /reload` | reads the configuration again |

mod answer;
mod page;
mod request;
mod route;
mod server;

pub use server::{Admin, start};

use forebay_stats::{Gauges, Snapshot};

/// What the administration address shows and does. It is called from threads
/// that may wait, several at once.
pub trait Control: Send + Sync {
    /// The sums of counters and timings.
    fn snapshot(&self) -> Snapshot;

    /// The state of the process. A `resident_bytes` of 0 is filled in here.
    fn gauges(&self) -> Gauges;

    /// Reads the configuration again and takes it into service whole. It may
    /// take its time; there is never more than one call at once.
    ///
    /// `Ok` carries warnings for the operator. An [`Admin`] dropped in here
    /// does not answer the request that asked for the reload any more; drop it
    /// later when the address moves.
    ///
    /// # Errors
    /// Why the configuration was refused; the old one is still in service.
    fn reload(&self) -> Result<Vec<String>, String>;

    /// The version of the program.
    fn version(&self) -> &str;

    /// More members of `/status`: listening addresses, pools with their
    /// servers and state. An object; members named like one of the figures'
    /// (`version`, `gauges`, `counters`, `timings`, `hit_ratio`) are ignored.
    fn status_extra(&self) -> serde_json::Value;
}
