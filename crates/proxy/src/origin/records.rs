//! A FastCGI response on its way in: its head and body taken out of records where they lie in the
//! read buffer, its complaints to the error log.

use std::ops::Range;
use std::sync::Arc;

use forebay_cgi::fastcgi::{Decoder, End, Event};
use forebay_cgi::head;
use forebay_http::ResponseHead;
use forebay_http::head::{HeadLimits, find_end};

use crate::buffer::Buffer;
use crate::cgi::Complaints;
use crate::failure::OriginFailure;
use crate::message::Piece;

/// Records whose bytes are brought together for one write.
const MOST_TOGETHER: usize = 8;

/// One response.
#[derive(Debug, Default)]
pub(super) struct Records {
    decoder: Decoder,
    /// The start of a head that did not come in one record.
    gathered: Vec<u8>,
    /// How the response ended, once it has.
    ended: Option<End>,
    /// Bytes that the body still has, where that is known.
    left: Option<u64>,
    /// Nobody wants the body, or what is left of it.
    discards: bool,
    /// Bytes behind those given out last that were looked at already.
    passed: usize,
    complaints: Option<Box<Complaints>>,
}

impl Records {
    /// Reads the head. Returns the bytes to consume, and whether it is complete.
    pub(super) fn head(
        &mut self,
        head: &mut ResponseHead,
        input: &[u8],
        limits: &HeadLimits,
        server: &Arc<str>,
    ) -> Result<(usize, bool), OriginFailure> {
        let mut at = 0;
        loop {
            let rest = &input[at..];
            match self.decoder.next(rest)? {
                Event::Stdout { start, end } => {
                    let piece = &rest[start..end];
                    if let Some(unused) = self.head_ends_in(piece, head, limits)? {
                        self.decoder.give_back(unused);
                        return Ok((at + end - unused, true));
                    }
                    at += end;
                }
                Event::Stderr { start, end } => {
                    self.complain(&rest[start..end], server);
                    at += end;
                }
                Event::NeedMore { consumed } => return Ok((at + consumed, false)),
                Event::End { end, .. } => return Err(ended_without_head(end)),
            }
        }
    }

    /// Looks whether the head ends in this piece of the response; returns the bytes behind it.
    fn head_ends_in(
        &mut self,
        piece: &[u8],
        head: &mut ResponseHead,
        limits: &HeadLimits,
    ) -> Result<Option<usize>, OriginFailure> {
        if self.gathered.is_empty() {
            if let Some(taken) = head::parse(head, piece, limits)? {
                return Ok(Some(piece.len() - taken));
            }
            self.gathered.extend_from_slice(piece);
            return Ok(None);
        }
        let before = self.gathered.len();
        self.gathered.extend_from_slice(piece);
        // A head in many pieces is looked at again only where it grew.
        if self.gathered.len() < limits.head_bytes && !find_end(&self.gathered, before) {
            return Ok(None);
        }
        let taken = head::parse(head, &self.gathered, limits)?;
        Ok(taken.map(|taken| {
            let unused = self.gathered.len() - taken;
            self.gathered = Vec::new();
            unused
        }))
    }

    /// Prepares for a body of a length that is `stated`, or for none that anybody wants. Returns
    /// its length if it is known.
    pub(super) fn begin_body(
        &mut self,
        stated: Option<u64>,
        wanted: bool,
        input: &[u8],
    ) -> Option<u64> {
        self.discards = !wanted;
        self.left = match stated {
            Some(bytes) => Some(bytes),
            // Most pages are here by now, and need not be sent in chunks.
            None => self.decoder.whole_body(input).map(|bytes| bytes as u64),
        };
        self.left
    }

    /// Whether nothing more of the body is to come.
    pub(super) fn is_complete(&self) -> bool {
        self.discards || self.left.map_or(self.ended.is_some(), |left| left == 0)
    }

    /// The whole body, if it lies at the start of `input`.
    pub(super) fn body_at_hand<'a>(&self, input: &'a [u8]) -> Option<&'a [u8]> {
        let left = usize::try_from(self.left?).ok()?;
        if left == 0 {
            return Some(&[]);
        }
        let mut ahead = self.decoder;
        match ahead.next(input).ok()? {
            Event::Stdout { start: 0, end } if end >= left => Some(&input[..left]),
            _ => None,
        }
    }

    /// Takes what [`Records::body_at_hand`] returned.
    pub(super) fn take_body_at_hand(&mut self, input: &mut Buffer) {
        let left = self.left.take().unwrap_or_default();
        if left > 0
            && let Ok(Event::Stdout { end, .. }) = self.decoder.next(input.filled())
        {
            let taken = end.min(left as usize);
            self.decoder.give_back(end - taken);
            input.consume(taken);
        }
        self.left = Some(0);
    }

    /// The next bytes of the body. Those that lie in several records are moved together, so that
    /// they leave in one write; in one record nothing is moved.
    pub(super) fn body(
        &mut self,
        input: &mut Buffer,
        server: &Arc<str>,
    ) -> Result<Piece, OriginFailure> {
        input.consume(std::mem::take(&mut self.passed));
        if self.is_complete() {
            return Ok(Piece::End(0));
        }
        let mut found: [Range<usize>; MOST_TOGETHER] = Default::default();
        let mut count = 0;
        let mut at = 0;
        while count < MOST_TOGETHER && !self.is_complete() {
            let rest = &input.filled()[at..];
            match self.decoder.next(rest)? {
                Event::Stdout { start, end } => {
                    let wanted = self.take((end - start) as u64);
                    found[count] = at + start..at + start + wanted;
                    count += 1;
                    at += end;
                }
                Event::Stderr { start, end } => {
                    self.complain(&rest[start..end], server);
                    at += end;
                }
                Event::NeedMore { consumed } => {
                    at += consumed;
                    break;
                }
                Event::End { consumed, end } => {
                    at += consumed;
                    self.ended = Some(end);
                    if self.left.is_some_and(|left| left > 0) {
                        return Err(OriginFailure::Broken);
                    }
                }
            }
        }
        if count == 0 && self.is_complete() {
            return Ok(Piece::End(at));
        }
        if count == 0 {
            return Ok(Piece::Starved(at));
        }
        let together = bring_together(input.filled_mut(), &found[..count]);
        self.passed = at - together.end;
        Ok(Piece::Data(together))
    }

    /// How many of so many bytes belong to the body.
    fn take(&mut self, bytes: u64) -> usize {
        let Some(left) = &mut self.left else {
            return bytes as usize;
        };
        let taken = bytes.min(*left);
        *left -= taken;
        taken as usize
    }

    /// Drops what is left of the response, as far as it is here. Returns whether it has ended.
    pub(super) fn finish(
        &mut self,
        input: &mut Buffer,
        server: &Arc<str>,
    ) -> Result<bool, OriginFailure> {
        input.consume(std::mem::take(&mut self.passed));
        while self.ended.is_none() {
            let rest = input.filled();
            let taken = match self.decoder.next(rest)? {
                Event::Stdout { end, .. } => end,
                Event::Stderr { start, end } => {
                    self.complain(&rest[start..end], server);
                    end
                }
                Event::NeedMore { consumed } => {
                    input.consume(consumed);
                    return Ok(false);
                }
                Event::End { consumed, end } => {
                    self.ended = Some(end);
                    consumed
                }
            };
            input.consume(taken);
        }
        Ok(true)
    }

    fn complain(&mut self, bytes: &[u8], server: &Arc<str>) {
        self.complaints
            .get_or_insert_with(|| Box::new(Complaints::new(server)))
            .add(bytes);
    }
}

/// Who rejects a request has not worked on it; who ends without a word has failed.
fn ended_without_head(end: End) -> OriginFailure {
    match end {
        End::Overloaded => OriginFailure::Overloaded,
        End::Complete { .. } => OriginFailure::Invalid("the application ended without an answer"),
        End::CannotMultiplex => {
            OriginFailure::Invalid("the application takes one request at a time")
        }
        End::UnknownRole => OriginFailure::Invalid("the application does not answer requests"),
    }
}

/// Moves ranges that follow each other up to the last of them; returns where all are.
fn bring_together(bytes: &mut [u8], ranges: &[Range<usize>]) -> Range<usize> {
    let Some((last, before)) = ranges.split_last() else {
        return 0..0;
    };
    let mut start = last.start;
    for range in before.iter().rev() {
        start -= range.len();
        bytes.copy_within(range.clone(), start);
    }
    start..last.end
}

#[cfg(test)]
#[path = "records_tests.rs"]
mod tests;
