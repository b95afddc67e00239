//! How far the figures of a phase may be off, from how they vary within it.
//!
//! Requests of a phase are not independent: a slow moment slows many of them.
//! Intervals that took them for independent would call every difference real.
//! How much they hang together is seen from the percentiles of each second:
//! among independent requests, the share of all requests that is faster than
//! a second's p99 would vary by `p (1 - p) / requests of that second`. By as
//! much as it varies more, all intervals are widened (the design effect of
//! survey statistics).

use super::stats::{Estimate, inflation};
use crate::{Histogram, Phase, Point};

/// Assumed where there are too few seconds to measure it.
const ASSUMED_EFFECT: f64 = 20.0;
/// Widths of an interval in standard errors, for the density around a percentile.
const WIDTH: f64 = 2.0;
/// Relative precision of histograms.
const PRECISION: f64 = 0.001;
/// So many seconds must have contributed to a tail before it is more than an accident.
const LEAST_SECONDS: usize = 3;

/// What is known of a phase's noise.
pub(super) struct Noise<'a> {
    phase: &'a Phase,
    /// Whole points only: the last one of a run may be cut short.
    points: Vec<&'a Point>,
    /// Design effects at 50, 90 and 99 percent, where they can be told.
    effects: [Option<f64>; 3],
}

const MEASURED_AT: [f64; 3] = [50.0, 90.0, 99.0];

impl<'a> Noise<'a> {
    pub(super) fn of(phase: &'a Phase) -> Self {
        let longest = phase
            .series
            .iter()
            .map(|point| point.seconds)
            .fold(0.0, f64::max);
        let points: Vec<&Point> = phase
            .series
            .iter()
            .filter(|point| point.seconds > 0.5 * longest)
            .collect();
        let shares = Shares::of(&phase.tally.latency.whole);
        let effects = MEASURED_AT.map(|percent| effect(&points, &shares, percent));
        Self {
            phase,
            points,
            effects,
        }
    }

    /// Requests that succeeded a second.
    pub(super) fn rate(&self) -> Option<Estimate> {
        self.series(|point| point.succeeded as f64 / point.seconds)
    }

    /// The share of requests that failed.
    pub(super) fn failed(&self) -> Option<Estimate> {
        self.series(|point| point.failed as f64 / (point.failed + point.succeeded).max(1) as f64)
    }

    /// Processor time of the server a request, in microseconds.
    pub(super) fn cpu_us(&self) -> Option<Estimate> {
        let samples = &self.phase.server.as_ref()?.samples;
        let costs: Vec<f64> = samples
            .windows(2)
            .filter_map(|pair| {
                let requests = self.completed_until(pair[1].at) - self.completed_until(pair[0].at);
                (requests > 0.0).then(|| pair[1].cores * (pair[1].at - pair[0].at) * 1e6 / requests)
            })
            .collect();
        Estimate::of(&costs)
    }

    /// The mean duration.
    pub(super) fn mean(&self) -> Option<Estimate> {
        let whole = &self.phase.tally.latency.whole;
        if whole.count() < 2 {
            return None;
        }
        let effect = self
            .effects
            .iter()
            .flatten()
            .copied()
            .reduce(f64::max)
            .unwrap_or(ASSUMED_EFFECT);
        Some(Estimate {
            mean: whole.mean_ns(),
            error_squared: whole.deviation_ns().powi(2) * effect / whole.count() as f64,
            freedom: self.freedom(),
        })
    }

    /// The logarithm of a percentile, its error from order statistics. None
    /// when there are too few requests, or seconds, beyond it.
    pub(super) fn percentile(&self, percent: f64) -> Option<Estimate> {
        let whole = &self.phase.tally.latency.whole;
        let (share, requests) = (percent / 100.0, whole.count() as f64);
        let error = (self.effect_near(percent) * share * (1.0 - share) / requests).sqrt();
        let (low, high) = (share - WIDTH * error, share + WIDTH * error);
        if whole.count() == 0
            || low <= 0.0
            || high >= 1.0
            || self.seconds_beyond(whole.percentile_ns(percent)) < LEAST_SECONDS
        {
            return None;
        }
        let log = |share: f64| (whole.percentile_ns(share * 100.0).max(1) as f64).ln();
        let error = (log(high) - log(low)) / (2.0 * WIDTH);
        Some(Estimate {
            mean: log(share),
            error_squared: error.powi(2) + PRECISION.powi(2),
            freedom: self.freedom(),
        })
    }

    /// Seconds in which a request took at least this long.
    fn seconds_beyond(&self, ns: u64) -> usize {
        let below = (ns as f64 * (1.0 - PRECISION)) as u64;
        self.points
            .iter()
            .filter(|point| point.max_ns >= below)
            .count()
    }

    fn effect_near(&self, percent: f64) -> f64 {
        let wanted = match percent {
            low if low <= 75.0 => 0,
            middle if middle <= 97.0 => 1,
            _ => 2,
        };
        let measured = self.effects[..=wanted]
            .iter()
            .rev()
            .find_map(|effect| *effect);
        measured.unwrap_or(ASSUMED_EFFECT)
    }

    /// What is estimated from seconds is as sure as there are seconds.
    fn freedom(&self) -> f64 {
        (self.points.len() as f64 - 1.0).max(1.0)
    }

    fn series(&self, value: impl Fn(&Point) -> f64) -> Option<Estimate> {
        let values: Vec<f64> = self.points.iter().map(|point| value(point)).collect();
        Estimate::of(&values)
    }

    /// Requests that came to an end before a moment, evenly spread within each point.
    fn completed_until(&self, at: f64) -> f64 {
        let within = |point: &Point| {
            let begin = point.at - point.seconds;
            let share = ((at - begin) / point.seconds).clamp(0.0, 1.0);
            share * (point.succeeded + point.failed) as f64
        };
        self.phase
            .series
            .iter()
            .filter(|point| point.seconds > 0.0)
            .map(within)
            .sum()
    }
}

/// Which share of all requests took at most so long.
struct Shares {
    /// Ascending: a duration, and how many took at most that long.
    steps: Vec<(u64, u64)>,
}

impl Shares {
    fn of(durations: &Histogram) -> Self {
        let mut sum = 0;
        let steps = durations.buckets().map(|(ns, count)| {
            sum += count;
            (ns, sum)
        });
        Self {
            steps: steps.collect(),
        }
    }

    fn at(&self, ns: u64) -> f64 {
        let all = self.steps.last().map_or(1, |step| step.1);
        let place = self.steps.partition_point(|step| step.0 < ns);
        let upto = self
            .steps
            .get(place)
            .or(self.steps.last())
            .map_or(0, |step| step.1);
        upto as f64 / all as f64
    }
}

/// By how much a second's percentile varies more than among independent requests.
fn effect(points: &[&Point], shares: &Shares, percent: f64) -> Option<f64> {
    let share = percent / 100.0;
    let value = |point: &Point| match percent {
        p if p < 75.0 => point.p50_ns,
        p if p < 97.0 => point.p90_ns,
        _ => point.p99_ns,
    };
    // A percentile of so few requests that none lies beyond it is their maximum.
    let told: Vec<&&Point> = points
        .iter()
        .filter(|point| (point.succeeded + point.failed) as f64 * (1.0 - share) >= 2.0)
        .collect();
    if told.len() < 2 * LEAST_SECONDS {
        return None;
    }
    let off: Vec<f64> = told
        .iter()
        .map(|point| shares.at(value(point)) - share)
        .collect();
    let excess = told.iter().zip(&off).map(|(point, off)| {
        off.powi(2) * (point.succeeded + point.failed) as f64 / (share * (1.0 - share))
    });
    let effect = excess.sum::<f64>() / told.len() as f64 * inflation(&off);
    Some(effect.max(1.0))
}
