//! The fewest requests under way, relative to the weight; equals take turns.

use super::View;
use super::round_robin::effective_pass;

/// The one that has the least to do.
pub(crate) fn choose(views: &[View], virtual_now: u64) -> Option<&View> {
    views.iter().min_by(|one, other| {
        // With the new request counted, so that of two idle servers the heavier is first.
        let load = |of: &View, by: &View| (u128::from(of.active) + 1) * u128::from(by.weight);
        load(one, other).cmp(&load(other, one)).then_with(|| {
            let turn = |view| (effective_pass(view, virtual_now), view.at);
            turn(one).cmp(&turn(other))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balance::tests::view;

    #[test]
    fn load_counts_by_weight() {
        let with = |at, active, thousandths, pass| View {
            active,
            weight: thousandths,
            pass,
            ..view(at)
        };
        for (views, expected) in [
            ([with(0, 3, 1000, 0), with(1, 2, 1000, 0)], 1),
            ([with(0, 3, 2000, 0), with(1, 2, 1000, 0)], 0),
            ([with(0, 0, 1000, 0), with(1, 0, 5000, 0)], 1),
            ([with(0, 1, 1000, 9), with(1, 1, 1000, 5)], 1),
            ([with(0, 1, 1000, 5), with(1, 1, 1000, 5)], 0),
        ] {
            assert_eq!(
                choose(&views, 0).map(|view| view.at),
                Some(expected),
                "{views:?}"
            );
        }
    }
}
