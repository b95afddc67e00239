//! Assertions: what each response in their scope must be.

use std::collections::BTreeSet;

use super::super::notes::{Fate, shortened};
use super::context::Context;
use super::extractors::Extractions;
use super::pattern::{self, Groups};
use super::statuses::{CONTAINS, EQUALS, MATCH, Tests};
use super::timers::milliseconds;
use super::tree::Element;
use super::{headers, json, statuses};
use crate::scenario::Expect;

/// What responses must be, as long as more may come to it.
#[derive(Clone, Debug, Default)]
pub(super) struct Checks {
    expect: Expect,
    /// Statuses that every assertion on them lets pass.
    statuses: Option<BTreeSet<u16>>,
    /// Whether 400 and above are no failure by themselves.
    ignores_status: bool,
    within_ms: Option<f64>,
}

impl Checks {
    /// Adds an assertion. False when the element is none.
    pub(super) fn add(
        &mut self,
        context: &mut Context,
        assertion: &Element<'_>,
        extractions: &mut Extractions,
    ) -> bool {
        match assertion.kind {
            "ResponseAssertion" => self.response(context, assertion),
            "DurationAssertion" => self.duration(context, assertion),
            "JSONPathAssertion" => self.json(context, assertion, extractions),
            kind if kind.ends_with("Assertion") => {
                context.note(Fate::LeftOut, "a scenario has no such check");
            }
            _ => return false,
        }
        true
    }

    /// The checks of a step.
    pub(super) fn expect(&self) -> Expect {
        let mut expect = self.expect.clone();
        expect.within = self.within_ms.map(milliseconds);
        expect.status = match &self.statuses {
            None if self.ignores_status => {
                ["1xx", "2xx", "3xx", "4xx", "5xx"].map(String::from).into()
            }
            None => Vec::new(),
            Some(statuses) => statuses::listed(statuses, self.ignores_status),
        };
        expect
    }

    pub(super) fn bytes(&self) -> usize {
        let expect = &self.expect;
        let lists = [&expect.contains, &expect.lacks, &expect.matches];
        let texts: usize = lists
            .iter()
            .flat_map(|list| list.iter())
            .map(|text| 32 + text.len())
            .sum();
        let maps: usize = [&expect.header, &expect.json]
            .iter()
            .flat_map(|map| map.iter())
            .map(|(key, value)| 64 + key.len() + value.len())
            .sum();
        texts + maps + expect.body.as_ref().map_or(0, String::len) + 64
    }

    fn duration(&mut self, context: &mut Context, assertion: &Element<'_>) {
        match context.number(assertion.text("DurationAssertion.duration")) {
            Some(limit) if limit > 0.0 => {
                self.within_ms = Some(self.within_ms.map_or(limit, |known| known.min(limit)));
            }
            Some(_) => {}
            None => context.note(Fate::LeftOut, "its duration is no number of milliseconds"),
        }
    }

    fn json(
        &mut self,
        context: &mut Context,
        assertion: &Element<'_>,
        extractions: &mut Extractions,
    ) {
        let path = assertion.text("JSON_PATH").trim();
        let Some(path) = json::path(path) else {
            return context.note(
                Fate::LeftOut,
                format!("its path `{}` is not supported", shortened(path, 80)),
            );
        };
        let compares = assertion.flag("JSONVALIDATION");
        if assertion.flag("INVERT") || (compares && assertion.flag("ISREGEX")) {
            return context.note(
                Fate::LeftOut,
                "inverted checks and patterns on JSON values are not supported",
            );
        }
        if !compares {
            return extractions.present(context, path);
        }
        let value = if assertion.flag("EXPECT_NULL") {
            "null".into()
        } else {
            context.text(assertion.text("EXPECTED_VALUE"))
        };
        let known = self.expect.json.insert(path, value.clone());
        if known.is_some_and(|known| known != value) {
            context.note(Fate::Changed, "it replaces another value for the same path");
        }
    }

    fn response(&mut self, context: &mut Context, assertion: &Element<'_>) {
        if assertion.flag("Assertion.assume_success") {
            self.ignores_status = true;
        }
        let scope = assertion.text("Assertion.scope");
        if matches!(scope, "variable" | "children") {
            return context.note(
                Fate::LeftOut,
                format!("it checks {scope} instead of the response"),
            );
        }
        let tests = Tests {
            kind: assertion
                .text("Assertion.test_type")
                .trim()
                .parse()
                .unwrap_or(CONTAINS),
            texts: assertion
                .properties
                .texts("Asserion.test_strings")
                .into_iter()
                .map(str::to_owned)
                .collect(),
        };
        if tests.texts.is_empty() {
            return;
        }
        match assertion.text("Assertion.test_field").trim() {
            "" | "Assertion.response_data" => self.body(context, &tests),
            "Assertion.response_code" => self.status(context, &tests),
            "Assertion.response_headers" => self.header(context, &tests),
            field => context.note(
                Fate::LeftOut,
                format!(
                    "a scenario does not check the {}",
                    shortened(field.trim_start_matches("Assertion."), 40).replace('_', " ")
                ),
            ),
        }
    }

    fn body(&mut self, context: &mut Context, tests: &Tests) {
        if tests.any() && tests.texts.len() > 1 {
            return self.any_in_body(context, tests);
        }
        for raw in &tests.texts {
            let text = context.text(raw);
            match (tests.base(), tests.not()) {
                (CONTAINS, false) => match pattern::only_text(&text) {
                    Some(literal) => self.expect.contains.push(literal),
                    None => self.pattern(context, &text),
                },
                (CONTAINS, true) => match pattern::only_text(&text) {
                    Some(literal) => self.expect.lacks.push(literal),
                    None => negated(context, &text),
                },
                (MATCH, false) => self.pattern(context, &format!(r"\A(?:{text})\z")),
                (EQUALS, false) if self.expect.body.as_ref().is_none_or(|known| *known == text) => {
                    self.expect.body = Some(text);
                }
                (MATCH | EQUALS, _) => negated(context, &text),
                (_, false) => self.expect.contains.push(text),
                (_, true) => self.expect.lacks.push(text),
            }
        }
    }

    fn pattern(&mut self, context: &mut Context, text: &str) {
        match pattern::translate(text, Groups::None) {
            Ok(pattern) => self.expect.matches.push(pattern),
            Err(words) => context.note(Fate::LeftOut, words),
        }
    }

    /// One of several suffices: a pattern of alternatives.
    fn any_in_body(&mut self, context: &mut Context, tests: &Tests) {
        if tests.not() {
            return context.note(Fate::LeftOut, "negated alternatives are not supported");
        }
        let alternatives: Vec<String> = tests
            .texts
            .iter()
            .map(|raw| {
                let text = context.text(raw);
                match tests.base() {
                    CONTAINS => format!("(?:{text})"),
                    MATCH => format!(r"\A(?:{text})\z"),
                    EQUALS => format!(r"\A{}\z", pattern::literal(&text)),
                    _ => pattern::literal(&text),
                }
            })
            .collect();
        self.pattern(context, &alternatives.join("|"));
    }

    fn status(&mut self, context: &mut Context, tests: &Tests) {
        let mut passing: Option<BTreeSet<u16>> = None;
        for raw in &tests.texts {
            let Some(own) = statuses::passing(context, raw, tests) else {
                return context.note(
                    Fate::LeftOut,
                    format!("the status `{}` is not supported", shortened(raw, 60)),
                );
            };
            passing = Some(match passing {
                None => own,
                Some(others) if tests.any() => &others | &own,
                Some(others) => &others & &own,
            });
        }
        let Some(own) = passing else { return };
        let both = match &self.statuses {
            Some(known) => known & &own,
            None => own,
        };
        if both.is_empty() {
            context.note(
                Fate::LeftOut,
                "no status passes all the checks in its scope",
            );
        } else {
            self.statuses = Some(both);
        }
    }

    fn header(&mut self, context: &mut Context, tests: &Tests) {
        if tests.not() || (tests.any() && tests.texts.len() > 1) {
            return context.note(
                Fate::LeftOut,
                "negated and alternative checks on fields are not supported",
            );
        }
        for raw in &tests.texts {
            let text = context.text(raw);
            let is_pattern = matches!(tests.base(), MATCH | CONTAINS);
            let Some((name, value)) = headers::field(&text, is_pattern) else {
                context.note(
                    Fate::LeftOut,
                    format!("`{}` does not name a field", shortened(&text, 60)),
                );
                continue;
            };
            match pattern::translate(&value, Groups::None) {
                Ok(value) => {
                    let known = self.expect.header.insert(name, value.clone());
                    if known.is_some_and(|known| known != value) {
                        context.note(Fate::Changed, "it replaces another check on the same field");
                    }
                }
                Err(words) => context.note(Fate::LeftOut, words),
            }
        }
    }
}

fn negated(context: &mut Context, text: &str) {
    context.note(
        Fate::LeftOut,
        format!(
            "that the body is not `{}` cannot be checked",
            shortened(text, 60)
        ),
    );
}
