//! The better of two taken by chance, by what a request would cost there: the peak EWMA of the
//! server's latency times its load (as in Finagle; "the power of two choices").
//!
//! The average rises at once to a response that was slower, and falls slowly; so a server that gets
//! slow is avoided with its first slow response, and asked again as time passes.

use super::{View, below, mix};

/// How fast what was measured is forgotten: after so long it counts a third.
const DECAY_MS: f64 = 10_000.0;

/// The new average after a response that took `sample_us`, `since_ms` after the one before.
pub(crate) fn observed(average_us: u64, since_ms: u64, sample_us: u64) -> u64 {
    if sample_us >= average_us {
        return sample_us.max(1);
    }
    let kept = decay(since_ms);
    let average = average_us as f64 * kept + sample_us as f64 * (1.0 - kept);
    (average as u64).max(1)
}

/// The average as it counts `since_ms` after the last response: an old one says little.
pub(crate) fn faded(average_us: u64, since_ms: u64) -> u64 {
    (average_us as f64 * decay(since_ms)) as u64
}

fn decay(since_ms: u64) -> f64 {
    (-(since_ms as f64) / DECAY_MS).exp()
}

/// The better of two.
pub(crate) fn choose(views: &[View], seed: u64) -> Option<&View> {
    let count = views.len() as u64;
    if count < 2 {
        return views.first();
    }
    let first = below(seed, count);
    let second = (first + 1 + below(mix(seed), count - 1)) % count;
    let (first, second) = (views.get(first as usize)?, views.get(second as usize)?);
    // One that has not answered yet is asked at once, but not by all at once.
    let unknown = views.iter().map(|view| view.latency_us).max().unwrap_or(0);
    let cost = |view: &View| {
        let latency = match view.latency_us {
            0 if view.active > 0 => unknown.max(1),
            known => known,
        };
        u128::from(latency) * u128::from(view.active + 1) * 1000 / u128::from(view.weight.max(1))
    };
    let costs = ((cost(first), first.active), (cost(second), second.active));
    Some(if costs.1 < costs.0 { second } else { first })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balance::tests::view;

    #[test]
    fn peaks_count_at_once_and_fade() {
        assert_eq!(observed(100, 5, 5000), 5000);
        let after = observed(5000, 100, 100);
        assert!((4900..5000).contains(&after), "{after}");
        let later = observed(5000, 30_000, 100);
        assert!(later < 400, "{later}");
        assert_eq!(faded(5000, 0), 5000);
        assert!(faded(5000, 60_000) < 50);
    }

    #[test]
    fn of_two_the_cheaper_is_asked() {
        let with = |at, latency_us, active, weight| View {
            latency_us,
            active,
            weight,
            ..view(at)
        };
        for (views, expected) in [
            ([with(0, 900, 0, 1000), with(1, 100, 0, 1000)], 1),
            ([with(0, 100, 9, 1000), with(1, 300, 0, 1000)], 1),
            ([with(0, 100, 1, 2000), with(1, 100, 1, 1000)], 0),
            // Nothing is known of the second: it is tried, but only with one request.
            ([with(0, 100, 0, 1000), with(1, 0, 0, 1000)], 1),
            ([with(0, 100, 0, 1000), with(1, 0, 3, 1000)], 0),
        ] {
            for seed in 0..20 {
                let chosen = choose(&views, mix(seed)).map(|view| view.at);
                assert_eq!(chosen, Some(expected), "{views:?}");
            }
        }
    }

    #[test]
    fn the_worst_of_many_is_asked_least() {
        let views: Vec<View> = (0..5)
            .map(|at| View {
                latency_us: 100 * (at as u64 + 1),
                ..view(at)
            })
            .collect();
        let mut counts = [0; 5];
        for seed in 0..1000 {
            counts[choose(&views, mix(seed)).map_or(4, |view| view.at)] += 1;
        }
        assert_eq!(counts[4], 0, "{counts:?}");
        assert!(counts[0] > counts[1] && counts[1] > counts[2], "{counts:?}");
    }
}
