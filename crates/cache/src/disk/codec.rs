//! An object as it is written down: the meta of its record on disk.
//!
//! ```text
//!  version 1 · flags · status · numbers · names · key · URL · head · tags · selector · content
//! ```
//!
//! Integers are little-endian; texts have their length before them. The data of the record is the
//! body, or the known ranges of it one after the other; a large body lies in records of its own
//! (pieces), whose places the meta lists. An empty meta says that nothing is kept under its id any
//! more. What is read here came from a disk: every length is checked, and whatever is not
//! exactly what is written by [`encode`] is refused.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use forebay_store::Place;

use crate::body::Body;
use crate::budget::Budget;
use crate::object::{Content, Object, Parts, Span, Url};
use crate::purge::{Seen, Verdict};
use crate::ranges::Ranges;
use crate::terms::Terms;
use crate::vary::Selector;

const VERSION: u8 = 1;

const ALWAYS_VALIDATE: u8 = 1;
const NEVER_STALE: u8 = 2;
const HAS_LAST_MODIFIED: u8 = 4;
const HAS_SELECTOR: u8 = 8;

const WHOLE: u8 = 0;
const PIECES: u8 = 1;
const RANGES: u8 = 2;

/// Where `checked` stands: behind version, flags, status and nine numbers.
const CHECKED_AT: usize = 4 + 9 * 8;

/// Where the bytes of a large body lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PiecePlace {
    pub(crate) place: Place,
    pub(crate) len: u64,
}

/// How the body is written down.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// All of it is the record's data.
    Whole,
    /// It lies in other records.
    Pieces(Vec<PiecePlace>),
    /// Some ranges of a body of this length: first byte and length of each; they are the data.
    Ranges(u64, Vec<(u64, u64)>),
}

/// Appends the meta of an object to `out`. `pieces` when its body lies in other records.
pub(crate) fn encode(key: &[u8], object: &Object, pieces: &[PiecePlace], out: &mut Vec<u8>) {
    let terms = &object.terms;
    let (checked, verdict) = object.seen.judged();
    let mut flags = 0;
    for (holds, flag) in [
        (terms.always_validate, ALWAYS_VALIDATE),
        (terms.never_stale, NEVER_STALE),
        (terms.last_modified.is_some(), HAS_LAST_MODIFIED),
        (object.selector().is_some(), HAS_SELECTOR),
    ] {
        flags |= if holds { flag } else { 0 };
    }
    out.extend_from_slice(&[VERSION, flags]);
    out.extend_from_slice(&object.status().to_le_bytes());
    for number in [
        terms.response_ms,
        terms.initial_age_ms,
        terms.lifetime_ms,
        terms.grace_ms,
        terms.error_ms,
        terms.keep_ms,
        terms.last_modified.unwrap_or(0),
        terms.date,
        object.seen.asked(),
        checked,
        verdict as u64,
    ] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    for span in object.spans() {
        out.extend_from_slice(&span.start.to_le_bytes());
        out.extend_from_slice(&span.len.to_le_bytes());
    }
    text(key, out);
    text(object.url().host(), out);
    text(object.url().target(), out);
    text(object.head_with_end(), out);
    count(object.tags().len(), out);
    for tag in object.tags() {
        out.extend_from_slice(&tag.to_le_bytes());
    }
    if let Some(selector) = object.selector() {
        count(selector.names().count(), out);
        selector.names().for_each(|name| text(name, out));
        text(selector.values(), out);
    }
    layout(object, pieces, out);
}

fn layout(object: &Object, pieces: &[PiecePlace], out: &mut Vec<u8>) {
    match &object.content {
        Content::Whole(_) if pieces.is_empty() => out.push(WHOLE),
        Content::Whole(_) | Content::File(..) => write_pieces(pieces, out),
        Content::Ranges(ranges) => {
            out.push(RANGES);
            out.extend_from_slice(&ranges.complete_len().to_le_bytes());
            count(ranges.parts().len(), out);
            for (first, bytes) in ranges.parts() {
                out.extend_from_slice(&first.to_le_bytes());
                out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            }
        }
    }
}

/// The meta of a large object whose pieces were moved; `None` when it is not one.
pub(crate) fn with_pieces(meta: &[u8], pieces: &[PiecePlace]) -> Option<Vec<u8>> {
    let Layout::Pieces(old) = decode(meta)?.layout else {
        return None;
    };
    let table = 1 + 4 + old.len() * (Place::ENCODED_BYTES + 8);
    let mut out = meta.get(..meta.len().checked_sub(table)?)?.to_vec();
    write_pieces(pieces, &mut out);
    Some(out)
}

/// The meta of an object that was judged anew.
pub(crate) fn with_verdict(meta: &[u8], checked: u64, verdict: Verdict) -> Option<Vec<u8>> {
    let mut out = meta.to_vec();
    let at = CHECKED_AT..CHECKED_AT + 16;
    let numbers = out.get_mut(at)?;
    numbers[..8].copy_from_slice(&checked.to_le_bytes());
    numbers[8..].copy_from_slice(&(verdict as u64).to_le_bytes());
    Some(out)
}

fn write_pieces(pieces: &[PiecePlace], out: &mut Vec<u8>) {
    out.push(PIECES);
    count(pieces.len(), out);
    for piece in pieces {
        out.extend_from_slice(&piece.place.to_bytes());
        out.extend_from_slice(&piece.len.to_le_bytes());
    }
}

fn count(count: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&(count as u32).to_le_bytes());
}

fn text(text: &[u8], out: &mut Vec<u8>) {
    count(text.len(), out);
    out.extend_from_slice(text);
}

/// A meta that was read.
#[derive(Debug)]
pub(crate) struct Recalled {
    /// The text of the key.
    pub(crate) key: Box<[u8]>,
    status: u16,
    head: Box<[u8]>,
    etag: Span,
    language: Span,
    pub(crate) terms: Terms,
    pub(crate) selector: Option<Selector>,
    pub(crate) url: Url,
    pub(crate) tags: Box<[u64]>,
    pub(crate) seen: Seen,
    pub(crate) layout: Layout,
}

/// Reads a meta; `None` when it is not one.
pub(crate) fn decode(meta: &[u8]) -> Option<Recalled> {
    let mut at = Cursor(meta);
    let [VERSION, flags] = at.array()? else {
        return None;
    };
    let status = u16::from_le_bytes(at.array()?);
    let mut numbers = [0; 11];
    for number in &mut numbers {
        *number = at.u64()?;
    }
    let [
        response_ms,
        initial_age_ms,
        lifetime_ms,
        grace_ms,
        error_ms,
        keep_ms,
        last_modified,
        date,
        asked,
        checked,
        verdict,
    ] = numbers;
    let terms = Terms {
        response_ms,
        initial_age_ms,
        lifetime_ms,
        grace_ms,
        error_ms,
        keep_ms,
        last_modified: (flags & HAS_LAST_MODIFIED != 0).then_some(last_modified),
        date,
        always_validate: flags & ALWAYS_VALIDATE != 0,
        never_stale: flags & NEVER_STALE != 0,
    };
    let (etag, language) = (at.span()?, at.span()?);
    let key = at.text()?.into();
    let url = Url::new(at.text()?, at.text()?);
    let head: Box<[u8]> = at.text()?.into();
    let tags = (0..at.count(8)?).map(|_| at.u64()).collect::<Option<_>>()?;
    let selector = match flags & HAS_SELECTOR {
        0 => None,
        _ => Some(at.selector()?),
    };
    let layout = at.layout()?;
    let verdict = u8::try_from(verdict).ok().and_then(Verdict::of)?;
    let sound = at.0.is_empty()
        && (100..1000).contains(&status)
        && numbers[..6].iter().all(|&ms| ms <= u64::MAX / 2)
        && is_head(&head)
        && [etag, language]
            .iter()
            .all(|span| span.is_within(head.len()));
    sound.then(|| Recalled {
        key,
        status,
        head,
        etag,
        language,
        terms,
        selector,
        url,
        tags,
        seen: Seen::restored(asked, checked, verdict),
        layout,
    })
}

/// A head ends with an empty line and has no other.
fn is_head(head: &[u8]) -> bool {
    head.starts_with(b"HTTP/1.1 ")
        && memchr::memmem::find(head, b"\r\n\r\n") == head.len().checked_sub(4)
}

impl Recalled {
    /// The content, from the data of the record or from `pieces`; `None` when the data is not
    /// what the meta says.
    pub(crate) fn content(
        &self,
        data: Vec<Bytes>,
        pieces: Vec<crate::body::Stored>,
        budget: &Arc<Budget>,
    ) -> Option<Content> {
        match &self.layout {
            Layout::Whole => Some(Content::Whole(Body::in_memory(budget, data))),
            Layout::Pieces(_) => Some(Content::Whole(Body::on_disk(budget, pieces))),
            Layout::Ranges(complete, parts) => {
                let len = data.iter().map(|chunk| chunk.len() as u64).sum::<u64>();
                let sum = parts
                    .iter()
                    .try_fold(0u64, |sum, (_, len)| sum.checked_add(*len))?;
                if sum != len {
                    return None;
                }
                let all = Bytes::from(data.concat());
                let mut at = 0;
                let parts = parts.iter().map(|(first, len)| {
                    let range: Range<usize> = at..at + *len as usize;
                    at = range.end;
                    (*first, all.slice(range))
                });
                Ranges::of_parts(budget, *complete, parts.collect())
                    .map(|ranges| Content::Ranges(Arc::new(ranges)))
            }
        }
    }

    /// The object's parts, with its content.
    pub(crate) fn into_parts(self, id: u64, hash: u64, content: Content) -> Parts {
        Parts {
            id,
            hash,
            status: self.status,
            head: self.head,
            etag: self.etag,
            language: self.language,
            terms: self.terms,
            selector: self.selector,
            url: self.url,
            tags: self.tags,
            seen: self.seen,
            stamp: None,
            content,
        }
    }

    /// The status of the response.
    pub(crate) fn status(&self) -> u16 {
        self.status
    }

    /// Status line and field lines.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Its Content-Language.
    pub(crate) fn language(&self) -> Option<&[u8]> {
        self.language.of(&self.head)
    }
}

/// What is left to read.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn span(&mut self) -> Option<Span> {
        Some(Span {
            start: u32::from_le_bytes(self.array()?),
            len: u32::from_le_bytes(self.array()?),
        })
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let bytes = self.count(1)?;
        self.take(bytes)
    }

    /// A count of things of `each` bytes at least, which is not more than can follow.
    fn count(&mut self, each: usize) -> Option<usize> {
        let count = u32::from_le_bytes(self.array()?) as usize;
        (count.checked_mul(each)? <= self.0.len()).then_some(count)
    }

    fn selector(&mut self) -> Option<Selector> {
        let names = (0..self.count(4)?)
            .map(|_| self.text().map(Box::from))
            .collect::<Option<_>>()?;
        Some(Selector::of_parts(names, self.text()?.into()))
    }

    fn layout(&mut self) -> Option<Layout> {
        match self.array()? {
            [WHOLE] => Some(Layout::Whole),
            [PIECES] => {
                let pieces = (0..self.count(Place::ENCODED_BYTES + 8)?).map(|_| {
                    Some(PiecePlace {
                        place: Place::from_bytes(self.array()?),
                        len: self.u64()?,
                    })
                });
                let pieces = pieces.collect::<Option<Vec<_>>>()?;
                let sum = pieces
                    .iter()
                    .try_fold(0u64, |sum, piece| sum.checked_add(piece.len));
                (!pieces.is_empty() && sum.is_some()).then_some(Layout::Pieces(pieces))
            }
            [RANGES] => {
                let complete = self.u64()?;
                let parts = (0..self.count(16)?)
                    .map(|_| Some((self.u64()?, self.u64()?)))
                    .collect::<Option<_>>()?;
                Some(Layout::Ranges(complete, parts))
            }
            _ => None,
        }
    }
}

/// Whether bytes are a meta that would be believed. For those who look for bytes that it falls over.
#[doc(hidden)]
pub fn is_meta(bytes: &[u8]) -> bool {
    let Some(recalled) = decode(bytes) else {
        return false;
    };
    let budget = Budget::new(1 << 20);
    let data = vec![Bytes::from_static(b"some bytes of a body")];
    let _ = recalled.language();
    let _ = with_pieces(bytes, &[]);
    let _ = recalled.content(data, Vec::new(), &budget);
    true
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::object::Draft;
    use forebay_config::settings::Policy;
    use forebay_http::{Fields, ResponseHead};
    use proptest::prelude::*;

    fn object(vary: &str, etag: &str, body: &[u8], tags: Vec<u64>, times: [u64; 6]) -> Object {
        let budget = Budget::new(1 << 20);
        let mut response = ResponseHead {
            status: 200,
            reason: b"OK".to_vec(),
            ..ResponseHead::default()
        };
        let fields = [
            ("ETag", etag),
            ("Vary", vary),
            ("Content-Language", "de"),
            ("X", "y"),
        ];
        for (name, value) in fields {
            response
                .fields
                .push_named(name.as_bytes(), value.as_bytes());
        }
        let mut request = Fields::new();
        request.push_named(b"Accept", b"text/html");
        let selector = Selector::of(&response.fields, &request, &Policy::default());
        let [
            response_ms,
            initial_age_ms,
            lifetime_ms,
            grace_ms,
            error_ms,
            keep_ms,
        ] = times;
        let draft = Draft {
            response: &response,
            terms: Terms {
                response_ms,
                initial_age_ms,
                lifetime_ms,
                grace_ms,
                error_ms,
                keep_ms,
                last_modified: (keep_ms % 2 == 0).then_some(keep_ms),
                date: 784_111_777,
                always_validate: grace_ms % 2 == 0,
                never_stale: error_ms % 2 == 0,
            },
            selector: selector.unwrap(),
            url: Url::new(b"shop.example", b"/a?b"),
            tags: tags.into(),
            asked: 77,
            withheld: &[],
            stamp: None,
            content: Content::Whole(Body::complete(&budget, &[body])),
        };
        Object::new(draft, 1, 2, 14, &budget)
    }

    fn written(object: &Object, pieces: &[PiecePlace]) -> Vec<u8> {
        let mut meta = Vec::new();
        encode(b"shop.example/a?b", object, pieces, &mut meta);
        meta
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            etag in "\"[a-z]{0,9}\"",
            vary in prop::sample::select(vec!["", "Accept", "Accept, Foo"]),
            tags in prop::collection::vec(any::<u64>(), 0..9),
            times in prop::array::uniform6(0..u64::MAX / 4),
            lens in prop::collection::vec(1..u64::MAX / 64, 0..5),
        ) {
            let object = object(vary, &etag, b"body", tags, times);
            let pieces: Vec<PiecePlace> = lens
                .iter()
                .map(|&len| PiecePlace {
                    place: Place { segment: len, offset: 16, bytes: 48 },
                    len,
                })
                .collect();
            let meta = written(&object, &pieces);
            let read = decode(&meta).unwrap();
            prop_assert_eq!(&*read.key, b"shop.example/a?b");
            prop_assert_eq!((read.status, &read.head[..]), (200, object.head_with_end()));
            prop_assert_eq!(read.terms, object.terms);
            prop_assert_eq!(&read.selector, &object.selector().cloned());
            prop_assert_eq!((&read.url, &read.tags[..]), (object.url(), object.tags()));
            prop_assert_eq!((read.seen.asked(), read.language()), (77, Some(&b"de"[..])));
            let layout = if pieces.is_empty() { Layout::Whole } else { Layout::Pieces(pieces.clone()) };
            prop_assert_eq!(&read.layout, &layout);
            let moved = with_pieces(&meta, &pieces);
            prop_assert_eq!(moved.is_some(), !pieces.is_empty());
            prop_assert!(moved.is_none_or(|moved| moved == meta));
            let judged = with_verdict(&meta, 99, Verdict::Soft).unwrap();
            let judged = decode(&judged).unwrap();
            prop_assert_eq!((judged.seen.checked(), judged.seen.verdict()), (99, Verdict::Soft));
            prop_assert_eq!(&judged.head, &read.head);
        }

        #[test]
        fn damaged_metas_are_refused_or_harmless(
            at in any::<prop::sample::Index>(),
            to in any::<u8>(),
            cut in any::<prop::sample::Index>(),
        ) {
            let object = object("Accept", "\"a\"", b"body", vec![1, 2], [1, 2, 3, 4, 5, 6]);
            let place = Place { segment: 1, offset: 16, bytes: 48 };
            let mut meta = written(&object, &[PiecePlace { place, len: 4 }]);
            prop_assert!(!is_meta(&meta[..cut.index(meta.len())]), "a part is no meta");
            let at = at.index(meta.len());
            meta[at] = to;
            is_meta(&meta);
        }

        #[test]
        fn any_bytes_are_read_without_falling_over(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            is_meta(&bytes);
        }
    }
}
