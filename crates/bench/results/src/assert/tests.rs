#![allow(clippy::unwrap_used)]
use super::*;
use crate::{Cause, ServerUse, Tally};

/// 1,000 requests of 1 to 1,000 ms in 10 s, 2 of them failed.
fn phase() -> Phase {
    let mut tally = Tally::default();
    for ms in 1..=1000_u64 {
        tally.latency.whole.record(ms * 1_000_000);
        tally.latency.connect.record(ms * 1000);
    }
    tally.label(0).whole.record(5_000_000);
    tally.label(0).succeeded = 1;
    tally.counts.completed = 1000;
    tally.counts.succeeded = 998;
    tally.counts.hits = 99;
    tally.counts.misses = 1;
    tally.counts.failed.insert(Cause::Timeout, 2);
    tally.counts.statuses.insert(503, 2);
    Phase {
        name: "500 connections".into(),
        seconds: 10.0,
        tally,
        labels: vec!["log in (a<b)".into()],
        server: Some(ServerUse {
            cpu_us_per_request: 18.5,
            peak_resident_bytes: 300 << 20,
            ..ServerUse::default()
        }),
        ..Phase::default()
    }
}

#[test]
fn expressions_are_looked_up_and_compared() {
    for (text, held) in [
        ("p99<20ms", false),
        ("p99 < 1s", true),
        ("p99.9 <= 1.01s", true),
        ("p50>499ms", true),
        ("mean<501ms", true),
        ("mean<500ms", false),
        ("max>=1s", true),
        ("min<=1ms", true),
        ("deviation>1us", true),
        ("connect.p99<1ms", true),
        ("whole.p99<1ms", false),
        ("success>=99.8", true),
        ("success>=99.999%", false),
        ("rps>99.7", true),
        ("rps>10,000", false),
        ("rps<10k", true),
        ("pages==5988", true),
        ("failed==2", true),
        ("failed=2", true),
        ("failed != 2", false),
        ("timeout==2", true),
        ("reset==0", true),
        ("status(503)==2", true),
        ("hit>95", true),
        ("cpu_us<20", true),
        ("rss<300MiB", false),
        ("rss<=300MiB", true),
        ("label(log in (a<b)).p99<6ms", true),
        ("label(log in (a<b)).failed==0", true),
        ("label(log in (a<b)).success==100", true),
        ("500 connections: p50<1s", true),
        ("wave (2): label(log in (a<b)).p99<6ms", true),
    ] {
        let outcome = Assertion::parse(text).unwrap().check(&phase());
        assert_eq!(outcome.held, held, "{outcome}");
    }
}

#[test]
fn what_was_not_measured_does_not_hold() {
    let empty = Phase::default();
    for text in [
        "p99<20ms",
        "success>=0",
        "hit>=0",
        "cpu_us<1000",
        "rss<1GiB",
        "lost==0",
        "first_byte.p50<1s",
        "label(x).failed==0",
    ] {
        let outcome = Assertion::parse(text).unwrap().check(&empty);
        assert!(!outcome.held, "{text}");
        assert!(outcome.found_text.starts_with("not measured: "), "{text}");
    }
}

#[test]
fn an_expression_holds_in_every_phase_or_in_the_named_one() {
    let fast = Phase {
        name: "1".into(),
        ..phase()
    };
    let mut slow = Phase {
        name: "2".into(),
        ..phase()
    };
    slow.tally.latency.whole.record(10_000_000_000);
    let report = Report {
        phases: vec![fast, slow],
        ..Report::default()
    };
    let held = |text: &str| -> Vec<bool> {
        let assertion = Assertion::parse(text).unwrap();
        assertion
            .evaluate(&report)
            .iter()
            .map(|outcome| outcome.held)
            .collect()
    };
    assert_eq!(held("max<2s"), [true, false]);
    assert_eq!(held("1: max<2s"), [true]);
    assert_eq!(held("2: max<2s"), [false]);
    assert_eq!(held("3: max<2s"), [false]);
    let outcome = &Assertion::parse("3: max<2s").unwrap().evaluate(&report)[0];
    assert_eq!(
        outcome.to_string(),
        "failed  3: max<2s: there is no phase `3`; there are `1`, `2`"
    );
}

#[test]
fn errors_point_at_the_place() {
    for (text, at, words) in [
        ("", 0, "operator is missing"),
        ("p99", 3, "operator is missing"),
        ("<20ms", 0, "a figure is missing"),
        ("p99<", 4, "a value is missing"),
        ("p99<20", 4, "a unit is missing"),
        ("p99 < 20 parsecs", 6, "`parsecs` is no unit here"),
        ("p99<fast", 4, "`fast` is no value"),
        ("p999<1s", 0, "between 0 and 100"),
        ("p9x<1s", 0, "no number of percent"),
        ("speed<1s", 0, "`speed` is no figure"),
        ("connect.speed<1s", 0, "`speed` is no statistic"),
        ("a: speed<1s", 3, "`speed` is no figure"),
        (": p99<1s", 0, "name of a phase"),
        ("p99!1s", 3, "no operator"),
        ("label(x.p99<1s", 14, "operator is missing"),
        ("label(x).<1s", 0, "no figure of a label"),
        ("status(x)==1", 0, "status(503)"),
        ("success>1ms", 8, "a percentage is written"),
        ("rss<1.2.3MiB", 4, "a size is written"),
    ] {
        let error = Assertion::parse(text).unwrap_err();
        assert_eq!(error.at, at, "{text}: {error}");
        assert!(error.message.contains(words), "{text}: {error}");
        let caret = error.to_string().lines().last().unwrap().len();
        assert_eq!(caret, at + 3, "{text}");
    }
}

#[test]
fn a_figure_of_failures_is_not_rounded_to_100() {
    let mut phase = phase();
    phase.tally.counts.completed = 100_000_000;
    phase.tally.counts.succeeded = 99_999_999;
    let outcome = Assertion::parse("success==100").unwrap().check(&phase);
    assert_eq!(
        outcome.to_string(),
        "failed  success==100: 99.99999 % (500 connections)"
    );
}

proptest::proptest! {
    #[test]
    fn no_text_is_too_strange(text in "[a-z0-9<>=!().: µ%]{0,20}") {
        if let Err(error) = Assertion::parse(&text) {
            proptest::prop_assert!(error.at <= text.len());
            proptest::prop_assert!(!error.to_string().is_empty());
        }
    }
}
