//! Bodies on disk: pieces that leave memory while the body is fetched, and
//! bodies that were found on disk and are read from there.
//!
//! ```text
//!  append ─▶ closed chunks ──take_for_disk──▶ the disk's writer
//!                 ▲                               │ written
//!                 └────────── stored ◀────────────┘ the memory is given back
//! ```

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use forebay_store::{Extent, ReadError, Wait};

use super::{Body, Piece, State, Whole, Writer};
use crate::budget::Budget;

/// How far the fetch of a body that the disk did not take may be ahead of its readers.
const GIVEN_UP_WINDOW: u64 = 1 << 20;

/// Bytes of a body that lie on disk.
#[derive(Clone, Debug)]
pub struct Stored {
    extent: Arc<Extent>,
    start: u64,
    end: u64,
}

impl PartialEq for Stored {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.extent, &other.extent)
            && (self.start, self.end) == (other.start, other.end)
    }
}

impl Eq for Stored {}

impl Stored {
    /// The first `len` bytes of the data of `extent`.
    pub(crate) fn new(extent: Arc<Extent>, len: u64) -> Self {
        Self {
            extent,
            start: 0,
            end: len,
        }
    }

    /// How many bytes.
    pub fn len(&self) -> u64 {
        self.end - self.start
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.end == self.start
    }

    /// The record they lie in.
    pub(crate) fn extent(&self) -> &Arc<Extent> {
        &self.extent
    }

    /// Without the first `count` bytes.
    pub(crate) fn from(&self, count: u64) -> Self {
        Self {
            extent: Arc::clone(&self.extent),
            start: (self.start + count).min(self.end),
            end: self.end,
        }
    }

    /// Takes up to `count` bytes off the front.
    pub fn split(&mut self, count: u64) -> Self {
        let middle = (self.start + count).min(self.end);
        let front = Self {
            extent: Arc::clone(&self.extent),
            start: self.start,
            end: middle,
        };
        self.start = middle;
        front
    }

    /// The bytes, verified; `None` when that would take waiting and `wait` forbids it.
    ///
    /// # Errors
    /// What lies there is not what was written, or the disk failed.
    pub fn read(&self, wait: Wait) -> Result<Option<Vec<Bytes>>, ReadError> {
        self.extent.read_data(self.start..self.end, wait)
    }
}

impl Body {
    /// A body whose bytes are all on disk.
    pub(crate) fn on_disk(budget: &Arc<Budget>, pieces: Vec<Stored>) -> Arc<Self> {
        let len = pieces.iter().map(Stored::len).sum();
        let (mut writer, body) = Self::growing(budget, Some(len), None);
        {
            let mut growing = body.growing.lock();
            growing.pieces = pieces.into_iter().map(Piece::Stored).collect();
            (growing.len, growing.stored, growing.spooled) = (len, len, len);
            growing.state = State::Complete;
            let held = growing.pieces.len() * size_of::<Piece>();
            growing.charge.set(held as u64);
        }
        writer.finished = true;
        body
    }

    /// A body that was read from disk into memory.
    pub(crate) fn in_memory(budget: &Arc<Budget>, chunks: Vec<Bytes>) -> Arc<Self> {
        let whole = Whole::new(
            chunks
                .into_iter()
                .filter(|chunk| !chunk.is_empty())
                .collect(),
        );
        let (mut writer, body) = Self::growing(budget, Some(whole.len()), None);
        {
            let mut growing = body.growing.lock();
            (growing.len, growing.state) = (whole.len(), State::Complete);
            growing.charge.set(whole.memory_bytes());
            let _ = body.whole.set(whole);
        }
        writer.finished = true;
        body
    }

    /// The pieces of a body that is complete and wholly on disk.
    pub(crate) fn stored_pieces(&self) -> Option<Vec<Stored>> {
        if self.whole.get().is_some() {
            return None;
        }
        let growing = self.growing.lock();
        if growing.state != State::Complete || growing.window.is_some() {
            return None;
        }
        growing
            .pieces
            .iter()
            .map(|piece| match piece {
                Piece::Stored(stored) => Some(stored.clone()),
                Piece::Memory(_) => None,
            })
            .collect()
    }

    /// Whether it is complete, and its bytes are read from disk.
    pub fn is_on_disk(&self) -> bool {
        self.whole.get().is_none() && {
            let growing = self.growing.lock();
            growing.state == State::Complete && growing.window.is_none()
        }
    }

    /// The bytes from `from` on are on disk now; their memory is given back.
    pub(crate) fn stored(&self, from: u64, stored: Stored) {
        let mut growing = self.growing.lock();
        if growing.window.is_some() {
            return;
        }
        let (mut at, mut first, mut count) = (growing.start, 0, 0);
        for (place, piece) in growing.pieces.iter().enumerate() {
            if at == from && count == 0 {
                first = place;
            }
            if at >= from && at < from + stored.len() {
                count += 1;
            }
            at += piece.len();
        }
        if count > 0 {
            growing.stored += stored.len();
            growing.pieces.drain(first + 1..first + count);
            growing.pieces[first] = Piece::Stored(stored);
            let held = growing.len - growing.stored;
            growing.charge.set(held);
        }
        if let Some(writer) = growing.writer.take() {
            writer.wake();
        }
    }
}

impl Body {
    /// The disk cannot take it: from now on it follows its readers and is not kept.
    pub fn give_up_spooling(&self) {
        let mut growing = self.growing.lock();
        if growing.state == State::Complete || self.whole.get().is_some() {
            return;
        }
        growing.window.get_or_insert(GIVEN_UP_WINDOW);
        growing.drop_passed();
        if let Some(writer) = growing.writer.take() {
            writer.wake();
        }
    }
}

impl Writer {
    /// At least `least` bytes that were not given to the disk before, as they lie in memory, and
    /// the offset of the first. Those being filled are not among them.
    pub fn take_for_disk(&mut self, least: u64) -> Option<(u64, Vec<Bytes>)> {
        let mut growing = self.body.growing.lock();
        let closed = growing.pieces.len() - growing.open;
        let from = growing.spooled;
        let (mut at, mut taken, mut bytes) = (growing.start, 0, Vec::new());
        for piece in growing.pieces.range(..closed) {
            if at >= from
                && taken < least
                && let Piece::Memory(chunk) = piece
            {
                taken += chunk.len() as u64;
                bytes.push(chunk.clone());
            }
            at += piece.len();
        }
        if taken < least || bytes.is_empty() {
            return None;
        }
        growing.spooled += taken;
        Some((from, bytes))
    }

    /// Closes what is being filled, so that all of it can be given to the disk.
    pub fn close_chunk(&mut self) {
        let mut growing = self.body.growing.lock();
        growing.merge_open();
        self.buffer = bytes::BytesMut::new();
    }

    /// Bytes that were not given to the disk yet.
    pub fn unspooled(&self) -> u64 {
        let growing = self.body.growing.lock();
        growing.len - growing.spooled
    }

    /// Ready when at most `most` bytes of the body are in memory.
    pub fn poll_spooled(&self, cx: &mut Context<'_>, most: u64) -> Poll<()> {
        let mut growing = self.body.growing.lock();
        if growing.len - growing.stored <= most || growing.window.is_some() {
            return Poll::Ready(());
        }
        growing.writer = Some(cx.waker().clone());
        Poll::Pending
    }

    /// The body is complete, and read from where it lies: from disk, but for what the disk has
    /// not taken yet.
    pub fn finish_spooled(mut self, trailers: Option<Box<[u8]>>) {
        self.finished = true;
        let mut growing = self.body.growing.lock();
        growing.trailers = trailers;
        growing.state = State::Complete;
        growing.wake_readers();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use forebay_store::{Id, Kind, Log, New, Options};

    /// A log, and how it takes bytes of a body.
    fn store(log: &Log, bytes: &[Bytes]) -> Stored {
        let data: Vec<&[u8]> = bytes.iter().map(|bytes| &bytes[..]).collect();
        let id = Id { key: 1, variant: 0 };
        let record = New {
            id,
            kind: Kind::Piece,
            meta: b"",
            data: &data,
        };
        let place = log.append(&[record]).unwrap()[0];
        let len = data.iter().map(|data| data.len() as u64).sum();
        Stored::new(Arc::new(log.extent(place).unwrap()), len)
    }

    fn read_to_the_end(body: &Arc<Body>, from: u64) -> Vec<u8> {
        let mut reader = body.reader(from).unwrap();
        let (mut text, mut cx) = (Vec::new(), Context::from_waker(std::task::Waker::noop()));
        loop {
            let mut pieces = Vec::new();
            match reader.poll_read(&mut cx, 3, &mut pieces) {
                Poll::Ready(super::super::Read::Data) => text.extend(pieces.concat()),
                Poll::Ready(super::super::Read::Stored(stored)) => {
                    let read = stored.read(Wait::Yes).unwrap().unwrap();
                    text.extend(read.concat());
                }
                _ => return text,
            }
        }
    }

    #[test]
    fn a_body_leaves_memory_piece_by_piece_and_is_read_from_where_it_lies() {
        let directory = tempfile::tempdir().unwrap();
        let log = Log::open(Options {
            path: directory.path().to_owned(),
            size_bytes: 64 << 20,
            segment_bytes: None,
        })
        .unwrap();
        let budget = Budget::new(1 << 30);
        let text: Vec<u8> = (0..700_000u32).map(|n| (n % 251) as u8).collect();
        let (mut writer, body) = Body::growing(&budget, Some(text.len() as u64), None);
        let mut waiting = Vec::new();
        for part in text.chunks(10_000) {
            writer.append(part);
            while let Some((from, bytes)) = writer.take_for_disk(128 << 10) {
                waiting.push((from, bytes));
            }
            assert_eq!(read_to_the_end(&body, 0), text[..writer.written() as usize]);
        }
        let mut cx = Context::from_waker(std::task::Waker::noop());
        assert!(writer.poll_spooled(&mut cx, 300_000).is_pending());
        // What was written last is on disk first.
        for (from, bytes) in waiting.drain(..).rev() {
            body.stored(from, store(&log, &bytes));
            assert_eq!(read_to_the_end(&body, 5), text[5..]);
        }
        assert!(writer.poll_spooled(&mut cx, 300_000).is_ready());
        writer.close_chunk();
        let (from, bytes) = writer.take_for_disk(1).unwrap();
        body.stored(from, store(&log, &bytes));
        assert_eq!((writer.unspooled(), writer.take_for_disk(1)), (0, None));
        writer.finish_spooled(None);
        assert!(body.is_complete() && body.is_on_disk() && body.whole().is_none());
        assert!(body.memory_bytes() < 1000, "{}", body.memory_bytes());
        let again = Body::on_disk(&budget, body.stored_pieces().unwrap());
        for from in [0, 1, 131_071, 131_072, 131_073, 699_999] {
            assert_eq!(
                read_to_the_end(&again, from),
                text[from as usize..],
                "{from}"
            );
        }
    }

    #[test]
    fn a_body_that_the_disk_does_not_take_follows_its_readers() {
        let budget = Budget::new(1 << 30);
        let (mut writer, body) = Body::growing(&budget, None, None);
        writer.append(&[7; 300_000]);
        assert!(writer.take_for_disk(100_000).is_some());
        body.give_up_spooling();
        assert!(body.is_windowed() && !body.is_complete());
        writer.finish_spooled(None);
        assert!(!body.is_complete(), "it was not kept");
    }
}
