//! What was purged when.

use super::bans::Bans;
use super::generations::Generations;
use super::journal::{Entry, Scope};
use super::prefixes::Prefixes;
use super::reach::{Reach, Verdict};
use super::subject::Subject;

/// Keys, and tags, that are remembered: 4 MiB each.
const MOST_HASHES: usize = 1 << 17;

/// All purges that may still hit an object.
#[derive(Debug)]
pub(crate) struct State {
    all: Reach,
    keys: Generations,
    tags: Generations,
    prefixes: Prefixes,
    bans: Bans,
    /// Purges in effect that are not in the journal yet.
    pub(crate) unwritten: Vec<Entry>,
    /// The first moment of those that are being written; `u64::MAX` when there are none.
    pub(crate) reserved: u64,
}

/// A purge in force, for the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BanLine {
    /// `ban`, `prefix`, `everything`; `urls` and `tags` are one line for all of them.
    pub kind: &'static str,
    /// When the last such purge was.
    pub moment: u64,
    /// It made things stale; otherwise they went.
    pub soft: bool,
    /// What it is about.
    pub expression: String,
    /// Objects it was tested against; 0 for what is found in a table.
    pub tests: u64,
    /// Objects it held for; not counted for what is in `urls`, `tags` and `everything`.
    pub hits: u64,
}

impl State {
    /// Nothing was purged.
    pub(crate) fn new() -> Self {
        Self {
            all: Reach::default(),
            keys: Generations::new(MOST_HASHES),
            tags: Generations::new(MOST_HASHES),
            prefixes: Prefixes::default(),
            bans: Bans::default(),
            unwritten: Vec::new(),
            reserved: u64::MAX,
        }
    }

    /// Carries an entry out. Returns whether an equal one was in force.
    pub(crate) fn apply(&mut self, entry: &Entry) -> bool {
        let (strength, moment) = (entry.strength, entry.moment);
        match &entry.scope {
            Scope::Moment => false,
            Scope::All => self.purge_all(strength, moment),
            Scope::Keys(hashes) => purge_each(&mut self.keys, hashes, entry),
            Scope::Tags(hashes) => purge_each(&mut self.tags, hashes, entry),
            Scope::KeyFloor => {
                self.keys.raise_floor(strength, moment);
                false
            }
            Scope::TagFloor => {
                self.tags.raise_floor(strength, moment);
                false
            }
            Scope::Prefix { host, prefix } => {
                if self.prefixes.is_full(prefix.len()) {
                    self.all.join(&self.prefixes.shed());
                }
                self.prefixes
                    .purge(host.as_deref(), prefix, strength, moment)
            }
            Scope::Ban(expression) => {
                if self.bans.is_full() {
                    self.all.join(&self.bans.shed());
                }
                self.bans.add(expression, strength, moment)
            }
        }
    }

    /// A hard purge of everything leaves nothing for those before it to decide.
    fn purge_all(&mut self, strength: Verdict, moment: u64) -> bool {
        let merged = self.all.newest() > 0;
        self.all.add(strength, moment);
        if strength == Verdict::Gone {
            self.forget(moment);
        }
        merged
    }

    /// What purges after `since` did to the object.
    pub(crate) fn verdict(&self, subject: &Subject<'_>, since: u64) -> Verdict {
        let mut found = self.all.verdict(since);
        if self.keys.newest() > since {
            found = found.max(self.keys.verdict(subject.key, since));
        }
        if self.tags.newest() > since {
            for &tag in subject.tags {
                found = found.max(self.tags.verdict(tag, since));
            }
        }
        if self.prefixes.newest() > since && found < Verdict::Gone {
            found = found.max(self.prefixes.verdict(subject.host, subject.target, since));
        }
        self.bans.verdict(subject, since, found)
    }

    /// Whether nothing is in force.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.newest() == 0
            && self.keys.is_empty()
            && self.tags.is_empty()
            && self.prefixes.is_empty()
            && self.bans.is_empty()
    }

    /// Forgets purges up to `moment`.
    pub(crate) fn retire(&mut self, moment: u64) {
        self.all.retire(moment);
        self.forget(moment);
    }

    fn forget(&mut self, moment: u64) {
        self.keys.retire(moment);
        self.tags.retire(moment);
        self.prefixes.retire(moment);
        self.bans.retire(moment);
    }

    /// Entries that make an equal state of an empty one.
    pub(crate) fn snapshot(&self) -> Vec<Entry> {
        let mut entries = Vec::new();
        let mut push = |reach: Reach, scope: &dyn Fn() -> Scope| {
            entries.extend(reach.purges().map(|(strength, moment)| Entry {
                moment,
                strength,
                scope: scope(),
            }));
        };
        push(self.all, &|| Scope::All);
        for one in self.prefixes.iter() {
            push(one.reach, &|| Scope::Prefix {
                host: one.host.map(Into::into),
                prefix: one.prefix.into(),
            });
        }
        for ban in self.bans.iter() {
            push(ban.reach, &|| Scope::Ban(ban.expression.clone()));
        }
        for (hash, strength, moment) in self.keys.purges() {
            let scope = hash.map_or(Scope::KeyFloor, |hash| Scope::Keys(vec![hash]));
            push(Reach::of(strength, moment), &|| scope.clone());
        }
        for (hash, strength, moment) in self.tags.purges() {
            let scope = hash.map_or(Scope::TagFloor, |hash| Scope::Tags(vec![hash]));
            push(Reach::of(strength, moment), &|| scope.clone());
        }
        entries
    }

    /// What is in force, bans first and the newest first among them.
    pub(crate) fn lines(&self) -> Vec<BanLine> {
        let line = |kind, reach: Reach, expression: String| BanLine {
            kind,
            moment: reach.newest(),
            soft: reach.strength() == Verdict::Soft,
            expression,
            tests: 0,
            hits: 0,
        };
        let mut lines = Vec::new();
        for ban in self.bans.iter() {
            let (tests, hits) = ban.counts();
            let text = ban.expression.to_string();
            lines.push(BanLine {
                tests,
                hits,
                ..line("ban", ban.reach, text)
            });
        }
        let first_prefix = lines.len();
        for one in self.prefixes.iter() {
            let host = one.host.map_or("*".into(), String::from_utf8_lossy);
            let text = format!("{host}{}", String::from_utf8_lossy(one.prefix));
            lines.push(BanLine {
                hits: one.hits,
                ..line("prefix", one.reach, text)
            });
        }
        lines[first_prefix..].sort_by_key(|line| std::cmp::Reverse(line.moment));
        for (kind, table) in [("urls", &self.keys), ("tags", &self.tags)] {
            if !table.is_empty() {
                let mut reach = Reach::default();
                table
                    .purges()
                    .for_each(|(_, strength, at)| reach.add(strength, at));
                lines.push(line(kind, reach, format!("{} {kind}", table.len())));
            }
        }
        if self.all.newest() > 0 {
            lines.push(line("everything", self.all, "everything".to_owned()));
        }
        lines
    }
}

fn purge_each(table: &mut Generations, hashes: &[u64], entry: &Entry) -> bool {
    let known = hashes
        .iter()
        .filter(|hash| table.purge(**hash, entry.strength, entry.moment));
    known.count() == hashes.len()
}
