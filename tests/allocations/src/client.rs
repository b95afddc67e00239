//! A client of one keep-alive connection.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

/// One connection.
#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    received: Vec<u8>,
}

/// The head of a response, and how many bytes followed it.
#[derive(Debug)]
pub struct Answer<'a> {
    /// Status line and fields.
    pub head: &'a str,
    /// Of the body.
    pub body_bytes: usize,
}

impl Client {
    /// Connects.
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(crate::DEADLINE)).unwrap();
        Self {
            stream,
            received: Vec::new(),
        }
    }

    /// Sends a request as it is given.
    pub fn send(&mut self, request: &[u8]) {
        self.stream.write_all(request).unwrap();
    }

    /// Reads the answer to the last request, whose body is as long as it says.
    pub fn receive(&mut self) -> Answer<'_> {
        self.read(length)
    }

    /// Reads an answer that announces a body and has none, as HEAD gets it.
    pub fn receive_head(&mut self) -> Answer<'_> {
        self.read(|_| 0)
    }

    /// Gives back the memory of the last answer.
    pub fn forget(&mut self) {
        self.received = Vec::new();
    }

    fn read(&mut self, length: impl Fn(&str) -> usize) -> Answer<'_> {
        self.received.clear();
        let mut buffer = [0; 16 << 10];
        let (mut end, mut whole) = (0, usize::MAX);
        while self.received.len() < whole {
            let read = self.stream.read(&mut buffer).unwrap();
            assert_ne!(read, 0, "the connection stays open");
            self.received.extend_from_slice(&buffer[..read]);
            if end == 0
                && let Some(at) = self
                    .received
                    .windows(4)
                    .position(|four| four == b"\r\n\r\n")
            {
                end = at + 4;
                whole = end + length(text(&self.received[..end]));
            }
        }
        assert_eq!(self.received.len(), whole, "nothing follows the answer");
        Answer {
            head: text(&self.received[..end]),
            body_bytes: whole - end,
        }
    }
}

impl Answer<'_> {
    /// The value of a field, by its name as the server spells it.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// The status.
    pub fn status(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }
}

fn length(head: &str) -> usize {
    let answer = Answer {
        head,
        body_bytes: 0,
    };
    answer
        .field("Content-Length")
        .map_or(0, |length| length.parse().unwrap())
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}
