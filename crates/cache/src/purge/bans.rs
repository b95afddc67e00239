//! The list of bans in force.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::expression::Expression;
use super::reach::{Reach, Verdict};
use super::subject::Subject;

/// Bans that are kept; a compiled pattern takes some ten KiB.
const MOST_BANS: usize = 2048;

/// Expressions and when they were banned, the newest last; each expression once.
#[derive(Debug, Default)]
pub(crate) struct Bans {
    list: Vec<Ban>,
}

/// One expression.
#[derive(Debug)]
pub(crate) struct Ban {
    pub(crate) expression: Expression,
    pub(crate) reach: Reach,
    tests: AtomicU64,
    hits: AtomicU64,
}

impl Bans {
    /// Adds a ban, or renews an equal one. Returns whether there was one.
    pub(crate) fn add(&mut self, expression: &Expression, strength: Verdict, moment: u64) -> bool {
        let known = self
            .list
            .iter()
            .position(|ban| ban.expression == *expression);
        let merged = known.is_some();
        let mut ban = match known {
            Some(at) => self.list.remove(at),
            None => Ban {
                expression: expression.clone(),
                reach: Reach::default(),
                tests: AtomicU64::new(0),
                hits: AtomicU64::new(0),
            },
        };
        ban.reach.add(strength, moment);
        // Read from a journal they need not come in order.
        let newest = ban.reach.newest();
        let at = self
            .list
            .partition_point(|other| other.reach.newest() <= newest);
        self.list.insert(at, ban);
        merged
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether a new expression has to wait for [`Bans::shed`].
    pub(crate) fn is_full(&self) -> bool {
        self.list.len() >= MOST_BANS
    }

    /// What bans after `since` did, where `known` is what other purges did already.
    pub(crate) fn verdict(&self, subject: &Subject<'_>, since: u64, known: Verdict) -> Verdict {
        let mut found = known;
        for ban in self.list.iter().rev() {
            if ban.reach.newest() <= since || found == Verdict::Gone {
                break;
            }
            let verdict = ban.reach.verdict(since);
            if verdict <= found {
                continue;
            }
            ban.tests.fetch_add(1, Relaxed);
            if ban.expression.matches(subject) {
                ban.hits.fetch_add(1, Relaxed);
                found = verdict;
            }
        }
        found
    }

    /// Forgets bans up to `moment`.
    pub(crate) fn retire(&mut self, moment: u64) {
        self.list.retain_mut(|ban| ban.reach.retire(moment));
    }

    /// Forgets the oldest quarter. Returns what those bans can have done.
    pub(crate) fn shed(&mut self) -> Reach {
        let mut floor = Reach::default();
        for ban in self.list.drain(..self.list.len().div_ceil(4)) {
            floor.join(&ban.reach);
        }
        floor
    }

    /// All, the newest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Ban> {
        self.list.iter().rev()
    }
}

impl Ban {
    /// How many objects it was tested against, and how many it held for.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.tests.load(Relaxed), self.hits.load(Relaxed))
    }
}
