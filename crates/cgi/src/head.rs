//! The head of an application's response (RFC 3875 section 6), read into that of an HTTP response.
//!
//! Applications write field lines without a status line; the status is the field `Status`, and
//! 200 without it, or 302 if there is a `Location`. Lines may end in LF alone, as RFC 3875 allows;
//! in everything else they are read as strictly as those of an HTTP origin. A status line is
//! taken too: uWSGI and PHP with `cgi.rfc2616_headers` begin with one.

use forebay_http::head::{HeadError, HeadLimits};
use forebay_http::{FieldId, ResponseHead, status};

/// What a status line begins with.
const STATUS_LINE: &[u8] = b"HTTP/";

/// Reads a head from the start of `input`; see [`ResponseHead::parse`].
///
/// Returns the bytes it took, or `None` when it is not complete yet (`head` is then undefined).
///
/// # Errors
/// When it is malformed, larger than `limits`, or its status is not that of a final response.
pub fn parse(
    head: &mut ResponseHead,
    input: &[u8],
    limits: &HeadLimits,
) -> Result<Option<usize>, HeadError> {
    if input.len() < STATUS_LINE.len() && STATUS_LINE.starts_with(input) {
        return Ok(None);
    }
    let has_status_line = input.starts_with(STATUS_LINE);
    let taken = match read(head, input, has_status_line, limits) {
        Err(HeadError::BareLf) => with_bare_lf(head, input, has_status_line, limits)?,
        read => read?,
    };
    if taken.is_some() {
        head.http10 = false;
        if !has_status_line {
            find_status(head)?;
        }
        // Nothing in CGI announces another response.
        if head.status < 200 {
            return Err(HeadError::StatusLine);
        }
    }
    Ok(taken)
}

fn read(
    head: &mut ResponseHead,
    input: &[u8],
    has_status_line: bool,
    limits: &HeadLimits,
) -> Result<Option<usize>, HeadError> {
    if has_status_line {
        head.parse(input, limits)
    } else {
        head.parse_fields(input, limits)
    }
}

/// Reads it as if each of its lines ended in CR LF.
fn with_bare_lf(
    head: &mut ResponseHead,
    input: &[u8],
    has_status_line: bool,
    limits: &HeadLimits,
) -> Result<Option<usize>, HeadError> {
    let mut strict = Vec::new();
    let mut at = 0;
    for line_end in memchr::memchr_iter(b'\n', input) {
        let line = &input[at..line_end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        strict.extend_from_slice(line);
        strict.extend_from_slice(b"\r\n");
        at = line_end + 1;
        if at > limits.head_bytes {
            return Err(HeadError::HeadTooLarge);
        }
        if line.is_empty() {
            let room = HeadLimits {
                head_bytes: strict.len().max(limits.head_bytes),
                ..*limits
            };
            return read(head, &strict, has_status_line, &room).map(|read| read.map(|_| at));
        }
    }
    if input.len() >= limits.head_bytes {
        return Err(HeadError::HeadTooLarge);
    }
    Ok(None)
}

/// Takes the status out of the fields (RFC 3875 section 6.3.3).
fn find_status(head: &mut ResponseHead) -> Result<(), HeadError> {
    const STATUS: &[u8] = b"status";
    let is_status = |name: &[u8]| name.eq_ignore_ascii_case(STATUS);
    head.reason.clear();
    let given = head.fields.iter().find(|field| {
        field.id == FieldId::Other && field.name.len() == STATUS.len() && is_status(field.name)
    });
    match given {
        Some(field) => {
            let (digits, reason) = field.value.split_at(field.value.len().min(3));
            let reason = match reason.split_first() {
                None => reason,
                Some((b' ', reason)) => reason.trim_ascii_start(),
                Some(_) => return Err(HeadError::StatusLine),
            };
            head.status = match digits {
                [b'1'..=b'9', _, _] => forebay_http::framing::number(digits),
                _ => None,
            }
            .ok_or(HeadError::StatusLine)? as u16;
            head.reason.extend_from_slice(reason);
            head.fields
                .retain(|field| field.id != FieldId::Other || !is_status(field.name));
        }
        None if head.fields.has(FieldId::Location) => head.status = 302,
        None => head.status = 200,
    }
    if head.reason.is_empty() {
        let phrase = status::reason_phrase(head.status);
        head.reason.extend_from_slice(phrase.as_bytes());
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "head_tests.rs"]
mod tests;
