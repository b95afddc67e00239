//! The session scenario: does a web application keep its sessions under load,
//! and how fast?
//!
//! Each session is two pages. The first is given data that no other session
//! has, keeps it in a new session, and redirects; the second shows it, and what
//! it shows is compared. Sessions of which nothing is left are lost; those with
//! something else are wrong, which is worse.

mod args;
mod jar;
mod page;
#[cfg(test)]
mod tests;
mod visit;

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use forebay_engine::{Plan, Running};
use forebay_workload::Target;

pub use args::SessionArgs;
use visit::{LABELS, Visit, Visitors};

/// A load of sessions. Its only endpoint is that of [`Sessions::place`], with index 0. A run of it
/// ends when all sessions are done, or with its plan's time if that comes first.
#[derive(Debug)]
pub struct Sessions {
    title: String,
    place: Target,
    visit: Arc<Visit>,
}

impl Sessions {
    /// What it does, in words.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Where the application is.
    pub fn place(&self) -> &Target {
        &self.place
    }

    /// The names of the labels that requests are counted under.
    pub fn labels(&self) -> Vec<String> {
        LABELS.map(str::to_owned).to_vec()
    }

    /// Whether connections are kept for further pages.
    pub fn keep_alive(&self) -> bool {
        !self.visit.close
    }

    /// Starts the load. A user has one page under way at a time, whatever the plan's pipelining;
    /// the plan's count of requests is not looked at, since it would end sessions halfway.
    ///
    /// # Errors
    /// When a thread cannot be had.
    pub fn start(&self, plan: &Plan) -> io::Result<Running> {
        let mut plan = plan.clone();
        plan.pipeline = 1;
        plan.requests = None;
        let (begin, end) = own(self.visit.sessions, plan.share, plan.threads);
        let visit = Arc::clone(&self.visit);
        let numbers = Arc::new(AtomicU64::new(begin));
        // Data that an earlier run left must not pass for this one's.
        let run = fastrand::u64(..);
        forebay_engine::start(&plan, move |_, users| {
            Visitors::new(&visit, users, run, (&numbers, end))
        })
    }
}

/// This machine's sessions, of those of all machines.
fn own(sessions: u64, (first, all): (u32, u32), threads: u32) -> (u64, u64) {
    let before = |thread: u32| {
        let (thread, all) = (u128::from(thread), u128::from(all.max(1)));
        (u128::from(sessions) * thread / all) as u64
    };
    (before(first), before(first + threads))
}
