//! The buffers of a thread: what its connections share, and what it lends to those that have
//! something that cannot be done with at once.

use std::ops::Range;

/// How much is read at a time, in bytes.
const READ: usize = 64 << 10;

/// How much is read from several connections in a row, in bytes: whatever one of them brings, there
/// is as much room for the next.
const INPUT: usize = 2 * READ;

/// The capacity that the shared output keeps, in bytes: enough for an answer of 1 MiB behind others.
const OUT_KEPT: usize = 2 << 20;

/// The largest buffer that is kept for lending, in bytes, and how many are.
const SPARE_BYTES: usize = 16 << 10;
const SPARE_MOST: usize = 256;

/// What was read from several connections, one after another.
#[derive(Debug)]
pub(crate) struct Received {
    bytes: Box<[u8]>,
    filled: usize,
}

impl Received {
    /// Room for a read.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        let room = self.filled..self.filled + READ;
        self.bytes.get_mut(room).unwrap_or_default()
    }

    /// Notes how much of the room was filled; says where that lies.
    pub(crate) fn fill(&mut self, count: usize) -> Range<usize> {
        let start = self.filled;
        self.filled += count;
        start..self.filled
    }

    /// Whether there is no room for another read.
    pub(crate) fn is_full(&self) -> bool {
        self.filled + READ > INPUT
    }

    /// Everything that was read is done with.
    pub(crate) fn clear(&mut self) {
        self.filled = 0;
    }

    /// What was read to this place.
    pub(crate) fn get(&self, at: Range<usize>) -> &[u8] {
        self.bytes.get(at).unwrap_or_default()
    }
}

/// The buffers of one thread.
#[derive(Debug)]
pub(crate) struct Buffers {
    /// What was just read.
    pub(crate) input: Received,
    /// What is about to be sent.
    pub(crate) out: Vec<u8>,
    spare: Vec<Vec<u8>>,
}

impl Buffers {
    pub(crate) fn new() -> Self {
        Self {
            input: Received {
                bytes: vec![0; INPUT].into_boxed_slice(),
                filled: 0,
            },
            out: Vec::with_capacity(READ),
            spare: Vec::new(),
        }
    }

    /// A buffer with these bytes in it.
    pub(crate) fn lend(spare: &mut Vec<Vec<u8>>, bytes: &[u8]) -> Vec<u8> {
        let mut buffer = spare.pop().unwrap_or_default();
        buffer.extend_from_slice(bytes);
        buffer
    }

    /// A buffer with what was read to this place.
    pub(crate) fn lend_input(&mut self, at: Range<usize>) -> Vec<u8> {
        let bytes = self.input.get(at);
        Self::lend(&mut self.spare, bytes)
    }

    /// A buffer with the output from `start` to `end`.
    pub(crate) fn lend_out(&mut self, start: usize, end: usize) -> Vec<u8> {
        let bytes = self.out.get(start..end).unwrap_or_default();
        Self::lend(&mut self.spare, bytes)
    }

    /// Takes away the output from `start` on, for later: much is handed over as it is if it is all
    /// there is, else it is copied.
    pub(crate) fn cut_out(&mut self, start: usize) -> Vec<u8> {
        if start == 0 && self.out.len() > SPARE_BYTES {
            return std::mem::take(&mut self.out);
        }
        let cut = self.lend_out(start, self.out.len());
        self.out.truncate(start);
        cut
    }

    /// Empties the output.
    pub(crate) fn clear_out(&mut self) {
        self.out.clear();
        self.out.shrink_to(OUT_KEPT);
    }

    /// Takes a buffer back.
    pub(crate) fn give_back(&mut self, buffer: &mut Vec<u8>) {
        let mut buffer = std::mem::take(buffer);
        if (1..=SPARE_BYTES).contains(&buffer.capacity()) && self.spare.len() < SPARE_MOST {
            buffer.clear();
            self.spare.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_output_is_copied_and_much_handed_over() {
        let mut buffers = Buffers::new();
        buffers.out.extend_from_slice(b"abcdef");
        assert_eq!(buffers.lend_out(1, 3), b"bc");
        assert_eq!(buffers.cut_out(2), b"cdef");
        assert_eq!(buffers.out, b"ab");
        buffers.out.resize(SPARE_BYTES + 10, b'x');
        let place = buffers.out.as_ptr();
        let cut = buffers.cut_out(0);
        assert_eq!(cut.as_ptr(), place);
        assert!(buffers.out.is_empty());
    }

    #[test]
    fn what_is_given_back_is_lent_again_unless_it_is_large() {
        let mut buffers = Buffers::new();
        let mut small = Vec::with_capacity(1000);
        let place = small.as_ptr();
        buffers.give_back(&mut small);
        assert_eq!(small.capacity(), 0);
        buffers.give_back(&mut vec![0; SPARE_BYTES + 1]);
        buffers.give_back(&mut Vec::new());
        buffers.input.room()[..3].copy_from_slice(b"abc");
        assert_eq!(buffers.input.fill(3), 0..3);
        let lent = buffers.lend_input(1..3);
        assert_eq!((lent.as_ptr(), lent.as_slice()), (place, &b"bc"[..]));
        assert_eq!(buffers.lend_input(0..1).capacity().min(1000), 8);
    }

    #[test]
    fn a_read_behind_others_has_as_much_room_as_the_first() {
        let mut input = Buffers::new().input;
        input.room()[..2].copy_from_slice(b"ab");
        let first = input.fill(2);
        assert_eq!(input.room().len(), READ);
        input.room()[..2].copy_from_slice(b"cd");
        let second = input.fill(2);
        assert_eq!(
            (input.get(first), input.get(second)),
            (&b"ab"[..], &b"cd"[..])
        );
        assert!(!input.is_full());
        input.fill(READ - 3);
        assert!(input.is_full());
        input.clear();
        assert_eq!((input.is_full(), input.room().len()), (false, READ));
    }

    #[test]
    fn what_one_large_answer_took_is_not_kept() {
        let mut buffers = Buffers::new();
        buffers.out.resize(10 << 20, b'x');
        buffers.clear_out();
        assert!(buffers.out.capacity() <= OUT_KEPT + (64 << 10));
    }
}
