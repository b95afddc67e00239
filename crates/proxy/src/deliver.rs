//! Deliver: an object to a client, as it asked for it: whole, in part, or not
//! at all because it has it already.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use forebay_cache::Object;
use forebay_cache::body::{Body, Read, Reader, Stored, Whole};
use forebay_cache::object::{Content, write_status_line};
use forebay_http::conditional::{self, Verdict};
use forebay_http::fields::{FieldId, set, write_line};
use forebay_http::{Method, range};
use forebay_stats::Counter;

use crate::client::{Client, Framing};
use crate::exchange::{Exchange, Missing, Step};
use crate::failure::{Failure, OriginFailure, reason_phrase};
use crate::fetch::{end, flush, send};
use crate::message::MOST_SLICES;
use crate::outcome::Part;
use crate::recall::{Unread, read_stored};

/// Fields that make an answer other than the whole object possible.
const SELECTIVE: u64 = set(&[
    FieldId::IfMatch,
    FieldId::IfNoneMatch,
    FieldId::IfModifiedSince,
    FieldId::IfUnmodifiedSince,
    FieldId::Range,
]);

/// How much of a body on disk is read at once.
const DISK_READ_BYTES: u64 = 256 << 10;

/// What lay on disk is of no use: as if it had not been there.
fn lost() -> Step {
    Step::Miss(Missing::nothing("miss"))
}

/// Where the bytes of a range come from.
enum Source {
    Body(Reader),
    Slices(Vec<Bytes>),
    File(Arc<File>),
}

/// What a client gets of an object.
enum Portion {
    Whole,
    /// 304 or 412.
    Nothing(u16),
    One(Range<u64>),
    Many(Vec<Range<u64>>),
    Unsatisfiable,
}

/// What describes a body, and is left out where none is sent (RFC 9110 section 15.4.5).
pub(crate) const OF_THE_BODY: u64 = set(&[
    FieldId::ContentEncoding,
    FieldId::ContentLanguage,
    FieldId::ContentMd5,
    FieldId::ContentRange,
    FieldId::ContentType,
]);

impl<C: Client> Exchange<'_, C> {
    /// Sends what the client asked for of `object`.
    pub(crate) async fn deliver(&mut self, object: &Arc<Object>) -> Result<Step, Failure> {
        let fields = object.fields().map(|(_, name, value)| (name, value));
        self.intercept(object.status(), fields)?;
        let coded = match self.location.codings {
            None => None,
            Some(_) => self.coded(object),
        };
        let object = coded.as_ref().unwrap_or(object);
        let is_head = self.request.head.method == Method::Head;
        if self.request.head.fields.has_any(SELECTIVE) || object.whole().is_none() {
            return match self.portion(object) {
                // Frequent and small: no allocation either.
                Portion::Nothing(status) => {
                    self.deliver_nothing(object, status).await?;
                    Ok(Step::Finish)
                }
                portion => Box::pin(self.deliver_selected(object, portion, is_head)).await,
            };
        }
        let Some(body) = object.whole() else {
            return Ok(Step::Finish);
        };
        match body.whole() {
            Some(whole) => self.deliver_whole(object, whole, is_head).await?,
            None if !is_head && !Box::pin(self.can_begin(object, 0)).await => return Ok(lost()),
            None => Box::pin(self.deliver_growing(object, body, is_head)).await?,
        }
        Ok(Step::Finish)
    }

    /// Whether an answer with the bytes from `at` on can begin: damage that is found when the
    /// head is out can only break it off.
    async fn can_begin(&mut self, object: &Arc<Object>, at: u64) -> bool {
        let on_disk = object.whole().filter(|body| body.is_on_disk());
        let Some(mut probe) = on_disk.and_then(|body| body.reader(at)) else {
            return true;
        };
        let mut none = Vec::new();
        let first = std::future::poll_fn(|cx| probe.poll_read(cx, 1, &mut none)).await;
        let (Read::Stored(mut piece), Some(disk)) = (first, self.worker.cache().disk()) else {
            return true;
        };
        match read_stored(self.worker, disk, piece.split(1), Duration::ZERO).await {
            // A read that others are in the way of may be possible a moment later.
            Ok(_) | Err(Unread::Busy) => true,
            Err(Unread::Broken) => {
                self.lose(object);
                self.outcome.part = Part::None;
                self.outcome.detail = "";
                self.outcome.recalled = false;
                self.outcome.missed = Some(Counter::MissDiskError);
                false
            }
        }
    }

    /// Gives up an object whose body cannot be read.
    fn lose(&self, object: &Arc<Object>) {
        let cache = self.worker.cache();
        if let Some(disk) = cache.disk() {
            disk.note_damage();
        }
        cache.remove_purged(object);
    }

    /// The shortest path: a stored head, a few fields, a complete body.
    async fn deliver_whole(
        &mut self,
        object: &Object,
        whole: &Whole,
        is_head: bool,
    ) -> Result<(), Failure> {
        self.outcome.status = object.status();
        self.client.head().extend_from_slice(object.head());
        self.write_fields(object);
        self.client
            .end_head(framing(object.status(), Some(whole.len())), !is_head);
        let chunks = whole.chunks();
        self.note_first_byte();
        if is_head || chunks.is_empty() {
            return flush(self.client, self.snapshot).await;
        }
        for group in chunks.chunks(MOST_SLICES) {
            let mut slices = [&[][..]; MOST_SLICES];
            for (slice, chunk) in slices.iter_mut().zip(group) {
                *slice = chunk;
            }
            let slices = &slices[..group.len()];
            send(self.client, self.snapshot, slices).await?;
            self.outcome.body_bytes += slices.iter().map(|slice| slice.len() as u64).sum::<u64>();
        }
        Ok(())
    }

    /// A body that is still being fetched or lies on disk, from its first byte.
    async fn deliver_growing(
        &mut self,
        object: &Arc<Object>,
        body: &Arc<Body>,
        is_head: bool,
    ) -> Result<(), Failure> {
        let Some(reader) = body.reader(0) else {
            return Err(OriginFailure::Broken.into());
        };
        self.note_use(object, body);
        self.outcome.status = object.status();
        self.client.head().extend_from_slice(object.head());
        self.write_fields(object);
        self.client
            .end_head(framing(object.status(), body.known_len()), !is_head);
        self.note_first_byte();
        if is_head {
            return flush(self.client, self.snapshot).await;
        }
        self.follow(object, reader, body.known_len()).await
    }

    /// Notes for the disk what it is worth to keep.
    fn note_use(&self, object: &Object, body: &Body) {
        if let Some(disk) = self.worker.cache().disk()
            && body.is_on_disk()
        {
            disk.used(object);
        }
    }

    /// Copies from a reader to the client: `wanted` bytes, or all until the body ends.
    async fn follow(
        &mut self,
        object: &Arc<Object>,
        mut reader: Reader,
        wanted: Option<u64>,
    ) -> Result<(), Failure> {
        let mut left = wanted.unwrap_or(u64::MAX);
        let mut pieces: Vec<Bytes> = Vec::with_capacity(MOST_SLICES);
        while left > 0 {
            pieces.clear();
            let read =
                std::future::poll_fn(|cx| match reader.poll_read(cx, MOST_SLICES, &mut pieces) {
                    Poll::Pending => match self.client.poll_send(cx, &[]) {
                        // While the body makes no progress, the head must not wait for it.
                        Poll::Ready(Err(failure)) => Poll::Ready(Err(failure)),
                        _ if self.client.poll_gone(cx) => Poll::Ready(Err(Failure::ClientGone)),
                        _ => Poll::Pending,
                    },
                    Poll::Ready(read) => Poll::Ready(Ok(read)),
                });
            match read.await? {
                Read::Data => {}
                Read::Stored(piece) => {
                    self.send_stored(object, piece, &mut left).await?;
                    continue;
                }
                // Fewer bytes than were announced: the client must not take it for whole.
                Read::End(_) if wanted.is_some() => {
                    self.client.break_off();
                    return Err(Failure::ClientGone);
                }
                Read::End(trailers) => {
                    return end(self.client, self.snapshot, trailers.as_deref()).await;
                }
                Read::Failed => {
                    self.client.break_off();
                    return Err(Failure::ClientGone);
                }
            }
            let mut slices = [&[][..]; MOST_SLICES];
            for (slice, piece) in slices.iter_mut().zip(&pieces) {
                *slice = &piece[..piece.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
                left -= slice.len() as u64;
                self.outcome.body_bytes += slice.len() as u64;
            }
            send(self.client, self.snapshot, &slices[..pieces.len()]).await?;
        }
        flush(self.client, self.snapshot).await
    }

    /// Reads bytes of a body from disk and sends them, as many as are left to send.
    async fn send_stored(
        &mut self,
        object: &Arc<Object>,
        mut piece: Stored,
        left: &mut u64,
    ) -> Result<(), Failure> {
        let worker = self.worker;
        let patience = self.snapshot.settings.timeouts.send;
        while *left > 0 && !piece.is_empty() {
            let part = piece.split(DISK_READ_BYTES.min(*left));
            let read = match worker.cache().disk() {
                Some(disk) => read_stored(worker, disk, part, patience).await,
                None => Err(Unread::Broken),
            };
            let chunks = match read {
                Ok(chunks) => chunks,
                Err(why) => {
                    // What was sent is only a part: the client must not take it for the whole.
                    if matches!(why, Unread::Broken) {
                        self.lose(object);
                    }
                    self.client.break_off();
                    return Err(Failure::ClientGone);
                }
            };
            for group in chunks.chunks(MOST_SLICES) {
                let mut slices = [&[][..]; MOST_SLICES];
                for (slice, chunk) in slices.iter_mut().zip(group) {
                    *slice = chunk;
                }
                let slices = &slices[..group.len()];
                send(self.client, self.snapshot, slices).await?;
                let sent = slices.iter().map(|slice| slice.len() as u64).sum::<u64>();
                *left -= sent.min(*left);
                self.outcome.body_bytes += sent;
                self.outcome.disk_bytes += sent;
            }
        }
        Ok(())
    }

    /// Preconditions and ranges (RFC 9110 sections 13 and 14).
    async fn deliver_selected(
        &mut self,
        object: &Arc<Object>,
        portion: Portion,
        is_head: bool,
    ) -> Result<Step, Failure> {
        match portion {
            Portion::Whole => match object.whole() {
                Some(body) => match body.whole() {
                    Some(whole) => self.deliver_whole(object, whole, is_head).await?,
                    None if !is_head && !self.can_begin(object, 0).await => return Ok(lost()),
                    None => self.deliver_growing(object, body, is_head).await?,
                },
                None => match &object.content {
                    Content::File(file, length) => {
                        self.deliver_file(object, (file, *length), is_head).await?;
                    }
                    _ => return Err(OriginFailure::Broken.into()),
                },
            },
            Portion::Nothing(status) => self.deliver_nothing(object, status).await?,
            Portion::Unsatisfiable => self.deliver_unsatisfiable(object, is_head).await?,
            Portion::One(range) if !self.can_begin(object, range.start).await => return Ok(lost()),
            Portion::One(range) => self.deliver_range(object, range).await?,
            Portion::Many(ranges) => self.deliver_ranges(object, &ranges).await?,
        }
        Ok(Step::Finish)
    }

    fn portion(&self, object: &Object) -> Portion {
        let fields = &self.request.head.fields;
        let stored = object.validators();
        let verdict = conditional::evaluate(
            fields.all(FieldId::IfMatch),
            fields.all(FieldId::IfNoneMatch),
            fields.get(FieldId::IfUnmodifiedSince),
            fields.get(FieldId::IfModifiedSince),
            true,
            &stored,
        );
        match verdict {
            Verdict::NotModified => return Portion::Nothing(304),
            Verdict::PreconditionFailed => return Portion::Nothing(412),
            Verdict::Proceed => {}
        }
        let (length, partial) = match &object.content {
            Content::Whole(body) => (body.known_len(), false),
            Content::Ranges(ranges) => (Some(ranges.complete_len()), true),
            Content::File(_, length) => (Some(*length), false),
        };
        let is_file = matches!(object.content, Content::File(..));
        let (Some(length), Some(specs)) = (length, self.asked_ranges(object)) else {
            return Portion::Whole;
        };
        let mut ranges = range::resolve(&specs, length);
        match ranges.len() {
            0 => Portion::Unsatisfiable,
            1 => Portion::One(ranges.swap_remove(0)),
            _ if partial => Portion::Whole,
            _ if !is_file && object.whole().is_none_or(|body| !body.is_complete()) => {
                Portion::Whole
            }
            _ => {
                let total: u64 = ranges.iter().map(|range| range.end - range.start).sum();
                if total > length {
                    range::coalesce(&mut ranges);
                }
                if ranges.len() == 1 {
                    Portion::One(ranges.swap_remove(0))
                } else {
                    Portion::Many(ranges)
                }
            }
        }
    }

    /// The ranges that the request asks for and that apply.
    fn asked_ranges(&self, object: &Object) -> Option<Vec<range::RangeSpec>> {
        let fields = &self.request.head.fields;
        if self.request.head.method != Method::Get || !matches!(object.status(), 200 | 206) {
            return None;
        }
        let mut values = fields.all(FieldId::Range);
        let (Some(value), None) = (values.next(), values.next()) else {
            return None;
        };
        let holds = |tag: &[u8]| conditional::if_range_holds(tag, &object.validators());
        if !fields.get(FieldId::IfRange).is_none_or(holds) {
            return None;
        }
        range::parse(value, self.snapshot.settings.limits.ranges)
    }

    /// Whether `object` has parts, and they cover the one range the request asks for.
    pub(crate) fn is_covered(&self, object: &Object) -> bool {
        let Content::Ranges(ranges) = &object.content else {
            return false;
        };
        let Some(specs) = self.asked_ranges(object) else {
            return false;
        };
        match &range::resolve(&specs, ranges.complete_len())[..] {
            [wanted] => ranges.slices_of(wanted).is_some(),
            _ => false,
        }
    }

    async fn deliver_nothing(&mut self, object: &Object, status: u16) -> Result<(), Failure> {
        if status == 304 {
            self.worker.stats.increment(Counter::NotModified);
        }
        self.outcome.status = status;
        self.note_first_byte();
        let out = self.client.head();
        write_status_line(status, reason_phrase(status).as_bytes(), out);
        for (id, name, value) in object.fields() {
            if id.bit() & OF_THE_BODY == 0 {
                write_line(out, name, value);
            }
        }
        self.write_fields(object);
        let framing = if status == 304 {
            Framing::None
        } else {
            Framing::Length(0)
        };
        self.client.end_head(framing, false);
        flush(self.client, self.snapshot).await
    }

    async fn deliver_unsatisfiable(
        &mut self,
        object: &Object,
        is_head: bool,
    ) -> Result<(), Failure> {
        let length = match &object.content {
            Content::Whole(body) => body.known_len().unwrap_or(0),
            Content::Ranges(ranges) => ranges.complete_len(),
            Content::File(_, length) => *length,
        };
        let mut extra = Vec::new();
        let unsatisfied = range::ContentRange {
            range: None,
            complete: Some(length),
        };
        extra.extend_from_slice(b"Content-Range: ");
        unsatisfied.write(&mut extra);
        extra.extend_from_slice(b"\r\n");
        self.outcome.status = 416;
        self.note_first_byte();
        if self.policy.cache_status {
            let ttl = Some(object.terms.ttl_ms(self.now_ms()).max(-(1 << 40)));
            self.outcome
                .write_cache_status(&self.snapshot.settings.server.name, ttl, &mut extra);
        }
        let why = "none of the ranges lies within the object";
        let body = crate::answer::stage(
            self.client,
            self.snapshot,
            self.now_ms(),
            416,
            why,
            &extra,
            is_head,
        );
        send(
            self.client,
            self.snapshot,
            &[if is_head { &[] } else { &body }],
        )
        .await
    }

    async fn deliver_range(
        &mut self,
        object: &Arc<Object>,
        wanted: Range<u64>,
    ) -> Result<(), Failure> {
        let length = wanted.end - wanted.start;
        // What is sent is taken hold of before the head promises it.
        let (complete, source) = match &object.content {
            Content::Whole(body) => (
                body.known_len(),
                body.reader(wanted.start).map(Source::Body),
            ),
            Content::Ranges(ranges) => {
                let slices = ranges.slices_of(&wanted).map(Source::Slices);
                (Some(ranges.complete_len()), slices)
            }
            Content::File(file, length) => (Some(*length), Some(Source::File(Arc::clone(file)))),
        };
        let source = source.ok_or(OriginFailure::Broken)?;
        self.begin_partial(object);
        let content_range = range::ContentRange {
            range: Some((wanted.start, wanted.end - 1)),
            complete,
        };
        let out = self.client.head();
        out.extend_from_slice(b"Content-Range: ");
        content_range.write(out);
        out.extend_from_slice(b"\r\n");
        self.client.end_head(Framing::Length(length), true);
        match source {
            Source::Body(reader) => self.follow(object, reader, Some(length)).await,
            Source::File(file) => self.send_file(&file, wanted).await,
            Source::Slices(slices) => {
                for group in slices.chunks(MOST_SLICES) {
                    let group: Vec<&[u8]> = group.iter().map(|slice| &slice[..]).collect();
                    send(self.client, self.snapshot, &group).await?;
                }
                self.outcome.body_bytes = length;
                Ok(())
            }
        }
    }

    /// Several ranges of a complete body, as multipart/byteranges (RFC 9110 section 14.6).
    async fn deliver_ranges(
        &mut self,
        object: &Arc<Object>,
        ranges: &[Range<u64>],
    ) -> Result<(), Failure> {
        let length = match &object.content {
            Content::Whole(body) => body.known_len(),
            Content::File(_, length) => Some(*length),
            Content::Ranges(_) => None,
        };
        let length = length.ok_or(OriginFailure::Broken)?;
        let boundary = format!("forebay-{:016x}-{length:08x}", object.terms.response_ms);
        let head = object.parsed_head();
        let content_type = head.fields.get(FieldId::ContentType).map(<[u8]>::to_vec);
        let part_heads: Vec<Vec<u8>> = ranges
            .iter()
            .map(|range| part_head(&boundary, content_type.as_deref(), range, length))
            .collect();
        let closing = format!("\r\n--{boundary}--\r\n").into_bytes();
        let parts: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        let syntax: usize = part_heads.iter().map(Vec::len).sum::<usize>() + closing.len();
        self.begin_partial(object);
        let out = self.client.head();
        // The object's own type is that of its parts.
        let at = find_line(out, b"content-type");
        if let Some(line) = at {
            out.drain(line);
        }
        write_line(
            out,
            b"Content-Type",
            format!("multipart/byteranges; boundary={boundary}").as_bytes(),
        );
        self.client
            .end_head(Framing::Length(parts + syntax as u64), true);
        for (range, part_head) in ranges.iter().zip(&part_heads) {
            send(self.client, self.snapshot, &[part_head]).await?;
            match &object.content {
                Content::File(file, _) => self.send_file(file, range.clone()).await?,
                _ => {
                    let body = object.whole().ok_or(OriginFailure::Broken)?;
                    let reader = body.reader(range.start).ok_or(OriginFailure::Broken)?;
                    self.follow(object, reader, Some(range.end - range.start))
                        .await?;
                }
            }
        }
        self.outcome.body_bytes = parts + syntax as u64;
        send(self.client, self.snapshot, &[&closing]).await
    }

    /// Status line and stored fields of a 206.
    fn begin_partial(&mut self, object: &Object) {
        self.worker.stats.increment(Counter::Partial);
        self.outcome.status = 206;
        let stored = object.head();
        let fields = stored
            .windows(2)
            .position(|bytes| bytes == b"\r\n")
            .map_or(0, |at| at + 2);
        let out = self.client.head();
        write_status_line(206, reason_phrase(206).as_bytes(), out);
        out.extend_from_slice(&stored[fields..]);
        self.write_fields(object);
        self.note_first_byte();
    }

    /// The fields that depend on the moment: Age, Via, Cache-Status.
    ///
    /// Of a file only the last: this server is its origin, and no cache before one.
    #[inline]
    pub(crate) fn write_fields(&mut self, object: &Object) {
        let terms = &object.terms;
        let now_ms = self.now_ms();
        let out = self.client.head();
        out.extend_from_slice(&self.extra);
        if self.outcome.varies_by_coding {
            out.extend_from_slice(b"Vary: Accept-Encoding\r\n");
        }
        if object.stamp().is_some() {
            if self.policy.cache_status {
                out.extend_from_slice(
                    &self.snapshot.via_and_status[self.snapshot.via_line.len()..],
                );
                self.outcome.end_cache_status(None, out);
            }
            return;
        }
        let age_ms = terms.age_ms(now_ms);
        if self.outcome.part.is_from_cache() || age_ms >= 1000 {
            out.extend_from_slice(b"Age: ");
            let age = (age_ms / 1000).min(1 << 31);
            out.extend_from_slice(itoa::Buffer::new().format(age).as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        if self.policy.cache_status {
            let ttl = Some(terms.ttl_ms(now_ms).max(-(1 << 40)));
            out.extend_from_slice(&self.snapshot.via_and_status);
            self.outcome.end_cache_status(ttl, out);
        } else {
            out.extend_from_slice(&self.snapshot.via_line);
        }
    }

    /// Microseconds since the request was received.
    pub(crate) fn elapsed_us(&self) -> u64 {
        self.worker.now().us - self.started.us
    }

    /// Notes for the log when the first byte goes out; without one the clock is not read.
    #[inline]
    pub(crate) fn note_first_byte(&mut self) {
        if self.worker.log().enabled() {
            self.outcome.first_byte_us = self.elapsed_us();
        }
    }
}

fn framing(status: u16, length: Option<u64>) -> Framing {
    match (status, length) {
        (204 | 304, _) => Framing::None,
        (_, Some(length)) => Framing::Length(length),
        (_, None) => Framing::Stream,
    }
}

fn part_head(
    boundary: &str,
    content_type: Option<&[u8]>,
    range: &Range<u64>,
    length: u64,
) -> Vec<u8> {
    let mut out = format!("\r\n--{boundary}\r\n").into_bytes();
    if let Some(content_type) = content_type {
        write_line(&mut out, b"Content-Type", content_type);
    }
    out.extend_from_slice(b"Content-Range: ");
    let range = Some((range.start, range.end - 1));
    range::ContentRange {
        range,
        complete: Some(length),
    }
    .write(&mut out);
    out.extend_from_slice(b"\r\n\r\n");
    out
}

/// Where the line of the field with this name (in lower case) lies in a head being written.
pub(crate) fn find_line(head: &[u8], name: &[u8]) -> Option<Range<usize>> {
    let mut start = 0;
    for line in head.split_inclusive(|&byte| byte == b'\n') {
        let is_it = line.len() > name.len()
            && line[..name.len()].eq_ignore_ascii_case(name)
            && line[name.len()] == b':';
        if is_it {
            return Some(start..start + line.len());
        }
        start += line.len();
    }
    None
}
