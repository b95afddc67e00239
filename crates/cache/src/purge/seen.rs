//! What an object remembers of purges.

use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

use super::reach::Verdict;

/// When an object's response was asked for, up to which moment it was judged, and how.
///
/// Lives as long as the object; one that was refreshed has a new one, from the moment when the
/// refresh was asked for. 16 bytes.
#[derive(Debug)]
pub struct Seen {
    asked: u64,
    /// The moment times four, and the verdict.
    judged: AtomicU64,
}

impl Seen {
    /// A response that was asked for at `asked` ([`super::Purges::moment`] just before the
    /// request went to the origin).
    pub fn new(asked: u64) -> Self {
        Self::restored(asked, asked, Verdict::Current)
    }

    /// What was written down of an object: it was judged up to `checked`.
    pub fn restored(asked: u64, checked: u64, verdict: Verdict) -> Self {
        Self {
            asked,
            judged: AtomicU64::new(pack(checked, verdict)),
        }
    }

    /// The moment at which the response was asked for.
    #[inline]
    pub fn asked(&self) -> u64 {
        self.asked
    }

    /// The moment up to which purges were judged.
    #[inline]
    pub fn checked(&self) -> u64 {
        self.judged.load(Relaxed) >> 2
    }

    /// What purges up to [`Seen::checked`] did to the object.
    #[inline]
    pub fn verdict(&self) -> Verdict {
        unpack(self.judged.load(Relaxed)).1
    }

    /// Whether nothing up to `moment` hit the object and nothing needs to be judged. One load.
    #[inline]
    pub fn is_current(&self, moment: u64) -> bool {
        self.judged.load(Relaxed) == pack(moment, Verdict::Current)
    }

    /// Both of [`Seen::checked`] and [`Seen::verdict`], of the same instant: what is written down
    /// of an object.
    pub fn judged(&self) -> (u64, Verdict) {
        unpack(self.judged.load(Acquire))
    }

    /// Whoever reads this has to find the moment, too, where it was when this was judged.
    /// Any pair that was true stays true, so that of two who judge at once either may win.
    pub(crate) fn judge(&self, checked: u64, verdict: Verdict) {
        self.judged.store(pack(checked, verdict), Release);
    }
}

#[inline]
fn pack(moment: u64, verdict: Verdict) -> u64 {
    moment << 2 | verdict as u64
}

#[inline]
fn unpack(judged: u64) -> (u64, Verdict) {
    let verdict = Verdict::of((judged & 3) as u8).unwrap_or(Verdict::Gone);
    (judged >> 2, verdict)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moment_and_verdict_are_kept_together() {
        let seen = Seen::new(7);
        assert!(seen.is_current(7) && !seen.is_current(8));
        seen.judge(1 << 60, Verdict::Invalid);
        assert_eq!(seen.judged(), (1 << 60, Verdict::Invalid));
        assert_eq!((seen.asked(), seen.checked()), (7, 1 << 60));
        assert!(!seen.is_current(1 << 60), "judged, but not current");
    }
}
