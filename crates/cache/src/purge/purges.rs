//! All purges in force: what they did to an object.

use std::fmt;
use std::hash::Hasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::{Mutex, RwLock};
use rapidhash::quality::RapidHasher;

use super::carry::Ask;
use super::journal::{self, Entry, Keep, LAST_MOMENT, Scope};
use super::ledger::{Ledger, seed_mark};
use super::reach::Verdict;
use super::seen::Seen;
use super::state::{BanLine, State};
use super::subject::Subject;

/// Moments left free at a start, for those of the last run that were not written down.
const RUN_GAP: u64 = 1 << 20;
/// All purges that are in force.
pub struct Purges {
    seed: u64,
    pub(crate) is_kept: bool,
    /// Changed only under the state's lock.
    pub(crate) moment: AtomicU64,
    pub(crate) state: RwLock<State>,
    pub(crate) queue: Mutex<Vec<Arc<Ask>>>,
    /// Taken before the state's lock.
    pub(crate) ledger: Mutex<Ledger>,
}

impl Purges {
    /// Nothing was purged, and nothing is written down. `seed` is that of the cache.
    pub fn new(seed: u64) -> Self {
        Self::made(seed, Ledger::new(None, seed, 0), State::new(), 0)
    }

    /// What `records` say was purged; from now on it is written to `keep`. Also returns what
    /// was wrong with the records, in words for the operator. Whatever could not be read may
    /// have purged anything: all that is older must then be validated before its next use.
    ///
    /// `seed` must be the same from run to run; purges of keys and tags that were written
    /// under another one are taken for purges of all keys or all tags.
    pub fn with_journal(
        seed: u64,
        keep: Box<dyn Keep>,
        records: Vec<Vec<u8>>,
    ) -> (Self, Vec<String>) {
        let mark = seed_mark(seed);
        let (mut state, mut problems) = (State::new(), Vec::new());
        let (mut last, mut bytes) = (0, 0);
        for (at, record) in records.iter().enumerate() {
            bytes += record.len() as u64;
            let (entries, damage) = journal::decode(record, mark);
            problems.extend(
                damage
                    .iter()
                    .map(|what| format!("record {}: {what}", at + 1)),
            );
            for entry in &entries {
                last = last.max(entry.moment);
                state.apply(entry);
            }
        }
        let moment = last + RUN_GAP;
        if !problems.is_empty() {
            let (strength, scope) = (Verdict::Invalid, Scope::All);
            state.apply(&Entry {
                moment,
                strength,
                scope,
            });
        }
        let ledger = Ledger::new(Some(keep), seed, bytes);
        let purges = Self::made(seed, ledger, state, moment);
        let rewritten = purges.rewrite(&mut purges.ledger.lock());
        if let Err(error) = rewritten {
            problems.push(format!("the journal cannot be written anew: {error}"));
        }
        (purges, problems)
    }

    fn made(seed: u64, ledger: Ledger, state: State, moment: u64) -> Self {
        Self {
            seed,
            is_kept: ledger.is_kept(),
            moment: AtomicU64::new(moment),
            state: RwLock::new(state),
            queue: Mutex::default(),
            ledger: Mutex::new(ledger),
        }
    }

    /// Grows with every purge. To be taken just before a response is asked of the origin, and
    /// compared with what an object has seen when it is hit. One load.
    #[inline]
    pub fn moment(&self) -> u64 {
        self.moment.load(Relaxed)
    }

    /// Moments that were given out in earlier runs must not come again: called at the start
    /// with the latest that a kept object knows, in case the journal was lost.
    pub fn raise(&self, moment: u64) {
        let _ledger = self.ledger.lock();
        let mut state = self.state.write();
        let moment = moment.min(LAST_MOMENT);
        if moment > self.moment() {
            self.moment.store(moment, Relaxed);
            if self.is_kept {
                let (strength, scope) = (Verdict::Current, Scope::Moment);
                state.unwritten.push(Entry {
                    moment,
                    strength,
                    scope,
                });
            }
        }
    }

    /// The hash by which an object remembers a tag. Tags are short, and two that hash alike would
    /// be purged together: hence the hasher that mixes once more. `origin` is `None` for tags of
    /// `Surrogate-Key`, `Cache-Tag` and `xkey`, which are the whole cache's; the name of a
    /// cache group belongs to its origin (RFC 9875 section 2), whose case is not looked at.
    pub fn tag(&self, origin: Option<&[u8]>, name: &[u8]) -> u64 {
        let mut hasher = RapidHasher::new(self.seed);
        if let Some(origin) = origin {
            hasher.write(&origin.to_ascii_lowercase());
            hasher.write_u8(0);
        }
        hasher.write_u8(u8::from(origin.is_some()));
        hasher.write(name);
        hasher.finish()
    }

    /// What purges did to an object since it was last judged, the strongest of all, and the
    /// moment up to which it is judged now. The caller keeps both: a later call finds only
    /// what came later. [`Purges::check`] does so.
    pub fn verdict(&self, subject: &Subject<'_>) -> (Verdict, u64) {
        let state = self.state.read();
        let moment = self.moment();
        let since = subject.asked.max(subject.checked);
        if since > moment {
            // Of another journal: no purge can be compared with it.
            return (Verdict::Invalid, moment);
        }
        (state.verdict(subject, since), moment)
    }

    /// What purges did to an object until now, and makes it remember. `asked` and `checked`
    /// are taken from `seen`. While nothing was purged since the last time it is two loads;
    /// those who would have to make the subject ask [`Seen::is_current`] first.
    #[inline]
    pub fn check(&self, seen: &Seen, subject: &Subject<'_>) -> Verdict {
        if seen.is_current(self.moment()) {
            return Verdict::Current;
        }
        self.judge(seen, subject)
    }

    fn judge(&self, seen: &Seen, subject: &Subject<'_>) -> Verdict {
        let (checked, known) = seen.judged();
        if known == Verdict::Gone || checked == self.moment() {
            return known;
        }
        let asked = seen.asked();
        let (found, checked) = self.verdict(&Subject {
            asked,
            checked,
            ..*subject
        });
        let verdict = found.max(known);
        seen.judge(checked, verdict);
        verdict
    }

    /// Whether nothing is in force. Costs nothing, which [`Purges::bans`] does not.
    pub fn is_empty(&self) -> bool {
        self.state.read().is_empty()
    }

    /// What is in force.
    pub fn bans(&self) -> Vec<BanLine> {
        self.state.read().lines()
    }
}

impl fmt::Debug for Purges {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Purges")
            .field("moment", &self.moment)
            .finish_non_exhaustive()
    }
}
