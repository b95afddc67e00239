//! The path that rules are matched against: decoded, without dot segments and doubled slashes.
//!
//! An origin decodes a path before it looks what it stands for, so that a rule that is matched
//! against the path as it was sent is passed by with `/%61dmin` or `//admin`. What is made here is
//! never sent to anybody: it only decides which rule holds.

use std::borrow::Cow;

/// A path in the form that rules are matched against.
pub type Normal<'a> = Cow<'a, [u8]>;

/// The normal form of a path without query (RFC 3986 section 6.2.2, and slashes merged as file
/// systems do). Most paths are in it already and are not copied.
pub fn normal(path: &[u8]) -> Normal<'_> {
    if is_normal(path) {
        return Cow::Borrowed(path);
    }
    let decoded = decoded(path);
    let mut out: Vec<u8> = Vec::with_capacity(decoded.len());
    let mut segments = decoded.split(|&b| b == b'/').peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            b"" | b"." => {}
            b".." => {
                let parent = out.iter().rposition(|&b| b == b'/').unwrap_or(0);
                out.truncate(parent);
            }
            name => {
                out.push(b'/');
                out.extend_from_slice(name);
            }
        }
        if is_last && matches!(segment, b"" | b"." | b"..") {
            out.push(b'/');
        }
    }
    Cow::Owned(out)
}

fn is_normal(path: &[u8]) -> bool {
    let hidden = path.contains(&b'%');
    let odd = |pair: &[u8]| pair[0] == b'/' && matches!(pair[1], b'/' | b'.');
    path.first() == Some(&b'/') && !hidden && !path.windows(2).any(odd)
}

/// Percent-encoding undone, once; what is no encoding stays.
pub fn decoded(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, behind)) = rest.split_first() {
        let pair = (digit(behind.first()), digit(behind.get(1)));
        if let (b'%', (Some(high), Some(low))) = (byte, pair) {
            out.push(high << 4 | low);
            rest = &behind[2..];
        } else {
            out.push(byte);
            rest = behind;
        }
    }
    out
}

fn digit(byte: Option<&u8>) -> Option<u8> {
    let value = char::from(*byte?).to_digit(16)?;
    u8::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_an_origin_may_understand() {
        for (path, expected) in [
            ("/", "/"),
            ("/a/b", "/a/b"),
            ("/%61dmin", "/admin"),
            ("//admin", "/admin"),
            ("/a/../admin/", "/admin/"),
            ("/a/./b", "/a/b"),
            ("/..%2fadmin", "/admin"),
            ("/a/..", "/"),
            ("/../../x", "/x"),
            ("/.hidden", "/.hidden"),
            ("/a%", "/a%"),
            ("/a%zz", "/a%zz"),
            ("/%2561", "/%61"),
            ("*", "/*"),
        ] {
            let found = normal(path.as_bytes());
            assert_eq!(String::from_utf8_lossy(&found), expected, "{path}");
        }
        assert!(matches!(normal(b"/a/b.html"), Cow::Borrowed(_)));
    }

    proptest! {
        #[test]
        fn nothing_leads_above_the_root(path in "(/|\\.|%2e|%2F|a|%00|\\PC){0,20}") {
            let found = normal(path.as_bytes());
            prop_assert!(found.starts_with(b"/") || found.is_empty());
            prop_assert!(!found.windows(2).any(|pair| pair == b"//"));
            let dots = found.split(|&b| b == b'/').any(|part| part == b".." || part == b".");
            prop_assert!(!dots);
        }
    }
}
