//! A case in tables: its measure, success, processor time, memory, latency;
//! servers down, clients across.

use std::collections::BTreeMap;

use forebay_results::format;
use forebay_results::page::Tone;

use super::blocks::{Block, Entry, Table};
use super::charts;
use crate::comparison::{CaseResult, Comparison, Contestant, LevelResult, Measure, reference};
use crate::statistics::{Spread, Summary, cpu_ratio, ratio, summary};

/// Everything of one case.
pub(super) fn case(comparison: &Comparison, case: &CaseResult) -> Vec<Block> {
    let servers = taking_part(comparison, case);
    let kind = if case.keep_alive {
        "Connections are kept."
    } else {
        "Each request has a connection of its own."
    };
    let mut blocks = vec![
        Block::Section(case.name.clone()),
        Block::Paragraph(format!("{} {kind}", case.about)),
    ];
    if servers.is_empty() {
        blocks.push(Block::Notice("No server finished a turn.".into()));
        return blocks;
    }
    blocks.push(Block::Table(measure_table(case, &servers)));
    blocks.extend(charts::of(comparison, case, &servers));
    blocks.extend(session_tables(case, &servers).map(Block::Table));
    blocks.push(Block::Table(success_table(case, &servers)));
    blocks.extend(cpu_table(case, &servers).map(Block::Table));
    blocks.extend(memory_table(case, &servers).map(Block::Table));
    blocks.push(Block::Table(latency_table(case, &servers)));
    blocks.extend(origin_table(case, &servers).map(Block::Table));
    blocks.extend(faults(case));
    blocks
}

/// The servers that have a figure in this case.
fn taking_part<'a>(comparison: &'a Comparison, case: &CaseResult) -> Vec<&'a Contestant> {
    comparison
        .contestants()
        .filter(|s| {
            let turns = case.levels.iter().flat_map(|l| &l.turns);
            turns
                .into_iter()
                .any(|t| t.server == s.name && t.figures.is_some())
        })
        .collect()
}

/// A table of one figure; `entry` makes a cell from a server's summary at a step.
fn table(
    case: &CaseResult,
    servers: &[&Contestant],
    caption: String,
    entry: impl Fn(&LevelResult, &Contestant, &Summary) -> Option<Entry>,
) -> Table {
    let columns = case
        .levels
        .iter()
        .map(|level| format!("{} {}", format::count(level.clients), case.measure.steps()));
    let rows = servers.iter().map(|server| {
        let cells = case.levels.iter().map(|level| {
            summary(level, &server.name, case.measure)
                .and_then(|s| entry(level, server, &s))
                .unwrap_or_else(Entry::absent)
        });
        std::iter::once(Entry::new(&server.name))
            .chain(cells)
            .collect()
    });
    Table {
        caption,
        columns: std::iter::once("server".to_owned())
            .chain(columns)
            .collect(),
        rows: rows.collect(),
        textual: false,
    }
}

fn measure_table(case: &CaseResult, servers: &[&Contestant]) -> Table {
    let amount = case.levels.first().map_or("", |l| l.amount.as_str());
    let amounts: Vec<&str> = case.levels.iter().map(|l| l.amount.as_str()).collect();
    let amount = if amounts.iter().all(|a| *a == amount) {
        format!("{amount} a step")
    } else {
        amounts.join(", ")
    };
    let caption = format!("{}, {amount}", case.measure.caption());
    let reference = reference(servers);
    table(case, servers, caption, |level, server, summary| {
        let mut entry = Entry::new(format::rate(summary.value.median));
        entry.small = small(
            &summary.value,
            ratio(level, &server.name, reference, case.measure)
                .filter(|_| server.name != reference),
        );
        entry.strong = is_best(level, server, servers, case.measure);
        if summary.saturated {
            entry.text.push('‡');
            entry.hint = "the load tester was at its limit".into();
        }
        Some(entry)
    })
}

/// `1,200–1,300 · × 0.95 ≈`.
fn small(spread: &Spread, ratio: Option<Spread>) -> String {
    let mut parts = Vec::new();
    if spread.count > 1 {
        parts.push(format!(
            "{}–{}",
            format::rate(spread.least),
            format::rate(spread.most)
        ));
    }
    if let Some(ratio) = ratio {
        let noise = if ratio.within_noise() { " ≈" } else { "" };
        parts.push(format!("× {}{noise}", format::significant(ratio.median)));
    }
    parts.join(" · ")
}

/// Whether there are others of the same role, and none does better at this step.
fn is_best(
    level: &LevelResult,
    server: &Contestant,
    servers: &[&Contestant],
    measure: Measure,
) -> bool {
    let value = |s: &Contestant| {
        let median = summary(level, &s.name, measure).map(|f| f.value.median);
        median.map(|v| if measure.less_is_better() { -v } else { v })
    };
    let mine = value(server);
    let alike = servers.iter().filter(|s| s.role == server.role);
    let values: Vec<f64> = alike.filter_map(|s| value(s)).collect();
    values.len() > 1 && values.into_iter().all(|v| Some(v) <= mine)
}

/// What became of sessions, and the spread of the time between their pages; nothing where there are none.
fn session_tables(case: &CaseResult, servers: &[&Contestant]) -> impl Iterator<Item = Table> {
    let kept = "Sessions that were kept".to_owned();
    let kept = table(case, servers, kept, |_, _, summary| {
        let found = summary.sessions?;
        let all = found.kept + found.lost + found.wrong + found.failed;
        let mut entry = Entry::new(format!(
            "{} of {}",
            format::count(found.kept),
            format::count(all)
        ));
        if found.kept < all {
            entry.tone = Tone::Bad;
            let counts = [
                ("lost", found.lost),
                ("wrong", found.wrong),
                ("failed", found.failed),
            ];
            entry.small = causes(&counts.map(|(name, count)| (name.to_owned(), count)).into());
        }
        Some(entry)
    });
    let between = "Time between the two pages: median; below it 99th percentile".to_owned();
    let between = table(case, servers, between, |_, _, summary| {
        let found = summary.sessions?;
        let shown = |ms: f64| format::duration(ms * 1e6);
        Some(Entry::new(shown(found.p50_ms)).small(shown(found.p99_ms)))
    });
    [kept, between].into_iter().filter(has_figures)
}

fn success_table(case: &CaseResult, servers: &[&Contestant]) -> Table {
    let caption = "Requests that succeeded".to_owned();
    table(case, servers, caption, |_, _, summary| {
        let mut entry = Entry::new(format::success(summary.succeeded, summary.completed));
        if summary.failures() > 0 {
            entry.tone = Tone::Bad;
            entry.small = causes(&summary.failed);
        }
        Some(entry)
    })
}

/// `connect 12, timeout 3`.
pub(super) fn causes(failed: &BTreeMap<String, u64>) -> String {
    failed
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(cause, &count)| format!("{cause} {}", format::count(count)))
        .collect::<Vec<_>>()
        .join(", ")
}

fn cpu_table(case: &CaseResult, servers: &[&Contestant]) -> Option<Table> {
    let caption = "The server's processor time a request, µs".to_owned();
    let reference = reference(servers);
    let table = table(case, servers, caption, |level, server, summary| {
        let spread = summary.cpu_us?;
        let cores = summary.server_cores.map(format::significant);
        let ratio = cpu_ratio(level, &server.name, reference).filter(|_| server.name != reference);
        let ratio = ratio.map(|r| {
            let noise = if r.within_noise() { " ≈" } else { "" };
            format!("× {}{noise}", format::significant(r.median))
        });
        let parts: Vec<String> = cores
            .map(|c| format!("{c} cores"))
            .into_iter()
            .chain(ratio)
            .collect();
        Some(Entry::new(format::significant(spread.median)).small(parts.join(" · ")))
    });
    has_figures(&table).then_some(table)
}

fn memory_table(case: &CaseResult, servers: &[&Contestant]) -> Option<Table> {
    let caption = "Greatest resident memory of the server's processes".to_owned();
    let table = table(case, servers, caption, |_, _, summary| {
        summary
            .resident_bytes
            .map(|bytes| Entry::new(format::size(bytes)))
    });
    has_figures(&table).then_some(table)
}

fn latency_table(case: &CaseResult, servers: &[&Contestant]) -> Table {
    let caption = "Time of a request: 95th percentile; below it 50th and 99th".to_owned();
    table(case, servers, caption, |_, _, summary| {
        let shown = |ms: f64| format::duration(ms * 1e6);
        let small = format!("{} · {}", shown(summary.p50_ms), shown(summary.p99_ms));
        Some(Entry::new(shown(summary.p95_ms)).small(small))
    })
}

/// Only when a server asked the origin while it was measured.
fn origin_table(case: &CaseResult, servers: &[&Contestant]) -> Option<Table> {
    let asked = |level: &LevelResult, server: &Contestant| {
        summary(level, &server.name, case.measure).map_or(0, |s| s.origin_requests)
    };
    let servers: Vec<&Contestant> = servers
        .iter()
        .copied()
        .filter(|s| case.levels.iter().any(|l| asked(l, s) > 0))
        .collect();
    (!servers.is_empty()).then(|| {
        let caption =
            "Requests that reached the origin meanwhile, the warm-up's among them; below it the least share of hits";
        table(case, &servers, caption.into(), |_, _, summary| {
            let missed = summary.origin_requests as f64 / summary.completed.max(1) as f64;
            let hits = format!("{:.2} %", (1.0 - missed).max(0.0) * 100.0);
            Some(Entry::new(format::count(summary.origin_requests)).small(hits))
        })
    })
}

fn has_figures(table: &Table) -> bool {
    let absent = format::ABSENT;
    table
        .rows
        .iter()
        .any(|row| row.iter().skip(1).any(|cell| cell.text != absent))
}

/// Turns that had none, each reason once.
fn faults(case: &CaseResult) -> Option<Block> {
    let mut reasons: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for turn in case.levels.iter().flat_map(|l| &l.turns) {
        if let Some(fault) = &turn.fault {
            *reasons.entry((&turn.server, fault)).or_default() += 1;
        }
    }
    let items: Vec<String> = reasons
        .into_iter()
        .map(|((server, fault), count)| format!("{server}, {count} ×: {fault}"))
        .collect();
    (!items.is_empty()).then_some(Block::Details {
        summary: format!("Turns without a figure ({})", items.len()),
        text: items.join("\n"),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::comparison::{Figures, SessionSums, Turn};

    #[test]
    fn sessions_that_were_not_kept_are_told_by_what_became_of_them() {
        let turn = |round, lost| Turn {
            server: "a".into(),
            round,
            figures: Some(Figures {
                session_ms: Some(2.0),
                sessions: Some(SessionSums {
                    kept: 100 - lost,
                    lost,
                    ..SessionSums::default()
                }),
                ..Figures::default()
            }),
            fault: None,
        };
        let case = CaseResult {
            measure: Measure::SessionMs,
            levels: vec![LevelResult {
                clients: 2000,
                turns: vec![turn(1, 0), turn(2, 3)],
                ..LevelResult::default()
            }],
            ..CaseResult::default()
        };
        let server = Contestant {
            name: "a".into(),
            ..Contestant::default()
        };
        let kept = session_tables(&case, &[&server]).next().unwrap();
        assert_eq!(kept.columns.last().unwrap(), "2,000 sessions");
        let cell = kept.rows.first().unwrap().last().unwrap();
        assert_eq!(
            (cell.text.as_str(), cell.small.as_str()),
            ("197 of 200", "lost 3")
        );
        assert!(
            measure_table(&case, &[&server])
                .caption
                .starts_with("Mean time")
        );
    }
}
