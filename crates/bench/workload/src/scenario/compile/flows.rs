//! From flows and steps to operations.

use super::super::coding::Coding;
use super::super::condition::Condition;
use super::super::model::{Count, Flow, Pause, Step};
use super::super::pause::{Think, Wait};
use super::super::program::{Op, Passes, Program, deal};
use super::{Builder, MAX_DEPTH};

/// Flows, at most.
const MAX_FLOWS: usize = 1000;

impl Builder<'_> {
    pub(super) fn flows(&mut self) {
        let scenario = self.scenario;
        if scenario.flow.is_empty() || scenario.flow.len() > MAX_FLOWS {
            self.within("flow", |this| {
                this.problem(
                    "there is no flow, or there are more than 1000",
                    "`[[flow]]` with steps",
                );
            });
            return;
        }
        let weights: Vec<f64> = scenario.flow.iter().map(|flow| flow.weight).collect();
        for (index, flow) in scenario.flow.iter().enumerate() {
            self.within(&format!("flow.{index}"), |this| {
                if !flow.weight.is_finite() || flow.weight < 0.0 {
                    this.within("weight", |this| {
                        this.problem("the weight is no share", "0 or more")
                    });
                }
                let program = this.flow(flow);
                this.out.flows.push(program);
            });
        }
        let sum: f64 = weights.iter().sum();
        if sum > 0.0 && sum.is_finite() {
            self.out.deal = deal(&weights);
        } else {
            self.within("flow", |this| this.problem("no flow has a weight", ""));
        }
    }

    fn flow(&mut self, flow: &Flow) -> Program {
        if flow.step.is_empty() {
            self.problem("the flow has no steps", "`[[flow.step]]` with a `url`");
        }
        let pause = flow.pause.as_ref().and_then(|pause| self.pause(pause));
        let mut ops = Vec::new();
        self.steps(&flow.step, pause.as_ref(), &mut ops, 0);
        let first = ops.iter().find_map(|op| match op {
            Op::Send(plan) => Some(*plan),
            _ => None,
        });
        let home = first.and_then(|plan| self.out.plans.get(plan)?.to.place());
        Program {
            ops,
            iterations: flow.iterations,
            keep_cookies: flow.keep_cookies,
            stop_on_failure: flow.stop_on_failure,
            home,
        }
    }

    fn pause(&mut self, pause: &Pause) -> Option<Wait> {
        self.within("pause", |this| {
            let template = this.template(&pause.0, Coding::Plain);
            match template.fixed() {
                None => Some(Wait::Made(template)),
                // The template was wrong, which is noted already.
                Some("") if !pause.0.is_empty() => None,
                Some(text) => Think::parse(text)
                    .map_err(|why| {
                        let message = format!("`{text}` is no pause: {why}");
                        this.problem(message, "`500ms`, `1s..3s` or `2s~500ms`");
                    })
                    .ok()
                    .map(Wait::Known),
            }
        })
    }

    fn steps(&mut self, steps: &[Step], pause: Option<&Wait>, ops: &mut Vec<Op>, depth: usize) {
        for (index, step) in steps.iter().enumerate() {
            self.within(&format!("step.{index}"), |this| {
                if depth > MAX_DEPTH {
                    this.problem("groups are too deep in each other", "at most 32");
                } else {
                    this.step(step, pause, ops, depth);
                }
            });
        }
    }

    /// A step's operations: the loop around, the condition within it, the work, the pause.
    fn step(&mut self, step: &Step, pause: Option<&Wait>, ops: &mut Vec<Op>, depth: usize) {
        let passes = self.passes(step);
        let repeat_at = ops.len();
        let repeated = passes.is_some();
        if let Some(passes) = passes {
            ops.push(Op::Repeat(passes, 0));
        }
        let start = ops.len();
        let condition = step.when.as_ref().and_then(|text| {
            self.within("when", |this| {
                let parsed = Condition::parse(text, &this.names);
                parsed.map_err(|wrong| this.wrong(wrong)).ok()
            })
        });
        let conditional = condition.is_some();
        if let Some(condition) = condition {
            ops.push(Op::Unless(Box::new(condition), 0));
        }
        self.work(step, pause, ops, depth);
        if conditional {
            let after = ops.len();
            if let Some(Op::Unless(_, to)) = ops.get_mut(start) {
                *to = after;
            }
        }
        if repeated {
            ops.push(Op::Again(start));
            let end = ops.len();
            if let Some(Op::Repeat(_, to)) = ops.get_mut(repeat_at) {
                *to = end;
            }
        }
    }

    fn work(&mut self, step: &Step, pause: Option<&Wait>, ops: &mut Vec<Op>, depth: usize) {
        let own = step.pause.as_ref().and_then(|pause| self.pause(pause));
        let written = step.pause.is_some();
        match (&step.url, step.step.is_empty()) {
            (Some(url), true) => {
                let plan = self.request(step, url);
                ops.push(Op::Send(plan));
                let pause = if written { own.as_ref() } else { pause };
                ops.extend(pause.cloned().map(Op::Pause));
                return;
            }
            (Some(_), false) => {
                self.problem(
                    "a step is a request (`url`) or a group (`step`), not both",
                    "",
                );
            }
            (None, false) => {
                self.only_of_requests(step, "a group");
                self.steps(&step.step, pause, ops, depth + 1);
            }
            (None, true) if written => self.only_of_requests(step, "a pause"),
            (None, true) => {
                self.problem(
                    "the step does nothing",
                    "`url`, or steps of a group, or `pause`",
                );
            }
        }
        ops.extend(own.map(Op::Pause));
    }

    fn passes(&mut self, step: &Step) -> Option<Passes> {
        match step.repeat.as_ref()? {
            Count::Fixed(1) => None,
            Count::Fixed(passes) => Some(Passes::Fixed(*passes)),
            Count::Variable(text) => self.within("repeat", |this| {
                let template = this.template(text, Coding::Plain);
                match template.fixed() {
                    None => Some(Passes::Made(Box::new(template))),
                    Some("") if text.contains("${") => None,
                    Some(number) => match number.trim().parse() {
                        Ok(passes) => Some(Passes::Fixed(passes)),
                        Err(_) => {
                            this.problem("this is no number of times", "`3` or `\"${n}\"`");
                            None
                        }
                    },
                }
            }),
        }
    }

    /// What stands in a step without `url` although it says something about a request.
    fn only_of_requests(&mut self, step: &Step, what: &str) {
        for (key, there) in [
            ("method", step.method.is_some()),
            ("query", !step.query.is_empty()),
            ("headers", !step.headers.is_empty()),
            ("form", !step.form.is_empty()),
            ("body", step.body.is_some()),
            ("body_file", step.body_file.is_some()),
            ("basic_auth", step.basic_auth.is_some()),
            ("follow", step.follow > 0),
            ("expect", !step.expect.is_empty()),
            ("extract", !step.extract.is_empty()),
        ] {
            if there {
                self.within(key, |this| {
                    this.problem(
                        format!("`{key}` belongs to a request, and this is {what}"),
                        "",
                    );
                });
            }
        }
    }
}
