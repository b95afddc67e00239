//! `pages`: a small and a large page over kept connections, then a whole site
//! by its access log; processor time and memory count as much as speed.

use std::time::Duration;

use super::documents::Catalogue;
use super::{Case, Suite, timed};
use crate::comparison::{Measure, Original, OriginalRow};
use crate::servers::Role;

pub(super) const SUITE: Suite = Suite {
    name: "pages",
    question: "What do pages of a site cost a cache: in requests a second, in processor time, in memory?",
    role: Role::Cache,
    servers: &[
        "forebay",
        "varnish-malloc",
        "squid-mem",
        "nginx-disk",
        "haproxy",
    ],
    cases,
};

const CLIENTS: &[u64] = &[10, 100, 500, 1_000];
const QUICK_CLIENTS: &[u64] = &[10, 1_000];

fn cases(quick: bool) -> Vec<Case> {
    vec![
        page(quick, "small", 6_221, small()),
        page(quick, "large", 75_356, large()),
        site(quick),
    ]
}

fn page(quick: bool, name: &'static str, bytes: u64, rows: Vec<OriginalRow>) -> Case {
    let mut case = Case::of_one(name, bytes, "html");
    case.about = format!(
        "One page of {} bytes.",
        forebay_results::format::count(bytes)
    );
    case.keep_alive = true;
    case.measure = Measure::RequestsPerSecond;
    case.levels = if quick {
        timed(QUICK_CLIENTS, Duration::from_secs(2))
    } else {
        timed(CLIENTS, Duration::from_secs(20))
    };
    case.original = Some(original("siege, 60 s a step", rows));
    case
}

/// Different URLs, and lines of the log.
fn site(quick: bool) -> Case {
    let (urls, lines) = if quick {
        (5_000, 25_000)
    } else {
        (50_000, 250_000)
    };
    let mut case = Case::of_site("site", Catalogue::new(urls), lines);
    case.about = format!(
        "{} different pages in the order of an access log (popularity by Zipf's law, exponent 0.9), after each page was fetched once.",
        forebay_results::format::count(urls as u64)
    );
    case.measure = Measure::RequestsPerSecond;
    case.levels = if quick {
        timed(QUICK_CLIENTS, Duration::from_secs(2))
    } else {
        timed(CLIENTS, Duration::from_secs(20))
    };
    case.original = Some(original(
        "50,000 URLs of a production access log, 120 s a step",
        logged(),
    ));
    case
}

fn original(how: &str, rows: Vec<OriginalRow>) -> Original {
    Original {
        about: format!("2011, {how}; 8 cores (2 Xeon E5410), 16 GB"),
        unit: "requests/s".into(),
        factor: 1.0,
        clients: CLIENTS.to_vec(),
        rows,
    }
}

fn row(server: &str, today: &str, figures: [f64; 4]) -> OriginalRow {
    OriginalRow {
        server: server.into(),
        today: today.into(),
        figures: figures.to_vec(),
        success: Vec::new(),
    }
}

fn small() -> Vec<OriginalRow> {
    vec![
        row(
            "Squid 2.6.23",
            "squid-mem",
            [8207.0, 11_211.0, 11_016.0, 10_451.0],
        ),
        row(
            "Squid 2.7.9",
            "squid-mem",
            [8261.0, 11_409.0, 11_006.0, 10_002.0],
        ),
        row(
            "Squid 3.0.25",
            "squid-mem",
            [8524.0, 9762.0, 8138.0, 8768.0],
        ),
        row(
            "Squid 3.1.11",
            "squid-mem",
            [6421.0, 6832.0, 5990.0, 5834.0],
        ),
        row(
            "Varnish 2.1.5",
            "varnish-malloc",
            [10_875.0, 10_251.0, 11_459.0, 11_412.0],
        ),
    ]
}

fn large() -> Vec<OriginalRow> {
    vec![
        row(
            "Squid 2.6.23 (4 failed at 1,000)",
            "squid-mem",
            [4554.0, 6382.0, 6625.0, 6696.0],
        ),
        row("Squid 2.7.9", "squid-mem", [4164.0, 6234.0, 6565.0, 6588.0]),
        row(
            "Squid 3.0.25",
            "squid-mem",
            [4366.0, 5315.0, 5190.0, 5153.0],
        ),
        row(
            "Squid 3.1.11",
            "squid-mem",
            [3697.0, 4217.0, 4357.0, 4075.0],
        ),
        row(
            "Varnish 2.1.5",
            "varnish-malloc",
            [6618.0, 6781.0, 6775.0, 5714.0],
        ),
    ]
}

fn logged() -> Vec<OriginalRow> {
    vec![
        row("Squid 2.6", "squid-mem", [2839.0, 5485.0, 6722.0, 6604.0]),
        row("Squid 2.7", "squid-mem", [2981.0, 5215.0, 6789.0, 6742.0]),
        row("Squid 3.0", "squid-mem", [2863.0, 4294.0, 4345.0, 3859.0]),
    ]
}
