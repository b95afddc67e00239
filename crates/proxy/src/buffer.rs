//! Read buffers, lent to whoever has something to read.
//!
//! An idle connection holds none: it takes one when its socket is readable and
//! gives it back when it is empty, so ten thousand idle connections share the
//! few buffers that are in use at one moment.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

/// Size of a buffer; a head may make it grow.
const BUFFER_BYTES: usize = 32 << 10;

/// Buffers kept for reuse by each worker.
const MOST_SPARE: usize = 128;

/// A worker's spare buffers.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    spare: RefCell<Vec<Vec<u8>>>,
}

/// Bytes that were read and not yet consumed.
#[derive(Debug)]
pub(crate) struct Buffer {
    pool: Rc<Buffers>,
    /// Its length is its capacity; empty when there is nothing in it.
    data: Vec<u8>,
    start: usize,
    end: usize,
}

impl Buffer {
    pub(crate) fn new(pool: &Rc<Buffers>) -> Self {
        Self {
            pool: Rc::clone(pool),
            data: Vec::new(),
            start: 0,
            end: 0,
        }
    }

    /// What is there to consume.
    #[inline]
    pub(crate) fn filled(&self) -> &[u8] {
        &self.data[self.start..self.end]
    }

    /// The same, to be moved about in.
    pub(crate) fn filled_mut(&mut self) -> &mut [u8] {
        &mut self.data[self.start..self.end]
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    #[inline]
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.start += bytes;
        debug_assert!(self.start <= self.end);
    }

    /// Room to read into, at least one byte; `added` tells how much was read.
    pub(crate) fn space(&mut self) -> &mut [u8] {
        self.space_behind(0)
    }

    /// Like [`Buffer::space`]; an empty buffer is left free for so many bytes at its start, for
    /// what is going to be put [before](Buffer::put_before) what is read.
    pub(crate) fn space_behind(&mut self, room: usize) -> &mut [u8] {
        if self.data.is_empty() {
            let spare = self.pool.spare.borrow_mut().pop();
            self.data = spare.unwrap_or_else(|| vec![0; BUFFER_BYTES]);
        }
        if self.start == self.end {
            (self.start, self.end) = (room, room);
        } else if self.end == self.data.len() {
            if self.start > 0 {
                self.data.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
            } else {
                self.data.resize(self.data.len() * 2, 0);
            }
        }
        &mut self.data[self.end..]
    }

    pub(crate) fn added(&mut self, bytes: usize) {
        self.end += bytes;
    }

    /// Puts `bytes` right before a range of what is there, over what is of no more use, if they
    /// fit. Returns both as one.
    pub(crate) fn put_before(&mut self, range: Range<usize>, bytes: &[u8]) -> Option<&[u8]> {
        let start = (self.start + range.start).checked_sub(bytes.len())?;
        self.data[start..start + bytes.len()].copy_from_slice(bytes);
        Some(&self.data[start..self.start + range.end])
    }

    /// Gives the memory back if there is nothing in it.
    #[inline]
    pub(crate) fn release_if_empty(&mut self) {
        if self.start == self.end && !self.data.is_empty() {
            self.give_back();
        }
    }

    fn give_back(&mut self) {
        let data = std::mem::take(&mut self.data);
        (self.start, self.end) = (0, 0);
        let mut spare = self.pool.spare.borrow_mut();
        if data.len() == BUFFER_BYTES && spare.len() < MOST_SPARE {
            spare.push(data);
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if !self.data.is_empty() {
            self.give_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_compaction_and_growth_and_memory_is_shared() {
        let pool = Rc::new(Buffers::default());
        let mut buffer = Buffer::new(&pool);
        let room = buffer.space().len();
        buffer.space().fill(7);
        buffer.added(room);
        buffer.consume(room - 2);
        assert_eq!(buffer.filled(), [7, 7]);
        let room = buffer.space().len();
        buffer.space()[..room].fill(8);
        buffer.added(room);
        assert!(!buffer.space().is_empty(), "a full buffer grows");
        assert_eq!(&buffer.filled()[..3], [7, 7, 8]);
        drop(buffer);
        let mut behind = Buffer::new(&pool);
        behind.space_behind(4)[..4].copy_from_slice(b"body");
        behind.added(4);
        assert_eq!(behind.put_before(1..3, b"head"), Some(&b"headod"[..]));
        assert_eq!(behind.put_before(0..4, b"a head"), None);
        drop(behind);
        let mut one = Buffer::new(&pool);
        one.space();
        one.release_if_empty();
        let mut two = Buffer::new(&pool);
        two.space();
        assert!(pool.spare.borrow().is_empty());
    }
}
