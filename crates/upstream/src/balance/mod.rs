//! Which server of a pool gets a request.
//!
//! A choice is a pure function of [`View`]s, a key, a seed and the pool's virtual time, in four
//! steps: who may be asked at all, the best priority, who has room, the own zone. What is left is
//! for the algorithm of the pool, one file each.

pub(crate) mod ewma;
pub(crate) mod hash;
pub(crate) mod least;
pub(crate) mod random;
pub(crate) mod round_robin;

pub(crate) use hash::Ring;

/// What is known of a server when a choice is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct View {
    /// Its place among the pool's members.
    pub(crate) at: usize,
    pub(crate) standing: Standing,
    /// Servers of a greater number are asked only when none of a smaller one can be.
    pub(crate) priority: u8,
    /// It stands in the zone of this Forebay.
    pub(crate) near: bool,
    /// It was asked for this request already.
    pub(crate) tried: bool,
    /// Its share in thousandths of a weight of 1; at least 1.
    pub(crate) weight: u64,
    /// Requests under way there.
    pub(crate) active: u64,
    /// One more is allowed.
    pub(crate) room: bool,
    /// When its next turn is, in virtual time; see [`round_robin`].
    pub(crate) pass: u64,
    /// What its responses take, in microseconds; 0: not known.
    pub(crate) latency_us: u64,
}

/// Whether a server may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Like any other.
    Ready,
    /// It failed and nobody asks it now, unless all are in this state (and it does not hang).
    LeftOut,
    /// It takes no new requests: down, drained, on trial with somebody else, or gone.
    Closed,
}

/// How one is chosen of those that are left.
#[derive(Clone, Copy, Debug)]
pub(crate) enum By<'a> {
    RoundRobin,
    LeastConnections,
    Latency,
    Random,
    Hash {
        ring: &'a Ring,
        /// `None`: the request has nothing of what the key is made of; it takes its turn.
        key: Option<u64>,
        bound_percent: Option<u32>,
    },
}

/// What a choice came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pick {
    /// The view at this place of the slice that is left.
    Server(View),
    /// Those that could be asked are at their limits.
    Full,
    /// There is none that could be asked.
    Nobody,
}

/// Chooses; `views` is narrowed to those that were in question.
pub(crate) fn pick(views: &mut Vec<View>, by: &By<'_>, virtual_now: u64, seed: u64) -> Pick {
    narrow_to_usable(views);
    if views.is_empty() {
        return Pick::Nobody;
    }
    if views.iter().any(|view| view.room) {
        views.retain(|view| view.room);
    } else {
        return Pick::Full;
    }
    if views.iter().any(|view| view.near) {
        views.retain(|view| view.near);
    }
    let chosen = match by {
        By::RoundRobin => round_robin::choose(views, virtual_now),
        By::LeastConnections => least::choose(views, virtual_now),
        By::Latency => ewma::choose(views, seed),
        By::Random => random::choose(views, seed),
        By::Hash {
            ring,
            key: Some(key),
            bound_percent,
        } => hash::choose(views, ring, *key, *bound_percent),
        By::Hash { key: None, .. } => round_robin::choose(views, virtual_now),
    };
    chosen.map_or(Pick::Nobody, |view| Pick::Server(*view))
}

/// Leaves those of the best priority that may be asked. Those that were left out are asked when
/// no other can be: a pool whose servers have all failed tries them all the same. (Whether one that
/// hangs may be, is for the caller to see.)
fn narrow_to_usable(views: &mut Vec<View>) {
    views.retain(|view| view.standing != Standing::Closed && !view.tried);
    if views.iter().any(|view| view.standing == Standing::Ready) {
        views.retain(|view| view.standing == Standing::Ready);
    }
    if let Some(best) = views.iter().map(|view| view.priority).min() {
        views.retain(|view| view.priority == best);
    }
}

/// Spreads the bits of a number over all of it (the finalizer of SplitMix64).
pub(crate) fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A number below `bound`, of a seed; `bound` is not 0.
pub(crate) fn below(seed: u64, bound: u64) -> u64 {
    ((u128::from(seed) * u128::from(bound)) >> 64) as u64
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A server like any other.
    pub(crate) fn view(at: usize) -> View {
        View {
            at,
            standing: Standing::Ready,
            priority: 0,
            near: false,
            tried: false,
            weight: 1000,
            active: 0,
            room: true,
            pass: 0,
            latency_us: 0,
        }
    }

    fn picked(views: &[View]) -> Option<usize> {
        match pick(&mut views.to_vec(), &By::RoundRobin, 0, 0) {
            Pick::Server(view) => Some(view.at),
            _ => None,
        }
    }

    #[test]
    fn who_may_be_asked_comes_before_how_one_is_chosen() {
        let (zero, one) = (view(0), view(1));
        let left_out = |view| View {
            standing: Standing::LeftOut,
            ..view
        };
        let closed = |view| View {
            standing: Standing::Closed,
            ..view
        };
        let tried = |view| View {
            tried: true,
            ..view
        };
        let backup = |view| View {
            priority: 255,
            ..view
        };
        let full = |view| View {
            room: false,
            ..view
        };
        let near = |view| View { near: true, ..view };
        for (views, expected) in [
            (vec![zero, one], Some(0)),
            (vec![closed(zero), one], Some(1)),
            (vec![tried(zero), one], Some(1)),
            (vec![left_out(zero), one], Some(1)),
            (vec![left_out(zero), left_out(one)], Some(0)),
            (vec![left_out(zero), tried(one)], Some(0)),
            (vec![left_out(zero), closed(one)], Some(0)),
            (vec![backup(zero), one], Some(1)),
            (vec![backup(zero), left_out(one)], Some(0)),
            (vec![zero, near(one)], Some(1)),
            (vec![zero, full(near(one))], Some(0)),
            (vec![full(zero), one], Some(1)),
            // A backup is for servers that are gone, not for busy ones.
            (vec![full(zero), backup(one)], None),
            (vec![closed(zero), closed(one)], None),
        ] {
            assert_eq!(picked(&views), expected, "{views:?}");
        }
    }

    #[test]
    fn full_is_not_the_same_as_nobody() {
        let full = View {
            room: false,
            ..view(0)
        };
        let closed = View {
            standing: Standing::Closed,
            ..view(0)
        };
        assert_eq!(
            pick(&mut vec![full], &By::LeastConnections, 0, 0),
            Pick::Full
        );
        assert_eq!(
            pick(&mut vec![closed], &By::LeastConnections, 0, 0),
            Pick::Nobody
        );
        assert_eq!(pick(&mut Vec::new(), &By::Random, 0, 0), Pick::Nobody);
    }
}
