//! By chance, by weight.

use super::{View, below};

/// The one that the seed says.
pub(crate) fn choose(views: &[View], seed: u64) -> Option<&View> {
    let total: u64 = views.iter().map(|view| view.weight).sum();
    let mut left = below(seed, total.max(1));
    views.iter().find(|view| {
        let found = left < view.weight;
        left = left.saturating_sub(view.weight);
        found
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balance::mix;
    use crate::balance::tests::view;

    #[test]
    fn shares_follow_the_weights() {
        let views = [
            view(0),
            View {
                weight: 3000,
                ..view(1)
            },
        ];
        let chosen = (0..10_000).filter_map(|seed| choose(&views, mix(seed)));
        let second = chosen.filter(|view| view.at == 1).count();
        assert!((7300..7700).contains(&second), "{second}");
        assert_eq!(choose(&[], 5), None);
    }
}
