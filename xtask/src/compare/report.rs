//! The report of a comparison: a Markdown page for people, a JSON file for programs, and the verdict on the targets.

use std::fmt::Write as _;
use std::fs;

use serde_json::{Value, json};

use super::Effort;
use super::cases::Case;
use super::connections::{FEW, MANY, Row};
use super::measure::Turn;
use super::peers::Programs;
use crate::Outcome;

/// Least throughput with many connections, as a share of that with few.
const CROWD_THROUGHPUT: f64 = 0.8;
/// Most resident memory of an idle connection, in bytes.
const IDLE_BYTES: f64 = 6.0 * 1024.0;

/// What has been measured so far.
#[derive(Debug)]
pub(super) struct Report {
    markdown: String,
    json: Value,
    missed: Vec<String>,
}

impl Report {
    /// Begins with what was compared, and where.
    pub(super) fn new(effort: Effort, programs: &mut Programs) -> Self {
        let versions = programs.versions();
        let seconds = effort.turn.as_secs();
        let mut markdown = format!(
            "# Comparison\n\nServer on core 0 with one worker, client and origin on core 1; {} rounds of {seconds} s \
             each, servers in turns. Figures are medians of the rounds; µs is the server's processor time (user and \
             system) for a request. Configurations: `tools/compare`.\n\nCommand: `cargo xtask {}`\n\n",
            effort.rounds,
            std::env::args().skip(1).collect::<Vec<_>>().join(" "),
        );
        _ = writeln!(markdown, "Machine: {}\n", machine());
        for (name, version) in &versions {
            _ = writeln!(markdown, "- {name}: {version}");
        }
        let versions: serde_json::Map<_, _> = versions
            .into_iter()
            .map(|(n, v)| (n.into(), json!(v)))
            .collect();
        let json = json!({
            "machine": machine(), "rounds": effort.rounds, "seconds": seconds, "versions": versions, "cases": {},
        });
        Self {
            markdown,
            json,
            missed: Vec::new(),
        }
    }

    /// Adds a case that compares processor time.
    pub(super) fn turns(&mut self, case: &Case, turns: &[Turn]) {
        let mut text = format!(
            "\n## {}\n\n{}\n\n| server | µs/request | least to most | of forebay | of floor | requests/s | failed |\n\
             |---|---|---|---|---|---|---|\n",
            case.name, case.what
        );
        for server in case
            .servers
            .iter()
            .filter(|s| turns.iter().any(|t| t.server == **s))
        {
            let own = cpu(turns, server);
            let rates = turns
                .iter()
                .filter(|t| t.server == *server)
                .map(|t| t.load.requests_per_second)
                .collect();
            let failed = failed(turns, server);
            let (least, most) = own
                .iter()
                .fold((f64::MAX, 0.0_f64), |(a, b), &x| (a.min(x), b.max(x)));
            _ = writeln!(
                text,
                "| {server} | {:.2} | {least:.2} to {most:.2} | {} | {} | {:.0} | {failed} |",
                median(own),
                shown(ratio(turns, server, "forebay")),
                shown(ratio(turns, server, "floor")),
                median(rates),
            );
            if failed > 0 && *server == "forebay" {
                self.missed.push(format!(
                    "{}: {failed} requests to forebay failed",
                    case.name
                ));
            }
        }
        text.push('\n');
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
        let rows = turns.iter().map(|t| {
            json!({
                "round": t.round, "server": t.server, "cpu_us_per_request": t.cpu_us_per_request,
                "requests": t.load.requests, "requests_per_second": t.load.requests_per_second,
                "failed": t.load.failed,
            })
        });
        self.finish(case.name, &text, rows.collect());
    }

    /// Adds the case of many connections.
    pub(super) fn connections(&mut self, rows: Vec<Row>) {
        let mut text = format!(
            "\n## connections\n\n| server | requests/s at {FEW} | at {MANY} | ratio | failed at {FEW} | at {MANY} | \
             bytes for an idle connection |\n|---|---|---|---|---|---|---|\n"
        );
        for row in &rows {
            let rate = |loads: &[super::measure::Load]| {
                median(loads.iter().map(|l| l.requests_per_second).collect())
            };
            let lost = |loads: &[super::measure::Load]| loads.iter().map(|l| l.failed).sum::<u64>();
            let (few, many) = (rate(&row.few), rate(&row.many));
            let (lost_few, lost_many, idle) = (lost(&row.few), lost(&row.many), row.idle_bytes);
            _ = writeln!(
                text,
                "| {} | {few:.0} | {many:.0} | {:.2} | {lost_few} | {lost_many} | {idle:.0} |",
                row.server,
                many / few,
            );
            if row.server == "forebay" {
                let lost = lost_few + lost_many;
                self.judge(
                    &mut text,
                    "connections: no failed request",
                    lost == 0,
                    &lost.to_string(),
                );
                let what = format!(
                    "connections: throughput at {MANY} at least {CROWD_THROUGHPUT} of that at {FEW}"
                );
                self.judge(
                    &mut text,
                    &what,
                    many / few >= CROWD_THROUGHPUT,
                    &format!("{:.2}", many / few),
                );
                let what =
                    format!("connections: at most {IDLE_BYTES} bytes for an idle connection");
                self.judge(&mut text, &what, idle <= IDLE_BYTES, &format!("{idle:.0}"));
            }
        }
        let values = rows.iter().map(|row| {
            let loads = |loads: &[super::measure::Load]| {
                let one = |l: &super::measure::Load| json!({"requests_per_second": l.requests_per_second, "failed": l.failed});
                loads.iter().map(one).collect::<Value>()
            };
            json!({
                "server": row.server, "few": loads(&row.few), "many": loads(&row.many), "idle_bytes": row.idle_bytes,
            })
        });
        self.finish("connections", &text, values.collect());
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

    fn finish(&mut self, case: &str, text: &str, rows: Value) {
        println!("{text}");
        self.markdown.push_str(text);
        if let Some(cases) = self.json.get_mut("cases").and_then(Value::as_object_mut) {
            cases.insert(case.into(), rows);
        }
    }

    /// Writes both files.
    ///
    /// # Errors
    /// When they cannot be written.
    pub(super) fn write(&self) -> Outcome {
        let dir = crate::target_dir().join("compare");
        fs::create_dir_all(&dir)?;
        fs::write(dir.join("report.md"), &self.markdown)?;
        fs::write(
            dir.join("report.json"),
            serde_json::to_string_pretty(&self.json)?,
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

/// Processor time of each of a server's turns.
fn cpu(turns: &[Turn], server: &str) -> Vec<f64> {
    turns
        .iter()
        .filter(|t| t.server == server)
        .map(|t| t.cpu_us_per_request)
        .collect()
}

fn failed(turns: &[Turn], server: &str) -> u64 {
    turns
        .iter()
        .filter(|t| t.server == server)
        .map(|t| t.load.failed)
        .sum()
}

/// The median over the rounds of one server's processor time divided by the other's in the same round.
fn ratio(turns: &[Turn], server: &str, of: &str) -> Option<f64> {
    let ratios: Vec<f64> = cpu(turns, server)
        .iter()
        .zip(cpu(turns, of))
        .map(|(a, b)| a / b)
        .collect();
    (!ratios.is_empty()).then(|| median(ratios))
}

fn shown(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".into(), |r| format!("{r:.2}"))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let upper = values.get(values.len() / 2).copied().unwrap_or(f64::NAN);
    let lower = values
        .get((values.len().max(1) - 1) / 2)
        .copied()
        .unwrap_or(f64::NAN);
    f64::midpoint(lower, upper)
}

/// The kernel and the processor.
fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let info = read("/proc/cpuinfo");
    let model = info
        .lines()
        .find_map(|l| l.strip_prefix("model name"))
        .unwrap_or_default();
    let release = read("/proc/sys/kernel/osrelease");
    format!(
        "Linux {}, {}",
        release.trim(),
        model.trim_start_matches([' ', '\t', ':'])
    )
}

#[cfg(test)]
mod tests {
    use super::super::measure::Load;
    use super::*;

    fn turn(server: &'static str, round: usize, cpu_us_per_request: f64) -> Turn {
        Turn {
            round,
            server,
            cpu_us_per_request,
            load: Load::default(),
        }
    }

    #[test]
    fn a_ratio_is_taken_within_each_round() {
        // The machine is twice as slow in the second round, for both alike.
        let turns = [
            turn("a", 1, 3.0),
            turn("b", 1, 2.0),
            turn("a", 2, 6.0),
            turn("b", 2, 4.0),
        ];
        assert_eq!(ratio(&turns, "a", "b"), Some(1.5));
        assert_eq!(ratio(&turns, "a", "c"), None);
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        assert!((median(vec![4.0, 1.0, 2.0, 9.0]) - 3.0).abs() < 1e-9);
        assert!((median(vec![9.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
    }
}
