//! `get`, `gets`, `gat`, `gats`: any number of keys on a line, which are answered as they come, so
//! that neither the line nor the answer has to be held as a whole.
//!
//! Where the engine fails at one of the keys, its words stand in place of `END` and the rest of the
//! line is passed over: without them the client would take the item for one that is not there.

use super::line::{self, Line};
use super::{BAD_FORMAT, ERROR};
use crate::counts::Counts;
use crate::engine::{Answer, Engine, Item, Op};
use crate::limits::{KEY_MOST, LINE_MOST};
use crate::run::{Keys, Run, Step, Stop};
use crate::{expiry, number};

/// The most bytes before the first key of a line that is longer than others may be.
const HEAD_MOST: usize = 100;

/// How many keys of a line the engine is told of before the first of them is read.
const AHEAD_MOST: usize = 16;

/// A `get` or `gets` on a line of ordinary length; `keys` is what follows the word.
pub(super) fn short<E: Engine>(
    run: &mut Run<'_, E>,
    with_cas: bool,
    keys: &[u8],
    line: &Line<'_>,
) -> Step {
    let state = Keys {
        with_cas,
        ..Keys::default()
    };
    answer(run, state, keys, line)
}

/// Any of the verbs on a line of ordinary length.
pub(super) fn verb<E: Engine>(run: &mut Run<'_, E>, verb: &[u8], line: &Line<'_>) -> Step {
    let (_, keys) = line::next(line.text);
    match begin(run, verb, keys) {
        Some((state, keys)) => answer(run, state, keys, line),
        None => Ok(line.bytes),
    }
}

/// What a verb asks for, and the keys behind its arguments; `None`: it was answered by an error.
fn begin<'a, E: Engine>(
    run: &mut Run<'_, E>,
    verb: &[u8],
    rest: &'a [u8],
) -> Option<(Keys, &'a [u8])> {
    let with_cas = verb.ends_with(b"s");
    let mut keys = Keys {
        with_cas,
        ..Keys::default()
    };
    if !verb.starts_with(b"gat") {
        return Some((keys, rest));
    }
    let (given, rest) = line::next(rest);
    let Some(given) = number::signed_32(given) else {
        run.say(b"CLIENT_ERROR invalid exptime argument\r\n");
        return None;
    };
    keys.touch = Some(expiry::absolute(given.into(), run.now_s));
    Some((keys, rest))
}

/// The keys of a whole line of ordinary length, none of which is answered if one is too long.
fn answer<E: Engine>(run: &mut Run<'_, E>, keys: Keys, text: &[u8], line: &Line<'_>) -> Step {
    if text.len() > KEY_MOST && has_long_key(text) {
        run.say(BAD_FORMAT);
        return Ok(line.bytes);
    }
    let mut rest = text;
    let mut ahead = 0;
    loop {
        let (key, behind) = line::next(rest);
        if key.is_empty() {
            // A line without any key is no `get`; behind an expiry it is an empty one.
            let is_empty = rest.len() == text.len() && keys.touch.is_none();
            run.say(if is_empty { ERROR } else { b"END\r\n" });
            return Ok(line.bytes);
        }
        if ahead == 0 && !behind.is_empty() {
            ahead = prefetch(run, rest);
        }
        ahead = ahead.saturating_sub(1);
        // The key's place on the line; from there it goes on when it cannot be answered now.
        let at = line.text.len() - rest.len();
        if run.is_full() {
            run.shared.keys = Some(keys);
            return Ok(at);
        }
        match one(run, keys, key) {
            Ok(true) => rest = behind,
            Ok(false) => return Ok(line.bytes),
            Err(stop) => {
                run.shared.keys = Some(keys);
                return Err(stop.after(at));
            }
        }
    }
}

/// Whether one of the keys is longer than keys may be.
fn has_long_key(text: &[u8]) -> bool {
    let mut rest = text;
    loop {
        let (key, behind) = line::next(rest);
        match key.len() {
            0 => return false,
            1..=KEY_MOST => rest = behind,
            _ => return true,
        }
    }
}

/// Lets the engine prepare for the next keys of a line; returns for how many.
fn prefetch<E: Engine>(run: &Run<'_, E>, text: &[u8]) -> usize {
    let mut keys = [&[][..]; AHEAD_MOST];
    let (mut count, mut rest) = (0, text);
    while count < keys.len() {
        let (key, behind) = line::next(rest);
        if key.is_empty() {
            break;
        }
        keys[count] = key;
        (count, rest) = (count + 1, behind);
    }
    run.engine.prefetch(&keys[..count]);
    count
}

/// The keys at the head of the input, which goes on with the line of a `get` under way.
pub(super) fn go_on<E: Engine>(run: &mut Run<'_, E>, input: &[u8]) -> Step {
    let keys = run.shared.keys.unwrap_or_default();
    let end = memchr::memchr(b'\n', input);
    let text = match end {
        Some(end) => Line::of(input, end).text,
        None => input,
    };
    if keys.failed {
        return Ok(skip(run, input, end));
    }
    let mut rest = text;
    loop {
        let (key, behind) = line::next(rest);
        let done = text.len() - rest.len();
        // Without the line's end this may be only the head of a key.
        let cut = end.is_none() && behind.is_empty();
        if key.len() > KEY_MOST {
            run.say(BAD_FORMAT);
            run.shared.keys = Some(failed(keys));
            return Ok(done);
        }
        match end {
            None if cut && done == 0 => return Err(Stop::Need(input.len() + 1)),
            None if cut => return Ok(done),
            // Of the line no more may be left than its end; elsewhere that byte is a key.
            Some(end) if key.is_empty() || rest == b"\r" => {
                run.say(b"END\r\n");
                run.shared.keys = None;
                return Ok(end + 1);
            }
            _ if run.is_full() => return Ok(done),
            _ => {}
        }
        if !one(run, keys, key).map_err(|stop| stop.after(done))? {
            run.shared.keys = Some(failed(keys));
            return Ok(done);
        }
        rest = behind;
    }
}

/// The rest of the line is passed over.
fn failed(keys: Keys) -> Keys {
    Keys {
        failed: true,
        ..keys
    }
}

/// Passes over the rest of a line that was answered by an error.
fn skip<E: Engine>(run: &mut Run<'_, E>, input: &[u8], end: Option<usize>) -> usize {
    if end.is_some() {
        run.shared.keys = None;
    }
    end.map_or(input.len(), |end| end + 1)
}

/// A line that is longer than others may be.
pub(super) fn long<E: Engine>(run: &mut Run<'_, E>, input: &[u8]) -> Step {
    let head = input.get(..LINE_MOST).unwrap_or(input);
    let (verb, rest) = line::next(head);
    let before = head.len() - rest.len() - verb.len();
    if before > HEAD_MOST || !matches!(verb, b"get" | b"gets" | b"gat" | b"gats" | b"bget") {
        return Err(Stop::Close);
    }
    match begin(run, verb, rest) {
        Some((keys, rest)) => {
            run.shared.keys = Some(keys);
            Ok(head.len() - rest.len())
        }
        None => {
            run.shared.keys = Some(failed(Keys::default()));
            Ok(before)
        }
    }
}

/// Answers one key; false: the engine failed, and this was said.
fn one<E: Engine>(run: &mut Run<'_, E>, keys: Keys, key: &[u8]) -> Result<bool, Stop> {
    let op = keys.touch.map_or(Op::Get, Op::Touch);
    let mut answered = true;
    run.apply(key, op, |out, counts, given| {
        let hit = matches!(given, Answer::Found { .. });
        count(counts, keys.touch.is_some(), hit);
        match given {
            Answer::Found { item, .. } => value(out, key, &item, keys.with_cas),
            Answer::Failed(words) => {
                super::failed(out, words);
                answered = false;
            }
            _ => {}
        }
    })?;
    Ok(answered)
}

/// Counts a read.
pub(crate) fn count(counts: &mut Counts, touched: bool, hit: bool) {
    match (touched, hit) {
        (false, true) => counts.get_hits += 1,
        (false, false) => counts.get_misses += 1,
        (true, true) => counts.touch_hits += 1,
        (true, false) => counts.touch_misses += 1,
    }
    match touched {
        false => counts.cmd_get += 1,
        true => counts.cmd_touch += 1,
    }
}

fn value(out: &mut Vec<u8>, key: &[u8], item: &Item<'_>, with_cas: bool) {
    // One growth instead of several: the numbers take at most 53 bytes.
    out.reserve(key.len() + item.value.len() + 64);
    out.extend_from_slice(b"VALUE ");
    out.extend_from_slice(key);
    out.push(b' ');
    number::write(item.flags.into(), out);
    out.push(b' ');
    number::write(item.value.len() as u64, out);
    if with_cas {
        out.push(b' ');
        number::write(item.cas, out);
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(item.value);
    out.extend_from_slice(b"\r\n");
}
