//! Load on key-value servers: memcached (its three protocols) and Redis.
//!
//! Each connection is a user; which command and which key come next depends on
//! nothing but chance. Keys are a prefix and a number, and the size of a key's
//! value is a function of the key, so that every thread, run and machine
//! agrees on what is stored.

mod args;
mod choice;
mod driver;
mod evictions;
mod fill;
mod ledger;
mod protocol;
#[cfg(test)]
mod tests;
mod url;
mod value;
mod work;

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use forebay_engine::{Pace, Plan, Running};
use forebay_results::Tally;
use forebay_workload::Target;

pub use args::KvArgs;
use choice::Chooser;
use driver::Users;
use evictions::Evictions;
use fill::Fill;
use protocol::{Binary, Grammar, Meta, Resp, Text};
use url::Protocol;
use work::Work;

/// Connections of one thread that fill a server, and requests under way on each: enough to keep it
/// busy.
const FILL_CONNECTIONS: u32 = 4;
const FILL_PIPELINE: u32 = 64;

/// A key-value load. Its only endpoint is that of [`Kv::place`], with index 0.
#[derive(Debug)]
pub struct Kv {
    title: String,
    protocol: Protocol,
    place: Target,
    preload: bool,
    work: Arc<Work>,
}

impl Kv {
    /// What it does, in words.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Where the server is; the path has no meaning.
    pub fn place(&self) -> &Target {
        &self.place
    }

    /// The names of the labels that requests are counted under.
    pub fn labels(&self) -> Vec<String> {
        let names = self
            .work
            .labels
            .iter()
            .map(|command| command.name().to_owned());
        names.collect()
    }

    /// Whether [`Kv::fill`] was asked for.
    pub fn wants_fill(&self) -> bool {
        self.preload
    }

    /// Starts the load.
    ///
    /// # Errors
    /// When a thread cannot be had.
    pub fn start(&self, plan: &Plan) -> io::Result<Running> {
        match self.protocol {
            Protocol::Text => self.start_as::<Text>(plan),
            Protocol::Meta => self.start_as::<Meta>(plan),
            Protocol::Binary => self.start_as::<Binary>(plan),
            Protocol::Resp => self.start_as::<Resp>(plan),
        }
    }

    fn start_as<G: Grammar>(&self, plan: &Plan) -> io::Result<Running> {
        let (work, (first, all)) = (Arc::clone(&self.work), plan.share);
        let chooser = Chooser::new(work.distribution, work.keys, 0, 1).map_err(io::Error::other)?;
        let evictions = work
            .verify
            .then(|| Arc::new(Evictions::new(&self.place, self.protocol, &work.greeting.0)));
        forebay_engine::start(plan, move |thread, users| {
            let (number, all) = (u64::from(first + thread), u64::from(all));
            let own = Chooser::new(work.distribution, work.keys, number, all);
            let chooser = own.unwrap_or_else(|_| chooser.clone());
            Users::<G>::new(&work, users, (number, all), chooser, evictions.clone())
        })
    }

    /// Stores this machine's share of the keys, as fast as the server takes them, with few
    /// connections and long pipelines. Blocks until it is done, and returns how many were stored.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses a write, in its words.
    pub fn fill(&self, plan: &Plan) -> Result<u64, String> {
        let plan = Plan {
            users: plan.threads * FILL_CONNECTIONS,
            duration: None,
            requests: None,
            warm_up: Default::default(),
            ramp: Default::default(),
            pace: Pace::Closed,
            pipeline: FILL_PIPELINE,
            ..plan.clone()
        };
        let running = match self.protocol {
            Protocol::Text => self.fill_as::<Text>(&plan),
            Protocol::Meta => self.fill_as::<Meta>(&plan),
            Protocol::Binary => self.fill_as::<Binary>(&plan),
            Protocol::Resp => self.fill_as::<Resp>(&plan),
        };
        let running = running.map_err(|error| error.to_string())?;
        let mut stored = 0;
        for interval in &running.intervals {
            let tally = interval.tally;
            if tally.counts.failures() > 0 {
                return Err(format!(
                    "filling {}: {}",
                    self.place.place(),
                    first_fault(&tally)
                ));
            }
            stored += tally.counts.succeeded;
        }
        self.work.is_filled.store(true, Ordering::Relaxed);
        Ok(stored)
    }

    fn fill_as<G: Grammar>(&self, plan: &Plan) -> io::Result<Running> {
        let (work, (first, all)) = (Arc::clone(&self.work), plan.share);
        forebay_engine::start(plan, move |thread, users| {
            Fill::<G>::new(&work, users, u64::from(first + thread), u64::from(all))
        })
    }
}

/// What went wrong, in words.
fn first_fault(tally: &Tally) -> String {
    let causes = || {
        tally
            .counts
            .failed
            .keys()
            .map(|cause| cause.about().to_owned())
    };
    let words = tally.faults.keys().next().cloned();
    words.or_else(|| causes().next()).unwrap_or_default()
}
