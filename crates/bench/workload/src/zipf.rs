//! Zipf's law: the k-th most popular of n objects is asked for in proportion
//! to 1/k^s. What is measured of web traffic has s from 0.6 to 1.1.
//!
//! Drawn exactly, in constant time and memory, by rejection-inversion
//! (W. Hörmann, G. Derflinger, "Rejection-inversion to generate variates from
//! monotone discrete distributions", ACM TOMACS 6 (3), 1996): the area under
//! the continuous x^-s is inverted, and the few draws that fall between that
//! curve and the steps of the discrete law are made again.

/// Ranks by Zipf's law, from 0 (the most popular).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zipf {
    exponent: f64,
    count: f64,
    /// The area at the left end, with the whole first step in it.
    area_low: f64,
    /// The area at the right end.
    area_high: f64,
    /// So near to its step a draw is taken without a further look.
    margin: f64,
}

impl Zipf {
    /// A law over `count` ranks with this exponent; 0 makes all equal.
    ///
    /// # Errors
    /// When there is no rank, or the exponent is not from 0 to 100, in words for the user.
    pub fn new(count: u32, exponent: f64) -> Result<Self, String> {
        if count == 0 {
            return Err("a Zipf distribution needs at least one object".into());
        }
        if !(0.0..=100.0).contains(&exponent) {
            return Err(format!("the exponent {exponent} is not from 0 to 100"));
        }
        let count = f64::from(count);
        let mut zipf = Self {
            exponent,
            count,
            area_low: 0.0,
            area_high: 0.0,
            margin: 0.0,
        };
        zipf.area_low = zipf.area(1.5) - 1.0;
        zipf.area_high = zipf.area(count + 0.5);
        zipf.margin = 2.0 - zipf.area_inverse(zipf.area(2.5) - zipf.density(2.0));
        Ok(zipf)
    }

    /// How many ranks there are.
    pub fn count(&self) -> usize {
        self.count as usize
    }

    /// Draws a rank, from 0.
    pub fn sample(&self, random: &mut fastrand::Rng) -> usize {
        loop {
            let area = self.area_high + random.f64() * (self.area_low - self.area_high);
            let x = self.area_inverse(area);
            let rank = x.round().clamp(1.0, self.count);
            let near = rank - x <= self.margin;
            if near || area >= self.area(rank + 0.5) - self.density(rank) {
                return rank as usize - 1;
            }
        }
    }

    /// x^-s
    fn density(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// The integral of the density from 1 to x: (x^(1-s) - 1) / (1-s), and ln x for s = 1.
    fn area(&self, x: f64) -> f64 {
        let log = x.ln();
        log * expm1_over((1.0 - self.exponent) * log)
    }

    fn area_inverse(&self, area: f64) -> f64 {
        // Rounding may carry the argument past the pole of the logarithm.
        let argument = (area * (1.0 - self.exponent)).max(-1.0);
        (area * log1p_over(argument)).exp()
    }
}

/// (e^x - 1) / x, also about 0.
fn expm1_over(x: f64) -> f64 {
    if x.abs() > 1e-8 {
        x.exp_m1() / x
    } else {
        1.0 + x / 2.0
    }
}

/// ln(1 + x) / x, also about 0.
fn log1p_over(x: f64) -> f64 {
    if x.abs() > 1e-8 {
        x.ln_1p() / x
    } else {
        1.0 - x / 2.0
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::chi_square::assert_fits;

    fn probabilities(count: u32, exponent: f64) -> Vec<f64> {
        let weight = |rank: u32| f64::from(rank).powf(-exponent);
        let sum: f64 = (1..=count).map(weight).sum();
        (1..=count).map(|rank| weight(rank) / sum).collect()
    }

    #[test]
    fn draws_follow_the_law() {
        for (seed, (count, exponent)) in (1..).zip([
            (1, 0.9),
            (2, 1.0),
            (10, 0.0),
            (100, 0.5),
            (1_000, 0.9),
            (1_000, 1.0),
            (1_000, 1.000_000_001),
            (50, 2.5),
            (20, 100.0),
        ]) {
            let zipf = Zipf::new(count, exponent).unwrap();
            let mut random = fastrand::Rng::with_seed(seed);
            let mut seen = vec![0u64; count as usize];
            for _ in 0..200_000 {
                seen[zipf.sample(&mut random)] += 1;
            }
            assert_fits(
                &seen,
                &probabilities(count, exponent),
                &format!("{count} {exponent}"),
            );
        }
    }

    #[test]
    fn the_law_holds_for_as_many_objects_as_there_can_be() {
        // Of 2^32-1 objects with s = 1, a share of ln(2^16)/ln(2^32) is among the first 2^16.
        let zipf = Zipf::new(u32::MAX, 1.0).unwrap();
        let mut random = fastrand::Rng::with_seed(1);
        let draws = 100_000;
        let low = (0..draws)
            .filter(|_| zipf.sample(&mut random) < 1 << 16)
            .count();
        let share = low as f64 / f64::from(draws);
        // (ln 2^16 + 0.5772) / (ln 2^32 + 0.5772) = 0.5127
        assert!((share - 0.5127).abs() < 0.008, "{share}");
    }

    #[test]
    fn what_is_no_distribution_is_refused() {
        assert!(Zipf::new(0, 1.0).is_err());
        for exponent in [-0.1, f64::NAN, f64::INFINITY, 101.0] {
            assert!(Zipf::new(5, exponent).is_err(), "{exponent}");
        }
    }
}
