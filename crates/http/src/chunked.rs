//! The chunked transfer coding (RFC 9112 section 7.1), read strictly.
//!
//! A decoder lives as long as one message body. It keeps everything that it has
//! seen of an unfinished line itself, so that the caller may hand it any split
//! of the bytes and throw away what was consumed. What two implementations
//! might understand differently is an error, because that is how requests are
//! smuggled: bare LF or CR, sizes of doubtful form, control bytes.

use crate::fields::FieldId;
use crate::head::is_token;

/// The end of a body without trailers.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// Sizes have at most this many digits, leading zeros included: they fit 64
/// bits with room for sums.
const MOST_SIZE_DIGITS: u8 = 15;

/// Trailer fields that would change how the message is understood (RFC 9110
/// section 6.5.1).
const FORBIDDEN_TRAILERS: [&[u8]; 4] =
    [b"transfer-encoding", b"content-length", b"host", b"trailer"];

/// Appends the line that precedes `len` bytes of chunk data: `1a\r\n`. The data
/// must be followed by CRLF; `len` must not be 0, which would end the body.
pub fn write_chunk_head(out: &mut Vec<u8>, len: usize) {
    debug_assert!(len > 0, "a chunk of no bytes ends the body");
    let digits = (usize::BITS - len.leading_zeros()).div_ceil(4).max(1);
    for digit in (0..digits).rev() {
        out.push(b"0123456789abcdef"[len >> (digit * 4) & 15]);
    }
    out.extend_from_slice(b"\r\n");
}

/// What the decoder found at the start of its input. The caller drops
/// `consumed` bytes before it calls again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// `input[start..end]` are bytes of the body; never empty.
    Data {
        /// Offset of the first byte of the body.
        start: usize,
        /// Offset behind the last.
        end: usize,
        /// Bytes to drop; at least `end`.
        consumed: usize,
    },
    /// All of the input was understood, and more must come.
    NeedMore {
        /// Bytes to drop: the whole input.
        consumed: usize,
    },
    /// The body is complete; what follows is not part of it.
    End {
        /// Bytes to drop.
        consumed: usize,
    },
}

/// Why the sender's chunks were refused. After an error the message cannot be
/// read further, and its connection cannot be used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkError {
    /// The size is missing, is not of hexadecimal digits, or has too many.
    Size,
    /// A byte that no chunk extension may have.
    Extension,
    /// The extensions of one chunk are longer than allowed.
    ExtensionTooLong,
    /// A line ends with a bare CR or LF.
    LineEnd,
    /// The data is not followed by CRLF.
    DataEnd,
    /// A trailer line is not a field.
    Trailer,
    /// A trailer field that must not be one.
    ForbiddenTrailer,
    /// The trailer section is longer than allowed.
    TrailerTooLong,
}

impl std::fmt::Display for ChunkError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Size => "a chunk size is malformed",
            Self::Extension => "a chunk extension has a byte that it must not have",
            Self::ExtensionTooLong => "the extensions of a chunk are too long",
            Self::LineEnd => "a line of the chunked coding does not end with CRLF",
            Self::DataEnd => "chunk data is not followed by CRLF",
            Self::Trailer => "a trailer line is not a field",
            Self::ForbiddenTrailer => "a field is not allowed as a trailer",
            Self::TrailerTooLong => "the trailer section is too long",
        })
    }
}

impl std::error::Error for ChunkError {}

/// Decodes one chunked body.
#[derive(Clone, Debug)]
pub struct Decoder {
    state: State,
    /// Size read so far, then bytes of the chunk still to come.
    left: u64,
    /// Digits of the size, then bytes of the extensions, of this chunk.
    digits: u8,
    extension: usize,
    max_extension: usize,
    /// Whole lines, and the one being read from `line` on.
    trailers: Vec<u8>,
    line: usize,
    max_trailer: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Size,
    /// White space between size and `;` (RFC 9112 section 7.1.1); before CR it is refused.
    Padding,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    TrailerStart,
    TrailerName,
    TrailerValue,
    TrailerLf,
    EndLf,
    Ended,
}

impl Decoder {
    /// A decoder at the start of a body that allows `max_extension` bytes of
    /// extensions on each chunk and `max_trailer` bytes of trailer lines.
    pub fn new(max_extension: usize, max_trailer: usize) -> Self {
        Self {
            state: State::Size,
            left: 0,
            digits: 0,
            extension: 0,
            max_extension,
            trailers: Vec::new(),
            line: 0,
            max_trailer,
        }
    }

    /// Reads on. After [`Event::End`] it consumes nothing more.
    pub fn next(&mut self, input: &[u8]) -> Result<Event, ChunkError> {
        let mut at = 0;
        loop {
            match self.state {
                State::Ended => return Ok(Event::End { consumed: at }),
                State::Data if at < input.len() => {
                    let available = (input.len() - at) as u64;
                    let end = at + self.left.min(available) as usize;
                    self.left -= (end - at) as u64;
                    if self.left == 0 {
                        self.state = State::DataCr;
                    }
                    return Ok(Event::Data {
                        start: at,
                        end,
                        consumed: end,
                    });
                }
                _ => {}
            }
            let Some(&b) = input.get(at) else {
                return Ok(Event::NeedMore { consumed: at });
            };
            self.state = self.step(b)?;
            at += 1;
        }
    }

    /// [`Decoder::trailers`] without the fields that mean something to those who forward or
    /// cache: in a trailer section they would pass by every check and rewriting of the head
    /// (RFC 9110 section 6.5.1). Entity tags may stay.
    pub fn forwardable_trailers(&self) -> Vec<u8> {
        let is_plain = |line: &&[u8]| {
            let name = line.split(|&byte| byte == b':').next().unwrap_or_default();
            matches!(
                FieldId::of(name),
                FieldId::Other | FieldId::ETag | FieldId::ContentMd5
            )
        };
        let lines = self.trailers().split_inclusive(|&byte| byte == b'\n');
        lines.filter(is_plain).collect::<Vec<_>>().concat()
    }

    /// The trailer fields, each as sent and checked, `Name: value\r\n`, without
    /// the empty line; complete after [`Event::End`].
    pub fn trailers(&self) -> &[u8] {
        &self.trailers
    }

    /// Takes one byte that is not data; the state that follows.
    fn step(&mut self, b: u8) -> Result<State, ChunkError> {
        match self.state {
            State::Size => self.size(b),
            State::Padding | State::Extension => self.extension(b),
            State::SizeLf => self.size_end(b),
            State::DataCr if b == b'\r' => Ok(State::DataLf),
            State::DataLf if b == b'\n' => Ok(self.start_chunk()),
            State::DataCr | State::DataLf => Err(ChunkError::DataEnd),
            State::TrailerStart if b == b'\r' => Ok(State::EndLf),
            State::EndLf if b == b'\n' => Ok(State::Ended),
            State::EndLf => Err(ChunkError::LineEnd),
            State::TrailerStart | State::TrailerName | State::TrailerValue | State::TrailerLf => {
                self.trailer(b)
            }
            // `next` handles these itself.
            State::Data | State::Ended => Ok(self.state),
        }
    }

    fn start_chunk(&mut self) -> State {
        (self.left, self.digits, self.extension) = (0, 0, 0);
        State::Size
    }

    fn size(&mut self, b: u8) -> Result<State, ChunkError> {
        let digit = match b {
            b'0'..=b'9' => b - b'0',
            b'a'..=b'f' => b - b'a' + 10,
            b'A'..=b'F' => b - b'A' + 10,
            _ if self.digits == 0 => return Err(ChunkError::Size),
            b'\r' => return Ok(State::SizeLf),
            b'\n' => return Err(ChunkError::LineEnd),
            b';' | b' ' | b'\t' => return self.extension(b),
            _ => return Err(ChunkError::Size),
        };
        if self.digits == MOST_SIZE_DIGITS {
            return Err(ChunkError::Size);
        }
        self.digits += 1;
        self.left = self.left << 4 | u64::from(digit);
        Ok(State::Size)
    }

    /// Everything between size and CR counts as extension, also white space.
    fn extension(&mut self, b: u8) -> Result<State, ChunkError> {
        let next = match b {
            b'\r' if self.state == State::Padding => return Err(ChunkError::Size),
            b'\r' => return Ok(State::SizeLf),
            b'\n' => return Err(ChunkError::LineEnd),
            b';' => State::Extension,
            b' ' | b'\t' if self.state != State::Extension => State::Padding,
            _ if self.state == State::Padding => return Err(ChunkError::Size),
            b'\t' | b' '..=b'~' | 0x80.. => State::Extension,
            _ => return Err(ChunkError::Extension),
        };
        if self.extension == self.max_extension {
            return Err(ChunkError::ExtensionTooLong);
        }
        self.extension += 1;
        Ok(next)
    }

    fn size_end(&mut self, b: u8) -> Result<State, ChunkError> {
        match (b, self.left) {
            (b'\n', 0) => Ok(State::TrailerStart),
            (b'\n', _) => Ok(State::Data),
            _ => Err(ChunkError::LineEnd),
        }
    }

    /// One byte of a trailer line, which is kept.
    fn trailer(&mut self, b: u8) -> Result<State, ChunkError> {
        let next = match (self.state, b) {
            (State::TrailerStart | State::TrailerName, _) if is_token(b) => State::TrailerName,
            (State::TrailerName, b':') => self.name_end()?,
            (State::TrailerValue, b'\t' | b' '..=b'~' | 0x80..) => State::TrailerValue,
            (State::TrailerValue, b'\r') => State::TrailerLf,
            (State::TrailerLf, b'\n') => State::TrailerStart,
            (State::TrailerLf, _) | (_, b'\n') => return Err(ChunkError::LineEnd),
            _ => return Err(ChunkError::Trailer),
        };
        if self.trailers.len() == self.max_trailer {
            return Err(ChunkError::TrailerTooLong);
        }
        self.trailers.push(b);
        if next == State::TrailerStart {
            self.line = self.trailers.len();
        }
        Ok(next)
    }

    fn name_end(&self) -> Result<State, ChunkError> {
        let name = &self.trailers[self.line..];
        if FORBIDDEN_TRAILERS
            .iter()
            .any(|forbidden| forbidden.eq_ignore_ascii_case(name))
        {
            return Err(ChunkError::ForbiddenTrailer);
        }
        Ok(State::TrailerValue)
    }
}

#[cfg(test)]
#[path = "chunked_tests.rs"]
mod tests;
