//! How many bytes the log may take on its disk, and how many it takes.
//!
//! What a file takes is given back when its last reader has let go of it, since
//! only then does the file system have it back.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::format::{PAGE, round_up};

/// Bytes taken and bytes allowed.
#[derive(Debug)]
pub(crate) struct Space {
    taken: AtomicU64,
    /// What the operator allows.
    configured: AtomicU64,
    /// What the disk was found to hold, at most `configured`.
    limit: AtomicU64,
    warned: AtomicBool,
}

impl Space {
    pub(crate) fn new(configured: u64) -> Self {
        Self {
            taken: AtomicU64::new(0),
            configured: AtomicU64::new(configured),
            limit: AtomicU64::new(configured),
            warned: AtomicBool::new(false),
        }
    }

    /// Bytes taken by files that exist or are still held.
    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Relaxed)
    }

    /// Bytes allowed now.
    pub(crate) fn limit(&self) -> u64 {
        self.limit.load(Relaxed)
    }

    /// Bytes that may still be taken.
    pub(crate) fn free(&self) -> u64 {
        self.limit().saturating_sub(self.taken())
    }

    /// Takes a file's bytes if they are free.
    pub(crate) fn take(&self, bytes: u64) -> bool {
        self.change(0, bytes)
    }

    /// A file becomes longer, if there is space for that, or shorter.
    pub(crate) fn change(&self, from: u64, to: u64) -> bool {
        let (from, to) = (counted(from), counted(to));
        let changed = self.taken.fetch_update(Relaxed, Relaxed, |taken| {
            let changed = taken.saturating_sub(from) + to;
            (to <= from || changed <= self.limit()).then_some(changed)
        });
        changed.is_ok()
    }

    /// Counts a file that is there already.
    pub(crate) fn adopt(&self, bytes: u64) {
        self.taken.fetch_add(counted(bytes), Relaxed);
    }

    /// Gives a file's bytes back.
    pub(crate) fn give_back(&self, bytes: u64) {
        self.taken.fetch_sub(counted(bytes), Relaxed);
    }

    /// The disk is full: what is taken now is all there is. True the first time.
    pub(crate) fn found_full(&self) -> bool {
        self.limit.fetch_min(self.taken(), Relaxed);
        !self.warned.swap(true, Relaxed)
    }

    /// The disk gave space: after it was found full, the limit goes up again in
    /// small steps, in case somebody has made room.
    pub(crate) fn found_room(&self, step: u64) {
        let raised = self.limit().saturating_add(step);
        self.limit
            .store(raised.min(self.configured.load(Relaxed)), Relaxed);
    }

    /// Changes what is allowed.
    pub(crate) fn configure(&self, bytes: u64) {
        self.configured.store(bytes, Relaxed);
        self.limit.store(bytes, Relaxed);
    }
}

/// What a file of this length takes.
fn counted(bytes: u64) -> u64 {
    round_up(bytes, PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_never_exceeds_what_is_allowed() {
        let space = Space::new(3 * PAGE);
        assert!(space.take(PAGE + 1));
        assert_eq!(space.taken(), 2 * PAGE);
        assert!(!space.take(PAGE + 1));
        assert!(space.take(PAGE));
        assert_eq!(space.free(), 0);
        assert!(space.change(PAGE + 1, 10));
        assert_eq!(space.free(), PAGE);
        assert!(!space.change(10, 2 * PAGE + 1));
        assert!(space.change(10, 2 * PAGE));
        space.give_back(2 * PAGE);
        space.give_back(PAGE);
        assert_eq!(space.taken(), 0);
    }

    #[test]
    fn a_full_disk_lowers_the_limit_and_room_raises_it_slowly() {
        let space = Space::new(100 * PAGE);
        assert!(space.take(40 * PAGE));
        assert!(space.found_full());
        assert!(!space.found_full());
        assert_eq!(space.free(), 0);
        space.give_back(10 * PAGE);
        space.found_room(5 * PAGE);
        assert_eq!(space.limit(), 45 * PAGE);
        space.found_room(500 * PAGE);
        assert_eq!(space.limit(), 100 * PAGE);
    }
}
