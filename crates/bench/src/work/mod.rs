//! From options to load: what each kind of work needs to run.

mod build;
mod plain;
mod scenario;

use std::io;

use forebay_engine::{Address, Endpoints, Plan, Running};

pub(crate) use build::build;
pub(crate) use plain::Plain;
pub(crate) use scenario::Users;

use crate::kv::Kv;
use crate::session::Sessions;

/// What a run sends; shared by its threads and by all its rungs.
pub(crate) struct Work {
    /// In words, for reports.
    pub(crate) title: String,
    /// What requests are counted under.
    pub(crate) labels: Vec<String>,
    /// Where connections go.
    pub(crate) endpoints: Endpoints,
    /// Where the server listens, to find its process by.
    pub(crate) server: Option<Address>,
    /// Whether connections are kept for further requests.
    pub(crate) keep_alive: bool,
    /// What the reader must know.
    pub(crate) notes: Vec<String>,
    pub(crate) kind: Kind,
}

pub(crate) enum Kind {
    Plain(Plain),
    Users(Users),
    Kv(Kv),
    Sessions(Sessions),
}

impl Work {
    /// Starts the load of one rung.
    ///
    /// # Errors
    /// When a thread cannot be had.
    pub(crate) fn start(&self, plan: &Plan) -> io::Result<Running> {
        match &self.kind {
            Kind::Plain(plain) => plain.start(plan),
            Kind::Users(users) => users.start(plan),
            Kind::Kv(kv) => kv.start(plan),
            Kind::Sessions(sessions) => sessions.start(plan),
        }
    }
}
