//! Bytes of a client or an origin inside a log line.
//!
//! Whatever a client sends, it can neither end the line it is logged on, nor
//! the quotes it stands in, nor reach the operator's terminal as a control
//! sequence.

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Which bytes of a plain line are escaped: controls, `"`, `\`, and everything
/// outside ASCII (a byte above 0x7f may be a terminal's control code).
const PLAIN_ESCAPED: [bool; 256] = {
    let mut table = [false; 256];
    let mut i = 0;
    while i < 256 {
        table[i] = i < 0x20 || i >= 0x7f || i == b'"' as usize || i == b'\\' as usize;
        i += 1;
    }
    table
};

/// Appends `bytes` for a plain line: `"` and `\` behind a backslash, control
/// and non-ASCII bytes as `\xhh`.
pub(super) fn plain(bytes: &[u8], out: &mut Vec<u8>) {
    let mut rest = bytes;
    while let Some(at) = rest
        .iter()
        .position(|&byte| PLAIN_ESCAPED[usize::from(byte)])
    {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            byte @ (b'"' | b'\\') => out.extend_from_slice(&[b'\\', byte]),
            byte => out.extend_from_slice(&[b'\\', b'x', high(byte), low(byte)]),
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

/// Appends `bytes` for the inside of a JSON string. Valid UTF-8 stays as it
/// is; a byte that is none becomes the code point of the same number, so that
/// it can still be told which one it was.
pub(crate) fn json(bytes: &[u8], out: &mut Vec<u8>) {
    for chunk in bytes.utf8_chunks() {
        json_text(chunk.valid(), out);
        for &byte in chunk.invalid() {
            json_code(byte, out);
        }
    }
}

fn json_text(text: &str, out: &mut Vec<u8>) {
    let mut rest = text.as_bytes();
    // 0x7f is escaped too: JSON does not ask for it, terminals do.
    let escaped = |&byte: &u8| byte < 0x20 || byte == 0x7f || byte == b'"' || byte == b'\\';
    while let Some(at) = rest.iter().position(escaped) {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            byte @ (b'"' | b'\\') => out.extend_from_slice(&[b'\\', byte]),
            byte => json_code(byte, out),
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

fn json_code(byte: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high(byte), low(byte)]);
}

fn high(byte: u8) -> u8 {
    HEX[usize::from(byte >> 4)]
}

fn low(byte: u8) -> u8 {
    HEX[usize::from(byte & 15)]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn escaped(escape: fn(&[u8], &mut Vec<u8>), bytes: &[u8]) -> String {
        let mut out = Vec::new();
        escape(bytes, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn plain_text_cannot_leave_its_quotes_or_its_line() {
        assert_eq!(escaped(plain, b"/a?b=c d"), "/a?b=c d");
        assert_eq!(escaped(plain, b"a\"b\\c"), r#"a\"b\\c"#);
        assert_eq!(
            escaped(plain, b"a\r\nb\x1b[2J\0\x7f"),
            r"a\x0d\x0ab\x1b[2J\x00\x7f"
        );
        assert_eq!(escaped(plain, "é\u{9b}".as_bytes()), r"\xc3\xa9\xc2\x9b");
        assert_eq!(escaped(plain, b""), "");
    }

    #[test]
    fn json_keeps_utf8_and_names_other_bytes() {
        assert_eq!(escaped(json, "grün \"a\\\"".as_bytes()), r#"grün \"a\\\""#);
        assert_eq!(
            escaped(json, b"\x00\x1f\x7f\n"),
            r"\u0000\u001f\u007f\u000a"
        );
        assert_eq!(escaped(json, b"a\xffb\xc3"), r"a\u00ffb\u00c3");
    }

    #[test]
    fn no_byte_of_a_plain_line_is_outside_printable_ascii() {
        let all: Vec<u8> = (0..=255).collect();
        assert!(
            escaped(plain, &all)
                .bytes()
                .all(|byte| (0x20..0x7f).contains(&byte))
        );
    }
}
