//! Comma-separated lists as HTTP fields have them (RFC 9110 section 5.6.1).

use crate::head;

/// The members of a list without the optional white space around them; commas
/// within quoted strings do not separate. Empty members are kept: who does not
/// want them skips them.
///
/// A quote that is never closed is an ordinary character, so that it hides
/// nothing that follows it.
pub(crate) fn members(value: &[u8]) -> Members<'_> {
    Members {
        rest: Some(value),
        quotes: true,
    }
}

/// See [`members`].
#[derive(Clone, Debug)]
pub(crate) struct Members<'a> {
    rest: Option<&'a [u8]>,
    /// Cleared at the first quote that is not closed, which also keeps the work
    /// linear.
    quotes: bool,
}

impl<'a> Iterator for Members<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        let end = separator(rest, b',', &mut self.quotes);
        self.rest = rest.get(end + 1..);
        Some(trim(&rest[..end]))
    }
}

/// Splits at the first `separator` outside quotes; the second part lacks it and
/// is `None` where there is none.
pub(crate) fn split_once(value: &[u8], separator_byte: u8) -> (&[u8], Option<&[u8]>) {
    let end = separator(value, separator_byte, &mut true);
    (&value[..end], value.get(end + 1..))
}

/// The offset of the first `wanted` outside quotes, or the length.
fn separator(value: &[u8], wanted: u8, quotes: &mut bool) -> usize {
    let mut i = 0;
    while i < value.len() && value[i] != wanted {
        if value[i] == b'"' && *quotes {
            match closing_quote(&value[i + 1..]) {
                Some(length) => i += length + 1,
                None => *quotes = false,
            }
        }
        i += 1;
    }
    i
}

/// The offset of the quote that closes a quoted string whose opening quote has
/// been read (RFC 9110 section 5.6.4).
fn closing_quote(inside: &[u8]) -> Option<usize> {
    let mut i = 0;
    loop {
        match inside.get(i)? {
            b'"' => return Some(i),
            b'\\' => i += 2,
            _ => i += 1,
        }
    }
}

/// Without the optional white space (space and tab) at both ends.
pub(crate) fn trim(mut v: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = v {
        v = rest;
    }
    v
}

/// Whether `v` is a token.
pub(crate) fn is_token(v: &[u8]) -> bool {
    !v.is_empty() && v.iter().all(|&b| head::is_token(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_lists() {
        let cases: [(&str, &[&str]); 9] = [
            ("", &[""]),
            ("a", &["a"]),
            (" a ,\tb", &["a", "b"]),
            (",a,,", &["", "a", "", ""]),
            ("a=\"x, y\", b", &["a=\"x, y\"", "b"]),
            ("a=\"x\\\", y\", b", &["a=\"x\\\", y\"", "b"]),
            ("a=\"x, b", &["a=\"x", "b"]),
            ("\"\\\",\"\\\",b", &["\"\\\",\"\\\"", "b"]),
            ("a\"\", b", &["a\"\"", "b"]),
        ];
        for (value, expected) in cases {
            let found: Vec<_> = members(value.as_bytes())
                .map(String::from_utf8_lossy)
                .collect();
            assert_eq!(found, expected, "{value}");
        }
    }
}
