//! How strong purges are, and when the last of each strength was.

/// What purges did to an object, from weakest to strongest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Verdict {
    /// Nothing.
    #[default]
    Current = 0,
    /// It is stale from now on: grace, `stale-while-revalidate` and conditional refresh apply.
    Soft = 1,
    /// It must be validated before its next use (RFC 9875 section 2, RFC 9111 section 4.4).
    Invalid = 2,
    /// It must not be used again.
    Gone = 3,
}

impl Verdict {
    /// The strengths that a purge can have.
    pub(crate) const STRENGTHS: [Self; 3] = [Self::Soft, Self::Invalid, Self::Gone];

    /// The verdict of this number, if there is one.
    pub(crate) fn of(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Current),
            1 => Some(Self::Soft),
            2 => Some(Self::Invalid),
            3 => Some(Self::Gone),
            _ => None,
        }
    }
}

/// The moments of the last purges of one thing, one for each strength; 0 is never.
///
/// A weaker purge that a stronger one followed is forgotten: it can decide nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reach([u64; 3]);

impl Reach {
    /// One purge.
    pub(crate) fn of(strength: Verdict, moment: u64) -> Self {
        let mut reach = Self::default();
        reach.add(strength, moment);
        reach
    }

    /// Adds a purge.
    pub(crate) fn add(&mut self, strength: Verdict, moment: u64) {
        let Some(at) = (strength as usize).checked_sub(1) else {
            return;
        };
        self.0[at] = self.0[at].max(moment);
        self.settle();
    }

    /// Adds all purges of another.
    pub(crate) fn join(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine = (*mine).max(theirs);
        }
        self.settle();
    }

    /// When the last purge was.
    pub(crate) fn newest(&self) -> u64 {
        self.0[0].max(self.0[1]).max(self.0[2])
    }

    /// The strongest purge after `since`.
    pub(crate) fn verdict(&self, since: u64) -> Verdict {
        match self.0 {
            [_, _, gone] if gone > since => Verdict::Gone,
            [_, invalid, _] if invalid > since => Verdict::Invalid,
            [soft, _, _] if soft > since => Verdict::Soft,
            _ => Verdict::Current,
        }
    }

    /// The strongest purge of all.
    pub(crate) fn strength(&self) -> Verdict {
        self.verdict(0)
    }

    /// Forgets purges up to `moment`. Returns whether any is left.
    pub(crate) fn retire(&mut self, moment: u64) -> bool {
        for at in &mut self.0 {
            if *at <= moment {
                *at = 0;
            }
        }
        self.newest() > 0
    }

    /// The purges.
    pub(crate) fn purges(self) -> impl Iterator<Item = (Verdict, u64)> {
        Verdict::STRENGTHS
            .into_iter()
            .zip(self.0)
            .filter(|(_, moment)| *moment > 0)
    }

    fn settle(&mut self) {
        let [soft, invalid, gone] = &mut self.0;
        if *invalid <= *gone {
            *invalid = 0;
        }
        if *soft <= (*gone).max(*invalid) {
            *soft = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strongest_purge_since_decides() {
        let mut reach = Reach::of(Verdict::Gone, 5);
        reach.add(Verdict::Soft, 8);
        reach.add(Verdict::Invalid, 7);
        let verdicts = [4, 5, 6, 7, 8].map(|since| reach.verdict(since));
        use Verdict::{Current, Gone, Invalid, Soft};
        assert_eq!(verdicts, [Gone, Invalid, Invalid, Soft, Current]);
        assert_eq!(reach.newest(), 8);
        assert!(reach.retire(7));
        assert_eq!(reach.verdict(0), Soft);
        assert!(!reach.retire(8));
    }

    #[test]
    fn a_stronger_purge_hides_weaker_ones_before_it() {
        let mut reach = Reach::of(Verdict::Soft, 3);
        reach.join(&Reach::of(Verdict::Gone, 3));
        assert_eq!(reach, Reach::of(Verdict::Gone, 3));
        reach.add(Verdict::Current, 9);
        assert_eq!(reach, Reach::of(Verdict::Gone, 3));
    }
}
