//! Records from the application (FastCGI 1.0 sections 3.3, 4 and 5), taken apart where they lie.

use super::{HEADER_BYTES, REQUEST_ID, VERSION, kind};

/// Takes the streams out of the records of one response. A copy of it can look ahead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decoder {
    stream: Stream,
    /// Bytes that the record under way still has of its stream.
    left: u16,
    /// Bytes of padding behind them.
    padding: u8,
}

/// What a record is a part of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stream {
    #[default]
    Stdout,
    Stderr,
    /// Answers to questions that were not asked.
    Skipped,
}

/// What the bytes at hand are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Bytes of the response; everything up to `end` is to be consumed after use.
    Stdout {
        /// Where they begin.
        start: usize,
        /// Where they end.
        end: usize,
    },
    /// Bytes for the error log; likewise.
    Stderr {
        /// Where they begin.
        start: usize,
        /// Where they end.
        end: usize,
    },
    /// All was syntax: consume so many bytes and read more.
    NeedMore {
        /// Of the bytes given.
        consumed: usize,
    },
    /// The response is complete; consume so many bytes.
    End {
        /// Of the bytes given.
        consumed: usize,
        /// How it ended.
        end: End,
    },
}

/// How a request ended (section 5.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It was worked on; the application's own status is what its `exit` was given.
    Complete {
        /// 0 where all went well.
        app_status: u32,
    },
    /// It was rejected: another one is under way on the connection.
    CannotMultiplex,
    /// It was rejected: the application is short of something.
    Overloaded,
    /// It was rejected: the application does not answer requests.
    UnknownRole,
}

/// What is not FastCGI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordError {
    /// Another version of the protocol, or another protocol.
    Version,
    /// A type of record that no application sends.
    Type,
    /// A record of a request that is not under way.
    RequestId,
    /// An END_REQUEST whose length is not 8, or whose status is none.
    End,
}

impl RecordError {
    /// What is wrong, in words for the log.
    pub fn message(self) -> &'static str {
        match self {
            Self::Version => "what came is not FastCGI 1.0",
            Self::Type => "a FastCGI record of a type that applications do not send",
            Self::RequestId => "a FastCGI record of another request",
            Self::End => "a malformed end of a FastCGI request",
        }
    }
}

impl Decoder {
    /// Looks at bytes that follow those consumed before.
    ///
    /// # Errors
    /// When they are not what an application sends; nothing more can be read then.
    #[inline]
    pub fn next(&mut self, input: &[u8]) -> Result<Event, RecordError> {
        let mut at = 0;
        loop {
            let rest = &input[at..];
            if self.left > 0 {
                let bytes = rest.len().min(usize::from(self.left));
                if bytes == 0 {
                    return Ok(Event::NeedMore { consumed: at });
                }
                self.left -= bytes as u16;
                let (start, end) = (at, at + bytes);
                match self.stream {
                    Stream::Stdout => return Ok(Event::Stdout { start, end }),
                    Stream::Stderr => return Ok(Event::Stderr { start, end }),
                    Stream::Skipped => at = end,
                }
                continue;
            }
            if self.padding > 0 {
                let bytes = rest.len().min(usize::from(self.padding));
                self.padding -= bytes as u8;
                at += bytes;
                if self.padding > 0 {
                    return Ok(Event::NeedMore { consumed: at });
                }
                continue;
            }
            let Some(header) = rest.first_chunk() else {
                return Ok(Event::NeedMore { consumed: at });
            };
            match self.begin_record(header, rest)? {
                Begun::Stream => at += HEADER_BYTES,
                Begun::Partial => return Ok(Event::NeedMore { consumed: at }),
                Begun::End(bytes, end) => {
                    return Ok(Event::End {
                        consumed: at + bytes,
                        end,
                    });
                }
            }
        }
    }

    /// Takes back so many bytes of the last [`Event::Stdout`], which are not consumed after all.
    #[inline]
    pub fn give_back(&mut self, bytes: usize) {
        debug_assert!(bytes <= usize::from(u16::MAX - self.left));
        self.left = self.left.saturating_add(bytes as u16);
    }

    /// Bytes of the response's body, if all that is left of the response lies in `input`.
    pub fn whole_body(&self, input: &[u8]) -> Option<usize> {
        let mut ahead = *self;
        match ahead.next(input).ok()? {
            Event::End { .. } => Some(0),
            Event::Stdout { start, end } => match ahead.next(&input[end..]).ok()? {
                Event::End { .. } => Some(end - start),
                _ => None,
            },
            _ => None,
        }
    }

    #[inline]
    fn begin_record(
        &mut self,
        header: &[u8; HEADER_BYTES],
        record: &[u8],
    ) -> Result<Begun, RecordError> {
        let &[version, kind, id_high, id_low, high, low, padding, _] = header;
        if version != VERSION {
            return Err(RecordError::Version);
        }
        let id = u16::from_be_bytes([id_high, id_low]);
        let bytes = u16::from_be_bytes([high, low]);
        let (stream, expected) = match kind {
            kind::STDOUT => (Stream::Stdout, REQUEST_ID),
            kind::STDERR => (Stream::Stderr, REQUEST_ID),
            kind::END_REQUEST => (Stream::Skipped, REQUEST_ID),
            kind::GET_VALUES_RESULT | kind::UNKNOWN_TYPE => (Stream::Skipped, 0),
            _ => return Err(RecordError::Type),
        };
        if id != expected {
            return Err(RecordError::RequestId);
        }
        if kind == kind::END_REQUEST {
            return end_of_request(record, bytes, padding);
        }
        (self.stream, self.left, self.padding) = (stream, bytes, padding);
        Ok(Begun::Stream)
    }
}

/// What a header begins.
enum Begun {
    Stream,
    /// Not all of it is here.
    Partial,
    /// So many bytes end the response.
    End(usize, End),
}

fn end_of_request(record: &[u8], bytes: u16, padding: u8) -> Result<Begun, RecordError> {
    if bytes != 8 {
        return Err(RecordError::End);
    }
    let all = HEADER_BYTES + 8 + usize::from(padding);
    let Some(&[a, b, c, d, status, ..]) = record.get(HEADER_BYTES..all) else {
        return Ok(Begun::Partial);
    };
    let end = match status {
        0 => End::Complete {
            app_status: u32::from_be_bytes([a, b, c, d]),
        },
        1 => End::CannotMultiplex,
        2 => End::Overloaded,
        3 => End::UnknownRole,
        _ => return Err(RecordError::End),
    };
    Ok(Begun::End(all, end))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "response_tests.rs"]
mod tests;
