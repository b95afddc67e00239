#![allow(clippy::unwrap_used)]
use super::*;
use crate::{Histogram, Point, ServerSample, ServerUse, sample};

/// What a made-up server does.
#[derive(Clone, Copy)]
struct Server {
    typical_ns: f64,
    /// How much a second's speed differs from the next one's.
    sway: f64,
    /// One request in so many fails.
    failing: Option<u64>,
    cpu_us: f64,
}

const USUAL: Server = Server {
    typical_ns: 1e6,
    sway: 0.03,
    failing: None,
    cpu_us: 20.0,
};

fn random(seed: &mut u64) -> f64 {
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    let mixed = (*seed ^ (*seed >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    ((mixed ^ (mixed >> 33)) >> 11) as f64 / (1_u64 << 53) as f64
}

fn bell(seed: &mut u64) -> f64 {
    (0..12).map(|_| random(seed)).sum::<f64>() - 6.0
}

/// Thirty seconds in which a slow second slows all its requests.
fn run(server: Server, seed: u64) -> Report {
    let mut seed = seed * 1000 + 1;
    let mut phase = Phase {
        name: "50 connections".into(),
        connections: 50,
        seconds: 30.0,
        ..Phase::default()
    };
    let mut samples = vec![ServerSample::default()];
    for second in 1..=30_u32 {
        let pace = (server.sway * bell(&mut seed)).exp();
        let mut durations = Histogram::default();
        let requests = (1500.0 / pace * 1e6 / server.typical_ns) as u64;
        for _ in 0..requests {
            durations.record((server.typical_ns * pace * (0.4 * bell(&mut seed)).exp()) as u64);
        }
        let failed = server.failing.map_or(0, |every| requests / every);
        phase.series.push(Point {
            at: f64::from(second),
            seconds: 1.0,
            succeeded: requests - failed,
            failed,
            p50_ns: durations.percentile_ns(50.0),
            p90_ns: durations.percentile_ns(90.0),
            p99_ns: durations.percentile_ns(99.0),
            max_ns: durations.max_ns(),
            ..Point::default()
        });
        samples.push(ServerSample {
            at: f64::from(second),
            cores: server.cpu_us * pace * requests as f64 / 1e6,
            resident_bytes: 1 << 28,
        });
        phase.tally.latency.whole.merge(&durations);
        phase.tally.counts.completed += requests;
        phase.tally.counts.succeeded += requests - failed;
    }
    phase.server = Some(ServerUse {
        cpu_us_per_request: server.cpu_us,
        peak_resident_bytes: 1 << 28,
        samples,
        ..ServerUse::default()
    });
    Report {
        phases: vec![phase],
        ..Report::default()
    }
}

fn verdicts(before: Server, after: Server, seed: u64) -> Vec<(String, Verdict)> {
    let diff = diff(&run(before, seed), &run(after, seed + 1));
    diff.phases[0]
        .changes
        .iter()
        .map(|change| (change.figure.clone(), change.verdict))
        .collect()
}

fn verdict(verdicts: &[(String, Verdict)], figure: &str) -> Verdict {
    verdicts.iter().find(|(name, _)| name == figure).unwrap().1
}

#[test]
fn the_same_server_twice_is_within_noise() {
    let (mut all, mut wrong) = (0, 0);
    for seed in 0..40 {
        for (_, verdict) in verdicts(USUAL, USUAL, seed * 2) {
            all += 1;
            wrong += usize::from(matches!(verdict, Verdict::Better | Verdict::Worse));
        }
    }
    assert!(
        wrong * 50 <= all,
        "{wrong} of {all} figures were called different"
    );
}

#[test]
fn a_tenth_faster_is_seen() {
    let faster = Server {
        typical_ns: 0.9e6,
        ..USUAL
    };
    let found = verdicts(USUAL, faster, 3);
    for figure in ["requests/s", "mean", "p50", "p90", "p99"] {
        assert_eq!(
            verdict(&found, figure),
            Verdict::Better,
            "{figure}: {found:?}"
        );
    }
    let found = verdicts(faster, USUAL, 3);
    for figure in ["requests/s", "mean", "p50", "p90", "p99"] {
        assert_eq!(
            verdict(&found, figure),
            Verdict::Worse,
            "{figure}: {found:?}"
        );
    }
}

#[test]
fn what_is_sure_but_small_is_noise() {
    let steady = Server {
        sway: 0.0001,
        ..USUAL
    };
    let found = verdicts(
        steady,
        Server {
            typical_ns: 0.997e6,
            ..steady
        },
        5,
    );
    assert_eq!(verdict(&found, "requests/s"), Verdict::WithinNoise);
}

#[test]
fn failures_are_seen_however_few() {
    let found = verdicts(
        USUAL,
        Server {
            failing: Some(1000),
            ..USUAL
        },
        7,
    );
    assert_eq!(verdict(&found, "success"), Verdict::Worse, "{found:?}");
}

#[test]
fn a_dearer_server_is_seen() {
    let found = verdicts(
        USUAL,
        Server {
            cpu_us: 24.0,
            ..USUAL
        },
        9,
    );
    assert_eq!(verdict(&found, "CPU/request"), Verdict::Worse, "{found:?}");
    assert_eq!(verdict(&found, "resident"), Verdict::WithinNoise);
}

#[test]
fn one_stall_is_not_a_slower_tail() {
    let before = run(USUAL, 11);
    let mut after = run(USUAL, 12);
    let phase = &mut after.phases[0];
    for _ in 0..300 {
        phase.tally.latency.whole.record(900_000_000);
    }
    phase.series[7].max_ns = 900_000_000;
    let diff = diff(&before, &after);
    let tail = diff.phases[0]
        .changes
        .iter()
        .find(|change| change.figure == "p99.9")
        .unwrap();
    assert!(tail.change_percent.unwrap() > 1000.0);
    assert_eq!(tail.verdict, Verdict::TooFew);
}

#[test]
fn phases_belong_together_by_name() {
    let before = sample::ladder();
    let mut after = sample::ladder();
    after.phases.remove(0);
    after
        .phases
        .push(sample::phase("9,000 connections", 9000, 1000, 0, 1.0, 5));
    let diff = diff(&before, &after);
    let names: Vec<&str> = diff
        .phases
        .iter()
        .map(|phase| phase.name.as_str())
        .collect();
    assert_eq!(names, ["1,000 connections", "3,000 connections"]);
    assert_eq!(diff.only_before, ["500 connections"]);
    assert_eq!(diff.only_after, ["9,000 connections"]);
}

#[test]
fn what_the_runs_do_not_share_is_said() {
    let before = sample::single();
    let mut after = sample::single();
    after.machines[0].cores = 64;
    after.phases[0].keep_alive = false;
    let text = diff(&before, &after).table();
    for piece in [
        "same machines",
        "not the same keep-alive",
        "before: the load tester was saturated",
        "within noise",
    ] {
        assert!(text.contains(piece), "{piece}:\n{text}");
    }
}

#[test]
fn nothing_in_common_is_no_trouble() {
    let empty = Report {
        phases: vec![Phase::default()],
        ..Report::default()
    };
    for (before, after) in [
        (&empty, &empty),
        (&sample::single(), &empty),
        (&Report::default(), &empty),
    ] {
        let diff = diff(before, after);
        assert!(!diff.table().contains("NaN") && !diff.markdown().contains("NaN"));
        let text = serde_json::to_string(&diff).unwrap();
        assert_eq!(serde_json::from_str::<Diff>(&text).unwrap(), diff);
    }
}
