//! Which request is next, for one thread of several.

use std::sync::Arc;

use crate::{Alias, Replay, Zipf};

/// How the next request is found.
#[derive(Clone, Debug)]
pub enum Order {
    /// One after the other, round and round; the threads share the turns among them.
    Sequential {
        /// How many requests there are.
        len: usize,
        /// The first turn's.
        start: usize,
    },
    /// Any of so many, all alike.
    Random(usize),
    /// By weight.
    Weighted(Arc<Alias>),
    /// By Zipf's law; request 0 is the most popular.
    Zipf(Zipf),
    /// As recorded; the threads share the slots among them.
    Recorded(Arc<Replay>),
}

impl Order {
    /// All requests from the first.
    pub fn sequential(len: usize) -> Self {
        Self::Sequential { len, start: 0 }
    }

    /// The requests of a replay in any order, each as often as it was recorded.
    ///
    /// # Errors
    /// When there is none.
    pub fn popularity(replay: &Replay) -> Result<Self, String> {
        let counts: Vec<f64> = replay.counts().into_iter().map(f64::from).collect();
        Ok(Self::Weighted(Arc::new(Alias::new(&counts)?)))
    }

    /// Turns in one round; none when it has no end of its own.
    fn round(&self) -> Option<u64> {
        match self {
            Self::Sequential { len, .. } => Some(*len as u64),
            Self::Recorded(replay) => Some(replay.order.len() as u64),
            Self::Random(_) | Self::Weighted(_) | Self::Zipf(_) => None,
        }
    }
}

/// The requests of one thread, one after the other, each in constant time.
#[derive(Clone, Debug)]
pub struct Mix {
    order: Order,
    /// The next turn, counted over all threads and rounds.
    turn: u64,
    threads: u64,
    random: fastrand::Rng,
}

impl Mix {
    /// The share of thread number `thread` of `threads`: turns `thread`, `thread + threads`, …
    /// of an order with turns; of one by chance a sequence of its own.
    pub fn new(order: Order, thread: usize, threads: usize, seed: u64) -> Self {
        // Neighbouring seeds of the generator are too alike at the beginning.
        let mut random = fastrand::Rng::with_seed(seed);
        let seed = random.u64(..) ^ (thread as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut random = fastrand::Rng::with_seed(seed);
        random.u64(..);
        Self {
            order,
            turn: thread as u64,
            threads: threads.max(1) as u64,
            random,
        }
    }

    /// The index of the next request; 0 when there is none at all.
    #[expect(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> usize {
        match &self.order {
            Order::Random(0) => 0,
            Order::Random(len) => self.random.usize(..*len),
            Order::Weighted(alias) => alias.sample(&mut self.random),
            Order::Zipf(zipf) => zipf.sample(&mut self.random),
            Order::Sequential { len, start } => {
                let turn = self.turn % (*len).max(1) as u64;
                let index = (turn + *start as u64) % (*len).max(1) as u64;
                self.turn += self.threads;
                index as usize
            }
            Order::Recorded(replay) => {
                let place = self.turn % replay.order.len().max(1) as u64;
                self.turn += self.threads;
                replay
                    .order
                    .get(place as usize)
                    .map_or(0, |slot| slot.index as usize)
            }
        }
    }

    /// When the next request is due at recorded speed, in milliseconds from the beginning; none
    /// for an order without times. A further round begins one average gap after the last request.
    pub fn due_ms(&self) -> Option<u64> {
        let Order::Recorded(replay) = &self.order else {
            return None;
        };
        let count = replay.order.len() as u64;
        let place = usize::try_from(self.turn.checked_rem(count)?).ok()?;
        let slot = replay.order.get(place).filter(|_| replay.timed)?;
        let duration = u64::from(replay.duration_ms());
        let period = duration + (duration / count).max(1);
        Some(self.turn / count * period + u64::from(slot.at_ms))
    }

    /// In which round the next request is, from 0; always 0 for an order by chance.
    pub fn round(&self) -> u64 {
        self.order
            .round()
            .and_then(|round| self.turn.checked_div(round))
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{Slot, chi_square::assert_fits};
    use proptest::prelude::*;

    fn take(order: &Order, thread: usize, threads: usize, count: usize) -> Vec<usize> {
        let mut mix = Mix::new(order.clone(), thread, threads, 5);
        (0..count).map(|_| mix.next()).collect()
    }

    fn recorded(slots: &[(u32, u32)]) -> Order {
        let slot = |&(at_ms, index)| Slot { at_ms, index };
        Order::Recorded(Arc::new(Replay {
            order: slots.iter().map(slot).collect(),
            timed: true,
            ..Replay::default()
        }))
    }

    #[test]
    fn threads_share_the_turns() {
        let order = Order::sequential(5);
        assert_eq!(take(&order, 0, 1, 7), [0, 1, 2, 3, 4, 0, 1]);
        assert_eq!(take(&order, 0, 2, 6), [0, 2, 4, 1, 3, 0]);
        assert_eq!(take(&order, 1, 2, 6), [1, 3, 0, 2, 4, 1]);
        assert_eq!(take(&order, 7, 8, 2), [2, 0]);
        let order = Order::Sequential { len: 5, start: 3 };
        assert_eq!(take(&order, 0, 1, 4), [3, 4, 0, 1]);
        let order = recorded(&[(0, 4), (10, 4), (40, 1)]);
        assert_eq!(take(&order, 0, 1, 4), [4, 4, 1, 4]);
        assert_eq!(take(&order, 1, 2, 2), [4, 4]);
    }

    #[test]
    fn recorded_requests_are_due_when_they_were() {
        let order = recorded(&[(0, 4), (10, 4), (40, 1)]);
        let mut mix = Mix::new(order.clone(), 0, 2, 5);
        let mut due = Vec::new();
        for _ in 0..4 {
            due.push((mix.round(), mix.due_ms().unwrap()));
            mix.next();
        }
        // A round takes 40 ms and a gap of 13 ms.
        assert_eq!(due, [(0, 0), (0, 40), (1, 53 + 10), (2, 106)]);
        assert_eq!(Mix::new(Order::Random(3), 0, 1, 5).due_ms(), None);
    }

    #[test]
    fn an_order_by_chance_is_the_same_for_the_same_seed_and_thread() {
        let alias = Arc::new(Alias::new(&[1.0, 2.0, 3.0]).unwrap());
        let zipf = Zipf::new(100, 0.9).unwrap();
        for order in [
            Order::Random(100),
            Order::Weighted(alias),
            Order::Zipf(zipf),
        ] {
            assert_eq!(take(&order, 1, 4, 50), take(&order, 1, 4, 50), "{order:?}");
            assert_ne!(take(&order, 1, 4, 50), take(&order, 2, 4, 50), "{order:?}");
        }
        let mut seen = vec![0; 100];
        for thread in 0..4 {
            take(&Order::Random(100), thread, 4, 25_000)
                .into_iter()
                .for_each(|index| seen[index] += 1);
        }
        assert_fits(&seen, &[0.01; 100], "random over threads");
    }

    #[test]
    fn popularity_is_as_recorded() {
        let Order::Recorded(replay) = recorded(&[(0, 0), (0, 2), (0, 2), (0, 2)]) else {
            unreachable!()
        };
        let request = crate::Request::get(crate::Target::parse("a").unwrap());
        let replay = Replay {
            requests: vec![request; 3],
            ..(*replay).clone()
        };
        let mut seen = vec![0; 3];
        take(&Order::popularity(&replay).unwrap(), 0, 1, 40_000)
            .into_iter()
            .for_each(|index| seen[index] += 1);
        assert_fits(&seen, &[0.25, 0.0, 0.75], "popularity");
        assert!(Order::popularity(&Replay::default()).is_err());
    }

    #[test]
    fn an_empty_order_does_not_fail() {
        for order in [Order::sequential(0), Order::Random(0), recorded(&[])] {
            let mut mix = Mix::new(order, 0, 0, 1);
            assert_eq!((mix.next(), mix.round(), mix.due_ms()), (0, 0, None));
        }
    }

    proptest! {
        #[test]
        fn together_the_threads_make_every_turn_once(
            len in 1usize..50, threads in 1usize..9, rounds in 1usize..4,
        ) {
            let order = Order::sequential(len);
            let mut seen = vec![0; len];
            for thread in 0..threads {
                let mut mix = Mix::new(order.clone(), thread, threads, 1);
                while mix.round() < rounds as u64 {
                    seen[mix.next()] += 1;
                }
            }
            prop_assert!(seen.iter().all(|&count| count == rounds), "{:?}", seen);
        }
    }
}
