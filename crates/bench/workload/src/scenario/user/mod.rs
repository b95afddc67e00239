//! A virtual user: what it does next, and what it makes of the responses. No
//! socket and no clock; ten thousand of them live at once, so it is small.

mod judge;
mod send;

use std::sync::Arc;
use std::time::Duration;

use super::act::{Act, Answer, Fault};
use super::compiled::Compiled;
use super::cookies::Jar;
use super::memory::Memory;
use super::plan::{Destination, Plan, resolve};
use super::program::{Op, Passes};
use crate::Target;

/// Operations without a request or a pause before the user rests: conditions that never hold
/// must not keep a thread busy.
const MOST_SILENT: u32 = 10_000;
/// That rest, also after an iteration that did nothing.
const REST: Duration = Duration::from_millis(10);

/// A virtual user.
#[derive(Debug)]
pub struct User {
    compiled: Arc<Compiled>,
    memory: Memory,
    jar: Option<Box<Jar>>,
    /// The operation that is next.
    at: usize,
    /// Passes left of each loop it is in, the innermost last.
    loops: Vec<u64>,
    flow: u16,
    state: State,
    /// Whether this iteration sent or waited.
    acted: bool,
    /// Index of the plan sent last.
    sent: usize,
    /// Redirections that may still be followed.
    follow: u32,
    /// The place that the step's own request went to.
    first_place: usize,
    /// The path sent last, where it is made each time.
    path: Vec<u8>,
    /// The body sent last, where a redirection may ask for it again.
    body: Vec<u8>,
    /// Where the last request went, or the next one goes, when the plan does not say it.
    away: Option<Box<Away>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// An iteration begins next.
    Between,
    /// Within one.
    Running,
    /// A redirection is followed next.
    Redirected,
    /// Nothing comes any more.
    Finished,
}

/// A URL that was made or that a server led to.
#[derive(Debug)]
struct Away {
    target: Target,
    place: usize,
    as_get: bool,
}

impl User {
    /// A user by number, from 0. With the same number and seed it does the same, but for the rows
    /// of data files that users take in turn.
    pub fn new(compiled: &Arc<Compiled>, number: u32, seed: u64) -> Self {
        let mut memory = Memory::new(compiled.slots, compiled.tables.len(), number, seed);
        for (slot, template) in &compiled.start {
            let text = template.text(&compiled.tables, &mut memory);
            memory.set(*slot, &text);
        }
        let dealt = number as usize % compiled.deal.len().max(1);
        Self {
            compiled: Arc::clone(compiled),
            memory,
            jar: None,
            at: 0,
            loops: Vec::new(),
            flow: compiled.deal.get(dealt).copied().unwrap_or_default(),
            state: State::Between,
            acted: false,
            sent: 0,
            follow: 0,
            first_place: 0,
            path: Vec::new(),
            body: Vec::new(),
            away: None,
        }
    }

    /// What the user does next. Appends the request's bytes (HTTP/1.1) to `out` for [`Act::Send`].
    /// `now` is Unix time in seconds, for cookies that expire.
    pub fn next(&mut self, now: u64, out: &mut Vec<u8>) -> Act {
        if self.state == State::Redirected {
            return self.send_redirected(now, out);
        }
        if self.state == State::Between && !self.begin() {
            self.state = State::Finished;
        }
        if self.state == State::Finished {
            return Act::Finished;
        }
        for _ in 0..MOST_SILENT {
            match self.step() {
                Step::Silent => {}
                Step::Send(plan) => return self.send(plan, now, out),
                Step::Pause(time) => {
                    self.acted = true;
                    return Act::Pause(time);
                }
                Step::End if !self.acted => {
                    self.acted = true;
                    return Act::Pause(REST);
                }
                Step::End => {
                    self.state = State::Between;
                    return Act::EndOfIteration;
                }
            }
        }
        Act::Pause(REST)
    }

    /// The response to the request sent last.
    ///
    /// # Errors
    /// When it is not what the scenario expects. Later requests go on, or the iteration ends, as
    /// the scenario says.
    pub fn answered(&mut self, answer: &Answer<'_>) -> Result<(), Fault> {
        let Some(plan) = self.compiled.plans.get(self.sent) else {
            return Ok(());
        };
        if plan.asks_little(answer) {
            return Ok(());
        }
        // Threads share the count of references, so the commonest case does without.
        let compiled = Arc::clone(&self.compiled);
        let Some(plan) = compiled.plans.get(self.sent) else {
            return Ok(());
        };
        let result = self.judge(plan, answer);
        if result.is_err() {
            self.failed();
        }
        result.map_err(|(kind, what)| Fault {
            words: format!("step \"{}\": {what}", plan.step),
            kind,
        })
    }

    /// The request sent last failed without a response (connection, time-out).
    pub fn failed(&mut self) {
        if self.state == State::Redirected {
            self.state = State::Running;
        }
        if let Some(program) = self.compiled.flows.get(usize::from(self.flow))
            && program.stop_on_failure
        {
            self.at = program.ops.len();
            self.loops.clear();
        }
    }

    /// Whether an iteration begins next.
    pub fn is_at_start(&self) -> bool {
        self.state == State::Between
    }

    /// Where its first request goes, if that is known beforehand.
    pub fn home(&self) -> Option<usize> {
        self.compiled.flows.get(usize::from(self.flow))?.home
    }

    /// Begins an iteration; `false` when there is none any more.
    fn begin(&mut self) -> bool {
        let Self {
            compiled,
            memory,
            jar,
            ..
        } = self;
        let Some(program) = compiled.flows.get(usize::from(self.flow)) else {
            return false;
        };
        if program
            .iterations
            .is_some_and(|most| memory.iteration >= most)
        {
            return false;
        }
        for (index, table) in compiled.tables.iter().enumerate() {
            let Some(row) = table.take(memory.number, &mut memory.rng) else {
                return false;
            };
            memory.rows[index] = row;
        }
        for copied in &compiled.copies {
            let row = memory.rows[copied.table];
            memory.set(
                copied.slot,
                compiled.tables[copied.table].get(row, copied.column),
            );
        }
        if !program.keep_cookies {
            *jar = None;
        }
        memory.iteration += 1;
        self.at = 0;
        self.loops.clear();
        self.acted = false;
        self.state = State::Running;
        true
    }

    /// Does one operation.
    fn step(&mut self) -> Step {
        let Self {
            compiled, memory, ..
        } = self;
        let tables = &compiled.tables;
        let program = &compiled.flows[usize::from(self.flow)];
        let Some(op) = program.ops.get(self.at) else {
            return Step::End;
        };
        self.at += 1;
        match op {
            Op::Send(plan) => return Step::Send(*plan),
            Op::Pause(wait) => match wait.draw(tables, memory) {
                Duration::ZERO => {}
                time => return Step::Pause(time),
            },
            Op::Unless(condition, to) => {
                if !condition.holds(tables, memory) {
                    self.at = *to;
                }
            }
            Op::Repeat(passes, end) => {
                let passes = match passes {
                    Passes::Fixed(passes) => *passes,
                    Passes::Made(text) => {
                        text.text(tables, memory).trim().parse().unwrap_or_default()
                    }
                };
                match passes.checked_sub(1) {
                    Some(left) => self.loops.push(left),
                    None => self.at = *end,
                }
            }
            Op::Again(start) => match self.loops.last_mut() {
                Some(left @ 1..) => {
                    *left -= 1;
                    self.at = *start;
                }
                _ => drop(self.loops.pop()),
            },
        }
        Step::Silent
    }
}

/// What one operation comes to.
enum Step {
    Silent,
    Send(usize),
    Pause(Duration),
    End,
}

/// Target and path of the request sent last.
fn location<'a>(
    plan: &'a Plan,
    away: Option<&'a Away>,
    made: &'a [u8],
) -> Option<(&'a Target, &'a [u8])> {
    match (away, &plan.to) {
        (Some(away), _) => Some((&away.target, away.target.path.as_bytes())),
        (None, Destination::Path { target, .. }) => Some((target, made)),
        (None, Destination::Fixed { target, .. }) => Some((target, target.path.as_bytes())),
        (None, Destination::Anywhere { .. }) => None,
    }
}

/// The place and the target of a URL found during the run.
fn find(
    compiled: &Compiled,
    base: Option<&Target>,
    url: &str,
    query: &str,
) -> Result<(usize, Target), String> {
    let target = resolve(base, url, query)?;
    let place = compiled
        .place_of(&target)
        .ok_or("there are too many different places")?;
    Ok((place, target))
}

#[cfg(test)]
mod tests;
