//! A byte stream to a client or a server: a socket as it is, or TLS on it.

use std::future::poll_fn;
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::BorrowedFd;
use std::task::{Context, Poll};

use forebay_tls::Session;
use tokio::net::{TcpStream, UnixStream};

use crate::plain::Plain;

/// A piece of a file that is encrypted at once: one record.
const TLS_PIECE_BYTES: usize = 16 << 10;

/// A connection.
#[derive(Debug)]
pub struct Stream {
    plain: Plain,
    tls: Option<Box<Session>>,
}

impl From<TcpStream> for Stream {
    /// A TCP connection, with `TCP_NODELAY` set.
    fn from(stream: TcpStream) -> Self {
        Self {
            plain: stream.into(),
            tls: None,
        }
    }
}

impl From<UnixStream> for Stream {
    fn from(stream: UnixStream) -> Self {
        Self {
            plain: stream.into(),
            tls: None,
        }
    }
}

impl Stream {
    /// Puts TLS on the connection, and returns when the handshake is done.
    ///
    /// # Errors
    /// `InvalidData` for what TLS refuses, else what the socket says.
    pub async fn secure(mut self, mut session: Box<Session>) -> io::Result<Self> {
        let plain = &mut self.plain;
        poll_fn(|cx| polled(session.handshake(&mut Wire { plain, cx }))).await?;
        self.tls = Some(session);
        Ok(self)
    }

    /// Moves it to the event loop of the thread that calls.
    ///
    /// # Errors
    /// The system does not register it there; it is closed.
    pub fn hand_over(self) -> io::Result<Self> {
        Ok(Self {
            plain: self.plain.hand_over()?,
            tls: self.tls,
        })
    }

    /// Asks the system whether an idle connection has ended, or brought what nobody asked for.
    pub fn is_at_end_or_ahead(&self) -> bool {
        let session = self.tls.as_ref();
        session.is_some_and(|session| session.has_plain()) || self.plain.is_at_end_or_ahead()
    }

    /// The TCP connection, where it is one.
    pub fn tcp(&self) -> Option<&TcpStream> {
        self.plain.tcp()
    }

    /// Ready when there may be something to read, or the peer has closed. What was written before
    /// goes out meanwhile: the peer may wait for it.
    #[inline]
    pub fn poll_readable(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let plain = &mut self.plain;
        if let Some(session) = &mut self.tls {
            // Where it cannot be sent, reading tells.
            let _ = session.flush(&mut Wire { plain, cx });
            if session.has_plain() {
                return Poll::Ready(Ok(()));
            }
        }
        self.plain.poll_readable(cx)
    }

    /// Looks whether there is something to read, without taking it; an error when
    /// the peer has reset the connection. On Unix sockets that is not to be seen.
    pub fn poll_peek(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.plain.poll_peek(cx)
    }

    /// Reads into `buffer`; 0 is the end of the stream.
    #[inline]
    pub fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let plain = &mut self.plain;
        match &mut self.tls {
            None => plain.poll_read(cx, buffer),
            Some(session) => polled(session.read(&mut Wire { plain, cx }, buffer)),
        }
    }

    /// Writes from several slices at once; a single one takes the kernel's shorter way. With TLS some
    /// of it may be left to [`Stream::poll_flush`].
    #[inline]
    pub fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let plain = &mut self.plain;
        match &mut self.tls {
            None => plain.poll_write(cx, slices),
            Some(session) => polled(session.write(&mut Wire { plain, cx }, slices)),
        }
    }

    /// Ready when the socket has taken all that was written.
    #[inline]
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let plain = &mut self.plain;
        match &mut self.tls {
            None => Poll::Ready(Ok(())),
            Some(session) => polled(session.flush(&mut Wire { plain, cx })),
        }
    }

    /// Writes up to `bytes` bytes of a file from `at` on; ready with how many these were, 0 at the
    /// file's end. On a plain socket the system copies them by itself. It waits for the disk where
    /// they are not in memory.
    pub fn poll_send_file(
        &mut self,
        cx: &mut Context<'_>,
        file: BorrowedFd<'_>,
        at: u64,
        bytes: usize,
    ) -> Poll<io::Result<usize>> {
        let plain = &mut self.plain;
        let Some(session) = &mut self.tls else {
            return plain.poll_send_file(cx, file, at, bytes);
        };
        let mut piece = [0; TLS_PIECE_BYTES];
        let most = bytes.min(piece.len());
        let read = rustix::io::pread(file, &mut piece[..most], at)?;
        if read == 0 {
            return Poll::Ready(Ok(0));
        }
        let slices = [IoSlice::new(&piece[..read])];
        polled(session.write(&mut Wire { plain, cx }, &slices))
    }

    /// Reads into `buffer`; 0 is the end of the stream. Given up, nothing is lost.
    ///
    /// # Errors
    /// What the socket says; `UnexpectedEof` where TLS ended without saying so.
    pub async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        poll_fn(|cx| self.poll_read(cx, buffer)).await
    }

    /// Writes all of `bytes`, and returns when the socket has taken them.
    ///
    /// # Errors
    /// What the socket says.
    pub async fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = poll_fn(|cx| self.poll_write(cx, &[IoSlice::new(bytes)])).await?;
            bytes = &bytes[written.min(bytes.len())..];
        }
        poll_fn(|cx| self.poll_flush(cx)).await
    }

    /// Ends the writing direction, and returns when everything before has left.
    ///
    /// # Errors
    /// What the socket says.
    pub async fn shut_down(&mut self) -> io::Result<()> {
        poll_fn(|cx| self.poll_shutdown(cx)).await
    }

    /// Ends the writing direction.
    pub fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let plain = &mut self.plain;
        if let Some(session) = &mut self.tls {
            session.close();
            if polled(session.flush(&mut Wire { plain, cx }))?.is_pending() {
                return Poll::Pending;
            }
        }
        self.plain.poll_shutdown(cx)
    }

    /// Says that nothing more comes, where TLS has a word for it, without waiting: what is whole
    /// looks whole then to who insists on that (RFC 9112 section 9.8).
    pub fn say_end(&mut self) {
        if let Some(session) = &mut self.tls {
            session.close();
            // Whoever does not take it does not read it.
            let _ = session.flush(&mut Untimed(&mut self.plain));
        }
    }

    /// Whether there may be something to read, as far as the reactor knows. Of an idle
    /// connection that is its end, or bytes nobody asked for: it is of no more use.
    #[inline]
    pub fn has_news(&mut self) -> bool {
        let plain = &mut self.plain;
        match &mut self.tls {
            None => plain.has_news(),
            // A ticket for a later session is no news.
            Some(session) => {
                session.has_plain() || (plain.has_news() && !session.is_quiet(&mut Untimed(plain)))
            }
        }
    }
}

/// `WouldBlock` as what is waited for.
fn polled<T>(done: io::Result<T>) -> Poll<io::Result<T>> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Poll::Pending,
        done => Poll::Ready(done),
    }
}

/// `Pending` as an error.
fn tried<T>(polled: Poll<io::Result<T>>) -> io::Result<T> {
    match polled {
        Poll::Ready(done) => done,
        Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
    }
}

/// A socket as a session's wire; when it would block, the task is woken later.
struct Wire<'a, 'c, 'w> {
    plain: &'a mut Plain,
    cx: &'c mut Context<'w>,
}

impl Read for Wire<'_, '_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        tried(self.plain.poll_read(self.cx, buffer))
    }
}

impl Write for Wire<'_, '_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        tried(self.plain.poll_write(self.cx, slices))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A socket that nobody waits for.
struct Untimed<'a>(&'a mut Plain);

impl Read for Untimed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(buffer)
    }
}

impl Write for Untimed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(&[IoSlice::new(bytes)])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
