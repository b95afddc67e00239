//! What changed between two runs beyond noise.
//!
//! Noise is what happens within a run: [`Change::confidence`] comes from how
//! the figures vary from second to second (Welch's test on the seconds' rates,
//! order statistics for percentiles, both widened where requests or seconds
//! hang together). What two runs have in themselves (another machine, other
//! neighbours, a cache that was warm) no statistics of a single pair can tell:
//! a change must therefore also be greater than [`LEAST_CHANGE`], and what the
//! runs do not have in common is listed as a caution.

mod cautions;
mod noise;
mod render;
mod stats;

use noise::Noise;
use serde::{Deserialize, Serialize};
use stats::Estimate;

use crate::{Phase, Report};

/// Differences with less confidence are noise.
pub const LEAST_CONFIDENCE: f64 = 0.99;
/// Relative changes below this are noise, however sure they are within the runs.
pub const LEAST_CHANGE: f64 = 0.01;
/// The same for memory, of which there is only one figure a run.
pub const LEAST_CHANGE_OF_MEMORY: f64 = 0.05;

/// What changed between two runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Diff {
    /// Of this format; 1.
    pub format: u32,
    /// The first run: its title and when it began.
    pub before: String,
    /// The second run.
    pub after: String,
    /// What the runs do not have in common, and what was wrong with either.
    pub cautions: Vec<String>,
    /// Phases that both have, in the order of the first run.
    pub phases: Vec<PhaseDiff>,
    /// Names of phases that only the first has.
    pub only_before: Vec<String>,
    /// Names of phases that only the second has.
    pub only_after: Vec<String>,
}

/// What changed in a phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseDiff {
    /// Its name.
    pub name: String,
    /// Each figure.
    pub changes: Vec<Change>,
}

/// What became of one figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Its name: `requests/s`, `p99`.
    pub figure: String,
    /// What its values are.
    pub measure: Measure,
    /// Its value in the first run; none if it was not measured.
    pub before: Option<f64>,
    /// Its value in the second.
    pub after: Option<f64>,
    /// After over before, less one, in percent.
    pub change_percent: Option<f64>,
    /// What to make of it.
    pub verdict: Verdict,
    /// The confidence, 0 to 1, that the figures differ at all.
    pub confidence: Option<f64>,
}

/// What the values of a figure are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Requests a second; more is better.
    PerSecond,
    /// Percent of requests; more is better.
    Percent,
    /// Nanoseconds a request takes; less is better.
    Nanoseconds,
    /// Microseconds of processor time; less is better.
    CpuMicroseconds,
    /// Bytes of memory; less is better.
    Bytes,
}

/// What to make of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Better beyond noise.
    Better,
    /// Worse beyond noise.
    Worse,
    /// Not more than chance may do.
    WithinNoise,
    /// Too few requests or seconds to tell.
    TooFew,
    /// Not measured in both runs.
    NotMeasured,
}

impl Verdict {
    /// The word in reports, by what the figure measures.
    pub fn word(self, measure: Measure) -> &'static str {
        match (self, measure) {
            (Self::Better, Measure::PerSecond | Measure::Nanoseconds) => "faster",
            (Self::Worse, Measure::PerSecond | Measure::Nanoseconds) => "slower",
            (Self::Better, Measure::Percent) => "better",
            (Self::Worse, Measure::Percent) => "worse",
            (Self::Better, Measure::CpuMicroseconds | Measure::Bytes) => "less",
            (Self::Worse, Measure::CpuMicroseconds | Measure::Bytes) => "more",
            (Self::WithinNoise, _) => "within noise",
            (Self::TooFew, _) => "too few to tell",
            (Self::NotMeasured, _) => "not measured",
        }
    }
}

/// Compares two runs, phase by phase. Phases belong together by name; where
/// each run has a single one, these do.
pub fn diff(before: &Report, after: &Report) -> Diff {
    let mut diff = Diff {
        format: 1,
        before: heading(before),
        after: heading(after),
        cautions: cautions::cautions(before, after),
        ..Diff::default()
    };
    let single = before.phases.len() == 1 && after.phases.len() == 1;
    for phase in &before.phases {
        let same = |other: &&Phase| single || other.name == phase.name;
        match after.phases.iter().find(same) {
            Some(other) => {
                cautions::phase_cautions(phase, other, &mut diff.cautions);
                diff.phases.push(phase_diff(phase, other));
            }
            None => diff.only_before.push(phase.name.clone()),
        }
    }
    let known =
        |phase: &&Phase| !single && before.phases.iter().all(|other| other.name != phase.name);
    diff.only_after = after
        .phases
        .iter()
        .filter(known)
        .map(|phase| phase.name.clone())
        .collect();
    diff
}

fn heading(report: &Report) -> String {
    if report.started.is_empty() {
        return report.title.clone();
    }
    format!("{} ({}, {})", report.title, report.program, report.started)
}

const PERCENTILES: [(&str, f64); 6] = [
    ("p50", 50.0),
    ("p90", 90.0),
    ("p95", 95.0),
    ("p99", 99.0),
    ("p99.9", 99.9),
    ("p99.99", 99.99),
];

fn phase_diff(before: &Phase, after: &Phase) -> PhaseDiff {
    let (was, is) = (Noise::of(before), Noise::of(after));
    let mut changes = vec![
        change(
            "requests/s",
            Measure::PerSecond,
            (rate(before), rate(after)),
            (was.rate(), is.rate()),
        ),
        change(
            "success",
            Measure::Percent,
            (success(before), success(after)),
            (was.failed(), is.failed()),
        ),
        change(
            "mean",
            Measure::Nanoseconds,
            (mean(before), mean(after)),
            (was.mean(), is.mean()),
        ),
    ];
    for (name, percent) in PERCENTILES {
        let value = |phase: &Phase| {
            let whole = &phase.tally.latency.whole;
            (whole.count() > 0).then(|| whole.percentile_ns(percent) as f64)
        };
        let estimates = (was.percentile(percent), is.percentile(percent));
        changes.push(change(
            name,
            Measure::Nanoseconds,
            (value(before), value(after)),
            estimates,
        ));
    }
    let cpu = |phase: &Phase| {
        phase
            .server
            .as_ref()
            .map(|server| server.cpu_us_per_request)
    };
    if cpu(before).is_some() || cpu(after).is_some() {
        changes.push(change(
            "CPU/request",
            Measure::CpuMicroseconds,
            (cpu(before), cpu(after)),
            (was.cpu_us(), is.cpu_us()),
        ));
        changes.push(resident(before, after));
    }
    PhaseDiff {
        name: before.name.clone(),
        changes,
    }
}

fn rate(phase: &Phase) -> Option<f64> {
    (phase.seconds > 0.0).then(|| phase.requests_per_second())
}

fn success(phase: &Phase) -> Option<f64> {
    let counts = &phase.tally.counts;
    (counts.completed > 0).then(|| counts.success_percent())
}

fn mean(phase: &Phase) -> Option<f64> {
    let whole = &phase.tally.latency.whole;
    (whole.count() > 0).then(|| whole.mean_ns())
}

type Pair<T> = (Option<T>, Option<T>);

fn change(
    figure: &str,
    measure: Measure,
    (before, after): Pair<f64>,
    estimates: Pair<Estimate>,
) -> Change {
    let confidence = match estimates {
        (Some(was), Some(is)) => Some(was.confidence(is)),
        _ => None,
    };
    let verdict = match (before, after) {
        (Some(before), Some(after)) if before == after => Verdict::WithinNoise,
        (Some(before), Some(after)) => match confidence {
            None => Verdict::TooFew,
            Some(confidence) if confidence < LEAST_CONFIDENCE => Verdict::WithinNoise,
            Some(_) => judged(measure, before, after, LEAST_CHANGE),
        },
        _ => Verdict::NotMeasured,
    };
    Change {
        figure: figure.into(),
        measure,
        before,
        after,
        change_percent: percent(before, after),
        verdict,
        confidence,
    }
}

/// Memory: one figure a run, so there is a threshold instead of a test.
fn resident(before: &Phase, after: &Phase) -> Change {
    let peak = |phase: &Phase| {
        phase
            .server
            .as_ref()
            .map(|server| server.peak_resident_bytes as f64)
    };
    let (was, is) = (peak(before), peak(after));
    let verdict = match (was, is) {
        (Some(was), Some(is)) => judged(Measure::Bytes, was, is, LEAST_CHANGE_OF_MEMORY),
        _ => Verdict::NotMeasured,
    };
    Change {
        figure: "resident".into(),
        measure: Measure::Bytes,
        before: was,
        after: is,
        change_percent: percent(was, is),
        verdict,
        confidence: None,
    }
}

/// Better or worse, if the change is great enough. Success needs no least
/// change: that from 100 % to 99.9 % is one to know.
fn judged(measure: Measure, before: f64, after: f64, least: f64) -> Verdict {
    let small = before != 0.0 && ((after - before) / before).abs() < least;
    if before == after || (small && measure != Measure::Percent) {
        return Verdict::WithinNoise;
    }
    let more_is_better = matches!(measure, Measure::PerSecond | Measure::Percent);
    if (after > before) == more_is_better {
        Verdict::Better
    } else {
        Verdict::Worse
    }
}

fn percent(before: Option<f64>, after: Option<f64>) -> Option<f64> {
    let (before, after) = (before?, after?);
    (before != 0.0).then(|| (after - before) / before * 100.0)
}

#[cfg(test)]
mod tests;
