//! Texts with `{name}` in them, and the regular expressions whose groups they name.
//!
//! A template is checked when the file is read, so that nothing but its replacement is left to do
//! for a request.

use regex::bytes::{Regex, RegexBuilder};

use crate::nearest::nearest;

/// What a pattern may take when it is compiled, in bytes; a larger one is refused.
const PATTERN_BYTES: usize = 1 << 20;

/// Names that stand alone.
const NAMES: [(&str, Piece); 7] = [
    ("host", Piece::Host),
    ("path", Piece::Path),
    ("query", Piece::Query),
    ("uri", Piece::Uri),
    ("method", Piece::Method),
    ("client", Piece::Client),
    ("scheme", Piece::Scheme),
];

/// A part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Stands for itself.
    Text(String),
    /// `{host}`: the request's host, with its port if one was sent.
    Host,
    /// `{path}`
    Path,
    /// `{query}`, without `?`.
    Query,
    /// `{uri}`: path and query as the client sent them.
    Uri,
    /// `{method}`
    Method,
    /// `{client}`: the client's address.
    Client,
    /// `{scheme}`: `http` or `https`.
    Scheme,
    /// `{header.NAME}`: a request field (name in lower case).
    Header(String),
    /// `{cookie.NAME}`
    Cookie(String),
    /// `{query.NAME}`: a parameter of the query.
    Parameter(String),
    /// `{1}`, `{name}`: a group of the pattern; 0 is all that matched.
    Group(usize),
}

/// The groups of a pattern: their names by number, the first being the whole match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups(Vec<Option<String>>);

impl Groups {
    /// Those of `pattern`.
    pub fn of(pattern: &Regex) -> Self {
        let names = pattern.capture_names();
        Self(names.map(|name| name.map(Into::into)).collect())
    }

    fn find(&self, name: &str) -> Option<usize> {
        match name.parse::<usize>() {
            Ok(number) => (number < self.0.len()).then_some(number),
            Err(_) => self.0.iter().position(|own| own.as_deref() == Some(name)),
        }
    }
}

/// What is wrong with a template, in words for the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError {
    /// What is wrong.
    pub message: String,
    /// What was probably meant.
    pub suggestion: Option<String>,
}

/// Compiles a regular expression over the bytes of a path.
///
/// # Errors
/// It is not a regular expression, or takes too much memory; in words for the operator.
pub fn compile(pattern: &str) -> Result<Regex, String> {
    let mut builder = RegexBuilder::new(pattern);
    // Paths are bytes: `.` must match each of them.
    builder.unicode(false).size_limit(PATTERN_BYTES);
    builder.build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "the pattern is too large".into(),
        error => {
            let text = error.to_string();
            let last = text.lines().next_back().unwrap_or_default();
            let last = last.strip_prefix("error: ").unwrap_or(last);
            format!("not a regular expression: {last}")
        }
    })
}

/// Parses a template that may name `groups`.
///
/// # Errors
/// A name that is not known, or a brace without its partner.
pub fn parse(template: &str, groups: &Groups) -> Result<Vec<Piece>, TemplateError> {
    let (mut pieces, mut text) = (Vec::new(), String::new());
    let mut rest = template;
    while let Some(found) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(found);
        text.push_str(before);
        if from.starts_with("{{") || from.starts_with("}}") {
            text.push_str(&from[..1]);
            rest = &from[2..];
            continue;
        }
        let name = named(from)?;
        if !text.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut text)));
        }
        pieces.push(piece(name, groups)?);
        rest = &from[name.len() + 2..];
    }
    text.push_str(rest);
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    Ok(pieces)
}

/// The name in the braces that `text` begins with.
fn named(text: &str) -> Result<&str, TemplateError> {
    let error = |message: &str| TemplateError {
        message: message.into(),
        suggestion: None,
    };
    match (text.strip_prefix('{'), text.find('}')) {
        (Some(_), Some(end)) => Ok(&text[1..end]),
        (Some(_), None) => Err(error(
            "`{` without a `}` after it (a brace itself is written `{{`)",
        )),
        (None, _) => Err(error(
            "`}` without a `{` before it (a brace itself is written `}}`)",
        )),
    }
}

fn piece(name: &str, groups: &Groups) -> Result<Piece, TemplateError> {
    if let Some((_, piece)) = NAMES.iter().find(|(known, _)| *known == name) {
        return Ok(piece.clone());
    }
    match name.split_once('.') {
        Some(("header", field)) if is_plain(field) => {
            return Ok(Piece::Header(field.to_ascii_lowercase()));
        }
        Some(("cookie", cookie)) if is_plain(cookie) => return Ok(Piece::Cookie(cookie.into())),
        Some(("query", parameter)) if !parameter.is_empty() => {
            return Ok(Piece::Parameter(parameter.into()));
        }
        _ => {}
    }
    groups
        .find(name)
        .map(Piece::Group)
        .ok_or_else(|| unknown(name, groups))
}

/// Letters, digits and what else names of fields and cookies are made of (RFC 9110 section 5.6.2).
fn is_plain(name: &str) -> bool {
    let byte = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !name.is_empty() && name.bytes().all(byte)
}

fn unknown(name: &str, groups: &Groups) -> TemplateError {
    if name.parse::<usize>().is_ok() {
        let message = match groups.0.len() {
            0 => format!("`{{{name}}}` is a group, and there is no regular expression here"),
            1 => format!("`{{{name}}}` is a group, and the regular expression has none"),
            count => format!(
                "`{{{name}}}`: the regular expression has {} groups",
                count - 1
            ),
        };
        return TemplateError {
            message,
            suggestion: None,
        };
    }
    if let Some((kind, rest)) = name.split_once('.') {
        let near = nearest(kind, ["header", "cookie", "query"]);
        return TemplateError {
            message: format!("unknown name `{{{name}}}`"),
            suggestion: near.map(|kind| format!("did you mean `{{{kind}.{rest}}}`?")),
        };
    }
    let own = groups.0.iter().flatten().map(String::as_str);
    let known = NAMES.iter().map(|(known, _)| *known).chain(own);
    TemplateError {
        message: format!("unknown name `{{{name}}}`"),
        suggestion: nearest(name, known).map(|near| format!("did you mean `{{{near}}}`?")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(text: &str) -> Piece {
        Piece::Text(text.into())
    }

    #[test]
    fn names_groups_and_braces() {
        let groups = Groups::of(&compile("^/(?<lang>..)/(.*)$").unwrap());
        assert_eq!(
            parse("/{lang}{2}?{query}&l={header.X-Lang}{{}}", &groups).unwrap(),
            [
                text("/"),
                Piece::Group(1),
                Piece::Group(2),
                text("?"),
                Piece::Query,
                text("&l="),
                Piece::Header("x-lang".into()),
                text("{}"),
            ]
        );
        assert_eq!(
            parse("{cookie.a}{query.b c}{0}", &groups).unwrap(),
            [
                Piece::Cookie("a".into()),
                Piece::Parameter("b c".into()),
                Piece::Group(0),
            ]
        );
        assert_eq!(parse("", &groups).unwrap(), []);
    }

    #[test]
    fn what_is_unknown_gets_the_nearest() {
        let groups = Groups::of(&compile("^/(?<lang>..)$").unwrap());
        for (template, message, suggestion) in [
            ("{hots}", "unknown name `{hots}`", Some("`{host}`")),
            ("{lnag}", "unknown name", Some("`{lang}`")),
            ("{headr.x}", "unknown name", Some("`{header.x}`")),
            ("{2}", "has 1 groups", None),
            ("{host", "without a `}`", None),
            ("a}", "without a `{`", None),
            ("{}", "unknown name `{}`", None),
            ("{header.}", "unknown name", Some("`{header.}`")),
        ] {
            let error = parse(template, &groups).unwrap_err();
            assert!(error.message.contains(message), "{template}: {error:?}");
            let found = error.suggestion.unwrap_or_default();
            assert!(
                found.contains(suggestion.unwrap_or("")),
                "{template}: {found}"
            );
        }
        let error = parse("{1}", &Groups::default()).unwrap_err();
        assert!(
            error.message.contains("no regular expression here"),
            "{error:?}"
        );
    }

    #[test]
    fn patterns_are_over_bytes_and_bounded() {
        assert!(compile("^/.$").unwrap().is_match(b"/\xff"));
        assert!(compile("(").unwrap_err().starts_with("not a regular"));
        assert!(
            compile("(a{1000}){1000}")
                .unwrap_err()
                .contains("too large")
        );
    }

    proptest! {
        #[test]
        fn no_text_panics(template in "(\\PC|[{}.a-c1]){0,20}", pattern in "\\PC{0,20}") {
            let groups = compile(&pattern).map(|pattern| Groups::of(&pattern));
            let _ = parse(&template, &groups.unwrap_or_default());
        }
    }
}
