//! A report as Markdown.

use crate::outline::{Grid, Part, outline};
use crate::{Report, format};

/// The whole report, beginning with a heading of the second level.
pub fn markdown(report: &Report) -> String {
    let mut out = format!("## {}\n\n", text(&report.title));
    if !report.program.is_empty() {
        out.push_str(&format!(
            "{}, {}\n\n",
            text(&report.program),
            text(&report.started)
        ));
    }
    for part in outline(report) {
        match part {
            Part::Heading(heading) => out.push_str(&format!("### {}\n", text(&heading))),
            Part::Facts(facts) => out.push_str(&self::facts(&facts)),
            Part::Grid(grid) => out.push_str(&self::grid(&grid)),
            Part::List(title, items) => out.push_str(&list(title, &items)),
        }
        out.push('\n');
    }
    out.push_str(&command(report));
    out
}

fn command(report: &Report) -> String {
    if report.command.is_empty() {
        return String::new();
    }
    // Backticks in an argument must not end the code block.
    let line = format::plain(&format::command(&report.command));
    let most = line.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(most.max(2) + 1);
    format!("{fence}\n{line}\n{fence}\n")
}

fn facts(facts: &[(&str, String)]) -> String {
    let rows: String = facts
        .iter()
        .map(|(name, value)| format!("| {name} | {} |\n", text(value)))
        .collect();
    format!("| | |\n|:--|:--|\n{rows}")
}

fn list(title: &str, items: &[String]) -> String {
    let lines: String = items
        .iter()
        .map(|item| format!("- {}\n", text(item)))
        .collect();
    format!("**{title}**\n\n{lines}")
}

pub(crate) fn grid(grid: &Grid) -> String {
    let last = grid.columns.len().saturating_sub(1);
    let rules: String = (0..grid.columns.len())
        .map(|i| {
            if i == 0 || (grid.ends_in_text && i == last) {
                ":--|"
            } else {
                "--:|"
            }
        })
        .collect();
    let row = |cells: &[String]| -> String {
        let cells: Vec<String> = cells.iter().map(|cell| text(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rows: String = grid.rows.iter().map(|cells| row(cells)).collect();
    format!("{}|{rules}\n{rows}", row(&grid.columns))
}

/// Text that is shown as it is: nothing of it is taken for Markdown or HTML.
pub(crate) fn text(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 8);
    for c in format::plain(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' | '~' => {
                safe.push('\\');
                safe.push(c);
            }
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    /// Cells of a row: bars that are not escaped part them.
    fn cells(line: &str) -> usize {
        line.replace("\\\\", "")
            .replace("\\|", "")
            .matches('|')
            .count()
            - 1
    }

    #[test]
    fn every_row_has_as_many_cells_as_its_head() {
        let mut report = sample::ladder();
        report.phases[0].name = "a|b\\|c\n".into();
        report.phases[0].tally.fault("x | y");
        let text = markdown(&report);
        let mut width = None;
        for line in text.lines() {
            if line.starts_with('|') {
                assert_eq!(*width.get_or_insert(cells(line)), cells(line), "{line}");
            } else {
                width = None;
            }
        }
        assert!(
            text.contains("| 500 connections |") || text.contains("a\\|b"),
            "{text}"
        );
    }

    #[test]
    fn names_are_not_markup() {
        assert_eq!(
            text("<b>*x*</b> [a](b)"),
            "&lt;b&gt;\\*x\\*&lt;/b&gt; \\[a\\](b)"
        );
        let mut report = sample::single();
        report.command = vec!["forebay".into(), "```".into()];
        assert!(markdown(&report).contains("````\nforebay '```'\n````\n"));
    }
}
