//! A request's body that is kept until all of it is here: for applications, which are told its length
//! before the first byte, and for servers that are not to wait for a slow client. What is more than a
//! little goes to a file without a name.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::client::Client;
use crate::failure::{Failure, Refused};
use crate::timers::Elapsed;

/// Bytes of a body kept in memory.
const MOST_MEMORY: usize = 64 << 10;

/// Bytes of all bodies that are kept now.
static KEPT: AtomicU64 = AtomicU64::new(0);

/// Bytes read from the file at once.
const PIECE_BYTES: usize = 64 << 10;

/// A whole body.
#[derive(Debug, Default)]
pub(crate) struct Spool {
    memory: Vec<u8>,
    /// What is behind the bytes in memory.
    file: Option<File>,
    len: u64,
}

impl Spool {
    /// Takes the whole body from a client, as long as not more than `most` bytes of all bodies are
    /// kept.
    ///
    /// # Errors
    /// 413 when it alone is longer, 503 when others take the room, 408 when it does not come, 500
    /// when it cannot be kept.
    pub(crate) async fn fill(
        client: &mut impl Client,
        patience: std::time::Duration,
        most: u64,
    ) -> Result<Self, Failure> {
        let mut spool = Self::default();
        let timer = client.timer().another();
        loop {
            let reading = std::future::poll_fn(|cx| client.poll_body(cx));
            let read: Result<_, Elapsed> = timer.within(patience, reading).await;
            let piece = read.map_err(|_| TOO_SLOW)??;
            let Some(range) = piece else {
                return Ok(spool);
            };
            if spool.len + range.len() as u64 > most {
                return Err(TOO_LONG.into());
            }
            if KEPT.load(Relaxed) + range.len() as u64 > most {
                return Err(NO_ROOM.into());
            }
            let kept = spool.add(client.body_bytes(range.clone()));
            client.consume_body(range.end);
            if let Err(error) = kept {
                tracing::error!("a request's body cannot be kept in a temporary file: {error}");
                return Err(NOT_KEPT.into());
            }
        }
    }

    /// Its length in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.len += bytes.len() as u64;
        KEPT.fetch_add(bytes.len() as u64, Relaxed);
        if self.file.is_none() && self.memory.len() + bytes.len() <= MOST_MEMORY {
            self.memory.extend_from_slice(bytes);
            return Ok(());
        }
        if self.file.is_none() {
            self.file = Some(tempfile::tempfile()?);
        }
        self.file
            .as_mut()
            .map_or(Ok(()), |file| file.write_all(bytes))
    }

    /// The bytes from `at` on, as many as there are at once; none at the end. `piece` holds those
    /// that come from the file.
    pub(crate) fn read<'a>(&'a self, at: u64, piece: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        let in_memory = self.memory.len() as u64;
        if at < in_memory {
            return Ok(self.memory.get(at as usize..).unwrap_or_default());
        }
        let left = usize::try_from(self.len - at.min(self.len)).unwrap_or(PIECE_BYTES);
        piece.resize(left.min(PIECE_BYTES), 0);
        if let Some(file) = &self.file {
            file.read_exact_at(piece, at - in_memory)?;
        }
        Ok(piece)
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        KEPT.fetch_sub(self.len, Relaxed);
    }
}

const TOO_SLOW: Failure =
    Failure::Client(Refused::new(408, "the request's body did not come in time"));
const TOO_LONG: Refused = Refused::new(413, "the request's body is too large");
const NO_ROOM: Refused = Refused::new(503, "too many requests' bodies are being kept");
const NOT_KEPT: Refused = Refused::new(500, "the request's body cannot be kept");

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_back_wherever_it_lies() {
        for bytes in [0, 1, MOST_MEMORY, MOST_MEMORY + 1, 3 * MOST_MEMORY + 777] {
            let body: Vec<u8> = (0..bytes).map(|i| (i / 7) as u8).collect();
            let mut spool = Spool::default();
            for piece in body.chunks(5000) {
                spool.add(piece).unwrap();
            }
            assert_eq!(spool.len(), bytes as u64);
            let (mut read, mut piece) = (Vec::new(), Vec::new());
            loop {
                let more = spool.read(read.len() as u64, &mut piece).unwrap().to_vec();
                if more.is_empty() {
                    break;
                }
                read.extend_from_slice(&more);
            }
            assert!(read == body, "{bytes}");
        }
    }
}
