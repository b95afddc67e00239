//! Paths into JSON, the part of RFC 9535 that scenarios need:
//!
//! | form | finds |
//! |---|---|
//! | `$` | the whole document; may be left out |
//! | `.name`, `['name']`, `["name"]` | a member |
//! | `[0]`, `[-1]` | an element, from the start or the end |
//! | `[*]`, `.*` | every element or member |
//! | `..name`, `..['name']` | every member of that name at any depth |

use serde_json::Value;

/// Values that one step of a path leads on from, at most: `..a..a` could find very many.
const MOST: usize = 10_000;

/// A path, ready to be followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JsonPath(Vec<Segment>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Name(String),
    Index(i64),
    All,
    Deep(String),
}

impl JsonPath {
    /// Reads a path.
    ///
    /// # Errors
    /// In words for the user.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let mut segments = Vec::new();
        let mut rest = match text.strip_prefix('$') {
            Some(rest) => rest.to_owned(),
            None if text.starts_with(['.', '[']) => text.to_owned(),
            None if text.is_empty() => return Err("the path is empty".into()),
            None => format!(".{text}"),
        };
        while !rest.is_empty() {
            let (segment, length) = segment(&rest)?;
            segments.push(segment);
            rest.drain(..length);
        }
        Ok(Self(segments))
    }

    /// Every value it leads to, in the document's order.
    pub(crate) fn find<'a>(&self, document: &'a Value) -> Vec<&'a Value> {
        let mut found = vec![document];
        for segment in &self.0 {
            let mut next = Vec::new();
            for value in found {
                if next.len() >= MOST {
                    break;
                }
                segment.follow(value, &mut next);
            }
            found = next;
        }
        found
    }
}

impl Segment {
    fn follow<'a>(&self, value: &'a Value, next: &mut Vec<&'a Value>) {
        match (self, value) {
            (Self::Name(name), Value::Object(members)) => next.extend(members.get(name)),
            (Self::Index(index), Value::Array(elements)) => {
                let length = elements.len() as i64;
                let at = if *index < 0 {
                    length.saturating_add(*index)
                } else {
                    *index
                };
                next.extend(usize::try_from(at).ok().and_then(|at| elements.get(at)));
            }
            (Self::All, Value::Array(elements)) => next.extend(elements),
            (Self::All, Value::Object(members)) => next.extend(members.values()),
            (Self::Deep(name), _) => deep(name, value, next),
            _ => {}
        }
    }
}

/// The document's depth is limited by its parser, so this recursion is as well.
fn deep<'a>(name: &str, value: &'a Value, found: &mut Vec<&'a Value>) {
    if found.len() >= MOST {
        return;
    }
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                if key == name {
                    found.push(member);
                }
                deep(name, member, found);
            }
        }
        Value::Array(elements) => {
            for element in elements {
                deep(name, element, found);
            }
        }
        _ => {}
    }
}

/// The segment at the start of `rest`, and its length.
fn segment(rest: &str) -> Result<(Segment, usize), String> {
    if let Some(after) = rest.strip_prefix("..") {
        if after.starts_with('[') {
            return match bracket(after)? {
                (Segment::Name(name), length) => Ok((Segment::Deep(name), length + 2)),
                _ => Err("`..` is followed by a name".into()),
            };
        }
        let name = plain_name(after)?;
        return Ok((Segment::Deep(name.to_owned()), name.len() + 2));
    }
    if let Some(after) = rest.strip_prefix('.') {
        if after.starts_with('*') {
            return Ok((Segment::All, 2));
        }
        let name = plain_name(after)?;
        return Ok((Segment::Name(name.to_owned()), name.len() + 1));
    }
    if rest.starts_with('[') {
        return bracket(rest);
    }
    Err(format!(
        "`{}` is no part of a path: `.name`, `['name']`, `[0]`, `[*]` or `..name`",
        shortened(rest)
    ))
}

fn plain_name(text: &str) -> Result<&str, String> {
    let end = text.find(['.', '[', ']', '*', '\'', '"', ' ', '(', '?', '@']);
    match &text[..end.unwrap_or(text.len())] {
        "" => Err("a name is missing behind `.`".into()),
        name => Ok(name),
    }
}

/// `['name']`, `["name"]`, `[0]`, `[*]`.
fn bracket(rest: &str) -> Result<(Segment, usize), String> {
    let inner = &rest[1..];
    if let Some(quote) = inner.chars().next().filter(|c| matches!(c, '\'' | '"')) {
        return quoted(&inner[1..], quote).map(|(name, length)| (Segment::Name(name), length + 2));
    }
    let end = inner.find(']').ok_or("a `[` is not closed by `]`")?;
    let segment = match inner[..end].trim() {
        "*" => Segment::All,
        number => Segment::Index(number.parse().map_err(|_| {
            format!(
                "`[{}]` is no index: `[0]`, `[-1]`, `[*]` or `['name']`",
                shortened(number)
            )
        })?),
    };
    Ok((segment, end + 2))
}

/// A name up to its `quote` and `]`, and the length of all that. `\` escapes.
fn quoted(text: &str, quote: char) -> Result<(String, usize), String> {
    let mut name = String::new();
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '\\' => name.extend(characters.next().map(|(_, c)| c)),
            c if c == quote => {
                return match text[at + 1..].starts_with(']') {
                    true => Ok((name, at + 2)),
                    false => Err("a quoted name is followed by `]`".into()),
                };
            }
            c => name.push(c),
        }
    }
    Err("a quoted name is not closed".into())
}

fn shortened(text: &str) -> String {
    text.chars().take(30).collect()
}

/// A value as the text that variables and checks use: texts without quotes, the rest as JSON.
pub(crate) fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn paths_lead_to_values() {
        let document: Value = serde_json::from_str(
            r#"{"token":"t","n":1.5,"null":null,"a b":{"x":[1,2,{"id":"i"}]},"items":[{"id":7},{"id":8,"sub":{"id":9}}]}"#,
        )
        .unwrap();
        for (path, expected) in [
            ("$.token", "t"),
            ("token", "t"),
            ("$.n", "1.5"),
            ("$.null", "null"),
            ("$['a b'].x[0]", "1"),
            ("$[\"a b\"]['x'][-1].id", "i"),
            ("$.items[*].id", "7 8"),
            ("$.items.*.id", "7 8"),
            ("$..id", "i 7 8 9"),
            ("$..['id']", "i 7 8 9"),
            ("$..items..id", "7 8 9"),
            ("$.items[5].id", ""),
            ("$.items[-3]", ""),
            ("$.token.more", ""),
            ("$['a b'].x", "[1,2,{\"id\":\"i\"}]"),
        ] {
            let found = JsonPath::parse(path).unwrap();
            let found: Vec<_> = found.find(&document).into_iter().map(as_text).collect();
            assert_eq!(found.join(" "), expected, "{path}");
        }
        assert_eq!(JsonPath::parse("$").unwrap().find(&document), [&document]);
    }

    #[test]
    fn what_is_no_path_is_refused_with_a_reason() {
        for (path, part) in [
            ("", "empty"),
            ("$.", "missing"),
            ("$..", "missing"),
            ("$..[0]", "followed by a name"),
            ("$[", "not closed"),
            ("$['a", "not closed"),
            ("$['a'", "followed by `]`"),
            ("$[?(@.a)]", "no index"),
            ("$[1:2]", "no index"),
            ("$.a b", "no part"),
            ("$x", "no part"),
        ] {
            let error = JsonPath::parse(path).unwrap_err();
            assert!(error.contains(part), "{path}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_path_and_no_document_panics(
            path in "(\\$|\\.|\\[|\\]|'|\"|\\*|-|1|9999999999|a|é|\\\\){0,12}",
            any in "\\PC{0,20}",
            document in "(\\{|\\}|\\[|\\]|\"a\"|:|,|1){0,20}",
        ) {
            let document = serde_json::from_str(&document).unwrap_or_default();
            for text in [path, any] {
                if let Ok(path) = JsonPath::parse(&text) {
                    let _ = path.find(&document);
                }
            }
        }

        #[test]
        fn a_quoted_name_finds_its_member(name in "\\PC{1,12}") {
            let document = serde_json::json!({ name.clone(): 1 });
            let escaped = name.replace('\\', "\\\\").replace('\'', "\\'");
            let path = JsonPath::parse(&format!("$['{escaped}']")).unwrap();
            prop_assert_eq!(path.find(&document).len(), 1);
        }
    }
}
