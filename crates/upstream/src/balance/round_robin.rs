//! In turn, by weight: smooth weighted round robin by virtual time (stride scheduling).
//!
//! Each server has a *pass*, the virtual time of its next turn. The smallest is next, and moves on
//! by a stride that is the shorter the greater the server's weight. So turns are spread evenly, not
//! in bursts, and the state is one number for each server: workers share it without a lock.

use super::View;

/// The stride of a weight of one thousandth.
const WHOLE: u64 = 1 << 30;

/// How far a server's pass moves on for one request.
pub(crate) fn stride(weight: u64) -> u64 {
    (WHOLE / weight.max(1)).max(1)
}

/// Where the `number`th of `count` servers that come together begins, after the virtual time: in their
/// order, and spread over a stride, so that the turns of light servers do not fall together.
pub(crate) fn first_pass(weight: u64, number: usize, count: usize) -> u64 {
    let (number, count) = (number as u64, count.max(1) as u64);
    stride(weight) * (2 * number + 1) / (2 * count)
}

/// A server's pass as it counts now. One that was away does not catch up on what it missed:
/// it is at most one stride behind the others.
pub(crate) fn effective_pass(view: &View, virtual_now: u64) -> u64 {
    let oldest = virtual_now.saturating_sub(stride(view.weight));
    view.pass.max(oldest)
}

/// The one whose turn it is; of equals the lighter, which then stands between turns of the heavier.
pub(crate) fn choose(views: &[View], virtual_now: u64) -> Option<&View> {
    views
        .iter()
        .min_by_key(|view| (effective_pass(view, virtual_now), view.weight, view.at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balance::tests::view;

    /// The order of so many turns.
    fn turns(views: &mut [View], count: usize) -> String {
        let mut virtual_now = 0;
        (0..count)
            .map(|_| {
                let chosen = choose(views, virtual_now).map_or(0, |view| view.at);
                let pass = effective_pass(&views[chosen], virtual_now);
                virtual_now = virtual_now.max(pass);
                views[chosen].pass = pass + stride(views[chosen].weight);
                char::from(b'a' + chosen as u8)
            })
            .collect()
    }

    fn weighted(weights: &[u64]) -> Vec<View> {
        let views = weights.iter().enumerate();
        views
            .map(|(at, weight)| View {
                weight: weight * 1000,
                pass: first_pass(weight * 1000, at, weights.len()),
                ..view(at)
            })
            .collect()
    }

    #[test]
    fn equals_take_turns() {
        assert_eq!(turns(&mut weighted(&[1, 1, 1]), 7), "abcabca");
    }

    #[test]
    fn shares_follow_the_weights_and_are_spread() {
        let order = turns(&mut weighted(&[5, 1, 1]), 70);
        let count = |server| order.matches(server).count();
        assert_eq!((count('a'), count('b'), count('c')), (50, 10, 10));
        assert!(!order.contains("aaaa"), "{order}");
        let order = turns(&mut weighted(&[3, 2]), 50);
        assert_eq!(order.matches('a').count(), 30);
        assert!(!order.contains("aaa") && !order.contains("bb"), "{order}");
    }

    #[test]
    fn one_that_was_away_does_not_catch_up() {
        let mut views = weighted(&[1, 1]);
        views[0].pass = 1000 * stride(1000);
        let virtual_now = 1000 * stride(1000);
        assert_eq!(
            effective_pass(&views[1], virtual_now),
            999 * stride(1000),
            "one turn earlier, not a thousand"
        );
    }
}
