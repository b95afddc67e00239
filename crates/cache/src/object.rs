//! A stored response.
//!
//! ```text
//!  publish ──▶ in the index, growing ──settle──▶ in a queue ──evict──▶ gone
//!                        │                          │  ▲
//!                        └─ fetch failed ──▶ gone   └──┘ refreshed by a 304: a new
//!                                                        head over the same body
//! ```
//!
//! The head never changes. It is kept as the bytes a client gets, so that a
//! hit copies it and formats only what depends on the moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};

use forebay_config::settings::Policy;
use forebay_http::fields::{FieldId, Fields, write_line};
use forebay_http::framing::HOP_BY_HOP;
use forebay_http::head::HeadLimits;
use forebay_http::{ResponseHead, conditional};

use crate::body::Body;
use crate::budget::{Budget, Charge, allocated};
use crate::groups::Mark;
use crate::ranges::Ranges;
use crate::terms::Terms;
use crate::vary::Selector;

/// A response head, what it promises, and its body.
#[derive(Debug)]
pub struct Object {
    /// Stays the same when the object is refreshed.
    pub(crate) id: u64,
    pub(crate) hash: u64,
    status: u16,
    head: Box<[u8]>,
    etag: Span,
    language: Span,
    /// How it may be used.
    pub terms: Terms,
    pub(crate) selector: Option<Selector>,
    pub(crate) groups: Box<[Mark]>,
    /// Its body, or the parts of it that are known.
    pub content: Content,
    hot: AtomicU8,
    invalid: AtomicBool,
    _charge: Charge,
}

/// What is stored of a body.
#[derive(Clone, Debug)]
pub enum Content {
    /// All of it, or all of it to come.
    Whole(Arc<Body>),
    /// Some ranges of it.
    Ranges(Arc<Ranges>),
}

/// Everything an object is made of but its identity.
#[derive(Debug)]
pub struct Draft<'a> {
    /// The response's head, its hop-by-hop fields removed.
    pub response: &'a ResponseHead,
    /// What it promises.
    pub terms: Terms,
    /// What selects it.
    pub selector: Option<Selector>,
    /// Cache groups it belongs to.
    pub groups: Box<[Mark]>,
    /// Names of fields that must not be kept (`private="…"`, `no-cache="…"`), in lower case.
    pub withheld: &'a [Box<str>],
    /// Its body.
    pub content: Content,
}

#[derive(Clone, Copy, Debug, Default)]
struct Span {
    start: u32,
    len: u32,
}

impl Object {
    pub(crate) fn new(
        draft: Draft<'_>,
        id: u64,
        hash: u64,
        key_len: usize,
        budget: &Arc<Budget>,
    ) -> Self {
        let mut head = Vec::with_capacity(512);
        let (etag, language) = write_head(&draft, &mut head);
        let head = head.into_boxed_slice();
        let mut charge = Charge::new(budget);
        let selector = draft.selector.as_ref().map_or(0, Selector::heap_bytes);
        charge.set(
            allocated(size_of::<Self>() + 16)
                + allocated(head.len())
                + allocated(key_len)
                + (selector + draft.groups.len() * size_of::<Mark>() + ENTRY_BYTES) as u64,
        );
        Self {
            id,
            hash,
            status: draft.response.status,
            head,
            etag,
            language,
            terms: draft.terms,
            selector: draft.selector,
            groups: draft.groups,
            content: draft.content,
            hot: AtomicU8::new(0),
            invalid: AtomicBool::new(false),
            _charge: charge,
        }
    }

    /// The status of the stored response.
    #[inline]
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Status line and field lines as they are sent, without the empty line
    /// and without Content-Length, Age and what else depends on the moment.
    #[inline]
    pub fn head(&self) -> &[u8] {
        &self.head[..self.head.len() - 2]
    }

    /// The fields of the head one after the other, read without allocating: kind, name, value.
    pub fn fields(&self) -> impl Iterator<Item = (FieldId, &[u8], &[u8])> {
        let lines = self.head().split(|&byte| byte == b'\n').skip(1);
        lines.filter_map(|line| {
            let colon = line.iter().position(|&byte| byte == b':')?;
            let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
            Some((FieldId::of(name), name, value))
        })
    }

    /// The head read again, for those who change it.
    pub fn parsed_head(&self) -> ResponseHead {
        let limits = HeadLimits {
            line_bytes: usize::MAX,
            head_bytes: usize::MAX,
            fields: usize::MAX,
        };
        let mut head = ResponseHead::default();
        let read = head.parse(&self.head, &limits);
        debug_assert_eq!(
            read,
            Ok(Some(self.head.len())),
            "a stored head is well-formed"
        );
        head
    }

    /// Its entity tag, if it has a valid one.
    pub fn etag(&self) -> Option<&[u8]> {
        self.span(self.etag)
            .filter(|etag| conditional::is_valid_etag(etag))
    }

    /// Its strong entity tag, if it has one.
    pub fn strong_etag(&self) -> Option<&[u8]> {
        self.etag().filter(|etag| !conditional::is_weak(etag))
    }

    /// Its Content-Language.
    pub fn language(&self) -> Option<&[u8]> {
        self.span(self.language)
    }

    /// Whether a request for its key selects it (RFC 9111 section 4.1).
    #[inline]
    pub fn selects(&self, request: &Fields, policy: &Policy) -> bool {
        match &self.selector {
            None => true,
            Some(selector) => selector.matches(request, policy, self.language()),
        }
    }

    /// What preconditions are evaluated against.
    pub fn validators(&self) -> conditional::Stored<'_> {
        conditional::Stored {
            etag: self.etag(),
            last_modified: self.terms.last_modified,
            date: Some(self.terms.date),
            status: self.status,
        }
    }

    /// Its body, unless only ranges of it are stored.
    #[inline]
    pub fn whole(&self) -> Option<&Arc<Body>> {
        match &self.content {
            Content::Whole(body) => Some(body),
            Content::Ranges(_) => None,
        }
    }

    /// Notes a hit. One relaxed load, and a store only until it counts as hot.
    #[inline]
    pub fn touch(&self) {
        let hot = self.hot.load(Relaxed);
        if hot < HOTTEST {
            self.hot.store(hot + 1, Relaxed);
        }
    }

    pub(crate) fn heat(&self) -> u8 {
        self.hot.load(Relaxed)
    }

    pub(crate) fn set_heat(&self, heat: u8) {
        self.hot.store(heat, Relaxed);
    }

    /// Whether it must be validated before use because something changed the resource.
    #[inline]
    pub fn is_invalid(&self) -> bool {
        self.invalid.load(Relaxed)
    }

    pub(crate) fn invalidate(&self) -> bool {
        !self.invalid.swap(true, Relaxed)
    }

    /// Bytes that go when it goes.
    pub fn memory_bytes(&self) -> u64 {
        let content = match &self.content {
            Content::Whole(body) => body.memory_bytes(),
            Content::Ranges(ranges) => ranges.memory_bytes(),
        };
        self._charge.bytes() + content
    }

    fn span(&self, span: Span) -> Option<&[u8]> {
        let start = span.start as usize;
        (span.len > 0).then(|| &self.head[start..start + span.len as usize])
    }
}

/// A saturated heat: the object survives so many passes of the eviction's hand.
const HOTTEST: u8 = 3;

/// Index entry, queue item, hash table slack and the body's own structures.
pub(crate) const ENTRY_BYTES: usize = 384;

/// Fields written for each answer anew, or meaningless in a stored response.
const NOT_KEPT: u64 = HOP_BY_HOP
    | forebay_http::fields::set(&[FieldId::ContentLength, FieldId::Age, FieldId::Trailer]);

fn write_head(draft: &Draft<'_>, out: &mut Vec<u8>) -> (Span, Span) {
    let Draft { response, .. } = draft;
    write_status_line(response.status, &response.reason, out);
    let (mut etag, mut language) = (Span::default(), Span::default());
    for field in response.fields.iter() {
        let withheld = !draft.withheld.is_empty()
            && draft
                .withheld
                .iter()
                .any(|name| field.name.eq_ignore_ascii_case(name.as_bytes()));
        let moved =
            field.id == FieldId::ContentRange && matches!(draft.content, Content::Ranges(_));
        if field.id.bit() & NOT_KEPT != 0 || withheld || moved {
            continue;
        }
        let start = (out.len() + field.name.len() + 2) as u32;
        let span = Span {
            start,
            len: field.value.len() as u32,
        };
        match field.id {
            FieldId::ETag => etag = span,
            FieldId::ContentLanguage => language = span,
            _ => {}
        }
        write_line(out, field.name, field.value);
    }
    if !response.fields.has(FieldId::Date) {
        out.extend_from_slice(b"Date: ");
        forebay_http::date::write(draft.terms.date, out);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
    (etag, language)
}

/// The digits of a status, which is below 1000.
#[inline]
pub fn status_digits(status: u16) -> [u8; 3] {
    [status / 100 % 10, status / 10 % 10, status % 10].map(|digit| b'0' + digit as u8)
}

/// Appends `HTTP/1.1 200 OK\r\n`.
pub fn write_status_line(status: u16, reason: &[u8], out: &mut Vec<u8>) {
    let mut start = *b"HTTP/1.1 000 ";
    start[9..12].copy_from_slice(&status_digits(status));
    out.extend_from_slice(&start);
    out.extend_from_slice(reason);
    out.extend_from_slice(b"\r\n");
}
