//! Bytes on a connection: TCP or a Unix socket, plain or under TLS. Nothing blocks.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    self as rnet, AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};
use rustls::ClientConnection;

use crate::endpoint::{Address, Tls};

/// A socket, and TLS on it.
#[derive(Debug)]
pub(crate) struct Transport {
    socket: Socket,
    tls: Option<Box<ClientConnection>>,
}

/// A descriptor that reads and writes as sockets do.
#[derive(Debug)]
struct Socket(OwnedFd);

impl io::Read for &Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (read, _) = rnet::recv(&self.0, buffer, RecvFlags::empty())?;
        Ok(read)
    }
}

impl io::Write for &Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rnet::send(&self.0, bytes, SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Transport {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.0.as_fd()
    }
}

impl Transport {
    /// Begins to connect; writable when it is done.
    ///
    /// # Errors
    /// What the system says at once: no descriptor, no port, no route, no such socket.
    pub(crate) fn connect(
        address: &Address,
        source: Option<IpAddr>,
        tls: Option<&Tls>,
    ) -> io::Result<Self> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = match address {
            Address::Tcp(address) => {
                let family = if address.is_ipv4() {
                    AddressFamily::INET
                } else {
                    AddressFamily::INET6
                };
                let socket = rnet::socket_with(family, SocketType::STREAM, flags, None)?;
                rnet::sockopt::set_tcp_nodelay(&socket, true)?;
                if let Some(source) = source.filter(|source| source.is_ipv4() == address.is_ipv4())
                {
                    rnet::bind(&socket, &SocketAddr::new(source, 0))?;
                }
                in_progress(rnet::connect(&socket, address))?;
                socket
            }
            Address::Unix(path) => {
                let socket =
                    rnet::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
                in_progress(rnet::connect(&socket, &SocketAddrUnix::new(path)?))?;
                socket
            }
        };
        let tls = tls
            .map(|tls| {
                let mut connection = ClientConnection::new(tls.config.clone(), tls.name.clone())
                    .map_err(io::Error::other)?;
                connection.set_buffer_limit(None);
                Ok::<_, io::Error>(Box::new(connection))
            })
            .transpose()?;
        Ok(Self {
            socket: Socket(socket),
            tls,
        })
    }

    /// What became of connecting, once writable.
    pub(crate) fn connected(&self) -> io::Result<()> {
        rnet::sockopt::socket_error(&self.socket.0)??;
        Ok(())
    }

    pub(crate) fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Takes the TLS handshake on as far as it goes; true when it is done.
    ///
    /// # Errors
    /// `InvalidData` for what TLS refuses, else what the socket says.
    pub(crate) fn handshake(&mut self) -> io::Result<bool> {
        let Some(tls) = &mut self.tls else {
            return Ok(true);
        };
        loop {
            while tls.wants_write() {
                match tls.write_tls(&mut &self.socket) {
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error),
                }
            }
            if !tls.is_handshaking() {
                return Ok(true);
            }
            match tls.read_tls(&mut &self.socket) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(_) => {
                    tls.process_new_packets().map_err(refused)?;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether there are bytes that the socket did not take yet.
    pub(crate) fn wants_write(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.wants_write())
    }

    #[inline]
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else {
            return (&self.socket).read(buffer);
        };
        loop {
            match tls.reader().read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // Without close_notify it is an end all the same.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                other => return other,
            }
            if tls.read_tls(&mut &self.socket)? == 0 {
                return Ok(0);
            }
            tls.process_new_packets().map_err(refused)?;
        }
    }

    /// Writes what the socket takes; under TLS all is taken, and [`Transport::wants_write`] tells
    /// what is left.
    #[inline]
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else {
            return (&self.socket).write(bytes);
        };
        tls.writer().write_all(bytes)?;
        self.flush()?;
        Ok(bytes.len())
    }

    /// Writes what TLS holds back.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let Some(tls) = &mut self.tls else {
            return Ok(());
        };
        while tls.wants_write() {
            match tls.write_tls(&mut &self.socket) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn refused(error: rustls::Error) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, error)
}

fn in_progress(result: rustix::io::Result<()>) -> io::Result<()> {
    match result {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS | rustix::io::Errno::INTR) => Ok(()),
        // A Unix socket whose queue is full.
        Err(error) => Err(error.into()),
    }
}
