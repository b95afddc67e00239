//! Tags of an HTML page and their attributes: as much as is needed to find
//! hidden inputs and `<meta>` tokens. Not a parser of HTML: a tag in a comment
//! or a script is found too, which does no harm here.

/// Longer tags are passed over.
const LONGEST_TAG: usize = 128 << 10;

/// A tag with its attributes, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tag<'a> {
    /// In lower case.
    pub(super) name: String,
    pub(super) attributes: Vec<Attribute<'a>>,
}

/// `name="value"`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Attribute<'a> {
    /// As written.
    pub(super) name: &'a str,
    /// As written, with entities.
    pub(super) value: &'a str,
    /// `"`, `'`, or none.
    pub(super) quote: Option<char>,
}

impl<'a> Tag<'a> {
    /// The place of an attribute among all.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.attributes
            .iter()
            .position(|attribute| attribute.name.eq_ignore_ascii_case(name))
    }
}

/// All start tags of these names (in lower case).
pub(super) fn tags<'a>(text: &'a str, names: &[&str]) -> Vec<Tag<'a>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let length = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
        let name = rest[..length].to_ascii_lowercase();
        if names.contains(&name.as_str()) {
            let (attributes, after) = attributes(&rest[length..]);
            rest = after;
            found.push(Tag { name, attributes });
        }
    }
    found
}

/// The attributes up to `>`, and what follows.
fn attributes(text: &str) -> (Vec<Attribute<'_>>, &str) {
    let mut found = Vec::new();
    let mut rest = text;
    while text.len() - rest.len() < LONGEST_TAG {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        if rest.is_empty() || rest.starts_with(['>', '<']) {
            break;
        }
        let is_end = |c: char| c.is_ascii_whitespace() || "=>/".contains(c);
        // A `=` at the very beginning belongs to the name (HTML, 13.2.5.32).
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let end = rest[first..]
            .find(is_end)
            .map_or(rest.len(), |at| at + first);
        let name = &rest[..end];
        rest = rest[end..].trim_start();
        let (value, quote, after) = match rest.strip_prefix('=') {
            Some(rest) => value(rest.trim_start()),
            None => ("", None, rest),
        };
        rest = after;
        found.push(Attribute { name, value, quote });
    }
    (found, rest)
}

fn value(text: &str) -> (&str, Option<char>, &str) {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote) {
            let end = inner.find(quote).unwrap_or(inner.len());
            return (
                &inner[..end],
                Some(quote),
                inner.get(end + 1..).unwrap_or_default(),
            );
        }
    }
    let end = text
        .find(|c: char| c.is_ascii_whitespace() || c == '>')
        .unwrap_or(text.len());
    (&text[..end], None, &text[end..])
}

/// The entities that generated values are written with; others stay.
pub(super) fn unescape(text: &str) -> String {
    let mut out = text.to_owned();
    for (entity, plain) in [
        ("&quot;", "\""),
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&#x27;", "'"),
        ("&#43;", "+"),
        ("&#x2B;", "+"),
        ("&#x2F;", "/"),
        ("&#x3D;", "="),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&amp;", "&"),
    ] {
        out = out.replace(entity, plain);
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn inputs_are_found_however_they_are_written() {
        let text = "<p>a < b<INPUT type=hidden name='csrf' value=\"a>b\" disabled><input/name=x value=y>\
            <meta name=\"csrf-token\"\n content = 'T'/><inputs name=no><input name=last value=\"open";
        let found = tags(text, &["input", "meta"]);
        let names: Vec<&str> = found.iter().map(|tag| tag.name.as_str()).collect();
        assert_eq!(names, ["input", "input", "meta", "input"]);
        let value = |tag: usize, name: &str| {
            let tag = &found[tag];
            let attribute = &tag.attributes[tag.position(name).unwrap()];
            (attribute.value, attribute.quote)
        };
        assert_eq!(value(0, "name"), ("csrf", Some('\'')));
        assert_eq!(value(0, "VALUE"), ("a>b", Some('"')));
        assert_eq!(value(0, "disabled"), ("", None));
        assert_eq!(value(1, "value"), ("y", None));
        assert_eq!(value(2, "content"), ("T", Some('\'')));
        assert_eq!(value(3, "value"), ("open", Some('"')));
        assert_eq!(unescape("a&#x2F;b&amp;amp;"), "a/b&amp;");
    }

    #[test]
    fn no_text_is_too_strange() {
        for text in [
            "<",
            "<input",
            "<input =",
            "<input =\"",
            "<input ü=ü",
            "<input a='",
            "<input <input a=b>",
        ] {
            for cut in 0..=text.len() {
                if let Some(part) = text.get(..cut) {
                    let _ = tags(part, &["input"]);
                }
            }
        }
    }
}
