//! The segments that were written to since their last sync.

use std::sync::Arc;
use std::sync::atomic::Ordering::*;
use std::time::Instant;

use super::core::Core;
use super::errors::Trouble;
use super::segment::Segment;

struct One {
    segment: Arc<Segment>,
    /// A sync failed: the file cannot be trusted.
    suspect: bool,
}

/// Oldest first.
#[derive(Default)]
pub(super) struct Unsynced(Vec<One>);

impl Unsynced {
    /// A segment was changed.
    pub(super) fn add(&mut self, segment: &Arc<Segment>) {
        if !self
            .0
            .iter()
            .any(|one| one.segment.number == segment.number)
        {
            self.0.push(One {
                segment: Arc::clone(segment),
                suspect: false,
            });
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether there is one with a lower number.
    pub(super) fn any_below(&self, number: u32) -> bool {
        self.0.iter().any(|one| one.segment.number < number)
    }

    /// Syncs all of them. One whose sync fails is not synced a second time, but
    /// has to be [mended](Self::mend).
    pub(super) fn sync(&mut self, core: &Core) -> Result<(), Trouble> {
        while let Some(one) = self.0.first_mut() {
            let began = Instant::now();
            if let Err(error) = core.disk.sync(&one.segment.file()) {
                one.suspect = true;
                return Err(Trouble::new(&one.segment.path, "syncing", error));
            }
            core.counts.synced(began.elapsed());
            self.0.remove(0);
        }
        Ok(())
    }

    /// Writes files anew whose sync failed.
    pub(super) fn mend(&mut self, core: &Core) -> Result<(), Trouble> {
        for one in self.0.iter_mut().filter(|one| one.suspect) {
            let kept = core.tail.lock().of(one.segment.number);
            one.segment.rebuild(&core.disk, &kept)?;
            one.suspect = false;
            core.counts.rebuilt.fetch_add(1, Relaxed);
            let path = one.segment.path.display();
            tracing::warn!("{path}: written anew after a failed sync");
        }
        Ok(())
    }
}
