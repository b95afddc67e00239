//! Controllers that decide whether: If, Switch, and shares of the rounds.

use super::super::notes::{Fate, shortened};
use super::condition::{self, Condition, Term};
use super::context::Context;
use super::controllers::{Walk, grouped};
use super::roles::{Role, role};
use super::scope::Scope;
use super::template;
use super::tree::Element;
use crate::scenario::Step;

impl<'a> Walk<'a> {
    pub(super) fn choice(
        &mut self,
        context: &mut Context,
        element: &Element<'a>,
        scope: &Scope,
    ) -> Vec<Step> {
        let written = element.text("IfController.condition");
        let condition = condition::parse(written, element.flag("IfController.useExpression"));
        match condition {
            None => {
                context.note(
                    Fate::Changed,
                    format!(
                        "its steps are always done; `{}` is not understood",
                        shortened(written, 120)
                    ),
                );
                self.group(context, element, scope, |_| {})
            }
            Some(Condition::Fixed(true)) => self.group(context, element, scope, |_| {}),
            Some(Condition::Fixed(false)) => {
                context.note(Fate::LeftOut, "its condition never holds");
                Vec::new()
            }
            Some(Condition::All(terms)) => {
                let steps = self.below(context, element, scope);
                conditional(context, element.name, &terms, steps)
            }
        }
    }

    pub(super) fn switch(
        &mut self,
        context: &mut Context,
        element: &Element<'a>,
        scope: &Scope,
    ) -> Vec<Step> {
        let written = element.text("SwitchController.value").trim();
        let value = context.settled(written);
        let fixed = template::plain(&value);
        if fixed.is_none() {
            context.note(
                Fate::Changed,
                "a number or a name that fits none of its children does nothing, where JMeter takes the first",
            );
        }
        context.within(element, |context| {
            let inner = scope.with(context, &element.children);
            let choices = element
                .children
                .iter()
                .filter(|child| child.enabled && role(child) != Role::Config);
            let mut out = Vec::new();
            for (at, child) in choices.enumerate() {
                let steps = self.each(context, std::slice::from_ref(child), &inner);
                let number = at.to_string();
                match &fixed {
                    Some(fixed)
                        if *fixed == number
                            || fixed == child.name
                            || (at == 0 && fixed.is_empty()) =>
                    {
                        return steps;
                    }
                    Some(_) => {}
                    None => {
                        let name = quoted(&template::escape(child.name));
                        for text in [number, name] {
                            context.spend(size(&steps));
                            if context.is_exhausted() {
                                return out;
                            }
                            out.extend(grouped(child.name, steps.clone(), |step| {
                                step.when = Some(format!("{value} == {text}"));
                            }));
                        }
                    }
                }
            }
            out
        })
    }

    /// A share of the rounds, where one in so many comes close enough.
    pub(super) fn share(
        &mut self,
        context: &mut Context,
        element: &Element<'a>,
        scope: &Scope,
    ) -> Vec<Step> {
        let percent = context.number(element.text("ThroughputController.percentThroughput"));
        let by_percent = element.text("ThroughputController.style").trim() == "1";
        let when = percent.filter(|_| by_percent).and_then(share_of);
        match &when {
            Some(None) => {}
            Some(Some(_)) => context.note(Fate::Hint, "its share of the rounds is drawn by chance"),
            None => context.note(Fate::Changed, "its steps are done in every round"),
        }
        let never = when == Some(Some(String::new()));
        if never {
            return Vec::new();
        }
        self.group(context, element, scope, |step| step.when = when.flatten())
    }
}

/// Groups within each other, one for each term.
pub(super) fn conditional(
    context: &mut Context,
    name: &str,
    terms: &[Term],
    steps: Vec<Step>,
) -> Vec<Step> {
    terms
        .iter()
        .enumerate()
        .rev()
        .fold(steps, |steps, (at, term)| {
            let variable = context.variable(&term.variable, false);
            let when = if term.text.is_empty() && !term.equal {
                variable
            } else {
                let operator = if term.equal { "==" } else { "!=" };
                format!(
                    "{variable} {operator} {}",
                    quoted(&template::escape(&term.text))
                )
            };
            // Only the outermost has the name.
            grouped(if at == 0 { name } else { "" }, steps, |step| {
                step.when = Some(when)
            })
        })
}

/// A text in a condition, in quotation marks where it needs them.
fn quoted(text: &str) -> String {
    let plain = !text.is_empty() && text.trim() == text && !text.contains(['"', '\'', '=', '!']);
    match (plain, text.contains('"')) {
        (true, _) => text.to_owned(),
        (false, false) => format!("\"{text}\""),
        (false, true) => format!("'{text}'"),
    }
}

/// `when` for a share of the rounds: none for all, empty for never.
fn share_of(percent: f64) -> Option<Option<String>> {
    if percent >= 99.95 {
        return Some(None);
    }
    if percent <= 0.0 {
        return Some(Some(String::new()));
    }
    let near = |ratio: f64| (ratio - ratio.round()).abs() < 0.02 * ratio && ratio.round() >= 2.0;
    let (one_in, all_but) = (100.0 / percent, 100.0 / (100.0 - percent));
    if near(one_in) {
        Some(Some(format!("${{random:1:{one_in:.0}}} == 1")))
    } else if near(all_but) {
        Some(Some(format!("${{random:1:{all_but:.0}}} != 1")))
    } else {
        None
    }
}

/// Roughly how much memory steps take.
fn size(steps: &[Step]) -> usize {
    let texts = |step: &Step| {
        let headers: usize = step
            .headers
            .iter()
            .map(|(name, value)| 64 + name.len() + value.len())
            .sum();
        let form: usize = step
            .form
            .iter()
            .map(|(name, value)| 64 + name.len() + value.len())
            .sum();
        step.name.len()
            + step.url.as_ref().map_or(0, String::len)
            + step.body.as_ref().map_or(0, String::len)
            + step.extract.len() * 200
            + headers
            + form
    };
    steps
        .iter()
        .map(|step| size_of::<Step>() + texts(step) + size(&step.step))
        .sum()
}
