//! JMeter's plans (`.jmx`).
//!
//! The tree is read ([`tree`]), looked through once for what variables mean
//! ([`definitions`]), and walked ([`groups`], [`controllers`]) with the scope
//! that holds at each place ([`scope`]); what all requests share moves to the
//! scenario's head at the end ([`finish`]).

mod assertions;
mod body;
mod choices;
mod condition;
mod context;
mod controllers;
mod definitions;
mod extractors;
mod finish;
mod functions;
mod groups;
mod headers;
mod json;
mod load;
mod pattern;
mod repeats;
mod roles;
mod sampler;
mod scope;
mod statuses;
mod template;
#[cfg(test)]
mod tests;
mod text;
mod timers;
mod tree;

use super::notes::Fate;
use super::{ImportError, Imported, share};
use crate::scenario::Scenario;
use context::Context;
use controllers::Walk;
use tree::{Element, TreeError};

/// Translates a plan.
///
/// # Errors
/// When it is no well-formed plan, or unfolds to too much.
pub(super) fn import(text: &str, file: &str) -> Result<Imported, ImportError> {
    let failed = |error: TreeError| match error {
        TreeError::Broken(words) => ImportError::Broken {
            file: file.into(),
            words,
        },
        TreeError::TooLarge(words) => ImportError::TooLarge {
            file: file.into(),
            words,
        },
    };
    let document = tree::document(text).map_err(failed)?;
    let elements = tree::elements(&document).map_err(failed)?;
    let Some(plan) = elements.iter().find(|element| element.kind == "TestPlan") else {
        return Err(failed(TreeError::Broken(
            "there is no <TestPlan> in it".into(),
        )));
    };
    let mut context = Context::default();
    context.mentioned = mentioned(&document);
    for other in elements.iter().filter(|element| element.kind != "TestPlan") {
        context.at(other);
        roles::remark(&mut context, other);
    }
    let imported = translate(&mut context, plan);
    if context.is_exhausted() {
        return Err(failed(TreeError::TooLarge(
            "it unfolds to more than 256 MiB".into(),
        )));
    }
    Ok(Imported {
        notes: context.notes.finish(),
        ..imported
    })
}

fn translate(context: &mut Context, plan: &Element<'_>) -> Imported {
    groups::remarks(context, plan);
    let data = definitions::collect(context, plan);
    let mut walk = Walk::new(plan);
    let (flow, suggested) = groups::flows(context, plan, &mut walk);
    fragments(context, plan, &walk);
    context.finish_definitions();
    let mut scenario = Scenario {
        name: plan.name.into(),
        variables: std::mem::take(&mut context.variables),
        data,
        flow,
        ..Scenario::default()
    };
    share::base(&mut scenario);
    share::headers(&mut scenario);
    finish::set_missing(context, &mut scenario);
    finish::name_changes(context, &mut scenario);
    if scenario.flow.is_empty() {
        context.at(plan);
        context.note(
            Fate::LeftOut,
            "no group of it has a request that can be sent",
        );
    }
    Imported {
        scenario,
        suggested,
        notes: Vec::new(),
    }
}

/// Says which fragments nothing leads to.
fn fragments(context: &mut Context, element: &Element<'_>, walk: &Walk<'_>) {
    for child in &element.children {
        if child.kind == "TestFragmentController" && !used(child, walk) {
            context.within(element, |context| {
                context.at(child);
                context.note(Fate::LeftOut, "no Module Controller leads to it");
            });
        }
        fragments(context, child, walk);
    }
}

fn used(element: &Element<'_>, walk: &Walk<'_>) -> bool {
    walk.modules.contains(&element.identity())
        || element.children.iter().any(|child| used(child, walk))
}

/// The names in all `${…}` of a plan, to know which numbered variables it uses.
fn mentioned(document: &roxmltree::Document<'_>) -> std::collections::BTreeSet<String> {
    const MAX_NAMES: usize = 100_000;
    let mut out = std::collections::BTreeSet::new();
    for text in document.descendants().filter_map(|node| node.text()) {
        for part in text.split("${").skip(1) {
            if let Some((name, _)) = part.split_once('}')
                && name.len() <= 200
                && out.len() < MAX_NAMES
            {
                out.insert(name.trim().to_owned());
            }
        }
        for mark in ["vars.get(\"", "vars.get('"] {
            for part in text.split(mark).skip(1).take(1000) {
                let name: String = part
                    .chars()
                    .take(200)
                    .take_while(|char| !"\"'".contains(*char))
                    .collect();
                out.insert(name);
            }
        }
    }
    out
}
