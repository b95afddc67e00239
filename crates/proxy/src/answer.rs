//! Answers of our own, and the fields every answer gets.

use forebay_http::date;
use forebay_http::fields::write_line;

use crate::client::{Client, Framing};
use crate::failure::reason_phrase;
use crate::snapshot::Snapshot;

/// An answer that no origin gave.
pub(crate) struct Answer<'a> {
    pub(crate) status: u16,
    /// The media type of its body, if it has one.
    pub(crate) kind: Option<&'a str>,
    /// Whole field lines.
    pub(crate) lines: &'a [u8],
    /// Bytes of its body, which the caller sends unless the request was HEAD.
    pub(crate) length: u64,
}

/// Stages status line and fields of an answer.
pub(crate) fn stage_answer(
    client: &mut impl Client,
    snapshot: &Snapshot,
    now_ms: u64,
    answer: &Answer<'_>,
    is_head: bool,
) {
    let out = client.head();
    let reason = reason_phrase(answer.status);
    forebay_cache::object::write_status_line(answer.status, reason.as_bytes(), out);
    out.extend_from_slice(b"Date: ");
    date::write(now_ms / 1000, out);
    out.extend_from_slice(b"\r\n");
    write_line(out, b"Via", &snapshot.via);
    if let Some(kind) = answer.kind {
        write_line(out, b"Content-Type", kind.as_bytes());
    }
    out.extend_from_slice(answer.lines);
    let framing = match answer.status {
        204 | 304 => Framing::None,
        _ => Framing::Length(answer.length),
    };
    client.end_head(framing, !is_head);
}

/// Stages an answer whose body is a text of ours, which the caller sends.
pub(crate) fn stage_text(
    client: &mut impl Client,
    snapshot: &Snapshot,
    now_ms: u64,
    status: u16,
    body: &str,
) {
    let kind: &[u8] = if status == 200 {
        b"application/json"
    } else {
        b"text/plain; charset=utf-8"
    };
    let out = client.head();
    forebay_cache::object::write_status_line(status, reason_phrase(status).as_bytes(), out);
    out.extend_from_slice(b"Date: ");
    date::write(now_ms / 1000, out);
    out.extend_from_slice(b"\r\n");
    write_line(out, b"Via", &snapshot.via);
    write_line(out, b"Content-Type", kind);
    client.end_head(Framing::Length(body.len() as u64), true);
}

/// Stages a short answer with a status of ours; `extra` are whole field lines.
/// Returns its body, to be sent unless the request was HEAD.
pub(crate) fn stage(
    client: &mut impl Client,
    snapshot: &Snapshot,
    now_ms: u64,
    status: u16,
    why: &str,
    extra: &[u8],
    is_head: bool,
) -> Vec<u8> {
    let reason = reason_phrase(status);
    let body = if status == 200 {
        Vec::new()
    } else {
        format!("{status} {reason}: {why}\n").into_bytes()
    };
    let out = client.head();
    forebay_cache::object::write_status_line(status, reason.as_bytes(), out);
    out.extend_from_slice(b"Date: ");
    date::write(now_ms / 1000, out);
    out.extend_from_slice(b"\r\n");
    write_line(out, b"Via", &snapshot.via);
    if !body.is_empty() {
        write_line(out, b"Content-Type", b"text/plain; charset=utf-8");
    }
    out.extend_from_slice(extra);
    client.end_head(Framing::Length(body.len() as u64), !is_head);
    body
}
