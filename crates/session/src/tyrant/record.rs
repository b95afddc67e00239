//! Commands on one record.

use super::read::Reader;
use super::{DONE, NOT_DONE};
use crate::engine::{Answer, Engine, Mode, Op, Store};
use crate::limits::is_key_length;
use crate::run::{Run, Stop};
use crate::text;

/// The kinds of `put`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Put {
    /// Whether there is a record or not.
    Set,
    /// Only where there is none.
    Keep,
    /// Behind the value that is there.
    Cat,
    /// The same, and only the last bytes are kept.
    Shift,
    /// As `Set`, without an answer.
    NoAnswer,
}

/// A store of a value that never expires.
pub(super) fn plain(mode: Mode, value: &[u8]) -> Op<'_> {
    Op::Store(Store {
        mode,
        cas: None,
        invalidate: false,
        encoded: false,
        flags: 0,
        expires_s: 0,
        value,
    })
}

/// The code for an answer.
fn code(given: Answer<'_>) -> u8 {
    match given {
        Answer::Stored { .. } | Answer::Deleted | Answer::Found { .. } => DONE,
        _ => NOT_DONE,
    }
}

pub(super) fn put<E: Engine>(
    run: &mut Run<'_, E>,
    reader: &mut Reader<'_>,
    kind: Put,
) -> Result<(), Stop> {
    let (key, value) = (reader.u32()?, reader.u32()?);
    let width = match kind {
        Put::Shift => Some(reader.u32()?),
        _ => None,
    };
    if !is_key_length(key as usize) || value as usize > run.limits.item_bytes {
        run.counts.store_too_large += 1;
        run.shared.swallow = key as usize + value as usize;
        if kind != Put::NoAnswer {
            run.say(&[NOT_DONE]);
        }
        return Ok(());
    }
    let key = reader.take(key as usize)?;
    let value = reader.take(value as usize)?;
    let op = match kind {
        Put::Set | Put::NoAnswer => plain(Mode::Set, value),
        Put::Keep => plain(Mode::Add, value),
        Put::Cat | Put::Shift => Op::Concat { value, width },
    };
    run.apply(key, op, |out, counts, given| {
        text::count_store(counts, false, given);
        if kind != Put::NoAnswer {
            out.push(code(given));
        }
    })
}

pub(super) fn out<E: Engine>(run: &mut Run<'_, E>, reader: &mut Reader<'_>) -> Result<(), Stop> {
    let key = reader.u32()?;
    let key = reader.key(key)?;
    run.apply(key, Op::Delete { cas: None }, |out, counts, given| {
        text::count_delete(counts, given);
        out.push(code(given));
    })
}

pub(super) fn get<E: Engine>(run: &mut Run<'_, E>, reader: &mut Reader<'_>) -> Result<(), Stop> {
    let key = reader.u32()?;
    let key = reader.key(key)?;
    run.apply(key, Op::Get, |out, counts, given| {
        text::count_read(counts, false, matches!(given, Answer::Found { .. }));
        match given {
            Answer::Found { item, .. } => {
                out.reserve(item.value.len() + 5);
                out.push(DONE);
                sized(out, item.value);
            }
            _ => out.push(NOT_DONE),
        }
    })
}

/// Appends a length and that many bytes.
pub(super) fn sized(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    out.extend_from_slice(bytes);
}

pub(super) fn size<E: Engine>(run: &mut Run<'_, E>, reader: &mut Reader<'_>) -> Result<(), Stop> {
    let key = reader.u32()?;
    let key = reader.key(key)?;
    run.apply(key, Op::Peek, |out, _, given| match given {
        Answer::Found { item, .. } => {
            out.push(DONE);
            out.extend_from_slice(&(item.value.len() as u32).to_be_bytes());
        }
        _ => out.push(NOT_DONE),
    })
}

pub(super) fn add_int<E: Engine>(
    run: &mut Run<'_, E>,
    reader: &mut Reader<'_>,
) -> Result<(), Stop> {
    let key = reader.u32()?;
    let add = reader.u32()?.cast_signed();
    let key = reader.key(key)?;
    run.apply(key, Op::AddInt(add), |out, _, given| match given {
        Answer::Sum(sum) => {
            out.push(DONE);
            out.extend_from_slice(&sum.to_be_bytes());
        }
        _ => out.push(NOT_DONE),
    })
}

pub(super) fn add_real<E: Engine>(
    run: &mut Run<'_, E>,
    reader: &mut Reader<'_>,
) -> Result<(), Stop> {
    let key = reader.u32()?;
    let (whole, fraction) = (reader.i64()?, reader.i64()?);
    let key = reader.key(key)?;
    run.apply(
        key,
        Op::AddReal(whole, fraction),
        |out, _, given| match given {
            Answer::SumReal(whole, fraction) => {
                out.push(DONE);
                out.extend_from_slice(&whole.to_be_bytes());
                out.extend_from_slice(&fraction.to_be_bytes());
            }
            _ => out.push(NOT_DONE),
        },
    )
}
