//! The guard: a process between Forebay and one application process.
//!
//! ```text
//!  forebay ──socket pair (fd 0)──▶ guard ──▶ step ══exec══▶ the application ──▶ its children
//!          ◀── "pid 17", "exit 3" ──
//! ```
//!
//! It is this program, started with [`GUARD`] as its first argument. It ends with the
//! application; it ends the application, and whatever that has started, when Forebay tells it to
//! (SIGTERM) or is gone: the socket's other end is closed then, also after `kill -9`. As the
//! subreaper of its descendants it finds those that have detached themselves. Should the guard
//! itself be killed, the application gets SIGKILL from the system ([`step`]), and Forebay ends
//! the rest.

mod order;
pub(crate) mod report;
mod signals;
mod step;
mod watch;

use std::ffi::OsString;
use std::process::ExitCode;

pub(crate) use order::{Order, RunAs};

/// The first argument of the guard.
pub(crate) const GUARD: &str = "app-guard";
/// The first argument of the step between it and the application.
pub(crate) const STEP: &str = "app-step";

/// What this process is when its arguments (without its own name) are those of a guard; to be
/// asked before anything else, while there is one thread. `None`: it is something else.
pub fn called(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let first = arguments.next()?;
    if first == GUARD {
        return Some(with_order(arguments, watch::guard));
    }
    if first == STEP {
        return Some(with_order(arguments, step::become_application));
    }
    None
}

fn with_order(arguments: impl Iterator<Item = OsString>, obey: fn(Order) -> ExitCode) -> ExitCode {
    match Order::read(arguments) {
        Some(order) => obey(order),
        None => {
            eprintln!("forebay: this command is for Forebay's own use");
            ExitCode::from(2)
        }
    }
}
