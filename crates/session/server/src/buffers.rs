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

    /// The output from `sent` on, for later, and how much of it has left already: much is handed
    /// over as it is, little is copied.
    pub(crate) fn take_out(&mut self, sent: usize) -> (Vec<u8>, usize) {
        let rest = self.out.get(sent..).unwrap_or_default();
        if rest.len() > SPARE_BYTES {
            return (std::mem::take(&mut self.out), sent);
        }
        let rest = Self::lend(&mut self.spare, rest);
        self.clear_out();
        (rest, 0)
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
