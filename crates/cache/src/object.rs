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

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering::Relaxed};

use forebay_config::settings::Policy;
use forebay_http::fields::{FieldId, Fields, write_line};
use forebay_http::framing::HOP_BY_HOP;
use forebay_http::head::HeadLimits;
use forebay_http::{ResponseHead, conditional};

use crate::body::Body;
use crate::budget::{Budget, Charge, allocated};
use crate::codings::Codings;
use crate::purge::{Seen, Subject};
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
    url: Url,
    tags: Box<[u64]>,
    /// What purges did to it.
    pub(crate) seen: Seen,
    /// An unsafe request changed the resource.
    invalid: AtomicBool,
    /// What the file that it was read from is recognised by; `None`: it came from an origin.
    stamp: Option<Box<Stamp>>,
    pub(crate) codings: Codings,
    /// Its body, or the parts of it that are known.
    pub content: Content,
    hits: AtomicU32,
    hot: AtomicU8,
    /// It was stored before, and missed since.
    wanted: AtomicBool,
    /// The disk has it as it is.
    on_disk: AtomicBool,
    charge: Charge,
}

/// What a file is recognised by, in numbers that only those who made them understand.
pub type Stamp = [u64; 6];

/// The host and the target that a response was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Url {
    text: Box<[u8]>,
    host_len: usize,
}

impl Url {
    /// `host` with its port if that is not the usual one, `target` with its query.
    pub fn new(host: &[u8], target: &[u8]) -> Self {
        Self {
            text: [host, target].concat().into(),
            host_len: host.len(),
        }
    }

    /// The host.
    pub fn host(&self) -> &[u8] {
        &self.text[..self.host_len]
    }

    /// Path and query.
    pub fn target(&self) -> &[u8] {
        &self.text[self.host_len..]
    }

    /// Both.
    pub fn text(&self) -> &[u8] {
        &self.text
    }
}

/// Where the body of an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// In memory.
    Memory,
    /// On disk.
    Disk,
    /// Still being fetched.
    Growing,
}

/// What is stored of a body.
#[derive(Clone, Debug)]
pub enum Content {
    /// All of it, or all of it to come.
    Whole(Arc<Body>),
    /// Some ranges of it.
    Ranges(Arc<Ranges>),
    /// A file and its length: it is sent from there, and the object is in no index.
    File(Arc<File>, u64),
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
    /// What was asked for.
    pub url: Url,
    /// Its tags and cache groups, as [`purge::Purges`] numbers them.
    pub tags: Box<[u64]>,
    /// How many purges there had been when it was asked for.
    pub asked: u64,
    /// Names of fields that must not be kept (`private="…"`, `no-cache="…"`), in lower case.
    pub withheld: &'a [Box<str>],
    /// What the file that it was read from is recognised by.
    pub stamp: Option<Stamp>,
    /// Its body.
    pub content: Content,
}

/// A run of the head's bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

impl Span {
    /// The bytes it stands for; `None` for an empty one.
    pub(crate) fn of(self, head: &[u8]) -> Option<&[u8]> {
        let start = self.start as usize;
        (self.len > 0).then(|| &head[start..start + self.len as usize])
    }

    /// Whether it stands for bytes of a head of that length.
    pub(crate) fn is_within(self, head_len: usize) -> bool {
        self.start as usize + self.len as usize <= head_len
    }
}

/// Everything an object is made of, its head in the form it is kept in.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) id: u64,
    pub(crate) hash: u64,
    pub(crate) status: u16,
    pub(crate) head: Box<[u8]>,
    pub(crate) etag: Span,
    pub(crate) language: Span,
    pub(crate) terms: Terms,
    pub(crate) selector: Option<Selector>,
    pub(crate) url: Url,
    pub(crate) tags: Box<[u64]>,
    pub(crate) seen: Seen,
    pub(crate) stamp: Option<Stamp>,
    pub(crate) content: Content,
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
        let parts = Parts {
            id,
            hash,
            status: draft.response.status,
            head,
            etag,
            language,
            terms: draft.terms,
            selector: draft.selector,
            url: draft.url,
            tags: draft.tags,
            seen: Seen::new(draft.asked),
            stamp: draft.stamp,
            content: draft.content,
        };
        Self::of_parts(parts, key_len, budget)
    }

    /// An object that is in no index, for those who only want it delivered.
    pub fn apart(draft: Draft<'_>, budget: &Arc<Budget>) -> Arc<Self> {
        Arc::new(Self::new(draft, 0, 0, 0, budget))
    }

    /// An object of all that it is made of.
    pub(crate) fn of_parts(parts: Parts, key_len: usize, budget: &Arc<Budget>) -> Self {
        let mut charge = Charge::new(budget);
        let selector = parts.selector.as_ref().map_or(0, Selector::heap_bytes);
        charge.set(
            allocated(size_of::<Self>() + 16)
                + allocated(parts.head.len())
                + allocated(key_len)
                + allocated(parts.url.text.len())
                + (selector + parts.tags.len() * size_of::<u64>() + ENTRY_BYTES) as u64,
        );
        Self {
            id: parts.id,
            hash: parts.hash,
            status: parts.status,
            head: parts.head,
            etag: parts.etag,
            language: parts.language,
            terms: parts.terms,
            selector: parts.selector,
            url: parts.url,
            tags: parts.tags,
            seen: parts.seen,
            invalid: AtomicBool::new(false),
            stamp: parts.stamp.map(Box::new),
            codings: Codings::default(),
            content: parts.content,
            hits: AtomicU32::new(0),
            hot: AtomicU8::new(0),
            wanted: AtomicBool::new(false),
            on_disk: AtomicBool::new(false),
            charge,
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

    /// [`Object::head`] with the empty line.
    pub(crate) fn head_with_end(&self) -> &[u8] {
        &self.head
    }

    /// Where its entity tag and its language stand in the head.
    pub(crate) fn spans(&self) -> [Span; 2] {
        [self.etag, self.language]
    }

    /// What selects it among the variants of its key.
    pub(crate) fn selector(&self) -> Option<&Selector> {
        self.selector.as_ref()
    }

    /// The fields of the head one after the other, read without allocating: kind, name, value.
    pub fn fields(&self) -> impl Iterator<Item = (FieldId, &[u8], &[u8])> {
        lines(self.head()).map(|(name, value)| (FieldId::of(name), name, value))
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
        self.etag
            .of(&self.head)
            .filter(|etag| conditional::is_valid_etag(etag))
    }

    /// Its strong entity tag, if it has one.
    pub fn strong_etag(&self) -> Option<&[u8]> {
        self.etag().filter(|etag| !conditional::is_weak(etag))
    }

    /// Its Content-Language.
    pub fn language(&self) -> Option<&[u8]> {
        self.language.of(&self.head)
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
            Content::Ranges(_) | Content::File(..) => None,
        }
    }

    /// What the file that it was read from is recognised by; `None`: it came from an origin.
    #[inline]
    pub fn stamp(&self) -> Option<&Stamp> {
        self.stamp.as_deref()
    }

    /// Where its body is.
    pub fn tier(&self) -> Tier {
        match &self.content {
            Content::Whole(body) if body.whole().is_some() => Tier::Memory,
            Content::Whole(body) if body.is_complete() => Tier::Disk,
            Content::Whole(_) => Tier::Growing,
            Content::Ranges(_) => Tier::Memory,
            Content::File(..) => Tier::Disk,
        }
    }

    /// Bytes of its body, as far as they are stored.
    pub fn body_bytes(&self) -> u64 {
        match &self.content {
            Content::Whole(body) => body.known_len().unwrap_or_else(|| body.memory_bytes()),
            Content::File(_, bytes) => *bytes,
            Content::Ranges(ranges) => {
                let parts = ranges.parts().iter();
                parts.map(|(_, part)| part.len() as u64).sum()
            }
        }
    }

    /// Notes a hit. Two relaxed loads and stores: a hit that two workers count at once may count
    /// as one, which is cheaper than a count they both wait for.
    #[inline]
    pub fn touch(&self) {
        let hits = self.hits.load(Relaxed);
        self.hits.store(hits.wrapping_add(1), Relaxed);
        let hot = self.hot.load(Relaxed);
        if hot < HOTTEST {
            self.hot.store(hot + 1, Relaxed);
        }
    }

    /// How often it was served since it was stored, about.
    pub fn hits(&self) -> u64 {
        u64::from(self.hits.load(Relaxed))
    }

    pub(crate) fn heat(&self) -> u8 {
        self.hot.load(Relaxed)
    }

    pub(crate) fn set_heat(&self, heat: u8) {
        self.hot.store(heat, Relaxed);
    }

    /// What was asked for.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Its tags and cache groups, as the purges number them.
    pub fn tags(&self) -> &[u64] {
        &self.tags
    }

    /// The names of the fields that chose it among the variants of its key.
    pub fn vary(&self) -> impl Iterator<Item = &[u8]> {
        self.selector.iter().flat_map(Selector::names)
    }

    /// The number of this variant among those of its key; 0 when the response does not vary.
    pub(crate) fn variant(&self) -> u32 {
        self.selector.as_ref().map_or(0, Selector::fingerprint)
    }

    /// Whether somebody asked for it again after it was stored.
    pub(crate) fn was_used(&self) -> bool {
        self.hits() > 0 || self.wanted.load(Relaxed)
    }

    pub(crate) fn set_wanted(&self) {
        self.wanted.store(true, Relaxed);
    }

    /// Takes over what is known of an object that it stands in for.
    pub(crate) fn inherit(&self, other: &Self) {
        self.hits.store(other.hits.load(Relaxed), Relaxed);
        self.set_heat(other.heat());
    }

    /// Whether it must be validated before its next use, because something changed the resource.
    #[inline]
    pub fn is_invalid(&self) -> bool {
        self.invalid.load(Relaxed)
    }

    pub(crate) fn invalidate(&self) -> bool {
        !self.invalid.swap(true, Relaxed)
    }

    /// Whether the disk has it as it is.
    pub fn is_on_disk(&self) -> bool {
        self.on_disk.load(Relaxed)
    }

    pub(crate) fn set_on_disk(&self, on_disk: bool) {
        self.on_disk.store(on_disk, Relaxed);
    }

    /// What purges look at.
    pub(crate) fn subject(&self) -> Subject<'_> {
        Subject {
            host: self.url.host(),
            target: self.url.target(),
            status: self.status,
            fields: self,
            key: self.hash,
            tags: &self.tags,
            asked: self.seen.asked(),
            checked: self.seen.checked(),
        }
    }

    /// Bytes that go when it goes.
    pub fn memory_bytes(&self) -> u64 {
        let content = match &self.content {
            Content::Whole(body) => body.memory_bytes(),
            Content::Ranges(ranges) => ranges.memory_bytes(),
            Content::File(..) => 0,
        };
        self.charge.bytes() + content + self.codings.memory_bytes()
    }
}

/// Names and values of a head's field lines, in order.
pub(crate) fn lines(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let lines = head.split(|&byte| byte == b'\n').skip(1);
    lines.filter_map(|line| {
        let colon = line.iter().position(|&byte| byte == b':')?;
        Some((&line[..colon], line[colon + 1..].trim_ascii()))
    })
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
