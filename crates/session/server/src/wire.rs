//! What a connection reads from and writes to: a socket, plain or with TLS on it.
//!
//! Readiness is told once (edge-triggered). A read that filled less than its buffer has emptied the
//! socket: whatever comes later is told anew, so that nothing more is tried until then. Only the
//! peer's end may have come together with its last bytes; that is told with them.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use forebay_tls::Session;
use mio::net::{TcpStream, UnixStream};
use mio::{Interest, Registry, Token};
use rustix::net::{RecvFlags, SendFlags};

/// The smallest growth of a connection's own input, in bytes.
const GROWTH_LEAST: usize = 4096;

/// A connected socket.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(socket) => socket.as_fd(),
            Self::Unix(socket) => socket.as_fd(),
        }
    }
}

/// A socket and what is known of it.
#[derive(Debug)]
struct Raw {
    socket: Socket,
    /// There is nothing to read until the next event.
    drained: bool,
    /// The peer's end was told, and comes behind what is left to read.
    ending: bool,
}

impl Raw {
    /// Notes a read of `count` bytes, for which there was this much room.
    fn note(&mut self, count: usize, room: usize) {
        self.drained = count < room && !self.ending;
    }

    fn failed(&mut self, error: rustix::io::Errno) -> io::Error {
        if error == rustix::io::Errno::AGAIN {
            self.drained = true;
        }
        error.into()
    }

    /// Reads behind what is in `buffer`, as far as its capacity goes.
    fn read_behind(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        if self.drained {
            return Err(ErrorKind::WouldBlock.into());
        }
        let room = buffer.capacity() - buffer.len();
        let spare = rustix::buffer::spare_capacity(buffer);
        match rustix::net::recv(&self.socket, spare, RecvFlags::empty()) {
            Ok((count, _)) => {
                self.note(count, room);
                Ok(count)
            }
            Err(error) => Err(self.failed(error)),
        }
    }
}

impl Read for Raw {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.drained {
            return Err(ErrorKind::WouldBlock.into());
        }
        let room = buffer.len();
        match rustix::net::recv(&self.socket, buffer, RecvFlags::empty()) {
            Ok((count, _)) => {
                self.note(count, room);
                Ok(count)
            }
            Err(error) => Err(self.failed(error)),
        }
    }
}

impl Write for Raw {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::net::send(&self.socket, bytes, SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a connection reads from and writes to.
#[derive(Debug)]
pub(crate) struct Wire {
    raw: Raw,
    tls: Option<Box<Session>>,
    writing: bool,
}

impl Wire {
    /// # Errors
    /// The TLS settings are of no use.
    pub(crate) fn new(socket: Socket, tls: Option<Arc<rustls::ServerConfig>>) -> io::Result<Self> {
        let session = |config| Session::server(config).map(Box::new);
        Ok(Self {
            raw: Raw {
                socket,
                drained: false,
                ending: false,
            },
            tls: tls.map(session).transpose()?,
            writing: false,
        })
    }

    /// Enters an event loop; what came already is told as an event.
    pub(crate) fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        self.raw.drained = true;
        match &mut self.raw.socket {
            Socket::Tcp(socket) => registry.register(socket, token, Interest::READABLE),
            Socket::Unix(socket) => registry.register(socket, token, Interest::READABLE),
        }
    }

    /// Wants to be told when it takes more, and only then; or else when there is more to read.
    /// What has come meanwhile is told at once.
    pub(crate) fn set_writing(
        &mut self,
        registry: &Registry,
        token: Token,
        writing: bool,
    ) -> io::Result<()> {
        if self.writing == writing {
            return Ok(());
        }
        self.writing = writing;
        let interest = match writing {
            true => Interest::WRITABLE,
            false => Interest::READABLE,
        };
        match &mut self.raw.socket {
            Socket::Tcp(socket) => registry.reregister(socket, token, interest),
            Socket::Unix(socket) => registry.reregister(socket, token, interest),
        }
    }

    /// There was an event, perhaps that of the peer's end.
    pub(crate) fn ready(&mut self, ending: bool) {
        self.raw.drained = false;
        self.raw.ending |= ending;
    }

    /// Reads; 0 is the peer's end.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.raw.read(buffer),
            Some(session) => session.read(&mut self.raw, buffer),
        }
    }

    /// Reads behind what is in `input`, for which room is made as it fills, until `wanted` bytes
    /// fit: who only announces much has not got it. `buffer` is for what has to be decrypted.
    pub(crate) fn read_on(
        &mut self,
        input: &mut Vec<u8>,
        wanted: usize,
        buffer: &mut [u8],
    ) -> io::Result<usize> {
        if let Some(session) = &mut self.tls {
            let count = session.read(&mut self.raw, buffer)?;
            input.extend_from_slice(buffer.get(..count).unwrap_or_default());
            return Ok(count);
        }
        if input.len() == input.capacity() {
            let lacking = wanted.saturating_sub(input.len());
            input.reserve_exact(input.len().min(lacking).max(GROWTH_LEAST));
        }
        self.raw.read_behind(input)
    }

    /// Whether a read may give something now.
    pub(crate) fn has_more(&self) -> bool {
        let plain = self.tls.as_ref().is_some_and(|session| session.has_plain());
        plain || !self.raw.drained
    }

    /// Sends what it takes of `bytes` now, and says how much that is.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(session) = &mut self.tls else {
            return none_if_blocked(self.raw.write(bytes));
        };
        let mut sent = 0;
        while let Some(rest) = bytes.get(sent..).filter(|rest| !rest.is_empty()) {
            match none_if_blocked(session.write(&mut self.raw, &[IoSlice::new(rest)]))? {
                0 => break,
                count => sent += count,
            }
        }
        Ok(sent)
    }

    /// Sends what was taken and has not left.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        match &mut self.tls {
            None => Ok(()),
            Some(session) => none_if_blocked(session.flush(&mut self.raw).map(|()| 0)).map(drop),
        }
    }

    /// Whether something was taken that has not left.
    pub(crate) fn wants_write(&self) -> bool {
        self.tls
            .as_ref()
            .is_some_and(|session| session.wants_write())
    }

    /// Whether the peer has yet to show that it speaks TLS.
    pub(crate) fn is_handshaking(&self) -> bool {
        self.tls
            .as_ref()
            .is_some_and(|session| session.is_handshaking())
    }

    /// Says that nothing more comes, where that has to be said.
    pub(crate) fn end(&mut self) {
        if let Some(session) = &mut self.tls {
            session.close();
            // A peer that does not take it sees the socket's end.
            let _ = session.flush(&mut self.raw);
        }
    }
}

/// A wire that takes nothing now has taken none.
fn none_if_blocked(written: io::Result<usize>) -> io::Result<usize> {
    match written {
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            Ok(0)
        }
        written => written,
    }
}
