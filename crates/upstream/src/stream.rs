//! A byte stream to a client or a server, over TCP or a Unix socket.

use std::cell::Cell;
use std::io;
use std::os::fd::AsFd;
use std::task::{Context, Poll, ready};

use rustix::net::{RecvFlags, SendFlags};
use tokio::io::{AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// A connected socket.
///
/// What is wanted is tried first, and waited for only when it has to be. That is asked of the
/// reactor and not of the kernel: a read or a write that did less than it could notes that
/// the socket is not ready, so that no system call is made that must fail.
#[derive(Debug)]
pub struct Stream {
    socket: Socket,
    /// Reads and writes since one had to wait.
    streak: Cell<u8>,
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// After so many reads and writes that did not wait, other tasks of the worker get their turn.
const LONGEST_STREAK: u8 = 64;

impl From<TcpStream> for Stream {
    /// A TCP connection, with `TCP_NODELAY` set.
    fn from(stream: TcpStream) -> Self {
        Self::new(Socket::Tcp(stream))
    }
}

impl From<UnixStream> for Stream {
    fn from(stream: UnixStream) -> Self {
        Self::new(Socket::Unix(stream))
    }
}

impl Stream {
    fn new(socket: Socket) -> Self {
        Self {
            socket,
            streak: Cell::new(0),
        }
    }

    /// The TCP connection, where it is one.
    pub fn tcp(&self) -> Option<&TcpStream> {
        match &self.socket {
            Socket::Tcp(stream) => Some(stream),
            Socket::Unix(_) => None,
        }
    }

    /// Ready when there may be something to read, or the peer has closed.
    #[inline]
    pub fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // After a wait it is asked first whether it is over, without beginning another.
        if self.streak.get() == 0 && self.has_news() {
            return Poll::Ready(Ok(()));
        }
        let polled = match &self.socket {
            Socket::Tcp(stream) => stream.poll_read_ready(cx),
            Socket::Unix(stream) => stream.poll_read_ready(cx),
        };
        if polled.is_pending() {
            self.streak.set(0);
        }
        polled
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.streak.set(0);
        match &self.socket {
            Socket::Tcp(stream) => stream.poll_write_ready(cx),
            Socket::Unix(stream) => stream.poll_write_ready(cx),
        }
    }

    /// Looks whether there is something to read, without taking it; an error when
    /// the peer has reset the connection. On Unix sockets that is not to be seen.
    pub fn poll_peek(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        match &self.socket {
            Socket::Tcp(stream) => stream.poll_peek(cx, &mut ReadBuf::new(&mut [0])),
            Socket::Unix(_) => Poll::Pending,
        }
    }

    /// Reads into `buffer`; 0 is the end of the stream.
    pub fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_turn(cx));
        loop {
            let read = self.attempt(Interest::READABLE, buffer.len(), |socket| {
                Ok(rustix::net::recv(socket, &mut *buffer, RecvFlags::empty())?.1)
            });
            match read {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return Poll::Ready(read),
            }
            ready!(self.poll_readable(cx))?;
        }
    }

    /// Writes from several slices at once; a single one takes the kernel's shorter way.
    pub fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_turn(cx));
        let bytes = slices.iter().map(|slice| slice.len()).sum();
        loop {
            let written = self.attempt(Interest::WRITABLE, bytes, |socket| match slices {
                [slice] => Ok(rustix::net::send(socket, slice, SendFlags::NOSIGNAL)?),
                _ => Ok(rustix::io::writev(socket, slices)?),
            });
            match written {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
            ready!(self.poll_writable(cx))?;
        }
    }

    /// Does a system call for `bytes` bytes if the socket is ready for it.
    #[inline]
    fn attempt(
        &self,
        interest: Interest,
        bytes: usize,
        call: impl FnOnce(std::os::fd::BorrowedFd<'_>) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let mut done = None;
        let call = |socket| {
            let moved = call(socket)?;
            done = Some(moved);
            if 0 < moved && moved < bytes {
                // The next one would have to wait: so the reactor learns it.
                return Err(io::ErrorKind::WouldBlock.into());
            }
            Ok(())
        };
        let tried = match &self.socket {
            Socket::Tcp(stream) => stream.try_io(interest, || call(stream.as_fd())),
            Socket::Unix(stream) => stream.try_io(interest, || call(stream.as_fd())),
        };
        match (done, tried) {
            (Some(moved), _) => Ok(moved),
            (None, Err(error)) => Err(error),
            (None, Ok(())) => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    /// Pending, and woken at once, when others of the worker's tasks have waited long enough.
    #[inline]
    fn poll_turn(&self, cx: &mut Context<'_>) -> Poll<()> {
        let streak = self.streak.get();
        if streak < LONGEST_STREAK {
            self.streak.set(streak + 1);
            return Poll::Ready(());
        }
        self.streak.set(0);
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Ends the writing direction.
    pub fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.socket {
            Socket::Tcp(stream) => std::pin::Pin::new(stream).poll_shutdown(cx),
            Socket::Unix(stream) => std::pin::Pin::new(stream).poll_shutdown(cx),
        }
    }

    /// Whether there may be something to read, as far as the reactor knows. Of an idle
    /// connection that is its end, or bytes nobody asked for: it is of no more use.
    #[inline]
    pub fn has_news(&self) -> bool {
        let nothing = || Ok(());
        match &self.socket {
            Socket::Tcp(stream) => stream.try_io(Interest::READABLE, nothing).is_ok(),
            Socket::Unix(stream) => stream.try_io(Interest::READABLE, nothing).is_ok(),
        }
    }
}
