//! Which command is next, and of which key.

use std::str::FromStr;

use fastrand::Rng;
use forebay_workload::Zipf;

use super::protocol::Command;

/// Commands and their weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mix(Vec<(Command, u32)>);

impl Mix {
    /// `READS:WRITES[:DELETES]`
    ///
    /// # Errors
    /// In words for the user.
    pub(crate) fn of_ratio(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no ratio of reads and writes, such as 9:1 or 90:9:1");
        let parts: Result<Vec<u32>, _> = text.split(':').map(|part| part.trim().parse()).collect();
        let parts = parts.map_err(|_| wrong())?;
        if !(2..=3).contains(&parts.len()) {
            return Err(wrong());
        }
        let commands = [Command::Get, Command::Set, Command::Delete];
        Self::new(commands.into_iter().zip(parts).collect()).ok_or_else(wrong)
    }

    /// `get:80,set:15,touch:5`
    ///
    /// # Errors
    /// In words for the user.
    pub(crate) fn of_list(text: &str) -> Result<Self, String> {
        let mut list = Vec::new();
        for part in text.split(',') {
            let (name, weight) = part.trim().split_once(':').unwrap_or((part.trim(), "1"));
            let known = Command::ALL
                .into_iter()
                .find(|command| command.name() == name);
            let command = known.ok_or_else(|| {
                format!("`{name}` is none of get, set, add, delete, touch and incr")
            })?;
            let weight = weight
                .parse()
                .map_err(|_| format!("the weight `{weight}` of {name} is not a whole number"))?;
            list.push((command, weight));
        }
        Self::new(list).ok_or_else(|| format!("`{text}` has no command with a weight"))
    }

    /// None when there is nothing to choose from, or the sum is too large.
    fn new(mut list: Vec<(Command, u32)>) -> Option<Self> {
        list.retain(|(_, weight)| *weight > 0);
        let sum = list
            .iter()
            .try_fold(0_u32, |sum, (_, weight)| sum.checked_add(*weight));
        (!list.is_empty() && sum.is_some()).then_some(Self(list))
    }

    /// Whether a command is in it.
    pub(crate) fn has(&self, command: Command) -> bool {
        self.0.iter().any(|(known, _)| *known == command)
    }

    /// In words: `9:1 get:set`.
    pub(crate) fn words(&self) -> String {
        let column = |part: fn(&(Command, u32)) -> String| -> String {
            self.0.iter().map(part).collect::<Vec<_>>().join(":")
        };
        match self.0.as_slice() {
            [(only, _)] => only.name().to_owned(),
            _ => format!(
                "{} {}",
                column(|(_, weight)| weight.to_string()),
                column(|(command, _)| command.name().to_owned())
            ),
        }
    }

    /// One of them, by weight.
    #[inline]
    pub(crate) fn pick(&self, random: &mut Rng) -> Command {
        let last = self.0[self.0.len() - 1].0;
        if self.0.len() == 1 {
            return last;
        }
        let sum: u32 = self.0.iter().map(|(_, weight)| weight).sum();
        let mut left = random.u32(..sum);
        for &(command, weight) in &self.0 {
            if left < weight {
                return command;
            }
            left -= weight;
        }
        last
    }
}

/// How keys are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Distribution {
    /// All alike.
    Uniform,
    /// By Zipf's law with this exponent; key 0 is the most popular.
    Zipf(f64),
    /// One after the other, over and over; threads and machines take turns.
    Sequential,
    /// Those in the middle most; one in 741 lies beyond the ends and is drawn again.
    Gaussian,
}

impl FromStr for Distribution {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "uniform" => return Ok(Self::Uniform),
            "sequential" => return Ok(Self::Sequential),
            "gaussian" => return Ok(Self::Gaussian),
            "zipf" => return Ok(Self::Zipf(0.99)),
            _ => {}
        }
        let exponent = text.strip_prefix("zipf:").and_then(|e| e.parse().ok());
        let exponent = exponent.filter(|e| (0.0..=100.0).contains(e));
        exponent.map(Self::Zipf).ok_or_else(|| {
            format!("`{text}` is none of uniform, zipf, zipf:0.99, sequential and gaussian")
        })
    }
}

/// Chooses the keys of one thread.
#[derive(Clone, Debug)]
pub(crate) struct Chooser {
    keys: u64,
    way: Way,
}

#[derive(Clone, Debug)]
enum Way {
    Uniform,
    Zipf(Zipf),
    Sequential { at: u64, step: u64 },
    Gaussian,
}

impl Chooser {
    /// Keys from 0 to `keys` for thread `number` of `all`.
    ///
    /// # Errors
    /// When the numbers make no distribution, in words for the user.
    pub(crate) fn new(
        distribution: Distribution,
        keys: u64,
        number: u64,
        all: u64,
    ) -> Result<Self, String> {
        let way = match distribution {
            Distribution::Uniform => Way::Uniform,
            Distribution::Zipf(exponent) => {
                let few = keys.try_into().map_err(|_| "too many keys for zipf")?;
                Way::Zipf(Zipf::new(few, exponent)?)
            }
            Distribution::Sequential => Way::Sequential {
                at: number % keys,
                step: all,
            },
            Distribution::Gaussian => Way::Gaussian,
        };
        Ok(Self { keys, way })
    }

    /// The number of a key.
    #[inline]
    pub(crate) fn pick(&mut self, random: &mut Rng) -> u64 {
        match &mut self.way {
            Way::Uniform => random.u64(..self.keys),
            Way::Zipf(zipf) => zipf.sample(random) as u64,
            Way::Sequential { at, step } => {
                let now = *at;
                *at = (now + *step) % self.keys;
                now
            }
            Way::Gaussian => gaussian(self.keys, random),
        }
    }
}

/// The mean is in the middle, the ends three deviations away.
fn gaussian(keys: u64, random: &mut Rng) -> u64 {
    loop {
        // Mean 0, deviation 1 (G. E. P. Box, M. E. Muller, 1958).
        let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * random.f64()).cos();
        let at = keys as f64 * (0.5 + normal / 6.0);
        if at >= 0.0 && at < keys as f64 {
            return at as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn commands_come_by_their_weights() {
        let mix = Mix::of_ratio("90:9:1").unwrap();
        let mut random = Rng::with_seed(1);
        let mut counts = [0_u32; 3];
        for _ in 0..100_000 {
            counts[match mix.pick(&mut random) {
                Command::Get => 0,
                Command::Set => 1,
                _ => 2,
            }] += 1;
        }
        assert!((89_500..90_500).contains(&counts[0]), "{counts:?}");
        assert!((8_600..9_400).contains(&counts[1]), "{counts:?}");
        assert_eq!(Mix::of_list("get:90,set:9,delete:1").unwrap(), mix);
        assert_eq!(mix.words(), "90:9:1 get:set:delete");
        assert_eq!(Mix::of_ratio("1:0").unwrap().words(), "get");
    }

    #[test]
    fn what_is_no_mix_is_refused() {
        for text in ["", "9", "0:0", "a:b", "1:2:3:4", "4000000000:4000000000"] {
            assert!(Mix::of_ratio(text).is_err(), "{text}");
        }
        for text in ["", "get:x", "flush_all:1", "get:0"] {
            assert!(Mix::of_list(text).is_err(), "{text}");
        }
    }

    #[test]
    fn threads_take_turns_in_sequence() {
        let mut random = Rng::with_seed(1);
        let mut seen = Vec::new();
        for number in 0..3 {
            let mut chooser = Chooser::new(Distribution::Sequential, 30, number, 3).unwrap();
            seen.extend((0..10).map(|_| chooser.pick(&mut random)));
        }
        seen.sort_unstable();
        assert_eq!(seen, (0..30).collect::<Vec<_>>());
    }

    #[test]
    fn keys_follow_their_distribution() {
        let share = |text: &str, range: std::ops::Range<u64>| {
            let mut random = Rng::with_seed(5);
            let mut chooser = Chooser::new(text.parse().unwrap(), 1000, 0, 1).unwrap();
            let picks = (0..100_000).map(|_| chooser.pick(&mut random));
            picks.filter(|pick| range.contains(pick)).count()
        };
        assert_eq!(share("gaussian", 0..1000), 100_000);
        assert!((9_500..10_500).contains(&share("uniform", 0..100)));
        // One deviation to both sides: 68.3 %, of what is within three.
        assert!((68_000..69_000).contains(&share("gaussian", 333..667)));
        // 1 / H(1000) = 13.4 % at exponent 1.
        assert!((12_900..13_900).contains(&share("zipf:1", 0..1)));
        for text in ["zipf:x", "zipf:-1", "normal", ""] {
            assert!(text.parse::<Distribution>().is_err(), "{text}");
        }
    }
}
