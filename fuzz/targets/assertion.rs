//! Expressions that a run is checked against: read, or refused with words and
//! a place; looking at a run never fails.
#![no_main]

use forebay_results::{Assertion, Phase, Report};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let assertion = match Assertion::parse(text) {
        Ok(assertion) => assertion,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    assert!(assertion.value.is_finite(), "{text}");
    let mut phase = Phase {
        name: "500 connections".into(),
        seconds: 1.0,
        labels: vec!["a".into()],
        ..Phase::default()
    };
    phase.tally.counts.completed = 2;
    phase.tally.counts.succeeded = 2;
    phase.tally.latency.whole.record(5_000_000);
    phase.tally.label(0).whole.record(5_000_000);
    let report = Report {
        phases: vec![phase, Phase::default()],
        ..Report::default()
    };
    for outcome in assertion.evaluate(&report) {
        assert!(!outcome.to_string().is_empty() && !outcome.to_string().contains('\n'));
    }
});
