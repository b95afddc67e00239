//! TOML with every syntax error in one run.
//!
//! The parser stops at its first error. Here the statement with the error is
//! replaced by as many spaces, so that the places of everything else stay what
//! they are, and the rest is parsed again.

use std::ops::Range;

use toml_edit::Document;

use crate::diagnostic::{Diagnostic, floor_boundary};

/// After so many syntax errors the file is probably not TOML at all.
const MAX_ERRORS: usize = 20;

/// What could be parsed, with the syntax errors of the rest in `out`.
pub(crate) fn parse(text: &str, out: &mut Vec<Diagnostic>) -> Option<Document<String>> {
    let mut text = text.to_owned();
    for _ in 0..MAX_ERRORS {
        let error = match Document::parse(text.clone()) {
            Ok(document) => return Some(document),
            Err(error) => error,
        };
        let at = error.span().map_or(0, |span| span.start).min(text.len());
        let statement = statement(&text, at);
        out.push(diagnostic(&text, &error, at, &statement));
        if text[statement.clone()].trim().is_empty() {
            return None;
        }
        blank(&mut text, &statement);
    }
    None
}

/// The statement around `at`: from the line that begins it to the one that begins the next; for
/// the header of a section, the whole section (its keys would go to another one).
fn statement(text: &str, at: usize) -> Range<usize> {
    let at = floor_boundary(text, at);
    let start = open_before(text, begin(text, line_of(text, at)));
    let header = line_at(text, start).trim_start().starts_with('[');
    let mut end = start + line_at(text, start).len();
    while end < text.len() {
        let line = line_at(text, end);
        let next = if header {
            line.trim_start().starts_with('[')
        } else {
            begins_statement(line)
        };
        if next && end > at {
            break;
        }
        end += line.len();
    }
    start..end
}

/// The start of the line with `at` in it.
fn line_of(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// The start of the statement that the line at `start` belongs to.
fn begin(text: &str, mut start: usize) -> usize {
    while start > 0 && !begins_statement(line_at(text, start)) {
        start = line_of(text, start - 1);
    }
    start
}

/// The start of a statement shortly before the one at `start` that leaves a bracket open, for an
/// error is noticed only behind it; else `start`.
fn open_before(text: &str, start: usize) -> usize {
    let mut end = start;
    for _ in 0..3 {
        if end == 0 {
            break;
        }
        let before = begin(text, line_of(text, end - 1));
        if open_brackets(&text[before..end]) > 0 {
            return before;
        }
        end = before;
    }
    start
}

/// How many brackets are opened and not closed, outside of texts and comments.
fn open_brackets(statement: &str) -> i32 {
    let mut open = 0;
    for line in statement.lines() {
        let mut quote = None;
        let mut escaped = false;
        for c in line.chars() {
            match (quote, c) {
                (Some('"'), '\\') => escaped = !escaped,
                (Some(q), c) if c == q && !escaped => quote = None,
                (Some(_), _) => escaped = false,
                (None, '"' | '\'') => quote = Some(c),
                (None, '#') => break,
                (None, '[' | '{') => open += 1,
                (None, ']' | '}') => open -= 1,
                _ => {}
            }
        }
    }
    open
}

/// The line that begins at `start`, with its end of line.
fn line_at(text: &str, start: usize) -> &str {
    let rest = &text[start..];
    &rest[..rest.find('\n').map_or(rest.len(), |newline| newline + 1)]
}

/// Whether a line looks like `key = …` or `[section]`.
fn begins_statement(line: &str) -> bool {
    let line = line.trim_start();
    if let Some(header) = line.strip_prefix('[') {
        return header
            .trim_start_matches('[')
            .starts_with(|c: char| c.is_alphanumeric() || c == '_');
    }
    let word = |c: char| c.is_alphanumeric() || "_-.\"' \t".contains(c);
    match line.split_once('=') {
        Some((key, _)) => {
            !key.trim().is_empty() && key.chars().all(word) && !line.starts_with(['"', '\''])
        }
        None => line.starts_with(|c: char| c.is_alphabetic()),
    }
}

fn blank(text: &mut String, range: &Range<usize>) {
    let spaces: String = text[range.clone()]
        .bytes()
        .map(|byte| if byte == b'\n' { '\n' } else { ' ' })
        .collect();
    text.replace_range(range.clone(), &spaces);
}

fn diagnostic(
    text: &str,
    error: &toml_edit::TomlError,
    at: usize,
    statement: &Range<usize>,
) -> Diagnostic {
    let span = error.span().unwrap_or(at..at);
    let message = error.message().lines().collect::<Vec<_>>().join(", ");
    let (what, expected) = match message.split_once(", expected ") {
        Some((what, expected)) => (what, Some(expected)),
        None => (message.as_str(), None),
    };
    let mut diagnostic = Diagnostic::error(span, format!("not TOML: {what}"));
    diagnostic.expected = expected.map(Into::into);
    if let Some(quoted) = unquoted(&text[statement.clone()]) {
        diagnostic = diagnostic.suggest(format!("texts stand in quotes: write {quoted}"));
    }
    diagnostic
}

/// For `key = 1GiB`, the commonest slip, how it is written right.
fn unquoted(statement: &str) -> Option<String> {
    let (key, value) = statement.lines().next()?.split_once('=')?;
    let value = value.split('#').next()?.trim();
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-:/*%".contains(c);
    (!value.is_empty() && value.chars().all(plain)).then(|| format!("{} = \"{value}\"", key.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn errors(text: &str) -> Vec<(usize, String)> {
        let mut out = Vec::new();
        let _ = parse(text, &mut out);
        let line = |diagnostic: &Diagnostic| {
            let start = diagnostic.span.clone().unwrap_or_default().start;
            text[..floor_boundary(text, start)].matches('\n').count() + 1
        };
        out.iter().map(|d| (line(d), d.message.clone())).collect()
    }

    #[test]
    fn every_broken_statement_is_reported_once() {
        let text = "[cache]\nmemory = 1GiB\nkeep = 1h\ngrace = = 2\n[log]\nlevel = \"info\nbuffer = 7\nbuffer = 8\n";
        let mut lines: Vec<usize> = errors(text).into_iter().map(|(line, _)| line).collect();
        lines.sort_unstable();
        assert_eq!(lines, [2, 3, 4, 6, 8]);
    }

    #[test]
    fn what_is_not_broken_is_still_there() {
        let mut out = Vec::new();
        let document = parse("[cache]\nmemory = 1GiB\nkeep = \"1h\"\n", &mut out);
        assert_eq!(out.len(), 1);
        assert_eq!(
            out[0].suggestion.as_deref(),
            Some("texts stand in quotes: write memory = \"1GiB\"")
        );
        let found = document.as_ref().map(|document| &document["cache"]["keep"]);
        assert_eq!(found.and_then(toml_edit::Item::as_str), Some("1h"));
    }

    #[test]
    fn an_open_array_is_one_error() {
        for text in [
            "[pool.app]\nservers = [\"a:1\",\n  \"b:2\"\nretries = 3\n[log]\nlevel = \"info\"\n",
            "[pool.app]\nservers = [\"a:1\",\n[log]\nlevel = \"info\"\n",
            "[pool.app]\nservers = [\"a:1\", \"]\" # ]\n",
        ] {
            let found = errors(text);
            assert_eq!(found.len(), 1, "{text}{found:?}");
        }
    }

    #[test]
    fn a_section_twice_is_one_error() {
        let found =
            errors("[log]\nlevel = \"info\"\n[cache]\n[log]\nlevel = \"warn\"\nbuffer = 1\n");
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].0, 4, "{found:?}");
    }

    proptest! {
        #[test]
        fn any_text_ends_with_places_inside_it(
            text in "\\PC*",
            near in "([a-c]|=|\\[|\\]|\"|'|\\{|\\}|,|#|\\.|1|é|\n|\r| ){0,60}",
        ) {
            for text in [text, near] {
                let mut out = Vec::new();
                let parsed = parse(&text, &mut out);
                prop_assert!(parsed.is_some() || !out.is_empty());
                for diagnostic in &out {
                    let span = diagnostic.span.clone().unwrap_or_default();
                    prop_assert!(span.start <= text.len() && span.end <= text.len());
                }
            }
        }
    }
}
