//! Bodies on an HTTP/1 connection, either way: [`Incoming`] takes them out of
//! what was read, [`Outgoing`] frames what is written.

use std::io::{self, IoSlice};
use std::ops::Range;
use std::task::{Context, Poll, ready};

use forebay_cgi::fastcgi::{MOST_STDIN_BYTES, write_stdin_head};
use forebay_http::chunked::{self, ChunkError, Decoder, Event};
use forebay_http::framing::BodyLength;
use forebay_stream::Stream;

/// What is still to come of a body.
#[derive(Debug)]
pub(crate) struct Incoming {
    left: Left,
    trailers: Option<Box<[u8]>>,
}

#[derive(Debug)]
enum Left {
    Bytes(u64),
    Chunks(Box<Decoder>),
    UntilClose,
    Nothing,
}

/// What the bytes at hand are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Bytes of the body; everything up to the end of the range is to be consumed after use.
    Data(Range<usize>),
    /// All was syntax: consume so many bytes and read more.
    Starved(usize),
    /// The body is complete; consume so many bytes.
    End(usize),
}

impl Incoming {
    pub(crate) fn new(length: BodyLength, max_extension: usize, max_trailer: usize) -> Self {
        let left = match length {
            BodyLength::None => Left::Nothing,
            BodyLength::Length(bytes) => Left::Bytes(bytes),
            BodyLength::Chunked => Left::Chunks(Box::new(Decoder::new(max_extension, max_trailer))),
            BodyLength::UntilClose => Left::UntilClose,
        };
        Self {
            left,
            trailers: None,
        }
    }

    pub(crate) const fn none() -> Self {
        Self {
            left: Left::Nothing,
            trailers: None,
        }
    }

    /// Whether nothing more is to come.
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self.left, Left::Nothing | Left::Bytes(0))
    }

    /// Whether the end of the connection is the end of the body.
    pub(crate) fn ends_with_connection(&self) -> bool {
        matches!(self.left, Left::UntilClose)
    }

    /// How many bytes are to come, where that is known.
    pub(crate) fn known_left(&self) -> Option<u64> {
        match &self.left {
            Left::Bytes(bytes) => Some(*bytes),
            Left::Nothing => Some(0),
            Left::Chunks(_) | Left::UntilClose => None,
        }
    }

    /// The trailer lines, once complete.
    pub(crate) fn trailers(&self) -> Option<&[u8]> {
        self.trailers.as_deref()
    }

    pub(crate) fn next(&mut self, filled: &[u8]) -> Result<Piece, ChunkError> {
        match &mut self.left {
            Left::Nothing | Left::Bytes(0) => Ok(Piece::End(0)),
            _ if filled.is_empty() => Ok(Piece::Starved(0)),
            Left::Bytes(left) => {
                let take = (*left).min(filled.len() as u64);
                *left -= take;
                Ok(Piece::Data(0..take as usize))
            }
            Left::UntilClose => Ok(Piece::Data(0..filled.len())),
            Left::Chunks(decoder) => match decoder.next(filled)? {
                Event::Data { start, end, .. } => Ok(Piece::Data(start..end)),
                Event::NeedMore { consumed } => Ok(Piece::Starved(consumed)),
                Event::End { consumed } => {
                    let trailers = decoder.forwardable_trailers();
                    self.trailers = (!trailers.is_empty()).then(|| trailers.into());
                    self.left = Left::Nothing;
                    Ok(Piece::End(consumed))
                }
            },
        }
    }
}

/// How a body that is written is taken apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Frame {
    /// As it is.
    #[default]
    Plain,
    /// In chunks (RFC 9112 section 7.1).
    Chunks,
    /// In records of FastCGI's STDIN.
    Records,
}

/// What is being written: bytes staged, then the slices given, framed if asked.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    staged: Vec<u8>,
    /// How much of what is staged has been written.
    staged_at: usize,
    /// How much of the slices given has been written.
    sent: usize,
    frame: Frame,
    /// The head of the chunk or record of the slices given is staged.
    opened: bool,
    /// Bytes written since the start.
    pub(crate) total: u64,
}

/// A body of at most so many bytes is copied behind its head.
const COPIED_BYTES: usize = 8 << 10;

/// Slices written by one call; more would only make the kernel's work longer.
pub(crate) const MOST_SLICES: usize = 16;

impl Outgoing {
    pub(crate) fn new(staged: Vec<u8>) -> Self {
        Self {
            staged,
            ..Self::default()
        }
    }

    /// Where a head is put before the first byte of the body.
    pub(crate) fn stage(&mut self) -> &mut Vec<u8> {
        &mut self.staged
    }

    /// What is staged, where it may as well be sent as a part of the body.
    pub(crate) fn unsent_head(&mut self) -> Option<&mut Vec<u8>> {
        let is_apart =
            self.frame != Frame::Plain || self.staged.is_empty() || self.staged_at + self.sent > 0;
        (!is_apart).then_some(&mut self.staged)
    }

    /// From here on the body is written in chunks, or as it is.
    pub(crate) fn frame(&mut self, chunked: bool) {
        self.frame = if chunked { Frame::Chunks } else { Frame::Plain };
        self.opened = false;
    }

    /// From here on the body is written in records of FastCGI, of which each takes at most
    /// [`MOST_STDIN_BYTES`].
    pub(crate) fn frame_records(&mut self) {
        self.frame = Frame::Records;
        self.opened = false;
    }

    /// Bytes of the body that one call may be given.
    pub(crate) fn most_at_once(&self) -> usize {
        match self.frame {
            Frame::Plain | Frame::Chunks => usize::MAX,
            Frame::Records => MOST_STDIN_BYTES,
        }
    }

    /// Whether everything staged is written.
    pub(crate) fn is_flushed(&self) -> bool {
        self.staged_at == self.staged.len()
    }

    /// Gives up the buffer; nothing may be left in it.
    pub(crate) fn into_buffer(mut self) -> Vec<u8> {
        self.staged.clear();
        self.staged
    }

    /// Writes all of `data`, at most [`MOST_SLICES`] slices. Called again with
    /// the same slices until it is ready.
    pub(crate) fn poll_send(
        &mut self,
        stream: &mut Stream,
        cx: &mut Context<'_>,
        data: &[&[u8]],
    ) -> Poll<io::Result<()>> {
        let bytes: usize = data.iter().map(|slice| slice.len()).sum();
        if self.frame != Frame::Plain && !self.opened && bytes > 0 {
            match self.frame {
                Frame::Records => write_stdin_head(&mut self.staged, bytes),
                _ => chunked::write_chunk_head(&mut self.staged, bytes),
            }
            self.opened = true;
        }
        if self.sent == 0 && self.staged_at == 0 && !self.staged.is_empty() && bytes <= COPIED_BYTES
        {
            // One short buffer costs the kernel less than two, by more than the copy costs here.
            data.iter()
                .for_each(|slice| self.staged.extend_from_slice(slice));
            self.sent = bytes;
        }
        while !self.is_flushed() || self.sent < bytes {
            let mut slices = [IoSlice::new(&[]); MOST_SLICES + 1];
            let count = self.gather(data, &mut slices);
            let written = match stream.poll_write(cx, &slices[..count]) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(written)) => written,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            };
            let of_staged = written.min(self.staged.len() - self.staged_at);
            self.staged_at += of_staged;
            self.sent += written - of_staged;
            self.total += written as u64;
        }
        ready!(stream.poll_flush(cx))?;
        self.staged.clear();
        (self.staged_at, self.sent) = (0, 0);
        if self.opened {
            if self.frame == Frame::Chunks {
                self.staged.extend_from_slice(b"\r\n");
            }
            self.opened = false;
        }
        Poll::Ready(Ok(()))
    }

    /// Ends the body and writes what is still staged.
    pub(crate) fn poll_end(
        &mut self,
        stream: &mut Stream,
        cx: &mut Context<'_>,
        trailers: Option<&[u8]>,
    ) -> Poll<io::Result<()>> {
        match std::mem::take(&mut self.frame) {
            Frame::Plain => {}
            Frame::Chunks => {
                self.staged.extend_from_slice(b"0\r\n");
                self.staged.extend_from_slice(trailers.unwrap_or_default());
                self.staged.extend_from_slice(b"\r\n");
            }
            Frame::Records => write_stdin_head(&mut self.staged, 0),
        }
        self.poll_send(stream, cx, &[])
    }

    #[inline]
    fn gather<'a>(&'a self, data: &[&'a [u8]], slices: &mut [IoSlice<'a>]) -> usize {
        let mut count = 0;
        if !self.is_flushed() {
            slices[0] = IoSlice::new(&self.staged[self.staged_at..]);
            count = 1;
        }
        let mut skip = self.sent;
        for slice in data {
            if skip >= slice.len() {
                skip -= slice.len();
                continue;
            }
            slices[count] = IoSlice::new(&slice[skip..]);
            skip = 0;
            count += 1;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_a_counted_body_end_where_it_ends() {
        let mut body = Incoming::new(BodyLength::Length(5), 0, 0);
        assert_eq!(body.next(b""), Ok(Piece::Starved(0)));
        assert_eq!(body.next(b"abc"), Ok(Piece::Data(0..3)));
        assert!(!body.is_complete());
        assert_eq!(body.next(b"deGET /"), Ok(Piece::Data(0..2)));
        assert!(body.is_complete());
        assert_eq!(body.next(b"GET /"), Ok(Piece::End(0)));
    }

    #[test]
    fn chunks_are_taken_out_with_their_trailers() {
        let mut body = Incoming::new(BodyLength::Chunked, 10, 100);
        let mut rest = &b"3\r\nabc\r\n0\r\nA: b\r\n\r\nnext"[..];
        let mut text = Vec::new();
        loop {
            match body.next(rest) {
                Ok(Piece::Data(range)) => {
                    text.extend_from_slice(&rest[range.clone()]);
                    rest = &rest[range.end..];
                }
                Ok(Piece::End(consumed)) => {
                    rest = &rest[consumed..];
                    break;
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!((&text[..], rest), (&b"abc"[..], &b"next"[..]));
        assert_eq!(body.trailers(), Some(&b"A: b\r\n"[..]));
    }
}
