//! The load: `forebay bench` as a child, and the report that it leaves.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use forebay_results::{Phase, Report};

use crate::command;
use crate::cores::Cores;
use crate::process::Running;
use crate::suites::{Amount, Case, Level};

/// How long a request may take before it has failed.
const REQUEST_TIMEOUT: &str = "30s";
/// A quarter of the measured time goes before it, within these.
const SHORT_WARM_UP: Duration = Duration::from_millis(500);
const LONG_WARM_UP: Duration = Duration::from_secs(2);
/// What a run of `forebay bench` may take beyond its load.
const SLACK: Duration = Duration::from_secs(120);
/// How long a fixed number of requests may take.
const LONGEST_COUNT: Duration = Duration::from_secs(900);
/// After clients that each come once have all begun, the last ones may take so long.
const LONGEST_LATENESS: Duration = Duration::from_secs(60);
/// How much of what it printed goes into an error.
const MOST_LINES: usize = 12;

/// How load is made.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    /// The program whose `bench` it is.
    pub(crate) program: PathBuf,
    /// Cores, as `taskset` reads them; empty for any.
    pub(crate) cores: String,
    pub(crate) threads: usize,
    /// The folder of lists of URLs.
    pub(crate) lists: PathBuf,
    /// Where the reports of single turns go.
    pub(crate) reports: PathBuf,
}

/// Whom it meets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Against {
    pub(crate) address: SocketAddr,
    /// The process whose processor time and memory are observed, if any is.
    pub(crate) observed: Option<u32>,
}

impl Load {
    /// Runs one step of a case; its report is kept under `name`.
    ///
    /// # Errors
    /// When the load tester fails, or leaves no report.
    pub(crate) fn step(
        &self,
        case: &Case,
        level: Level,
        against: Against,
        name: &str,
    ) -> Result<Phase, String> {
        let mut arguments = self.filled(&case.load, against.address);
        arguments.extend(["-c".into(), level.clients.to_string()]);
        let limit = match level.amount {
            Amount::Time(time) => {
                let warm_up = (time / 4).clamp(SHORT_WARM_UP, LONG_WARM_UP);
                arguments.extend(["-d".into(), format!("{}ms", time.as_millis())]);
                arguments.extend(["--warmup".into(), format!("{}ms", warm_up.as_millis())]);
                time + warm_up + SLACK
            }
            Amount::Requests(count) => {
                arguments.extend(["-n".into(), count.to_string()]);
                LONGEST_COUNT
            }
            Amount::Within(time) => {
                let rate = level.clients as f64 / time.as_secs_f64();
                let longest = time + LONGEST_LATENESS;
                arguments.extend(["--sessions".into(), level.clients.to_string()]);
                arguments.extend(["--rate".into(), rate.to_string()]);
                arguments.extend(["-d".into(), format!("{}s", longest.as_secs())]);
                longest + SLACK
            }
        };
        if !case.keep_alive {
            arguments.push("--no-keepalive".into());
        }
        self.run(arguments, against, name, limit)
    }

    /// Runs a case's warm-up, if it has one.
    ///
    /// # Errors
    /// Like [`Load::step`].
    pub(crate) fn warm_up(&self, case: &Case, against: Against, name: &str) -> Result<(), String> {
        if case.warm_up.is_empty() {
            return Ok(());
        }
        let arguments = self.filled(&case.warm_up, against.address);
        self.run(arguments, against, name, LONGEST_COUNT).map(drop)
    }

    fn filled(&self, arguments: &[String], address: SocketAddr) -> Vec<String> {
        let (url, lists) = (
            format!("http://{address}"),
            self.lists.display().to_string(),
        );
        arguments
            .iter()
            .map(|a| a.replace("{url}", &url).replace("{lists}", &lists))
            .collect()
    }

    fn run(
        &self,
        mut arguments: Vec<String>,
        against: Against,
        name: &str,
        limit: Duration,
    ) -> Result<Phase, String> {
        let json = self.reports.join(format!("{name}.json"));
        let output = self.reports.join(format!("{name}.txt"));
        // What an earlier comparison left must not be taken for this one's.
        let _ = fs::remove_file(&json);
        arguments.extend(["-t".into(), self.threads.to_string()]);
        arguments.extend(["--timeout", REQUEST_TIMEOUT, "--live", "off"].map(str::to_owned));
        match against.observed {
            Some(pid) => arguments.extend(["--pid".into(), pid.to_string()]),
            None => arguments.push("--no-observe".into()),
        }
        arguments.extend(["--json".into(), json.display().to_string()]);
        if !self.cores.is_empty() {
            arguments.extend(["--cores".into(), Cores::spelt_out(&self.cores)]);
        }
        let mut command = command::pinned(&self.cores, &self.program);
        let log = fs::File::create(&output).map_err(|e| format!("{}: {e}", output.display()))?;
        command
            .arg("bench")
            .args(arguments)
            .stdout(log.try_clone().map_err(|e| e.to_string())?)
            .stderr(log);
        let status = Running::start(&mut command)?.wait(limit);
        let phase = status.and_then(|status| {
            read(&json).map_err(|e| format!("{status}; {e}\n{}", printed(&output)))
        });
        let _ = fs::remove_file(&output);
        phase.map_err(|e| format!("{}: {e}", command::line(&command)))
    }
}

/// The stretch of load in a report; these runs have one.
fn read(json: &Path) -> Result<Phase, String> {
    let text = fs::read_to_string(json).map_err(|e| format!("no report: {e}"))?;
    let report: Report =
        serde_json::from_str(&text).map_err(|e| format!("{}: {e}", json.display()))?;
    let mut phases = report.phases;
    phases.pop().ok_or_else(|| "the report is empty".into())
}

fn printed(output: &Path) -> String {
    let text = fs::read(output).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    let start = lines.len().saturating_sub(MOST_LINES);
    lines.get(start..).unwrap_or_default().join("\n")
}
