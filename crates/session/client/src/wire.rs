//! A connection with its buffers: requests are gathered and sent together, answers are read by
//! lines and by lengths.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::address::{Address, Target};
use crate::error::Error;

/// The longest line that is taken from a store, in bytes.
const LINE_MOST: usize = 16 << 10;

/// How much is asked of the socket at a time.
const READ_BYTES: usize = 64 << 10;

/// A value grows by so much at a time, as it arrives: an announced length costs nothing.
const STEP_BYTES: usize = 1 << 20;

trait Socket: Read + Write + Send {}
impl<S: Read + Write + Send> Socket for S {}

/// A connection to a store.
pub(crate) struct Wire {
    socket: Box<dyn Socket>,
    address: String,
    input: Vec<u8>,
    /// `input[start..end]` was read from the socket and not taken yet.
    start: usize,
    end: usize,
    /// Requests that were not sent yet.
    pub(crate) output: Vec<u8>,
}

impl Wire {
    /// # Errors
    /// When no connection comes about.
    pub(crate) fn connect(target: &Target) -> Result<Self, Error> {
        let address = target.address.to_string();
        let socket = match open(target) {
            Ok(socket) => socket,
            Err(error) => return Err(Error::Unreachable { address, error }),
        };
        Ok(Self::over(socket, address))
    }

    fn over(socket: Box<dyn Socket>, address: String) -> Self {
        Self {
            socket,
            address,
            input: vec![0; READ_BYTES],
            start: 0,
            end: 0,
            output: Vec::new(),
        }
    }

    pub(crate) fn lost(&self, error: io::Error) -> Error {
        Error::Lost {
            address: self.address.clone(),
            error,
        }
    }

    pub(crate) fn refused(&self, words: &[u8]) -> Error {
        Error::Refused {
            address: self.address.clone(),
            words: printable(words),
        }
    }

    pub(crate) fn strange(&self, expected: &str, got: &[u8]) -> Error {
        let got = got.get(..got.len().min(60)).unwrap_or_default();
        Error::Strange {
            address: self.address.clone(),
            words: format!("expected {expected}, got `{}`", printable(got)),
        }
    }

    /// Sends what was gathered.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        let sent = self.socket.write_all(&self.output);
        let sent = sent.and_then(|()| self.socket.flush());
        self.output.clear();
        sent.map_err(|error| self.lost(error))
    }

    /// Sends what was gathered, and then `bytes` from where they lie.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.flush()?;
        let sent = self.socket.write_all(bytes);
        let sent = sent.and_then(|()| self.socket.flush());
        sent.map_err(|error| self.lost(error))
    }

    /// Reads once; what was taken gives its room back.
    fn fill(&mut self) -> Result<(), Error> {
        self.input.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let room = self.input.get_mut(self.end..).unwrap_or_default();
        loop {
            match self.socket.read(room) {
                Ok(0) => return Err(self.lost(ErrorKind::UnexpectedEof.into())),
                Ok(bytes) => {
                    self.end += bytes;
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.lost(error)),
            }
        }
    }

    fn waiting(&self) -> &[u8] {
        self.input.get(self.start..self.end).unwrap_or_default()
    }

    /// The next line, without its end.
    pub(crate) fn line(&mut self) -> Result<&[u8], Error> {
        let bytes = loop {
            if let Some(bytes) = memchr::memchr(b'\n', self.waiting()) {
                break bytes;
            }
            if self.waiting().len() > LINE_MOST {
                return Err(self.strange("a line", self.waiting()));
            }
            self.fill()?;
        };
        let from = self.start;
        self.start += bytes + 1;
        let line = self.input.get(from..from + bytes).unwrap_or_default();
        Ok(line.strip_suffix(b"\r").unwrap_or(line))
    }

    /// Appends the next `bytes` to `to`.
    pub(crate) fn take(&mut self, bytes: usize, to: &mut Vec<u8>) -> Result<(), Error> {
        let mut left = bytes;
        loop {
            let ready = self.waiting();
            let ready = ready.get(..left.min(ready.len())).unwrap_or_default();
            to.extend_from_slice(ready);
            let taken = ready.len();
            self.start += taken;
            left -= taken;
            match left {
                0 => return Ok(()),
                1..READ_BYTES => self.fill()?,
                _ => left -= self.read_into(left.min(STEP_BYTES), to)?,
            }
        }
    }

    /// Past the buffer, straight to where it belongs.
    fn read_into(&mut self, most: usize, to: &mut Vec<u8>) -> Result<usize, Error> {
        let before = to.len();
        let read = Read::by_ref(&mut self.socket)
            .take(most as u64)
            .read_to_end(to);
        match read {
            Ok(_) if to.len() - before == most => Ok(most),
            Ok(_) => Err(self.lost(ErrorKind::UnexpectedEof.into())),
            Err(error) => Err(self.lost(error)),
        }
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        while self.waiting().len() < N {
            self.fill()?;
        }
        let taken = self.waiting().first_chunk().copied();
        self.start += N;
        taken.ok_or_else(|| self.lost(ErrorKind::UnexpectedEof.into()))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_be_bytes)
    }
}

/// What a store said, without what could command a terminal.
fn printable(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let plain = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    text.trim_end().chars().map(plain).collect()
}

fn open(target: &Target) -> io::Result<Box<dyn Socket>> {
    let patience = Some(target.patience);
    match &target.address {
        Address::Unix(path) => {
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(patience)?;
            stream.set_write_timeout(patience)?;
            Ok(Box::new(stream))
        }
        Address::Tcp(address) => {
            let stream = dial(address, target.connect)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(patience)?;
            stream.set_write_timeout(patience)?;
            match &target.tls {
                None => Ok(Box::new(stream)),
                Some(tls) => Ok(Box::new(tls.over(stream)?)),
            }
        }
    }
}

/// The first of a name's addresses that accepts.
fn dial(address: &str, within: Duration) -> io::Result<TcpStream> {
    let mut failed = io::Error::new(ErrorKind::NotFound, "the name has no address");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, within) {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}
