//! Parts of a body, in any order, against a list of bytes that are known or not.

#![allow(clippy::unwrap_used)]

use std::ops::Range;

use bytes::Bytes;
use forebay_cache::budget::Budget;
use forebay_cache::ranges::{Ranges, request_value};
use proptest::prelude::*;

const COMPLETE: usize = 60;

/// One part: where it begins, its length, and who gave it.
type Part = (u64, usize, u8);

fn parts() -> impl Strategy<Value = Vec<Part>> {
    let within = (0..COMPLETE as u64, 0..25usize, any::<u8>());
    proptest::collection::vec(within, 1..12)
}

fn bytes(part: Part) -> Bytes {
    Bytes::from(vec![part.2; part.1])
}

/// What the parts say of each byte: the first word on it counts; a part that goes beyond the end is none.
fn model(parts: &[Part]) -> Vec<Option<u8>> {
    let mut known = vec![None; COMPLETE];
    for &(first, len, giver) in parts {
        let (first, end) = (first as usize, first as usize + len);
        if end <= COMPLETE {
            known[first..end]
                .iter_mut()
                .for_each(|byte| *byte = byte.or(Some(giver)));
        }
    }
    known
}

fn all_unknown(known: &[Option<u8>]) -> Option<Range<u64>> {
    let first = known.iter().position(Option::is_none)?;
    let last = known.iter().rposition(Option::is_none)?;
    Some(first as u64..last as u64 + 1)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn parts_in_any_order_are_what_a_list_of_bytes_says(parts in parts(), wanted in (0..70u64, 0..70u64)) {
        let budget = Budget::new(1 << 20);
        let one = |&part: &Part| Ranges::new(&budget, COMPLETE as u64, part.0, bytes(part));
        let all = parts[1..].iter().fold(one(&parts[0]), |all, part| all.combined(&one(part)));
        let known = model(&parts);
        prop_assert_eq!(all.complete_len(), COMPLETE as u64);
        prop_assert_eq!(all.is_whole(), known.iter().all(Option::is_some));
        let (start, end) = (wanted.0.min(wanted.1), wanted.0.max(wanted.1));
        let expected: Option<Vec<u8>> = match known.get(start as usize..end as usize) {
            Some(bytes) => bytes.iter().copied().collect(),
            None if start == end => Some(Vec::new()),
            None => None,
        };
        prop_assert_eq!(all.bytes_of(&(start..end)).map(Vec::from), expected);
        drop(all);
        prop_assert_eq!(budget.used(), 0);
    }

    #[test]
    fn what_is_asked_for_completes_the_body(parts in parts()) {
        let budget = Budget::new(1 << 20);
        let one = |&part: &Part| Ranges::new(&budget, COMPLETE as u64, part.0, bytes(part));
        let all = parts[1..].iter().fold(one(&parts[0]), |all, part| all.combined(&one(part)));
        let known = model(&parts);
        let missing = all.missing();
        match all_unknown(&known) {
            None => prop_assert!(missing.is_empty()),
            Some(unknown) => {
                prop_assert_eq!(&missing, &unknown);
                let rest = Bytes::from(vec![0; (missing.end - missing.start) as usize]);
                let rest = Ranges::new(&budget, COMPLETE as u64, missing.start, rest);
                prop_assert!(all.combined(&rest).is_whole());
                let value = String::from_utf8(request_value(&missing, COMPLETE as u64)).unwrap();
                let last = if missing.end == COMPLETE as u64 { String::new() } else { (missing.end - 1).to_string() };
                prop_assert_eq!(value, format!("bytes={}-{last}", missing.start));
            }
        }
    }

    #[test]
    fn what_is_held_is_counted_once(parts in parts()) {
        let budget = Budget::new(1 << 20);
        let one = |&part: &Part| Ranges::new(&budget, COMPLETE as u64, part.0, bytes(part));
        let all = parts[1..].iter().fold(one(&parts[0]), |all, part| all.combined(&one(part)));
        let known = model(&parts).iter().flatten().count() as u64;
        prop_assert_eq!(budget.used(), all.memory_bytes());
        prop_assert!(all.memory_bytes() >= known);
        // Disjoint parts with a gap between them: at most every second byte begins one.
        prop_assert!(all.memory_bytes() <= known * (1 + 17 + 96));
    }
}
