//! What servers put behind a backslash in a quoted field, taken back.
//!
//! nginx writes `\xhh` for quotes, backslashes and bytes that are not
//! printable ASCII; Apache `\"`, `\\`, `\n` and the like, and `\xhh`.

use std::borrow::Cow;

/// The inside of a quoted field and what follows the closing quote; `text` begins behind the
/// opening one.
pub(super) fn quoted(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut from = 0;
    loop {
        let found = memchr::memchr2(b'"', b'\\', text.get(from..)?)?;
        let at = from + found;
        if text[at] == b'"' {
            return Some((&text[..at], &text[at + 1..]));
        }
        from = at + 2;
    }
}

/// A field as text. Bytes that are not UTF-8 become what `other` writes for them.
fn text<'a>(field: &'a [u8], other: fn(u8, &mut String)) -> Cow<'a, str> {
    match unescaped(field) {
        Cow::Borrowed(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.into(),
            Err(_) => lossy(bytes, other).into(),
        },
        Cow::Owned(bytes) => String::from_utf8(bytes)
            .unwrap_or_else(|error| lossy(error.as_bytes(), other))
            .into(),
    }
}

/// A request line or URL as text: a byte that is not UTF-8 is percent-encoded, as it stood for
/// itself in the URL.
pub(super) fn url(field: &[u8]) -> Cow<'_, str> {
    text(field, percent)
}

/// Text as it is, with percent-encoding for bytes that are not UTF-8.
pub(super) fn utf8(text: &[u8]) -> String {
    lossy(text, percent)
}

fn percent(byte: u8, out: &mut String) {
    out.push_str(&format!("%{byte:02X}"));
}

fn lossy(bytes: &[u8], other: fn(u8, &mut String)) -> String {
    let mut out = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        let invalid = chunk.invalid().iter();
        invalid.for_each(|&byte| other(byte, &mut out));
    }
    out
}

/// A field's value as text that can be sent; none for `-` and for nothing.
pub(super) fn value(field: &[u8]) -> Option<Cow<'_, str>> {
    if matches!(field, b"" | b"-") {
        return None;
    }
    Some(sendable(text(field, |_, out| out.push('\u{fffd}'))))
}

/// Control characters as spaces: behind a field's name they would end it.
pub(super) fn sendable(value: Cow<'_, str>) -> Cow<'_, str> {
    if !value.bytes().any(|byte| byte.is_ascii_control()) {
        return value;
    }
    let clean = |c: char| if c.is_ascii_control() { ' ' } else { c };
    value.chars().map(clean).collect::<String>().into()
}

fn unescaped(field: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = memchr::memchr(b'\\', field) else {
        return field.into();
    };
    let mut out = field[..first].to_vec();
    let mut rest = &field[first..];
    while let Some((&byte, after)) = rest.split_first() {
        let (byte, after) = match (byte, after) {
            (b'\\', [b'x', high, low, after @ ..]) => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => (high << 4 | low, after),
                _ => (b'\\', &rest[1..]),
            },
            (b'\\', [code @ (b'"' | b'\\'), after @ ..]) => (*code, after),
            (b'\\', [b'n', after @ ..]) => (b'\n', after),
            (b'\\', [b'r', after @ ..]) => (b'\r', after),
            (b'\\', [b't', after @ ..]) => (b'\t', after),
            (b'\\', [b'v', after @ ..]) => (0x0b, after),
            (b'\\', [b'b', after @ ..]) => (0x08, after),
            (byte, after) => (byte, after),
        };
        out.push(byte);
        rest = after;
    }
    out.into()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_nginx_and_apache_mean_what_they_stood_for() {
        for (field, expected) in [
            (r"GET /a\x22b\x5C HTTP/1.1", "GET /a\"b\\ HTTP/1.1"),
            (r#"/a\"b\\c"#, "/a\"b\\c"),
            (r"\xc3\xa9", "é"),
            (r"a\xff", "a%FF"),
            (r"a\nb\t", "a\nb\t"),
            (r"a\xzz\", r"a\xzz\"),
            ("plain", "plain"),
        ] {
            assert_eq!(url(field.as_bytes()), expected, "{field}");
        }
        assert_eq!(url(b"a\xe9b"), "a%E9b");
        assert_eq!(value(br"a\x0d\x0ab").as_deref(), Some("a  b"));
        assert_eq!(value(b"-"), None);
    }

    #[test]
    fn a_quote_behind_a_backslash_does_not_end_the_field() {
        let parts = |text: &'static [u8]| quoted(text);
        assert_eq!(parts(br#"a\"b" x"#), Some((&br#"a\"b"#[..], &b" x"[..])));
        assert_eq!(parts(br#"a\\" x"#), Some((&br"a\\"[..], &b" x"[..])));
        assert_eq!(parts(br#"a\""#), None);
        assert_eq!(parts(br"a\"), None);
    }
}
