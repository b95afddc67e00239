//! A segment: records one after another, written at its end and, where they fit, over
//! themselves (after Segcache: Yang, Yue, Rashmi, NSDI 2021).
//!
//! ```text
//!  | record | record | dead | record | ........ |
//!  0                                 filled     len
//! ```
//! It lives from when it is opened for appending until no item in it is alive, or those that are
//! were moved away; then its bytes serve another segment.

use crate::record::{DEAD, HEADER, Header};

/// Bytes and what is known of them.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) bytes: Box<[u8]>,
    /// Where the next record goes.
    pub(crate) filled: usize,
    /// What the records of items need.
    pub(crate) live: usize,
    /// The number of items.
    pub(crate) items: usize,
    /// No item ends before this second.
    pub(crate) earliest_s: u32,
    /// No item is of an era before this one.
    pub(crate) oldest_era: u32,
    /// Its place in the order in which segments were opened.
    pub(crate) born: u64,
}

impl Segment {
    /// An empty one.
    pub(crate) fn new(bytes: Box<[u8]>, born: u64) -> Self {
        Self {
            bytes,
            filled: 0,
            live: 0,
            items: 0,
            earliest_s: u32::MAX,
            oldest_era: u32::MAX,
            born,
        }
    }

    /// What stands under a number that no segment has.
    pub(crate) fn none() -> Self {
        Self::new(Box::default(), 0)
    }

    pub(crate) fn is_none(&self) -> bool {
        self.bytes.is_empty()
    }

    /// What is left at the end.
    pub(crate) fn room(&self) -> usize {
        self.bytes.len() - self.filled
    }

    pub(crate) fn header(&self, at: usize) -> Header {
        Header::read(&self.bytes, at)
    }

    /// Key and body of the record at `at`.
    pub(crate) fn key_and_body(&self, at: usize, header: &Header) -> (&[u8], &[u8]) {
        let key = at + HEADER;
        let body = key + usize::from(header.key_len);
        let end = body + header.body_len();
        (&self.bytes[key..body], &self.bytes[body..end])
    }

    /// Whether the record at `at` is that of `key`.
    #[inline]
    pub(crate) fn key_is(&self, at: usize, key: &[u8]) -> bool {
        let start = at + HEADER;
        usize::from(self.header(at).key_len) == key.len()
            && self.bytes.get(start..start + key.len()) == Some(key)
    }

    /// Writes a record at `at`, where there is room for it, and counts its item.
    pub(crate) fn write(&mut self, at: usize, header: &Header, key: &[u8], body: &[&[u8]]) {
        header.write(&mut self.bytes, at);
        let mut to = at + HEADER;
        for part in std::iter::once(&key).chain(body) {
            self.bytes[to..to + part.len()].copy_from_slice(part);
            to += part.len();
        }
        self.live += header.needs();
        self.items += 1;
        self.heed(header);
    }

    /// The header at `at` changed, not what the record needs.
    pub(crate) fn rewrite(&mut self, at: usize, header: &Header) {
        header.write(&mut self.bytes, at);
        self.heed(header);
    }

    /// The header at `at` changed, and its body to one that is not longer.
    pub(crate) fn rewrite_body(&mut self, at: usize, header: &Header, body: &[u8]) {
        header.write(&mut self.bytes, at);
        let to = at + HEADER + usize::from(header.key_len);
        self.bytes[to..to + body.len()].copy_from_slice(body);
    }

    /// What lies at `at` is of no item any more.
    pub(crate) fn bury(&mut self, at: usize, header: &Header) {
        let buried = Header {
            bits: header.bits | DEAD,
            ..*header
        };
        buried.write_read(&mut self.bytes, at);
        self.uncount(header);
    }

    /// The item of `header` is no longer counted here.
    pub(crate) fn uncount(&mut self, header: &Header) {
        self.live -= header.needs();
        self.items -= 1;
    }

    /// Where each record begins, and its header; the dead too.
    pub(crate) fn next(&self, at: usize) -> Option<(usize, Header)> {
        (at < self.filled).then(|| (at, self.header(at)))
    }

    /// Whether something in it may have ended by `now_s`, or was cleared.
    pub(crate) fn is_due(&self, era: u32, now_s: u32) -> bool {
        self.items > 0 && (self.earliest_s <= now_s || self.oldest_era < era)
    }

    /// All its records are looked at: what is known is learnt anew, by [`Segment::heed`].
    pub(crate) fn forget_bounds(&mut self) {
        self.earliest_s = u32::MAX;
        self.oldest_era = u32::MAX;
    }

    pub(crate) fn heed(&mut self, header: &Header) {
        if header.expires_s != 0 {
            self.earliest_s = self.earliest_s.min(header.expires_s);
        }
        self.oldest_era = self.oldest_era.min(header.era);
    }
}
