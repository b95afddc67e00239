//! Timers: each waits before every request in its scope, one after another.

use super::super::notes::Fate;
use super::context::Context;
use super::template;
use super::tree::Element;
use crate::scenario::{Pause, Step};

/// So many timers that are not constant are in one scope.
const MAX_TIMERS: usize = 100;

/// The waiting before a request.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits {
    constant_ms: f64,
    others: Vec<String>,
}

impl Waits {
    /// Adds a timer. False when the element is none.
    pub(super) fn add(&mut self, context: &mut Context, timer: &Element<'_>) -> bool {
        if self.others.len() >= MAX_TIMERS && timer.kind.ends_with("Timer") {
            context.note(
                Fate::LeftOut,
                format!("more than {MAX_TIMERS} timers wait at once"),
            );
            return true;
        }
        match timer.kind {
            "ConstantTimer" => self.constant(context, timer.text("ConstantTimer.delay")),
            "UniformRandomTimer" => self.uniform(context, timer),
            "GaussianRandomTimer" => self.gaussian(context, timer),
            "PoissonRandomTimer" => self.poisson(context, timer),
            "ConstantThroughputTimer" | "PreciseThroughputTimer" => throughput(context, timer),
            "SyncTimer" => context.note(
                Fate::LeftOut,
                "users do not wait for each other here; they start together without `--ramp`",
            ),
            "BeanShellTimer" | "BSFTimer" | "JSR223Timer" => {
                context.note(Fate::LeftOut, "a script decides how long it waits");
            }
            kind if kind.ends_with("Timer") => {
                context.note(Fate::LeftOut, "this timer is not known");
            }
            _ => return false,
        }
        true
    }

    /// Adds a pause of so many milliseconds.
    pub(super) fn constant(&mut self, context: &mut Context, raw: &str) {
        match time(context, raw) {
            Some(Time::Known(delay)) => self.constant_ms += delay,
            Some(Time::Late(delay)) => self.others.push(delay),
            None => {}
        }
    }

    /// The steps that wait so.
    pub(super) fn steps(&self) -> Vec<Step> {
        let constant = (self.constant_ms >= 0.5).then(|| milliseconds(self.constant_ms));
        constant
            .iter()
            .chain(&self.others)
            .map(|pause| Step {
                pause: Some(Pause(pause.clone())),
                ..Step::default()
            })
            .collect()
    }

    pub(super) fn bytes(&self) -> usize {
        self.others
            .iter()
            .map(|pause| size_of::<Step>() + pause.len())
            .sum::<usize>()
            + size_of::<Step>()
    }

    fn uniform(&mut self, context: &mut Context, timer: &Element<'_>) {
        let offset = time(context, timer.text("ConstantTimer.delay"));
        let range = time(context, timer.text("RandomTimer.range"));
        match (offset, range) {
            (Some(Time::Known(offset)), Some(Time::Known(range))) if range >= 0.5 => {
                let (from, to) = (milliseconds(offset), milliseconds(offset + range));
                self.others.push(format!("{from}..{to}"));
            }
            (offset, range) => {
                match offset {
                    Some(Time::Known(offset)) => self.constant_ms += offset,
                    Some(Time::Late(offset)) => self.others.push(offset),
                    None => {}
                }
                match range {
                    Some(Time::Known(range)) if range >= 0.5 => {
                        self.others.push(format!("0ms..{}", milliseconds(range)));
                    }
                    Some(Time::Late(range)) => self.others.push(format!("0ms..{range}")),
                    _ => {}
                }
            }
        }
    }

    fn gaussian(&mut self, context: &mut Context, timer: &Element<'_>) {
        let mean = time(context, timer.text("ConstantTimer.delay")).unwrap_or(Time::Known(0.0));
        let deviation = time(context, timer.text("RandomTimer.range")).unwrap_or(Time::Known(0.0));
        match (mean, deviation) {
            (Time::Known(mean), Time::Known(deviation)) => self.normal(mean, deviation),
            (mean, deviation) => {
                let (mean, deviation) = (mean.written(), deviation.written());
                self.others.push(format!("{mean}~{deviation}"));
            }
        }
    }

    fn poisson(&mut self, context: &mut Context, timer: &Element<'_>) {
        let offset = context
            .number(timer.text("ConstantTimer.delay"))
            .unwrap_or_default();
        match context.number(timer.text("RandomTimer.range")) {
            Some(lambda) if lambda >= 0.0 => {
                self.normal(offset + lambda, lambda.sqrt());
                context.note(
                    Fate::Changed,
                    "its Poisson distribution became the normal one of the same mean and deviation",
                );
            }
            _ => context.note(Fate::LeftOut, "its delay is no number of milliseconds"),
        }
    }

    fn normal(&mut self, mean: f64, deviation: f64) {
        let (mean, deviation) = (mean.max(0.0), deviation.abs());
        if deviation < 0.5 {
            self.constant_ms += mean;
        } else {
            self.others.push(format!(
                "{}~{}",
                milliseconds(mean),
                milliseconds(deviation)
            ));
        }
    }
}

/// A time in the plan.
enum Time {
    /// In milliseconds.
    Known(f64),
    /// Depends on variables; as a scenario writes it.
    Late(String),
}

impl Time {
    fn written(&self) -> String {
        match self {
            Self::Known(time_ms) => milliseconds(*time_ms),
            Self::Late(written) => written.clone(),
        }
    }
}

/// Reads a number of milliseconds; `None` for nothing, and for what is no number, with a note.
fn time(context: &mut Context, raw: &str) -> Option<Time> {
    let text = context.settled(raw.trim());
    let Some(plain) = template::plain(&text) else {
        let late = context.text(raw.trim());
        if !context.may_be_a_number(&late) {
            context.note(Fate::LeftOut, "its time is no number of milliseconds");
            return None;
        }
        return Some(Time::Late(late + "ms"));
    };
    match plain.trim().parse::<f64>() {
        Ok(time_ms) if time_ms.is_finite() => Some(Time::Known(time_ms.clamp(0.0, 1e12))),
        Err(_) if plain.trim().is_empty() => None,
        _ => {
            context.note(Fate::LeftOut, "its time is no number of milliseconds");
            None
        }
    }
}

/// A time as a scenario writes it.
pub(super) fn milliseconds(time_ms: f64) -> String {
    let time_ms = time_ms.clamp(0.0, 1e12);
    if time_ms >= 1000.0 && time_ms % 1000.0 == 0.0 {
        format!("{:.0}s", time_ms / 1000.0)
    } else {
        format!("{time_ms:.0}ms")
    }
}

fn throughput(context: &mut Context, timer: &Element<'_>) {
    let throughput = context.number(timer.text("throughput"));
    let (period_s, per_user) = if timer.kind == "PreciseThroughputTimer" {
        (
            context
                .number(timer.text("throughputPeriod"))
                .unwrap_or(3600.0),
            false,
        )
    } else {
        (60.0, matches!(timer.text("calcMode").trim(), "" | "0"))
    };
    let Some(rate) = throughput
        .map(|throughput| throughput / period_s)
        .filter(|rate| *rate > 0.0 && rate.is_finite())
    else {
        return context.note(Fate::LeftOut, "its throughput is no number; see `--rate`");
    };
    let whose = if per_user { " for each user" } else { "" };
    if !per_user {
        context.rate_per_second = Some(context.rate_per_second.unwrap_or_default() + rate);
    }
    context.note(
        Fate::LeftOut,
        format!("it held the plan to {rate:.3} requests/s{whose}; say so with `--rate`"),
    );
}
