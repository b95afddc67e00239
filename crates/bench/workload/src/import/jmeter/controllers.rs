//! Controllers and samplers, in order, to steps.

use std::collections::HashSet;

use super::super::notes::{Fate, shortened};
use super::context::Context;
use super::roles::{Role, role};
use super::scope::Scope;
use super::timers::Waits;
use super::tree::Element;
use super::{repeats, sampler};
use crate::scenario::Step;

/// So deep may controllers lead, modules among them.
const MAX_DEPTH: usize = 32;

/// A walk over the elements of one plan.
pub(super) struct Walk<'a> {
    /// The test plan.
    root: &'a Element<'a>,
    /// What Module controllers led to.
    pub(super) modules: HashSet<roxmltree::NodeId>,
    depth: usize,
}

impl<'a> Walk<'a> {
    pub(super) fn new(root: &'a Element<'a>) -> Self {
        Self {
            root,
            modules: HashSet::new(),
            depth: 0,
        }
    }

    /// The steps of everything below an element. `around` is the scope that the element is in.
    pub(super) fn below(
        &mut self,
        context: &mut Context,
        element: &Element<'a>,
        around: &Scope,
    ) -> Vec<Step> {
        if self.depth >= MAX_DEPTH {
            context.note(
                Fate::LeftOut,
                format!(
                    "controllers lead more than {MAX_DEPTH} deep, perhaps modules to themselves"
                ),
            );
            return Vec::new();
        }
        self.depth += 1;
        let steps = context.within(element, |context| {
            let scope = around.with(context, &element.children);
            self.each(context, &element.children, &scope)
        });
        self.depth -= 1;
        steps
    }

    pub(super) fn each(
        &mut self,
        context: &mut Context,
        elements: &[Element<'a>],
        scope: &Scope,
    ) -> Vec<Step> {
        let mut out = Vec::new();
        for element in elements.iter().filter(|element| element.enabled) {
            context.spend(256);
            if context.is_exhausted() {
                return out;
            }
            context.at(element);
            match role(element) {
                Role::Config => {}
                Role::Request => self.request(context, element, scope, &mut out),
                Role::Action => action(context, element, scope, &mut out),
                Role::OtherSampler => {
                    context.note(Fate::LeftOut, "only HTTP requests are sent");
                }
                Role::Controller => out.extend(self.controller(context, element, scope)),
            }
        }
        out
    }

    fn request(
        &mut self,
        context: &mut Context,
        element: &Element<'a>,
        scope: &Scope,
        out: &mut Vec<Step>,
    ) {
        let own = context.within(element, |context| scope.with(context, &element.children));
        context.at(element);
        out.extend(own.waits.steps());
        out.push(sampler::step(context, element, &own));
    }

    fn controller(
        &mut self,
        context: &mut Context,
        element: &Element<'a>,
        scope: &Scope,
    ) -> Vec<Step> {
        match element.kind {
            "GenericController" | "RecordingController" => {
                self.group(context, element, scope, |_| {})
            }
            "LoopController" => {
                let count = repeats::loops(
                    context,
                    element.text("LoopController.loops"),
                    element.flag("LoopController.continue_forever"),
                );
                self.group(context, element, scope, |step| step.repeat = count)
            }
            "OnceOnlyController" => self.group(context, element, scope, |step| {
                step.when = Some("${iteration} == 1".into());
            }),
            "TransactionController" => self.transaction(context, element, scope),
            "IfController" => self.choice(context, element, scope),
            "WhileController" => self.rounds(context, element, scope),
            "ForeachController" => self.for_each(context, element, scope),
            "SwitchController" => self.switch(context, element, scope),
            "ThroughputController" => self.share(context, element, scope),
            "ModuleController" => self.module(context, element, scope),
            "TestFragmentController" => Vec::new(),
            "IncludeController" => {
                let file = element.text("IncludeController.includepath");
                context.note(
                    Fate::LeftOut,
                    format!(
                        "import `{}` by itself and add its steps",
                        shortened(file, 100)
                    ),
                );
                Vec::new()
            }
            kind => {
                context.note(Fate::Changed, unlike(kind));
                self.group(context, element, scope, |_| {})
            }
        }
    }

    /// The elements below as one group, of which `change` says when and how often.
    pub(super) fn group(
        &mut self,
        context: &mut Context,
        element: &Element<'a>,
        scope: &Scope,
        change: impl FnOnce(&mut Step),
    ) -> Vec<Step> {
        let steps = self.below(context, element, scope);
        grouped(element.name, steps, change)
    }

    fn transaction(
        &mut self,
        context: &mut Context,
        element: &Element<'a>,
        scope: &Scope,
    ) -> Vec<Step> {
        context.note(
            Fate::Changed,
            "its requests are reported one by one, under its name and theirs; their sum is not",
        );
        let mut inner = scope.clone();
        context.spend(inner.bytes());
        inner.label = format!("{}{}: ", scope.label, shortened(element.name, 100));
        self.group(context, element, &inner, |_| {})
    }

    fn module(&mut self, context: &mut Context, element: &Element<'a>, scope: &Scope) -> Vec<Step> {
        let path = element.properties.texts("ModuleController.node_path");
        let root = self.root;
        let found = (0..path.len().min(8))
            .find_map(|from| descend(root, path.get(from..).unwrap_or_default()));
        let Some(target) = found else {
            context.note(
                Fate::LeftOut,
                format!("there is no `{}`", shortened(&path.join(" / "), 200)),
            );
            return Vec::new();
        };
        context.spend(4096);
        self.modules.insert(target.identity());
        if target.kind == "TestFragmentController" {
            return self.group(context, target, scope, |_| {});
        }
        self.each(context, std::slice::from_ref(target), scope)
    }
}

/// The element that names lead to, from the children of one.
fn descend<'a>(from: &'a Element<'a>, names: &[&str]) -> Option<&'a Element<'a>> {
    let (first, rest) = names.split_first()?;
    from.children
        .iter()
        .filter(|child| child.name == *first)
        .find_map(|child| {
            if rest.is_empty() {
                Some(child)
            } else {
                descend(child, rest)
            }
        })
}

/// A group, unless there is nothing in it.
pub(super) fn grouped(name: &str, steps: Vec<Step>, change: impl FnOnce(&mut Step)) -> Vec<Step> {
    if steps.is_empty() {
        return steps;
    }
    let mut group = Step {
        name: name.into(),
        step: steps,
        ..Step::default()
    };
    change(&mut group);
    vec![group]
}

/// What becomes of controllers that a scenario has nothing for.
fn unlike(kind: &str) -> &'static str {
    match kind {
        "RandomController" | "InterleaveControl" => {
            "all its steps are done in every round instead of one of them; split it into flows with weights"
        }
        "RandomOrderController" => "its steps are done in the order in which they stand",
        "RunTime" => "its steps are done once instead of for a time",
        "CriticalSectionController" => "users do not wait for each other in it",
        "ParallelSampler" => "its requests are sent one after another",
        _ => "this kind of controller is not known; its steps are done once, in order",
    }
}

fn action(context: &mut Context, element: &Element<'_>, scope: &Scope, out: &mut Vec<Step>) {
    // 0 and 2 stop the thread or the test, 3 to 5 leave a loop.
    let action = element.text("ActionProcessor.action").trim();
    if !matches!(action, "" | "1") {
        return context.note(
            Fate::LeftOut,
            "a scenario does not stop or jump in the middle",
        );
    }
    let own = context.within(element, |context| scope.with(context, &element.children));
    context.at(element);
    out.extend(own.waits.steps());
    let mut pause = Waits::default();
    pause.constant(context, element.text("ActionProcessor.duration"));
    out.extend(pause.steps());
}
