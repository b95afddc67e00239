//! Axes of charts: units, scales, and where the ticks are.

use super::ticks::{
    decimal, linear_ticks, log_ticks, percentile_ticks, short_percent, thinned, trimmed,
};
use crate::format;

/// What the numbers on an axis are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A plain number.
    Count,
    /// Events a second.
    PerSecond,
    /// Durations in nanoseconds.
    Nanoseconds,
    /// Points in time, in seconds since a beginning.
    Seconds,
    /// Sizes in bytes.
    Bytes,
    /// Bytes a second.
    BytesPerSecond,
    /// Percent, 0 to 100.
    Percent,
    /// Processors in use.
    Cores,
    /// Microseconds, of processor time for example.
    Microseconds,
    /// One figure over another: 1 is alike.
    Ratio,
}

impl Unit {
    /// A value in full, as a hover read-out shows it.
    pub fn value(self, value: f64) -> String {
        match self {
            Self::Count if value.fract() == 0.0 && (0.0..1e15).contains(&value) => {
                format::count(value as u64)
            }
            Self::Count => format::significant(value),
            Self::PerSecond => format!("{}/s", format::rate(value)),
            Self::Nanoseconds => format::duration(value),
            Self::Seconds => format::length(value),
            Self::Bytes => format::size(value),
            Self::BytesPerSecond => format::byte_rate(value),
            Self::Percent => short_percent(value),
            Self::Cores => format!("{} cores", format::significant(value)),
            Self::Microseconds => format!("{} µs", format::significant(value)),
            Self::Ratio => format!("× {}", format::significant(value)),
        }
    }

    /// A value beside a tick: round, so without digits that say nothing.
    fn tick(self, value: f64) -> String {
        match self {
            Self::Nanoseconds => trimmed(&format::duration(value)),
            Self::Bytes => trimmed(&format::size(value)),
            Self::BytesPerSecond => trimmed(&format::size(value)) + "/s",
            Self::Seconds => format::length(value),
            Self::Percent => short_percent(value),
            Self::Ratio => format!("× {}", decimal(value)),
            Self::Microseconds => format!("{} µs", decimal(value)),
            _ => decimal(value),
        }
    }

    /// What ticks on a linear scale are round multiples of.
    pub(super) fn base(self, span: f64) -> f64 {
        match self {
            Self::Bytes | Self::BytesPerSecond => {
                1024_f64.powi((span.max(1.0).ln() / 1024_f64.ln()).floor() as i32)
            }
            _ => 1.0,
        }
    }
}

/// How values lie along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal distances for equal differences; contains 0 unless told otherwise.
    Linear,
    /// Equal distances for equal ratios. Values of 0 or less are left out.
    Log,
    /// Percentiles: each further nine takes the same room.
    Percentile,
    /// One step for each value that occurs, at equal distances: the rungs of a ladder.
    Steps,
}

/// One axis of a chart.
#[derive(Clone, Debug)]
pub struct Axis {
    pub(super) label: String,
    pub(super) unit: Unit,
    pub(super) scale: Scale,
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
}

impl Axis {
    /// A linear axis. The label says what is shown; the unit is at the ticks.
    pub fn new(label: impl Into<String>, unit: Unit) -> Self {
        Self {
            label: label.into(),
            unit,
            scale: Scale::Linear,
            low: None,
            high: None,
        }
    }

    /// With another scale.
    pub fn scale(mut self, scale: Scale) -> Self {
        self.scale = scale;
        self
    }

    /// Begins at this value, whatever the data.
    pub fn from(mut self, low: f64) -> Self {
        self.low = Some(low);
        self
    }

    /// Ends at this value, whatever the data.
    pub fn to(mut self, high: f64) -> Self {
        self.high = Some(high);
        self
    }
}

/// An axis laid over pixels.
pub(super) struct Laid {
    axis: Axis,
    low: f64,
    high: f64,
    steps: Vec<f64>,
    begin_px: f64,
    end_px: f64,
}

impl Laid {
    /// Fits an axis to values (those that are not finite are left out).
    pub(super) fn new(
        axis: &Axis,
        values: impl Iterator<Item = f64>,
        begin_px: f64,
        end_px: f64,
    ) -> Self {
        let mut values: Vec<f64> = values.filter(|&v| shown(axis.scale, v)).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let (low, high) = bounds(axis, &values);
        let steps = if axis.scale == Scale::Steps {
            values
        } else {
            Vec::new()
        };
        Self {
            axis: axis.clone(),
            low,
            high,
            steps,
            begin_px,
            end_px,
        }
    }

    /// Where a value lies, in pixels; none if it cannot be shown.
    pub(super) fn at(&self, value: f64) -> Option<f64> {
        if !shown(self.axis.scale, value) {
            return None;
        }
        let share = match self.axis.scale {
            Scale::Steps => {
                let step = self.steps.iter().position(|&s| s == value)?;
                (step as f64 + 0.5) / self.steps.len() as f64
            }
            scale => {
                let (low, high) = (stretch(scale, self.low), stretch(scale, self.high));
                (stretch(scale, value) - low) / (high - low)
            }
        };
        share
            .is_finite()
            .then(|| self.begin_px + share.clamp(-0.02, 1.02) * (self.end_px - self.begin_px))
    }

    /// Where the ticks are, in pixels, and what stands beside them.
    pub(super) fn ticks(&self, at_most: usize) -> Vec<(f64, String)> {
        let unit = self.axis.unit;
        let label = |value: f64| match self.axis.scale {
            // Rungs are what somebody wrote: 10,000, not 10k.
            Scale::Steps => unit.value(value),
            _ => unit.tick(value),
        };
        let values = match self.axis.scale {
            Scale::Linear => linear_ticks(self.low, self.high, unit, at_most),
            // The decades between need more ticks than even steps do.
            Scale::Log => log_ticks(self.low, self.high, at_most + 2),
            Scale::Percentile => percentile_ticks(self.high),
            Scale::Steps => thinned(&self.steps, at_most),
        };
        values
            .into_iter()
            .filter_map(|value| Some((self.at(value)?, label(value))))
            .collect()
    }
}

fn shown(scale: Scale, value: f64) -> bool {
    value.is_finite()
        && match scale {
            Scale::Log => value > 0.0,
            Scale::Percentile => (0.0..100.0).contains(&value),
            Scale::Linear | Scale::Steps => true,
        }
}

/// A value on a scale on which distances are even.
fn stretch(scale: Scale, value: f64) -> f64 {
    match scale {
        Scale::Log => value.log10(),
        Scale::Percentile => -(1.0 - value / 100.0).log10(),
        Scale::Linear | Scale::Steps => value,
    }
}

fn bounds(axis: &Axis, values: &[f64]) -> (f64, f64) {
    let first = values.first().copied().unwrap_or(0.0);
    let last = values.last().copied().unwrap_or(1.0);
    let low = axis.low.unwrap_or(match axis.scale {
        Scale::Linear => first.min(0.0),
        Scale::Log if values.is_empty() => 1.0,
        Scale::Log => first / 1.15,
        Scale::Percentile => 0.0,
        Scale::Steps => first,
    });
    let high = axis.high.unwrap_or(match axis.scale {
        // A little room, so that the highest point is not on the edge.
        Scale::Linear if axis.unit == Unit::Seconds => last,
        Scale::Linear => last + (last - low).abs() * 0.06,
        Scale::Log if values.is_empty() => 10.0,
        Scale::Log => last * 1.15,
        Scale::Percentile | Scale::Steps => last,
    });
    if high > low {
        (low, high)
    } else {
        (low, low + low.abs().max(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, values: &[f64], at_most: usize) -> Vec<String> {
        let laid = Laid::new(axis, values.iter().copied(), 0.0, 100.0);
        laid.ticks(at_most)
            .into_iter()
            .map(|(_, label)| label)
            .collect()
    }

    #[test]
    fn ticks_are_round() {
        let rate = Axis::new("", Unit::PerSecond);
        assert_eq!(
            labels(&rate, &[90_000.0], 5),
            ["0", "20k", "40k", "60k", "80k"]
        );
        let size = Axis::new("", Unit::Bytes);
        assert_eq!(
            labels(&size, &[180.0 * 1024.0 * 1024.0], 4),
            ["0 B", "50 MiB", "100 MiB", "150 MiB"]
        );
        let time = Axis::new("", Unit::Seconds);
        assert_eq!(
            labels(&time, &[120.0], 5),
            ["0 s", "30 s", "60 s", "90 s", "2 min"]
        );
        let log = Axis::new("", Unit::Nanoseconds).scale(Scale::Log);
        assert_eq!(
            labels(&log, &[9e5, 2e9], 6),
            ["1 ms", "10 ms", "100 ms", "1 s"]
        );
        let nines = Axis::new("", Unit::Percent).scale(Scale::Percentile);
        assert_eq!(
            labels(&nines, &[99.95], 9),
            ["50 %", "90 %", "99 %", "99.9 %"]
        );
    }

    #[test]
    fn each_nine_takes_the_same_room() {
        let axis = Axis::new("", Unit::Percent).scale(Scale::Percentile);
        let laid = Laid::new(&axis, [0.0, 99.9].into_iter(), 0.0, 300.0);
        assert!((laid.at(90.0).unwrap_or(0.0) - 100.0).abs() < 0.1);
        assert!((laid.at(99.0).unwrap_or(0.0) - 200.0).abs() < 0.1);
        assert_eq!(laid.at(100.0), None);
    }

    #[test]
    fn rungs_are_at_equal_distances() {
        let axis = Axis::new("", Unit::Count).scale(Scale::Steps);
        let laid = Laid::new(&axis, [500.0, 1000.0, 10_000.0].into_iter(), 0.0, 300.0);
        assert_eq!(laid.at(500.0), Some(50.0));
        assert_eq!(laid.at(10_000.0), Some(250.0));
        assert_eq!(laid.at(501.0), None);
    }

    #[test]
    fn nothing_to_show_is_no_trouble() {
        for scale in [Scale::Linear, Scale::Log, Scale::Percentile, Scale::Steps] {
            let axis = Axis::new("", Unit::Count).scale(scale);
            for values in [
                &[][..],
                &[0.0][..],
                &[f64::NAN, f64::INFINITY][..],
                &[5.0, 5.0][..],
                &[-3.0][..],
            ] {
                let laid = Laid::new(&axis, values.iter().copied(), 0.0, 100.0);
                assert!(laid.ticks(5).len() < 60);
            }
        }
    }
}
