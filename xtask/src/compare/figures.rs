//! From turns to figures: medians over the rounds, and ratios taken within each round.

use super::measure::{Load, Turn};

/// One server's figures in a case.
#[derive(Debug)]
pub(super) struct Figures {
    /// Median, least and most of the processor time of a request, in microseconds.
    pub(super) cpu_us: [f64; 3],
    pub(super) requests_per_second: f64,
    /// In all rounds together.
    pub(super) failed: u64,
}

impl Figures {
    /// Those of `server`; `None` when it had no turn.
    pub(super) fn of(turns: &[Turn], server: &str) -> Option<Self> {
        let cpu_us = cpu_us(turns, server);
        let loads: Vec<Load> = turns
            .iter()
            .filter(|t| t.server == server)
            .map(|t| t.load)
            .collect();
        let least = cpu_us.iter().copied().reduce(f64::min)?;
        let most = cpu_us.iter().copied().reduce(f64::max)?;
        Some(Self {
            cpu_us: [median(cpu_us), least, most],
            requests_per_second: rate(&loads),
            failed: failed(&loads),
        })
    }
}

/// The median over the rounds of one server's processor time divided by the other's in the same round.
pub(super) fn ratio(turns: &[Turn], server: &str, of: &str) -> Option<f64> {
    let ratios: Vec<f64> = cpu_us(turns, server)
        .iter()
        .zip(cpu_us(turns, of))
        .map(|(a, b)| a / b)
        .collect();
    (!ratios.is_empty()).then(|| median(ratios))
}

/// The median rate.
pub(super) fn rate(loads: &[Load]) -> f64 {
    median(loads.iter().map(|l| l.requests_per_second).collect())
}

/// All failures.
pub(super) fn failed(loads: &[Load]) -> u64 {
    loads.iter().map(|l| l.failed).sum()
}

fn cpu_us(turns: &[Turn], server: &str) -> Vec<f64> {
    turns
        .iter()
        .filter(|t| t.server == server)
        .map(|t| t.cpu_us_per_request)
        .collect()
}

/// Of an even number the middle between the middle two; NaN of none.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let upper = values.get(values.len() / 2).copied().unwrap_or(f64::NAN);
    let lower = values
        .get(values.len().saturating_sub(1) / 2)
        .copied()
        .unwrap_or(f64::NAN);
    f64::midpoint(lower, upper)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(server: &'static str, round: usize, cpu_us_per_request: f64) -> Turn {
        Turn {
            round,
            server,
            cpu_us_per_request,
            load: Load {
                failed: 1,
                ..Load::default()
            },
        }
    }

    #[test]
    fn a_ratio_is_taken_within_each_round() {
        // The machine is twice as slow in the second round, for both alike.
        let turns = [
            turn("a", 1, 3.0),
            turn("b", 1, 2.0),
            turn("a", 2, 6.0),
            turn("b", 2, 4.0),
        ];
        assert_eq!(ratio(&turns, "a", "b"), Some(1.5));
        assert_eq!(ratio(&turns, "a", "c"), None);
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        assert!((median(vec![4.0, 1.0, 2.0, 9.0]) - 3.0).abs() < 1e-9);
        assert!((median(vec![9.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn spread_and_failures_cover_every_round() {
        let turns = [
            turn("a", 1, 3.0),
            turn("b", 1, 9.0),
            turn("a", 2, 6.0),
            turn("a", 3, 4.0),
        ];
        let figures = Figures::of(&turns, "a");
        assert_eq!(figures.as_ref().map(|f| f.cpu_us), Some([4.0, 3.0, 6.0]));
        assert_eq!(figures.map(|f| f.failed), Some(3));
        assert!(Figures::of(&turns, "c").is_none());
    }
}
