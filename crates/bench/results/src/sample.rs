//! Made-up reports for the tests of renderings: always the same figures.

use crate::{
    Cause, ClientUse, LabelTally, Machine, Phase, Point, Report, ServerSample, ServerUse, Tally,
};

/// A number that wanders between -1 and 1 with its seed, the same every time.
fn noise(seed: u64) -> f64 {
    let mixed = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

/// A duration drawn from a skewed distribution around `typical_ns`.
fn duration(seed: u64, typical_ns: f64) -> u64 {
    let bell = (0..4).map(|i| noise(seed * 4 + i)).sum::<f64>();
    let tail = if noise(seed ^ 0x55) > 0.97 { 6.0 } else { 1.0 };
    (typical_ns * (0.45 * bell).exp() * tail) as u64
}

fn tally(requests: u64, typical_ns: f64, failed: u64, seed: u64) -> Tally {
    let mut tally = Tally::default();
    for i in 0..requests {
        let whole = duration(seed + i, typical_ns);
        tally.latency.whole.record(whole);
        tally.latency.first_byte.record(whole * 7 / 10);
        if i % 100 == 0 {
            tally.latency.connect.record(duration(seed + i, 45_000.0));
        }
    }
    let counts = &mut tally.counts;
    counts.completed = requests;
    counts.succeeded = requests - failed;
    counts.connects = requests / 100;
    counts.bytes_received = requests * 20_700;
    counts.body_bytes = requests * 20_480;
    counts.bytes_sent = requests * 96;
    counts.hits = requests * 989 / 1000;
    counts.misses = requests - counts.hits;
    if failed > 0 {
        counts.failed.insert(Cause::Timeout, failed - 1);
        counts.failed.insert(Cause::Status, 1);
        counts.statuses.insert(503, 1);
        tally.fault("status 503 instead of 200");
    }
    let wrong = u64::from(failed > 0);
    tally.counts.statuses.insert(200, requests - wrong);
    tally
}

/// A phase of 20 seconds; `factor` makes its server faster.
pub(crate) fn phase(
    name: &str,
    connections: u64,
    requests: u64,
    failed: u64,
    factor: f64,
    seed: u64,
) -> Phase {
    let seconds = 20.0;
    let typical_ns = connections as f64 / (requests as f64 / seconds) * 1e9 / factor;
    let points = (0..20_u64).map(|i| {
        let sway = 1.0 + 0.03 * noise(seed * 31 + i) - if i == 12 { 0.3 } else { 0.0 };
        let slow =
            |share: f64, i: u64| (typical_ns * share * (1.0 + 0.05 * noise(seed * 17 + i))) as u64;
        Point {
            at: i as f64 + 1.0,
            seconds: 1.0,
            succeeded: (requests as f64 / seconds * sway) as u64,
            failed: if i == 12 { failed } else { 0 },
            bytes_received: (requests as f64 / seconds * sway * 20_700.0) as u64,
            open: connections,
            p50_ns: slow(0.95, i),
            p90_ns: slow(1.8, i + 100),
            p99_ns: slow(if i == 12 { 9.0 } else { 5.5 }, i + 200),
            max_ns: slow(12.0, i + 300),
        }
    });
    let samples = (1..=20_u64).map(|i| ServerSample {
        at: i as f64,
        cores: 0.93 + 0.03 * noise(seed + i),
        resident_bytes: (90 << 20) + i * (connections * 900 + 400_000),
    });
    Phase {
        name: name.into(),
        connections,
        keep_alive: true,
        pipeline: 1,
        threads: 2,
        seconds,
        tally: tally(requests, typical_ns, failed, seed),
        series: points.collect(),
        client: ClientUse {
            cpu_seconds: 14.2,
            busiest_thread: 0.71,
            resident_bytes: 21 << 20,
        },
        server: Some(ServerUse {
            name: "forebay".into(),
            pids: vec![4211],
            user_seconds: 7.4,
            system_seconds: 11.2,
            cpu_us_per_request: 18.6e6 / requests as f64 / factor,
            peak_resident_bytes: (90 << 20) + 20 * (connections * 900 + 400_000),
            samples: samples.collect(),
        }),
        ..Phase::default()
    }
}

fn report(phases: Vec<Phase>) -> Report {
    Report {
        format: 1,
        program: "forebay 0.1.0".into(),
        title: "GET http://127.0.0.1:8080/".into(),
        command: ["forebay", "bench", "http://127.0.0.1:8080/", "-d", "20s"]
            .map(String::from)
            .to_vec(),
        started: "2026-11-21T20:15:00Z".into(),
        machines: vec![Machine {
            name: "bench-1".into(),
            system: "Linux 6.12.0 x86_64".into(),
            processor: "Xeon Platinum 8375C @ 2.90GHz".into(),
            cores: 2,
            memory_bytes: 8 << 30,
            completed: phases
                .iter()
                .map(|phase| phase.tally.counts.completed)
                .sum(),
            lost: None,
        }],
        phases,
        warnings: vec!["the load tester was saturated: a thread was busy 97 % of the time".into()],
        finding: None,
    }
}

/// A run of one phase, with three failures and two labels.
pub(crate) fn single() -> Report {
    let mut phase = phase("50 connections", 50, 100_000, 3, 1.0, 7);
    for (i, name) in ["home", "product <1>"].into_iter().enumerate() {
        phase.labels.push(name.into());
        let mut label = LabelTally {
            succeeded: 49_999 - i as u64,
            failed: i as u64,
            ..LabelTally::default()
        };
        for request in 0..5000 {
            label.whole.record(duration(request, 8e6 * (i + 1) as f64));
        }
        phase.tally.labels.push(label);
    }
    report(vec![phase])
}

/// A run of three phases.
pub(crate) fn ladder() -> Report {
    report(vec![
        phase("500 connections", 500, 60_000, 0, 1.0, 1),
        phase("1,000 connections", 1000, 64_000, 0, 1.0, 2),
        phase("3,000 connections", 3000, 61_000, 240, 1.0, 3),
    ])
}
