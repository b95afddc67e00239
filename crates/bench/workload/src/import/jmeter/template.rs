//! A scenario's texts, taken apart: plain text and `${variables}`.

/// A piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// Plain; `$${` has become `${`.
    Text(&'a str),
    /// What stands between `${` and `}`.
    Variable(&'a str),
}

/// The pieces of a text.
pub(super) fn parts(text: &str) -> Vec<Part<'_>> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let inner = &rest[at + 2..];
        if rest[..at].ends_with('$') {
            out.push(Part::Text(&rest[..at - 1]));
            out.push(Part::Text("${"));
            rest = inner;
        } else if let Some(end) = inner.find('}') {
            out.push(Part::Text(&rest[..at]));
            out.push(Part::Variable(&inner[..end]));
            rest = &inner[end + 1..];
        } else {
            break;
        }
    }
    out.push(Part::Text(rest));
    out.retain(|part| *part != Part::Text(""));
    out
}

/// The text itself, when no variable is in it.
pub(super) fn plain(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    for part in parts(text) {
        match part {
            Part::Text(text) => out.push_str(text),
            Part::Variable(_) => return None,
        }
    }
    Some(out)
}

/// A text without variables, so written that none is read into it.
pub(super) fn escape(plain: &str) -> String {
    plain.replace("${", "$${")
}

/// Whether all variables in it are numbers or identifiers that need no encoding in a URL.
pub(super) fn is_safe_in_url(text: &str) -> bool {
    parts(text).iter().all(|part| match part {
        Part::Text(_) => true,
        Part::Variable(name) => {
            matches!(*name, "user" | "iteration" | "uuid" | "random") || name.starts_with("random:")
        }
    })
}

/// Percent-encodes the plain text for a query or a form; variables stay.
pub(super) fn encode(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len());
    for part in parts(text) {
        match part {
            Part::Variable(name) => {
                let _ = write!(out, "${{{name}}}");
            }
            Part::Text(text) => {
                for byte in text.bytes() {
                    match byte {
                        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'*' => {
                            out.push(char::from(byte));
                        }
                        b' ' => out.push('+'),
                        _ => {
                            let _ = write!(out, "%{byte:02X}");
                        }
                    }
                }
            }
        }
    }
    out
}

/// Undoes percent-encoding and `+` in the plain text; variables stay. What is not UTF-8
/// afterwards is left as it was.
pub(super) fn decode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for part in parts(text) {
        match part {
            Part::Variable(name) => {
                out.push_str("${");
                out.push_str(name);
                out.push('}');
            }
            Part::Text(text) => out.push_str(&escape(&decoded(text))),
        }
    }
    out
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let hex = |at: usize| tail.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        match (first, hex(0), hex(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push(u8::try_from(high * 16 + low).unwrap_or_default());
                rest = &tail[2..];
            }
            (b'+', ..) => {
                bytes.push(b' ');
                rest = tail;
            }
            _ => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_are_taken_apart() {
        assert_eq!(
            parts("a${b}c$${d}e${f"),
            [
                Part::Text("a"),
                Part::Variable("b"),
                Part::Text("c"),
                Part::Text("${"),
                Part::Text("d}e${f")
            ]
        );
        assert_eq!(plain("a$${b}"), Some("a${b}".into()));
        assert_eq!(plain("a${b}"), None);
        assert!(is_safe_in_url("${random:1:6}x${user}") && !is_safe_in_url("${name}"));
    }

    #[test]
    fn values_are_encoded_and_variables_are_not() {
        assert_eq!(encode("a b&ü=${x y}"), "a+b%26%C3%BC%3D${x y}");
        assert_eq!(decode("a+b%26%C3%BC%zz${x+y}%"), "a b&ü%zz${x+y}%");
        assert_eq!(decode("%FF+"), "%FF+");
    }

    proptest! {
        #[test]
        fn any_text_survives(text in r"[a-z${}%+ü ]{0,40}") {
            prop_assert_eq!(plain(&escape(&text)).is_some() || text.contains("$$"), true);
            if !text.contains('$') {
                prop_assert_eq!(decode(&encode(&text)), text);
            }
        }
    }
}
