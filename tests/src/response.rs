//! A response as a client received it, and the text of one that an origin sends.

use crate::cache_status::CacheStatus;
use crate::head::{Fields, Framing, Head};

/// A response; complete unless it came from [`crate::Client::try_read`] with an error.
#[derive(Clone, Debug)]
pub struct Response {
    /// `HTTP/1.1` or `HTTP/1.0`.
    pub version: String,
    /// The status code.
    pub status: u16,
    /// In the order of the wire.
    pub fields: Fields,
    /// The content, chunking removed.
    pub body: Vec<u8>,
    /// The trailer section.
    pub trailers: Fields,
    /// How the body was delimited.
    pub framing: Framing,
    /// The 1xx responses that came before.
    pub interim: Vec<(u16, Fields)>,
}

impl Response {
    /// A response from its head; `method` decides whether it has a body.
    pub fn new(head: Head, method: &str) -> Result<Self, String> {
        let (version, status) = status_line(&head.start)?;
        let framing = framing(&head.fields, status, method)?;
        Ok(Self {
            version,
            status,
            fields: head.fields,
            body: Vec::new(),
            trailers: Fields::default(),
            framing,
            interim: Vec::new(),
        })
    }

    /// The first value of a field.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name)
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The value of a field that is a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.field(name)?.parse().ok()
    }

    /// `Age`, 0 when absent.
    pub fn age(&self) -> u64 {
        self.number("age").unwrap_or(0)
    }

    /// This server's member of `Cache-Status` (RFC 9211).
    ///
    /// # Panics
    /// When there is none.
    #[track_caller]
    pub fn cache_status(&self) -> CacheStatus {
        CacheStatus::parse(&self.fields.joined("cache-status"))
            .unwrap_or_else(|| panic!("no member for forebay in Cache-Status of {self:#?}"))
    }

    /// Whether the cache answered.
    pub fn is_hit(&self) -> bool {
        CacheStatus::parse(&self.fields.joined("cache-status")).is_some_and(|status| status.hit)
    }
}

fn status_line(line: &str) -> Result<(String, u16), String> {
    let wrong = || format!("status line {line:?}");
    let (version, rest) = line.split_once(' ').ok_or_else(wrong)?;
    let (status, _reason) = rest.split_once(' ').ok_or_else(wrong)?;
    if !matches!(version, "HTTP/1.1" | "HTTP/1.0") || status.len() != 3 {
        return Err(wrong());
    }
    Ok((version.to_owned(), status.parse().map_err(|_| wrong())?))
}

/// RFC 9112 section 6.3, and what section 6.1 and RFC 9110 section 8.6 forbid.
fn framing(fields: &Fields, status: u16, method: &str) -> Result<Framing, String> {
    let stated = crate::head::stated_framing(fields)?;
    if (100..200).contains(&status) || status == 204 {
        return match stated {
            None => Ok(Framing::Empty),
            Some(_) => Err(format!("a {status} response states framing")),
        };
    }
    if method == "HEAD" || status == 304 {
        return Ok(Framing::Empty);
    }
    Ok(stated.unwrap_or(Framing::Close))
}

/// The text of a response with `Content-Length`.
///
/// `fields` are whole lines without their ends, `["ETag: \"a\""]`.
pub fn reply(status: u16, fields: &[&str], body: &str) -> String {
    let mut text = format!("HTTP/1.1 {status} Status\r\n");
    for field in fields {
        text.push_str(field);
        text.push_str("\r\n");
    }
    if status != 204 && status != 304 {
        text.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    text + "\r\n" + body
}
