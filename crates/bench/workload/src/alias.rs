//! Draws by weight in constant time (A. J. Walker's alias method, with tables
//! built as M. D. Vose described in 1991): each place holds its own index and
//! one other, and the share at which the other is taken.

/// A table of weights to draw from; eight bytes for each.
#[derive(Clone, Debug)]
pub struct Alias {
    places: Vec<Place>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    /// Below this of 2^32 it is the place's own index.
    own: u32,
    other: u32,
}

impl Alias {
    /// A table for these weights.
    ///
    /// # Errors
    /// When there is none, one is negative or not a number, or all are 0, in words for the user.
    pub fn new(weights: &[f64]) -> Result<Self, String> {
        let count = u32::try_from(weights.len()).map_err(|_| "too many weights".to_owned())?;
        if let Some(wrong) = weights
            .iter()
            .find(|weight| !(0.0..1e300).contains(*weight))
        {
            return Err(format!("{wrong} is not a weight"));
        }
        let sum: f64 = weights.iter().sum();
        if sum <= 0.0 || !sum.is_finite() {
            return Err("no weight is above zero".into());
        }
        // Scaled so that 1 is a full place.
        let scale = f64::from(count) / sum;
        let mut share: Vec<f64> = weights.iter().map(|weight| weight * scale).collect();
        let (mut small, mut large): (Vec<u32>, Vec<u32>) =
            (0..count).partition(|&index| share[index as usize] < 1.0);
        let full = |index| Place {
            own: u32::MAX,
            other: index,
        };
        let mut places: Vec<Place> = (0..count).map(full).collect();
        while let (Some(&few), Some(&many)) = (small.last(), large.last()) {
            small.pop();
            let own = share[few as usize];
            places[few as usize] = Place {
                own: (own * 4_294_967_296.0) as u32,
                other: many,
            };
            share[many as usize] -= 1.0 - own;
            if share[many as usize] < 1.0 {
                large.pop();
                small.push(many);
            }
        }
        // What is left on either side is full but for rounding: the shares that remain sum up to
        // their number.
        Ok(Self { places })
    }

    /// How many weights there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Never: a table has at least one weight.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Draws an index.
    pub fn sample(&self, random: &mut fastrand::Rng) -> usize {
        let index = random.usize(..self.places.len());
        let place = self.places[index];
        // A full place takes its own index also for the one draw in 2^32 that is not below.
        if random.u32(..) < place.own {
            index
        } else {
            place.other as usize
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::chi_square::assert_fits;
    use proptest::prelude::*;

    #[test]
    fn draws_follow_the_weights() {
        for weights in [
            vec![1.0],
            vec![1.0, 1.0],
            vec![5.0, 0.0, 1.0, 94.0],
            (1..=300).map(f64::from).collect(),
            (1..=300).map(|k| 1.0 / f64::from(k)).collect(),
        ] {
            let alias = Alias::new(&weights).unwrap();
            let mut random = fastrand::Rng::with_seed(7);
            let mut seen = vec![0u64; weights.len()];
            for _ in 0..200_000 {
                seen[alias.sample(&mut random)] += 1;
            }
            let sum: f64 = weights.iter().sum();
            let shares: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
            assert_fits(&seen, &shares, &format!("{} weights", weights.len()));
        }
    }

    #[test]
    fn what_is_no_table_is_refused() {
        for weights in [
            &[][..],
            &[0.0, 0.0],
            &[1.0, -1.0],
            &[f64::NAN],
            &[f64::INFINITY],
        ] {
            assert!(Alias::new(weights).is_err(), "{weights:?}");
        }
    }

    proptest! {
        /// The table itself has the weights, to the resolution of its numbers.
        #[test]
        fn a_table_sums_up_to_its_weights(weights in proptest::collection::vec(0u32..1_000, 1..100)) {
            prop_assume!(weights.iter().any(|&weight| weight > 0));
            let weights: Vec<f64> = weights.into_iter().map(f64::from).collect();
            let alias = Alias::new(&weights).unwrap();
            let mut share = vec![0.0; weights.len()];
            for (index, place) in alias.places.iter().enumerate() {
                let own = f64::from(place.own) / 4_294_967_296.0;
                share[index] += own;
                share[place.other as usize] += 1.0 - own;
            }
            let sum: f64 = weights.iter().sum();
            for (share, weight) in share.iter().zip(&weights) {
                let expected = weight * weights.len() as f64 / sum;
                prop_assert!((share - expected).abs() < 1e-6, "{share} {expected}");
            }
        }
    }
}
