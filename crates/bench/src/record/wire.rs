//! HTTP/1.1 on a socket that blocks: heads and bodies, read strictly and
//! within limits.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use forebay_http::chunked::{Decoder, Event};
use forebay_http::framing::BodyLength;
use forebay_http::head::{HeadError, HeadLimits};
use forebay_http::{RequestHead, ResponseHead};
use rustls::{ClientConnection, StreamOwned};

/// More than browsers and servers in use send.
const HEADS: HeadLimits = HeadLimits {
    line_bytes: 64 << 10,
    head_bytes: 128 << 10,
    fields: 500,
};
const CHUNK_EXTENSION: usize = 4 << 10;
const TRAILER: usize = 64 << 10;
const READ: usize = 64 << 10;

/// Why a message could not be read or passed on.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The connection.
    Io(io::Error),
    /// The message, with the status that says so to a client.
    Wrong(u16, &'static str),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<HeadError> for Trouble {
    fn from(error: HeadError) -> Self {
        Self::Wrong(error.status(), error.message())
    }
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Wrong(_, why) => f.write_str(why),
        }
    }
}

/// A connection, plain or under TLS.
pub(super) enum Stream {
    /// TCP.
    Plain(TcpStream),
    /// TLS on TCP, to a server.
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}

/// A connection and what was read from it and not yet used.
pub(super) struct Wire {
    stream: Stream,
    buffer: Vec<u8>,
}

impl Wire {
    pub(super) fn new(stream: Stream) -> Self {
        Self {
            stream,
            buffer: Vec::new(),
        }
    }

    /// The socket and the bytes that were read too far, to be used as a tunnel; none under TLS.
    pub(super) fn into_socket(self) -> Option<(TcpStream, Vec<u8>)> {
        match self.stream {
            Stream::Plain(stream) => Some((stream, self.buffer)),
            Stream::Tls(_) => None,
        }
    }

    /// Sends all of it.
    pub(super) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)?;
        self.stream.flush()
    }

    /// The next request; `None` when the client closed the connection between two.
    pub(super) fn request(&mut self) -> Result<Option<RequestHead>, Trouble> {
        let mut head = RequestHead::default();
        loop {
            if let Some(taken) = head.parse(&self.buffer, &HEADS)? {
                self.buffer.drain(..taken);
                return Ok(Some(head));
            }
            if self.more()? == 0 {
                return if self.buffer.is_empty() {
                    Ok(None)
                } else {
                    Err(cut_off())
                };
            }
        }
    }

    /// The next response, without those that only announce one.
    pub(super) fn response(&mut self) -> Result<ResponseHead, Trouble> {
        let mut head = ResponseHead::default();
        loop {
            match head.parse(&self.buffer, &HEADS)? {
                Some(taken) => {
                    self.buffer.drain(..taken);
                    if head.status >= 200 || head.status == 101 {
                        return Ok(head);
                    }
                }
                None if self.more()? == 0 => return Err(cut_off()),
                None => {}
            }
        }
    }

    /// Reads a body to its end and gives each piece to `take`.
    pub(super) fn body(
        &mut self,
        length: BodyLength,
        take: &mut dyn FnMut(&[u8]) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        match length {
            BodyLength::None => Ok(()),
            BodyLength::Length(bytes) => self.counted(bytes, take),
            BodyLength::Chunked => self.chunks(take),
            BodyLength::UntilClose => loop {
                if !self.buffer.is_empty() {
                    take(&self.buffer)?;
                    self.buffer.clear();
                }
                if self.more()? == 0 {
                    return Ok(());
                }
            },
        }
    }

    fn counted(
        &mut self,
        mut left: u64,
        take: &mut dyn FnMut(&[u8]) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        while left > 0 {
            if self.buffer.is_empty() && self.more()? == 0 {
                return Err(cut_off());
            }
            let part = left.min(self.buffer.len() as u64) as usize;
            take(&self.buffer[..part])?;
            self.buffer.drain(..part);
            left -= part as u64;
        }
        Ok(())
    }

    fn chunks(
        &mut self,
        take: &mut dyn FnMut(&[u8]) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        let mut decoder = Decoder::new(CHUNK_EXTENSION, TRAILER);
        let wrong = |_| Trouble::Wrong(400, "a chunk is malformed");
        loop {
            let consumed = match decoder.next(&self.buffer).map_err(wrong)? {
                Event::Data {
                    start,
                    end,
                    consumed,
                } => {
                    take(&self.buffer[start..end])?;
                    consumed
                }
                Event::NeedMore { consumed } => {
                    self.buffer.drain(..consumed);
                    if self.more()? == 0 {
                        return Err(cut_off());
                    }
                    continue;
                }
                Event::End { consumed } => {
                    self.buffer.drain(..consumed);
                    return Ok(());
                }
            };
            self.buffer.drain(..consumed);
        }
    }

    /// Reads once; 0 at the end of the connection.
    fn more(&mut self) -> io::Result<usize> {
        let from = self.buffer.len();
        self.buffer.resize(from + READ, 0);
        let read = loop {
            match self.stream.read(&mut self.buffer[from..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => break done,
            }
        };
        self.buffer.truncate(from + *read.as_ref().unwrap_or(&0));
        read
    }
}

fn cut_off() -> Trouble {
    Trouble::Io(io::Error::new(
        io::ErrorKind::UnexpectedEof,
        "the connection was closed before the message was complete",
    ))
}
