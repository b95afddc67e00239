//! The fields an access log line can carry, and the template that names them.
//!
//! A template is text with field names in braces, `{client} {status}`; `{{` and
//! `}}` stand for the braces themselves. It is parsed once, when the
//! configuration is read; the writer walks the pieces.

use crate::nearest::nearest;
use crate::words::is_token;

/// One thing known about an exchange when it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogField {
    /// The client's IP address; behind trusted proxies that of whom they speak for.
    Client,
    /// The peer's IP address: the client's, or that of the proxy before us.
    Peer,
    /// The peer's port.
    ClientPort,
    /// Who was let in by name and password.
    User,
    /// What the client came by: `http`, or `https` where a trusted proxy says so.
    Scheme,
    /// RFC 3339 with milliseconds, in UTC: `2026-11-21T20:00:00.123Z`.
    Time,
    /// `21/Nov/2026:20:00:00 +0000`
    TimeLocal,
    /// The request's method.
    Method,
    /// The request's target as received.
    Target,
    /// `HTTP/1.1` or `HTTP/1.0`.
    Protocol,
    /// Method, target and protocol.
    RequestLine,
    /// The host asked for.
    Host,
    /// The site that answered.
    Site,
    /// The status sent.
    Status,
    /// Bytes of the body sent.
    Bytes,
    /// Seconds with microseconds, from the first byte of the request to the last of the response.
    Duration,
    /// Seconds with microseconds, from the first byte of the request to the first of the response.
    FirstByte,
    /// What the cache did: `hit`, `stale`, `miss`, `pass`, …
    Cache,
    /// Why it was not a hit.
    CacheReason,
    /// The server that was asked, or `-`.
    Upstream,
    /// Seconds with microseconds, from the request sent to the origin to its response's head, or `-`.
    UpstreamTime,
    /// The request's `Referer`.
    Referer,
    /// The request's `User-Agent`.
    UserAgent,
    /// The client connection's number since start.
    Connection,
}

/// One documented field.
#[derive(Clone, Copy, Debug)]
pub struct FieldRow {
    /// The field.
    pub field: LogField,
    /// Its name between braces, and its key in a JSON line.
    pub name: &'static str,
    /// Whether it is a number (written without quotes in JSON; `-` becomes `null`).
    pub number: bool,
    /// What it says.
    pub doc: &'static str,
}

const fn text(field: LogField, name: &'static str, doc: &'static str) -> FieldRow {
    FieldRow {
        field,
        name,
        number: false,
        doc,
    }
}

const fn number(field: LogField, name: &'static str, doc: &'static str) -> FieldRow {
    FieldRow {
        field,
        name,
        number: true,
        doc,
    }
}

/// Every field; `{name}` in a template.
pub const ALL: &[FieldRow] = &[
    text(
        LogField::Client,
        "client",
        "The client's IP address; where `server.trusted_proxies` has the peer's, that of whom it speaks for.",
    ),
    text(
        LogField::Peer,
        "peer",
        "The IP address of the other end of the connection: the client's or a proxy's.",
    ),
    number(
        LogField::ClientPort,
        "client_port",
        "The port of the other end of the connection.",
    ),
    text(
        LogField::User,
        "user",
        "Who was let in by name and password, or `-`.",
    ),
    text(
        LogField::Scheme,
        "scheme",
        "`http`, or `https` where a trusted proxy says that the client came by it.",
    ),
    text(
        LogField::Time,
        "time",
        "When the exchange ended: RFC 3339, milliseconds, UTC.",
    ),
    text(
        LogField::TimeLocal,
        "time_local",
        "The same as `21/Nov/2026:20:00:00 +0000`, without brackets.",
    ),
    text(LogField::Method, "method", "The request's method."),
    text(
        LogField::Target,
        "target",
        "The request's target as received.",
    ),
    text(LogField::Protocol, "protocol", "`HTTP/1.1` or `HTTP/1.0`."),
    text(
        LogField::RequestLine,
        "request_line",
        "Method, target and protocol, with a space between.",
    ),
    text(LogField::Host, "host", "The host asked for."),
    text(LogField::Site, "site", "The site that answered."),
    number(LogField::Status, "status", "The status sent to the client."),
    number(LogField::Bytes, "bytes", "Bytes of the response body sent."),
    number(
        LogField::Duration,
        "duration",
        "Seconds, with microseconds, from the request's first byte to the response's last.",
    ),
    number(
        LogField::FirstByte,
        "first_byte",
        "Seconds, with microseconds, from the request's first byte to the response's first.",
    ),
    text(
        LogField::Cache,
        "cache",
        "What the cache did: `hit`, `stale`, `miss`, `pass`, …",
    ),
    text(
        LogField::CacheReason,
        "cache_reason",
        "Why the answer did not come from the cache, or `-`.",
    ),
    text(
        LogField::Upstream,
        "upstream",
        "The server that was asked, or `-`.",
    ),
    number(
        LogField::UpstreamTime,
        "upstream_time",
        "Seconds, with microseconds, from the request sent to the origin to its response's head, or `-`.",
    ),
    text(
        LogField::Referer,
        "referer",
        "The request's `Referer`, or `-`.",
    ),
    text(
        LogField::UserAgent,
        "user_agent",
        "The request's `User-Agent`, or `-`.",
    ),
    number(
        LogField::Connection,
        "connection",
        "The number of the client connection, counted from the start.",
    ),
];

/// `log.format = "combined"`, as a template.
pub const COMBINED: &str = "{client} - {user} [{time_local}] \"{request_line}\" {status} {bytes} \"{referer}\" \"{user_agent}\"";

/// The fields of a line of `log.format = "json"`, in their order.
pub const JSON: &[LogField] = &[
    LogField::Time,
    LogField::Client,
    LogField::Connection,
    LogField::Method,
    LogField::Host,
    LogField::Target,
    LogField::Protocol,
    LogField::Site,
    LogField::Status,
    LogField::Bytes,
    LogField::Duration,
    LogField::FirstByte,
    LogField::Cache,
    LogField::CacheReason,
    LogField::Upstream,
    LogField::UpstreamTime,
    LogField::Referer,
    LogField::UserAgent,
];

/// The row of one field.
pub fn row(field: LogField) -> &'static FieldRow {
    // `ALL` has the order of the enumeration (a test holds it to that).
    &ALL[field as usize]
}

/// A part of a parsed template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Written as it is.
    Text(String),
    /// Replaced by what is known of the exchange.
    Field(LogField),
    /// Replaced by a field of the request, of this name in lower case.
    Header(String),
}

/// What stands before the name of a field of the request.
const HEADER: &str = "header.";

/// What is wrong with a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError {
    /// Byte offset in the template.
    pub offset: usize,
    /// Length of the offending part in bytes.
    pub length: usize,
    /// What is wrong, for the operator.
    pub message: String,
    /// The field that was probably meant.
    pub nearest: Option<&'static str>,
}

impl std::fmt::Display for TemplateError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at byte {}", self.message, self.offset)?;
        match self.nearest {
            Some(name) => write!(f, "; did you mean `{{{name}}}`?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for TemplateError {}

/// Parses `{client} "{request_line}"` into its pieces; neighbouring text is one piece.
///
/// # Errors
/// A name that is not a field's, or a brace without its partner.
pub fn parse_template(template: &str) -> Result<Vec<Piece>, TemplateError> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut at = 0;
    while let Some(found) = template[at..].find(['{', '}']) {
        text.push_str(&template[at..at + found]);
        at += found;
        let rest = &template[at..];
        if rest.starts_with("{{") || rest.starts_with("}}") {
            text.push_str(&rest[..1]);
            at += 2;
            continue;
        }
        let (piece, length) = piece(rest, at)?;
        if !text.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut text)));
        }
        pieces.push(piece);
        at += length;
    }
    text.push_str(&template[at..]);
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    Ok(pieces)
}

/// What `rest` begins with, and the length of its name with both braces.
fn piece(rest: &str, offset: usize) -> Result<(Piece, usize), TemplateError> {
    let error = |length, message: String, nearest| TemplateError {
        offset,
        length,
        message,
        nearest,
    };
    if rest.starts_with('}') {
        let message = "`}` without a `{` before it (a brace itself is written `}}`)";
        return Err(error(1, message.into(), None));
    }
    let Some(end) = rest.find('}') else {
        let message = "`{` without a `}` after it (a brace itself is written `{{`)";
        return Err(error(1, message.into(), None));
    };
    let name = &rest[1..end];
    if let Some(header) = name.strip_prefix(HEADER).filter(|name| is_token(name)) {
        return Ok((Piece::Header(header.to_ascii_lowercase()), end + 1));
    }
    match ALL.iter().find(|row| row.name == name) {
        Some(row) => Ok((Piece::Field(row.field), end + 1)),
        None => {
            let nearest = nearest(name, ALL.iter().map(|row| row.name));
            let message = format!("unknown log field `{{{name}}}`");
            Err(error(end + 1, message, nearest))
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn literal(text: &str) -> Piece {
        Piece::Text(text.into())
    }

    #[test]
    fn the_table_has_the_order_of_the_enumeration_and_no_name_twice() {
        for (index, entry) in ALL.iter().enumerate() {
            assert_eq!(entry.field as usize, index, "{}", entry.name);
            assert_eq!(row(entry.field).name, entry.name);
            assert!(!entry.doc.is_empty());
            assert_eq!(
                ALL.iter().filter(|other| other.name == entry.name).count(),
                1
            );
        }
        assert_eq!(LogField::Connection as usize + 1, ALL.len());
    }

    #[test]
    fn every_field_is_found_by_its_name() {
        for entry in ALL {
            let pieces = parse_template(&format!("{{{}}}", entry.name)).unwrap();
            assert_eq!(pieces, [Piece::Field(entry.field)]);
        }
    }

    #[test]
    fn a_field_of_the_request_is_named() {
        let pieces = parse_template("{header.X-Id} {status}").unwrap();
        let header = Piece::Header("x-id".into());
        assert_eq!(
            pieces,
            [header, literal(" "), Piece::Field(LogField::Status)]
        );
        assert!(parse_template("{header.}").is_err());
        assert!(parse_template("{header.a b}").is_err());
    }

    #[test]
    fn text_braces_and_fields() {
        assert_eq!(parse_template("").unwrap(), []);
        assert_eq!(parse_template("a é b").unwrap(), [literal("a é b")]);
        assert_eq!(
            parse_template("{{{status}}}x{{}}{host}").unwrap(),
            [
                literal("{"),
                Piece::Field(LogField::Status),
                literal("}x{}"),
                Piece::Field(LogField::Host),
            ]
        );
        let combined = parse_template(COMBINED).unwrap();
        assert_eq!(combined[0], Piece::Field(LogField::Client));
        assert_eq!(combined.last(), Some(&literal("\"")));
    }

    #[test]
    fn errors_say_where_and_what_was_meant() {
        for (template, offset, length, nearest) in [
            ("é {stauts}", 3, 8, Some("status")),
            ("a}b", 1, 1, None),
            ("{client", 0, 1, None),
            ("{}", 0, 2, None),
            ("{client} {nothing_like_it}", 9, 17, None),
        ] {
            let error = parse_template(template).unwrap_err();
            assert_eq!(
                (error.offset, error.length, error.nearest),
                (offset, length, nearest),
                "{template}: {error}"
            );
        }
        let text = parse_template("{stauts}").unwrap_err().to_string();
        assert_eq!(
            text,
            "unknown log field `{stauts}` at byte 0; did you mean `{status}`?"
        );
    }
}
