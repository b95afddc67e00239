//! Thread groups: flows, and how they are to be run.

use super::super::Suggested;
use super::super::notes::Fate;
use super::context::Context;
use super::controllers::Walk;
use super::load::{self, Load};
use super::roles;
use super::scope::Scope;
use super::tree::Element;
use crate::scenario::{Flow, Step};

/// A scenario file is not read when steps lie deeper.
const MAX_STEP_DEPTH: usize = 60;

/// Whether an element of the plan is a group of threads.
pub(super) fn is_group(element: &Element<'_>) -> bool {
    element.kind.ends_with("ThreadGroup")
}

/// The flows of a plan's groups, and what they add up to.
pub(super) fn flows<'a>(
    context: &mut Context,
    plan: &'a Element<'a>,
    walk: &mut Walk<'a>,
) -> (Vec<Flow>, Suggested) {
    let mut out = Vec::new();
    let mut suggested = Suggested::default();
    context.within(plan, |context| {
        let scope = Scope::default().with(context, &plan.children);
        for group in plan
            .children
            .iter()
            .filter(|child| child.enabled && is_group(child))
        {
            context.at(group);
            if let Some((flow, load)) = flow(context, plan, group, &scope, walk) {
                load::add(&mut suggested, load, out.is_empty());
                out.push(flow);
            }
        }
    });
    suggested.rate_per_second = context.rate_per_second;
    (out, suggested)
}

fn flow<'a>(
    context: &mut Context,
    plan: &'a Element<'a>,
    group: &'a Element<'a>,
    scope: &Scope,
    walk: &mut Walk<'a>,
) -> Option<(Flow, Load)> {
    if matches!(group.kind, "SetupThreadGroup" | "PostThreadGroup") {
        context.note(
            Fate::LeftOut,
            "what is done once before or after the run is not part of it; do it by other means",
        );
        return None;
    }
    let load = load::load(context, group);
    if load.users == Some(0.0) {
        context.note(Fate::LeftOut, "it has no threads");
        return None;
    }
    let stop_on_failure = on_error(context, group);
    let steps = walk.below(context, group, scope);
    context.at(group);
    if depth(&steps) > MAX_STEP_DEPTH {
        context.note(
            Fate::LeftOut,
            format!("its steps lie more than {MAX_STEP_DEPTH} deep in one another"),
        );
        return None;
    }
    if steps.is_empty() {
        context.note(Fate::LeftOut, "it has no request that can be sent");
        return None;
    }
    let flow = Flow {
        name: group.name.into(),
        weight: load.users.unwrap_or(1.0),
        iterations: load
            .loops
            .filter(|loops| *loops >= 1.0)
            .map(|loops| loops.min(1e15) as u64),
        pause: None,
        keep_cookies: keeps_cookies(plan, group),
        stop_on_failure,
        step: steps,
    };
    Some((flow, load))
}

fn depth(steps: &[Step]) -> usize {
    steps
        .iter()
        .map(|step| 1 + depth(&step.step))
        .max()
        .unwrap_or(0)
}

fn on_error(context: &mut Context, group: &Element<'_>) -> bool {
    match group.text("ThreadGroup.on_sample_error").trim() {
        "" | "continue" => false,
        "startnextloop" => true,
        _ => {
            context.note(
                Fate::Changed,
                "after a failed request the user begins its next round instead of stopping",
            );
            true
        }
    }
}

/// Whether users keep their cookies from round to round.
fn keeps_cookies(plan: &Element<'_>, group: &Element<'_>) -> bool {
    let manager = cookie_manager(group, true).or_else(|| {
        plan.children
            .iter()
            .find(|child| child.enabled && child.kind == "CookieManager")
    });
    let same_user = group.text("ThreadGroup.same_user_on_next_iteration") != "false";
    match manager {
        Some(manager) if manager.flag("CookieManager.controlledByThreadGroup") => same_user,
        Some(manager) => !manager.flag("CookieManager.clearEachIteration"),
        None => false,
    }
}

/// The first cookie manager below an element.
fn cookie_manager<'a>(element: &'a Element<'a>, itself: bool) -> Option<&'a Element<'a>> {
    if !itself && element.kind == "CookieManager" && element.enabled {
        return Some(element);
    }
    element
        .children
        .iter()
        .filter(|child| child.enabled)
        .find_map(|child| cookie_manager(child, false))
}

/// Says what has no place in a scenario about the whole plan.
pub(super) fn remarks(context: &mut Context, plan: &Element<'_>) {
    context.at(plan);
    if cookie_manager(plan, true).is_none() {
        context.note(
            Fate::Changed,
            "it has no cookie manager: JMeter's users send no cookies, a scenario's send what they are given",
        );
    }
    let groups = plan
        .children
        .iter()
        .filter(|child| child.enabled && is_group(child))
        .count();
    if plan.flag("TestPlan.serialize_threadgroups") && groups > 1 {
        context.note(
            Fate::Changed,
            "its groups run side by side, not one after another",
        );
    }
    let listeners = listeners(plan);
    if listeners > 0 {
        context.note_about(
            "listeners",
            "",
            Fate::LeftOut,
            format!("{listeners} in all; `forebay bench` reports by itself (`--json`, `--html`, `--csv`)"),
        );
    }
}

fn listeners(element: &Element<'_>) -> usize {
    element
        .children
        .iter()
        .filter(|child| child.enabled)
        .map(|child| usize::from(roles::is_listener(child.kind)) + listeners(child))
        .sum()
}
