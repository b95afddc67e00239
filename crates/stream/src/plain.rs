//! A socket in the event loop, over TCP or Unix: what is wanted is tried first.

use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::task::{Context, Poll, ready};

use rustix::net::{RecvFlags, SendFlags};
use tokio::io::{AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// A socket as it is.
///
/// What is wanted is tried first, and waited for only when it has to be. That is asked of the
/// reactor and not of the kernel: a read or a write that did less than it could notes that
/// the socket is not ready, so that no system call is made that must fail.
#[derive(Debug)]
pub(crate) struct Plain {
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

impl From<TcpStream> for Plain {
    fn from(stream: TcpStream) -> Self {
        Self::new(Socket::Tcp(stream))
    }
}

impl From<UnixStream> for Plain {
    fn from(stream: UnixStream) -> Self {
        Self::new(Socket::Unix(stream))
    }
}

impl Plain {
    fn new(socket: Socket) -> Self {
        Self {
            socket,
            streak: Cell::new(0),
        }
    }

    /// Moves it to the event loop of the thread that calls.
    pub(crate) fn hand_over(self) -> io::Result<Self> {
        let socket = match self.socket {
            Socket::Tcp(stream) => Socket::Tcp(TcpStream::from_std(stream.into_std()?)?),
            Socket::Unix(stream) => Socket::Unix(UnixStream::from_std(stream.into_std()?)?),
        };
        Ok(Self::new(socket))
    }

    /// Asks the system whether there is something to read, or the end.
    pub(crate) fn is_at_end_or_ahead(&self) -> bool {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        let peeked = match &self.socket {
            Socket::Tcp(stream) => rustix::net::recv(stream, &mut [0u8; 1], flags),
            Socket::Unix(stream) => rustix::net::recv(stream, &mut [0u8; 1], flags),
        };
        !matches!(peeked, Err(rustix::io::Errno::AGAIN))
    }

    /// The TCP connection, where it is one.
    pub(crate) fn tcp(&self) -> Option<&TcpStream> {
        match &self.socket {
            Socket::Tcp(stream) => Some(stream),
            Socket::Unix(_) => None,
        }
    }

    /// Ready when there may be something to read, or the peer has closed.
    #[inline]
    pub(crate) fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
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
    pub(crate) fn poll_peek(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        match &self.socket {
            Socket::Tcp(stream) => stream.poll_peek(cx, &mut ReadBuf::new(&mut [0])),
            Socket::Unix(_) => Poll::Pending,
        }
    }

    /// Reads into `buffer`; 0 is the end of the stream.
    pub(crate) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_turn(cx));
        loop {
            match self.try_read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return Poll::Ready(read),
            }
            ready!(self.poll_readable(cx))?;
        }
    }

    /// Reads into `buffer` if that needs no waiting.
    #[inline]
    pub(crate) fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.attempt(Interest::READABLE, buffer.len(), |socket| {
            Ok(rustix::net::recv(socket, &mut *buffer, RecvFlags::empty())?.1)
        })
    }

    /// Writes from several slices at once if that needs no waiting; a single one takes the kernel's
    /// shorter way.
    #[inline]
    pub(crate) fn try_write(&self, slices: &[io::IoSlice<'_>]) -> io::Result<usize> {
        let bytes = slices.iter().map(|slice| slice.len()).sum();
        self.attempt(Interest::WRITABLE, bytes, |socket| match slices {
            [slice] => Ok(rustix::net::send(socket, slice, SendFlags::NOSIGNAL)?),
            _ => Ok(rustix::io::writev(socket, slices)?),
        })
    }

    /// Writes from several slices at once.
    pub(crate) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_turn(cx));
        loop {
            match self.try_write(slices) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
            ready!(self.poll_writable(cx))?;
        }
    }

    /// Writes up to `bytes` bytes of a file from `at` on, which the system copies by itself.
    pub(crate) fn poll_send_file(
        &mut self,
        cx: &mut Context<'_>,
        file: BorrowedFd<'_>,
        at: u64,
        bytes: usize,
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_turn(cx));
        loop {
            let mut from = at;
            // Fewer bytes than asked for do not mean that the socket is full: it is tried again.
            let mut send = |socket: BorrowedFd<'_>| {
                Ok(rustix::fs::sendfile(socket, file, Some(&mut from), bytes)?)
            };
            let sent: io::Result<usize> = match &self.socket {
                Socket::Tcp(stream) => stream.try_io(Interest::WRITABLE, || send(stream.as_fd())),
                Socket::Unix(stream) => stream.try_io(Interest::WRITABLE, || send(stream.as_fd())),
            };
            match sent {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                sent => return Poll::Ready(sent),
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
    pub(crate) fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.socket {
            Socket::Tcp(stream) => std::pin::Pin::new(stream).poll_shutdown(cx),
            Socket::Unix(stream) => std::pin::Pin::new(stream).poll_shutdown(cx),
        }
    }

    /// Whether there may be something to read, as far as the reactor knows. Of an idle
    /// connection that is its end, or bytes nobody asked for: it is of no more use.
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        let nothing = || Ok(());
        match &self.socket {
            Socket::Tcp(stream) => stream.try_io(Interest::READABLE, nothing).is_ok(),
            Socket::Unix(stream) => stream.try_io(Interest::READABLE, nothing).is_ok(),
        }
    }
}
