//! What exactly was run: versions, command lines, configurations.

use super::blocks::{Block, Entry, Table};
use crate::comparison::{Comparison, Contestant};

/// The section on the servers.
pub(super) fn servers(comparison: &Comparison) -> Vec<Block> {
    let rows = comparison.contestants().map(|server| {
        [&server.name, &server.about, &server.version]
            .map(Entry::new)
            .to_vec()
    });
    let table = Table {
        caption: String::new(),
        columns: ["server", "what it is", "version"]
            .map(str::to_owned)
            .to_vec(),
        rows: rows.collect(),
        textual: true,
    };
    let mut blocks = vec![
        Block::Section("Servers".into()),
        Block::Table(table),
        Block::Paragraph(
            "Command lines and configurations, as of each server's last start:".into(),
        ),
    ];
    blocks.extend(comparison.contestants().map(details));
    blocks
}

fn details(server: &Contestant) -> Block {
    let environment: String = server.environment.iter().map(|v| format!("{v} ")).collect();
    let mut text = format!("$ {environment}{}\n", server.command);
    for file in &server.files {
        text.push_str(&format!("\n──── {}\n{}\n", file.name, file.text.trim_end()));
    }
    Block::Details {
        summary: server.name.clone(),
        text,
    }
}
