//! What comes back: enough of it to judge by.

use std::ops::RangeInclusive;

use forebay_cgi::fastcgi::{self, End};
use forebay_cgi::head as cgi_head;
use forebay_config::settings::Protocol;
use forebay_http::ResponseHead;
use forebay_http::chunked::{self, Decoder};
use forebay_http::framing::{self, BodyLength};
use forebay_http::head::HeadLimits;

/// Bytes of the body that are looked at.
const MOST_BODY: usize = 64 << 10;
/// Bytes that are read at all: the head, and what the framing adds.
pub(crate) const MOST_BYTES: usize = 2 * MOST_BODY;

const LIMITS: HeadLimits = HeadLimits {
    line_bytes: 16 << 10,
    head_bytes: 32 << 10,
    fields: 200,
};

/// What is expected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) statuses: &'a [RangeInclusive<u16>],
    /// Text in the body.
    pub(crate) body: Option<&'a str>,
}

/// A response as far as it has come.
#[derive(Debug)]
pub(crate) struct Response {
    protocol: Protocol,
    records: fastcgi::Decoder,
    /// Bytes of records that are not complete.
    waiting: Vec<u8>,
    /// Head and body.
    message: Vec<u8>,
    /// Nothing more comes.
    is_over: bool,
}

impl Response {
    pub(crate) fn new(protocol: Protocol) -> Self {
        Self {
            protocol,
            records: fastcgi::Decoder::default(),
            waiting: Vec::new(),
            message: Vec::new(),
            is_over: false,
        }
    }

    /// Takes in what was read; nothing: the connection has ended.
    ///
    /// # Errors
    /// It is not the protocol.
    pub(crate) fn add(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.is_over |= bytes.is_empty();
        if self.protocol != Protocol::FastCgi {
            self.message.extend_from_slice(bytes);
            return Ok(());
        }
        self.waiting.extend_from_slice(bytes);
        self.take_records()
    }

    fn take_records(&mut self) -> Result<(), String> {
        loop {
            let event = self.records.next(&self.waiting);
            match event.map_err(|error| error.message().to_owned())? {
                fastcgi::Event::Stdout { start, end } => {
                    self.message.extend_from_slice(&self.waiting[start..end]);
                    self.waiting.drain(..end);
                }
                fastcgi::Event::Stderr { end, .. } => {
                    self.waiting.drain(..end);
                }
                fastcgi::Event::NeedMore { consumed } => {
                    self.waiting.drain(..consumed);
                    return Ok(());
                }
                fastcgi::Event::End { end, .. } => {
                    self.is_over = true;
                    return match end {
                        End::Complete { .. } => Ok(()),
                        _ => Err("the application rejected the request".into()),
                    };
                }
            }
        }
    }

    /// Whether it is as wanted; `None`: that is not known yet.
    pub(crate) fn judge(&self, wanted: &Wanted<'_>) -> Option<Result<(), String>> {
        let mut head = ResponseHead::default();
        let parsed = match self.protocol {
            Protocol::Http => head.parse(&self.message, &LIMITS),
            _ => cgi_head::parse(&mut head, &self.message, &LIMITS),
        };
        let taken = match parsed {
            Ok(Some(taken)) => taken,
            Ok(None) if self.is_over => {
                return Some(Err("the connection ended before the response's head".into()));
            }
            Ok(None) => return None,
            Err(error) => return Some(Err(format!("malformed response: {}", error.message()))),
        };
        if !wanted
            .statuses
            .iter()
            .any(|range| range.contains(&head.status))
        {
            return Some(Err(format!("status {}", head.status)));
        }
        let Some(text) = wanted.body else {
            return Some(Ok(()));
        };
        let (body, is_whole) = self.body(&head, &self.message[taken..]);
        let body = &body[..body.len().min(MOST_BODY)];
        if body
            .windows(text.len().max(1))
            .any(|part| part == text.as_bytes())
        {
            return Some(Ok(()));
        }
        let is_enough = is_whole || self.is_over || body.len() == MOST_BODY;
        is_enough.then(|| Err(format!("the body does not contain `{text}`")))
    }

    /// The body as far as it has come, and whether that is all.
    fn body(&self, head: &ResponseHead, rest: &[u8]) -> (Vec<u8>, bool) {
        let length = match self.protocol {
            Protocol::Http => framing::response_body(&head.fields, head.http10, head.status, false),
            _ => Ok(BodyLength::UntilClose),
        };
        match length {
            Ok(BodyLength::Chunked) => unchunked(rest),
            Ok(BodyLength::Length(bytes)) => {
                let whole = usize::try_from(bytes).unwrap_or(usize::MAX);
                (rest[..rest.len().min(whole)].to_vec(), rest.len() >= whole)
            }
            Ok(BodyLength::UntilClose) => (rest.to_vec(), false),
            Ok(BodyLength::None) | Err(_) => (Vec::new(), true),
        }
    }
}

fn unchunked(mut rest: &[u8]) -> (Vec<u8>, bool) {
    let mut decoder = Decoder::new(LIMITS.line_bytes, LIMITS.head_bytes);
    let mut body = Vec::new();
    loop {
        match decoder.next(rest) {
            Ok(chunked::Event::Data {
                start,
                end,
                consumed,
            }) => {
                body.extend_from_slice(&rest[start..end]);
                rest = &rest[consumed..];
            }
            Ok(chunked::Event::NeedMore { .. }) => return (body, false),
            Ok(chunked::Event::End { .. }) | Err(_) => return (body, true),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const FINE: &[RangeInclusive<u16>] = &[200..=399];

    /// What is made of a response that came byte by byte, and ended.
    fn judged(protocol: Protocol, bytes: &[u8], body: Option<&str>) -> Result<(), String> {
        let mut response = Response::new(protocol);
        let wanted = Wanted {
            statuses: FINE,
            body,
        };
        for byte in bytes {
            response.add(&[*byte])?;
            if let Some(judged) = response.judge(&wanted) {
                return judged;
            }
        }
        response.add(&[])?;
        response.judge(&wanted).unwrap()
    }

    #[test]
    fn a_status_is_enough_and_a_body_is_looked_through() {
        let http = |text: &str, body| judged(Protocol::Http, text.as_bytes(), body);
        let fine = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        assert_eq!(http(fine, None), Ok(()));
        assert_eq!(http(fine, Some("ell")), Ok(()));
        assert!(http(fine, Some("sick")).unwrap_err().contains("sick"));
        let chunked =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n";
        assert_eq!(http(chunked, Some("hello")), Ok(()));
        assert_eq!(http("HTTP/1.0 204 No Content\r\n\r\n", None), Ok(()));
        let failed = http("HTTP/1.1 503 Service Unavailable\r\n\r\n", None);
        assert_eq!(failed.unwrap_err(), "status 503");
        assert!(http("", None).is_err());
        assert!(http("SSH-2.0-OpenSSH\r\n", None).is_err());
    }

    #[test]
    fn applications_answer_in_their_own_form() {
        let text = b"Content-Type: text/plain\r\n\r\npong";
        assert_eq!(judged(Protocol::Scgi, text, Some("pong")), Ok(()));
        let mut records = vec![1, 6, 0, 1, 0, text.len() as u8, 0, 0];
        records.extend_from_slice(text);
        records.extend_from_slice(&[1, 3, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(judged(Protocol::FastCgi, &records, Some("pong")), Ok(()));
        assert!(judged(Protocol::FastCgi, b"HTTP/1.1 200 OK\r\n\r\n", None).is_err());
    }
}
