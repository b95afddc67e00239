//! The same server for the same key: points on a ring (ketama), with bounded load if wanted
//! ("Consistent Hashing with Bounded Loads", Mirrokni, Thorup, Zadimoghaddam, 2016).
//!
//! A server's points follow from its address alone. So every Forebay in front of the same servers
//! chooses alike, and when a server goes only its own keys move.

use super::{View, mix};

/// Points of a server of mean weight.
const POINTS: u64 = 160;

/// The points of a pool's servers, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ring {
    /// Where it is, and the server's place among the members.
    points: Vec<(u64, u32)>,
}

impl Ring {
    /// The ring of servers by address and weight.
    pub(crate) fn new<'a>(servers: impl Iterator<Item = (&'a str, u32)> + Clone) -> Self {
        let count = servers.clone().count() as u64;
        let total: u64 = servers.clone().map(|(_, weight)| u64::from(weight)).sum();
        let mut points = Vec::new();
        for (at, (label, weight)) in servers.enumerate() {
            let share = POINTS * count * u64::from(weight) / total.max(1);
            let own = hash([label.as_bytes()]);
            points.extend((0..share.max(1)).map(|n| (mix(own ^ mix(n)), at as u32)));
        }
        points.sort_unstable();
        Self { points }
    }

    /// The servers from a key's place on; each comes as often as it has points.
    fn from(&self, key: u64) -> impl Iterator<Item = usize> {
        let first = self.points.partition_point(|(point, _)| *point < key);
        let (before, behind) = self.points.split_at(first);
        behind.iter().chain(before).map(|(_, at)| *at as usize)
    }
}

/// A key, or a server's address, as a place on the ring. The same in every process.
pub fn hash<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for part in parts {
        for byte in part {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        // `ab` and `c` are not `a` and `bc`.
        hash = (hash ^ 0x1_00).wrapping_mul(0x0000_0100_0000_01b3);
    }
    mix(hash)
}

/// The key's server, or the next one on the ring that is in question and within its bound.
pub(crate) fn choose<'v>(
    views: &'v [View],
    ring: &Ring,
    key: u64,
    bound_percent: Option<u32>,
) -> Option<&'v View> {
    let find = |at| views.iter().find(|view| view.at == at);
    if let Some(percent) = bound_percent {
        let most = Bound::new(views, percent);
        let within = |view: &&View| view.active < most.of(view);
        if let Some(found) = ring.from(key).filter_map(find).find(within) {
            return Some(found);
        }
    }
    ring.from(key).find_map(find).or(views.first())
}

/// What a server may have to do, so that none has more than so many hundredths of its share.
struct Bound {
    active: u128,
    weight: u128,
    percent: u128,
}

impl Bound {
    fn new(views: &[View], percent: u32) -> Self {
        Self {
            // With the new request.
            active: views
                .iter()
                .map(|view| u128::from(view.active))
                .sum::<u128>()
                + 1,
            weight: views.iter().map(|view| u128::from(view.weight)).sum(),
            percent: u128::from(percent.max(100)),
        }
    }

    fn of(&self, view: &View) -> u64 {
        let most = self.active * self.percent * u128::from(view.weight);
        most.div_ceil(100 * self.weight.max(1)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balance::tests::view;

    fn ring(servers: &[(&str, u32)]) -> Ring {
        Ring::new(servers.iter().copied())
    }

    fn chosen(views: &[View], ring: &Ring, key: u64) -> usize {
        choose(views, ring, key, None).map_or(99, |view| view.at)
    }

    #[test]
    fn keys_spread_by_weight() {
        let ring = ring(&[("a:1", 1), ("b:1", 1), ("c:1", 2)]);
        let views = [view(0), view(1), view(2)];
        let mut counts = [0; 3];
        for key in 0..20_000u64 {
            counts[chosen(&views, &ring, mix(key))] += 1;
        }
        for (count, share) in counts.into_iter().zip([5000, 5000, 10_000]) {
            let difference = i32::abs_diff(count, share);
            assert!(difference < 900, "{counts:?}");
        }
    }

    #[test]
    fn only_the_keys_of_a_server_that_goes_move() {
        let four = ring(&[("a:1", 1), ("b:1", 1), ("c:1", 1), ("d:1", 1)]);
        let all = [view(0), view(1), view(2), view(3)];
        for key in (0..5000).map(mix) {
            let before = chosen(&all, &four, key);
            let without_last = chosen(&all[..3], &four, key);
            assert!(before == without_last || before == 3);
        }
        // The same holds when it is taken off the ring altogether.
        let three = ring(&[("a:1", 1), ("b:1", 1), ("c:1", 1)]);
        for key in (0..5000).map(mix) {
            let before = chosen(&all, &four, key);
            assert!(before == chosen(&all[..3], &three, key) || before == 3);
        }
    }

    #[test]
    fn a_bound_hands_on_what_is_too_much() {
        let ring = ring(&[("a:1", 1), ("b:1", 1)]);
        let key = (0..)
            .map(mix)
            .find(|key| chosen(&[view(0), view(1)], &ring, *key) == 0);
        let key = key.unwrap_or(0);
        let busy = |active| View { active, ..view(0) };
        let with = |views: &[View]| choose(views, &ring, key, Some(125)).map(|view| view.at);
        assert_eq!(with(&[busy(0), view(1)]), Some(0));
        assert_eq!(with(&[busy(3), view(1)]), Some(1));
        assert_eq!(
            with(&[
                busy(3),
                View {
                    active: 3,
                    ..view(1)
                }
            ]),
            Some(0)
        );
    }

    #[test]
    fn parts_of_a_key_are_kept_apart() {
        assert_ne!(hash([&b"ab"[..], b"c"]), hash([&b"a"[..], b"bc"]));
        assert_eq!(hash([&b"10.0.0.1:80"[..]]), hash([&b"10.0.0.1:80"[..]]));
    }
}
