//! `ladder`: one small page, ever more clients, a connection for each request.

use std::time::Duration;

use super::{Case, Suite, timed};
use crate::comparison::{Measure, Original, OriginalRow};
use crate::servers::Role;

pub(super) const SUITE: Suite = Suite {
    name: "ladder",
    question: "How many clients can ask for one small page at once, each time with a new connection, before requests fail?",
    role: Role::Cache,
    servers: &[
        "forebay",
        "varnish-file",
        "nginx-disk",
        "squid-ufs",
        "squid-mem",
        "origin",
    ],
    cases,
};

const PAGE_BYTES: u64 = 20_480;
const CLIENTS: &[u64] = &[500, 1_000, 3_000, 5_000, 10_000];
/// The two ends and the middle; ten thousand connections need a while to begin with.
const QUICK_STEPS: &[(u64, u64)] = &[(500, 2), (3_000, 2), (10_000, 4)];

fn cases(quick: bool) -> Vec<Case> {
    let mut case = Case::of_one("page", PAGE_BYTES, "html");
    case.about = "One page of 20 KB.".into();
    case.measure = Measure::PagesPerMinute;
    case.levels = if quick {
        let step = |&(clients, seconds)| timed(&[clients], Duration::from_secs(seconds));
        QUICK_STEPS.iter().flat_map(step).collect()
    } else {
        timed(CLIENTS, Duration::from_secs(30))
    };
    case.original = Some(original());
    vec![case]
}

fn original() -> Original {
    let row = |server: &str, today: &str, figures: [f64; 5], success: [f64; 5]| OriginalRow {
        server: server.into(),
        today: today.into(),
        figures: figures.to_vec(),
        success: success.to_vec(),
    };
    Original {
        about: "about 2012, webbench, 30 s a step; cache on 4 cores (Xeon E5506, 2.13 GHz, 8 GB), nginx as origin on \
                a second machine"
            .into(),
        unit: "10,000 pages/min".into(),
        factor: 10_000.0,
        clients: CLIENTS.to_vec(),
        rows: vec![
            row(
                "Squid 2.6 ufs",
                "squid-ufs",
                [81.0, 81.4, 81.7, 81.1, 82.5],
                [100.0, 100.0, 100.0, 100.0, 99.9],
            ),
            row(
                "Squid 2.6 coss",
                "squid-rock",
                [86.1, 87.1, 89.3, 87.3, 86.3],
                [100.0, 100.0, 100.0, 100.0, 99.9],
            ),
            row(
                "Varnish 3.0.2 (file)",
                "varnish-file",
                [140.0, 139.4, 140.2, 141.5, 148.5],
                [100.0, 100.0, 99.66, 99.26, 93.88],
            ),
            row(
                "nginx cache (4 workers)",
                "nginx-disk",
                [121.6, 125.9, 134.5, 145.5, 148.7],
                [100.0, 100.0, 99.99, 99.99, 99.82],
            ),
            row(
                "nginx origin itself",
                "origin",
                [133.0, 127.0, 162.1, 169.7, 191.6],
                [100.0, 100.0, 98.8, 96.9, 93.8],
            ),
        ],
    }
}
