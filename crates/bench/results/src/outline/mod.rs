//! A report as headings, facts, grids and lists: what is told, and in which
//! order. The terminal, Markdown and HTML only differ in how they draw it.

mod ladder;
mod phase;

pub(crate) use ladder::ladder;
pub(crate) use phase::{facts, latency, more, settings, uses};

use crate::{Histogram, Report, format};

/// A piece of a report.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part {
    /// A heading: of a phase, of a section.
    Heading(String),
    /// Names and what belongs to them.
    Facts(Vec<(&'static str, String)>),
    /// A table.
    Grid(Grid),
    /// Sentences below a title.
    List(&'static str, Vec<String>),
}

/// A table: its first column is text, the others are figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Grid {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    /// Whether the last column is text as well.
    pub(crate) ends_in_text: bool,
}

impl Grid {
    fn new(columns: &[&str]) -> Self {
        Self {
            columns: columns.iter().map(|&column| column.to_owned()).collect(),
            ..Self::default()
        }
    }

    /// Without the columns (but the first) in which nothing was measured.
    fn without_empty_columns(mut self) -> Self {
        let keep: Vec<bool> = (0..self.columns.len())
            .map(|i| {
                i == 0
                    || self
                        .rows
                        .iter()
                        .any(|row| row[i] != format::ABSENT && !row[i].is_empty())
            })
            .collect();
        let kept = |row: &[String]| -> Vec<String> {
            let cells = row.iter().zip(&keep).filter(|(_, keep)| **keep);
            cells.map(|(cell, _)| cell.clone()).collect()
        };
        self.ends_in_text &= keep.last().copied().unwrap_or(false);
        self.columns = kept(&self.columns);
        self.rows = self.rows.iter().map(|row| kept(row)).collect();
        self
    }
}

/// Everything of a report behind its title.
pub(crate) fn outline(report: &Report) -> Vec<Part> {
    let mut parts = Vec::new();
    match report.phases.as_slice() {
        [phase] => phase::parts(phase, &mut parts),
        phases => {
            parts.extend(ladder(phases).map(Part::Grid));
            for phase in phases {
                ladder::details(phase, &mut parts);
            }
        }
    }
    closing(report, &mut parts);
    parts
}

fn closing(report: &Report, parts: &mut Vec<Part>) {
    let lost = lost(report);
    if !lost.is_empty() {
        parts.push(Part::List("lost", lost));
    }
    if report.machines.len() > 1 {
        parts.push(Part::Grid(machines(report)));
    }
    if !report.warnings.is_empty() {
        parts.push(Part::List("warnings", report.warnings.clone()));
    }
    if let Some(finding) = &report.finding {
        parts.push(Part::List("found", vec![finding.clone()]));
    }
}

/// Machines that left early, and how much of the load they had sent.
pub(crate) fn lost(report: &Report) -> Vec<String> {
    let all: u64 = report
        .machines
        .iter()
        .map(|machine| machine.completed)
        .sum();
    let gone = report
        .machines
        .iter()
        .filter_map(|machine| Some((machine, machine.lost.as_ref()?)));
    gone.map(|(machine, why)| {
        let share = if all > 0 {
            machine.completed as f64 / all as f64
        } else {
            0.0
        };
        format!(
            "{}: {why}; it had sent {} of the requests",
            machine.name,
            format::share(share)
        )
    })
    .collect()
}

pub(crate) fn machines(report: &Report) -> Grid {
    let mut grid = Grid::new(&["load from", "requests", "cores", "memory", "system"]);
    grid.ends_in_text = true;
    for machine in &report.machines {
        grid.rows.push(vec![
            machine.name.clone(),
            format::count(machine.completed),
            machine.cores.to_string(),
            format::size(machine.memory_bytes as f64),
            format!("{}, {}", machine.processor, machine.system),
        ]);
    }
    grid
}

fn time(durations: &Histogram, ns: f64) -> String {
    if durations.count() == 0 {
        format::ABSENT.into()
    } else {
        format::duration(ns)
    }
}

fn or_absent(text: Option<String>) -> String {
    text.unwrap_or_else(|| format::ABSENT.into())
}

/// Processor time of a request, given in microseconds.
pub(crate) fn micros(us: f64) -> String {
    format::duration(us * 1000.0)
}
