//! Following exchanges: lines to a client as they come, until it goes.
//!
//! A thread waits for events and hands them to the connection's task through a
//! short queue. When the client does not keep up, the queue fills, the thread
//! waits, and what the server then drops is counted and told.

use crate::answer::{Answer, stream_head};
use crate::api::tail::{self, Follow};
use crate::connection::Stream;
use crate::control::{Tail, TailEvent};
use crate::server::Server;
use forebay_http::{Method, RequestHead, chunked};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::time::timeout;

/// Events between the thread and the task.
const QUEUE: usize = 256;
/// How long the thread waits before it looks whether anybody still listens.
const LOOK: Duration = Duration::from_millis(250);
/// After so long without a line an empty one is sent, so that a client that
/// vanished without a word is noticed.
const ALIVE: Duration = Duration::from_secs(15);
/// How long a client may take nothing, for an operator who pauses the screen.
const PATIENCE: Duration = Duration::from_secs(300);

impl Server {
    /// Streams until the client goes, the limit is reached, or the server stops.
    ///
    /// # Errors
    /// The answer when it cannot begin: 503.
    pub(crate) async fn follow(
        &self,
        stream: &mut impl Stream,
        head: &RequestHead,
        follow: Follow,
    ) -> Result<(), Answer> {
        let busy = || Answer::error(503, "too many are following exchanges already");
        let _place = Arc::clone(&self.followers)
            .try_acquire_owned()
            .map_err(|_| busy())?;
        let control = Arc::clone(&self.control);
        let filter = follow.filter.clone();
        let tail = tokio::task::spawn_blocking(move || control.tail(&filter)).await;
        let tail = tail.map_err(|error| Answer::error(500, &error.to_string()))??;
        let (sender, events) = mpsc::channel(QUEUE);
        let _pump = tokio::task::spawn_blocking(move || pump(tail, &sender));
        let (reader, writer) = tokio::io::split(stream);
        let mut lines = Lines {
            writer,
            chunked: !head.http10,
        };
        let begin = stream_head("application/x-ndjson", lines.chunked);
        if lines.send(&begin).await.is_err() || head.method == Method::Head {
            return Ok(());
        }
        let mut stopping = self.stopping.clone();
        tokio::select! {
            done = lines.run(events, follow.limit) => if done.is_err() { return Ok(()) },
            () = gone(reader) => return Ok(()),
            _ = stopping.wait_for(|stop| *stop) => {}
        }
        let _ = lines.end().await;
        Ok(())
    }
}

/// Waits for events until nobody takes them any more.
fn pump(mut tail: Box<dyn Tail>, to: &Sender<TailEvent>) {
    while !to.is_closed() {
        match tail.next(LOOK) {
            TailEvent::Quiet => {}
            TailEvent::End => return,
            event => {
                if to.blocking_send(event).is_err() {
                    return;
                }
            }
        }
    }
}

/// The client's side of the connection.
struct Lines<S> {
    writer: WriteHalf<S>,
    chunked: bool,
}

impl<S: AsyncRead + AsyncWrite> Lines<S> {
    /// Sends lines until there are no more, or `limit` exchanges were sent.
    async fn run(
        &mut self,
        mut events: Receiver<TailEvent>,
        limit: Option<usize>,
    ) -> io::Result<()> {
        let mut left = limit.unwrap_or(usize::MAX);
        let mut batch = Vec::with_capacity(QUEUE);
        while left > 0 {
            let count = match timeout(ALIVE, events.recv_many(&mut batch, QUEUE)).await {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(_) => {
                    self.chunk(b"\n").await?;
                    continue;
                }
            };
            let mut lines = Vec::with_capacity(count * 256);
            for event in batch.drain(..) {
                if left > 0 {
                    left -= tail::write(&event, &mut lines);
                }
            }
            self.chunk(&lines).await?;
        }
        Ok(())
    }

    async fn chunk(&mut self, lines: &[u8]) -> io::Result<()> {
        if lines.is_empty() || !self.chunked {
            return self.send(lines).await;
        }
        let mut chunk = Vec::with_capacity(lines.len() + 16);
        chunked::write_chunk_head(&mut chunk, lines.len());
        chunk.extend_from_slice(lines);
        chunk.extend_from_slice(b"\r\n");
        self.send(&chunk).await
    }

    async fn end(&mut self) -> io::Result<()> {
        if self.chunked {
            self.send(chunked::LAST_CHUNK).await?;
        }
        self.writer.shutdown().await
    }

    async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match timeout(PATIENCE, self.writer.write_all(bytes)).await {
            Ok(result) => result,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

/// Resolves when the client has closed its side, or the connection fails. What
/// it still sends is ignored.
async fn gone<S: AsyncRead + AsyncWrite>(mut reader: ReadHalf<S>) {
    let mut ignored = [0; 1 << 10];
    while let Ok(count) = reader.read(&mut ignored).await {
        if count == 0 {
            return;
        }
    }
}
