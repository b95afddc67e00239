//! How large the objects of a generated catalogue are.
//!
//! The size of an object is a function of seed and index alone: all threads,
//! runs and agents agree on it without a table.

use std::fmt;
use std::str::FromStr;

use forebay_config::parse_size;

/// A distribution of sizes in bytes. Written `10KiB`, `1KiB..64KiB`,
/// `lognormal(10KiB,1.5)`, `pareto(4KiB,1.2)`, or `1KiB:30,20KiB:60,500KiB:10`;
/// the two with a long tail take the largest size as a third parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Sizes {
    /// All the same.
    Constant(u64),
    /// Any from the first to the second, evenly.
    Uniform(u64, u64),
    /// The logarithm is normally distributed.
    Lognormal {
        /// Half of the objects are smaller.
        median: u64,
        /// Standard deviation of the natural logarithm.
        sigma: f64,
        /// Larger ones are of this size.
        most: u64,
    },
    /// P(size > x) = (least / x)^alpha.
    Pareto {
        /// None is smaller.
        least: u64,
        /// The tail: the lower, the heavier; at most 1 the mean is set by `most` alone.
        alpha: f64,
        /// Larger ones are of this size.
        most: u64,
    },
    /// Some sizes with their weights.
    Weighted(Vec<(u64, f64)>),
}

impl Sizes {
    /// Where the distributions with a long tail end unless the user says: 64 MiB.
    pub const MOST: u64 = 64 << 20;

    /// The size of an object in bytes.
    pub fn of(&self, seed: u64, index: u64) -> u64 {
        match self {
            Self::Constant(size) => *size,
            Self::Uniform(low, high) => {
                let width = u128::from(high - low) + 1;
                low + ((width * u128::from(scatter(seed, index))) >> 64) as u64
            }
            Self::Lognormal {
                median,
                sigma,
                most,
            } => {
                let size = *median as f64 * (sigma * normal(seed, index)).exp();
                (size.round() as u64).min(*most)
            }
            Self::Pareto { least, alpha, most } => {
                let size = *least as f64 * unit(seed, index).powf(-1.0 / alpha);
                (size as u64).clamp(*least, (*most).max(*least))
            }
            Self::Weighted(list) => weighted(list, unit(seed, index)),
        }
    }
}

fn weighted(list: &[(u64, f64)], place: f64) -> u64 {
    let sum: f64 = list.iter().map(|(_, weight)| weight).sum();
    let mut left = place * sum;
    for (size, weight) in list {
        left -= weight;
        if left <= 0.0 && *weight > 0.0 {
            return *size;
        }
    }
    list.last().map_or(0, |(size, _)| *size)
}

/// A number that looks random for each seed and index (the finaliser of SplitMix64).
fn scatter(seed: u64, index: u64) -> u64 {
    let mix = |mut z: u64| {
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let stream = mix(seed.wrapping_add(STEP));
    mix(stream.wrapping_add(index.wrapping_add(1).wrapping_mul(STEP)))
}

/// Above 0, at most 1.
fn unit(seed: u64, index: u64) -> f64 {
    ((scatter(seed, index) >> 11) + 1) as f64 / (1u64 << 53) as f64
}

/// Mean 0, deviation 1 (G. E. P. Box, M. E. Muller, 1958).
fn normal(seed: u64, index: u64) -> f64 {
    let radius = (-2.0 * unit(seed, index).ln()).sqrt();
    let angle = std::f64::consts::TAU * unit(!seed, index);
    radius * angle.cos()
}

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let wrong = |why: String| format!("`{text}` is no distribution of sizes: {why}");
        let parsed = if let Some(inside) = call(text, "lognormal") {
            tail(inside).and_then(|(median, sigma, most)| {
                check(sigma <= 20.0, "the deviation is above 20")?;
                Ok(Self::Lognormal {
                    median,
                    sigma,
                    most,
                })
            })
        } else if let Some(inside) = call(text, "pareto") {
            tail(inside).and_then(|(least, alpha, most)| {
                check(alpha > 0.0, "the exponent is not above 0")?;
                check(least <= most, "the smallest size is above the largest")?;
                Ok(Self::Pareto { least, alpha, most })
            })
        } else if let Some((low, high)) = text.split_once("..") {
            range(low, high)
        } else if text.contains([':', ',']) {
            list(text)
        } else {
            parse_size(text).map(Self::Constant)
        };
        parsed.map_err(wrong)
    }
}

fn check(sound: bool, otherwise: &str) -> Result<(), String> {
    if sound { Ok(()) } else { Err(otherwise.into()) }
}

/// The inside of `name(…)`.
fn call<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.strip_prefix(name)?
        .trim_start()
        .strip_prefix('(')?
        .strip_suffix(')')
}

/// `10KiB,1.5` or `10KiB,1.5,1MiB`
fn tail(inside: &str) -> Result<(u64, f64, u64), String> {
    let mut parts = inside.split(',').map(str::trim);
    let size = parse_size(parts.next().unwrap_or_default())?;
    let number = parts.next().ok_or("the second parameter is missing")?;
    let number: f64 = number
        .parse()
        .map_err(|_| format!("`{number}` is not a number"))?;
    check(
        (0.0..=1e6).contains(&number),
        "the second parameter is out of range",
    )?;
    let most = parts.next().map_or(Ok(Sizes::MOST), parse_size)?;
    check(parts.next().is_none(), "more than three parameters")?;
    check(size > 0, "the first parameter is 0")?;
    Ok((size, number, most))
}

fn range(low: &str, high: &str) -> Result<Sizes, String> {
    let (low, high) = (parse_size(low.trim())?, parse_size(high.trim())?);
    check(low <= high, "the first size is above the second")?;
    Ok(Sizes::Uniform(low, high))
}

fn list(text: &str) -> Result<Sizes, String> {
    let mut list = Vec::new();
    for part in text.split(',') {
        let (size, weight) = part.split_once(':').unwrap_or((part, "1"));
        let size = parse_size(size.trim())?;
        let weight: f64 = weight
            .trim()
            .parse()
            .map_err(|_| format!("`{}` is not a weight", weight.trim()))?;
        check((0.0..=1e12).contains(&weight), "a weight is out of range")?;
        list.push((size, weight));
    }
    check(
        list.iter().any(|(_, weight)| *weight > 0.0),
        "no weight is above 0",
    )?;
    Ok(Sizes::Weighted(list))
}

/// In bytes, as it can be read again.
impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(size) => write!(f, "{size}B"),
            Self::Uniform(low, high) => write!(f, "{low}B..{high}B"),
            Self::Lognormal {
                median,
                sigma,
                most,
            } => {
                write!(f, "lognormal({median}B,{sigma},{most}B)")
            }
            Self::Pareto { least, alpha, most } => write!(f, "pareto({least}B,{alpha},{most}B)"),
            Self::Weighted(list) => {
                for (place, (size, weight)) in list.iter().enumerate() {
                    let separator = if place > 0 { "," } else { "" };
                    write!(f, "{separator}{size}B:{weight}")?;
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::chi_square::assert_fits;

    fn sizes(text: &str) -> Sizes {
        text.parse().unwrap()
    }

    fn drawn(text: &str) -> Vec<u64> {
        let sizes = sizes(text);
        (0..100_000).map(|index| sizes.of(1, index)).collect()
    }

    fn share(drawn: &[u64], holds: impl Fn(u64) -> bool) -> f64 {
        drawn.iter().filter(|&&size| holds(size)).count() as f64 / drawn.len() as f64
    }

    #[test]
    fn a_distribution_is_read_and_written() {
        for (text, written) in [
            ("10KiB", "10240B"),
            (" 1KiB .. 64KiB ", "1024B..65536B"),
            ("lognormal(10KiB,1.5)", "lognormal(10240B,1.5,67108864B)"),
            ("pareto(4KiB, 1.2, 1MiB)", "pareto(4096B,1.2,1048576B)"),
            (
                "1KiB:30,20KiB:60,500KiB:10",
                "1024B:30,20480B:60,512000B:10",
            ),
        ] {
            assert_eq!(sizes(text).to_string(), written);
            assert_eq!(sizes(written), sizes(text));
        }
        for (text, part) in [
            ("", "is no distribution"),
            ("10 apples", "is no distribution"),
            ("2KiB..1KiB", "above the second"),
            ("lognormal(10KiB)", "second parameter is missing"),
            ("lognormal(10KiB,x)", "`x` is not a number"),
            ("lognormal(10KiB,NaN)", "out of range"),
            ("pareto(0B,1)", "first parameter is 0"),
            ("pareto(4KiB,0)", "not above 0"),
            ("pareto(4KiB,1,1KiB)", "above the largest"),
            ("1KiB:0,2KiB:0", "no weight"),
            ("1KiB:x", "`x` is not a weight"),
        ] {
            let error = text.parse::<Sizes>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn a_size_depends_on_seed_and_index_only() {
        let sizes = sizes("1B..1MiB");
        assert_eq!(sizes.of(1, 2), sizes.of(1, 2));
        assert_ne!(sizes.of(1, 2), sizes.of(2, 2));
        assert_ne!(sizes.of(1, 2), sizes.of(1, 3));
        // Results of different versions are compared: a seed has to mean the same in all of them.
        assert_eq!(sizes.of(42, 7), 770_411);
    }

    #[test]
    fn sizes_follow_their_distribution() {
        let mut seen = vec![0; 10];
        drawn("5B..14B")
            .iter()
            .for_each(|size| seen[*size as usize - 5] += 1);
        assert_fits(&seen, &[0.1; 10], "uniform");

        let lognormal = drawn("lognormal(10KiB,1.5)");
        // P(size < median * e^(k * sigma)) is the normal distribution's at k.
        for (k, expected) in [(-1.0f64, 0.1587), (0.0, 0.5), (1.0, 0.8413), (2.0, 0.9772)] {
            let bound = 10_240.0 * (1.5 * k).exp();
            let share = share(&lognormal, |size| (size as f64) < bound);
            assert!((share - expected).abs() < 0.006, "{k}: {share}");
        }

        let pareto = drawn("pareto(4KiB,1.2,4MiB)");
        assert!(pareto.iter().all(|size| (4_096..=4 << 20).contains(size)));
        for factor in [2u64, 10, 100] {
            let expected = (factor as f64).powf(-1.2);
            let share = share(&pareto, |size| size > 4_096 * factor);
            assert!((share - expected).abs() < 0.006, "{factor}: {share}");
        }

        let list = drawn("1KiB:30,20KiB:60,7KiB:0,500KiB:10");
        let seen = [1u64, 20, 7, 500]
            .map(|kib| list.iter().filter(|&&size| size == kib * 1_024).count() as u64);
        assert_fits(&seen, &[0.3, 0.6, 0.0, 0.1], "list");
    }

    #[test]
    fn the_ends_of_the_number_range_are_sizes_too() {
        let all = Sizes::Uniform(0, u64::MAX);
        assert!(all.of(1, 1) > 0);
        let steep = Sizes::Lognormal {
            median: u64::MAX,
            sigma: 20.0,
            most: 10,
        };
        assert!(steep.of(1, 1) <= 10);
    }
}
