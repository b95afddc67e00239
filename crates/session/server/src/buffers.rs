//! The buffers of a thread: what its connections share, and what it lends to those that have
//! something that cannot be done with at once.

/// How much is read at a time, in bytes.
const READ: usize = 64 << 10;

/// The capacity that the shared output keeps, in bytes: enough for an answer of 1 MiB behind others.
const OUT_KEPT: usize = 2 << 20;

/// The largest buffer that is kept for lending, in bytes, and how many are.
const SPARE_BYTES: usize = 16 << 10;
const SPARE_MOST: usize = 256;

/// The buffers of one thread.
#[derive(Debug)]
pub(crate) struct Buffers {
    /// What was just read.
    pub(crate) read: Box<[u8]>,
    /// What is about to be sent.
    pub(crate) out: Vec<u8>,
    spare: Vec<Vec<u8>>,
}

impl Buffers {
    pub(crate) fn new() -> Self {
        Self {
            read: vec![0; READ].into_boxed_slice(),
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

    /// A buffer with what was read from `start` to `end`.
    pub(crate) fn lend_read(&mut self, start: usize, end: usize) -> Vec<u8> {
        let bytes = self.read.get(start..end).unwrap_or_default();
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
        buffers.read[..3].copy_from_slice(b"abc");
        let lent = buffers.lend_read(1, 3);
        assert_eq!((lent.as_ptr(), lent.as_slice()), (place, &b"bc"[..]));
        assert_eq!(buffers.lend_read(0, 1).capacity().min(1000), 8);
    }

    #[test]
    fn what_one_large_answer_took_is_not_kept() {
        let mut buffers = Buffers::new();
        buffers.out.resize(10 << 20, b'x');
        buffers.clear_out();
        assert!(buffers.out.capacity() <= OUT_KEPT + (64 << 10));
    }
}
