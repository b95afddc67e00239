//! Bytes from one socket to the other, both ways, with as little work as can be.
//!
//! All connections share the buffer that bytes pass through: it is full only between a read and
//! the write after it. What the other side does not take at once is kept by the connection.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io::{self, ErrorKind, IoSlice};
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use forebay_stream::Stream;
use tokio::time::timeout;

/// What is read at once.
const READ_BYTES: usize = 64 << 10;
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

/// Waits for the first bytes, holding nothing; an error at the end.
pub(crate) async fn read_first(stream: &mut Stream, scratch: &Scratch) -> io::Result<Vec<u8>> {
    poll_fn(|cx| {
        let mut buffer = scratch.0.borrow_mut();
        Poll::Ready(match ready!(stream.poll_read(cx, &mut buffer))? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            read => Ok(buffer[..read].to_vec()),
        })
    })
    .await
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
    /// written. A stream that is never at a loss sees to it that others get their turn.
    fn poll(
        &mut self,
        (from, to): (&mut Stream, &mut Stream),
        scratch: &Scratch,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.poll_kept(to, cx))?;
            if self.ended {
                return Poll::Ready(Ok(()));
            }
            let mut buffer = scratch.0.borrow_mut();
            match ready!(from.poll_read(cx, &mut buffer))? {
                0 => self.ended = true,
                read => self.pass(&buffer[..read], to, cx)?,
            }
        }
    }

    fn pass(&mut self, bytes: &[u8], to: &mut Stream, cx: &mut Context<'_>) -> io::Result<()> {
        if self.refused {
            return Ok(());
        }
        let written = match to.poll_write(cx, &[IoSlice::new(bytes)]) {
            Poll::Ready(Ok(written)) => written,
            Poll::Ready(Err(error)) => return self.give_up(error),
            Poll::Pending => 0,
        };
        self.kept.extend_from_slice(&bytes[written..]);
        Ok(())
    }

    /// Writes what is kept, until the socket has all of it.
    fn poll_kept(&mut self, to: &mut Stream, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.refused && self.written < self.kept.len() {
            match ready!(to.poll_write(cx, &[IoSlice::new(&self.kept[self.written..])])) {
                Ok(written) => self.written += written,
                Err(error) => self.give_up(error)?,
            }
        }
        // A buffer that was needed once is not held by a connection that idles.
        if !self.kept.is_empty() {
            (self.kept, self.written) = (Vec::new(), 0);
        }
        match self.refused {
            true => Poll::Ready(Ok(())),
            false => Poll::Ready(ready!(to.poll_flush(cx)).or_else(|error| self.give_up(error))),
        }
    }

    fn give_up(&mut self, error: io::Error) -> io::Result<()> {
        self.refused = true;
        match self.lenient {
            true => Ok(()),
            false => Err(error),
        }
    }
}

/// Carries bytes between edge and local server, to which `first` goes before all others, until
/// the local server has ended. The edge's end is passed on: half of a tunnel may stay open. What
/// breaks off breaks off at the edge as well: an answer that ends with the connection must not
/// look complete.
pub(crate) async fn run(
    mut edge: Stream,
    local: Stream,
    first: Vec<u8>,
    scratch: &Scratch,
) -> io::Result<()> {
    let done = carry(&mut edge, local, first, scratch).await;
    if done.is_err()
        && let Some(edge) = edge.tcp()
    {
        // Without it, it ends as it would have.
        let _ = edge.set_zero_linger();
    }
    done
}

async fn carry(
    edge: &mut Stream,
    mut local: Stream,
    first: Vec<u8>,
    scratch: &Scratch,
) -> io::Result<()> {
    let mut down = Way::default();
    let mut up = Way {
        kept: first,
        lenient: true,
        ..Way::default()
    };
    let edge_ended = poll_fn(|cx| {
        // The answer first: when both have ended, it is what counts.
        if let Poll::Ready(done) = down.poll((&mut local, edge), scratch, cx) {
            return Poll::Ready(done.map(|()| false));
        }
        up.poll((edge, &mut local), scratch, cx)
            .map(|done| done.map(|()| true))
    })
    .await?;
    if edge_ended {
        if !up.refused {
            local.shut_down().await?;
        }
        // An edge that is gone altogether breaks this off with the first byte.
        poll_fn(|cx| down.poll((&mut local, edge), scratch, cx)).await?;
        return edge.shut_down().await;
    }
    edge.shut_down().await?;
    timeout(LINGER, to_the_end(edge, scratch)).await?
}

/// What the edge has sent meanwhile must not reset the connection under the last bytes.
async fn to_the_end(edge: &mut Stream, scratch: &Scratch) -> io::Result<()> {
    while poll_fn(|cx| edge.poll_read(cx, &mut scratch.0.borrow_mut())).await? > 0 {}
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::UnixStream;

    fn pair() -> (Stream, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (ours.into(), theirs)
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
