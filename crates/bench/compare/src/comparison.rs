//! What a comparison found, as it is kept in `compare.json`: everything that
//! its reports are made from, so that they can be made again without running.

use std::collections::BTreeMap;
use std::path::Path;

use forebay_results::{Machine, Phase, SessionFigures};
use serde::{Deserialize, Serialize};

use crate::servers::Role;

/// Of the file; files of another are refused.
pub(crate) const FORMAT: u32 = 1;

/// A whole comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Comparison {
    pub(crate) format: u32,
    /// The program that ran it, and its version.
    pub(crate) program: String,
    pub(crate) suite: String,
    /// What the suite asks.
    pub(crate) question: String,
    /// RFC 3339.
    pub(crate) started: String,
    pub(crate) seconds: f64,
    pub(crate) command: Vec<String>,
    pub(crate) machine: Machine,
    pub(crate) method: Method,
    pub(crate) servers: Vec<Contestant>,
    pub(crate) cases: Vec<CaseResult>,
    /// What a reader must know before believing the figures.
    pub(crate) notes: Vec<String>,
}

/// How it was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Method {
    pub(crate) rounds: u32,
    pub(crate) quick: bool,
    /// Cores of the servers, as `taskset` writes them; empty when they were not pinned.
    pub(crate) server_cores: String,
    /// Cores of the load tester and of the origin.
    pub(crate) client_cores: String,
    pub(crate) workers: usize,
    pub(crate) memory_bytes: u64,
    pub(crate) descriptors: u64,
    /// Closed connections' ports.
    pub(crate) ports: String,
    /// The origin's command line.
    pub(crate) origin: String,
    /// The machine's load average before it began.
    pub(crate) load_before: f64,
}

/// A server that took part, or would have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Contestant {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) role: Role,
    pub(crate) version: String,
    /// As of its last start.
    pub(crate) command: String,
    /// Environment that its command needs, `NAME=value`.
    pub(crate) environment: Vec<String>,
    /// As of its last start.
    pub(crate) files: Vec<ConfigFile>,
    /// Why it did not take part.
    pub(crate) left_out: Option<String>,
}

/// A file that a server was given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ConfigFile {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// The figure that decides a case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Measure {
    #[default]
    RequestsPerSecond,
    PagesPerMinute,
    /// Mean time between the two pages of a session.
    SessionMs,
}

impl Measure {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::RequestsPerSecond => "requests/s",
            Self::PagesPerMinute => "pages/min",
            Self::SessionMs => "ms",
        }
    }

    /// What is told of each step, for the caption of a table.
    pub(crate) fn caption(self) -> String {
        match self {
            Self::SessionMs => "Mean time between the two pages, ms".into(),
            rate => format!("Successful {}", rate.name()),
        }
    }

    /// What there is more of from step to step.
    pub(crate) fn steps(self) -> &'static str {
        match self {
            Self::SessionMs => "sessions",
            Self::RequestsPerSecond | Self::PagesPerMinute => "clients",
        }
    }

    /// Whether a smaller figure is the better one.
    pub(crate) fn less_is_better(self) -> bool {
        self == Self::SessionMs
    }

    pub(crate) fn of(self, figures: &Figures) -> f64 {
        match self {
            Self::RequestsPerSecond => figures.requests_per_second,
            Self::PagesPerMinute => figures.requests_per_second * 60.0,
            Self::SessionMs => figures.session_ms.unwrap_or(f64::NAN),
        }
    }
}

/// One case with all its turns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct CaseResult {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) measure: Measure,
    pub(crate) keep_alive: bool,
    pub(crate) levels: Vec<LevelResult>,
    pub(crate) original: Option<Original>,
}

/// One step of a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LevelResult {
    pub(crate) clients: u64,
    /// `30 s`, `10,000 requests`.
    pub(crate) amount: String,
    pub(crate) turns: Vec<Turn>,
}

/// What one server did at one step in one round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Turn {
    pub(crate) server: String,
    pub(crate) round: u32,
    /// `None` when there is a fault.
    pub(crate) figures: Option<Figures>,
    pub(crate) fault: Option<String>,
}

/// The figures of one turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Figures {
    /// Successful ones.
    pub(crate) requests_per_second: f64,
    pub(crate) completed: u64,
    pub(crate) succeeded: u64,
    /// By cause.
    pub(crate) failed: BTreeMap<String, u64>,
    pub(crate) mean_ms: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p95_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) max_ms: f64,
    /// The server's processor time a request.
    pub(crate) cpu_us: Option<f64>,
    /// Cores that the server had in use.
    pub(crate) server_cores: Option<f64>,
    pub(crate) resident_bytes: Option<u64>,
    /// Requests that the origin got meanwhile; `None` when it does not count.
    pub(crate) origin_requests: Option<u64>,
    /// Share of its time that the load tester's busiest thread was on a processor.
    pub(crate) client_busy: f64,
    /// Mean time between the two pages of a session.
    pub(crate) session_ms: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sessions: Option<SessionSums>,
}

/// What became of sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SessionSums {
    /// Time between the two pages.
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) kept: u64,
    pub(crate) lost: u64,
    pub(crate) wrong: u64,
    /// Those of which a page failed.
    pub(crate) failed: u64,
}

impl SessionSums {
    fn of(figures: &SessionFigures) -> Self {
        let percentile = |p: f64| figures.between.percentile_ns(p) as f64 / 1e6;
        let (kept, lost, wrong) = (figures.kept, figures.lost, figures.wrong);
        Self {
            p50_ms: percentile(50.0),
            p99_ms: percentile(99.0),
            kept,
            lost,
            wrong,
            failed: figures.sessions.saturating_sub(kept + lost + wrong),
        }
    }
}

impl Figures {
    /// Those of a stretch of load.
    pub(crate) fn of(phase: &Phase, origin_requests: Option<u64>) -> Self {
        let (counts, whole) = (&phase.tally.counts, &phase.tally.latency.whole);
        let percentile = |p: f64| whole.percentile_ns(p) as f64 / 1e6;
        let server = phase.server.as_ref();
        let seconds = phase.seconds.max(f64::MIN_POSITIVE);
        Self {
            requests_per_second: phase.requests_per_second(),
            completed: counts.completed,
            succeeded: counts.succeeded,
            failed: counts
                .failed
                .iter()
                .map(|(cause, &count)| (cause.name().to_owned(), count))
                .collect(),
            mean_ms: whole.mean_ns() / 1e6,
            p50_ms: percentile(50.0),
            p95_ms: percentile(95.0),
            p99_ms: percentile(99.0),
            max_ms: whole.max_ns() as f64 / 1e6,
            cpu_us: server.map(|s| s.cpu_us_per_request),
            server_cores: server.map(|s| (s.user_seconds + s.system_seconds) / seconds),
            resident_bytes: server.map(|s| s.peak_resident_bytes),
            origin_requests,
            client_busy: phase.client.busiest_thread,
            session_ms: phase
                .tally
                .sessions
                .as_ref()
                .map(|s| s.between.mean_ns() / 1e6),
            sessions: phase.tally.sessions.as_ref().map(SessionSums::of),
        }
    }

    /// All failed requests.
    pub(crate) fn failures(&self) -> u64 {
        self.failed.values().sum()
    }
}

/// What was measured when the question was first asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Original {
    /// When, with which tool, on what.
    pub(crate) about: String,
    /// Of the figures.
    pub(crate) unit: String,
    /// What a figure of the original's is multiplied with to be one of the case's measure.
    pub(crate) factor: f64,
    /// The columns.
    pub(crate) clients: Vec<u64>,
    pub(crate) rows: Vec<OriginalRow>,
}

/// A server of the original.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct OriginalRow {
    pub(crate) server: String,
    /// The server of today that comes closest.
    pub(crate) today: String,
    /// 0 where it was not measured.
    pub(crate) figures: Vec<f64>,
    /// Successful requests in percent, where they were told.
    pub(crate) success: Vec<f64>,
}

impl Comparison {
    /// Reads `compare.json` in `dir`.
    ///
    /// # Errors
    /// When it is not there, or not one of ours.
    pub(crate) fn read(dir: &Path) -> Result<Self, String> {
        let file = dir.join("compare.json");
        let shown = file.display();
        let text = std::fs::read_to_string(&file).map_err(|e| format!("{shown}: {e}"))?;
        let read: Self = serde_json::from_str(&text)
            .map_err(|e| format!("{shown}: not the result of a comparison: {e}"))?;
        if read.format == FORMAT {
            Ok(read)
        } else {
            Err(format!(
                "{shown}: its format is {}, this program reads {FORMAT}",
                read.format
            ))
        }
    }

    /// Writes `compare.json` into `dir`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn write(&self, dir: &Path) -> Result<(), String> {
        let text = serde_json::to_string_pretty(self).map_err(|e| e.to_string())?;
        let file = dir.join("compare.json");
        std::fs::write(&file, text + "\n").map_err(|e| format!("{}: {e}", file.display()))
    }

    /// The server that all others are set in relation to.
    pub(crate) fn reference(&self) -> &str {
        let servers: Vec<_> = self.contestants().collect();
        reference(&servers)
    }

    /// The servers that took part.
    pub(crate) fn contestants(&self) -> impl Iterator<Item = &Contestant> {
        self.servers.iter().filter(|s| s.left_out.is_none())
    }
}

/// Forebay or its first kind, if it is among these; else the first of them.
pub(crate) fn reference<'a>(servers: &[&'a Contestant]) -> &'a str {
    let named = |is: fn(&str) -> bool| servers.iter().find(move |s| is(&s.name));
    named(|name| name == "forebay")
        .or_else(|| named(|name| name.split('-').any(|part| part == "forebay")))
        .or_else(|| servers.first())
        .map_or("", |s| s.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference_of(names: &[&str]) -> String {
        let servers: Vec<Contestant> = names
            .iter()
            .map(|name| Contestant {
                name: (*name).into(),
                ..Contestant::default()
            })
            .collect();
        reference(&servers.iter().collect::<Vec<_>>()).to_owned()
    }

    #[test]
    fn others_are_set_in_relation_to_forebay_where_it_takes_part() {
        assert_eq!(reference_of(&["a", "forebay-1-thin", "forebay"]), "forebay");
        assert_eq!(reference_of(&["a", "sessions-forebay"]), "sessions-forebay");
        assert_eq!(reference_of(&["a", "not-forebays"]), "a");
        assert_eq!(reference_of(&[]), "");
    }

    #[test]
    fn sessions_that_are_neither_kept_nor_lost_nor_wrong_have_failed() {
        let figures = SessionFigures {
            sessions: 10,
            kept: 5,
            lost: 2,
            wrong: 1,
            ..SessionFigures::default()
        };
        assert_eq!(SessionSums::of(&figures).failed, 2);
    }
}
