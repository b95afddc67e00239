//! A flow as a list of operations, so that a user needs no more than a place
//! in it and a count for each loop it is in.

use super::condition::Condition;
use super::pause::Wait;
use super::template::Template;

/// What one kind of user does.
#[derive(Debug)]
pub(crate) struct Program {
    /// In order; jumps are indices into it.
    pub(crate) ops: Vec<Op>,
    /// How often a user goes through it.
    pub(crate) iterations: Option<u64>,
    /// Whether cookies stay from one iteration to the next.
    pub(crate) keep_cookies: bool,
    /// Whether a failed step ends the iteration.
    pub(crate) stop_on_failure: bool,
    /// Where the first request goes, if that is known.
    pub(crate) home: Option<usize>,
}

/// One operation.
#[derive(Debug)]
pub(crate) enum Op {
    /// Sends a request: index into the plans.
    Send(usize),
    /// Waits.
    Pause(Wait),
    /// Goes on at `to` unless the condition holds.
    Unless(Box<Condition>, usize),
    /// Begins a loop that ends before the operation at `end`.
    Repeat(Passes, usize),
    /// Goes back to `start` while the loop has passes left.
    Again(usize),
}

/// How often a loop is gone through.
#[derive(Debug)]
pub(crate) enum Passes {
    /// So often.
    Fixed(u64),
    /// A text that becomes a number; what is none is 0.
    Made(Box<Template>),
}

/// Which flow each user takes: users are dealt in turn, so that any number of them is divided as
/// the weights say, as nearly as can be. At least one weight is positive and all are finite.
pub(crate) fn deal(weights: &[f64]) -> Vec<u16> {
    const FINE: usize = 1000;
    let whole = weights.iter().all(|weight| weight.fract() == 0.0);
    let sum: f64 = weights.iter().sum();
    let length = if whole && sum <= FINE as f64 {
        sum as usize
    } else {
        FINE
    };
    let mut credit = vec![0.0; weights.len()];
    let mut dealt = Vec::with_capacity(length);
    for _ in 0..length {
        for (credit, weight) in credit.iter_mut().zip(weights) {
            *credit += weight / sum;
        }
        let mut best = 0;
        for (index, value) in credit.iter().enumerate() {
            // A little more, so that rounding does not decide between equals.
            if *value > credit[best] + 1e-9 {
                best = index;
            }
        }
        credit[best] -= 1.0;
        dealt.push(best as u16);
    }
    dealt
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_divided_by_weight() {
        assert_eq!(deal(&[3.0, 1.0]), [0, 0, 1, 0]);
        assert_eq!(deal(&[1.0, 1.0]), [0, 1]);
        assert_eq!(deal(&[0.0, 2.0]), [1, 1]);
        let dealt = deal(&[0.7, 0.3]);
        for length in [10, 100, 1000] {
            let first = dealt[..length].iter().filter(|&&flow| flow == 0).count();
            assert_eq!(first * 10, length * 7);
        }
    }
}
