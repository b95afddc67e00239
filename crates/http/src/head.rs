//! Request and response heads of HTTP/1.x (RFC 9112), read strictly.
//!
//! What the RFC lets a lenient server accept is refused here, because two
//! servers that read a head differently are how requests are smuggled: bare LF,
//! bare CR, line folding, white space before the colon, control bytes.
//! [`RequestHead::parse`] and [`ResponseHead::parse`] fill a value that is
//! reused, so that reading a head allocates nothing in steady state.

use crate::field_id::{FieldId, known_at};
use crate::fields::{Fields, Line};
use crate::method::Method;

/// How large a head may be.
#[derive(Clone, Copy, Debug)]
pub struct HeadLimits {
    /// Bytes of the first line.
    pub line_bytes: usize,
    /// Bytes of the whole head; at most 4 GiB.
    pub head_bytes: usize,
    /// Field lines.
    pub fields: usize,
}

/// Why a head was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadError {
    /// The request line is longer than allowed.
    LineTooLong,
    /// The head is longer than allowed.
    HeadTooLarge,
    /// More field lines than allowed.
    TooManyFields,
    /// The method is not a token.
    Method,
    /// The request target has bytes it must not have, or is empty.
    Target,
    /// The version is not `HTTP/1.0` or `HTTP/1.1`.
    Version,
    /// A version of HTTP that is not spoken on this connection.
    UnsupportedVersion,
    /// The status line is malformed.
    StatusLine,
    /// A line ends in LF without CR (RFC 9112 section 2.2).
    BareLf,
    /// CR without LF (RFC 9112 section 2.2).
    BareCr,
    /// A field line is continued on the next one (RFC 9112 section 5.2).
    Folding,
    /// White space between field name and colon (RFC 9112 section 5.1).
    SpaceBeforeColon,
    /// A field name is empty or not a token.
    FieldName,
    /// A control byte in a field value (RFC 9110 section 5.5).
    FieldValue,
}

impl HeadError {
    /// What is wrong, in words for the log and the answer.
    pub fn message(self) -> &'static str {
        match self {
            Self::LineTooLong => "request line too long",
            Self::HeadTooLarge => "head too large",
            Self::TooManyFields => "too many fields",
            Self::Method => "malformed method",
            Self::Target => "malformed request target",
            Self::Version => "malformed HTTP version",
            Self::UnsupportedVersion => "unsupported HTTP version",
            Self::StatusLine => "malformed status line",
            Self::BareLf => "line ends without carriage return",
            Self::BareCr => "carriage return without line feed",
            Self::Folding => "folded field line",
            Self::SpaceBeforeColon => "white space before the colon of a field",
            Self::FieldName => "malformed field name",
            Self::FieldValue => "control byte in a field value",
        }
    }

    /// The status a client gets for a request refused so.
    pub fn status(self) -> u16 {
        match self {
            Self::LineTooLong => 414,
            Self::HeadTooLarge | Self::TooManyFields => 431,
            Self::UnsupportedVersion => 505,
            _ => 400,
        }
    }
}

/// A request's head.
#[derive(Clone, Debug, Default)]
pub struct RequestHead {
    /// The method.
    pub method: Method,
    /// The request target as sent.
    pub target: Vec<u8>,
    /// Whether the version is HTTP/1.0.
    pub http10: bool,
    /// The field lines.
    pub fields: Fields,
}

/// A response's head.
#[derive(Clone, Debug, Default)]
pub struct ResponseHead {
    /// Three digits, 100 to 999.
    pub status: u16,
    /// The reason phrase; may be empty.
    pub reason: Vec<u8>,
    /// Whether the version is HTTP/1.0.
    pub http10: bool,
    /// The field lines.
    pub fields: Fields,
}

impl RequestHead {
    /// Reads a head from the start of `input` into `self`.
    ///
    /// Returns the bytes it took, or `None` when it is not complete yet (the
    /// value is then undefined). One empty line before the request line is
    /// skipped (RFC 9112 section 2.2).
    pub fn parse(&mut self, input: &[u8], limits: &HeadLimits) -> Result<Option<usize>, HeadError> {
        self.fields.clear();
        if input == b"\r" {
            return Ok(None);
        }
        let mut at = if input.starts_with(b"\r\n") { 2 } else { 0 };
        let Some(line_end) = self.request_line(input, at, limits)? else {
            return Ok(None);
        };
        at = line_end;
        parse_fields(&mut self.fields, input, at, limits)
    }

    /// Reads the request line that starts at `start`; returns the start of the next line.
    fn request_line(
        &mut self,
        input: &[u8],
        start: usize,
        limits: &HeadLimits,
    ) -> Result<Option<usize>, HeadError> {
        let rest = &input[start..];
        let method_len = token_len(rest);
        let target_start = method_len + 1;
        if rest.len() <= method_len {
            return too_long_or_partial(rest, limits);
        }
        if method_len == 0 || rest[method_len] != b' ' {
            return Err(match rest[method_len] {
                b'\n' if method_len > 0 => HeadError::BareLf,
                _ => HeadError::Method,
            });
        }
        let target_len = rest[target_start..]
            .iter()
            .position(|&byte| !(0x21..=0x7e).contains(&byte))
            .unwrap_or(rest.len() - target_start);
        let target_end = target_start + target_len;
        if rest.len() <= target_end {
            return too_long_or_partial(rest, limits);
        }
        if target_end > limits.line_bytes {
            return Err(HeadError::LineTooLong);
        }
        if target_len == 0 || rest[target_end] != b' ' {
            return Err(HeadError::Target);
        }
        let Some(version) = rest.get(target_end + 1..target_end + 11) else {
            return check_version_start(&rest[target_end + 1..]).map(|()| None);
        };
        self.http10 = version_of(&version[..8])?;
        end_of_line(&version[8..])?;
        self.method = Method::of(&rest[..method_len]);
        self.target.clear();
        self.target
            .extend_from_slice(&rest[target_start..target_end]);
        Ok(Some(start + target_end + 11))
    }

    /// Appends the head in wire form, the empty line included.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.method.as_bytes());
        out.push(b' ');
        out.extend_from_slice(&self.target);
        out.extend_from_slice(b" HTTP/1.1\r\n");
        self.fields.write_to(out);
        out.extend_from_slice(b"\r\n");
    }
}

impl ResponseHead {
    /// Reads a head from the start of `input` into `self`; see [`RequestHead::parse`].
    pub fn parse(&mut self, input: &[u8], limits: &HeadLimits) -> Result<Option<usize>, HeadError> {
        self.fields.clear();
        let Some(line_end) = self.status_line(input, limits)? else {
            return Ok(None);
        };
        parse_fields(&mut self.fields, input, line_end, limits)
    }

    /// Reads field lines alone, with which the responses of CGI begin (RFC 3875 section 6.2); the
    /// rest of the value is left as it is.
    pub fn parse_fields(
        &mut self,
        input: &[u8],
        limits: &HeadLimits,
    ) -> Result<Option<usize>, HeadError> {
        self.fields.clear();
        parse_fields(&mut self.fields, input, 0, limits)
    }

    fn status_line(
        &mut self,
        input: &[u8],
        limits: &HeadLimits,
    ) -> Result<Option<usize>, HeadError> {
        let Some(start) = input.get(..12) else {
            return Ok(None);
        };
        self.http10 = version_of(&start[..8])?;
        let digits = &start[9..12];
        if start[8] != b' ' || !digits.iter().all(u8::is_ascii_digit) || digits[0] == b'0' {
            return Err(HeadError::StatusLine);
        }
        self.status = digits
            .iter()
            .fold(0, |status, digit| status * 10 + u16::from(digit - b'0'));
        let after = &input[12..];
        let len = valid_len(after);
        if after.len() < len + 2 {
            return too_long_or_partial(after, limits);
        }
        end_of_line(&after[len..])?;
        // RFC 9112 section 4 asks for the space even without a phrase; some origins leave it out.
        let reason = match after[..len].split_first() {
            None => &[][..],
            Some((b' ', reason)) => reason,
            Some(_) => return Err(HeadError::StatusLine),
        };
        self.reason.clear();
        self.reason.extend_from_slice(reason);
        Ok(Some(12 + len + 2))
    }
}

/// Where the head at the start of `input` ends, looking only at bytes from `from` on.
///
/// It finds the empty line also behind a bare LF, so that such a head is
/// refused at once rather than waited for.
pub fn find_end(input: &[u8], from: usize) -> bool {
    let from = from.saturating_sub(3);
    memchr::memchr_iter(b'\n', &input[from.min(input.len())..]).any(|at| {
        let rest = &input[from + at + 1..];
        rest.starts_with(b"\n") || rest.starts_with(b"\r\n")
    })
}

fn parse_fields(
    fields: &mut Fields,
    input: &[u8],
    start: usize,
    limits: &HeadLimits,
) -> Result<Option<usize>, HeadError> {
    let parsed = note_fields(fields, input, start, limits);
    match parsed {
        Ok(Some(end)) => fields.take_over(&input[start..end]),
        // Lines without their bytes must not be looked at.
        _ => fields.clear(),
    }
    parsed
}

fn note_fields(
    fields: &mut Fields,
    input: &[u8],
    start: usize,
    limits: &HeadLimits,
) -> Result<Option<usize>, HeadError> {
    let mut at = start;
    loop {
        let line = &input[at..];
        // Most lines begin with a letter, above all that ends a head.
        if line.first().is_none_or(|&first| first <= b'\r') {
            match line {
                [b'\r', b'\n', ..] => {
                    let end = at + 2;
                    return if end > limits.head_bytes {
                        Err(HeadError::HeadTooLarge)
                    } else {
                        Ok(Some(end))
                    };
                }
                [] | [b'\r'] => return partial(input, limits),
                [b'\r', ..] => return Err(HeadError::BareCr),
                [b'\n', ..] => return Err(HeadError::BareLf),
                _ => {}
            }
        }
        if fields.len() == limits.fields {
            return Err(HeadError::TooManyFields);
        }
        match field_line(line, at - start, fields)? {
            Some(taken) => at += taken,
            None => return partial(input, limits),
        }
        if at > limits.head_bytes {
            return Err(HeadError::HeadTooLarge);
        }
    }
}

/// Notes one field line, which starts `offset` bytes behind the first; returns the bytes it
/// took, its CRLF included.
#[inline]
fn field_line(line: &[u8], offset: usize, fields: &mut Fields) -> Result<Option<usize>, HeadError> {
    let Some((id, name_len)) = name_at(line)? else {
        return Ok(None);
    };
    let value = &line[name_len + 1..];
    let len = valid_len(value);
    let Some(end) = value.get(len..len + 2) else {
        if let Some(&byte) = value.get(len)
            && byte != b'\r'
        {
            end_of_line(&[byte, 0])?;
        }
        return Ok(None);
    };
    end_of_line(end)?;
    let (plain, before, kept) = trimmed(&value[..len]);
    fields.note_line(Line {
        id,
        plain,
        name_len: name_len as u16,
        start: offset as u32,
        value_start: (offset + name_len + 1 + before) as u32,
        value_len: kept as u32,
    });
    Ok(Some(name_len + 1 + len + 2))
}

/// The field that a line begins with, and the length of its name, which a colon follows.
/// Known names are recognised by words; in the others every byte is looked at.
#[inline]
fn name_at(line: &[u8]) -> Result<Option<(FieldId, usize)>, HeadError> {
    if let Some(known) = known_at(line) {
        return Ok(Some(known));
    }
    let len = token_len(line);
    match line.get(len) {
        None => Ok(None),
        Some(b':') if len > 0 && len <= usize::from(u16::MAX) => {
            Ok(Some((FieldId::of(&line[..len]), len)))
        }
        Some(b' ' | b'\t') if len == 0 => Err(HeadError::Folding),
        Some(b' ' | b'\t') => Err(HeadError::SpaceBeforeColon),
        Some(b'\n') => Err(HeadError::BareLf),
        Some(_) => Err(HeadError::FieldName),
    }
}

/// How many bytes of white space stand before a value, and how many bytes of it are left without
/// that around it; and whether it is one space before and none behind, as it is written.
#[inline]
fn trimmed(value: &[u8]) -> (bool, usize, usize) {
    // Of what may stand in a value, white space alone is not above a space.
    if let [b' ', first, .., last] = value
        && *first > b' '
        && *last > b' '
    {
        return (true, 1, value.len() - 1);
    }
    let is_space = |&byte: &u8| matches!(byte, b' ' | b'\t');
    let Some(before) = value.iter().position(|byte| !is_space(byte)) else {
        return (value == b" ", value.len().min(1), 0);
    };
    let end = value.iter().rposition(|byte| !is_space(byte));
    let end = end.map_or(value.len(), |last| last + 1);
    let plain = before == 1 && value[0] == b' ' && end == value.len();
    (plain, before, end - before)
}

fn partial(input: &[u8], limits: &HeadLimits) -> Result<Option<usize>, HeadError> {
    if input.len() >= limits.head_bytes {
        Err(HeadError::HeadTooLarge)
    } else {
        Ok(None)
    }
}

fn too_long_or_partial(line: &[u8], limits: &HeadLimits) -> Result<Option<usize>, HeadError> {
    if line.len() > limits.line_bytes {
        Err(HeadError::LineTooLong)
    } else {
        Ok(None)
    }
}

/// `Ok` when two bytes are CRLF, else what they break.
#[inline]
fn end_of_line(bytes: &[u8]) -> Result<(), HeadError> {
    match bytes {
        [b'\r', b'\n', ..] => Ok(()),
        [b'\r', ..] => Err(HeadError::BareCr),
        [b'\n', ..] => Err(HeadError::BareLf),
        _ => Err(HeadError::FieldValue),
    }
}

/// Whether `HTTP/1.0` (true) or `HTTP/1.1` (false); a later minor version counts as 1.1.
fn version_of(version: &[u8]) -> Result<bool, HeadError> {
    match version {
        b"HTTP/1.1" => Ok(false),
        b"HTTP/1.0" => Ok(true),
        [b'H', b'T', b'T', b'P', b'/', major, b'.', minor]
            if major.is_ascii_digit() && minor.is_ascii_digit() =>
        {
            if *major == b'1' {
                Ok(false)
            } else {
                Err(HeadError::UnsupportedVersion)
            }
        }
        _ => Err(HeadError::Version),
    }
}

/// Refuses the beginning of what cannot become a version, so that garbage is not waited for.
fn check_version_start(bytes: &[u8]) -> Result<(), HeadError> {
    let expected = b"HTTP/";
    let len = bytes.len().min(expected.len());
    if bytes[..len] != expected[..len] || bytes.contains(&b'\n') {
        return Err(HeadError::Version);
    }
    Ok(())
}

/// `tchar` of RFC 9110 section 5.6.2.
#[inline]
pub fn is_token(byte: u8) -> bool {
    const TOKEN: [bool; 256] = {
        let mut table = [false; 256];
        let mut i = 0;
        while i < 256 {
            let byte = i as u8;
            table[i] = byte.is_ascii_alphanumeric()
                || matches!(
                    byte,
                    b'!' | b'#'
                        | b'$'
                        | b'%'
                        | b'&'
                        | b'\''
                        | b'*'
                        | b'+'
                        | b'-'
                        | b'.'
                        | b'^'
                        | b'_'
                        | b'`'
                        | b'|'
                        | b'~'
                );
            i += 1;
        }
        table
    };
    TOKEN[byte as usize]
}

/// How many bytes from the start are of a token.
#[inline]
fn token_len(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(four) = bytes[at..].first_chunk::<4>() {
        if !(is_token(four[0]) && is_token(four[1]) && is_token(four[2]) && is_token(four[3])) {
            break;
        }
        at += 4;
    }
    while at < bytes.len() && is_token(bytes[at]) {
        at += 1;
    }
    at
}

/// Whether a byte may stand in a field value: not below 0x20 except tab, not 0x7f.
#[inline]
fn is_value(byte: u8) -> bool {
    byte == b'\t' || (byte >= 0x20 && byte != 0x7f)
}

/// How many bytes from the start may stand in a field value.
///
/// Eight bytes at a time: a byte with its high bit set in `low | del` is the
/// first that may not, or a tab, which is looked at by itself.
#[inline]
fn valid_len(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let mut at = 0;
    while let Some(word) = bytes[at..].first_chunk() {
        let word = u64::from_le_bytes(*word);
        let low = word.wrapping_sub(ONES * 0x20) & !word;
        let del = word ^ (ONES * 0x7f);
        let del = del.wrapping_sub(ONES) & !del;
        let bad = (low | del) & HIGH;
        if bad == 0 {
            at += 8;
            continue;
        }
        at += (bad.trailing_zeros() / 8) as usize;
        if !is_value(bytes[at]) {
            return at;
        }
        at += 1;
    }
    while at < bytes.len() && is_value(bytes[at]) {
        at += 1;
    }
    at
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const LIMITS: HeadLimits = HeadLimits {
        line_bytes: 100,
        head_bytes: 300,
        fields: 5,
    };

    fn request(text: &str) -> Result<Option<usize>, HeadError> {
        RequestHead::default().parse(text.as_bytes(), &LIMITS)
    }

    #[test]
    fn a_request_is_read_whole() {
        let text = b"\r\nGET /a?b HTTP/1.1\r\nHost: x\r\nX-Tab:\ta\tb \t\r\nEmpty:\r\n\r\nrest";
        let mut head = RequestHead::default();
        assert_eq!(head.parse(text, &LIMITS), Ok(Some(text.len() - 4)));
        assert_eq!(head.target, b"/a?b");
        assert_eq!(head.fields.get(FieldId::Host), Some(&b"x"[..]));
        assert_eq!(head.fields.named(b"x-tab").next(), Some(&b"a\tb"[..]));
        assert_eq!(head.fields.named(b"empty").next(), Some(&b""[..]));
    }

    #[test]
    fn what_smugglers_send_is_refused() {
        let cases = [
            ("GET / HTTP/1.1\nHost: x\r\n\r\n", HeadError::BareLf),
            ("GET / HTTP/1.1\r\nHost: x\n\r\n", HeadError::BareLf),
            ("GET / HTTP/1.1\r\nHost: x\r\n\n", HeadError::BareLf),
            ("GET / HTTP/1.1\r\nA: x\ry\r\n\r\n", HeadError::BareCr),
            (
                "GET / HTTP/1.1\r\nA: x\r\n folded\r\n\r\n",
                HeadError::Folding,
            ),
            ("GET / HTTP/1.1\r\n A: x\r\n\r\n", HeadError::Folding),
            (
                "GET / HTTP/1.1\r\nA : x\r\n\r\n",
                HeadError::SpaceBeforeColon,
            ),
            ("GET / HTTP/1.1\r\n: x\r\n\r\n", HeadError::FieldName),
            ("GET / HTTP/1.1\r\nA(: x\r\n\r\n", HeadError::FieldName),
            ("GET / HTTP/1.1\r\nA: x\0\r\n\r\n", HeadError::FieldValue),
            (
                "GET / HTTP/1.1\r\nA: 12345678\x7f\r\n\r\n",
                HeadError::FieldValue,
            ),
            ("GET  / HTTP/1.1\r\n\r\n", HeadError::Target),
            ("GET /\tx HTTP/1.1\r\n\r\n", HeadError::Target),
            ("GET / HTTP/1.1 \r\n\r\n", HeadError::FieldValue),
            ("GET / http/1.1\r\n\r\n", HeadError::Version),
            ("GET / HTTP/2.0\r\n\r\n", HeadError::UnsupportedVersion),
            ("GET /\r\n\r\n", HeadError::Target),
            (" GET / HTTP/1.1\r\n\r\n", HeadError::Method),
            ("G@T / HTTP/1.1\r\n\r\n", HeadError::Method),
        ];
        for (text, error) in cases {
            assert_eq!(request(text), Err(error), "{text:?}");
        }
    }

    #[test]
    fn limits_have_their_own_errors() {
        let long_line = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(100));
        assert_eq!(request(&long_line), Err(HeadError::LineTooLong));
        assert_eq!(request(&long_line[..104]), Err(HeadError::LineTooLong));
        let long = format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "a".repeat(300));
        assert_eq!(request(&long), Err(HeadError::HeadTooLarge));
        assert_eq!(request(&long[..310]), Err(HeadError::HeadTooLarge));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(6));
        assert_eq!(request(&many), Err(HeadError::TooManyFields));
    }

    #[test]
    fn every_prefix_of_a_good_head_is_incomplete() {
        let text = b"GET /index.html HTTP/1.1\r\nHost: example\r\nAccept: */*\r\n\r\n";
        for end in 0..text.len() {
            let mut head = RequestHead::default();
            assert_eq!(head.parse(&text[..end], &LIMITS), Ok(None), "{end}");
            assert!(!find_end(&text[..end], 0));
        }
        assert!(find_end(text, text.len() - 1));
    }

    #[test]
    fn white_space_around_a_value_is_not_passed_on() {
        let mut head = RequestHead::default();
        let text = b"GET / HTTP/1.1\r\nA:1\r\nB: 2\r\nC:  3\r\nD: 4 \r\nE:\t5\r\nF:\r\nG: \r\nH: \t \r\nI: 6\r\n\r\n";
        let limits = HeadLimits {
            fields: 9,
            ..LIMITS
        };
        assert_eq!(head.parse(text, &limits), Ok(Some(text.len())));
        let mut out = Vec::new();
        head.fields.write_to(&mut out);
        let expected = "A: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\nE: 5\r\nF: \r\nG: \r\nH: \r\nI: 6\r\n";
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }

    #[test]
    fn the_length_of_a_value_is_that_found_byte_by_byte() {
        let mut bytes = [b'a'; 19];
        for at in 0..bytes.len() {
            for first in 0..=255 {
                for second in [0, 0x1f, 0x20, b'\t', 0x7e, 0x7f, 0x80, 0xff] {
                    bytes = [b'a'; 19];
                    bytes[at] = first;
                    bytes[(at + 1) % 19] = second;
                    let expected = bytes.iter().take_while(|byte| is_value(**byte)).count();
                    assert_eq!(valid_len(&bytes), expected, "{:?}", bytes.escape_ascii());
                }
            }
        }
        assert_eq!(valid_len(&bytes[..0]), 0);
    }

    #[test]
    fn a_response_is_read_whole() {
        let mut head = ResponseHead::default();
        let text = b"HTTP/1.0 404 Not Found\r\nA: b\r\n\r\n";
        assert_eq!(head.parse(text, &LIMITS), Ok(Some(text.len())));
        assert_eq!(
            (head.status, &head.reason[..], head.http10),
            (404, &b"Not Found"[..], true)
        );
        assert_eq!(head.parse(b"HTTP/1.1 200\r\n\r\n", &LIMITS), Ok(Some(16)));
        for bad in [
            "HTTP/1.1 20 OK\r\n\r\n",
            "HTTP/1.1 2000 OK\r\n\r\n",
            "HTTP/1.1  200 OK\r\n\r\n",
        ] {
            assert_eq!(
                head.parse(bad.as_bytes(), &LIMITS),
                Err(HeadError::StatusLine),
                "{bad}"
            );
        }
        assert_eq!(
            head.parse(b"HTTP/1.1 200 OK\n\r\n\r\n", &LIMITS),
            Err(HeadError::BareLf)
        );
        assert_eq!(
            head.parse(b"ICY 200 OK\r\n\r\n", &LIMITS),
            Err(HeadError::Version)
        );
    }
}
