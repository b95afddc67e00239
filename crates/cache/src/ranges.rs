//! Parts of a body, kept and combined (RFC 9111 sections 3.3 and 3.4).

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use forebay_http::range::RangeSpec;

use crate::budget::{Budget, Charge, allocated};

/// The known ranges of a body whose whole length is known.
#[derive(Debug)]
pub struct Ranges {
    /// Length of the whole body.
    complete: u64,
    /// Disjoint, in order, none empty, none adjacent to the next.
    parts: Vec<(u64, Bytes)>,
    charge: Charge,
}

impl Ranges {
    /// One part that starts at `first` of a body of `complete` bytes.
    pub fn new(budget: &Arc<Budget>, complete: u64, first: u64, bytes: Bytes) -> Self {
        let mut ranges = Self {
            complete,
            parts: Vec::new(),
            charge: Charge::new(budget),
        };
        ranges.insert(first, bytes);
        ranges.count();
        ranges
    }

    /// These parts and those of `other`, which belong to the same representation.
    pub fn combined(&self, other: &Self) -> Self {
        let mut ranges = Self {
            complete: self.complete,
            parts: self.parts.clone(),
            charge: Charge::new(self.charge.budget()),
        };
        for (first, bytes) in &other.parts {
            ranges.insert(*first, bytes.clone());
        }
        ranges.count();
        ranges
    }

    /// Length of the whole body.
    pub fn complete_len(&self) -> u64 {
        self.complete
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> u64 {
        self.charge.bytes()
    }

    /// Whether every byte is known.
    pub fn is_whole(&self) -> bool {
        self.bytes_of(&(0..self.complete)).is_some()
    }

    /// The bytes of `wanted`, if all are known.
    pub fn bytes_of(&self, wanted: &Range<u64>) -> Option<Bytes> {
        if wanted.is_empty() {
            return Some(Bytes::new());
        }
        self.parts.iter().find_map(|(first, bytes)| {
            let end = first + bytes.len() as u64;
            (*first <= wanted.start && wanted.end <= end).then(|| {
                bytes.slice((wanted.start - first) as usize..(wanted.end - first) as usize)
            })
        })
    }

    /// The first run of unknown bytes up to the last unknown one: what to ask for to complete it.
    pub fn missing(&self) -> Range<u64> {
        let mut missing = 0..self.complete;
        if let Some((0, bytes)) = self.parts.first() {
            missing.start = bytes.len() as u64;
        }
        if let Some((first, bytes)) = self.parts.last()
            && first + bytes.len() as u64 == self.complete
        {
            missing.end = (*first).max(missing.start);
        }
        missing
    }

    /// Adds a part; bytes that are known already stay as they are.
    fn insert(&mut self, first: u64, bytes: Bytes) {
        let end = first + bytes.len() as u64;
        if bytes.is_empty() || end > self.complete {
            return;
        }
        let (mut start, mut stop) = (first, end);
        let (mut touching, mut apart) = (Vec::new(), Vec::new());
        for part in self.parts.drain(..) {
            let part_end = part.0 + part.1.len() as u64;
            if part.0 <= end && first <= part_end {
                start = start.min(part.0);
                stop = stop.max(part_end);
                touching.push(part);
            } else {
                apart.push(part);
            }
        }
        let merged = if touching.is_empty() {
            bytes
        } else {
            let mut merged = vec![0; (stop - start) as usize];
            // The new part first: what was known already goes over it.
            for (at, part) in std::iter::once(&(first, bytes)).chain(&touching) {
                let from = (at - start) as usize;
                merged[from..from + part.len()].copy_from_slice(part);
            }
            Bytes::from(merged)
        };
        apart.push((start, merged));
        apart.sort_by_key(|(first, _)| *first);
        self.parts = apart;
    }

    fn count(&mut self) {
        let held = self
            .parts
            .iter()
            .map(|(_, bytes)| allocated(bytes.len()) + 96)
            .sum();
        self.charge.set(held);
    }
}

/// The `Range` that asks for `missing` of a body of `complete` bytes, as the value of the field.
pub fn request_value(missing: &Range<u64>, complete: u64) -> Vec<u8> {
    if missing.end == complete {
        format!("bytes={}-", missing.start).into_bytes()
    } else {
        format!("bytes={}-{}", missing.start, missing.end - 1).into_bytes()
    }
}

/// The single range a request asks for, unresolved, if it asks for just one.
pub fn single(specs: &[RangeSpec]) -> Option<&RangeSpec> {
    match specs {
        [one] => Some(one),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_combined_and_what_is_missing_is_known() {
        let budget = Budget::new(1000);
        let part = |first, text: &'static str| Ranges::new(&budget, 10, first, Bytes::from(text));
        let tail = part(7, "789");
        assert_eq!(tail.missing(), 0..7);
        assert_eq!(tail.bytes_of(&(8..10)).unwrap(), "89");
        assert!(tail.bytes_of(&(6..8)).is_none());
        let both = tail.combined(&part(0, "0123"));
        assert_eq!(both.missing(), 4..7);
        assert_eq!(request_value(&both.missing(), 10), b"bytes=4-6");
        assert_eq!(request_value(&part(0, "01").missing(), 10), b"bytes=2-");
        let all = both.combined(&part(3, "34567"));
        assert!(all.is_whole() && all.missing().is_empty());
        assert_eq!(all.bytes_of(&(0..10)).unwrap(), "0123456789");
        drop((tail, both, all));
        assert_eq!(budget.used(), 0);
    }
}
