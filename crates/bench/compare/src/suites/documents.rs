//! The documents of the origin, and logs of requests for them.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

/// A file of the origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Document {
    /// As in a URL.
    pub(crate) path: String,
    pub(crate) bytes: u64,
}

impl Document {
    pub(crate) fn new(path: &str, bytes: u64) -> Self {
        Self {
            path: path.to_owned(),
            bytes,
        }
    }

    /// Writes it below `root`.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub(crate) fn write(&self, root: &Path) -> io::Result<()> {
        let file = root.join(self.path.trim_start_matches('/'));
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(file, content(self.bytes))
    }
}

/// Text of that length, with line breaks.
fn content(bytes: u64) -> Vec<u8> {
    let line = b"The pool before the intake takes the flood, and what lies behind runs steadily.\n";
    let length = usize::try_from(bytes).unwrap_or(usize::MAX);
    line.iter().copied().cycle().take(length).collect()
}

/// A site of many documents, some asked for much more often than others.
#[derive(Clone, Debug)]
pub(super) struct Catalogue {
    pub(super) documents: Vec<Document>,
    random: fastrand::Rng,
}

/// Middle of the lengths, and the limits they are held to.
const MEDIAN_BYTES: f64 = 6_000.0;
const LEAST_BYTES: f64 = 400.0;
const MOST_BYTES: f64 = 200_000.0;
/// Of the logarithms of the lengths: 95 % lie within a factor of 5.
const SPREAD: f64 = 0.8;
/// How much more popular the first are: the exponent of Zipf's law.
const EXPONENT: f64 = 0.9;

impl Catalogue {
    /// `count` documents of lengths as pages have them; the same each time.
    pub(super) fn new(count: usize) -> Self {
        let mut random = fastrand::Rng::with_seed(50_000);
        let documents = (0..count)
            .map(|i| {
                // Two uniform numbers make a normal one.
                let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
                let normal = radius * (std::f64::consts::TAU * random.f64()).cos();
                let bytes = (MEDIAN_BYTES * (SPREAD * normal).exp()).clamp(LEAST_BYTES, MOST_BYTES);
                Document::new(&format!("/site/{}/{i}.html", i % 256), bytes as u64)
            })
            .collect();
        Self { documents, random }
    }

    /// `count` documents of one length.
    pub(super) fn of_equal(count: usize, bytes: u64) -> Self {
        let documents = (0..count)
            .map(|i| Document::new(&format!("/objects/{}/{i}", i % 256), bytes))
            .collect();
        Self {
            documents,
            random: fastrand::Rng::with_seed(20_000),
        }
    }

    /// Every document once, as a list of paths.
    pub(super) fn paths(&self) -> String {
        let mut text = String::new();
        for document in &self.documents {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{}", document.path);
        }
        text
    }

    /// An access log (combined) of `lines` requests: every document at least once, the rest by popularity.
    pub(super) fn log(&mut self, lines: usize) -> String {
        let mut order: Vec<usize> = (0..self.documents.len()).collect();
        let weights: Vec<f64> = self.cumulative();
        let total = weights.last().copied().unwrap_or(0.0);
        for _ in order.len()..lines {
            let point = self.random.f64() * total;
            order.push(weights.partition_point(|&w| w < point));
        }
        self.random.shuffle(&mut order);
        let mut text = String::with_capacity(lines * 100);
        for document in order.iter().filter_map(|&i| self.documents.get(i)) {
            let _ = writeln!(
                text,
                "192.0.2.1 - - [01/Mar/2011:12:00:00 +0000] \"GET {} HTTP/1.1\" 200 {} \"-\" \"-\"",
                document.path, document.bytes
            );
        }
        text
    }

    fn cumulative(&self) -> Vec<f64> {
        let mut sum = 0.0;
        (1..=self.documents.len())
            .map(|rank| {
                sum += (rank as f64).powf(-EXPONENT);
                sum
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_document_has_its_length() {
        for bytes in [0, 1, 80, 81, 20_480] {
            assert_eq!(content(bytes).len() as u64, bytes);
        }
    }

    #[test]
    fn a_log_asks_for_everything_and_for_the_first_most() {
        let mut catalogue = Catalogue::new(200);
        let log = catalogue.log(5_000);
        let mut counts = BTreeMap::new();
        for line in log.lines() {
            let path = line.split(' ').nth(6).unwrap();
            *counts.entry(path.to_owned()).or_insert(0_u32) += 1;
        }
        assert_eq!(log.lines().count(), 5_000);
        assert_eq!(counts.len(), 200);
        let first = counts["/site/0/0.html"];
        assert!(first > 10 * counts["/site/150/150.html"], "{first}");
    }

    #[test]
    fn the_catalogue_is_the_same_each_time_and_about_as_large_as_pages_are() {
        let (a, b) = (Catalogue::new(5_000), Catalogue::new(5_000));
        assert_eq!(a.documents, b.documents);
        let sum: u64 = a.documents.iter().map(|d| d.bytes).sum();
        assert!((6_000..12_000).contains(&(sum / 5_000)), "{}", sum / 5_000);
    }
}
