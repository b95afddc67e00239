//! From the model to what runs: names, files, places, labels, flows. Every
//! error is collected.

mod checks;
mod flows;
mod names;
mod request;
mod url;

use std::collections::BTreeMap;

use super::coding::Coding;
use super::compiled::{Compiled, Files, Setup};
use super::errors::Problem;
use super::model::Scenario;
use super::template::{Names, Template, Wrong};
use crate::Target;

/// Groups within groups, at most.
const MAX_DEPTH: usize = 32;

/// Builds a [`Compiled`].
pub(crate) struct Builder<'a> {
    scenario: &'a Scenario,
    /// `None` while only the text is checked: files are not read then.
    files: Option<Files<'a>>,
    setup: Option<&'a Setup>,
    base: Option<Target>,
    names: Names,
    /// Variables that a user has, by name.
    slots: BTreeMap<String, usize>,
    out: Compiled,
    problems: Vec<Problem>,
    /// Where in the scenario this is: `flow.0.step.2`.
    path: String,
}

impl<'a> Builder<'a> {
    /// Builds everything; without `files` and `setup` only to find what is wrong.
    pub(crate) fn build(
        scenario: &'a Scenario,
        files: Option<Files<'a>>,
        setup: Option<&'a Setup>,
    ) -> Result<Compiled, Vec<Problem>> {
        let mut builder = Self {
            scenario,
            files,
            setup,
            base: None,
            names: Names::default(),
            slots: BTreeMap::new(),
            out: Compiled::default(),
            problems: Vec::new(),
            path: String::new(),
        };
        builder.variables();
        builder.tables();
        builder.extracted();
        builder.base();
        builder.flows();
        builder.out.slots = builder.slots.len();
        if builder.problems.is_empty() {
            Ok(builder.out)
        } else {
            Err(builder.problems)
        }
    }

    /// Does `work` with `key` added to the path.
    fn within<T>(&mut self, key: &str, work: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(key);
        let result = work(self);
        self.path.truncate(length);
        result
    }

    /// Does `work` as if at the head of the scenario.
    fn at_root<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let path = std::mem::take(&mut self.path);
        let result = work(self);
        self.path = path;
        result
    }

    /// Notes a problem with the value at the path.
    fn problem(&mut self, message: impl Into<String>, expected: &str) {
        self.problems.push(Problem {
            path: self.path.clone(),
            message: message.into(),
            expected: (!expected.is_empty()).then(|| expected.to_owned()),
            ..Problem::default()
        });
    }

    fn wrong(&mut self, wrong: Vec<Wrong>) {
        for one in wrong {
            self.problem(one.message, "");
            if let (Some(near), Some(last)) = (one.nearest, self.problems.last_mut()) {
                last.suggestion = Some(format!("did you mean `{near}`?"));
            }
        }
    }

    /// A text with variables; an empty one when it is wrong.
    fn template(&mut self, text: &str, coding: Coding) -> Template {
        Template::parse(text, &self.names, coding).unwrap_or_else(|wrong| {
            self.wrong(wrong);
            Template::default()
        })
    }
}
