//! Bytes from one socket to the other, both ways, with as little work as can be.
//!
//! All connections share the buffer that bytes pass through: it is full only between a read and
//! the write after it. What the other side does not take at once is kept by the connection.

use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

/// What is read at once.
const READ_BYTES: usize = 64 << 10;
/// After so many reads and writes that did not wait, others get their turn.
const LONGEST_STREAK: u32 = 32;
/// After the local server's last byte the edge has so long to take it.
const LINGER: Duration = Duration::from_secs(5);

/// The buffer of all connections of a thread.
#[derive(Clone, Debug)]
pub(crate) struct Scratch(Rc<RefCell<Vec<u8>>>);

impl Default for Scratch {
    fn default() -> Self {
        Self(Rc::new(RefCell::new(vec![0; READ_BYTES])))
    }
}

/// A socket of either family.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(stream) => stream.poll_read_ready(cx),
            Self::Unix(stream) => stream.poll_read_ready(cx),
        }
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(stream) => stream.poll_write_ready(cx),
            Self::Unix(stream) => stream.poll_write_ready(cx),
        }
    }

    fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.try_read(buffer),
            Self::Unix(stream) => stream.try_read(buffer),
        }
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.try_write(bytes),
            Self::Unix(stream) => stream.try_write(bytes),
        }
    }

    /// Ends our direction.
    async fn shut_down(&mut self) -> io::Result<()> {
        let stream: &mut (dyn AsyncWrite + Unpin) = match self {
            Self::Tcp(stream) => stream,
            Self::Unix(stream) => stream,
        };
        stream.shutdown().await
    }

    /// Its end will be a reset, not a FIN, where there is a difference.
    fn will_reset(&self) {
        if let Self::Tcp(stream) = self {
            // Without it, it ends as it would have.
            let _ = stream.set_zero_linger();
        }
    }

    async fn readable(&self) -> io::Result<()> {
        std::future::poll_fn(|cx| self.poll_readable(cx)).await
    }

    /// Waits for the first bytes, holding nothing; an error at the end.
    pub(crate) async fn read_first(&self, scratch: &Scratch) -> io::Result<Vec<u8>> {
        loop {
            self.readable().await?;
            let mut buffer = scratch.0.borrow_mut();
            match self.try_read(&mut buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => return Ok(buffer[..read].to_vec()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// One direction.
#[derive(Debug, Default)]
struct Way {
    /// Read and not yet written, from `written` on.
    kept: Vec<u8>,
    written: usize,
    ended: bool,
    /// What the other side does not take is dropped: it may have answered already, and the answer
    /// counts (RFC 9112 section 9.6).
    lenient: bool,
    /// The other side takes nothing more.
    refused: bool,
}

impl Way {
    /// Moves what can be moved now; ready at the end of what there is to read, when all of it was
    /// written.
    fn poll(
        &mut self,
        (from, to): (&Socket, &Socket),
        scratch: &Scratch,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        for _ in 0..LONGEST_STREAK {
            ready!(self.poll_kept(to, cx))?;
            if self.ended {
                return Poll::Ready(Ok(()));
            }
            ready!(from.poll_readable(cx))?;
            let mut buffer = scratch.0.borrow_mut();
            match from.try_read(&mut buffer) {
                Ok(0) => self.ended = true,
                Ok(read) => self.pass(&buffer[..read], to)?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn pass(&mut self, bytes: &[u8], to: &Socket) -> io::Result<()> {
        if self.refused {
            return Ok(());
        }
        let written = match to.try_write(bytes) {
            Ok(written) => written,
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            Err(_) if self.lenient => {
                self.refused = true;
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        self.kept.extend_from_slice(&bytes[written..]);
        Ok(())
    }

    fn poll_kept(&mut self, to: &Socket, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.written < self.kept.len() {
            ready!(to.poll_writable(cx))?;
            match to.try_write(&self.kept[self.written..]) {
                Ok(written) => self.written += written,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) if self.lenient => {
                    self.refused = true;
                    self.written = self.kept.len();
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        // A buffer that was needed once is not held by a connection that idles.
        if self.written > 0 {
            (self.kept, self.written) = (Vec::new(), 0);
        }
        Poll::Ready(Ok(()))
    }
}

/// Carries bytes between edge and local server, to which `first` goes before all others, until
/// the local server has ended. The edge's end is passed on: half of a tunnel may stay open. What
/// breaks off breaks off at the edge as well: an answer that ends with the connection must not
/// look complete.
pub(crate) async fn run(
    mut edge: Socket,
    local: Socket,
    first: Vec<u8>,
    scratch: &Scratch,
) -> io::Result<()> {
    let done = carry(&mut edge, local, first, scratch).await;
    if done.is_err() {
        edge.will_reset();
    }
    done
}

async fn carry(
    edge: &mut Socket,
    mut local: Socket,
    first: Vec<u8>,
    scratch: &Scratch,
) -> io::Result<()> {
    let mut down = Way::default();
    let mut up = Way {
        kept: first,
        lenient: true,
        ..Way::default()
    };
    let edge_ended = std::future::poll_fn(|cx| {
        // The answer first: when both have ended, it is what counts.
        if let Poll::Ready(done) = down.poll((&local, edge), scratch, cx) {
            return Poll::Ready(done.map(|()| false));
        }
        up.poll((edge, &local), scratch, cx)
            .map(|done| done.map(|()| true))
    })
    .await?;
    if edge_ended {
        if !up.refused {
            local.shut_down().await?;
        }
        // An edge that is gone altogether breaks this off with the first byte.
        std::future::poll_fn(|cx| down.poll((&local, edge), scratch, cx)).await?;
        return edge.shut_down().await;
    }
    edge.shut_down().await?;
    timeout(LINGER, to_the_end(edge, scratch)).await?
}

/// What the edge has sent meanwhile must not reset the connection under the last bytes.
async fn to_the_end(edge: &Socket, scratch: &Scratch) -> io::Result<()> {
    loop {
        edge.readable().await?;
        match edge.try_read(&mut scratch.0.borrow_mut()) {
            Ok(0) => return Ok(()),
            Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use tokio::io::AsyncReadExt;

    fn pair() -> (Socket, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (Socket::Unix(ours), theirs)
    }

    #[tokio::test(flavor = "current_thread")]
    async fn bytes_pass_both_ways_whoever_is_slow() {
        let ((edge, mut client), (local, mut server)) = (pair(), pair());
        let scratch = Scratch::default();
        // More than sockets buffer, so that something has to be kept.
        let body = vec![7; 2 << 20];
        let client_side = async move {
            client.write_all(b"quest").await.unwrap();
            let mut all = Vec::new();
            client.read_to_end(&mut all).await.unwrap();
            all
        };
        let server_side = async {
            let mut request = [0; 7];
            server.read_exact(&mut request).await.unwrap();
            assert_eq!(&request, b"request");
            server.write_all(&body).await.unwrap();
            server.shutdown().await.unwrap();
        };
        let relaying = run(edge, local, b"re".to_vec(), &scratch);
        let (done, all, ()) = tokio::join!(relaying, client_side, server_side);
        assert_eq!(all.len(), body.len());
        done.unwrap();
    }

    #[tokio::test(flavor = "current_thread")]
    async fn an_answer_that_comes_before_the_whole_request_is_passed_on() {
        let ((edge, mut client), (local, mut server)) = (pair(), pair());
        let scratch = Scratch::default();
        let talking = async {
            let mut start = [0];
            server.read_exact(&mut start).await.unwrap();
            server.write_all(b"too large").await.unwrap();
            drop(server);
            client.write_all(b"request").await.unwrap();
            let mut answer = Vec::new();
            client.read_to_end(&mut answer).await.unwrap();
            drop(client);
            answer
        };
        let (done, answer) = tokio::join!(run(edge, local, b"a".to_vec(), &scratch), talking);
        assert_eq!(answer, b"too large");
        done.unwrap();
    }

    #[tokio::test(flavor = "current_thread")]
    async fn half_a_tunnel_stays_open() {
        let ((edge, mut client), (local, mut server)) = (pair(), pair());
        let scratch = Scratch::default();
        let talking = async {
            client.write_all(b"last").await.unwrap();
            client.shutdown().await.unwrap();
            let mut heard = Vec::new();
            server.read_to_end(&mut heard).await.unwrap();
            server.write_all(b"answer").await.unwrap();
            server.shutdown().await.unwrap();
            let mut answer = Vec::new();
            client.read_to_end(&mut answer).await.unwrap();
            (heard, answer)
        };
        let (done, talked) = tokio::join!(run(edge, local, Vec::new(), &scratch), talking);
        done.unwrap();
        assert_eq!(talked, (b"last".to_vec(), b"answer".to_vec()));
    }
}
