//! Parts of a body, kept and combined (RFC 9111 sections 3.3 and 3.4).

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::budget::{Budget, Charge, allocated};

/// The known ranges of a body whose whole length is known.
#[derive(Debug)]
pub struct Ranges {
    /// Length of the whole body.
    complete: u64,
    /// Disjoint, in order, none empty.
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

    /// Parts that were read from disk: disjoint, in order, within `complete`; `None` otherwise.
    pub(crate) fn of_parts(
        budget: &Arc<Budget>,
        complete: u64,
        parts: Vec<(u64, Bytes)>,
    ) -> Option<Self> {
        let mut end = 0;
        for (first, bytes) in &parts {
            if *first < end || bytes.is_empty() {
                return None;
            }
            end = first.checked_add(bytes.len() as u64)?;
        }
        let mut ranges = Self {
            complete,
            parts,
            charge: Charge::new(budget),
        };
        ranges.count();
        (end <= complete).then_some(ranges)
    }

    /// The parts in order, each with the offset of its first byte.
    pub(crate) fn parts(&self) -> &[(u64, Bytes)] {
        &self.parts
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

    /// How many pieces they are kept in.
    pub fn pieces(&self) -> usize {
        self.parts.len()
    }

    /// Whether every byte is known.
    pub fn is_whole(&self) -> bool {
        self.missing().is_empty()
    }

    /// The bytes of `wanted` in order, if all are known. Nothing is copied.
    pub fn slices_of(&self, wanted: &Range<u64>) -> Option<Vec<Bytes>> {
        let mut slices = Vec::new();
        let mut at = wanted.start;
        for (first, bytes) in &self.parts {
            let end = first + bytes.len() as u64;
            if at >= wanted.end || *first > at {
                break;
            }
            if end > at {
                let stop = end.min(wanted.end);
                slices.push(bytes.slice((at - first) as usize..(stop - first) as usize));
                at = stop;
            }
        }
        (at >= wanted.end).then_some(slices)
    }

    /// [`Ranges::slices_of`] in one piece, copied if there are several.
    pub fn bytes_of(&self, wanted: &Range<u64>) -> Option<Bytes> {
        let mut slices = self.slices_of(wanted)?;
        match slices.len() {
            0 => Some(Bytes::new()),
            1 => slices.pop(),
            _ => Some(Bytes::from(slices.concat())),
        }
    }

    /// From the first unknown byte to the last: what to ask for to complete it.
    pub fn missing(&self) -> Range<u64> {
        let mut missing = 0..self.complete;
        for (first, bytes) in &self.parts {
            if *first > missing.start {
                break;
            }
            missing.start = first + bytes.len() as u64;
        }
        for (first, bytes) in self.parts.iter().rev() {
            if first + bytes.len() as u64 != missing.end || missing.end <= missing.start {
                break;
            }
            missing.end = (*first).max(missing.start);
        }
        missing
    }

    /// Adds a part, or what of it is not known already.
    fn insert(&mut self, first: u64, bytes: Bytes) {
        let end = first + bytes.len() as u64;
        if end > self.complete {
            return;
        }
        let mut at = first;
        let mut new = Vec::new();
        for (known, known_bytes) in &self.parts {
            let known_end = known + known_bytes.len() as u64;
            if known_end <= at {
                continue;
            }
            if *known >= end {
                break;
            }
            if *known > at {
                new.push((
                    at,
                    bytes.slice((at - first) as usize..(*known - first) as usize),
                ));
            }
            at = known_end;
        }
        if at < end {
            new.push((at, bytes.slice((at - first) as usize..)));
        }
        for (at, piece) in new {
            // A small rest must not hold the whole of what it was cut from.
            let piece = if piece.len() < bytes.len() / 2 {
                Bytes::copy_from_slice(&piece)
            } else {
                piece
            };
            let place = self.parts.partition_point(|(first, _)| *first < at);
            self.parts.insert(place, (at, piece));
        }
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
