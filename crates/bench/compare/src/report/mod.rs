//! The report of a comparison, made from what `compare.json` holds: a page of
//! blocks, rendered as Markdown and as one self-contained HTML file.

mod appendix;
mod beside;
mod blocks;
mod cases;
mod charts;
mod growth;
mod html;
mod markdown;
mod method;
mod words;

use std::path::Path;

use crate::comparison::Comparison;
use blocks::Block;

/// Writes `report.md` and `report.html` into `dir`.
///
/// # Errors
/// When they cannot be written.
pub(crate) fn write(comparison: &Comparison, dir: &Path) -> Result<(), String> {
    let blocks = blocks(comparison);
    let title = title(comparison);
    let files = [
        (
            "report.md",
            markdown::render(&title, &comparison.question, &blocks),
        ),
        ("report.html", html::render(&title, comparison, &blocks)),
    ];
    for (name, text) in files {
        let file = dir.join(name);
        std::fs::write(&file, text).map_err(|e| format!("{}: {e}", file.display()))?;
        println!("report: {}", file.display());
    }
    Ok(())
}

/// The conclusions, for a terminal.
pub(crate) fn in_words(comparison: &Comparison) -> String {
    words::all(comparison).join("\n")
}

fn title(comparison: &Comparison) -> String {
    format!("forebay compare {}", comparison.suite)
}

/// The whole report, from figures to words; what was run and where is the appendix.
fn blocks(comparison: &Comparison) -> Vec<Block> {
    let mut blocks = method::notes(comparison);
    for case in &comparison.cases {
        blocks.extend(cases::case(comparison, case));
        blocks.extend(beside::then_and_now(case));
    }
    blocks.extend(method::method(comparison));
    blocks.extend(appendix::servers(comparison));
    blocks.push(Block::Section("In words".into()));
    blocks.push(Block::List(words::all(comparison)));
    blocks
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::comparison::{CaseResult, ConfigFile, Contestant, FORMAT, LevelResult};
    use crate::statistics::tests::turn;
    use crate::suites::SUITES;

    /// The first suite, quick, with figures of two servers, one of which is called like markup.
    fn comparison() -> Comparison {
        let suite = SUITES.first().unwrap();
        let case = (suite.cases)(true).remove(0);
        let levels = case.levels.iter().map(|level| LevelResult {
            clients: level.clients,
            amount: level.amount.name(),
            turns: vec![
                turn("forebay", 1, 2000.0, 0),
                turn("<b>|x", 1, 1000.0, 7),
                turn("forebay", 2, 2500.0, 0),
                turn("<b>|x", 2, 1250.0, 0),
            ],
        });
        let server = |name: &str| Contestant {
            name: name.into(),
            command: "server --run".into(),
            files: vec![ConfigFile {
                name: "a.conf".into(),
                text: "</pre>```".into(),
            }],
            ..Contestant::default()
        };
        Comparison {
            format: FORMAT,
            suite: suite.name.into(),
            question: suite.question.into(),
            servers: vec![server("forebay"), server("<b>|x")],
            cases: vec![CaseResult {
                name: case.name.into(),
                measure: case.measure,
                levels: levels.collect(),
                original: case.original,
                ..CaseResult::default()
            }],
            ..Comparison::default()
        }
    }

    #[test]
    fn a_comparison_that_was_kept_renders_as_it_did() {
        let dir = tempfile::tempdir().unwrap();
        let first = comparison();
        first.write(dir.path()).unwrap();
        let again = Comparison::read(dir.path()).unwrap();
        assert_eq!(first, again);
        write(&again, dir.path()).unwrap();
        let read = |name| std::fs::read_to_string(dir.path().join(name)).unwrap();
        let (markdown, html) = (read("report.md"), read("report.html"));
        for (name, text) in [("markdown", &markdown), ("html", &html)] {
            assert!(
                !text.contains("<b>|x"),
                "{name} has markup of a server's name"
            );
            assert!(text.contains("In words"), "{name}");
            assert!(text.contains("Varnish 3.0.2 (file)"), "{name}");
            assert!(text.contains("forebay is first"), "{name}");
            assert!(text.contains("timeout 7"), "{name}");
        }
        assert!(html.contains("<svg"));
        assert!(markdown.contains("| 135,000 |") || markdown.contains("**135,000**"));
    }

    #[test]
    fn a_file_of_another_format_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let mut other = comparison();
        other.format = FORMAT + 1;
        other.write(dir.path()).unwrap();
        assert!(Comparison::read(dir.path()).is_err_and(|e| e.contains("format")));
        std::fs::write(dir.path().join("compare.json"), "{").unwrap();
        assert!(Comparison::read(dir.path()).is_err());
    }
}
