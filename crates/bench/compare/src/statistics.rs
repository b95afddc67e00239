//! From turns to figures: medians over the rounds, and ratios taken within
//! each round, for what slows the machine in a round slows all servers in it.

use std::collections::BTreeMap;

use crate::comparison::{Figures, LevelResult, Measure, SessionSums};

/// With fewer rounds than these their range tells little about noise.
const ROUNDS_THAT_TELL: usize = 3;
/// What then counts as noise anyhow.
const PRESUMED_NOISE: f64 = 0.05;
/// From this share of its time on, the load tester was the limit.
const SATURATED: f64 = 0.95;

/// A middle and a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
    /// How many values there were.
    pub(crate) count: usize,
}

impl Spread {
    /// Of the values that are numbers; `None` when there is none.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().filter(|v| v.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let (&least, &most) = (values.first()?, values.last()?);
        let lower = values.get((values.len() - 1) / 2)?;
        let upper = values.get(values.len() / 2)?;
        Some(Self {
            median: f64::midpoint(*lower, *upper),
            least,
            most,
            count: values.len(),
        })
    }

    /// For a ratio: whether the two may be alike, for in some rounds the one was ahead and in some the other; with
    /// few rounds also when they are close.
    pub(crate) fn within_noise(&self) -> bool {
        let margin = if self.count < ROUNDS_THAT_TELL {
            PRESUMED_NOISE
        } else {
            0.0
        };
        self.least <= 1.0 + margin && self.most >= 1.0 - margin
    }
}

/// One server at one step, over all rounds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Summary {
    /// The case's measure.
    pub(crate) value: Spread,
    pub(crate) completed: u64,
    pub(crate) succeeded: u64,
    /// By cause, in all rounds together.
    pub(crate) failed: BTreeMap<String, u64>,
    pub(crate) p50_ms: f64,
    pub(crate) p95_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) cpu_us: Option<Spread>,
    pub(crate) server_cores: Option<f64>,
    pub(crate) resident_bytes: Option<f64>,
    /// In all rounds together.
    pub(crate) origin_requests: u64,
    /// The load tester was at its limit in most rounds.
    pub(crate) saturated: bool,
    /// Times are medians, counts those of all rounds together.
    pub(crate) sessions: Option<SessionSums>,
}

impl Summary {
    /// All failed requests.
    pub(crate) fn failures(&self) -> u64 {
        self.failed.values().sum()
    }
}

/// The figures of `server` at this step; `None` when it had no turn without a fault.
pub(crate) fn summary(level: &LevelResult, server: &str, measure: Measure) -> Option<Summary> {
    let figures: Vec<&Figures> = turns(level, server).map(|(_, figures)| figures).collect();
    let spread =
        |of: &dyn Fn(&Figures) -> Option<f64>| Spread::of(figures.iter().filter_map(|f| of(f)));
    let median = |of: &dyn Fn(&Figures) -> Option<f64>| spread(of).map(|s| s.median);
    let mut failed = BTreeMap::new();
    for (cause, count) in figures.iter().flat_map(|f| &f.failed) {
        *failed.entry(cause.clone()).or_insert(0) += count;
    }
    Some(Summary {
        value: spread(&|f| Some(measure.of(f)))?,
        completed: figures.iter().map(|f| f.completed).sum(),
        succeeded: figures.iter().map(|f| f.succeeded).sum(),
        failed,
        p50_ms: median(&|f| Some(f.p50_ms))?,
        p95_ms: median(&|f| Some(f.p95_ms))?,
        p99_ms: median(&|f| Some(f.p99_ms))?,
        cpu_us: spread(&|f| f.cpu_us.filter(|us| *us > 0.0)),
        server_cores: median(&|f| f.server_cores),
        resident_bytes: median(&|f| f.resident_bytes.map(|b| b as f64)),
        origin_requests: figures.iter().filter_map(|f| f.origin_requests).sum(),
        saturated: median(&|f| Some(f.client_busy)).is_some_and(|busy| busy >= SATURATED),
        sessions: sessions(&figures),
    })
}

fn sessions(figures: &[&Figures]) -> Option<SessionSums> {
    let all: Vec<&SessionSums> = figures.iter().filter_map(|f| f.sessions.as_ref()).collect();
    let median = |of: fn(&SessionSums) -> f64| Spread::of(all.iter().map(|s| of(s)));
    let sum = |of: fn(&SessionSums) -> u64| all.iter().map(|s| of(s)).sum();
    Some(SessionSums {
        p50_ms: median(|s| s.p50_ms)?.median,
        p99_ms: median(|s| s.p99_ms)?.median,
        kept: sum(|s| s.kept),
        lost: sum(|s| s.lost),
        wrong: sum(|s| s.wrong),
        failed: sum(|s| s.failed),
    })
}

/// `server` over `of`, round by round; `None` when they had no round together.
pub(crate) fn ratio(
    level: &LevelResult,
    server: &str,
    of: &str,
    measure: Measure,
) -> Option<Spread> {
    ratio_by(level, server, of, &|f| Some(measure.of(f)))
}

/// The same for processor time a request.
pub(crate) fn cpu_ratio(level: &LevelResult, server: &str, of: &str) -> Option<Spread> {
    ratio_by(level, server, of, &|f| f.cpu_us)
}

fn ratio_by(
    level: &LevelResult,
    server: &str,
    of: &str,
    value: &dyn Fn(&Figures) -> Option<f64>,
) -> Option<Spread> {
    round_by_round((level, server), (level, of), value)
}

/// What `server` does at the step `last` over what it does at `first`, round by round.
pub(crate) fn growth(
    first: &LevelResult,
    last: &LevelResult,
    server: &str,
    measure: Measure,
) -> Option<Spread> {
    round_by_round((last, server), (first, server), &|f| Some(measure.of(f)))
}

/// A server at a step over a server at a step; `None` when they had no round together.
fn round_by_round(
    (level, server): (&LevelResult, &str),
    (of_level, of): (&LevelResult, &str),
    value: &dyn Fn(&Figures) -> Option<f64>,
) -> Option<Spread> {
    let others: BTreeMap<u32, f64> = turns(of_level, of)
        .filter_map(|(round, figures)| Some((round, value(figures)?)))
        .collect();
    Spread::of(
        turns(level, server)
            .filter_map(|(round, figures)| Some(value(figures)? / others.get(&round)?)),
    )
}

fn turns<'a>(
    level: &'a LevelResult,
    server: &'a str,
) -> impl Iterator<Item = (u32, &'a Figures)> + 'a {
    level
        .turns
        .iter()
        .filter(move |t| t.server == server)
        .filter_map(|t| Some((t.round, t.figures.as_ref()?)))
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::comparison::Turn;

    /// A turn with a rate.
    pub(crate) fn turn(server: &str, round: u32, requests_per_second: f64, failed: u64) -> Turn {
        let succeeded = (requests_per_second * 10.0) as u64;
        let figures = Figures {
            requests_per_second,
            completed: succeeded + failed,
            succeeded,
            failed: [("timeout".to_owned(), failed)]
                .into_iter()
                .filter(|(_, count)| *count > 0)
                .collect(),
            cpu_us: Some(1e6 / requests_per_second),
            resident_bytes: Some(100 << 20),
            p95_ms: 3.0,
            ..Figures::default()
        };
        Turn {
            server: server.into(),
            round,
            figures: Some(figures),
            fault: None,
        }
    }

    fn level(turns: Vec<Turn>) -> LevelResult {
        LevelResult {
            clients: 500,
            amount: "2 s".into(),
            turns,
        }
    }

    const RATE: Measure = Measure::RequestsPerSecond;

    #[test]
    fn a_ratio_is_taken_within_each_round() {
        // The machine is twice as slow in the second round, for both alike.
        let level = level(vec![
            turn("a", 1, 3000.0, 0),
            turn("b", 1, 2000.0, 0),
            turn("b", 2, 1000.0, 0),
            turn("a", 2, 1500.0, 0),
        ]);
        let ratio = ratio(&level, "a", "b", RATE).unwrap();
        assert_eq!((ratio.median, ratio.least, ratio.most), (1.5, 1.5, 1.5));
        assert!(!ratio.within_noise());
    }

    #[test]
    fn alike_is_what_is_ahead_now_and_behind_then() {
        let spread = |values: &[f64]| Spread::of(values.iter().copied()).unwrap();
        assert!(spread(&[0.98, 1.01, 1.02]).within_noise());
        assert!(!spread(&[1.01, 1.02, 1.03]).within_noise());
        assert!(!spread(&[0.97, 0.98, 0.99]).within_noise());
        // Two rounds tell less.
        assert!(spread(&[1.01, 1.04]).within_noise());
        assert!(!spread(&[1.06, 1.2]).within_noise());
    }

    #[test]
    fn a_round_that_one_of_them_missed_has_no_ratio() {
        let mut broken = turn("a", 2, 1.0, 0);
        broken.figures = None;
        let level = level(vec![
            turn("a", 1, 10.0, 0),
            turn("b", 1, 10.0, 0),
            broken,
            turn("b", 2, 5.0, 0),
        ]);
        assert_eq!(ratio(&level, "a", "b", RATE).unwrap().count, 1);
        assert!(ratio(&level, "a", "c", RATE).is_none());
        assert!(summary(&level, "c", RATE).is_none());
    }

    #[test]
    fn growth_is_taken_within_each_round() {
        // The machine is twice as slow in the second round, at both steps alike.
        let first = level(vec![turn("a", 1, 1000.0, 0), turn("a", 2, 500.0, 0)]);
        let last = level(vec![turn("a", 2, 600.0, 0), turn("a", 1, 1200.0, 0)]);
        let grown = growth(&first, &last, "a", RATE).unwrap();
        assert_eq!((grown.least, grown.median, grown.most), (1.2, 1.2, 1.2));
        assert!(growth(&first, &last, "b", RATE).is_none());
    }

    #[test]
    fn failures_of_all_rounds_are_added_and_the_middle_is_a_median() {
        let level = level(vec![
            turn("a", 1, 100.0, 3),
            turn("a", 2, 900.0, 4),
            turn("a", 3, 200.0, 0),
        ]);
        let summary = summary(&level, "a", RATE).unwrap();
        assert_eq!(summary.failures(), 7);
        assert_eq!(summary.value.median, 200.0);
        assert_eq!((summary.value.least, summary.value.most), (100.0, 900.0));
        assert_eq!(summary.succeeded, 12_000);
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        assert_eq!(Spread::of([4.0, 1.0, 2.0, 9.0]).unwrap().median, 3.0);
        assert!(Spread::of([f64::NAN]).is_none());
    }
}
