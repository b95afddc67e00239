//! Controllers that repeat: loops, While, ForEach.

use std::ops::RangeInclusive;

use super::super::notes::{Fate, shortened};
use super::choices::conditional;
use super::condition::{self, Condition};
use super::context::Context;
use super::controllers::{Walk, grouped};
use super::scope::Scope;
use super::template;
use super::tree::Element;
use crate::scenario::{Count, Step};

/// So often a While controller is asked, at most.
const MAX_ROUNDS: u64 = 100;
/// So many values a ForEach controller is given when it does not say how many.
const MAX_EACH: u32 = 10;

impl<'a> Walk<'a> {
    /// Rounds as long as a condition holds: a number of rounds, each of which asks.
    pub(super) fn rounds(
        &mut self,
        context: &mut Context,
        element: &Element<'a>,
        scope: &Scope,
    ) -> Vec<Step> {
        let written = element.text("WhileController.condition");
        let steps = self.below(context, element, scope);
        context.at(element);
        if let Some(Condition::All(terms)) = condition::parse(written, true) {
            context.note(
                Fate::Changed,
                format!("it is asked {MAX_ROUNDS} times at most"),
            );
            let inner = conditional(context, "", &terms, steps);
            return grouped(element.name, inner, |step| {
                step.repeat = Some(Count::Fixed(MAX_ROUNDS))
            });
        }
        context.note(
            Fate::Changed,
            format!(
                "its steps are done once; `{}` is not understood",
                shortened(written, 120)
            ),
        );
        grouped(element.name, steps, |_| {})
    }

    /// A copy of the steps for each value, done when there is that value.
    pub(super) fn for_each(
        &mut self,
        context: &mut Context,
        element: &Element<'a>,
        scope: &Scope,
    ) -> Vec<Step> {
        let (input, output) = (
            element.text("ForeachController.inputVal").trim(),
            element.text("ForeachController.returnVal").trim(),
        );
        let (numbers, more) = values(context, element);
        if more {
            context.note(
                Fate::Changed,
                format!("its steps are there for {MAX_EACH} values; further ones are not taken"),
            );
        }
        let between = if element.text("ForeachController.useSeparator") == "false" {
            ""
        } else {
            "_"
        };
        let mut out = Vec::new();
        for number in numbers {
            let value = context.reference(&format!("{input}{between}{number}"));
            context.alias(output, value.clone());
            let steps = self.below(context, element, scope);
            let name = format!("{} {number}", element.name);
            out.extend(grouped(&name, steps, |step| step.when = Some(value)));
            context.at(element);
        }
        out
    }
}

/// How often a loop is done.
pub(super) fn loops(context: &mut Context, written: &str, forever: bool) -> Option<Count> {
    let text = context.text(written.trim());
    match context.number(written) {
        Some(number) if number >= 0.0 => Some(Count::Fixed(number.min(1e15) as u64)),
        Some(_) => {
            context.note(Fate::Changed, "without end: what follows it is never done");
            Some(Count::Fixed(u64::from(u32::MAX)))
        }
        None if text.is_empty() && forever => Some(Count::Fixed(u64::from(u32::MAX))),
        None if template::plain(&text).is_none() && context.may_be_a_number(&text) => {
            Some(Count::Variable(text))
        }
        None => {
            context.note(
                Fate::Changed,
                "how often is not understood; its steps are done once",
            );
            None
        }
    }
}

/// The numbers of the values that a ForEach controller goes through, and whether there may be more.
pub(super) fn values(context: &mut Context, element: &Element<'_>) -> (RangeInclusive<u32>, bool) {
    let whole = |number: f64| number.clamp(0.0, 1e6) as u32;
    let mut index = |property: &str| context.number(element.text(property)).map(whole);
    let from = index("ForeachController.startIndex").unwrap_or(0) + 1;
    let to = index("ForeachController.endIndex").filter(|to| *to >= from);
    let most = from + MAX_EACH - 1;
    match to {
        Some(to) if to <= most => (from..=to, false),
        _ => (from..=most, true),
    }
}
