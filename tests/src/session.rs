//! A client of a session store, in memcached's text protocol.

use std::io::{Read, Write};

use crate::stream::{Address, Stream};

/// One connection to a store.
#[derive(Debug)]
pub struct SessionClient {
    stream: Stream,
    input: Vec<u8>,
}

impl SessionClient {
    /// Connects.
    ///
    /// # Panics
    /// When nobody listens there.
    #[track_caller]
    pub fn connect(address: &Address) -> Self {
        Self {
            stream: Stream::connect(address).unwrap(),
            input: Vec::new(),
        }
    }

    /// Sends bytes as they are.
    pub fn send(&mut self, bytes: &[u8]) {
        (&self.stream).write_all(bytes).unwrap();
    }

    /// Reads what comes until it ends so; `None`: the connection ended before.
    pub fn read_until(&mut self, end: &str) -> Option<String> {
        let mut piece = [0; 64 << 10];
        loop {
            let is_end = |at: &usize| self.input[*at..].starts_with(end.as_bytes());
            if let Some(at) = (0..self.input.len()).find(is_end) {
                let rest = self.input.split_off(at + end.len());
                let taken = std::mem::replace(&mut self.input, rest);
                return Some(String::from_utf8_lossy(&taken).into_owned());
            }
            match (&self.stream).read(&mut piece) {
                Ok(0) => return None,
                Ok(count) => self.input.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("{error}; read so far: {:?}", self.input),
            }
        }
    }

    /// Reads so many bytes, of a protocol without lines.
    ///
    /// # Panics
    /// When the connection ends before.
    #[track_caller]
    pub fn read_bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.input);
        while bytes.len() < count {
            let mut piece = [0; 4096];
            let read = (&self.stream).read(&mut piece).unwrap();
            assert!(read > 0, "the connection ended behind {bytes:?}");
            bytes.extend_from_slice(&piece[..read]);
        }
        self.input = bytes.split_off(count);
        bytes
    }

    /// Sends a command of one line and reads the one line of its answer.
    #[track_caller]
    pub fn ask(&mut self, line: &str) -> String {
        self.send(format!("{line}\r\n").as_bytes());
        let answer = self.read_until("\r\n").expect("an answer");
        answer.trim_end().to_owned()
    }

    /// Stores a value that ends at `expires` (as the protocol has it); says the answer.
    #[track_caller]
    pub fn set(&mut self, key: &str, value: &str, expires: i64) -> String {
        self.ask(&format!("set {key} 0 {expires} {}\r\n{value}", value.len()))
    }

    /// The value of a key.
    #[track_caller]
    pub fn get(&mut self, key: &str) -> Option<String> {
        self.send(format!("get {key}\r\n").as_bytes());
        let head = self.read_until("\r\n").expect("an answer");
        if head == "END\r\n" {
            return None;
        }
        let length: usize = head.split_whitespace().nth(3).unwrap().parse().unwrap();
        let body = self.read_until("\r\nEND\r\n").expect("a value");
        assert_eq!(body.len(), length + 7, "{head}");
        Some(body[..length].to_owned())
    }

    /// A row of `stats`.
    #[track_caller]
    pub fn stat(&mut self, name: &str) -> u64 {
        self.send(b"stats\r\n");
        let rows = self.read_until("END\r\n").unwrap();
        let row = rows.lines().find_map(|row| {
            let (own, value) = row.strip_prefix("STAT ")?.split_once(' ')?;
            (own == name).then(|| value.to_owned())
        });
        row.and_then(|value| value.parse().ok())
            .unwrap_or_else(|| panic!("no {name} in {rows}"))
    }

    /// Whether the other side ends the connection without another word.
    pub fn is_ended(&mut self) -> bool {
        self.read_until("\n").is_none()
    }
}
