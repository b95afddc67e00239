//! A report as one self-contained HTML page.

#[cfg(test)]
mod browser;
mod cards;
mod charts;

use crate::outline::{self, Grid, Part};
use crate::page::{Cell, Column, Page, Table, Tone};
use crate::{Phase, Report, format};

/// The whole report as a page that needs nothing else: charts, tables, the
/// machines and the command line.
pub fn html(report: &Report) -> String {
    let mut page = Page::new(report.title.as_str());
    page.subtitle(subtitle(report));
    page.footer(format!("{} {}", report.program, report.started));
    summary(&mut page, report);
    match report.phases.as_slice() {
        [] => {}
        [phase] => single(&mut page, phase),
        phases => ladder(&mut page, phases),
    }
    setting(&mut page, report);
    page.to_html()
}

fn subtitle(report: &Report) -> String {
    let mut words = vec![match report.phases.as_slice() {
        [phase] => outline::settings(phase),
        phases => format::counted(phases.len() as u64, "phase", "phases"),
    }];
    words.extend(
        [report.started.clone(), report.program.clone()]
            .into_iter()
            .filter(|word| !word.is_empty()),
    );
    words.join(" · ")
}

/// What a reader wants to know first.
fn summary(page: &mut Page, report: &Report) {
    match report.phases.as_slice() {
        [] => {}
        [phase] => {
            page.cards(cards::phase_cards(phase));
        }
        phases => {
            page.cards(cards::ladder_cards(phases));
        }
    }
    if let Some(finding) = &report.finding {
        page.notice(Tone::Good, finding);
    }
    for lost in outline::lost(report) {
        page.notice(Tone::Bad, &lost);
    }
    for warning in &report.warnings {
        page.notice(Tone::Warning, warning);
    }
}

fn single(page: &mut Page, phase: &Phase) {
    page.section("Over time");
    let phases = std::slice::from_ref(phase);
    charts::over_time(page, phases);
    page.section("Latency");
    charts::latency(page, phases);
    page.table(table(&outline::latency(phase)));
    page.section("Figures");
    page.table(Table::pairs(
        outline::facts(phase)
            .into_iter()
            .chain(outline::uses(phase)),
    ));
    more(page, phase);
}

fn ladder(page: &mut Page, phases: &[Phase]) {
    page.section("By phase");
    charts::ladder(page, phases);
    for grid in outline::ladder(phases) {
        page.table(table(&grid));
    }
    page.section("Over time");
    charts::over_time(page, phases);
    page.section("Latency");
    charts::latency(page, phases);
    page.section("Each phase");
    for phase in phases {
        page.subsection(&phase.name);
        page.table(table(&outline::latency(phase)));
        page.table(Table::pairs(
            outline::facts(phase)
                .into_iter()
                .chain(outline::uses(phase)),
        ));
        more(page, phase);
    }
}

/// Labels, sessions and faults, where there are some.
fn more(page: &mut Page, phase: &Phase) {
    for part in outline::more(phase) {
        match part {
            Part::Heading(title) => {
                page.subsection(&title);
            }
            Part::Facts(facts) => {
                page.table(Table::pairs(facts));
            }
            Part::Grid(grid) => {
                page.table(table(&grid));
            }
            Part::List(title, items) => {
                let rows = items.into_iter().map(|item| [item]);
                page.table(rows.fold(Table::new([Column::text(title)]), Table::row));
            }
        }
    }
}

/// A grid as a table; a success below 100 % stands out.
fn table(grid: &Grid) -> Table {
    let last = grid.columns.len().saturating_sub(1);
    let columns = grid.columns.iter().enumerate().map(|(i, name)| match i {
        0 => Column::head(name.as_str()),
        _ if i == last && grid.ends_in_text => Column::text(name.as_str()),
        _ => Column::number(name.as_str()),
    });
    let mut table = Table::new(columns);
    for row in &grid.rows {
        table.push(row.iter().zip(&grid.columns).map(|(text, column)| {
            let cell = Cell::new(text.as_str());
            match column.as_str() {
                "success" if text != format::ABSENT && !text.starts_with("100.") => {
                    cell.tone(Tone::Bad).strong()
                }
                "failed" => cell.tone(Tone::Bad),
                _ => cell,
            }
        }));
    }
    table
}

/// Where, and with which command.
fn setting(page: &mut Page, report: &Report) {
    page.section("Setting");
    if !report.machines.is_empty() {
        page.table(table(&outline::machines(report)));
    }
    if !report.command.is_empty() {
        page.code(&format::command(&report.command));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn pages_are_small() {
        for report in [sample::single(), sample::ladder()] {
            let size = html(&report).len();
            assert!(size < 150 * 1024, "{size}");
        }
    }

    #[test]
    fn an_hour_at_eight_rungs_is_still_small() {
        let mut report = sample::ladder();
        let phase = report.phases[0].clone();
        report.phases = (0..8_u32).map(|i| long(&phase, i)).collect();
        let size = html(&report).len();
        assert!(size < 400 * 1024, "{size}");
    }

    fn long(phase: &Phase, rung: u32) -> Phase {
        let mut phase = phase.clone();
        phase.name = format!("rung {rung}");
        let point = phase.series[0].clone();
        phase.series = (0..3600_u32)
            .map(|i| crate::Point {
                at: f64::from(i),
                succeeded: u64::from(i * 7919 % 1000),
                ..point.clone()
            })
            .collect();
        phase
    }

    #[test]
    fn names_of_all_kinds_stay_text() {
        let mut report = sample::single();
        let bad = "<script>alert(1)</script>\"'";
        report.title = bad.into();
        report.command.push(bad.into());
        report.warnings.push(bad.into());
        report.finding = Some(bad.into());
        report.machines[0].name = bad.into();
        report.machines[0].lost = Some(bad.into());
        let phase = &mut report.phases[0];
        phase.name = bad.into();
        phase.labels[0] = bad.into();
        phase.tally.fault(bad);
        if let Some(server) = &mut phase.server {
            server.name = bad.into();
        }
        let page = html(&report);
        assert!(!page.contains("<script>alert"));
        assert!(
            page.matches("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;")
                .count()
                >= 8
        );
    }

    #[test]
    fn a_report_without_figures_is_a_page() {
        let empty = Report {
            phases: vec![Phase::default()],
            ..Report::default()
        };
        for report in [Report::default(), empty] {
            let page = html(&report);
            assert!(page.ends_with("</html>\n"));
            assert!(!page.contains("NaN") && !page.contains("inf"), "{page}");
        }
    }
}
