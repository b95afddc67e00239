//! Purges by prefix: found by walking down a sorted map, not tested one by one.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound::{Included, Unbounded};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::reach::{Reach, Verdict};

/// Prefixes that are kept.
const MOST_PREFIXES: usize = 1 << 16;
/// Bytes of all prefixes that are kept.
const MOST_BYTES: usize = 16 << 20;
/// Entries looked at when a shorter prefix comes, to see whether it covers them.
const MOST_COVERED: usize = 1024;

/// Prefixes of targets by host, and when they were purged.
#[derive(Debug, Default)]
pub(crate) struct Prefixes {
    everywhere: Tree,
    hosts: HashMap<Box<[u8]>, Tree>,
    count: usize,
    bytes: usize,
    newest: u64,
}

#[derive(Debug, Default)]
struct Tree(BTreeMap<Box<[u8]>, Node>);

#[derive(Debug)]
struct Node {
    reach: Reach,
    hits: AtomicU64,
}

/// One prefix, for the operator and for the journal.
#[derive(Debug)]
pub(crate) struct Prefix<'a> {
    pub(crate) host: Option<&'a [u8]>,
    pub(crate) prefix: &'a [u8],
    pub(crate) reach: Reach,
    pub(crate) hits: u64,
}

impl Prefixes {
    /// The moment of the last purge of any prefix.
    pub(crate) fn newest(&self) -> u64 {
        self.newest
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether a purge of one more prefix of so many bytes has to wait for [`Prefixes::shed`].
    pub(crate) fn is_full(&self, bytes: usize) -> bool {
        self.count >= MOST_PREFIXES || self.bytes.saturating_add(bytes) > MOST_BYTES
    }

    /// Purges a prefix; `host` is in lower case. Longer prefixes that it makes meaningless are
    /// forgotten. Returns whether an equal one or one of those was in force.
    pub(crate) fn purge(
        &mut self,
        host: Option<&[u8]>,
        prefix: &[u8],
        strength: Verdict,
        moment: u64,
    ) -> bool {
        self.newest = self.newest.max(moment);
        let tree = match host {
            None => &mut self.everywhere,
            Some(host) => self.hosts.entry(host.into()).or_default(),
        };
        let new = Reach::of(strength, moment);
        let (removed, bytes) = tree.forget_below(prefix, &new);
        self.count -= removed;
        self.bytes -= bytes;
        if let Some(node) = tree.0.get_mut(prefix) {
            node.reach.join(&new);
            return true;
        }
        let hits = AtomicU64::new(0);
        tree.0.insert(prefix.into(), Node { reach: new, hits });
        self.count += 1;
        self.bytes += prefix.len();
        removed > 0
    }

    /// What purges after `since` did to a target.
    pub(crate) fn verdict(&self, host: &[u8], target: &[u8], since: u64) -> Verdict {
        let own = self.hosts.get(host);
        own.into_iter()
            .chain([&self.everywhere])
            .map(|tree| tree.verdict(target, since))
            .max()
            .unwrap_or_default()
    }

    /// Forgets purges up to `moment`.
    pub(crate) fn retire(&mut self, moment: u64) {
        self.retain(|node| node.reach.retire(moment));
    }

    /// Forgets the older half, or all when they are of one moment. Returns the strongest and
    /// latest that those purges can have done.
    pub(crate) fn shed(&mut self) -> Reach {
        let mut moments: Vec<u64> = self.iter().map(|one| one.reach.newest()).collect();
        let mut floor = Reach::default();
        if moments.is_empty() {
            return floor;
        }
        let middle = moments.len() / 2;
        let (_, &mut median, _) = moments.select_nth_unstable(middle);
        self.retain(|node| {
            let stays = node.reach.newest() > median;
            if !stays {
                floor.join(&node.reach);
            }
            stays
        });
        floor
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Prefix<'_>> {
        let everywhere = self.everywhere.0.iter().map(|entry| (None, entry));
        let hosts = self
            .hosts
            .iter()
            .flat_map(|(host, tree)| tree.0.iter().map(move |entry| (Some(&**host), entry)));
        everywhere
            .chain(hosts)
            .map(|(host, (prefix, node))| Prefix {
                host,
                prefix,
                reach: node.reach,
                hits: node.hits.load(Relaxed),
            })
    }

    fn retain(&mut self, mut stays: impl FnMut(&mut Node) -> bool) {
        let (mut count, mut bytes) = (0, 0);
        let mut keep = |prefix: &[u8], node: &mut Node| {
            let kept = stays(node);
            if kept {
                count += 1;
                bytes += prefix.len();
            }
            kept
        };
        self.everywhere.0.retain(|prefix, node| keep(prefix, node));
        self.hosts.retain(|_, tree| {
            tree.0.retain(|prefix, node| keep(prefix, node));
            !tree.0.is_empty()
        });
        (self.count, self.bytes) = (count, bytes);
    }
}

impl Tree {
    /// Goes from the last entry not after the target towards shorter ones: whatever lies
    /// between a prefix of the target and the target begins with that prefix, so each step
    /// that is no prefix shortens the search to what it has in common with the target.
    fn verdict(&self, target: &[u8], since: u64) -> Verdict {
        let mut found = Verdict::Current;
        let mut bound = target;
        while let Some((prefix, node)) = self
            .0
            .range::<[u8], _>((Unbounded, Included(bound)))
            .next_back()
        {
            let common = common_len(prefix, target);
            if common < prefix.len() {
                bound = &target[..common];
                continue;
            }
            let verdict = node.reach.verdict(since);
            if verdict > Verdict::Current {
                node.hits.fetch_add(1, Relaxed);
                found = found.max(verdict);
            }
            match common.checked_sub(1) {
                Some(shorter) if found < Verdict::Gone => bound = &target[..shorter],
                _ => break,
            }
        }
        found
    }

    /// Forgets longer prefixes than `prefix` that decide nothing beside it. Returns how many
    /// and their bytes.
    fn forget_below(&mut self, prefix: &[u8], new: &Reach) -> (usize, usize) {
        let below = self
            .0
            .range::<[u8], _>((Included(prefix), Unbounded))
            .take(MOST_COVERED)
            .take_while(|(longer, _)| longer.starts_with(prefix))
            .filter(|(longer, node)| {
                let mut both = *new;
                both.join(&node.reach);
                longer.len() > prefix.len() && both == *new
            });
        let covered: Vec<Box<[u8]>> = below.map(|(longer, _)| longer.clone()).collect();
        for longer in &covered {
            self.0.remove(longer);
        }
        (
            covered.len(),
            covered.iter().map(|longer| longer.len()).sum(),
        )
    }
}

fn common_len(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_hit_their_host_and_what_begins_with_them() {
        let mut prefixes = Prefixes::default();
        prefixes.purge(Some(b"a"), b"/news", Verdict::Gone, 1);
        prefixes.purge(Some(b"a"), b"/", Verdict::Soft, 2);
        prefixes.purge(None, b"/img/", Verdict::Gone, 3);
        let verdict = |host: &str, target: &str, since| {
            prefixes.verdict(host.as_bytes(), target.as_bytes(), since)
        };
        assert_eq!(verdict("a", "/newspaper?x", 0), Verdict::Gone);
        assert_eq!(verdict("a", "/newspaper", 1), Verdict::Soft);
        assert_eq!(verdict("a", "/new", 0), Verdict::Soft);
        assert_eq!(verdict("a", "/zzz", 2), Verdict::Current);
        assert_eq!(verdict("b", "/news", 0), Verdict::Current);
        assert_eq!(verdict("b", "/img/1.png", 2), Verdict::Gone);
        assert_eq!(verdict("b", "/img", 0), Verdict::Current);
        assert_eq!(verdict("a", "", 0), Verdict::Current);
    }

    #[test]
    fn a_shorter_prefix_replaces_the_longer_ones_it_covers() {
        let mut prefixes = Prefixes::default();
        prefixes.purge(None, b"/a/1", Verdict::Soft, 1);
        prefixes.purge(None, b"/a/2", Verdict::Gone, 2);
        assert!(prefixes.purge(None, b"/a", Verdict::Soft, 3));
        assert_eq!(prefixes.count, 2, "the hard one says more");
        assert!(prefixes.purge(None, b"/a", Verdict::Gone, 4));
        assert_eq!((prefixes.count, prefixes.bytes), (1, 2));
    }

    #[test]
    fn what_is_shed_is_in_the_floor() {
        let mut prefixes = Prefixes::default();
        for moment in 1..=9_u64 {
            let prefix = format!("/{moment}");
            prefixes.purge(Some(b"a"), prefix.as_bytes(), Verdict::Gone, moment);
        }
        let floor = prefixes.shed();
        assert_eq!((prefixes.count, floor.newest()), (4, 5));
        assert_eq!(prefixes.verdict(b"a", b"/9", 0), Verdict::Gone);
    }
}
