//! Bans tested behind the requests: what they hit goes from disk without being asked for, and
//! a ban that everything was tested against is needed no more.

use std::sync::Weak;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use forebay_store::{Id, Place, Wait};

use super::{Directory, codec};
use crate::Cache;
use crate::purge::Verdict;

/// How long after one sweep the next one begins at the earliest: each reads something of
/// everything that lies there.
const SWEEP_EVERY: Duration = Duration::from_secs(600);

/// How far a directory is with the purges up to a moment.
#[derive(Debug, Default)]
pub(super) struct Tidying {
    up_to: u64,
    /// Segments that were not looked at yet.
    segments: Vec<u64>,
    /// One could not be looked at: what was purged must not be forgotten.
    failed: bool,
}

impl Directory {
    /// Does the next part of the work, if there is any: a segment.
    /// `idle`: nothing waits to be written.
    pub(super) fn tidy(&self, tidying: &mut Option<Tidying>, idle: bool, weak: &Weak<Cache>) {
        let Some(cache) = weak.upgrade() else { return };
        if !self.log.is_recovered() {
            return;
        }
        let moment = cache.purges().moment();
        let work = match tidying {
            Some(work) => work,
            None if self.tidied.load(Relaxed) >= moment => return,
            None if cache.purges().is_empty() => {
                self.tidied.store(moment, Relaxed);
                return;
            }
            None if self
                .swept
                .lock()
                .is_some_and(|at| at.elapsed() < SWEEP_EVERY) =>
            {
                return;
            }
            None => tidying.insert(Tidying {
                up_to: moment,
                segments: self.log.segments().iter().map(|one| one.number).collect(),
                failed: false,
            }),
        };
        match work.segments.pop() {
            Some(segment) => work.failed |= !self.tidy_segment(segment, &cache, weak),
            // What was found has to be on disk before the purges leave the journal.
            None if !idle => {}
            None => {
                if !work.failed {
                    self.tidied.fetch_max(work.up_to, Relaxed);
                }
                *self.swept.lock() = Some(Instant::now());
                *tidying = None;
            }
        }
    }

    /// False when the segment cannot be read.
    fn tidy_segment(&self, segment: u64, cache: &Cache, weak: &Weak<Cache>) -> bool {
        let mut hit: Vec<(Id, Place, Verdict)> = Vec::new();
        let scanned = self.log.scan(segment, &mut |id, place, meta| {
            if let Some(recalled) = codec::decode(meta) {
                let before = recalled.seen.verdict();
                let verdict = cache.purged(&recalled);
                if verdict > before {
                    hit.push((id, place, verdict));
                }
            }
        });
        if let Err(error) = scanned {
            tracing::debug!("segment {segment} cannot be looked through: {error}");
            return false;
        }
        for (id, place, verdict) in hit {
            let is_noted =
                verdict != Verdict::Gone && self.note(id, place, verdict, cache, weak).is_some();
            if !is_noted {
                self.forget(id, place);
            }
        }
        true
    }

    /// Writes an object anew that is stale or has to be validated from now on.
    fn note(
        &self,
        id: Id,
        place: Place,
        verdict: Verdict,
        cache: &Cache,
        weak: &Weak<Cache>,
    ) -> Option<()> {
        let record = self.log.extent(place)?.read(Wait::Yes).ok()??;
        let checked = codec::decode(&record.meta).map(|recalled| {
            cache.purged(&recalled);
            recalled.seen.checked()
        })?;
        let meta = codec::with_verdict(&record.meta, checked, verdict)?;
        self.append_entry(id, meta, &record.data, weak).map(drop)
    }
}
