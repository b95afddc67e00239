//! `ms`: every store in one command.

use super::flags::{self, Flags, LONG_OPAQUE, TOKENS_MOST};
use crate::engine::{Answer, Engine, Mode, Op, Store};
use crate::limits::KEY_MOST;
use crate::number;
use crate::run::{Run, Step, Stop};
use crate::text::line::{Line, Tokens};
use crate::text::{self, BAD_CHUNK, BAD_FORMAT, NO_MEMORY, TOO_LARGE};

pub(crate) fn set<E: Engine>(
    run: &mut Run<'_, E>,
    input: &[u8],
    line: &Line<'_>,
    tokens: &Tokens<'_>,
) -> Step {
    let mut key = std::mem::take(&mut run.shared.key);
    let step = store(run, input, line, tokens, &mut key);
    run.shared.key = key;
    step
}

fn store<E: Engine>(
    run: &mut Run<'_, E>,
    input: &[u8],
    line: &Line<'_>,
    tokens: &Tokens<'_>,
    key: &mut Vec<u8>,
) -> Step {
    let length = match length(tokens) {
        Ok(length) => length,
        Err(text) => {
            run.say(text);
            return Ok(line.bytes);
        }
    };
    let (flags, mode) = match asked(tokens, run.now_s, key) {
        Ok(asked) => asked,
        Err(text) => return Ok(refuse(run, line, length, text)),
    };
    if length > run.limits.item_bytes {
        text::forget(run, key)?;
        run.counts.store_too_large += 1;
        return Ok(refuse(run, line, length, TOO_LARGE));
    }
    let whole = line.bytes + length + 2;
    let value = match text::chunk(input, line.bytes, length) {
        None => return Err(Stop::Need(whole)),
        Some(Err(())) => {
            run.say(BAD_CHUNK);
            return Ok(whole);
        }
        Some(Ok(value)) => value,
    };
    let op = Op::Store(of(&flags, mode, value));
    run.number = flags.number;
    run.apply(key, op, |out, counts, given| {
        counts.cmd_meta += 1;
        text::count_store(counts, flags.cas.is_some(), given);
        say(out, &flags, tokens, key, given);
    })?;
    Ok(whole)
}

/// The value's length, before anything else is looked at: what follows is skipped by it.
fn length(tokens: &Tokens<'_>) -> Result<usize, &'static [u8]> {
    if tokens.get(1).len() > KEY_MOST || tokens.count == 3 {
        return Err(BAD_FORMAT);
    }
    if tokens.count > TOKENS_MOST {
        return Err(b"CLIENT_ERROR options flags too long\r\n");
    }
    number::signed_32(tokens.get(2))
        .and_then(|length| usize::try_from(length).ok())
        .filter(|length| *length <= text::LENGTH_MOST)
        .ok_or(BAD_FORMAT)
}

fn asked(
    tokens: &Tokens<'_>,
    now_s: u32,
    key: &mut Vec<u8>,
) -> Result<(Flags, Mode), &'static [u8]> {
    let flags = Flags::read(tokens, 3, now_s, key)?;
    let mode = match flags.mode {
        None | Some(b'S') => Mode::Set,
        Some(b'E') => Mode::Add,
        Some(b'A') => Mode::Append,
        Some(b'P') => Mode::Prepend,
        Some(b'R') => Mode::Replace,
        Some(_) => return Err(b"CLIENT_ERROR invalid mode for ms M token\r\n"),
    };
    match flags.long_opaque {
        true => Err(LONG_OPAQUE),
        false => Ok((flags, mode)),
    }
}

/// Answers by an error and passes over the value.
fn refuse<E: Engine>(run: &mut Run<'_, E>, line: &Line<'_>, length: usize, text: &[u8]) -> usize {
    run.say(text);
    run.shared.swallow = length + 2;
    line.bytes
}

fn of<'a>(flags: &Flags, mode: Mode, value: &'a [u8]) -> Store<'a> {
    let replaces = matches!(mode, Mode::Set | Mode::Replace);
    Store {
        mode,
        // An add takes no notice of the number; 0 asks for none where something is joined on.
        cas: match mode {
            Mode::Add => None,
            _ => flags.cas,
        },
        invalidate: flags.invalidate && replaces,
        encoded: flags.encoded,
        flags: flags.client,
        expires_s: flags.expires_s.unwrap_or_default(),
        value,
    }
}

fn say(out: &mut Vec<u8>, flags: &Flags, tokens: &Tokens<'_>, key: &[u8], given: Answer<'_>) {
    let (code, cas): (&[u8], _) = match given {
        Answer::Stored { .. } if flags.quiet => return,
        Answer::Stored { cas } => (b"HD", cas),
        Answer::Exists => (b"EX", 0),
        Answer::Missing => (b"NF", 0),
        Answer::NotStored => (b"NS", 0),
        Answer::TooLarge => return out.extend_from_slice(TOO_LARGE),
        Answer::Failed(words) => return text::failed(out, words),
        _ => return out.extend_from_slice(NO_MEMORY),
    };
    out.extend_from_slice(code);
    for token in tokens.from(3) {
        if !flags::echo(out, token, key, flags.encoded) && token.first() == Some(&b'c') {
            flags::number(out, b'c', cas);
        }
    }
    out.extend_from_slice(b"\r\n");
}
