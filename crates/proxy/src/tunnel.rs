//! Bytes both ways, after a connection has left HTTP (RFC 9110 section 7.8).

use std::io::IoSlice;
use std::task::{Context, Poll};

use forebay_stream::Stream;

use crate::buffer::Buffer;
use crate::timers::Timer;

/// One direction: from a socket's buffer to the other socket.
struct Way {
    ended: bool,
    closed: bool,
    moved: u64,
}

/// What a tunnel has carried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carried {
    /// Bytes to the client.
    pub(crate) down: u64,
    /// Both directions ended by themselves, and both sides have been told all.
    pub(crate) is_whole: bool,
}

/// Carries bytes until both directions have ended or nothing moved for `idle`.
pub(crate) async fn run(
    timer: &Timer,
    idle: std::time::Duration,
    client: (&mut Stream, &mut Buffer),
    origin: (&mut Stream, &mut Buffer),
) -> Carried {
    let way = || Way {
        ended: false,
        closed: false,
        moved: 0,
    };
    let (mut up, mut down) = (way(), way());
    let ((client, from_client), (origin, from_origin)) = (client, origin);
    loop {
        let before = up.moved + down.moved;
        let moving = std::future::poll_fn(|cx| {
            let up_done = up.poll(client, from_client, origin, cx);
            let down_done = down.poll(origin, from_origin, client, cx);
            match (up_done, down_done) {
                (Err(_), _) | (_, Err(_)) => Poll::Ready(false),
                (Ok(true), Ok(true)) => Poll::Ready(true),
                _ => Poll::Pending,
            }
        });
        match timer.within(idle, moving).await {
            Err(_) if up.moved + down.moved > before => {}
            ended => {
                return Carried {
                    down: down.moved,
                    is_whole: ended.unwrap_or(false),
                };
            }
        }
    }
}

impl Way {
    /// Moves what can be moved; true once this direction has ended at both sockets.
    fn poll(
        &mut self,
        from: &mut Stream,
        buffer: &mut Buffer,
        to: &mut Stream,
        cx: &mut Context<'_>,
    ) -> std::io::Result<bool> {
        loop {
            while !buffer.is_empty() {
                match to.poll_write(cx, &[IoSlice::new(buffer.filled())]) {
                    Poll::Ready(written) => {
                        let written = written?;
                        buffer.consume(written);
                        self.moved += written as u64;
                    }
                    Poll::Pending => return Ok(false),
                }
            }
            if to.poll_flush(cx)?.is_pending() {
                return Ok(false);
            }
            if self.ended {
                if !self.closed {
                    match to.poll_shutdown(cx) {
                        Poll::Ready(_) => self.closed = true,
                        Poll::Pending => return Ok(false),
                    }
                }
                return Ok(true);
            }
            buffer.release_if_empty();
            if from.poll_readable(cx).is_pending() {
                return Ok(false);
            }
            match from.poll_read(cx, buffer.space()) {
                Poll::Ready(read) => {
                    let read = read?;
                    buffer.added(read);
                    self.ended = read == 0;
                }
                Poll::Pending => return Ok(false),
            }
        }
    }
}
