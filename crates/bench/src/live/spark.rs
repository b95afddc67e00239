//! A small curve made of characters: the rate of the last sixty seconds.

use std::collections::VecDeque;

const SECONDS: usize = 60;
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A value for each of the last sixty stretches of a run.
#[derive(Debug, Default)]
pub(super) struct Sparkline {
    values: VecDeque<f64>,
    /// The moment that the last value belongs to.
    at: Option<f64>,
}

impl Sparkline {
    /// The value of the stretch that ended at `at`; the same stretch counts once.
    pub(super) fn set(&mut self, at: f64, value: f64) {
        if self.at == Some(at) {
            return;
        }
        self.at = Some(at);
        if self.values.len() == SECONDS {
            self.values.pop_front();
        }
        self.values.push_back(value);
    }

    /// The last values in at most `width` characters, from zero to the largest that is shown.
    pub(super) fn draw(&self, width: usize) -> String {
        let shown = self.values.len().min(width);
        let values = self.values.iter().skip(self.values.len() - shown);
        let most = values.clone().copied().fold(0.0, f64::max);
        let height = |value: &f64| {
            let steps = (HEIGHTS.len() - 1) as f64;
            let height = if most > 0.0 {
                value / most * steps
            } else {
                0.0
            };
            HEIGHTS[(height.round() as usize).min(HEIGHTS.len() - 1)]
        };
        values.map(height).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_has_the_last_values() {
        let mut line = Sparkline::default();
        assert_eq!(line.draw(10), "");
        for (second, value) in [0.0, 50.0, 100.0, 100.0].into_iter().enumerate() {
            line.set(second as f64, value);
            line.set(second as f64, 7.0);
        }
        assert_eq!(line.draw(10), "▁▅██");
        assert_eq!(line.draw(2), "██");
        assert_eq!(line.draw(0), "");
        for second in 4..200 {
            line.set(f64::from(second), 0.0);
        }
        assert_eq!(line.draw(100), "▁".repeat(60));
    }
}
