//! The highest rate that keeps a condition.

use std::time::Duration;

use forebay_results::{Assertion, Phase, format};

use crate::args::Shape;
use crate::conduct::Conductor;
use crate::rung::Rung;

/// The search ends when the step is less than this of the rate.
const PRECISION: f64 = 0.02;
/// Steps at most.
const MOST_STEPS: usize = 20;
/// A rate counts as kept when so much of what was due was answered well.
const KEPT: f64 = 0.99;
/// How long a step is measured unless the user says.
const STEP: Duration = Duration::from_secs(5);
/// Load before each step at least.
const WARM_UP: Duration = Duration::from_secs(1);
/// Requests that may be under way when a step ends, however few there are.
const UNDER_WAY: u64 = 2;

/// What a search found.
pub(crate) struct Found {
    pub(crate) phases: Vec<Phase>,
    /// In words.
    pub(crate) finding: String,
}

/// Searches by doubling from `--rate` (or from a tenth of what closed load reaches) until it does
/// not hold, then by halving the interval.
///
/// # Errors
/// When no load can be sent.
pub(crate) fn search(
    conductor: &mut Conductor<'_>,
    shape: &Shape,
    condition: &Assertion,
    words: &str,
) -> Result<Found, String> {
    let step = |rate: Option<f64>| Rung {
        connections: shape.connections.iter().copied().max().unwrap_or(1),
        rate,
        duration: Some(shape.duration.unwrap_or(STEP)),
        requests: None,
        // What the step before left in the server's queue is not this one's.
        warm_up: shape.warmup.max(WARM_UP),
    };
    let mut phases = Vec::new();
    let mut rate = match shape.rate {
        Some(rate) => rate,
        None => {
            let closed = conductor.run(&step(None), (1, MOST_STEPS))?;
            let reached = closed.requests_per_second();
            if reached <= 0.0 {
                return Err("closed load got no answer; there is no rate to begin with".into());
            }
            phases.push(closed);
            (reached / 10.0).max(1.0)
        }
    };
    let (mut kept, mut lost): (Option<f64>, Option<f64>) = (None, None);
    while phases.len() < MOST_STEPS && !conductor.is_stopped() {
        let mut phase = conductor.run(&step(Some(rate)), (phases.len() + 1, MOST_STEPS))?;
        let holds_in = |phase: &Phase| condition.check(phase).held && keeps_rate(phase);
        if !holds_in(&phase) && !conductor.is_stopped() {
            // A neighbour's noise is not the server's limit: it has a second chance.
            phase = conductor.run(&step(Some(rate)), (phases.len() + 1, MOST_STEPS))?;
        }
        let holds = holds_in(&phase);
        conductor.note(&format!(
            "{} requests/s: {words} {}",
            format::rate(rate),
            if holds { "holds" } else { "does not hold" }
        ));
        phases.push(phase);
        if holds {
            kept = Some(rate);
        } else {
            lost = Some(rate);
        }
        rate = match (kept, lost) {
            (Some(kept), None) => kept * 2.0,
            (None, Some(lost)) if lost < 1.0 => break,
            (None, Some(lost)) => lost / 2.0,
            (Some(kept), Some(lost)) if (lost - kept) / kept < PRECISION => break,
            (Some(kept), Some(lost)) => kept.midpoint(lost),
            (None, None) => break,
        };
    }
    let finding = match kept {
        Some(rate) => format!("{} requests/s keep {words}", format::rate(rate)),
        None => format!("no rate was found that keeps {words}"),
    };
    Ok(Found { phases, finding })
}

/// Whether what was due was answered, and well.
fn keeps_rate(phase: &Phase) -> bool {
    let counts = &phase.tally.counts;
    let due = counts.completed + counts.unfinished;
    (counts.succeeded + UNDER_WAY.min(counts.unfinished)) as f64 >= due as f64 * KEPT
}
