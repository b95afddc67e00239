//! What is compared. A suite asks one question in one or more cases; a case
//! is a load at rising concurrency.
//!
//! A further suite is a file here: a function that returns its cases, and a
//! row in [`SUITES`].

mod disk;
mod documents;
mod frontends;
mod images;
mod ladder;
mod pages;
mod sessions;

use std::time::Duration;

use crate::comparison::{Measure, Original};
use crate::servers::{Role, Server};
use documents::Catalogue;

pub(crate) use documents::Document;

/// A comparison by name.
#[derive(Debug)]
pub(crate) struct Suite {
    pub(crate) name: &'static str,
    /// What it asks.
    pub(crate) question: &'static str,
    /// What those do that it is about.
    pub(crate) role: Role,
    /// Who takes part when nobody is named, as far as they are installed.
    pub(crate) servers: &'static [&'static str],
    /// Its cases; with less of everything when it has to be quick.
    pub(crate) cases: fn(quick: bool) -> Vec<Case>,
}

/// All of them.
pub(crate) const SUITES: &[Suite] = &[
    ladder::SUITE,
    pages::SUITE,
    images::SUITE,
    disk::SUITE,
    frontends::SUITE,
    sessions::SUITE,
];

/// One load.
#[derive(Clone, Debug, Default)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// What the reader of the report should know.
    pub(crate) about: String,
    /// What the origin has.
    pub(crate) documents: Vec<Document>,
    /// Lists of URLs and logs, by name.
    pub(crate) lists: Vec<(String, String)>,
    /// The document by which a server is seen to be ready: the first one's path.
    pub(crate) probe: String,
    /// The length of what an application answers to the probe, where there are no documents.
    pub(crate) answer_bytes: u64,
    /// Arguments of `forebay bench`; `{url}` is the server, `{lists}` the folder of lists.
    pub(crate) load: Vec<String>,
    /// Likewise, run once before a server's first step; nothing when the probe is enough.
    pub(crate) warm_up: Vec<String>,
    /// The servers' memory for cached objects, where the case is about it; else what was asked for.
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) keep_alive: bool,
    pub(crate) measure: Measure,
    pub(crate) levels: Vec<Level>,
    pub(crate) original: Option<Original>,
}

/// A step of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Level {
    pub(crate) clients: u64,
    pub(crate) amount: Amount,
}

/// How much load a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Amount {
    Time(Duration),
    Requests(u64),
    /// Each client once; all begin within this time, evenly.
    Within(Duration),
}

impl Amount {
    /// `30 s`, `10,000 requests`.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Time(time) => format!("{} s", time.as_secs_f64()),
            Self::Requests(count) => format!("{} requests", forebay_results::format::count(count)),
            Self::Within(time) => format!("all begun within {} s", time.as_secs_f64()),
        }
    }
}

impl Suite {
    /// Whether a server can do what is asked.
    pub(crate) fn is_for(&self, server: &Server) -> bool {
        self.role.group() == server.role.group()
    }
}

impl Case {
    /// A case about one document, its path derived from its length.
    fn of_one(name: &'static str, bytes: u64, kind: &str) -> Self {
        let document = Document::new(&format!("/{name}-{bytes}.{kind}"), bytes);
        Self {
            name,
            probe: document.path.clone(),
            load: vec![format!("{{url}}{}", document.path)],
            documents: vec![document],
            ..Self::default()
        }
    }

    /// A case about many documents: each is fetched once, then they are asked for in the order of a log of `lines`.
    fn of_site(name: &'static str, mut catalogue: Catalogue, lines: usize) -> Self {
        let count = catalogue.documents.len();
        Self {
            name,
            probe: catalogue
                .documents
                .first()
                .map(|d| d.path.clone())
                .unwrap_or_default(),
            lists: vec![
                ("site.urls".into(), catalogue.paths()),
                ("site.log".into(), catalogue.log(lines)),
            ],
            load: words("--log {lists}/site.log --log-format combined --base {url} --speed max"),
            warm_up: words(&format!(
                "--urls {{lists}}/site.urls --base {{url}} --order sequential -c 16 -n {count}"
            )),
            documents: catalogue.documents,
            keep_alive: true,
            ..Self::default()
        }
    }

    /// The length of the document that a server is probed with.
    pub(crate) fn probe_bytes(&self) -> u64 {
        self.documents
            .iter()
            .find(|d| d.path == self.probe)
            .map_or(self.answer_bytes, |d| d.bytes)
    }

    /// Of all documents together.
    pub(crate) fn set_bytes(&self) -> u64 {
        self.documents.iter().map(|d| d.bytes).sum()
    }

    /// The greatest number of clients.
    pub(crate) fn most_clients(&self) -> u64 {
        self.levels.iter().map(|l| l.clients).max().unwrap_or(0)
    }
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// Steps of the same length in time.
fn timed(clients: &[u64], time: Duration) -> Vec<Level> {
    clients
        .iter()
        .map(|&clients| Level {
            clients,
            amount: Amount::Time(time),
        })
        .collect()
}

/// The suite called `name`.
///
/// # Errors
/// When there is none, with those there are.
pub(crate) fn find(name: &str) -> Result<&'static Suite, String> {
    SUITES.iter().find(|s| s.name == name).ok_or_else(|| {
        let names: Vec<_> = SUITES.iter().map(|s| s.name).collect();
        format!("{name}: no such suite; there are {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_can_be_probed_and_every_default_server_exists() {
        let servers = crate::servers::built_in();
        for suite in SUITES {
            for name in suite.servers {
                assert!(servers.iter().any(|s| s.name == *name), "{name}");
            }
            let cases = (suite.cases)(true);
            assert!(!cases.is_empty());
            for case in cases {
                // The page that reads a session shows nothing to who has none.
                let is_empty = case.probe_bytes() == 0;
                assert_eq!(is_empty, suite.role == Role::Store, "{}", case.name);
                assert!(!case.levels.is_empty() && !case.load.is_empty());
            }
        }
    }

    #[test]
    fn originals_have_a_figure_for_every_column_and_name_servers_that_exist() {
        let servers = crate::servers::built_in();
        let cases = SUITES.iter().flat_map(|s| (s.cases)(true));
        for original in cases.filter_map(|c| c.original) {
            for row in &original.rows {
                assert_eq!(row.figures.len(), original.clients.len(), "{}", row.server);
                assert!(row.success.is_empty() || row.success.len() == row.figures.len());
                assert!(servers.iter().any(|s| s.name == row.today), "{}", row.today);
            }
        }
    }

    #[test]
    fn a_quick_suite_is_short_for_a_few_servers() {
        for suite in SUITES {
            // Two rounds and four servers; a count takes a second at most where it is quick.
            let seconds: f64 = (suite.cases)(true)
                .iter()
                .flat_map(|c| &c.levels)
                .map(|l| match l.amount {
                    Amount::Time(time) | Amount::Within(time) => time.as_secs_f64(),
                    Amount::Requests(_) => 1.0,
                })
                .sum();
            assert!(seconds * 8.0 < 100.0, "{}: {seconds}", suite.name);
        }
    }
}
