//! `set`, `add`, `replace`, `append`, `prepend`, `cas`: a line and a value behind it, which is
//! taken from where it lies in the input.

use super::line::{Line, Tokens};
use super::{BAD_CHUNK, BAD_FORMAT, NO_MEMORY, TOO_LARGE, failed, reply};
use crate::counts::Counts;
use crate::engine::{Answer, Engine, Mode, Op, Store};
use crate::limits::KEY_MOST;
use crate::run::{Run, Step, Stop};
use crate::{expiry, number};

/// The longest value that a line can announce; a longer one is no number of memcached's.
pub(crate) const LENGTH_MOST: usize = i32::MAX as usize - 2;

pub(super) fn step<E: Engine>(
    run: &mut Run<'_, E>,
    input: &[u8],
    line: &Line<'_>,
    tokens: &Tokens<'_>,
    mode: Mode,
) -> Step {
    let quiet = tokens.no_reply();
    let Some((mut store, length)) = announced(run, tokens, mode) else {
        reply(run, quiet, BAD_FORMAT);
        return Ok(line.bytes);
    };
    let key = tokens.get(1);
    if length > run.limits.item_bytes {
        if mode == Mode::Set && store.cas.is_none() {
            forget(run, key)?;
        }
        run.counts.store_too_large += 1;
        reply(run, quiet, TOO_LARGE);
        run.shared.swallow = length + 2;
        return Ok(line.bytes);
    }
    let whole = line.bytes + length + 2;
    store.value = match chunk(input, line.bytes, length) {
        None => return Err(Stop::Need(whole)),
        Some(Err(())) => {
            reply(run, quiet, BAD_CHUNK);
            return Ok(whole);
        }
        Some(Ok(value)) => value,
    };
    run.apply(key, Op::Store(store), |out, counts, given| {
        count(counts, store.cas.is_some(), given);
        if !quiet {
            say(out, given);
        }
    })?;
    Ok(whole)
}

/// What the line says, and the value's length; `None`: it is none.
fn announced<'a, E: Engine>(
    run: &Run<'_, E>,
    tokens: &Tokens<'_>,
    mode: Mode,
) -> Option<(Store<'a>, usize)> {
    if tokens.get(1).len() > KEY_MOST {
        return None;
    }
    let flags = number::unsigned_32(tokens.get(2))?;
    let given_s = number::signed_32(tokens.get(3))?;
    let length = usize::try_from(number::signed_32(tokens.get(4))?).ok()?;
    let cas = match tokens.get(0) {
        b"cas" => Some(number::unsigned(tokens.get(5))?),
        _ => None,
    };
    let store = Store {
        mode,
        cas,
        invalidate: false,
        encoded: false,
        flags,
        expires_s: expiry::absolute(given_s.into(), run.now_s),
        value: &[],
    };
    (length <= LENGTH_MOST).then_some((store, length))
}

/// The value behind a line: `None` if it is not there as a whole, an error if it does not end
/// where it should.
pub(crate) fn chunk(input: &[u8], start: usize, length: usize) -> Option<Result<&[u8], ()>> {
    let block = input.get(start..start + length + 2)?;
    Some(block.strip_suffix(b"\r\n").ok_or(()))
}

/// A value that cannot be stored must not leave an older one behind.
pub(crate) fn forget<E: Engine>(run: &mut Run<'_, E>, key: &[u8]) -> Result<(), Stop> {
    run.apply(key, Op::Delete { cas: None }, |_, _, _| {})
}

/// Counts a store.
pub(crate) fn count(counts: &mut Counts, with_cas: bool, given: Answer<'_>) {
    counts.cmd_set += 1;
    match given {
        Answer::Full => counts.store_no_memory += 1,
        Answer::TooLarge => counts.store_too_large += 1,
        Answer::Stored { .. } if with_cas => counts.cas_hits += 1,
        Answer::Exists => counts.cas_badval += 1,
        Answer::Missing => counts.cas_misses += 1,
        _ => {}
    }
}

fn say(out: &mut Vec<u8>, given: Answer<'_>) {
    out.extend_from_slice(match given {
        Answer::Stored { .. } => b"STORED\r\n",
        Answer::NotStored => b"NOT_STORED\r\n",
        Answer::Exists => b"EXISTS\r\n",
        Answer::Missing => b"NOT_FOUND\r\n",
        Answer::TooLarge => TOO_LARGE,
        Answer::Failed(text) => return failed(out, text),
        _ => NO_MEMORY,
    });
}
