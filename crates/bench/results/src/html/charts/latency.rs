//! How durations are distributed: a histogram, and a curve of percentiles.

use super::put;
use crate::page::{Axis, Page, Scale, Series, Unit};
use crate::{Histogram, Phase};

/// Bars of the distribution to each factor of ten.
const BINS_A_DECADE: f64 = 16.0;

/// Distribution and percentile curve.
pub(in crate::html) fn latency(page: &mut Page, phases: &[Phase]) {
    let (shares, curves) = match phases {
        [phase] => one(phase),
        phases => phases.iter().map(beside_others).unzip(),
    };
    let x = Axis::new("duration", Unit::Nanoseconds).scale(Scale::Log);
    let y = Axis::new("of all requests", Unit::Percent);
    put(page, "Distribution", &x, y, shares);
    let x = Axis::new("percentile", Unit::Percent).scale(Scale::Percentile);
    let y = Axis::new("not exceeded by so many", Unit::Nanoseconds).scale(Scale::Log);
    put(page, "Percentiles", &x, y, curves);
}

/// A phase by itself: its distribution, and the curves of all that was timed.
fn one(phase: &Phase) -> (Vec<Series>, Vec<Series>) {
    let latency = &phase.tally.latency;
    let shares = Series::new("whole", distribution(&latency.whole));
    let timed = [
        ("whole", &latency.whole),
        ("first byte", &latency.first_byte),
        ("connect", &latency.connect),
    ];
    let curves = timed
        .into_iter()
        .filter(|(_, durations)| durations.count() > 0)
        .map(|(name, durations)| Series::new(name, curve(durations)));
    (vec![shares.stepped().filled()], curves.collect())
}

fn beside_others(phase: &Phase) -> (Series, Series) {
    let (name, whole) = (phase.name.as_str(), &phase.tally.latency.whole);
    (
        Series::new(name, distribution(whole)),
        Series::new(name, curve(whole)),
    )
}

/// Share of requests in each bin of durations, in percent; a bin ends at its x.
fn distribution(durations: &Histogram) -> Vec<(f64, f64)> {
    let bin_of = |ns: u64| ((ns.max(1) as f64).log10() * BINS_A_DECADE).floor() as i64;
    let end_of = |bin: i64| 10_f64.powf((bin + 1) as f64 / BINS_A_DECADE);
    let all = durations.count() as f64;
    let (first, last) = (bin_of(durations.min_ns()), bin_of(durations.max_ns()));
    if all == 0.0 {
        return Vec::new();
    }
    let mut bins = vec![0_u64; (last - first + 1).clamp(1, 1000) as usize];
    let end = bins.len() as i64 - 1;
    for (ns, count) in durations.buckets() {
        bins[(bin_of(ns) - first).clamp(0, end) as usize] += count;
    }
    // An empty bin before the first, where the steps begin.
    let start = std::iter::once((end_of(first - 1), 0.0));
    let shares = bins
        .iter()
        .zip(first..)
        .map(|(&count, bin)| (end_of(bin), 100.0 * count as f64 / all));
    start.chain(shares).collect()
}

/// Percentiles close enough for a smooth curve, as far as there are requests for them.
fn curve(durations: &Histogram) -> Vec<(f64, f64)> {
    let all = durations.count() as f64;
    if all == 0.0 {
        return Vec::new();
    }
    let nines = all.log10().min(7.0);
    let steps = (nines * 16.0).ceil().max(1.0) as u32;
    (0..=steps)
        .map(|step| {
            let beyond = rounded(100.0 * 10_f64.powf(-nines * f64::from(step) / f64::from(steps)));
            (
                100.0 - beyond,
                durations.percentile_ns(100.0 - beyond) as f64,
            )
        })
        .collect()
}

/// To three significant digits, so that a read-out says 99.87 % and not 99.86664 %.
fn rounded(value: f64) -> f64 {
    let scale = 10_f64.powf(2.0 - value.log10().floor());
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distribution_holds_all_requests() {
        let mut durations = Histogram::default();
        for i in 1..=5000_u64 {
            durations.record(i * i * 100);
        }
        let shares = distribution(&durations);
        let sum: f64 = shares.iter().map(|bin| bin.1).sum();
        assert!((sum - 100.0).abs() < 1e-6, "{sum}");
        assert!(shares.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn the_curve_goes_as_far_as_there_are_requests() {
        let mut durations = Histogram::default();
        for i in 1..=1000_u64 {
            durations.record(i * 1_000_000);
        }
        let curve = curve(&durations);
        let (last, longest) = curve.last().copied().unwrap_or_default();
        assert!((last - 99.9).abs() < 1e-6, "{last}");
        assert!(longest >= 999e6);
        assert!(curve.is_sorted_by(|a, b| a.1 <= b.1));
    }
}
