//! Where the ticks of an axis are, and the short figures beside them.

use super::axis::Unit;
use crate::format;

pub(super) fn linear_ticks(low: f64, high: f64, unit: Unit, at_most: usize) -> Vec<f64> {
    let base = unit.base(high - low);
    let (low, high) = (low / base, high / base);
    let rough = (high - low) / at_most.max(1) as f64;
    let step = if unit == Unit::Seconds && rough > 5.0 {
        [
            10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0,
        ]
        .into_iter()
        .find(|&step| step >= rough)
        .unwrap_or_else(|| (rough / 3600.0).ceil() * 3600.0)
    } else {
        round_step(rough)
    };
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last.min(first + 50))
        .map(|i| i as f64 * step * base)
        .collect()
}

/// The next step of 1, 2 or 5 times a power of ten.
fn round_step(rough: f64) -> f64 {
    if !(rough.is_finite() && rough > 0.0) {
        return 1.0;
    }
    let power = 10_f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|&step| step >= rough * 0.999)
        .unwrap_or(power * 10.0)
}

pub(super) fn log_ticks(low: f64, high: f64, at_most: usize) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    for factors in [&[1.0, 2.0, 5.0][..], &[1.0][..]] {
        let ticks: Vec<f64> = (first..=last)
            .flat_map(|power| {
                factors
                    .iter()
                    .map(move |factor| factor * 10_f64.powi(power))
            })
            .filter(|&value| value >= low * 0.999 && value <= high * 1.001)
            .collect();
        if ticks.len() <= at_most {
            return ticks;
        }
    }
    let every = ((last - first) as usize / at_most.max(1)) + 1;
    (first..=last)
        .step_by(every)
        .map(|power| 10_f64.powi(power))
        .filter(|&value| value >= low * 0.999 && value <= high * 1.001)
        .collect()
}

pub(super) fn percentile_ticks(high: f64) -> Vec<f64> {
    let nines = [50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 99.9999, 99.99999];
    nines
        .into_iter()
        .filter(|&nine| nine <= high + 1e-9)
        .collect()
}

pub(super) fn thinned(steps: &[f64], at_most: usize) -> Vec<f64> {
    let every = steps.len().div_ceil(at_most.max(1)).max(1);
    steps.iter().copied().step_by(every).collect()
}

/// `20.0 ms` is `20 ms` beside a tick.
pub(super) fn trimmed(text: &str) -> String {
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    let number = if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    };
    format!("{number} {unit}")
}

/// A round number without the zeros of a fixed precision; thousands as `k`, millions as `M`.
pub(super) fn decimal(value: f64) -> String {
    let (scaled, suffix) = match value.abs() {
        size if size >= 1e9 => (value / 1e9, "G"),
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 10_000.0 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let rounded = (scaled * 1e6).round() / 1e6;
    if rounded.fract() == 0.0 && (0.0..1e15).contains(&rounded) {
        return format::count(rounded as u64) + suffix;
    }
    format!("{rounded}{suffix}")
}

/// Percent with the decimals that it has, at most five, and never rounded up to 100.
pub(super) fn short_percent(value: f64) -> String {
    let parts = ((value + 1e-9) * 1e5).floor() / 1e5;
    format!("{parts} %")
}
