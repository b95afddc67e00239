//! A report as one HTML page.

use forebay_results::format;
use forebay_results::page::{Card, Cell, Column, Page, Table as HtmlTable, Tone};

use super::blocks::{Block, Entry, Table};
use super::words;
use crate::comparison::Comparison;

/// The whole page.
pub(super) fn render(title: &str, comparison: &Comparison, blocks: &[Block]) -> String {
    let mut page = Page::new(title);
    page.subtitle(&comparison.question);
    page.cards(cards(comparison));
    for block in blocks {
        render_block(&mut page, block);
    }
    page.footer(format!(
        "{}, {}, {}",
        comparison.program,
        comparison.started,
        format::length(comparison.seconds)
    ));
    page.to_html()
}

/// For each case who is ahead at its last step, and all failures.
fn cards(comparison: &Comparison) -> Vec<Card> {
    let mut cards: Vec<Card> = comparison
        .cases
        .iter()
        .filter_map(|case| {
            let (clients, first) = words::first_at_the_end(comparison, case)?;
            let note = format!(
                "first at {} {}",
                format::count(clients),
                case.measure.steps()
            );
            Some(Card::new(&case.name, first).note(note))
        })
        .collect();
    let failed = words::failed_servers(comparison);
    let (value, tone) = match failed.len() {
        0 => ("no request".to_owned(), Tone::Good),
        1 => ("1 server".to_owned(), Tone::Bad),
        many => (format!("{many} servers"), Tone::Bad),
    };
    let note = if failed.is_empty() {
        "of any server".to_owned()
    } else {
        failed.join(", ")
    };
    cards.push(Card::new("failed", value).note(note).tone(tone));
    cards
}

fn render_block(page: &mut Page, block: &Block) {
    match block {
        Block::Section(title) => page.section(title),
        Block::Heading(title) => page.subsection(title),
        Block::Paragraph(words) => page.paragraph(words),
        Block::Notice(words) => page.notice(Tone::Warning, words),
        Block::List(items) => page.list(items),
        Block::Table(table) => page.table(html_table(table)),
        Block::Lines(chart) => page.line_chart(chart.clone()),
        Block::Bars(chart) => page.bar_chart(chart.clone()),
        Block::Code(code) => page.code(code),
        Block::Details { summary, text } => page.details(summary, text),
    };
}

fn html_table(table: &Table) -> HtmlTable {
    let columns = table.columns.iter().enumerate().map(|(i, name)| match i {
        0 => Column::head(name),
        _ if table.textual => Column::text(name),
        _ => Column::number(name),
    });
    let mut html = HtmlTable::new(columns);
    if !table.caption.is_empty() {
        html = html.caption(&table.caption);
    }
    for row in &table.rows {
        html.push(row.iter().map(cell));
    }
    html
}

fn cell(entry: &Entry) -> Cell {
    let mut cell = Cell::new(&entry.text).tone(entry.tone);
    if entry.strong {
        cell = cell.strong();
    }
    if !entry.small.is_empty() {
        cell = cell.small(&entry.small);
    }
    if !entry.hint.is_empty() {
        cell = cell.hint(&entry.hint);
    }
    cell
}
