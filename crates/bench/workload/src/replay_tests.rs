//! Requests, their order and their times.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::Target;
use proptest::prelude::*;

fn base() -> Base {
    Base::server(Target::parse("http://127.0.0.1:81/own?x").unwrap())
}

fn times(at: &[Option<i64>]) -> Replay {
    let mut builder = Replay::builder(base());
    for (number, at_ms) in at.iter().enumerate() {
        builder
            .push(*at_ms, "GET", &format!("/{number}"), None, &[])
            .unwrap();
    }
    builder.finish()
}

fn slots(replay: &Replay) -> Vec<(u32, u32)> {
    replay
        .order
        .iter()
        .map(|slot| (slot.at_ms, slot.index))
        .collect()
}

#[test]
fn times_are_counted_from_the_earliest() {
    let replay = times(&[Some(5_007), Some(5_001), Some(5_009), Some(5_001)]);
    assert_eq!(slots(&replay), [(0, 1), (0, 3), (6, 0), (8, 2)]);
    assert_eq!(replay.duration_ms(), 8);
    assert!(replay.skipped.is_empty());
}

#[test]
fn requests_of_one_second_are_spread_over_it() {
    let replay = times(&[
        Some(3_000),
        Some(3_000),
        Some(3_000),
        Some(3_000),
        Some(5_000),
    ]);
    let at: Vec<u32> = replay.order.iter().map(|slot| slot.at_ms).collect();
    assert_eq!(at, [0, 250, 500, 750, 2_000]);
    // Where milliseconds are known they are kept.
    let replay = times(&[Some(3_000), Some(3_000), Some(4_001)]);
    let at: Vec<u32> = replay.order.iter().map(|slot| slot.at_ms).collect();
    assert_eq!(at, [0, 0, 1_001]);
}

#[test]
fn a_request_without_a_time_goes_with_the_one_before() {
    let replay = times(&[Some(1), None, Some(7)]);
    assert_eq!(slots(&replay), [(0, 0), (0, 1), (6, 2)]);
    assert_eq!(replay.skipped.without_time, 1);
    // A log without any times is no fault of its lines.
    let replay = times(&[None, None]);
    assert_eq!(slots(&replay), [(0, 0), (0, 1)]);
    assert!(!replay.timed && replay.skipped.is_empty());
}

#[test]
fn times_that_are_months_apart_stay_in_order() {
    const DAY: i64 = 86_400_000;
    let replay = times(&[
        Some(100 * DAY + 1),
        Some(0),
        Some(200 * DAY),
        Some(i64::MAX),
        Some(i64::MIN),
    ]);
    let order: Vec<u32> = replay.order.iter().map(|slot| slot.index).collect();
    assert_eq!(order, [1, 4, 0, 2, 3]);
    assert_eq!(replay.skipped.out_of_time, 4);
    assert_eq!(replay.skipped.total(), 0);
}

#[test]
fn each_request_is_kept_once() {
    let mut builder = Replay::builder(base());
    let agent = [("User-Agent", "x")];
    for (method, url, host, headers) in [
        ("GET", "/a", None, &[][..]),
        ("GET", "/a", None, &[]),
        ("HEAD", "/a", None, &[]),
        ("GET", "/a", Some("h.example"), &[]),
        ("GET", "http://h.example/a", None, &[]),
        ("GET", "/a", None, &agent),
    ] {
        builder.push(Some(0), method, url, host, headers).unwrap();
    }
    let replay = builder.finish();
    // An absolute URL and a path with a host are written apart, and sent alike.
    assert_eq!(replay.requests.len(), 5);
    assert_eq!(replay.requests[2], replay.requests[3]);
    assert_eq!(replay.counts(), [2, 1, 1, 1, 1]);
}

proptest! {
    #[test]
    fn an_order_is_sorted_complete_and_keeps_its_distances(
        at in proptest::collection::vec(0i64..1_000_000_000, 1..60),
    ) {
        let at: Vec<i64> = at.into_iter().map(|ms| 2 * ms + 1).collect();
        let replay = times(&at.iter().copied().map(Some).collect::<Vec<_>>());
        prop_assert!(replay.order.is_sorted_by_key(|slot| slot.at_ms));
        let first = at.iter().min().unwrap();
        let mut seen = vec![false; at.len()];
        for slot in &replay.order {
            prop_assert_eq!(i64::from(slot.at_ms), at[slot.index as usize] - first);
            seen[slot.index as usize] = true;
        }
        prop_assert!(seen.iter().all(|&seen| seen));
    }

    #[test]
    fn spreading_keeps_order_and_seconds(at in proptest::collection::vec(0i64..20, 1..60)) {
        let replay = times(&at.iter().map(|second| Some(second * 1_000)).collect::<Vec<_>>());
        prop_assert!(replay.order.is_sorted_by_key(|slot| slot.at_ms));
        let first = at.iter().min().unwrap();
        for slot in &replay.order {
            prop_assert_eq!(i64::from(slot.at_ms / 1_000), at[slot.index as usize] - first);
        }
    }
}
