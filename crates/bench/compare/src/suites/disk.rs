//! `disk`: a set ten times as large as the memory, every object of it stored on
//! disk beforehand, asked for by Zipf's law. What a cache does with its memory,
//! its index and its reads shows together.

use std::time::Duration;

use super::documents::Catalogue;
use super::{Case, Suite, timed};
use crate::comparison::Measure;
use crate::servers::Role;

pub(super) const SUITE: Suite = Suite {
    name: "disk",
    question: "What does a cache on disk cost, when ten times as much is stored as fits into memory?",
    role: Role::Cache,
    servers: &[
        "forebay-disk",
        "nginx-disk",
        "squid-rock-mem",
        "squid-aufs-mem",
        "trafficserver",
    ],
    cases,
};

/// Of each object.
const BYTES: u64 = 20_480;
/// How many times the memory all objects are.
const TIMES: u64 = 10;
const CLIENTS: &[u64] = &[10, 100];
const QUICK_CLIENTS: &[u64] = &[32];

fn cases(quick: bool) -> Vec<Case> {
    let (memory_bytes, time): (u64, u64) = if quick { (16 << 20, 3) } else { (64 << 20, 20) };
    let objects = usize::try_from(memory_bytes * TIMES / BYTES).unwrap_or(usize::MAX);
    let catalogue = Catalogue::of_equal(objects, BYTES);
    let mut case = Case::of_site("objects", catalogue, objects * 5);
    case.about = format!(
        "{} objects of 20 KiB, ten times the memory of {} MiB, in an order of Zipf's law (exponent 0.9), \
         after each was fetched once. What the system keeps in its page cache is at everybody's disposal.",
        forebay_results::format::count(objects as u64),
        memory_bytes >> 20,
    );
    case.measure = Measure::RequestsPerSecond;
    case.memory_bytes = Some(memory_bytes);
    case.levels = timed(
        if quick { QUICK_CLIENTS } else { CLIENTS },
        Duration::from_secs(time),
    );
    vec![case]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_objects_are_ten_times_the_memory_and_each_is_fetched_beforehand() {
        for case in [true, false].into_iter().flat_map(cases) {
            let bytes: u64 = case.documents.iter().map(|d| d.bytes).sum();
            assert_eq!(Some(bytes / TIMES), case.memory_bytes);
            assert!(case.warm_up.contains(&case.documents.len().to_string()));
            let list = case.lists.iter().find(|(name, _)| name == "site.urls");
            assert_eq!(
                list.map(|(_, text)| text.lines().count()),
                Some(case.documents.len())
            );
        }
    }
}
