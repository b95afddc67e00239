//! The tables of keys in `docs/scenarios.md` are those that the reader knows.
//! `UPDATE_DOCS=1 cargo test -p forebay-workload --test reference` writes them
//! anew.

#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;

use forebay_workload::scenario::KEYS;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/scenarios.md");

/// The tables, as headings of the page name them.
const TABLES: &[(&str, &str)] = &[
    ("", "At the head of the file"),
    ("data", "`[[data]]`"),
    ("flow", "`[[flow]]`"),
    ("step", "`[[flow.step]]`"),
    ("expect", "`expect` of a step"),
    ("extract", "`extract` of a step"),
];

fn reference() -> String {
    let mut out = String::new();
    for (table, heading) in TABLES {
        let _ = write!(
            out,
            "### {heading}\n\n| key | takes | meaning |\n|---|---|---|\n"
        );
        for key in KEYS.iter().filter(|key| key.table == *table) {
            let (takes, meaning) = (cell(key.takes), cell(key.meaning));
            let _ = writeln!(out, "| `{}` | {takes} | {meaning} |", key.name);
        }
        out.push('\n');
    }
    out
}

/// A bar would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[test]
fn every_key_is_in_a_table_of_the_page() {
    let strays: Vec<_> = KEYS
        .iter()
        .filter(|key| !TABLES.iter().any(|(table, _)| *table == key.table))
        .collect();
    assert!(strays.is_empty(), "{strays:?}");
}

#[test]
fn the_page_in_docs_has_the_keys_that_the_reader_knows() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once("<!-- KEYS:").unwrap();
    let (mark, rest) = rest.split_once("-->\n").unwrap();
    let (_, after) = rest.split_once("<!-- END OF KEYS -->").unwrap();
    let expected = format!(
        "{before}<!-- KEYS:{mark}-->\n\n{}<!-- END OF KEYS -->{after}",
        reference()
    );
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(PAGE, &expected).unwrap();
    }
    let found = std::fs::read_to_string(PAGE).unwrap();
    assert!(
        found == expected,
        "docs/scenarios.md is not current; run with UPDATE_DOCS=1 to write it anew"
    );
}
