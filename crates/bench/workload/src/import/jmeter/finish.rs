//! What is done when all steps are there: variables that nothing sets, and
//! those that have another name, are named.

use std::collections::BTreeSet;

use super::super::notes::{Fate, Note};
use super::super::share::each;
use super::context::Context;
use super::template::{self, Part};
use crate::scenario::Scenario;

/// Gives an empty value to every variable that is used and never set, and says so.
pub(super) fn set_missing(context: &mut Context, scenario: &mut Scenario) {
    let mut set: BTreeSet<String> = scenario.variables.keys().cloned().collect();
    let open = scenario.data.iter().any(|data| data.columns.is_empty());
    for data in &scenario.data {
        set.extend(data.columns.iter().cloned());
    }
    each(scenario, &mut |step| {
        set.extend(step.extract.iter().map(|extract| extract.variable.clone()));
    });
    let used = std::mem::take(&mut context.used);
    for (name, place) in used.into_iter().filter(|(name, _)| !set.contains(name)) {
        let words = if open {
            "it is empty unless it is a column of the data file; nothing else sets it"
        } else {
            "nothing that was understood sets it; it is empty"
        };
        context.notes.add(Note {
            kind: "variable".into(),
            name: name.clone(),
            path: place,
            fate: Fate::Changed,
            words: words.into(),
        });
        // Columns come before variables of the same name.
        scenario.variables.insert(name, String::new());
    }
}

/// Says which variables are called something else than in the plan.
pub(super) fn name_changes(context: &mut Context, scenario: &mut Scenario) {
    let mut used: BTreeSet<String> = scenario.variables.keys().cloned().collect();
    used.extend(scenario.data.iter().flat_map(|data| data.columns.clone()));
    each(scenario, &mut |step| {
        used.extend(step.extract.iter().map(|extract| extract.variable.clone()));
        for text in step.url.iter().chain(&step.body).chain(step.form.values()) {
            used.extend(
                template::parts(text)
                    .into_iter()
                    .filter_map(|part| match part {
                        Part::Variable(name) => Some(name.to_owned()),
                        Part::Text(_) => None,
                    }),
            );
        }
    });
    for (before, after) in context.names.changed() {
        if used.contains(&after) {
            context.note_about(
                "variable",
                &before,
                Fate::Hint,
                format!("it is called `{after}` here"),
            );
        }
    }
}
