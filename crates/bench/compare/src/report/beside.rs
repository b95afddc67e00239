//! What was measured when the question was first asked, beside today's figures.

use forebay_results::format;

use super::blocks::{Block, Entry, Table};
use crate::comparison::{CaseResult, Original, OriginalRow};
use crate::statistics::summary;

/// The original's table with today's figures in it; nothing where there is no original.
pub(super) fn then_and_now(case: &CaseResult) -> Vec<Block> {
    let Some(original) = &case.original else {
        return Vec::new();
    };
    let columns = ["then".to_owned(), "now".to_owned()].into_iter().chain(
        original
            .clients
            .iter()
            .map(|&clients| format!("{} {}", format::count(clients), case.measure.steps())),
    );
    let rows = original.rows.iter().map(|row| {
        let names = [Entry::new(&row.server), Entry::new(&row.today)];
        let cells = original
            .clients
            .iter()
            .enumerate()
            .map(|(i, &clients)| cell(case, original, row, i, clients));
        names.into_iter().chain(cells).collect()
    });
    let table = Table {
        caption: format!(
            "In {}; above what was measured then, below what was measured now, and how many times as much that is.",
            original.unit
        ),
        columns: columns.collect(),
        rows: rows.collect(),
        textual: false,
    };
    vec![
        Block::Heading("Then and now".into()),
        Block::Paragraph(format!(
            "Then: {}. Other hardware, so what compares is the order of the servers and where each of them gives way.",
            original.about
        )),
        Block::Table(table),
    ]
}

fn cell(
    case: &CaseResult,
    original: &Original,
    row: &OriginalRow,
    column: usize,
    clients: u64,
) -> Entry {
    let Some(&then) = row.figures.get(column).filter(|then| **then > 0.0) else {
        return Entry::absent();
    };
    let percent = |value: &f64| format!(" ({value} %)");
    let success = row.success.get(column).map(percent).unwrap_or_default();
    let entry = Entry::new(format!("{}{success}", shown(then)));
    let level = case.levels.iter().find(|l| l.clients == clients);
    match level.and_then(|l| summary(l, &row.today, case.measure)) {
        None => entry,
        Some(now) => {
            let value = now.value.median / original.factor;
            let success = if row.success.is_empty() {
                String::new()
            } else {
                format!(" ({})", format::success(now.succeeded, now.completed))
            };
            entry.small(format!(
                "{}{success} · × {}",
                shown(value),
                format::significant(value / then)
            ))
        }
    }
}

/// As precise as the originals: `81.0`, `8,207`.
fn shown(value: f64) -> String {
    if value < 1000.0 {
        format!("{value:.1}")
    } else {
        format::rate(value)
    }
}
