//! What a run must keep, as an expression: `p99<20ms`, `success>=99.999`.
//!
//! ```text
//! [PHASE:] FIGURE OPERATOR VALUE
//! ```
//!
//! `OPERATOR` is one of `<`, `<=`, `>`, `>=`, `==` (or `=`), `!=`. `FIGURE` is
//! one of [`Figure::REFERENCE`]. `VALUE` is a number with the figure's unit:
//! a duration needs one (`500us`, `20ms`, `1s`, `2m`), a size may have one
//! (`300MiB`, `20k`), percentages may carry `%`, and a count may have
//! separators (`1,000` or `1_000`).
//!
//! Without a phase an expression must hold in every phase of a run; with one
//! (`500 connections: p99<20ms`) in the phase of that name only. A figure that
//! was not measured (hits where responses do not tell, the processor time of a
//! server on another machine, percentiles of nothing) does not hold.

mod figure;
mod parse;

pub use figure::Figure;
pub use parse::ParseError;

use std::fmt;

use crate::{Phase, Report, format};

/// An expression that a run is checked against.
#[derive(Clone, Debug, PartialEq)]
pub struct Assertion {
    /// As it was written.
    pub text: String,
    /// The only phase that it is about.
    pub phase: Option<String>,
    /// What is looked at.
    pub figure: Figure,
    /// How it is compared.
    pub operator: Operator,
    /// What it is compared with: nanoseconds, bytes, percent or a number.
    pub value: f64,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
    /// `==`
    Equal,
    /// `!=`
    Unequal,
}

impl Operator {
    fn holds(self, found: f64, value: f64) -> bool {
        match self {
            Self::Less => found < value,
            Self::AtMost => found <= value,
            Self::Greater => found > value,
            Self::AtLeast => found >= value,
            Self::Equal => found == value,
            Self::Unequal => found != value,
        }
    }
}

/// What came of an assertion in one phase.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The expression.
    pub assertion: String,
    /// The phase it was looked at in; empty when no phase has the name it asks for.
    pub phase: String,
    /// Whether it held.
    pub held: bool,
    /// What was found, in the unit of [`Assertion::value`]; none if it was not measured.
    pub found: Option<f64>,
    /// The same in words: `23.1 ms`, `not measured: …`.
    pub found_text: String,
}

impl fmt::Display for Outcome {
    /// One line: `failed  p99<20ms: 23.1 ms (500 connections)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.held { "held" } else { "failed" };
        let text = format::plain(&self.assertion);
        write!(f, "{word:<6}  {text}: {}", format::plain(&self.found_text))?;
        if !self.phase.is_empty() {
            write!(f, " ({})", format::plain(&self.phase))?;
        }
        Ok(())
    }
}

impl Assertion {
    /// Reads an expression.
    ///
    /// # Errors
    /// What is wrong with it, where, and what would be right.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        parse::assertion(text)
    }

    /// Looks at one phase, whatever its name: what a search for a limit asks.
    pub fn check(&self, phase: &Phase) -> Outcome {
        let found = self.figure.of(phase);
        Outcome {
            assertion: self.text.clone(),
            phase: phase.name.clone(),
            held: found.is_ok_and(|found| self.operator.holds(found, self.value)),
            found: found.ok(),
            found_text: match found {
                Ok(found) => self.figure.kind().text(found),
                Err(why) => format!("not measured: {why}"),
            },
        }
    }

    /// Looks at every phase that the expression is about.
    pub fn evaluate(&self, report: &Report) -> Vec<Outcome> {
        let asked = |phase: &&Phase| self.phase.as_ref().is_none_or(|name| *name == phase.name);
        let outcomes: Vec<Outcome> = report
            .phases
            .iter()
            .filter(asked)
            .map(|phase| self.check(phase))
            .collect();
        if outcomes.is_empty() {
            return vec![self.without_phase(report)];
        }
        outcomes
    }

    fn without_phase(&self, report: &Report) -> Outcome {
        let names: Vec<String> = report
            .phases
            .iter()
            .map(|phase| format!("`{}`", phase.name))
            .collect();
        let found_text = match (&self.phase, names.is_empty()) {
            (Some(name), false) => {
                format!("there is no phase `{name}`; there are {}", names.join(", "))
            }
            _ => "nothing was measured".into(),
        };
        Outcome {
            assertion: self.text.clone(),
            phase: String::new(),
            held: false,
            found: None,
            found_text,
        }
    }
}

/// Looks at all assertions; the run passes if every outcome held.
pub fn check_all(assertions: &[Assertion], report: &Report) -> Vec<Outcome> {
    assertions
        .iter()
        .flat_map(|assertion| assertion.evaluate(report))
        .collect()
}

#[cfg(test)]
mod tests;
