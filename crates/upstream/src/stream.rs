//! A byte stream to a client or a server, over TCP or a Unix socket.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// A connected socket.
///
/// Reading through it never makes a system call that must fail: a read that
/// did not fill its buffer clears the readiness, so that the next one waits
/// for the event instead of asking the kernel again.
#[derive(Debug)]
pub enum Stream {
    /// TCP, with `TCP_NODELAY` set.
    Tcp(TcpStream),
    /// A Unix socket.
    Unix(UnixStream),
}

impl Stream {
    /// Ready when there may be something to read, or the peer has closed.
    pub fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(stream) => stream.poll_read_ready(cx),
            Self::Unix(stream) => stream.poll_read_ready(cx),
        }
    }

    /// Looks whether there is something to read, without taking it; an error when
    /// the peer has reset the connection. On Unix sockets that is not to be seen.
    pub fn poll_peek(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        match self {
            Self::Tcp(stream) => stream.poll_peek(cx, &mut ReadBuf::new(&mut [0])),
            Self::Unix(_) => Poll::Pending,
        }
    }

    /// Reads into `buffer`; 0 is the end of the stream.
    pub fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(buffer);
        let read = match self {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, &mut buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(cx, &mut buffer),
        };
        read.map_ok(|()| buffer.filled().len())
    }

    /// Writes from several slices at once; a single one takes the kernel's shorter way.
    pub fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let [slice] = slices {
            return match self {
                Self::Tcp(stream) => Pin::new(stream).poll_write(cx, slice),
                Self::Unix(stream) => Pin::new(stream).poll_write(cx, slice),
            };
        }
        match self {
            Self::Tcp(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
            Self::Unix(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
        }
    }

    /// Ends the writing direction.
    pub fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }

    /// Whether an idle connection has had news: its end, or bytes nobody asked for.
    /// Either way it is of no more use. It asks the reactor, not the kernel.
    pub fn has_news(&self) -> bool {
        self.poll_readable(&mut Context::from_waker(Waker::noop()))
            .is_ready()
    }
}
