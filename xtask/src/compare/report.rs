//! The report of a comparison: a Markdown page for people, a JSON file for programs, and the verdict on the targets.

use std::fmt::Write as _;
use std::fs;

use serde_json::{Map, Value, json};

use super::Effort;
use super::cases::Case;
use super::connections::{FEW, MANY, Row};
use super::durable::{self, BARE, DEPTHS};
use super::figures::{Figures, failed, rate, ratio};
use super::measure::{Load, Turn};
use super::programs::Programs;
use crate::Outcome;

/// Least throughput with many connections, as a share of that with few.
const CROWD_THROUGHPUT: f64 = 0.8;
/// Most resident memory of an idle connection, in bytes.
const IDLE_BYTES: f64 = 6.0 * 1024.0;

/// Writes a second that are on disk when they are answered, for one of a program that syncs after
/// each.
const WRITES_FOR_A_SYNC: f64 = 20.0;

/// What has been measured so far.
#[derive(Debug)]
pub(super) struct Report {
    markdown: String,
    head: Map<String, Value>,
    cases: Map<String, Value>,
    missed: Vec<String>,
}

impl Report {
    /// Begins with what is compared, and where.
    pub(super) fn new(effort: Effort, programs: &Programs) -> Self {
        let versions = programs.versions();
        let (rounds, seconds) = (effort.rounds, effort.turn.as_secs());
        let command = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
        let machine = machine();
        let mut markdown = format!(
            "# Comparison\n\nServer on core 0 with one worker, client (`wrk -t1`, for stores of sessions \
             `forebay bench kv -t 1`) and origin on core 1; {rounds} \
             rounds of {seconds} s each, servers in turns. Figures are medians of the rounds; µs is the server's \
             processor time (user and system) for a request; ratios are medians of each round's ratio. \
             Configurations: `tools/compare`; as filled in, with the command line, in `compare/CASE/SERVER` of the \
             target directory.\n\nCommand: `cargo xtask {command}`\n\nMachine: {machine}\n\n"
        );
        for (name, version) in &versions {
            _ = writeln!(markdown, "- {name}: {version}");
        }
        let versions: Map<_, _> = versions
            .into_iter()
            .map(|(n, v)| (n.into(), v.into()))
            .collect();
        let mut head = Map::new();
        head.insert("machine".into(), machine.into());
        head.insert("rounds".into(), rounds.into());
        head.insert("seconds".into(), seconds.into());
        head.insert("versions".into(), versions.into());
        Self {
            markdown,
            head,
            cases: Map::new(),
            missed: Vec::new(),
        }
    }

    /// Adds a case that compares processor time.
    pub(super) fn turns(&mut self, case: &Case, turns: &[Turn]) {
        let mut text = turns_table(case, turns);
        for target in case.targets {
            let Some(reached) = ratio(turns, "forebay", target.server) else {
                continue;
            };
            let what = format!(
                "{}: at most {} x {}",
                case.name, target.at_most, target.server
            );
            self.judge(
                &mut text,
                &what,
                reached <= target.at_most,
                &format!("{reached:.2}"),
            );
        }
        if let Some(figures) = Figures::of(turns, "forebay") {
            let what = format!("{}: no failed request", case.name);
            self.judge(
                &mut text,
                &what,
                figures.failed == 0,
                &figures.failed.to_string(),
            );
        }
        let rows = turns.iter().map(|t| {
            let Load {
                requests,
                requests_per_second,
                failed,
            } = t.load;
            json!({
                "round": t.round, "server": t.server, "cpu_us_per_request": t.cpu_us_per_request,
                "requests": requests, "requests_per_second": requests_per_second, "failed": failed,
            })
        });
        self.finish(case, &text, rows.collect());
    }

    /// Adds the case of many connections.
    pub(super) fn connections(&mut self, case: &Case, rows: &[Row]) {
        let mut text = connections_table(case, rows);
        if let Some(row) = rows.iter().find(|r| r.server == "forebay") {
            let lost = failed(&row.few) + failed(&row.many);
            self.judge(
                &mut text,
                "connections: no failed request",
                lost == 0,
                &lost.to_string(),
            );
            let share = rate(&row.many) / rate(&row.few);
            let what = format!(
                "connections: throughput at {MANY} at least {CROWD_THROUGHPUT} of that at {FEW}"
            );
            self.judge(
                &mut text,
                &what,
                share >= CROWD_THROUGHPUT,
                &format!("{share:.2}"),
            );
            let what = format!("connections: at most {IDLE_BYTES} bytes for an idle connection");
            self.judge(
                &mut text,
                &what,
                row.idle_bytes <= IDLE_BYTES,
                &format!("{:.0}", row.idle_bytes),
            );
        }
        let load =
            |l: &Load| json!({ "requests_per_second": l.requests_per_second, "failed": l.failed });
        let loads = |loads: &[Load]| loads.iter().map(load).collect::<Value>();
        let rows = rows.iter().map(|row| {
            json!({
                "server": row.server, "few": loads(&row.few), "many": loads(&row.many), "idle_bytes": row.idle_bytes,
            })
        });
        self.finish(case, &text, rows.collect());
    }

    /// Adds the case of writes that are on disk.
    pub(super) fn durable(&mut self, case: &Case, rows: &[durable::Row]) {
        let mut text = durable_table(case, rows);
        let deepest = |name: &str| {
            let row = rows.iter().find(|row| row.server == name)?;
            row.loads.last().map(|loads| (rate(loads), failed(loads)))
        };
        if let (Some((bare, _)), Some((writes, lost))) = (deepest(BARE), deepest("forebay")) {
            let [_, depth] = DEPTHS;
            let what = format!(
                "{}: with {depth} under way on a connection, at least {WRITES_FOR_A_SYNC} x {BARE}",
                case.name
            );
            let share = writes / bare;
            self.judge(
                &mut text,
                &what,
                share >= WRITES_FOR_A_SYNC,
                &format!("{share:.1}"),
            );
            let what = format!("{}: no failed write", case.name);
            self.judge(&mut text, &what, lost == 0, &lost.to_string());
        }
        let rows = rows.iter().map(|row| {
            let rates = row.loads.each_ref().map(|loads| {
                loads
                    .iter()
                    .map(|load| load.requests_per_second)
                    .collect::<Vec<_>>()
            });
            json!({ "server": row.server, "depths": DEPTHS, "writes_per_second": rates })
        });
        self.finish(case, &text, rows.collect());
    }

    fn judge(&mut self, text: &mut String, what: &str, met: bool, reached: &str) {
        _ = writeln!(
            text,
            "- {} {what}: {reached}",
            if met { "met:" } else { "**MISSED:**" }
        );
        if !met {
            self.missed.push(format!("{what}: {reached}"));
        }
    }

    fn finish(&mut self, case: &Case, text: &str, rows: Value) {
        println!("{text}");
        self.markdown.push_str(text);
        self.cases.insert(case.name.into(), rows);
    }

    /// Writes both files.
    ///
    /// # Errors
    /// When they cannot be written.
    pub(super) fn write(&self) -> Outcome {
        let dir = crate::target_dir().join("compare");
        fs::create_dir_all(&dir)?;
        fs::write(dir.join("report.md"), &self.markdown)?;
        let mut json = self.head.clone();
        json.insert("cases".into(), self.cases.clone().into());
        json.insert("missed".into(), self.missed.clone().into());
        fs::write(
            dir.join("report.json"),
            serde_json::to_string_pretty(&json)?,
        )?;
        println!("report: {}", dir.join("report.md").display());
        Ok(())
    }

    /// Whether every target was met.
    ///
    /// # Errors
    /// Those that were not.
    pub(super) fn verdict(self) -> Outcome {
        if self.missed.is_empty() {
            Ok(())
        } else {
            Err(format!("missed: {}", self.missed.join("; ")).into())
        }
    }
}

fn turns_table(case: &Case, turns: &[Turn]) -> String {
    let mut text = format!(
        "\n## {}\n\n{}\n\n| server | µs/request | least to most | of forebay | of floor | requests/s | failed |\n\
         |---|---|---|---|---|---|---|\n",
        case.name, case.what
    );
    let shown = |ratio: Option<f64>| ratio.map_or_else(|| "-".into(), |r| format!("{r:.2}"));
    for server in case.servers {
        let Some(Figures {
            cpu_us: [median, least, most],
            requests_per_second,
            failed,
        }) = Figures::of(turns, server)
        else {
            continue;
        };
        let (of_forebay, of_floor) = (
            shown(ratio(turns, server, "forebay")),
            shown(ratio(turns, server, "floor")),
        );
        _ = writeln!(
            text,
            "| {server} | {median:.2} | {least:.2} to {most:.2} | {of_forebay} | {of_floor} | \
             {requests_per_second:.0} | {failed} |"
        );
    }
    text.push('\n');
    text
}

fn connections_table(case: &Case, rows: &[Row]) -> String {
    let mut text = format!(
        "\n## {}\n\n{}\n\n| server | requests/s at {FEW} | at {MANY} | ratio | failed at {FEW} | at {MANY} | \
         bytes for an idle connection |\n|---|---|---|---|---|---|---|\n",
        case.name, case.what
    );
    for row in rows {
        let (few, many) = (rate(&row.few), rate(&row.many));
        _ = writeln!(
            text,
            "| {} | {few:.0} | {many:.0} | {:.2} | {} | {} | {:.0} |",
            row.server,
            many / few,
            failed(&row.few),
            failed(&row.many),
            row.idle_bytes
        );
    }
    text.push('\n');
    text
}

fn durable_table(case: &Case, rows: &[durable::Row]) -> String {
    let [one, many] = DEPTHS;
    let mut text = format!(
        "\n## {}\n\n{}\n\n| server | writes/s, {one} on a connection | of one sync each | {many} on a connection | \
         of one sync each |\n|---|---|---|---|---|\n",
        case.name, case.what
    );
    let rates = |row: &durable::Row| row.loads.each_ref().map(|loads| rate(loads));
    let bare = rows.iter().find(|row| row.server == BARE).map(rates);
    let [_, bare] = bare.unwrap_or([f64::NAN; 2]);
    for row in rows {
        let [one, many] = rates(row);
        _ = writeln!(
            text,
            "| {} | {one:.0} | {:.1} | {many:.0} | {:.1} |",
            row.server,
            one / bare,
            many / bare
        );
    }
    text.push('\n');
    text
}

/// The kernel, the processor, and how busy they are with something else.
fn machine() -> String {
    let read = |path: &str| {
        fs::read_to_string(path)
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    let info = read("/proc/cpuinfo");
    let model = info
        .lines()
        .find_map(|l| l.strip_prefix("model name"))
        .unwrap_or_default();
    let busy = read("/proc/loadavg");
    let busy = busy.split(' ').next().unwrap_or_default();
    let kernel = read("/proc/sys/kernel/osrelease");
    format!(
        "Linux {kernel}, {}, load average before {busy}",
        model.trim_start_matches([' ', '\t', ':'])
    )
}
