//! How it was measured, on what machine, and what to beware of.

use forebay_results::format;

use super::blocks::{Block, Entry, Table};
use crate::comparison::Comparison;
use crate::servers::Role;

/// What a reader must know before the figures.
pub(super) fn notes(comparison: &Comparison) -> Vec<Block> {
    let quick = comparison.method.quick.then(|| {
        Block::Notice(
            "A quick run: its steps are short, to see that everything works; run it without --quick for figures."
                .into(),
        )
    });
    let notes = comparison.notes.iter().cloned().map(Block::Notice);
    let mut blocks: Vec<Block> = quick.into_iter().chain(notes).collect();
    blocks.push(Block::Paragraph(reading(comparison.reference())));
    blocks
}

/// The section on the method.
pub(super) fn method(comparison: &Comparison) -> Vec<Block> {
    let mut blocks = vec![
        Block::Section("Machine and method".into()),
        Block::Table(facts(comparison)),
        Block::Code(comparison.command.join(" ")),
        Block::Paragraph(how(comparison)),
    ];
    let out: Vec<String> = comparison
        .servers
        .iter()
        .filter_map(|s| Some(format!("{}: {}", s.name, s.left_out.as_ref()?)))
        .collect();
    if !out.is_empty() {
        blocks.push(Block::Paragraph("Left out:".into()));
        blocks.push(Block::List(out));
    }
    blocks
}

fn facts(comparison: &Comparison) -> Table {
    let (machine, method) = (&comparison.machine, &comparison.method);
    let pinned = |cores: &str| {
        if cores.is_empty() {
            "any".to_owned()
        } else {
            cores.to_owned()
        }
    };
    let rows = [
        (
            "machine",
            format!(
                "{}, {} cores, {}",
                machine.processor,
                machine.cores,
                format::size(machine.memory_bytes as f64)
            ),
        ),
        ("system", machine.system.clone()),
        ("begun", comparison.started.clone()),
        ("took", format::length(comparison.seconds)),
        ("rounds", method.rounds.to_string()),
        (
            "cores of the servers",
            format!(
                "{} ({})",
                pinned(&method.server_cores),
                format::counted(method.workers as u64, "worker", "workers")
            ),
        ),
        ("cores of load and origin", pinned(&method.client_cores)),
        (
            "memory for cached objects",
            format::size(method.memory_bytes as f64),
        ),
        ("open files at most", format::count(method.descriptors)),
        ("load average before", format!("{:.2}", method.load_before)),
        ("origin", method.origin.clone()),
        ("program", comparison.program.clone()),
    ];
    Table {
        caption: String::new(),
        columns: vec!["what".into(), "value".into()],
        rows: rows
            .into_iter()
            .map(|(name, value)| vec![Entry::new(name), Entry::new(value)])
            .collect(),
        textual: true,
    }
}

fn how(comparison: &Comparison) -> String {
    let has_caches = comparison
        .servers
        .iter()
        .any(|s| s.role.group() == Role::Cache);
    let kind = if has_caches {
        (
            " with an empty cache: the server is asked until it answers without its origin, then led through the \
             steps, then ended",
            "Caches have the same origin: nginx with files, on the cores of the load.",
        )
    } else {
        (
            ": the programs beside the server are started, then the server itself; it is warmed up, led through the \
             steps, and all are ended",
            "The programs beside a server run on its cores.",
        )
    };
    format!(
        "In each round every server has its turn, in an order that rotates. A turn is a fresh start{}. Logs are off, \
         connections may be kept, and each server has as many workers as it has cores. {} {}",
        kind.0, kind.1, comparison.method.ports
    )
}

fn reading(reference: &str) -> String {
    format!(
        "Figures are medians of the rounds; below them least to most, and the ratio to {reference}: the median of the \
         rounds' ratios, each taken within its round. ≈ means within noise: over the rounds the ratio was above 1 as \
         well as below it, or, with fewer than three rounds, came within 5 % of it. ‡ means that the load tester was \
         at its limit: the server could do more, and its processor time a request (user and system, all its \
         processes) tells how much more. The best of several of a kind is set in bold. Successes and failures are \
         those of all rounds together."
    )
}
