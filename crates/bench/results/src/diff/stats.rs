//! The statistics of a comparison: means of series whose neighbours resemble
//! each other, and how likely a difference is by chance.

/// A mean and how far it may be off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    pub(super) mean: f64,
    /// Standard error of the mean, squared.
    pub(super) error_squared: f64,
    /// Degrees of freedom behind the error.
    pub(super) freedom: f64,
}

impl Estimate {
    /// Of a series in the order of time. Where neighbours resemble each other,
    /// the series counts as a shorter one of independent values: for a process
    /// with correlation r between neighbours, n (1 - r) / (1 + r) of them.
    pub(super) fn of(series: &[f64]) -> Option<Self> {
        let n = series.len() as f64;
        if n < 3.0 || series.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let mean = series.iter().sum::<f64>() / n;
        let variance = series
            .iter()
            .map(|value| (value - mean).powi(2))
            .sum::<f64>()
            / (n - 1.0);
        let independent = (n / inflation(series)).max(2.0);
        Some(Self {
            mean,
            error_squared: variance / independent,
            freedom: independent - 1.0,
        })
    }

    /// The confidence, 0 to 1, that two means differ: one less the two-sided p
    /// value of Welch's test.
    pub(super) fn confidence(self, other: Self) -> f64 {
        let squared = self.error_squared + other.error_squared;
        if squared <= 0.0 {
            return if self.mean == other.mean { 0.0 } else { 1.0 };
        }
        let t = (self.mean - other.mean) / squared.sqrt();
        // Welch and Satterthwaite's degrees of freedom of the difference.
        let parts = self.error_squared.powi(2) / self.freedom.max(1.0)
            + other.error_squared.powi(2) / other.freedom.max(1.0);
        student(t, (squared.powi(2) / parts).max(1.0))
    }
}

/// By how much the variance of a mean grows because neighbours resemble each other.
pub(super) fn inflation(series: &[f64]) -> f64 {
    let n = series.len() as f64;
    let mean = series.iter().sum::<f64>() / n;
    let all: f64 = series.iter().map(|value| (value - mean).powi(2)).sum();
    if all <= 0.0 {
        return 1.0;
    }
    let pairs: f64 = series
        .windows(2)
        .map(|pair| (pair[0] - mean) * (pair[1] - mean))
        .sum();
    let r = (pairs / all).clamp(0.0, 0.95);
    (1.0 + r) / (1.0 - r)
}

/// The probability that a value of Student's distribution is nearer to 0 than t.
pub(super) fn student(t: f64, freedom: f64) -> f64 {
    if !t.is_finite() {
        return 1.0;
    }
    1.0 - beta_share(freedom / (freedom + t * t), freedom / 2.0, 0.5)
}

/// The regularised incomplete beta function (DLMF 8.17), by its continued
/// fraction 8.17.22, evaluated from the front.
fn beta_share(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast on this side only; the other is its mirror.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta_share(1.0 - x, b, a);
    }
    let scale =
        a * x.ln() + b * (1.0 - x).ln() - (ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b)) - a.ln();
    (scale.exp() / fraction(x, a, b)).clamp(0.0, 1.0)
}

/// 1 + d1 / (1 + d2 / (1 + …)): numerators and denominators of the
/// approximants, kept as ratios of neighbours so that they cannot overflow.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const NOTHING: f64 = 1e-300;
    let (mut value, mut numerator, mut denominator) = (1.0_f64, 1.0_f64, 0.0_f64);
    for term in 1..500_u32 {
        let m = f64::from(term / 2);
        let d = if term % 2 == 0 {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        denominator = 1.0 / non_zero(1.0 + d * denominator, NOTHING);
        numerator = non_zero(1.0 + d / numerator, NOTHING);
        let step = numerator * denominator;
        value *= step;
        if (step - 1.0).abs() < 1e-14 {
            break;
        }
    }
    value
}

fn non_zero(value: f64, least: f64) -> f64 {
    if value.abs() < least { least } else { value }
}

/// The logarithm of the gamma function for x > 0: Stirling's series (DLMF
/// 5.11.1) from 10 on, and the recurrence below.
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut below) = (x, 0.0);
    while x < 10.0 {
        below += x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    let series =
        inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0)));
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - below
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn students_distribution_is_as_in_the_tables() {
        for (t, freedom, expected) in [
            (12.706, 1.0, 0.95),
            (2.228, 10.0, 0.95),
            (3.169, 10.0, 0.99),
            (2.042, 30.0, 0.95),
            (2.576, 1e7, 0.99),
            (0.0, 5.0, 0.0),
        ] {
            let found = student(t, freedom);
            assert!(
                (found - expected).abs() < 2e-4,
                "t {t}, {freedom} degrees: {found}"
            );
        }
    }

    #[test]
    fn gamma_at_known_places() {
        assert!((ln_gamma(0.5) - std::f64::consts::PI.sqrt().ln()).abs() < 1e-10);
        assert!((ln_gamma(5.0) - 24_f64.ln()).abs() < 1e-10);
    }

    #[test]
    fn a_trend_counts_as_few_values() {
        let steady = Estimate::of(&[5.0, 6.0, 5.0, 6.0, 5.0, 6.0, 5.0, 6.0]).unwrap();
        let drifting = Estimate::of(&[5.0, 5.0, 5.0, 5.0, 6.0, 6.0, 6.0, 6.0]).unwrap();
        assert!(drifting.error_squared > 2.0 * steady.error_squared);
    }

    #[test]
    fn two_values_are_not_enough() {
        assert_eq!(Estimate::of(&[1.0, 2.0]), None);
        assert_eq!(Estimate::of(&[1.0, 2.0, f64::NAN]), None);
    }
}
