//! A body that grows while it is fetched and never changes once it is whole.
//!
//! ```text
//!  Writer ──append──▶ pieces ──read──▶ Reader, Reader, …     growing
//!         ──finish──▶ Sealed chunks ──borrow──▶ every hit    whole
//!         ──spool───▶ pieces on disk ──read──▶ Reader, …     whole, but not in memory
//!         ──drop────▶ Failed                                 never looks whole
//! ```
//!
//! A whole body is read without a lock. A growing one is behind a small lock;
//! its readers are woken at once by each append. A body that is not going to
//! be stored is *windowed*: pieces that every reader has passed are dropped,
//! and its writer waits when it is further ahead of the slowest reader than
//! the window allows.

mod spool;

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};
use parking_lot::Mutex;

use crate::budget::{Budget, Charge, allocated};

pub use spool::Stored;

/// Bodies are kept in allocations of at most this size, so that freed memory fits the next body.
const CHUNK_BYTES: usize = 64 << 10;

/// A response body, shared by the index and everyone who reads it.
#[derive(Debug)]
pub struct Body {
    whole: OnceLock<Whole>,
    growing: Mutex<Growing>,
    /// The length that was announced, if any.
    expected: Option<u64>,
}

/// The chunks of a body that is complete.
#[derive(Debug)]
pub struct Whole {
    chunks: Box<[Bytes]>,
    len: u64,
}

#[derive(Debug)]
struct Growing {
    pieces: VecDeque<Piece>,
    /// Offset of the first piece kept.
    start: u64,
    len: u64,
    /// How many pieces at the end share the allocation being filled.
    open: usize,
    state: State,
    window: Option<u64>,
    /// Bytes from the start on that were given to the disk, or are on it.
    spooled: u64,
    /// Bytes of pieces that are on disk and no longer in memory.
    stored: u64,
    readers: Vec<Option<Place>>,
    writer: Option<Waker>,
    trailers: Option<Box<[u8]>>,
    charge: Charge,
}

/// A run of a body's bytes.
#[derive(Clone, Debug)]
enum Piece {
    Memory(Bytes),
    Stored(Stored),
}

impl Piece {
    fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::Stored(stored) => stored.len(),
        }
    }
}

/// Where a reader stands.
#[derive(Debug)]
struct Place {
    at: u64,
    waker: Option<Waker>,
    /// It was too slow for the others: what comes next for it is gone.
    left_behind: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Growing,
    Complete,
    Failed,
}

impl Body {
    /// A body that is complete from the start.
    pub fn complete(budget: &Arc<Budget>, parts: &[&[u8]]) -> Arc<Self> {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        let (mut writer, body) = Self::growing(budget, Some(len as u64), None);
        for part in parts {
            writer.append(part);
        }
        writer.finish(None);
        body
    }

    /// A body to be written by the [`Writer`]; `expected` bytes if the length was announced.
    /// With a `window` it is not kept for later readers.
    pub fn growing(
        budget: &Arc<Budget>,
        expected: Option<u64>,
        window: Option<u64>,
    ) -> (Writer, Arc<Self>) {
        let body = Arc::new(Self {
            whole: OnceLock::new(),
            growing: Mutex::new(Growing {
                pieces: VecDeque::new(),
                start: 0,
                len: 0,
                open: 0,
                state: State::Growing,
                window,
                spooled: 0,
                stored: 0,
                readers: Vec::new(),
                writer: None,
                trailers: None,
                charge: Charge::new(budget),
            }),
            expected,
        });
        (
            Writer {
                body: Arc::clone(&body),
                buffer: BytesMut::new(),
                finished: false,
            },
            body,
        )
    }

    /// The complete body, if it is complete and kept.
    #[inline]
    pub fn whole(&self) -> Option<&Whole> {
        self.whole.get()
    }

    /// The length, when it is known already.
    pub fn known_len(&self) -> Option<u64> {
        self.whole.get().map(|whole| whole.len).or(self.expected)
    }

    /// Whether it will not grow any more and can be read from its first byte, from memory or
    /// from disk.
    pub fn is_complete(&self) -> bool {
        self.whole.get().is_some() || {
            let growing = self.growing.lock();
            growing.state == State::Complete && growing.window.is_none()
        }
    }

    /// Whether the fetch broke off.
    pub fn failed(&self) -> bool {
        self.whole.get().is_none() && self.growing.lock().state == State::Failed
    }

    /// Whether nobody may start to read it any more, because its beginning may be gone.
    pub fn is_windowed(&self) -> bool {
        self.whole.get().is_none() && self.growing.lock().window.is_some()
    }

    /// Whether anyone is reading it while it grows.
    pub fn has_readers(&self) -> bool {
        self.whole.get().is_none() && self.growing.lock().slowest().is_some()
    }

    /// Bytes it holds in memory.
    pub fn memory_bytes(&self) -> u64 {
        self.growing.lock().charge.bytes()
    }

    /// Starts to read at `from`; `None` when that byte is gone.
    pub fn reader(self: &Arc<Self>, from: u64) -> Option<Reader> {
        let mut growing = self.growing.lock();
        if self.whole.get().is_none() && growing.start > from {
            return None;
        }
        let slot = growing
            .readers
            .iter()
            .position(Option::is_none)
            .unwrap_or_else(|| {
                growing.readers.push(None);
                growing.readers.len() - 1
            });
        growing.readers[slot] = Some(Place {
            at: from,
            waker: None,
            left_behind: false,
        });
        drop(growing);
        Some(Reader {
            body: Arc::clone(self),
            at: from,
            slot,
        })
    }
}

impl Whole {
    fn new(chunks: Box<[Bytes]>) -> Self {
        let len = chunks.iter().map(|chunk| chunk.len() as u64).sum();
        Self { chunks, len }
    }

    fn memory_bytes(&self) -> u64 {
        self.chunks
            .iter()
            .map(|chunk| allocated(chunk.len()) + 96)
            .sum()
    }

    /// Bytes of the whole body.
    #[inline]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The chunks in order.
    #[inline]
    pub fn chunks(&self) -> &[Bytes] {
        &self.chunks
    }

    /// Up to `max` slices that cover the body from `from` to `end`, as far as they go.
    pub fn slices<'a>(&'a self, from: u64, end: u64, max: usize, out: &mut Vec<&'a [u8]>) {
        let mut start = 0;
        for chunk in &self.chunks {
            let stop = start + chunk.len() as u64;
            if from < end && stop > from && start < end {
                let low = from.saturating_sub(start) as usize;
                let high = (end - start).min(chunk.len() as u64) as usize;
                out.push(&chunk[low..high]);
                if out.len() >= max {
                    return;
                }
            }
            start = stop;
        }
    }
}

impl Growing {
    fn slowest(&self) -> Option<u64> {
        let following = self
            .readers
            .iter()
            .flatten()
            .filter(|place| !place.left_behind);
        following.map(|place| place.at).min()
    }

    /// Drops what every reader has passed.
    fn drop_passed(&mut self) {
        let keep_from = self.slowest().unwrap_or(self.len);
        while let Some(first) = self.pieces.front() {
            let stop = self.start + first.len();
            if stop > keep_from {
                break;
            }
            self.start = stop;
            self.pieces.pop_front();
        }
        self.open = self.open.min(self.pieces.len());
        self.charge.set(self.len - self.start);
    }

    fn wake_readers(&mut self) {
        let wakers = self
            .readers
            .iter_mut()
            .flatten()
            .filter_map(|place| place.waker.take());
        wakers.for_each(Waker::wake);
    }

    /// Copies the pieces of the allocation that was just filled into one exact chunk.
    fn merge_open(&mut self) {
        let first = self.pieces.len() - self.open;
        if self.open > 1 {
            let bytes: u64 = self.pieces.range(first..).map(Piece::len).sum();
            let mut merged = Vec::with_capacity(bytes as usize);
            for piece in self.pieces.drain(first..) {
                // What is being filled has not been given to the disk.
                if let Piece::Memory(bytes) = piece {
                    merged.extend_from_slice(&bytes);
                }
            }
            self.pieces.push_back(Piece::Memory(Bytes::from(merged)));
        }
        self.open = 0;
    }
}

/// The fetching side of a body; dropped before [`Writer::finish`], the body has failed.
#[derive(Debug)]
pub struct Writer {
    body: Arc<Body>,
    buffer: BytesMut,
    finished: bool,
}

impl Writer {
    /// The body it writes.
    pub fn body(&self) -> &Arc<Body> {
        &self.body
    }

    /// Bytes appended so far.
    pub fn written(&self) -> u64 {
        self.body.growing.lock().len
    }

    /// Adds bytes at the end and wakes the readers.
    pub fn append(&mut self, mut data: &[u8]) {
        let mut growing = self.body.growing.lock();
        while !data.is_empty() {
            if self.buffer.capacity() == 0 {
                growing.merge_open();
                self.buffer = BytesMut::with_capacity(self.next_allocation(growing.len, data));
            }
            let take = data.len().min(self.buffer.capacity());
            self.buffer.extend_from_slice(&data[..take]);
            let piece = self.buffer.split().freeze();
            growing.pieces.push_back(Piece::Memory(piece));
            growing.open += 1;
            growing.len += take as u64;
            data = &data[take..];
        }
        if growing.window.is_some() {
            growing.drop_passed();
        } else {
            let held = growing.len - growing.stored + self.buffer.capacity() as u64;
            growing.charge.set(held);
        }
        growing.wake_readers();
    }

    fn next_allocation(&self, written: u64, data: &[u8]) -> usize {
        let rest = match self.body.expected {
            Some(expected) => expected.saturating_sub(written).min(CHUNK_BYTES as u64) as usize,
            // Small until it proves large: most bodies of unknown length are pages.
            None if written == 0 => 8 << 10,
            None => CHUNK_BYTES,
        };
        rest.max(data.len().min(CHUNK_BYTES))
    }

    /// Stops keeping what readers have passed: the body is not going to be stored.
    pub fn stop_keeping(&mut self, window: u64) {
        let mut growing = self.body.growing.lock();
        growing.window = Some(window);
        growing.drop_passed();
    }

    /// Ready when the writer may append: always, unless a windowed body's readers are behind.
    pub fn poll_room(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut growing = self.body.growing.lock();
        let ahead = growing
            .slowest()
            .map_or(0, |slowest| growing.len - slowest.min(growing.len));
        match growing.window {
            Some(window) if ahead > window => {
                growing.writer = Some(cx.waker().clone());
                Poll::Pending
            }
            _ => Poll::Ready(()),
        }
    }

    /// Whether anyone is reading.
    pub fn has_readers(&self) -> bool {
        self.body.has_readers()
    }

    /// Gives up the readers that hold all others back; they learn that they have not got it all.
    pub fn leave_slowest_behind(&self) {
        let mut growing = self.body.growing.lock();
        let slowest = growing.slowest();
        for place in growing.readers.iter_mut().flatten() {
            place.left_behind |= Some(place.at) == slowest;
        }
        growing.wake_readers();
        growing.drop_passed();
    }

    /// The body is complete; `trailers` are the field lines that followed it.
    pub fn finish(mut self, trailers: Option<Box<[u8]>>) {
        self.finished = true;
        let mut growing = self.body.growing.lock();
        growing.trailers = trailers;
        growing.state = State::Complete;
        if growing.window.is_none() {
            // An allocation that is not nearly full is copied into one that fits.
            if self.buffer.capacity() > 64 && growing.open == 1 {
                if let Some(Piece::Memory(last)) = growing.pieces.pop_back() {
                    let fitting = Bytes::from(last.to_vec());
                    growing.pieces.push_back(Piece::Memory(fitting));
                }
                growing.open = 0;
            }
            growing.merge_open();
            let chunks = growing.pieces.drain(..).filter_map(|piece| match piece {
                Piece::Memory(bytes) => Some(bytes),
                Piece::Stored(_) => None,
            });
            let whole = Whole::new(chunks.collect());
            growing.charge.set(whole.memory_bytes());
            let _ = self.body.whole.set(whole);
            growing.pieces = VecDeque::new();
        }
        growing.wake_readers();
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if !self.finished {
            let mut growing = self.body.growing.lock();
            growing.state = State::Failed;
            growing.wake_readers();
        }
    }
}

/// What a reader finds at its position.
#[derive(Debug, PartialEq, Eq)]
pub enum Read {
    /// Bytes were put into the given list.
    Data,
    /// The next bytes lie on disk: the caller reads them, all of them, before it asks again.
    Stored(Stored),
    /// The body is complete and read to its end; these trailers followed it.
    End(Option<Box<[u8]>>),
    /// The fetch broke off: what was read is not the whole.
    Failed,
}

/// One reader of a body, at its own position.
#[derive(Debug)]
pub struct Reader {
    body: Arc<Body>,
    at: u64,
    slot: usize,
}

impl Reader {
    /// The body it reads.
    pub fn body(&self) -> &Arc<Body> {
        &self.body
    }

    /// Adds up to `max` pieces from the position on to `out` and moves past them.
    pub fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        max: usize,
        out: &mut Vec<Bytes>,
    ) -> Poll<Read> {
        let body = Arc::clone(&self.body);
        if let Some(whole) = body.whole.get() {
            return Poll::Ready(self.take_whole(whole, max, out));
        }
        let mut growing = body.growing.lock();
        // Another worker may have completed it between the look above and the lock.
        if let Some(whole) = body.whole.get() {
            drop(growing);
            return Poll::Ready(self.take_whole(whole, max, out));
        }
        if growing.readers[self.slot]
            .as_ref()
            .is_some_and(|place| place.left_behind)
        {
            return Poll::Ready(Read::Failed);
        }
        if self.at < growing.len {
            let start = growing.start;
            let read = self.take(&growing.pieces, start, max, out);
            if let Some(place) = &mut growing.readers[self.slot] {
                place.at = self.at;
            }
            if growing.window.is_some() {
                growing.drop_passed();
                if let Some(writer) = growing.writer.take() {
                    writer.wake();
                }
            }
            return Poll::Ready(read);
        }
        match growing.state {
            State::Complete => Poll::Ready(Read::End(growing.trailers.clone())),
            State::Failed => Poll::Ready(Read::Failed),
            State::Growing => {
                if let Some(place) = &mut growing.readers[self.slot] {
                    place.waker = Some(cx.waker().clone());
                }
                Poll::Pending
            }
        }
    }

    fn take_whole(&mut self, whole: &Whole, max: usize, out: &mut Vec<Bytes>) -> Read {
        let before = out.len();
        let mut start = 0;
        for chunk in &whole.chunks {
            let stop = start + chunk.len() as u64;
            if stop > self.at {
                out.push(chunk.slice((self.at - start) as usize..));
                self.at = stop;
                if out.len() - before == max {
                    break;
                }
            }
            start = stop;
        }
        if out.len() > before {
            return Read::Data;
        }
        Read::End(self.body.growing.lock().trailers.clone())
    }

    /// The pieces from the position on, which starts within them.
    fn take(
        &mut self,
        pieces: &VecDeque<Piece>,
        mut start: u64,
        max: usize,
        out: &mut Vec<Bytes>,
    ) -> Read {
        let before = out.len();
        for piece in pieces {
            let stop = start + piece.len();
            if stop > self.at {
                match piece {
                    Piece::Memory(bytes) => out.push(bytes.slice((self.at - start) as usize..)),
                    Piece::Stored(_) if out.len() > before => break,
                    Piece::Stored(stored) => {
                        let rest = stored.from(self.at - start);
                        self.at = stop;
                        return Read::Stored(rest);
                    }
                }
                self.at = stop;
                if out.len() - before == max {
                    break;
                }
            }
            start = stop;
        }
        Read::Data
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut growing = self.body.growing.lock();
        growing.readers[self.slot] = None;
        if growing.window.is_some() {
            growing.drop_passed();
        }
        if let Some(writer) = growing.writer.take() {
            writer.wake();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read_all(reader: &mut Reader) -> (Vec<u8>, Option<Read>) {
        let mut cx = Context::from_waker(Waker::noop());
        let mut text = Vec::new();
        loop {
            let mut pieces = Vec::new();
            match reader.poll_read(&mut cx, 2, &mut pieces) {
                Poll::Ready(Read::Data) => pieces.iter().for_each(|p| text.extend_from_slice(p)),
                Poll::Ready(end) => return (text, Some(end)),
                Poll::Pending => return (text, None),
            }
        }
    }

    #[test]
    fn readers_follow_from_any_point_and_see_the_end() {
        let budget = Budget::new(1 << 20);
        let (mut writer, body) = Body::growing(&budget, None, None);
        let mut early = body.reader(0).unwrap();
        writer.append(b"hello ");
        assert_eq!(read_all(&mut early), (b"hello ".to_vec(), None));
        writer.append(b"world");
        let mut late = body.reader(3).unwrap();
        assert_eq!(read_all(&mut late), (b"lo world".to_vec(), None));
        writer.finish(Some(b"A: b\r\n"[..].into()));
        let end = Some(Read::End(Some(b"A: b\r\n"[..].into())));
        assert_eq!(read_all(&mut early), (b"world".to_vec(), end));
        let whole = body.whole().unwrap();
        assert_eq!((whole.len(), whole.chunks().len()), (11, 1));
        let mut slices = Vec::new();
        whole.slices(2, 8, 9, &mut slices);
        assert_eq!(slices, [b"llo wo"]);
    }

    #[test]
    fn a_dropped_writer_is_a_failed_body() {
        let (mut writer, body) = Body::growing(&Budget::new(100), Some(10), None);
        writer.append(b"12345");
        drop(writer);
        let mut reader = body.reader(0).unwrap();
        assert_eq!(
            read_all(&mut reader),
            (b"12345".to_vec(), Some(Read::Failed))
        );
        assert!(body.failed() && body.whole().is_none());
    }

    #[test]
    fn a_windowed_body_holds_its_writer_back_and_forgets_what_was_read() {
        let budget = Budget::new(1 << 20);
        let (mut writer, body) = Body::growing(&budget, None, Some(10));
        let mut cx = Context::from_waker(Waker::noop());
        let mut reader = body.reader(0).unwrap();
        writer.append(&[1; 11]);
        assert!(writer.poll_room(&mut cx).is_pending());
        assert_eq!(read_all(&mut reader).0.len(), 11);
        assert!(writer.poll_room(&mut cx).is_ready());
        assert!(body.reader(0).is_none(), "the beginning is gone");
        writer.append(&[2; 5]);
        writer.finish(None);
        assert_eq!(read_all(&mut reader), (vec![2; 5], Some(Read::End(None))));
        drop((reader, body));
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn memory_is_counted_while_growing_and_exact_when_whole() {
        let budget = Budget::new(1 << 20);
        let (mut writer, body) = Body::growing(&budget, Some(100_000), None);
        for _ in 0..10 {
            writer.append(&[7; 10_000]);
        }
        writer.finish(None);
        assert_eq!(body.whole().unwrap().chunks().len(), 2);
        assert!(
            (100_000..115_000).contains(&budget.used()),
            "{}",
            budget.used()
        );
        drop(body);
        assert_eq!(budget.used(), 0);
    }
}
