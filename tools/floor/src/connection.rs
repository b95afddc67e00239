//! One connection: counts the request heads that have arrived and sends as many answers.
//!
//! It lives from accept to the end of the stream. Generic over the stream, so that the tests can split bytes at will.

use std::io::{ErrorKind, IoSlice, Read, Write};

use memchr::memmem;

/// A request head may be this long; a longer one ends the connection.
const HEAD_LIMIT: usize = 64 << 10;

/// The response to every request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) head: Vec<u8>,
    pub(crate) body: Vec<u8>,
}

/// What a connection waits for next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// More of a request.
    Read,
    /// Room to send.
    Write,
    /// Nothing: the stream is over or broken.
    Close,
}

/// A client and how far its requests and answers have got.
#[derive(Debug)]
pub(crate) struct Connection<S> {
    stream: S,
    /// The beginning of a head whose end has not arrived; empty nearly always.
    partial: Vec<u8>,
    /// Answers not sent in full.
    owed: usize,
    /// Bytes of the first of them that are sent.
    sent: usize,
}

impl<S: Read + Write> Connection<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self {
            stream,
            partial: Vec::new(),
            owed: 0,
            sent: 0,
        }
    }

    pub(crate) fn stream(&self) -> &S {
        &self.stream
    }

    /// The stream has bytes: one read, then the answers to the heads that it completes.
    pub(crate) fn readable(&mut self, scratch: &mut [u8], answer: &Answer) -> Next {
        match self.stream.read(scratch) {
            Ok(0) => Next::Close,
            Ok(n) => {
                if !self.take(scratch.get(..n).unwrap_or_default()) {
                    return Next::Close;
                }
                self.writable(answer)
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                Next::Read
            }
            Err(_) => Next::Close,
        }
    }

    /// Sends what is owed, as far as the stream takes it.
    pub(crate) fn writable(&mut self, answer: &Answer) -> Next {
        while self.owed > 0 {
            let head = answer.head.get(self.sent..).unwrap_or_default();
            let body = answer
                .body
                .get(self.sent.saturating_sub(answer.head.len())..)
                .unwrap_or_default();
            match self
                .stream
                .write_vectored(&[IoSlice::new(head), IoSlice::new(body)])
            {
                Ok(0) => return Next::Close,
                Ok(n) => self.sent += n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Next::Write,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Next::Close,
            }
            if self.sent >= answer.head.len() + answer.body.len() {
                self.owed -= 1;
                self.sent = 0;
            }
        }
        Next::Read
    }

    /// Counts the heads that end in `bytes`; false when an unfinished one is too long.
    fn take(&mut self, bytes: &[u8]) -> bool {
        if self.partial.is_empty() {
            let (heads, rest) = count_heads(bytes);
            self.owed += heads;
            self.partial
                .extend_from_slice(bytes.get(rest..).unwrap_or_default());
        } else {
            self.partial.extend_from_slice(bytes);
            let (heads, rest) = count_heads(&self.partial);
            self.owed += heads;
            self.partial.drain(..rest);
        }
        self.partial.len() <= HEAD_LIMIT
    }
}

/// The number of complete heads in `bytes`, and where the unfinished one after them begins.
fn count_heads(bytes: &[u8]) -> (usize, usize) {
    let (mut heads, mut from) = (0, 0);
    while let Some(at) = memmem::find(bytes.get(from..).unwrap_or_default(), b"\r\n\r\n") {
        heads += 1;
        from += at + 4;
    }
    (heads, from)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::collections::VecDeque;
    use std::io;

    /// A stream of scripted reads that takes `room` bytes at each write, and every second write nothing.
    #[derive(Default)]
    struct Script {
        reads: VecDeque<Vec<u8>>,
        written: Vec<u8>,
        room: usize,
        refuse: bool,
    }

    impl Read for Script {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let Some(bytes) = self.reads.pop_front() else {
                return Ok(0);
            };
            buffer[..bytes.len()].copy_from_slice(&bytes);
            Ok(bytes.len())
        }
    }

    impl Write for Script {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.refuse = !self.refuse;
            if !self.refuse {
                return Err(ErrorKind::WouldBlock.into());
            }
            let n = bytes.len().min(self.room);
            self.written.extend_from_slice(&bytes[..n]);
            Ok(n)
        }
        fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
            let all: Vec<u8> = parts.iter().flat_map(|p| p.to_vec()).collect();
            self.write(&all)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn answer() -> Answer {
        Answer {
            head: b"HEAD\r\n\r\n".to_vec(),
            body: b"body".to_vec(),
        }
    }

    /// Feeds `reads` to a connection, lets it send as it can, and returns what it sent.
    fn run(reads: &[&[u8]], room: usize) -> Vec<u8> {
        let reads: VecDeque<_> = reads.iter().map(|r| r.to_vec()).collect();
        let mut connection = Connection::new(Script {
            reads,
            room,
            ..Script::default()
        });
        let mut scratch = [0; 1024];
        loop {
            let mut next = connection.readable(&mut scratch, &answer());
            while next == Next::Write {
                next = connection.writable(&answer());
            }
            if next == Next::Close {
                return connection.stream.written;
            }
        }
    }

    #[test]
    fn any_split_of_pipelined_requests_gets_the_same_answers() {
        let requests = b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n";
        let expected = b"HEAD\r\n\r\nbodyHEAD\r\n\r\nbody";
        for cut in 0..requests.len() {
            let (a, b) = requests.split_at(cut);
            let parts: Vec<&[u8]> = [a, b].into_iter().filter(|p| !p.is_empty()).collect();
            assert_eq!(run(&parts, 1000), expected, "cut at {cut}");
        }
    }

    #[test]
    fn partial_writes_lose_and_repeat_nothing() {
        for room in 1..14 {
            assert_eq!(
                run(&[b"GET / HTTP/1.1\r\n\r\n"], room),
                b"HEAD\r\n\r\nbody",
                "room {room}"
            );
        }
    }

    #[test]
    fn an_endless_head_ends_the_connection() {
        let chunk = [b'a'; 1024];
        let reads = vec![&chunk[..]; 200];
        assert!(run(&reads, 1000).is_empty());
    }
}
