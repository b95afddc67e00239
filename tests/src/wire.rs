//! One direction of a connection, read message by message.

use std::io::{ErrorKind, Read};
use std::sync::Arc;

use crate::head::{self, Fields, Framing, Head};
use crate::stream::Stream;

/// Why a message could not be read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The peer closed (FIN).
    Closed,
    /// The peer reset the connection (RST).
    Reset,
    /// Nothing came before the deadline.
    Silent,
    /// What came is not HTTP/1.1 as RFC 9112 defines it.
    Malformed(String),
}

/// A buffered reader that remembers what was taken from it.
#[derive(Debug)]
pub struct Wire {
    stream: Arc<Stream>,
    buffer: Vec<u8>,
    taken: Vec<u8>,
}

impl Wire {
    /// Reads from `stream`.
    pub fn new(stream: Arc<Stream>) -> Self {
        Self {
            stream,
            buffer: Vec::new(),
            taken: Vec::new(),
        }
    }

    /// Bytes that arrived and were not read as part of a message.
    pub fn left(&self) -> &[u8] {
        &self.buffer
    }

    /// The exact bytes of the messages read since the last call.
    pub fn take_record(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.taken)
    }

    /// Waits for more bytes.
    pub fn fill(&mut self) -> Result<(), Broken> {
        let mut piece = [0; 65536];
        loop {
            return match (&*self.stream).read(&mut piece) {
                Ok(0) => Err(Broken::Closed),
                Ok(n) => {
                    self.buffer.extend_from_slice(&piece[..n]);
                    Ok(())
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    Err(Broken::Silent)
                }
                Err(_) => Err(Broken::Reset),
            };
        }
    }

    /// Takes the first `count` bytes of the buffer.
    pub fn take(&mut self, count: usize) -> Vec<u8> {
        let bytes: Vec<u8> = self.buffer.drain(..count).collect();
        self.taken.extend_from_slice(&bytes);
        bytes
    }

    /// One line, without its CRLF; a bare LF is an error.
    pub fn line(&mut self) -> Result<Vec<u8>, Broken> {
        let mut searched = 0;
        loop {
            if let Some(at) = self.buffer[searched..].iter().position(|b| *b == b'\n') {
                let mut line = self.take(searched + at + 1);
                line.pop();
                if line.pop() != Some(b'\r') {
                    return Err(Broken::Malformed(format!(
                        "bare LF after {:?}",
                        head::latin1(&line)
                    )));
                }
                return Ok(line);
            }
            searched = self.buffer.len();
            self.fill()?;
        }
    }

    fn lines(&mut self) -> Result<Vec<Vec<u8>>, Broken> {
        let mut lines = Vec::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                return Ok(lines);
            }
            lines.push(line);
        }
    }

    /// A whole head.
    pub fn head(&mut self) -> Result<Head, Broken> {
        head::parse(&self.lines()?).map_err(Broken::Malformed)
    }

    /// The next bytes of a body, as they arrive; `None` at its end, with the
    /// trailer fields put into `trailers`.
    pub fn piece(
        &mut self,
        framing: &mut Framing,
        trailers: &mut Fields,
    ) -> Result<Option<Vec<u8>>, Broken> {
        match framing {
            Framing::Empty | Framing::Length(0) => Ok(None),
            Framing::Close => self.piece_until_close(),
            Framing::Length(left) => {
                let piece = self.some(*left)?;
                *left -= piece.len() as u64;
                Ok(Some(piece))
            }
            Framing::Chunked(left) => {
                if *left == 0 {
                    *left = self.chunk_size()?;
                }
                if *left == 0 {
                    *trailers = head::parse_fields(&self.lines()?).map_err(Broken::Malformed)?;
                    *framing = Framing::Empty;
                    return Ok(None);
                }
                let piece = self.some(*left)?;
                *left -= piece.len() as u64;
                if *left == 0 && !self.line()?.is_empty() {
                    return Err(Broken::Malformed("no CRLF after a chunk".into()));
                }
                Ok(Some(piece))
            }
        }
    }

    fn piece_until_close(&mut self) -> Result<Option<Vec<u8>>, Broken> {
        if self.buffer.is_empty() {
            match self.fill() {
                Err(Broken::Closed) => return Ok(None),
                other => other?,
            }
        }
        Ok(Some(self.take(self.buffer.len())))
    }

    fn some(&mut self, most: u64) -> Result<Vec<u8>, Broken> {
        if self.buffer.is_empty() {
            self.fill()?;
        }
        let count = usize::try_from(most)
            .unwrap_or(usize::MAX)
            .min(self.buffer.len());
        Ok(self.take(count))
    }

    fn chunk_size(&mut self) -> Result<u64, Broken> {
        let line = self.line()?;
        let digits = line.split(|b| *b == b';').next().unwrap_or(&[]);
        let text = head::latin1(digits);
        if !text.is_empty()
            && text.bytes().all(|b| b.is_ascii_hexdigit())
            && let Ok(size) = u64::from_str_radix(&text, 16)
        {
            return Ok(size);
        }
        Err(Broken::Malformed(format!(
            "chunk size {:?}",
            head::latin1(&line)
        )))
    }

    /// The rest of a body.
    pub fn body(
        &mut self,
        framing: &mut Framing,
        trailers: &mut Fields,
        body: &mut Vec<u8>,
    ) -> Result<(), Broken> {
        while let Some(piece) = self.piece(framing, trailers)? {
            body.extend_from_slice(&piece);
        }
        Ok(())
    }
}
