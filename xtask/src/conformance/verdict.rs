//! From the suite's raw results to a verdict, by the suite's own rules: a test counts only when those it depends on
//! pass, and one whose preparation failed has not passed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::Outcome;

/// How much a test matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Required,
    Optimal,
    /// Shows behaviour, without a right or wrong.
    Check,
}

/// What came of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Pass,
    Fail,
    /// Its preparation did not work out.
    Setup,
    /// A test it depends on did not pass.
    Dependency,
}

/// One test.
#[derive(Clone, Debug)]
pub(super) struct Test {
    pub(super) id: String,
    pub(super) suite: String,
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) state: State,
    /// The suite's message when it failed.
    pub(super) message: String,
    depends_on: Vec<String>,
}

/// Every test, judged.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) tests: Vec<Test>,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::Optimal => "optimal",
            Self::Check => "check",
        }
    }
}

impl State {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Setup => "setup failed",
            Self::Dependency => "depends on a failed test",
        }
    }
}

impl Test {
    /// A test as the runner wrote it, judged by itself.
    fn new(value: &Value) -> Self {
        let text = |name: &str| {
            value
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let result = value.get("result");
        let part = |i: usize| {
            result
                .and_then(|r| r.get(i))
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let state = match result {
            Some(Value::Bool(true)) => State::Pass,
            Some(Value::Array(_)) if part(0) == "Setup" => State::Setup,
            _ => State::Fail,
        };
        let depends_on = value
            .get("depends_on")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        Self {
            id: text("id"),
            suite: text("suite"),
            name: text("name"),
            kind: match text("kind").as_str() {
                "optimal" => Kind::Optimal,
                "check" => Kind::Check,
                _ => Kind::Required,
            },
            state,
            message: part(1).to_owned(),
            depends_on: depends_on
                .filter_map(Value::as_str)
                .map(String::from)
                .collect(),
        }
    }
}

impl Report {
    /// Judges what the runner wrote.
    pub(super) fn new(results: Vec<Value>) -> Self {
        let mut tests: Vec<Test> = results.iter().map(Test::new).collect();
        // Each pass carries failures one dependency further, until nothing changes.
        loop {
            let passed: BTreeMap<String, bool> = tests
                .iter()
                .map(|t| (t.id.clone(), t.state == State::Pass))
                .collect();
            let broken = |test: &Test| test.depends_on.iter().any(|d| passed.get(d) != Some(&true));
            let mut changed = false;
            for test in tests
                .iter_mut()
                .filter(|t| t.state != State::Dependency && broken(t))
            {
                test.state = State::Dependency;
                changed = true;
            }
            if !changed {
                return Self { tests };
            }
        }
    }

    /// How many tests of a kind passed, and how many there are.
    pub(super) fn count(&self, kind: Kind) -> (usize, usize) {
        count(self.tests.iter().filter(|t| t.kind == kind))
    }

    /// A line for each group of tests, and their sum.
    pub(super) fn table(&self) -> String {
        let mut suites: Vec<&str> = self.tests.iter().map(|t| t.suite.as_str()).collect();
        suites.dedup();
        let mut text = format!(
            "{:<42} {:>9} {:>9} {:>9}\n",
            "", "required", "optimal", "check"
        );
        let mut row = |name: &str, tests: &[&Test]| {
            let cell = |kind| match count(tests.iter().copied().filter(|t| t.kind == kind)) {
                (_, 0) => String::new(),
                (passed, all) => format!("{passed}/{all}"),
            };
            let (required, optimal, check) =
                (cell(Kind::Required), cell(Kind::Optimal), cell(Kind::Check));
            _ = writeln!(text, "{name:<42} {required:>9} {optimal:>9} {check:>9}");
        };
        for suite in suites {
            row(
                suite,
                &self
                    .tests
                    .iter()
                    .filter(|t| t.suite == suite)
                    .collect::<Vec<_>>(),
            );
        }
        row("all", &self.tests.iter().collect::<Vec<_>>());
        text
    }

    /// For programs.
    pub(super) fn to_json(&self) -> Value {
        let counts = |kind| {
            let (passed, all) = self.count(kind);
            json!({ "passed": passed, "all": all })
        };
        let tests = self.tests.iter().map(|t| {
            json!({
                "id": t.id, "suite": t.suite, "name": t.name, "kind": t.kind.name(), "state": t.state.name(),
                "message": t.message,
            })
        });
        json!({
            "required": counts(Kind::Required), "optimal": counts(Kind::Optimal), "check": counts(Kind::Check),
            "tests": tests.collect::<Value>(),
        })
    }
}

fn count<'a>(tests: impl Iterator<Item = &'a Test>) -> (usize, usize) {
    tests.fold((0, 0), |(passed, all), t| {
        (passed + usize::from(t.state == State::Pass), all + 1)
    })
}

/// The failures that are accounted for, with their reasons.
#[derive(Debug, Default)]
pub(super) struct Known {
    reasons: BTreeMap<String, String>,
}

impl Known {
    /// Reads an object of test to reason.
    ///
    /// # Errors
    /// When the file is not that.
    pub(super) fn read(file: &Path) -> Outcome<Self> {
        let text = fs::read_to_string(file)?;
        let reasons: BTreeMap<String, Value> =
            serde_json::from_str::<serde_json::Map<_, _>>(&text)?
                .into_iter()
                .collect();
        let reasons = reasons
            .into_iter()
            .map(|(id, reason)| match reason.as_str() {
                Some(reason) if !reason.trim().is_empty() => Ok((id, reason.to_owned())),
                _ => Err(format!("{}: {id} has no reason", file.display())),
            });
        Ok(Self {
            reasons: reasons.collect::<Result<_, _>>()?,
        })
    }

    pub(super) fn reason(&self, id: &str) -> Option<&str> {
        self.reasons.get(id).map(String::as_str)
    }

    /// Failures that are not listed, and entries that no longer hold.
    pub(super) fn faults(&self, report: &Report) -> Vec<String> {
        let unlisted = report.tests.iter().filter(|t| {
            t.kind != Kind::Check && t.state != State::Pass && !self.reasons.contains_key(&t.id)
        });
        let mut faults: Vec<String> = unlisted
            .map(|t| format!("{} ({}): {}", t.id, t.kind.name(), t.state.name()))
            .collect();
        for id in self.reasons.keys() {
            match report.tests.iter().find(|t| t.id == *id) {
                None => faults.push(format!(
                    "{id} is listed as a known failure, but there is no such test"
                )),
                Some(t) if t.state == State::Pass => {
                    faults.push(format!("{id} is listed as a known failure, but passes"));
                }
                Some(_) => {}
            }
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        Report::new(vec![
            json!({"id": "c", "kind": "optimal", "depends_on": ["b"], "result": true}),
            json!({"id": "b", "kind": "check", "depends_on": ["a"], "result": true}),
            json!({"id": "a", "kind": "required", "depends_on": [], "result": ["Assertion", "not cached"]}),
            json!({"id": "d", "kind": "required", "result": ["Setup", "retry"]}),
            json!({"id": "e", "kind": "required", "result": true}),
        ])
    }

    #[test]
    fn a_failure_spreads_along_dependencies_whatever_their_order() {
        let states: Vec<State> = report().tests.iter().map(|t| t.state).collect();
        assert_eq!(
            states,
            [
                State::Dependency,
                State::Dependency,
                State::Fail,
                State::Setup,
                State::Pass
            ]
        );
        assert_eq!(report().count(Kind::Required), (1, 3));
        assert_eq!(report().count(Kind::Optimal), (0, 1));
    }

    #[test]
    fn only_listed_failures_are_forgiven_and_stale_entries_are_faults() {
        let reasons = ["a", "c", "e", "x"].map(|id| (id.to_owned(), "because".to_owned()));
        let faults = Known {
            reasons: reasons.into_iter().collect(),
        }
        .faults(&report());
        let ids: Vec<&str> = faults.iter().filter_map(|f| f.split(' ').next()).collect();
        assert_eq!(ids, ["d", "e", "x"], "{faults:?}");
    }
}
