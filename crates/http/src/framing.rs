//! Where a message's body ends (RFC 9112 section 6), and which fields end with this hop.

use crate::fields::{FieldId, Fields, each_member, set};

/// How the end of a body is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyLength {
    /// There is no body.
    None,
    /// So many bytes follow.
    Length(u64),
    /// Chunks follow, the last one empty.
    Chunked,
    /// The body ends with the connection; responses only.
    UntilClose,
}

/// Why a message's framing was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FramingError {
    /// Content-Length and Transfer-Encoding in one message.
    LengthAndEncoding,
    /// Content-Length is not a number, or has two values that differ.
    ContentLength,
    /// Transfer-Encoding does not end in `chunked`, has it twice, or came in an HTTP/1.0 message.
    TransferEncoding,
    /// A transfer coding other than `chunked`.
    UnsupportedCoding,
}

impl FramingError {
    /// What is wrong, in words for the log and the answer.
    pub fn message(self) -> &'static str {
        match self {
            Self::LengthAndEncoding => "both Content-Length and Transfer-Encoding",
            Self::ContentLength => "malformed or contradictory Content-Length",
            Self::TransferEncoding => "malformed Transfer-Encoding",
            Self::UnsupportedCoding => "unsupported transfer coding",
        }
    }

    /// The status a client gets for a request refused so.
    pub fn status(self) -> u16 {
        if self == Self::UnsupportedCoding {
            501
        } else {
            400
        }
    }
}

/// The framing of a request (RFC 9112 section 6.3, steps 3 to 5 and 7).
pub fn request_body(fields: &Fields, http10: bool) -> Result<BodyLength, FramingError> {
    const FRAMING: u64 = set(&[FieldId::ContentLength, FieldId::TransferEncoding]);
    if !fields.has_any(FRAMING) {
        return Ok(BodyLength::None);
    }
    Ok(stated(fields, http10)?.unwrap_or(BodyLength::None))
}

/// The framing of a final response to a request that was (`head`) or was not HEAD.
pub fn response_body(
    fields: &Fields,
    http10: bool,
    status: u16,
    head: bool,
) -> Result<BodyLength, FramingError> {
    let stated = match stated(fields, http10) {
        // RFC 9112 section 6.3, step 4: what is coded otherwise than in chunks ends with the connection.
        Err(FramingError::TransferEncoding) if !http10 && has_other_coding(fields) => None,
        other => other?,
    };
    if head || status < 200 || status == 204 || status == 304 {
        return Ok(BodyLength::None);
    }
    Ok(stated.unwrap_or(BodyLength::UntilClose))
}

fn stated(fields: &Fields, http10: bool) -> Result<Option<BodyLength>, FramingError> {
    let length = content_length(fields)?;
    if !fields.has(FieldId::TransferEncoding) {
        return Ok(length.map(BodyLength::Length));
    }
    if length.is_some() {
        return Err(FramingError::LengthAndEncoding);
    }
    let mut codings = 0;
    let (mut chunked, mut last_is_chunked) = (0, false);
    for value in fields.all(FieldId::TransferEncoding) {
        each_member(value, |coding| {
            codings += 1;
            last_is_chunked = coding.eq_ignore_ascii_case(b"chunked");
            chunked += usize::from(last_is_chunked);
        });
    }
    match (last_is_chunked && chunked == 1 && !http10, codings) {
        (true, 1) => Ok(Some(BodyLength::Chunked)),
        (true, _) => Err(FramingError::UnsupportedCoding),
        (false, _) => Err(FramingError::TransferEncoding),
    }
}

/// Whether Transfer-Encoding names codings of which none could be taken for `chunked`, and none
/// is a coding that somebody would undo (RFC 9112 section 7.2): the body would be passed on as
/// something that it is not.
fn has_other_coding(fields: &Fields) -> bool {
    let (mut codings, mut suspicious) = (0, false);
    for value in fields.all(FieldId::TransferEncoding) {
        each_member(value, |coding| {
            codings += 1;
            let lower = coding.to_ascii_lowercase();
            suspicious |= !coding.iter().all(|&byte| crate::head::is_token(byte))
                || lower.windows(7).any(|window| window == b"chunked")
                || matches!(
                    lower
                        .trim_ascii_start()
                        .strip_prefix(b"x-")
                        .unwrap_or(&lower),
                    b"gzip" | b"compress" | b"deflate"
                );
        });
    }
    codings > 0 && !suspicious
}

/// The value of Content-Length; equal repetitions count as one (RFC 9110 section 8.6).
pub fn content_length(fields: &Fields) -> Result<Option<u64>, FramingError> {
    if !fields.has(FieldId::ContentLength) {
        return Ok(None);
    }
    if let Some(length) = fields.only(FieldId::ContentLength).and_then(number) {
        return Ok(Some(length));
    }
    let mut length = None;
    for value in fields.all(FieldId::ContentLength) {
        for member in value.split(|&byte| byte == b',') {
            let value = number(member.trim_ascii()).ok_or(FramingError::ContentLength)?;
            if length
                .replace(value)
                .is_some_and(|previous| previous != value)
            {
                return Err(FramingError::ContentLength);
            }
        }
    }
    Ok(length)
}

/// A decimal number of at most 18 digits, nothing else.
pub fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    digits.iter().try_fold(0, |number, digit| {
        let digit = digit.wrapping_sub(b'0');
        (digit < 10).then(|| number * 10 + u64::from(digit))
    })
}

/// Whether the connection may carry another message after this one (RFC 9112 section 9.3).
pub fn keeps_alive(fields: &Fields, http10: bool) -> bool {
    if !fields.has(FieldId::Connection) {
        return !http10;
    }
    let (mut close, mut keep) = (false, false);
    for value in fields.all(FieldId::Connection) {
        each_member(value, |option| {
            close |= option.eq_ignore_ascii_case(b"close");
            keep |= option.eq_ignore_ascii_case(b"keep-alive");
        });
    }
    !close && (!http10 || keep)
}

/// Whether `Connection` names this option.
pub fn connection_names(fields: &Fields, option: &[u8]) -> bool {
    let mut found = false;
    for value in fields.all(FieldId::Connection) {
        each_member(value, |member| found |= member.eq_ignore_ascii_case(option));
    }
    found
}

/// Fields that end with this hop whether or not `Connection` names them.
pub const HOP_BY_HOP: u64 = set(&[
    FieldId::Connection,
    FieldId::KeepAlive,
    FieldId::ProxyConnection,
    FieldId::ProxyAuthenticate,
    FieldId::ProxyAuthenticationInfo,
    FieldId::ProxyAuthorization,
    FieldId::Te,
    FieldId::TransferEncoding,
    FieldId::Upgrade,
]);

/// Removes what must not be forwarded (RFC 9110 section 7.6.1): the hop-by-hop
/// fields and those that `Connection` names, except `Host`, without which the
/// request would mean something else.
pub fn remove_hop_by_hop(fields: &mut Fields) {
    if !fields.has_any(HOP_BY_HOP) {
        return;
    }
    if fields.has(FieldId::Connection) {
        let mut named: Vec<Vec<u8>> = Vec::new();
        for value in fields.all(FieldId::Connection) {
            each_member(value, |option| {
                let is_field = !option.eq_ignore_ascii_case(b"close")
                    && !option.eq_ignore_ascii_case(b"keep-alive")
                    && !option.eq_ignore_ascii_case(b"host");
                if is_field {
                    named.push(option.to_vec());
                }
            });
        }
        if !named.is_empty() {
            fields.retain(|field| {
                !named
                    .iter()
                    .any(|name| name.eq_ignore_ascii_case(field.name))
            });
        }
    }
    fields.retain(|field| field.id.bit() & HOP_BY_HOP == 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(lines: &[(&str, &str)]) -> Fields {
        let mut fields = Fields::new();
        for (name, value) in lines {
            fields.push_named(name.as_bytes(), value.as_bytes());
        }
        fields
    }

    #[test]
    fn request_framing_by_table() {
        use FramingError as E;
        type Case<'a> = (&'a [(&'a str, &'a str)], Result<BodyLength, E>);
        let cases: &[Case<'_>] = &[
            (&[], Ok(BodyLength::None)),
            (&[("content-length", "0")], Ok(BodyLength::Length(0))),
            (
                &[("content-length", "5"), ("Content-Length", "5")],
                Ok(BodyLength::Length(5)),
            ),
            (&[("content-length", "5, 5")], Ok(BodyLength::Length(5))),
            (
                &[("content-length", "5"), ("content-length", "6")],
                Err(E::ContentLength),
            ),
            (&[("content-length", "+5")], Err(E::ContentLength)),
            (&[("content-length", "")], Err(E::ContentLength)),
            (&[("content-length", "5 5")], Err(E::ContentLength)),
            (
                &[("content-length", "9999999999999999999")],
                Err(E::ContentLength),
            ),
            (&[("transfer-encoding", "Chunked")], Ok(BodyLength::Chunked)),
            (
                &[("transfer-encoding", "chunked"), ("content-length", "5")],
                Err(E::LengthAndEncoding),
            ),
            (
                &[("transfer-encoding", "gzip, chunked")],
                Err(E::UnsupportedCoding),
            ),
            (
                &[("transfer-encoding", "chunked, gzip")],
                Err(E::TransferEncoding),
            ),
            (
                &[("transfer-encoding", "chunked, chunked")],
                Err(E::TransferEncoding),
            ),
            (
                &[("transfer-encoding", "xchunked")],
                Err(E::TransferEncoding),
            ),
            (
                &[("transfer-encoding", "\u{b}chunked")],
                Err(E::TransferEncoding),
            ),
            (&[("transfer-encoding", "")], Err(E::TransferEncoding)),
        ];
        for (lines, expected) in cases {
            assert_eq!(request_body(&fields(lines), false), *expected, "{lines:?}");
        }
        let chunked = fields(&[("transfer-encoding", "chunked")]);
        assert_eq!(request_body(&chunked, true), Err(E::TransferEncoding));
    }

    #[test]
    fn response_framing_knows_what_has_no_body() {
        let length = fields(&[("content-length", "5")]);
        assert_eq!(
            response_body(&length, false, 200, false),
            Ok(BodyLength::Length(5))
        );
        for (status, head) in [(204, false), (304, false), (200, true)] {
            assert_eq!(
                response_body(&length, false, status, head),
                Ok(BodyLength::None)
            );
        }
        assert_eq!(
            response_body(&fields(&[]), false, 200, false),
            Ok(BodyLength::UntilClose)
        );
        let coded =
            |coding| response_body(&fields(&[("transfer-encoding", coding)]), false, 200, false);
        assert_eq!(coded("rot13"), Ok(BodyLength::UntilClose));
        for refused in [
            "chunked, gzip",
            "xchunked",
            "chunked;q=1",
            "\"gzip\"",
            "",
            "gzip, chunked",
            "gzip",
            "X-gzip",
        ] {
            assert!(coded(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn what_connection_names_goes_but_host_stays() {
        let mut all = fields(&[
            ("Connection", "x-a, Host, close"),
            ("X-A", "1"),
            ("Host", "h"),
            ("Keep-Alive", "5"),
            ("Via", "v"),
        ]);
        remove_hop_by_hop(&mut all);
        let mut out = Vec::new();
        all.write_to(&mut out);
        assert_eq!(out, b"Host: h\r\nVia: v\r\n");
    }
}
