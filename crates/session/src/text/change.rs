//! `touch`, `incr`, `decr`, `delete`: commands of one line on one key.

use super::line::{Line, Tokens};
use super::{BAD_FORMAT, NOT_NUMBER, failed, get, reply};
use crate::counts::Counts;
use crate::engine::{Answer, Arithmetic, Engine, Op};
use crate::limits::KEY_MOST;
use crate::run::{Run, Step};
use crate::{expiry, number};

pub(super) fn touch<E: Engine>(run: &mut Run<'_, E>, line: &Line<'_>, tokens: &Tokens<'_>) -> Step {
    let quiet = tokens.no_reply();
    let key = tokens.get(1);
    if key.len() > KEY_MOST {
        reply(run, quiet, BAD_FORMAT);
        return Ok(line.bytes);
    }
    let Some(given) = number::signed_32(tokens.get(2)) else {
        reply(run, quiet, b"CLIENT_ERROR invalid exptime argument\r\n");
        return Ok(line.bytes);
    };
    let expires_s = expiry::absolute(given.into(), run.now_s);
    run.apply(key, Op::Touch(expires_s), |out, counts, given| {
        get::count(counts, true, matches!(given, Answer::Found { .. }));
        match given {
            _ if quiet => {}
            Answer::Found { .. } => out.extend_from_slice(b"TOUCHED\r\n"),
            Answer::Failed(text) => failed(out, text),
            _ => out.extend_from_slice(b"NOT_FOUND\r\n"),
        }
    })?;
    Ok(line.bytes)
}

pub(super) fn arithmetic<E: Engine>(
    run: &mut Run<'_, E>,
    line: &Line<'_>,
    tokens: &Tokens<'_>,
    up: bool,
) -> Step {
    let quiet = tokens.no_reply();
    let key = tokens.get(1);
    if key.len() > KEY_MOST {
        reply(run, quiet, BAD_FORMAT);
        return Ok(line.bytes);
    }
    let Some(delta) = number::unsigned(tokens.get(2)) else {
        reply(
            run,
            quiet,
            b"CLIENT_ERROR invalid numeric delta argument\r\n",
        );
        return Ok(line.bytes);
    };
    let how = Arithmetic {
        up,
        delta,
        cas: None,
        initial: None,
        expires_s: None,
    };
    run.apply(key, Op::Arithmetic(how), |out, counts, given| {
        count(counts, up, given);
        match given {
            _ if quiet => {}
            Answer::Number { value, .. } => {
                number::write(value, out);
                out.extend_from_slice(b"\r\n");
            }
            Answer::NotNumber => out.extend_from_slice(NOT_NUMBER),
            Answer::Full => out.extend_from_slice(b"SERVER_ERROR out of memory\r\n"),
            Answer::Failed(text) => failed(out, text),
            _ => out.extend_from_slice(b"NOT_FOUND\r\n"),
        }
    })?;
    Ok(line.bytes)
}

/// Counts a counter's change.
pub(crate) fn count(counts: &mut Counts, up: bool, given: Answer<'_>) {
    match (up, given) {
        (true, Answer::Number { made: false, .. }) => counts.incr_hits += 1,
        (false, Answer::Number { made: false, .. }) => counts.decr_hits += 1,
        (true, Answer::Missing) => counts.incr_misses += 1,
        (false, Answer::Missing) => counts.decr_misses += 1,
        _ => {}
    }
}

pub(super) fn delete<E: Engine>(
    run: &mut Run<'_, E>,
    line: &Line<'_>,
    tokens: &Tokens<'_>,
) -> Step {
    let mut quiet = false;
    if tokens.count > 3 {
        // Old clients say how long the key is to stay deleted: only 0 is taken.
        let at_once = tokens.get(2) == b"0";
        quiet = tokens.no_reply();
        let is_valid = match tokens.count {
            4 => at_once || quiet,
            _ => at_once && quiet,
        };
        if !is_valid {
            let text = b"CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\r\n";
            reply(run, quiet, text);
            return Ok(line.bytes);
        }
    }
    let key = tokens.get(1);
    if key.len() > KEY_MOST {
        reply(run, quiet, BAD_FORMAT);
        return Ok(line.bytes);
    }
    run.apply(key, Op::Delete { cas: None }, |out, counts, given| {
        count_delete(counts, given);
        match given {
            _ if quiet => {}
            Answer::Deleted => out.extend_from_slice(b"DELETED\r\n"),
            Answer::Failed(text) => failed(out, text),
            _ => out.extend_from_slice(b"NOT_FOUND\r\n"),
        }
    })?;
    Ok(line.bytes)
}

/// Counts a deletion.
pub(crate) fn count_delete(counts: &mut Counts, given: Answer<'_>) {
    match given {
        Answer::Deleted => counts.delete_hits += 1,
        Answer::Missing | Answer::Exists => counts.delete_misses += 1,
        _ => {}
    }
}
