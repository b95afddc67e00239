//! A byte stream over TCP or a Unix socket, every wait with a deadline.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use crate::DEADLINE;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// `127.0.0.1:8080`
    Tcp(SocketAddr),
    /// `unix:/run/app.sock`
    Unix(PathBuf),
}

/// One connection.
#[derive(Debug)]
pub enum Stream {
    /// Over TCP, with Nagle's delay off.
    Tcp(TcpStream),
    /// Over a Unix socket.
    Unix(UnixStream),
}

impl Stream {
    /// Opens a connection.
    pub fn connect(address: &Address) -> io::Result<Self> {
        let stream = match address {
            Address::Tcp(address) => Self::Tcp(TcpStream::connect_timeout(address, DEADLINE)?),
            Address::Unix(path) => Self::Unix(UnixStream::connect(path)?),
        };
        stream.prepare()?;
        Ok(stream)
    }

    /// Sets the deadlines of a fresh connection.
    pub fn prepare(&self) -> io::Result<()> {
        self.set_read_deadline(DEADLINE)?;
        match self {
            Self::Tcp(stream) => {
                stream.set_nodelay(true)?;
                stream.set_write_timeout(Some(DEADLINE))
            }
            Self::Unix(stream) => stream.set_write_timeout(Some(DEADLINE)),
        }
    }

    /// How long one read may wait.
    pub fn set_read_deadline(&self, deadline: Duration) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_read_timeout(Some(deadline)),
            Self::Unix(stream) => stream.set_read_timeout(Some(deadline)),
        }
    }

    /// Closes one or both directions.
    pub fn shutdown(&self, how: Shutdown) {
        // A peer that is already gone is as good as closed.
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(how),
            Self::Unix(stream) => stream.shutdown(how),
        };
    }

    /// Arranges that closing sends RST instead of FIN (TCP only).
    pub fn reset_on_close(&self) {
        if let Self::Tcp(stream) = self {
            socket2::SockRef::from(stream)
                .set_linger(Some(Duration::ZERO))
                .unwrap();
        }
    }

    /// Shrinks the kernel's buffers, so that back-pressure shows early.
    pub fn small_buffers(&self) {
        let socket = match self {
            Self::Tcp(stream) => socket2::SockRef::from(stream),
            Self::Unix(stream) => socket2::SockRef::from(stream),
        };
        socket.set_recv_buffer_size(4096).unwrap();
        socket.set_send_buffer_size(4096).unwrap();
    }

    /// The local port, for `Forwarded` and logs; 0 for a Unix socket.
    pub fn local_port(&self) -> u16 {
        match self {
            Self::Tcp(stream) => stream.local_addr().unwrap().port(),
            Self::Unix(_) => 0,
        }
    }
}

impl Read for &Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => (&mut &*stream).read(buffer),
            Stream::Unix(stream) => (&mut &*stream).read(buffer),
        }
    }
}

impl Write for &Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => (&mut &*stream).write(bytes),
            Stream::Unix(stream) => (&mut &*stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl Address {
    /// Reads what the program prints after `listening on`.
    pub fn parse(text: &str) -> Option<Self> {
        match text.strip_prefix("unix:") {
            Some(path) => Some(Self::Unix(path.into())),
            None => text.parse().ok().map(Self::Tcp),
        }
    }

    /// The TCP port.
    ///
    /// # Panics
    /// For a Unix socket.
    pub fn port(&self) -> u16 {
        match self {
            Self::Tcp(address) => address.port(),
            Self::Unix(path) => panic!("{} has no port", path.display()),
        }
    }
}
