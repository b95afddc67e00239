//! What is wrong in a configuration file, where, and how it is shown.

use std::ops::Range;

use annotate_snippets::{
    AnnotationKind, Level as Heading, Origin, Renderer, Snippet, normalize_untrusted_str,
};

/// A configuration text and the name it goes by in messages.
#[derive(Clone, Debug)]
pub struct Source {
    /// The file's name as the operator gave it.
    pub name: String,
    /// Its content.
    pub text: String,
}

/// How much a diagnostic matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The file is refused.
    Error,
    /// The file is taken; the operator probably meant something else.
    Warning,
}

/// One thing the operator should know about the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Error or warning.
    pub level: Level,
    /// The bytes of the source it is about; `None`: the file as a whole.
    pub span: Option<Range<usize>>,
    /// What is wrong.
    pub message: String,
    /// What would be right in this place.
    pub expected: Option<String>,
    /// What to write or do instead.
    pub suggestion: Option<String>,
}

impl Diagnostic {
    pub(crate) fn error(span: Range<usize>, message: impl Into<String>) -> Self {
        Self {
            level: Level::Error,
            span: Some(span),
            message: message.into(),
            expected: None,
            suggestion: None,
        }
    }

    pub(crate) fn warning(span: Range<usize>, message: impl Into<String>) -> Self {
        Self {
            level: Level::Warning,
            ..Self::error(span, message)
        }
    }

    pub(crate) fn whole_file(message: impl Into<String>) -> Self {
        Self {
            span: None,
            ..Self::error(0..0, message)
        }
    }

    pub(crate) fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self
    }

    pub(crate) fn suggest(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = Some(suggestion.into());
        self
    }

    /// Suggests the known word closest to the one found, if there is one.
    pub(crate) fn did_you_mean(mut self, nearest: Option<&str>) -> Self {
        if let Some(word) = nearest {
            self.suggestion = Some(format!("did you mean `{word}`?"));
        }
        self
    }
}

/// The diagnostics as text: message, file, line and column, the line with a
/// caret under what is meant, what was expected, and what to write instead.
/// They are separated by empty lines; `color` adds ANSI colours.
pub fn render(source: &Source, diagnostics: &[Diagnostic], color: bool) -> String {
    let renderer = if color {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let shown: Vec<String> = diagnostics
        .iter()
        .map(|diagnostic| render_one(&renderer, source, diagnostic))
        .collect();
    let mut text = shown.join("\n\n");
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

fn render_one(renderer: &Renderer, source: &Source, diagnostic: &Diagnostic) -> String {
    let heading = match diagnostic.level {
        Level::Error => Heading::ERROR,
        Level::Warning => Heading::WARNING,
    };
    let title = heading.primary_title(diagnostic.message.as_str());
    let mut group = match &diagnostic.span {
        Some(span) => {
            let annotation = AnnotationKind::Primary
                .span(clamp(&source.text, span))
                .label(
                    diagnostic
                        .expected
                        .as_ref()
                        .map(|expected| format!("expected {expected}")),
                );
            let snippet = Snippet::source(source.text.as_str())
                .path(source.name.as_str())
                .annotation(annotation);
            title.element(snippet)
        }
        None => title.element(Origin::path(source.name.as_str())),
    };
    if let Some(suggestion) = &diagnostic.suggestion {
        // The renderer prints this as it is; the operator's terminal must not obey the file.
        let lines: Vec<String> = suggestion.lines().map(normalize_untrusted_str).collect();
        group = group.element(Heading::HELP.message(lines.join("\n")));
    }
    renderer.render(&[group])
}

/// The character boundary at `at` or before it, within `text`.
pub(crate) fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// `span` within `text`, on character boundaries, within one line.
fn clamp(text: &str, span: &Range<usize>) -> Range<usize> {
    let start = floor_boundary(text, span.start);
    let end = (span.end.min(text.len())..=text.len())
        .find(|end| text.is_char_boundary(*end))
        .map_or(start, |end| end.max(start));
    let line_end = text[start..end]
        .find(['\r', '\n'])
        .map_or(end, |length| start + length);
    start..line_end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source() -> Source {
        Source {
            name: "forebay.toml".into(),
            text: "[cache]\nmemroy = \"1GiB\"\n".into(),
        }
    }

    #[test]
    fn shows_file_line_column_caret_expectation_and_help() {
        let diagnostic = Diagnostic::error(8..14, "unknown setting `memroy`")
            .expected("a setting of [cache]")
            .did_you_mean(Some("memory"));
        let text = render(&source(), &[diagnostic], false);
        for part in [
            "error: unknown setting `memroy`",
            "--> forebay.toml:2:1",
            "memroy = \"1GiB\"",
            "^^^^^^ expected a setting of [cache]",
            "help: did you mean `memory`?",
        ] {
            assert!(text.contains(part), "{part} is missing in:\n{text}");
        }
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn colour_only_when_asked_and_never_from_the_file() {
        let diagnostic = Diagnostic::whole_file("bad \u{1b}[31m").suggest("write \u{1b}[31m");
        let text = render(&source(), std::slice::from_ref(&diagnostic), false);
        assert!(!text.contains('\u{1b}'), "{text:?}");
        assert!(render(&source(), &[diagnostic], true).contains('\u{1b}'));
    }

    #[test]
    fn a_span_of_several_lines_is_shown_by_its_first() {
        assert_eq!(clamp("ab\ncd", &(0..5)), 0..2);
        assert_eq!(clamp("é", &(1..1)), 0..2);
        assert_eq!(clamp("ab", &(7..9)), 2..2);
    }
}
