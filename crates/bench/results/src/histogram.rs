//! Durations to three significant digits (an HDR histogram), in nanoseconds
//! up to one hour. Two of them merge without loss.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use serde::{Deserialize, Serialize};

/// Below this, durations are not told apart, in nanoseconds.
const LOWEST_NS: u64 = 64;
/// What takes longer counts as this.
const HIGHEST_NS: u64 = 3_600_000_000_000;
const DIGITS: u8 = 3;
/// What stands before the counts in HdrHistogram's V2 encoding, in bytes.
const HEADER_BYTES: usize = 40;

/// Durations of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    inner: hdrhistogram::Histogram<u64>,
    /// The exact sum, for the mean, in nanoseconds.
    sum_ns: u128,
}

impl Default for Histogram {
    fn default() -> Self {
        #[allow(clippy::expect_used)]
        let inner = hdrhistogram::Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, DIGITS)
            .expect("the bounds are constants that fit");
        Self { inner, sum_ns: 0 }
    }
}

impl Histogram {
    /// Notes one duration.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.inner.saturating_record(ns);
        self.sum_ns += u128::from(ns);
    }

    /// Adds everything of another.
    pub fn merge(&mut self, other: &Self) {
        // All have the same bounds.
        let _ = self.inner.add(&other.inner);
        self.sum_ns += other.sum_ns;
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.inner.reset();
        self.sum_ns = 0;
    }

    /// How many durations there are.
    pub fn count(&self) -> u64 {
        self.inner.len()
    }

    /// The duration that `percent` of all do not exceed, in nanoseconds; 0 when there is none.
    pub fn percentile_ns(&self, percent: f64) -> u64 {
        if self.inner.is_empty() {
            return 0;
        }
        self.inner.value_at_percentile(percent).min(self.max_ns())
    }

    /// The shortest, in nanoseconds, to the precision of the histogram.
    pub fn min_ns(&self) -> u64 {
        if self.inner.is_empty() {
            0
        } else {
            self.inner.min()
        }
    }

    /// The longest, in nanoseconds, to the precision of the histogram.
    pub fn max_ns(&self) -> u64 {
        self.inner.max()
    }

    /// The mean, in nanoseconds, exact.
    pub fn mean_ns(&self) -> f64 {
        if self.inner.is_empty() {
            return 0.0;
        }
        self.sum_ns as f64 / self.count() as f64
    }

    /// The standard deviation, in nanoseconds.
    pub fn deviation_ns(&self) -> f64 {
        self.inner.stdev()
    }

    /// Every bucket in use, ascending: its highest duration in nanoseconds, and how many.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.inner
            .iter_recorded()
            .map(|value| (value.value_iterated_to(), value.count_at_value()))
    }
}

/// In a result file: the figures a reader wants, and all of it for a program.
#[derive(Serialize, Deserialize)]
struct Written {
    count: u64,
    min_ns: u64,
    mean_ns: f64,
    max_ns: u64,
    p50_ns: u64,
    p90_ns: u64,
    p95_ns: u64,
    p99_ns: u64,
    p99_9_ns: u64,
    p99_99_ns: u64,
    sum_ns: String,
    /// HdrHistogram's V2 encoding in base64.
    hdr: String,
}

impl Serialize for Histogram {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        V2Serializer::new()
            .serialize(&self.inner, &mut bytes)
            .map_err(|error| serde::ser::Error::custom(format!("{error:?}")))?;
        Written {
            count: self.count(),
            min_ns: self.min_ns(),
            mean_ns: self.mean_ns(),
            max_ns: self.max_ns(),
            p50_ns: self.percentile_ns(50.0),
            p90_ns: self.percentile_ns(90.0),
            p95_ns: self.percentile_ns(95.0),
            p99_ns: self.percentile_ns(99.0),
            p99_9_ns: self.percentile_ns(99.9),
            p99_99_ns: self.percentile_ns(99.99),
            sum_ns: self.sum_ns.to_string(),
            hdr: STANDARD.encode(bytes),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Written::deserialize(deserializer)?;
        let wrong = |error: String| serde::de::Error::custom(format!("histogram: {error}"));
        let bytes = STANDARD
            .decode(&written.hdr)
            .map_err(|error| wrong(error.to_string()))?;
        if !is_own(&bytes) {
            return Err(wrong("hdr has other bounds, or another length".into()));
        }
        let read: hdrhistogram::Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| wrong(format!("{error:?}")))?;
        let mut histogram = Self::default();
        histogram
            .inner
            .add(&read)
            .map_err(|error| wrong(format!("{error:?}")))?;
        histogram.sum_ns = written
            .sum_ns
            .parse()
            .map_err(|_| wrong("sum_ns is no number".into()))?;
        Ok(histogram)
    }
}

/// Whether the header of an encoded histogram says what [`Histogram`] writes: the decoder allocates
/// as much as a header asks for.
fn is_own(bytes: &[u8]) -> bool {
    let Some((header, counts)) = bytes.split_at_checked(HEADER_BYTES) else {
        return false;
    };
    let number = |from: usize, to: usize| {
        let digits = header.get(from..to).unwrap_or_default();
        digits
            .iter()
            .fold(0, |sum, &byte| sum << 8 | u64::from(byte))
    };
    number(4, 8) == counts.len() as u64
        && number(12, 16) == u64::from(DIGITS)
        && number(16, 24) == LOWEST_NS
        && number(24, 32) == HIGHEST_NS
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_header_that_asks_for_more_than_there_is_is_refused() {
        let mut histogram = Histogram::default();
        histogram.record(1000);
        let text = serde_json::to_string(&histogram).unwrap();
        let mut written: Written = serde_json::from_str(&text).unwrap();
        let bytes = STANDARD.decode(&written.hdr).unwrap();
        // Length of the counts, digits, lowest, highest.
        for at in [4, 15, 23, 24] {
            let mut broken = bytes.clone();
            broken[at] ^= 0x10;
            written.hdr = STANDARD.encode(&broken);
            let text = serde_json::to_string(&written).unwrap();
            assert!(
                serde_json::from_str::<Histogram>(&text).is_err(),
                "byte {at}"
            );
        }
    }

    #[test]
    fn percentiles_are_within_a_thousandth() {
        let mut histogram = Histogram::default();
        for i in 1..=100_000_u64 {
            histogram.record(i * 1000);
        }
        for percent in [1.0, 50.0, 90.0, 99.0, 99.9] {
            let expected = percent / 100.0 * 100_000_000.0;
            let off = (histogram.percentile_ns(percent) as f64 - expected).abs() / expected;
            assert!(off < 0.001, "p{percent} is off by {off}");
        }
        assert_eq!(histogram.mean_ns(), 50_000_500.0);
    }

    #[test]
    fn a_file_gives_back_what_was_written() {
        let mut histogram = Histogram::default();
        for i in 0..5000_u64 {
            histogram.record(i * i * 37);
        }
        let text = serde_json::to_string(&histogram).unwrap();
        let back: Histogram = serde_json::from_str(&text).unwrap();
        assert_eq!(back, histogram);
        assert!(
            serde_json::from_str::<Histogram>(&text.replace("\"hdr\":\"", "\"hdr\":\"AAAA"))
                .is_err()
        );
    }

    #[test]
    fn merging_is_recording_both() {
        let (mut a, mut b, mut both) = Default::default();
        for i in 0..1000_u64 {
            let one: &mut Histogram = if i % 3 == 0 { &mut a } else { &mut b };
            one.record(i * 7919);
            Histogram::record(&mut both, i * 7919);
        }
        a.merge(&b);
        assert_eq!(a, both);
    }
}
