//! `images`: a large picture and a thumbnail, fixed numbers of requests by
//! more and more clients; caches in memory against caches on disk.

use super::{Amount, Case, Level, Suite};
use crate::comparison::{Measure, Original, OriginalRow};
use crate::servers::Role;

pub(super) const SUITE: Suite = Suite {
    name: "images",
    question: "Pictures from memory, from disk, or as plain files: what is fastest, and does it stay so with more clients?",
    role: Role::Cache,
    servers: &[
        "nginx-static",
        "forebay",
        "varnish-file",
        "varnish-malloc",
        "nginx-disk",
        "nginx-tmpfs",
    ],
    cases,
};

/// Requests by clients.
const STEPS: &[(u64, u64)] = &[(500, 5), (1_000, 50), (10_000, 150), (10_000, 300)];
const QUICK_STEPS: &[(u64, u64)] = &[(1_000, 50), (5_000, 300)];

fn cases(quick: bool) -> Vec<Case> {
    let large = (
        [9899.0, 9248.0, 10_334.0, 8260.0],
        [4674.0, 6895.0, 7258.0, 2525.0],
        [5657.0, 6324.0, 6617.0, 6337.0],
    );
    let thumbnail = (
        [11_260.0, 11_398.0, 11_572.0, 11_248.0],
        [6449.0, 8098.0, 9054.0, 2814.0],
        [6519.0, 8005.0, 9188.0, 3186.0],
    );
    vec![
        picture(quick, "large", 204_800, original(large)),
        picture(quick, "thumbnail", 10_240, original(thumbnail)),
    ]
}

fn picture(quick: bool, name: &'static str, bytes: u64, original: Original) -> Case {
    let mut case = Case::of_one(name, bytes, "jpg");
    case.about = format!("A picture of {} KiB.", bytes >> 10);
    case.measure = Measure::RequestsPerSecond;
    case.levels = if quick { QUICK_STEPS } else { STEPS }
        .iter()
        .map(|&(requests, clients)| Level {
            clients,
            amount: Amount::Requests(requests),
        })
        .collect();
    case.original = Some(original);
    case
}

fn original((files, disk, memory): ([f64; 4], [f64; 4], [f64; 4])) -> Original {
    let row = |server: &str, today: &str, figures: [f64; 4]| OriginalRow {
        server: server.into(),
        today: today.into(),
        figures: figures.to_vec(),
        success: Vec::new(),
    };
    Original {
        about: "2013, ab; virtual machine, 2 cores of 3.6 GHz, 1 GB".into(),
        unit: "requests/s".into(),
        factor: 1.0,
        clients: STEPS.iter().map(|s| s.1).collect(),
        rows: vec![
            row("nginx, static files", "nginx-static", files),
            row("Varnish 2.1 on disk", "varnish-file", disk),
            row("Varnish 2.1 in memory", "varnish-malloc", memory),
        ],
    }
}
