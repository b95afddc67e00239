//! The tables in `docs/bench.md` of causes, of figures for `--assert` and of
//! columns are those of the program.
//! `UPDATE_DOCS=1 cargo test -p forebay-results --test reference` writes them
//! anew.

#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;

use forebay_results::assert::Figure;
use forebay_results::{Cause, csv_columns};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/bench.md");

/// A table of names and what they mean.
fn table<'a>(head: &str, rows: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut out = format!("\n| {head} | meaning |\n|---|---|\n");
    for (name, about) in rows {
        let _ = writeln!(out, "| `{name}` | {about} |");
    }
    out.push('\n');
    out
}

/// The page with what stands between the marks of `name` replaced.
fn replaced(page: &str, name: &str, text: &str) -> String {
    let (before, rest) = page.split_once(&format!("<!-- {name}:")).unwrap();
    let (mark, rest) = rest.split_once("-->\n").unwrap();
    let end = format!("<!-- END OF {name} -->");
    let (_, after) = rest.split_once(&end).unwrap();
    format!("{before}<!-- {name}:{mark}-->\n{text}{end}{after}")
}

#[test]
fn the_page_in_docs_has_the_tables_of_the_program() {
    let causes = Cause::ALL.iter().map(|cause| (cause.name(), cause.about()));
    let figures = Figure::REFERENCE.iter().copied().chain(Figure::plain());
    let page = std::fs::read_to_string(PAGE).unwrap();
    let mut expected = replaced(&page, "CAUSES", &table("cause", causes));
    expected = replaced(&expected, "FIGURES", &table("figure", figures));
    expected = replaced(&expected, "COLUMNS", &table("column", csv_columns()));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(PAGE, &expected).unwrap();
    }
    let found = std::fs::read_to_string(PAGE).unwrap();
    assert!(
        found == expected,
        "docs/bench.md is not current; run with UPDATE_DOCS=1 to write it anew"
    );
}
