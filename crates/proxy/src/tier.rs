//! The cache as the settings want it: its budget, its disk, and what was purged before.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io;
use std::sync::Arc;

use forebay_cache::Cache;
use forebay_cache::budget::Budget;
use forebay_cache::disk::{Disk, Event};
use forebay_cache::purge::Purges;
use forebay_config::Settings;
use forebay_stats::{Counter, Gauges, Registry, SharedCounters};

/// Opens the disk tier if there is one, and makes the cache over it. Quick, whatever is on disk.
///
/// # Errors
/// No directory of the disk tier can be opened.
pub(crate) fn open(settings: &Settings, registry: &Arc<Registry>) -> io::Result<Arc<Cache>> {
    let fresh = RandomState::new().hash_one(0x0f0e_bae5_u64);
    let budget = Budget::new(settings.cache.memory);
    let Some(wanted) = &settings.cache.disk else {
        let purges = Arc::new(Purges::new(fresh));
        return Ok(Cache::with(budget, fresh, purges, None));
    };
    let counted = Arc::clone(registry);
    let watch = Box::new(move |event| count(counted.shared(), event));
    let (disk, problems) = Disk::open(wanted, &budget, watch)?;
    for problem in problems {
        tracing::error!("a directory of the disk tier is left out: {problem}");
    }
    let (seed, purges, problems) = disk.history(fresh)?;
    for problem in problems {
        tracing::warn!("the purges that were written down: {problem}");
    }
    Ok(Cache::with(budget, seed, Arc::new(purges), Some(disk)))
}

fn count(stats: &SharedCounters, event: Event) {
    match event {
        Event::Written { bytes } => {
            stats.increment(Counter::DiskWritten);
            stats.add(Counter::DiskWrittenBytes, bytes);
        }
        Event::Dropped => stats.increment(Counter::DiskWriteDropped),
        Event::Reclaimed => stats.increment(Counter::DiskReclaimed),
        Event::Reinserted => stats.increment(Counter::DiskReinserted),
        Event::ReadError => stats.increment(Counter::DiskReadErrors),
    }
}

/// The state of the disk tier; zeros without one.
pub(crate) fn gauges(cache: &Cache) -> Gauges {
    let mut gauges = Gauges::default();
    for directory in cache.disk().map(|disk| disk.status()).unwrap_or_default() {
        let figures = directory.figures;
        gauges.disk_used_bytes += figures.used_bytes;
        gauges.disk_limit_bytes += figures.limit_bytes;
        gauges.disk_objects += figures.entries;
        gauges.disk_index_bytes += figures.index_bytes;
        gauges.disk_failed_directories += u64::from(figures.failed);
    }
    gauges
}
