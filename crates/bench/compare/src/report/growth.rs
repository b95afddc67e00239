//! Whether a store gets slower with the number of sessions: the last step over the first, in words.

use forebay_results::format;

use crate::comparison::{CaseResult, Comparison, Measure};
use crate::statistics::growth;

/// A sentence with every store; `None` where steps are no numbers of sessions, or where there is only one.
pub(super) fn words(comparison: &Comparison, case: &CaseResult) -> Option<String> {
    let [first, .., last] = case.levels.as_slice() else {
        return None;
    };
    if case.measure != Measure::SessionMs {
        return None;
    }
    let mut grown: Vec<(f64, &str)> = comparison
        .contestants()
        .filter_map(|server| {
            let ratio = growth(first, last, &server.name, case.measure)?;
            Some((ratio.median, server.name.as_str()))
        })
        .collect();
    grown.sort_by(|a, b| a.0.total_cmp(&b.0));
    let listed: Vec<String> = grown
        .iter()
        .map(|(ratio, name)| format!("{name} {} ×", format::significant(*ratio)))
        .collect();
    (!listed.is_empty()).then(|| {
        format!(
            "{}: the time between the two pages with {} sessions, of that with {}: {}.",
            case.name,
            format::count(last.clients),
            format::count(first.clients),
            listed.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::{Contestant, Figures, LevelResult, Turn};

    fn step(clients: u64, times_ms: &[(&str, f64)]) -> LevelResult {
        let turn = |(server, ms): &(&str, f64)| Turn {
            server: (*server).into(),
            round: 1,
            figures: Some(Figures {
                session_ms: Some(*ms),
                ..Figures::default()
            }),
            fault: None,
        };
        LevelResult {
            clients,
            amount: String::new(),
            turns: times_ms.iter().map(turn).collect(),
        }
    }

    fn said(measure: Measure, levels: Vec<LevelResult>) -> Option<String> {
        let server = |name: &str| Contestant {
            name: name.into(),
            ..Contestant::default()
        };
        let case = CaseResult {
            name: "sessions".into(),
            measure,
            levels,
            ..CaseResult::default()
        };
        let comparison = Comparison {
            servers: vec![server("a"), server("b")],
            ..Comparison::default()
        };
        words(&comparison, &case)
    }

    #[test]
    fn what_stays_as_fast_is_told_from_what_gets_slower() {
        let steps = vec![
            step(2_000, &[("a", 4.0), ("b", 2.0)]),
            step(5_000, &[("a", 7.0), ("b", 2.0)]),
            step(15_000, &[("a", 8.0), ("b", 2.1)]),
        ];
        assert_eq!(
            said(Measure::SessionMs, steps).as_deref(),
            Some(
                "sessions: the time between the two pages with 15,000 sessions, of that with 2,000: b 1.05 ×, a 2.00 ×."
            )
        );
    }

    #[test]
    fn one_step_and_rates_say_nothing_of_growth() {
        let steps = || vec![step(2_000, &[("a", 4.0)]), step(15_000, &[("a", 4.0)])];
        assert_eq!(
            said(Measure::SessionMs, vec![step(2_000, &[("a", 4.0)])]),
            None
        );
        assert_eq!(said(Measure::RequestsPerSecond, steps()), None);
        assert!(said(Measure::SessionMs, steps()).is_some());
    }
}
