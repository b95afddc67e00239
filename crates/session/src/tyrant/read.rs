//! The numbers and byte strings of a request, read from where they lie.

use super::KEY_READ_MOST;
use crate::limits::Limits;
use crate::run::Stop;

/// A request from its first byte on. What is missing is told as the length up to which input is
/// needed.
#[derive(Clone)]
pub(super) struct Reader<'a> {
    input: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(input: &'a [u8]) -> Self {
        Self { input, at: 0 }
    }

    /// How much was read.
    pub(super) fn bytes(&self) -> usize {
        self.at
    }

    pub(super) fn take(&mut self, bytes: usize) -> Result<&'a [u8], Stop> {
        let end = self.at.checked_add(bytes).ok_or(Stop::Close)?;
        let taken = self.input.get(self.at..end).ok_or(Stop::Need(end))?;
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let taken = self.take(N)?;
        taken.first_chunk().copied().ok_or(Stop::Close)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Stop> {
        self.array().map(|[byte]| byte)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Stop> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn i64(&mut self) -> Result<i64, Stop> {
        self.array().map(i64::from_be_bytes)
    }

    /// A key of this length. One that is much longer than keys are ends the connection: its bytes
    /// are not to be gathered.
    pub(super) fn key(&mut self, bytes: u32) -> Result<&'a [u8], Stop> {
        match bytes as usize {
            bytes @ ..=KEY_READ_MOST => self.take(bytes),
            _ => Err(Stop::Close),
        }
    }

    /// A value of this length; one that is longer than values may be ends the connection.
    pub(super) fn value(&mut self, bytes: u32, limits: &Limits) -> Result<&'a [u8], Stop> {
        match bytes as usize {
            bytes if bytes <= limits.item_bytes => self.take(bytes),
            _ => Err(Stop::Close),
        }
    }
}
