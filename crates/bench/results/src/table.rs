//! A report as plain text for a terminal.

use crate::outline::{Grid, Part, outline};
use crate::{Report, format};

/// Between the columns of a grid.
const GAP: &str = "  ";

/// The whole report. What came from elsewhere (names, faults) is shown with
/// control characters as escapes.
pub fn table(report: &Report) -> String {
    let mut out = format!("{}\n", format::plain(&report.title));
    if !report.program.is_empty() {
        let made = format!("{}, {}", report.program, report.started);
        out.push_str(&(format::plain(&made) + "\n"));
    }
    for part in outline(report) {
        out.push('\n');
        match part {
            Part::Heading(text) => out.push_str(&format!("{}\n", format::plain(&text))),
            Part::Facts(facts) => out.push_str(&self::facts(&facts)),
            Part::Grid(grid) => out.push_str(&self::grid(&grid)),
            Part::List(title, items) => out.push_str(&list(title, &items)),
        }
    }
    out
}

fn facts(facts: &[(&str, String)]) -> String {
    let width = facts
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or(0)
        .max(11);
    let lines = facts
        .iter()
        .map(|(name, value)| format!("  {name:<width$}{GAP}{}\n", format::plain(value)));
    lines.collect()
}

fn list(title: &str, items: &[String]) -> String {
    let lines: String = items
        .iter()
        .map(|item| format!("    {}\n", format::plain(item)))
        .collect();
    format!("  {title}\n{lines}")
}

/// Columns aligned: the first to the left, figures to the right.
pub(crate) fn grid(grid: &Grid) -> String {
    let rows: Vec<Vec<String>> = std::iter::once(&grid.columns)
        .chain(&grid.rows)
        .map(|row| row.iter().map(|cell| format::plain(cell)).collect())
        .collect();
    let mut widths = vec![0; grid.columns.len()];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut out = String::new();
    for row in &rows {
        let mut line = String::from(" ");
        for (i, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            let left = i == 0 || (grid.ends_in_text && i + 1 == row.len());
            line.push_str(if i == 0 { " " } else { GAP });
            line.push_str(&if left {
                format!("{cell:<width$}")
            } else {
                format!("{cell:>width$}")
            });
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn one_phase_tells_everything() {
        let text = table(&sample::single());
        for piece in [
            "GET http://127.0.0.1:8080/",
            "succeeded    99,997 (99.99700 %)",
            "failed       3: 2 timeout, 1 status",
            "requests/s",
            "pages/min",
            "in flight",
            "200: 99,999, 503: 1",
            "hits (98.9 %)",
            "99.99 %",
            "first byte",
            "CPU a request",
            "peak resident",
            "busiest thread",
            "1 × status 503 instead of 200",
            "the load tester was saturated",
        ] {
            assert!(text.contains(piece), "{piece} is missing in\n{text}");
        }
    }

    #[test]
    fn a_ladder_has_a_row_for_each_rung() {
        let text = table(&sample::ladder());
        let rungs = ["500 connections", "1,000 connections", "3,000 connections"];
        let rows: Vec<&str> = text
            .lines()
            .filter(|line| {
                rungs
                    .iter()
                    .any(|rung| line.starts_with(&format!("  {rung}  ")))
            })
            .collect();
        assert_eq!(rows.len(), 6, "two grids:\n{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 120),
            "{text}"
        );
    }

    #[test]
    fn columns_are_aligned() {
        let text = table(&sample::ladder());
        let lines: Vec<&str> = text
            .lines()
            .skip_while(|line| !line.starts_with("  phase"))
            .take(4)
            .collect();
        let at = lines[0].find("requests").map(|at| at + "requests".len());
        for line in &lines[1..] {
            let end = at.unwrap_or(0);
            assert!(
                line[..end].ends_with(|c: char| c.is_ascii_digit()),
                "{line}"
            );
            assert_eq!(&line[end..=end], " ", "{line}");
        }
    }

    #[test]
    fn a_server_cannot_steer_the_terminal() {
        let mut report = sample::single();
        report.phases[0].tally.fault("\u{1b}]0;owned\u{7}");
        report.title = "GET \u{1b}[2J".into();
        assert!(!table(&report).contains('\u{1b}'));
    }

    #[test]
    fn nothing_measured_is_shown_as_such() {
        let report = Report {
            phases: vec![Default::default()],
            ..Report::default()
        };
        assert!(table(&report).contains("succeeded    0 (–)"));
        assert!(!table(&Report::default()).contains("NaN"));
    }
}
