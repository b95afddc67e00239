//! Think time: `500ms`, `1s..3s`, `2s~500ms`.

use std::time::Duration;

use super::memory::Memory;
use super::table::Table;
use super::template::Template;

/// A distribution of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Think {
    /// Always the same.
    Fixed(Duration),
    /// Anything between, evenly.
    Between(Duration, Duration),
    /// Normally distributed, never below zero: mean, deviation.
    Normal(Duration, Duration),
}

impl Think {
    /// Reads a pause as a scenario writes it.
    ///
    /// # Errors
    /// In words for the user.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let time = |text: &str| forebay_config::parse_duration(text.trim());
        if let Some((low, high)) = text.split_once("..") {
            let (low, high) = (time(low)?, time(high)?);
            if low > high {
                return Err("the first time is longer than the second".into());
            }
            return Ok(Self::Between(low, high));
        }
        if let Some((mean, deviation)) = text.split_once('~') {
            return Ok(Self::Normal(time(mean)?, time(deviation)?));
        }
        time(text).map(Self::Fixed)
    }

    /// A time by chance.
    pub(crate) fn draw(self, rng: &mut fastrand::Rng) -> Duration {
        match self {
            Self::Fixed(time) => time,
            Self::Between(low, high) => {
                let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
                Duration::from_nanos(rng.u64(nanos(low)..=nanos(high)))
            }
            Self::Normal(mean, deviation) => {
                // Box and Muller's transformation; 1 - x so that the logarithm is finite.
                let radius = (-2.0 * (1.0 - rng.f64()).ln()).sqrt();
                let standard = radius * (std::f64::consts::TAU * rng.f64()).cos();
                let seconds = mean.as_secs_f64() + standard * deviation.as_secs_f64();
                Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(mean)
            }
        }
    }
}

/// A pause as it is prepared.
#[derive(Clone, Debug)]
pub(crate) enum Wait {
    /// Known beforehand.
    Known(Think),
    /// With variables; one that is no time then is no pause.
    Made(Template),
}

impl Wait {
    /// How long it is now.
    pub(crate) fn draw(&self, tables: &[Table], memory: &mut Memory) -> Duration {
        match self {
            Self::Known(think) => think.draw(&mut memory.rng),
            Self::Made(template) => Think::parse(&template.text(tables, memory))
                .map_or(Duration::ZERO, |think| think.draw(&mut memory.rng)),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn pauses_are_read() {
        let ms = Duration::from_millis;
        for (text, expected) in [
            ("500ms", Think::Fixed(ms(500))),
            ("1s .. 3s", Think::Between(ms(1000), ms(3000))),
            ("2s~500ms", Think::Normal(ms(2000), ms(500))),
        ] {
            assert_eq!(Think::parse(text).unwrap(), expected, "{text}");
        }
        for text in ["", "soon", "3s..1s", "1s..", "~", "1s~x"] {
            assert!(Think::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_follow_their_distribution() {
        let mut rng = fastrand::Rng::with_seed(7);
        let mut times = |text: &str| -> (f64, f64, f64) {
            let think = Think::parse(text).unwrap();
            let drawn: Vec<f64> = (0..20_000)
                .map(|_| think.draw(&mut rng).as_secs_f64())
                .collect();
            let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
            let least = drawn.iter().copied().fold(f64::MAX, f64::min);
            (mean, least, drawn.iter().copied().fold(0.0, f64::max))
        };
        let (mean, least, most) = times("1s..3s");
        assert!(
            (mean - 2.0).abs() < 0.02 && least >= 1.0 && most <= 3.0,
            "{mean} {least} {most}"
        );
        let (mean, least, most) = times("2s~500ms");
        assert!(
            (mean - 2.0).abs() < 0.02 && least < 1.0 && most > 3.0,
            "{mean} {least} {most}"
        );
        // Never negative, however wide.
        assert!(times("10ms~1s").1 >= 0.0);
    }
}
