//! Everything that is wrong with a scenario, each with its line and a caret.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use forebay_config::{Diagnostic, Level, Source, render};

/// Everything that is wrong with a scenario. `Display` shows it with lines and carets.
#[derive(Clone, Debug)]
pub struct Errors {
    source: Source,
    list: Vec<Diagnostic>,
}

impl Errors {
    /// Each error: its place in the text and words.
    pub fn list(&self) -> &[Diagnostic] {
        &self.list
    }

    /// As `Display` shows it, with ANSI colours if asked for.
    pub fn render(&self, color: bool) -> String {
        render(&self.source, &self.list, color)
    }

    /// Puts errors in the order of the text.
    pub(crate) fn new(text: &str, name: &str, problems: Vec<Problem>, spans: &Spans) -> Self {
        let diagnostic = |problem: Problem| Diagnostic {
            level: Level::Error,
            span: problem.span.or_else(|| spans.nearest(&problem.path)),
            message: problem.message,
            expected: problem.expected,
            suggestion: problem.suggestion,
        };
        let mut list: Vec<Diagnostic> = problems.into_iter().map(diagnostic).collect();
        list.sort_by_key(|one| one.span.as_ref().map_or(usize::MAX, |span| span.start));
        list.dedup();
        let source = Source {
            name: name.to_owned(),
            text: text.to_owned(),
        };
        Self { source, list }
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.render(false).trim_end())
    }
}

impl std::error::Error for Errors {}

/// One thing that is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Problem {
    /// Which value, as `flow.0.step.2.expect.status`.
    pub(crate) path: String,
    /// Its place in the text, where it is not that of the path.
    pub(crate) span: Option<Range<usize>>,
    /// What is wrong.
    pub(crate) message: String,
    /// What would be right there.
    pub(crate) expected: Option<String>,
    /// What to write instead.
    pub(crate) suggestion: Option<String>,
}

/// Where in the text the values stand, by path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spans(HashMap<String, Range<usize>>);

impl Spans {
    /// Notes where a value stands.
    pub(crate) fn note(&mut self, path: String, span: Range<usize>) {
        self.0.insert(path, span);
    }

    /// Where a value stands, or the nearest that it is part of.
    fn nearest(&self, path: &str) -> Option<Range<usize>> {
        let mut path = path;
        loop {
            if let Some(span) = self.0.get(path) {
                return Some(span.clone());
            }
            path = &path[..path.rfind('.')?];
        }
    }
}

/// The known word nearest to one that is not known, if one is near enough to be what was meant.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.is_empty() || word.len() > 64 {
        return None;
    }
    let word: Vec<char> = word.to_lowercase().replace('-', "_").chars().collect();
    let allowed = (word.len() / 3).max(1);
    let candidates = known.into_iter().map(|candidate| {
        let letters: Vec<char> = candidate.to_lowercase().replace('-', "_").chars().collect();
        let part = word.len() >= 3 && (letters.starts_with(&word) || letters.ends_with(&word));
        let distance = distance(&word, &letters);
        (
            if part {
                distance.min(allowed)
            } else {
                distance
            },
            candidate,
        )
    });
    let near = candidates.filter(|(distance, _)| *distance <= allowed);
    near.min().map(|(_, candidate)| candidate)
}

/// Letters to change, add, drop, or swap with their neighbour (optimal string alignment).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, to) in b.iter().enumerate() {
            let replaced = last[j] + usize::from(from != to);
            let mut best = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *from == b[j - 1] && a[i - 1] == *to {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_what_was_meant() {
        let known = ["pause", "method", "keep_cookies", "expect"];
        for (word, expected) in [
            ("puase", Some("pause")),
            ("keep-cookies", Some("keep_cookies")),
            ("cookies", Some("keep_cookies")),
            ("Method", Some("method")),
            ("except", Some("expect")),
            ("xyz", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
    }
}
