//! What a virtual user remembers: its variables, its rows, its chance.

use std::io::Write as _;

use super::coding::Coding;
use super::table::Table;
use super::template::Value;

/// Longest value that is kept of a response, in bytes.
pub(crate) const MAX_VALUE: usize = 64 * 1024;

/// The state that templates are written from.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    /// Variables; `None` until set.
    pub(crate) slots: Box<[Option<Box<str>>]>,
    /// The current row of each data file.
    pub(crate) rows: Box<[u32]>,
    /// The user's number, from 0.
    pub(crate) number: u32,
    /// From 1.
    pub(crate) iteration: u64,
    /// Seeded.
    pub(crate) rng: fastrand::Rng,
}

impl Memory {
    /// A user that has done nothing. Users of one seed have chances of their own.
    pub(crate) fn new(slots: usize, tables: usize, number: u32, seed: u64) -> Self {
        // Neighbouring seeds must not give similar sequences: spread them by an odd constant.
        let own = (u64::from(number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self {
            slots: vec![None; slots].into_boxed_slice(),
            rows: vec![0; tables].into_boxed_slice(),
            number,
            iteration: 0,
            rng: fastrand::Rng::with_seed(seed ^ own),
        }
    }

    /// Sets a variable.
    pub(crate) fn set(&mut self, slot: usize, value: &str) {
        let mut end = value.len().min(MAX_VALUE);
        while !value.is_char_boundary(end) {
            end -= 1;
        }
        if let Some(place) = self.slots.get_mut(slot) {
            *place = Some(value[..end].into());
        }
    }

    /// Appends a value.
    pub(crate) fn write(
        &mut self,
        value: Value,
        coding: Coding,
        tables: &[Table],
        out: &mut Vec<u8>,
    ) {
        // Writing to memory cannot fail.
        let _ = match value {
            Value::Slot(slot) => {
                let text = self.slots.get(slot).and_then(Option::as_deref);
                return coding.write(text.unwrap_or_default(), out);
            }
            Value::Column(table, column) => {
                let row = self.rows.get(table).copied().unwrap_or_default();
                let text = tables.get(table).map(|table| table.get(row, column));
                return coding.write(text.unwrap_or_default(), out);
            }
            Value::User => write!(out, "{}", u64::from(self.number) + 1),
            Value::Iteration => write!(out, "{}", self.iteration),
            Value::Random => write!(out, "{:016x}", self.rng.u64(..)),
            Value::Between(low, high) => write!(out, "{}", self.rng.i64(low..=high)),
            Value::Uuid => {
                let bits = self.rng.u128(..) & !(0xf << 76) & !(0x3 << 62);
                let bits = bits | (0x4 << 76) | (0x2 << 62);
                let (a, b, c) = (
                    (bits >> 96) as u32,
                    (bits >> 80) as u16,
                    (bits >> 64) as u16,
                );
                let (d, e) = ((bits >> 48) as u16, bits as u64 & 0xffff_ffff_ffff);
                write!(out, "{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}")
            }
        };
    }
}
