//! A scenario ready to run, shared by all users of all threads.

use std::io;
use std::sync::{Mutex, PoisonError};

use super::compile::Builder;
use super::errors::Errors;
use super::model::Scenario;
use super::plan::Plan;
use super::program::Program;
use super::read::read;
use super::table::Table;
use super::template::Template;
use crate::Target;

/// Places that requests are led to during a run, at most; further ones cannot be gone to.
const MAX_FOUND: usize = 1024;

/// A scenario ready to run; shared by all users of all threads.
#[derive(Debug, Default)]
pub struct Compiled {
    pub(crate) labels: Vec<String>,
    pub(crate) places: Vec<Target>,
    pub(crate) plans: Vec<Plan>,
    pub(crate) flows: Vec<Program>,
    /// The flow of each user, by number modulo length.
    pub(crate) deal: Vec<u16>,
    pub(crate) tables: Vec<Table>,
    /// How many variables a user has.
    pub(crate) slots: usize,
    /// Variables that are set when a user begins, in order.
    pub(crate) start: Vec<(usize, Template)>,
    /// Columns that become variables with each row, because responses change them as well.
    pub(crate) copies: Vec<Copied>,
    /// Places that variables and redirections led to.
    found: Mutex<Vec<Target>>,
}

/// A column that becomes a variable with each row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copied {
    pub(crate) slot: usize,
    pub(crate) table: usize,
    pub(crate) column: usize,
}

/// What a run adds to a scenario.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// What relative URLs belong to, instead of the scenario's `base`.
    pub base: Option<Target>,
    /// Fields for every request; they replace the scenario's of the same name, and a step's
    /// replace them.
    pub headers: Vec<(String, String)>,
    /// Every request asks the server to close the connection.
    pub close: bool,
}

/// Reads the bytes of a file that a scenario names; paths are relative to the scenario's.
pub type Files<'a> = &'a dyn Fn(&str) -> io::Result<Vec<u8>>;

impl Compiled {
    /// Prepares a scenario: reads its files, its templates, its expressions, and renders what
    /// does not change.
    ///
    /// # Errors
    /// Everything that is wrong with it, shown in the text that [`Scenario::to_toml`] gives.
    pub fn new(scenario: &Scenario, files: Files<'_>, setup: &Setup) -> Result<Self, Errors> {
        Builder::build(scenario, Some(files), Some(setup)).map_err(|problems| {
            let text = scenario.to_toml();
            Errors::new(&text, "scenario", problems, &read(&text).spans)
        })
    }

    /// Prepares a scenario from its text, so that errors show where in it they are.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn load(
        text: &str,
        file_name: &str,
        files: Files<'_>,
        setup: &Setup,
    ) -> Result<Self, Errors> {
        // What can be found without the files comes first, all at once.
        let scenario = Scenario::parse(text, file_name)?;
        Builder::build(&scenario, Some(files), Some(setup))
            .map_err(|problems| Errors::new(text, file_name, problems, &read(text).spans))
    }

    /// What requests are counted under; a label's index is the same as long as this lives.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// Where requests go, as far as that is known before the run: places 0 and up. Paths do not
    /// matter.
    pub fn places(&self) -> &[Target] {
        &self.places
    }

    /// A place that a [`Sent`](super::Sent) names; `None` when there is no such.
    pub fn place(&self, place: usize) -> Option<Target> {
        match place.checked_sub(self.places.len()) {
            None => self.places.get(place).cloned(),
            Some(later) => {
                let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
                found.get(later).cloned()
            }
        }
    }

    /// The place of a URL, which is noted if it is new; `None` when there are too many.
    pub(crate) fn place_of(&self, target: &Target) -> Option<usize> {
        let is = |known: &Target| known.same_place(target);
        if let Some(place) = self.places.iter().position(is) {
            return Some(place);
        }
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(later) = found.iter().position(is) {
            return Some(self.places.len() + later);
        }
        if found.len() >= MAX_FOUND {
            return None;
        }
        let mut place = target.clone();
        place.path = "/".into();
        found.push(place);
        Some(self.places.len() + found.len() - 1)
    }
}
