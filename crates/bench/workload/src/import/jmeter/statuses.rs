//! Tests as response assertions write them, and what they say about statuses.

use std::collections::BTreeSet;

use super::context::Context;
use super::pattern::{self, Groups};
use super::template;

// `Assertion.test_type`
pub(super) const MATCH: u32 = 1;
pub(super) const CONTAINS: u32 = 2;
pub(super) const NOT: u32 = 4;
pub(super) const EQUALS: u32 = 8;
pub(super) const OR: u32 = 32;

/// The texts of a response assertion, and how they are compared.
pub(super) struct Tests {
    pub(super) kind: u32,
    pub(super) texts: Vec<String>,
}

impl Tests {
    pub(super) fn base(&self) -> u32 {
        self.kind & !(NOT | OR)
    }

    pub(super) fn not(&self) -> bool {
        self.kind & NOT != 0
    }

    pub(super) fn any(&self) -> bool {
        self.kind & OR != 0
    }
}

/// The statuses that pass one test.
pub(super) fn passing(context: &mut Context, raw: &str, tests: &Tests) -> Option<BTreeSet<u16>> {
    let text = context.fixed(raw)?;
    let text = text.trim();
    let pattern = match tests.base() {
        MATCH => format!("^(?:{text})$"),
        CONTAINS => text.to_owned(),
        EQUALS => format!("^{}$", pattern::literal(&template::escape(text))),
        _ => pattern::literal(&template::escape(text)),
    };
    let pattern = pattern::translate(&pattern, Groups::None).ok()?;
    let pattern = regex::Regex::new(&pattern).ok()?;
    let passes = |status: &u16| pattern.is_match(&status.to_string()) != tests.not();
    Some((100..600).filter(passes).collect())
}

/// As a scenario lists statuses: whole classes by their class.
pub(super) fn listed(statuses: &BTreeSet<u16>, ignores_status: bool) -> Vec<String> {
    let below_400: BTreeSet<u16> = statuses.range(..400).copied().collect();
    let counted = if ignores_status || below_400.is_empty() {
        statuses
    } else {
        &below_400
    };
    let mut out = Vec::new();
    for class in 1..6_u16 {
        let members: Vec<u16> = counted
            .range(class * 100..(class + 1) * 100)
            .copied()
            .collect();
        if members.len() == 100 {
            out.push(format!("{class}xx"));
        } else {
            out.extend(members.iter().map(u16::to_string));
        }
    }
    if out == ["1xx", "2xx", "3xx"] {
        out.clear();
    }
    out
}
