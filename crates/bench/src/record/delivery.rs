//! A response on its way to the browser: passed on piece by piece, or, where
//! links in it must be changed, once it is there as a whole.

use forebay_http::chunked;
use forebay_http::framing::{self, BodyLength};
use forebay_http::{FieldId, Fields, ResponseHead};

use super::rewrite::{self, Names};
use super::wire::{Trouble, Wire};

/// A longer text is passed on as it is, links and all.
const LONGEST_CHANGED: usize = 8 << 20;
/// Of each body so much is kept to look for tokens in.
const KEPT: usize = 8 << 20;

/// How the body leaves.
#[derive(Debug, PartialEq, Eq)]
enum Way {
    /// When it is whole, changed.
    Whole,
    /// As it comes, with the length that the server gave.
    Counted,
    /// As it comes, in chunks.
    Chunks,
    /// As it comes, ended by the connection's end.
    UntilClose,
}

/// The response under way.
pub(super) struct Delivery<'a> {
    head: ResponseHead,
    names: Option<&'a Names>,
    way: Way,
    /// How a body leaves that turns out too long to be changed.
    otherwise: Way,
    keeps: bool,
    is_begun: bool,
    content: Vec<u8>,
    has_body: bool,
}

impl<'a> Delivery<'a> {
    /// `keeps`: the client would send another request on its connection.
    pub(super) fn new(
        response: &ResponseHead,
        length: BodyLength,
        names: Option<&'a Names>,
        client_http10: bool,
        keeps: bool,
    ) -> Self {
        let streamed = match length {
            BodyLength::None | BodyLength::Length(_) => Way::Counted,
            _ if client_http10 => Way::UntilClose,
            _ => Way::Chunks,
        };
        let is_changed = length != BodyLength::None && names.is_some() && is_text(&response.fields);
        let too_long =
            matches!(length, BodyLength::Length(bytes) if bytes > LONGEST_CHANGED as u64);
        let (way, otherwise) = if is_changed && !too_long {
            (
                Way::Whole,
                if client_http10 {
                    Way::UntilClose
                } else {
                    Way::Chunks
                },
            )
        } else {
            (streamed, Way::UntilClose)
        };
        Self {
            head: to_browser(response, names),
            names,
            way,
            otherwise,
            keeps,
            is_begun: false,
            content: Vec::new(),
            has_body: length != BodyLength::None,
        }
    }

    /// Takes a piece of the body.
    pub(super) fn take(&mut self, client: &mut Wire, part: &[u8]) -> Result<(), Trouble> {
        if self.way == Way::Whole && self.content.len() + part.len() > LONGEST_CHANGED {
            self.way = std::mem::replace(&mut self.otherwise, Way::UntilClose);
            let before = std::mem::take(&mut self.content);
            self.pass(client, &before)?;
            self.content = before;
        }
        if self.way != Way::Whole {
            self.pass(client, part)?;
        }
        let room = KEPT.saturating_sub(self.content.len()).min(part.len());
        self.content.extend_from_slice(&part[..room]);
        Ok(())
    }

    /// Ends the body; returns it, and whether another request may follow.
    pub(super) fn end(mut self, client: &mut Wire) -> Result<(Vec<u8>, bool), Trouble> {
        if self.way == Way::Whole {
            let changed = self
                .names
                .map(|names| names.to_browser(&self.content))
                .unwrap_or_default();
            self.head
                .fields
                .set(FieldId::ContentLength, changed.len().to_string().as_bytes());
            self.begin(client, &changed)?;
        } else {
            self.pass(client, b"")?;
            if self.way == Way::Chunks {
                client.send(chunked::LAST_CHUNK)?;
            }
        }
        Ok((self.content, self.keeps && self.way != Way::UntilClose))
    }

    fn pass(&mut self, client: &mut Wire, part: &[u8]) -> Result<(), Trouble> {
        if !self.is_begun {
            if self.has_body && self.way != Way::Counted {
                self.head.fields.remove(FieldId::ContentLength);
            }
            if self.way == Way::Chunks {
                self.head.fields.set(FieldId::TransferEncoding, b"chunked");
            }
            self.begin(client, b"")?;
        }
        if part.is_empty() {
            return Ok(());
        }
        if self.way != Way::Chunks {
            return Ok(client.send(part)?);
        }
        let mut bytes = Vec::with_capacity(part.len() + 16);
        chunked::write_chunk_head(&mut bytes, part.len());
        bytes.extend_from_slice(part);
        bytes.extend_from_slice(b"\r\n");
        Ok(client.send(&bytes)?)
    }

    fn begin(&mut self, client: &mut Wire, body: &[u8]) -> Result<(), Trouble> {
        self.is_begun = true;
        if !self.keeps || self.way == Way::UntilClose {
            self.head.fields.set(FieldId::Connection, b"close");
        }
        let mut bytes = format!("HTTP/1.1 {:03} ", self.head.status).into_bytes();
        bytes.extend_from_slice(&self.head.reason);
        bytes.extend_from_slice(b"\r\n");
        self.head.fields.write_to(&mut bytes);
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(body);
        Ok(client.send(&bytes)?)
    }
}

/// The head for the browser; at a reverse proxy so that the browser stays, and takes the cookies.
fn to_browser(response: &ResponseHead, names: Option<&Names>) -> ResponseHead {
    let mut head = response.clone();
    framing::remove_hop_by_hop(&mut head.fields);
    let Some(names) = names else {
        return head;
    };
    let mut fields = Fields::new();
    for field in head.fields.iter() {
        // They would send the browser to the target's own address, or forbid what it gets here.
        let is_dropped = [
            "Strict-Transport-Security",
            "Content-Security-Policy",
            "Content-Security-Policy-Report-Only",
            "Alt-Svc",
        ]
        .iter()
        .any(|name| field.name.eq_ignore_ascii_case(name.as_bytes()));
        if is_dropped {
            continue;
        }
        if field.id == FieldId::SetCookie {
            let cookie = rewrite::set_cookie(&String::from_utf8_lossy(field.value));
            fields.push(field.id, cookie.as_bytes());
        } else {
            fields.push_named(field.name, &names.to_browser(field.value));
        }
    }
    head.fields = fields;
    head
}

/// Whether links may be in it that can be changed: a text, not compressed, and not one that
/// comes bit by bit (`text/event-stream`).
fn is_text(fields: &Fields) -> bool {
    let coded = fields
        .get(FieldId::ContentEncoding)
        .is_some_and(|coding| !coding.eq_ignore_ascii_case(b"identity"));
    let kind = fields
        .get(FieldId::ContentType)
        .unwrap_or_default()
        .to_ascii_lowercase();
    let has = |word: &str| kind.windows(word.len()).any(|part| part == word.as_bytes());
    !coded
        && !fields.has(FieldId::ContentRange)
        && !has("event-stream")
        && (kind.starts_with(b"text/")
            || ["json", "javascript", "xml"].iter().any(|word| has(word)))
}
