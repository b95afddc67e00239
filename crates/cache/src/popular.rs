//! The hottest and the biggest objects: the first few of very many.
//!
//! Objects are shown one after the other, in any order, by whoever walks the index;
//! only those that are among the first so far are copied, so a walk over millions
//! holds its locks for as long as comparing two numbers takes, and needs memory for
//! `limit` objects.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::index::Cache;
use crate::object::{Object, Tier};

/// The most that may be asked for; more would be a listing of the cache.
pub const MOST: usize = 1_000;

/// By what objects are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// How often they were delivered since they were stored.
    Hits,
    /// The bytes of their body.
    Bytes,
}

/// An object as the walk shows it.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Its URL: host, path and query.
    pub url: &'a [u8],
    /// How often it was delivered since it was stored.
    pub hits: u64,
    /// The bytes of its body.
    pub bytes: u64,
    /// When the origin made or last confirmed it, in milliseconds since the epoch: its age counts
    /// from then (RFC 9111 section 4.2.3).
    pub made_ms: u64,
    /// Where it is.
    pub tier: Tier,
}

/// One of the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Popular {
    /// Its URL: host, path and query; bytes that are not UTF-8 are replaced.
    pub url: String,
    /// How often it was delivered since it was stored.
    pub hits: u64,
    /// The bytes of its body.
    pub bytes: u64,
    /// When the origin made or last confirmed it, in milliseconds since the epoch: its age counts
    /// from then (RFC 9111 section 4.2.3).
    pub made_ms: u64,
    /// Where it is.
    pub tier: Tier,
}

/// The objects in the index that were delivered most often, the hottest first.
pub fn hottest(cache: &Cache, limit: usize) -> Vec<Popular> {
    of_cache(cache, By::Hits, limit)
}

/// The objects in the index with the most bytes, the biggest first.
pub fn biggest(cache: &Cache, limit: usize) -> Vec<Popular> {
    of_cache(cache, By::Bytes, limit)
}

fn of_cache(cache: &Cache, by: By, limit: usize) -> Vec<Popular> {
    rank(by, limit, |see| {
        cache.each(|_, object| see(Seen::of(object)));
    })
}

impl<'a> Seen<'a> {
    fn of(object: &'a Object) -> Self {
        Self {
            url: object.url().text(),
            hits: object.hits(),
            bytes: object.body_bytes(),
            made_ms: object
                .terms
                .response_ms
                .saturating_sub(object.terms.initial_age_ms),
            tier: object.tier(),
        }
    }
}

/// The first `limit` (at most [`MOST`]) of the objects that `walk` shows, the first first.
/// Of equals the one with more of the other figure comes first, then the one seen first.
/// Objects without a single hit are not hot.
pub fn rank(by: By, limit: usize, walk: impl FnOnce(&mut dyn FnMut(Seen<'_>))) -> Vec<Popular> {
    let mut top = Top::new(limit.min(MOST));
    walk(&mut |seen| {
        let (first, second) = match by {
            By::Hits if seen.hits == 0 => return,
            By::Hits => (seen.hits, seen.bytes),
            By::Bytes => (seen.bytes, seen.hits),
        };
        top.offer((first, second), || Popular::from(seen));
    });
    top.into_sorted()
}

impl From<Seen<'_>> for Popular {
    fn from(seen: Seen<'_>) -> Self {
        Self {
            url: String::from_utf8_lossy(seen.url).into_owned(),
            hits: seen.hits,
            bytes: seen.bytes,
            made_ms: seen.made_ms,
            tier: seen.tier,
        }
    }
}

/// The greatest of what is offered.
struct Top<W, T> {
    limit: usize,
    offered: u64,
    /// The least first: the one that has to go when a greater comes.
    heap: BinaryHeap<Reverse<Entry<W, T>>>,
}

struct Entry<W, T> {
    /// The weight; of equal ones, what was offered earlier is greater.
    rank: (W, Reverse<u64>),
    item: T,
}

impl<W: Ord, T> Top<W, T> {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            offered: 0,
            heap: BinaryHeap::with_capacity(limit + 1),
        }
    }

    /// Takes what `make` gives if it is among the greatest so far.
    fn offer(&mut self, weight: W, make: impl FnOnce() -> T) {
        self.offered += 1;
        let rank = (weight, Reverse(self.offered));
        let least = self.heap.peek();
        if self.heap.len() >= self.limit && least.is_none_or(|least| rank < least.0.rank) {
            return;
        }
        let item = make();
        self.heap.push(Reverse(Entry { rank, item }));
        if self.heap.len() > self.limit {
            self.heap.pop();
        }
    }

    /// What is left, the greatest first.
    fn into_sorted(self) -> Vec<T> {
        // Sorted by `Reverse`, the greatest entry is the least.
        let sorted = self.heap.into_sorted_vec();
        sorted.into_iter().map(|entry| entry.0.item).collect()
    }
}

impl<W: Ord, T> Ord for Entry<W, T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank.cmp(&other.rank)
    }
}

impl<W: Ord, T> PartialOrd for Entry<W, T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<W: Ord, T> PartialEq for Entry<W, T> {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank
    }
}

impl<W: Ord, T> Eq for Entry<W, T> {}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(url: &str, hits: u64, bytes: u64) -> Seen<'_> {
        Seen {
            url: url.as_bytes(),
            hits,
            bytes,
            made_ms: 0,
            tier: Tier::Memory,
        }
    }

    fn ranked(by: By, limit: usize, objects: &[(&str, u64, u64)]) -> Vec<String> {
        let walk = |see: &mut dyn FnMut(Seen<'_>)| {
            objects
                .iter()
                .for_each(|(url, hits, bytes)| see(seen(url, *hits, *bytes)));
        };
        let first = rank(by, limit, walk);
        first.into_iter().map(|object| object.url).collect()
    }

    const FEW: &[(&str, u64, u64)] = &[
        ("a", 3, 10),
        ("b", 9, 1),
        ("c", 0, 99),
        ("d", 3, 20),
        ("e", 1, 10),
    ];

    #[test]
    fn the_first_come_first() {
        assert_eq!(ranked(By::Hits, 3, FEW), ["b", "d", "a"]);
        assert_eq!(ranked(By::Bytes, 3, FEW), ["c", "d", "a"]);
    }

    #[test]
    fn what_was_never_delivered_is_not_hot_but_may_be_big() {
        assert_eq!(ranked(By::Hits, 10, FEW), ["b", "d", "a", "e"]);
        assert_eq!(ranked(By::Bytes, 10, FEW), ["c", "d", "a", "e", "b"]);
    }

    #[test]
    fn none_are_asked_for_and_none_given() {
        assert!(ranked(By::Bytes, 0, FEW).is_empty());
        assert!(ranked(By::Bytes, 5, &[]).is_empty());
    }

    #[test]
    fn of_equals_the_one_seen_first_comes_first() {
        let equals = [("x", 1, 1), ("y", 1, 1), ("z", 1, 1)];
        assert_eq!(ranked(By::Hits, 2, &equals), ["x", "y"]);
    }

    #[test]
    fn of_many_only_the_first_are_copied() {
        let (mut top, mut copied) = (Top::new(10), 0);
        // Ascending for a hundred, then lower for ever: a walk that has found its ten copies none.
        for weight in (0..100).chain(std::iter::repeat_n(5, 100_000)) {
            top.offer(weight, || {
                copied += 1;
                weight
            });
        }
        assert_eq!(copied, 100);
        assert!(top.into_sorted().into_iter().eq((90..100).rev()));
    }

    #[test]
    fn the_limit_has_a_limit() {
        let many: Vec<String> = (0..2 * MOST).map(|n| n.to_string()).collect();
        let walk = |see: &mut dyn FnMut(Seen<'_>)| {
            many.iter().for_each(|url| see(seen(url, 1, 1)));
        };
        assert_eq!(rank(By::Hits, usize::MAX, walk).len(), MOST);
    }

    #[test]
    fn a_url_of_any_bytes_can_be_shown() {
        let walk = |see: &mut dyn FnMut(Seen<'_>)| {
            see(Seen {
                url: b"http://a/\xff",
                ..seen("", 1, 1)
            });
        };
        assert_eq!(rank(By::Hits, 1, walk)[0].url, "http://a/\u{fffd}");
    }
}
