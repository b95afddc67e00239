//! `sessions`: ever more visitors, each of whom gets a session on one page and
//! comes back with it on the next; the time between, and whether it is still there.

use std::time::Duration;

use super::{Amount, Case, Level, Suite};
use crate::comparison::{Measure, Original, OriginalRow};
use crate::servers::Role;

pub(super) const SUITE: Suite = Suite {
    name: "sessions",
    question: "Where do web applications keep their sessions: how long does it take to come back with one, and is it \
               still there?",
    role: Role::Store,
    servers: &[
        "sessions-forebay",
        "sessions-forebay-always",
        "sessions-memcached",
        "sessions-redis",
        "sessions-redis-log",
        "sessions-tyrant",
        "sessions-files",
        "sessions-nfs",
    ],
    cases,
};

const SESSIONS: &[u64] = &[2_000, 3_000, 5_000, 10_000, 15_000];
const QUICK_SESSIONS: &[u64] = &[200, 1_000];

fn cases(quick: bool) -> Vec<Case> {
    let (sessions, within) = if quick {
        (QUICK_SESSIONS, Duration::from_secs(2))
    } else {
        (SESSIONS, Duration::from_secs(20))
    };
    let level = |&clients: &u64| Level {
        clients,
        amount: Amount::Within(within),
    };
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
    vec![Case {
        name: "sessions",
        about: format!(
            "All sessions begin within {} s, evenly. Each writes 1 KiB on a first page of PHP behind nginx, is \
             redirected, and reads it on a second page, where it is checked. The time counts from the moment the \
             first page was due until the second is there; processor time and memory are the store's, where it is a \
             process.",
            within.as_secs()
        ),
        probe: "/read".into(),
        load: words("session {url}/ --size 1KiB"),
        warm_up: words("session {url}/ --size 1KiB --sessions 200 -c 20 -d 60s"),
        keep_alive: true,
        measure: Measure::SessionMs,
        levels: sessions.iter().map(level).collect(),
        original: Some(original()),
        ..Case::default()
    }]
}

/// Where several runs are told, their mean; what was not measured is 0.
fn original() -> Original {
    const NONE: f64 = 0.0;
    let row = |server: &str, today: &str, figures: [f64; 5]| OriginalRow {
        server: server.into(),
        today: today.into(),
        figures: figures.to_vec(),
        success: Vec::new(),
    };
    Original {
        about: "about 2009, JMeter on 4 machines; the store on a Pentium 4 (2.4 GHz, 256 MB). With 6,000 sessions on \
                NFS 8,324 and 9,750 ms, and only 5,670 and 5,489 sessions succeeded"
            .into(),
        unit: "ms between the pages".into(),
        factor: 1.0,
        clients: SESSIONS.to_vec(),
        rows: vec![
            row("files on NFS", "sessions-nfs", [57.2, 188.7, 5506.5, NONE, NONE]),
            row("memcached", "sessions-memcached", [NONE, NONE, 8.69, 9.07, 9.33]),
            row("Tokyo Tyrant", "sessions-tyrant", [NONE, NONE, 8.92, 8.36, 10.38]),
        ],
    }
}
