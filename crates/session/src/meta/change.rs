//! `md` and `ma`: deleting or declaring stale, and counting.

use super::flags::{self, Flags, LONG_OPAQUE, TOKENS_MOST};
use crate::engine::{Answer, Arithmetic, Engine, Op};
use crate::limits::KEY_MOST;
use crate::number;
use crate::run::{Run, Step};
use crate::text::line::{Line, Tokens};
use crate::text::{self, BAD_FORMAT, NOT_NUMBER};

/// The flags of either command.
fn asked(tokens: &Tokens<'_>, now_s: u32, key: &mut Vec<u8>) -> Result<Flags, &'static [u8]> {
    if tokens.get(1).len() > KEY_MOST {
        return Err(BAD_FORMAT);
    }
    if tokens.count > TOKENS_MOST {
        return Err(b"CLIENT_ERROR options flags too long\r\n");
    }
    Flags::read(tokens, 2, now_s, key)
        .map_err(|_| b"CLIENT_ERROR invalid or duplicate flag\r\n".as_slice())
}

pub(crate) fn delete<E: Engine>(
    run: &mut Run<'_, E>,
    line: &Line<'_>,
    tokens: &Tokens<'_>,
) -> Step {
    let mut key = std::mem::take(&mut run.shared.key);
    let asked = match asked(tokens, run.now_s, &mut key) {
        Ok(flags) if flags.long_opaque => Err(LONG_OPAQUE),
        asked => asked,
    };
    let done = match asked {
        Ok(flags) => remove(run, &flags, tokens, &key),
        Err(text) => {
            run.say(text);
            Ok(())
        }
    };
    run.shared.key = key;
    done.map(|()| line.bytes)
}

fn remove<E: Engine>(
    run: &mut Run<'_, E>,
    flags: &Flags,
    tokens: &Tokens<'_>,
    key: &[u8],
) -> Result<(), crate::run::Stop> {
    let op = match flags.invalidate {
        true => Op::Invalidate {
            cas: flags.cas,
            expires_s: flags.expires_s,
        },
        false => Op::Delete { cas: flags.cas },
    };
    run.number = flags.number;
    run.apply(key, op, |out, counts, given| {
        counts.cmd_meta += 1;
        text::count_delete(counts, given);
        let code: &[u8] = match given {
            Answer::Deleted | Answer::Stored { .. } if flags.quiet => return,
            Answer::Deleted | Answer::Stored { .. } => b"HD",
            Answer::Exists => b"EX",
            Answer::Failed(words) => return text::failed(out, words),
            _ => b"NF",
        };
        out.extend_from_slice(code);
        for token in tokens.from(2) {
            flags::echo(out, token, key, flags.encoded);
        }
        out.extend_from_slice(b"\r\n");
    })
}

pub(crate) fn arithmetic<E: Engine>(
    run: &mut Run<'_, E>,
    line: &Line<'_>,
    tokens: &Tokens<'_>,
) -> Step {
    let mut key = std::mem::take(&mut run.shared.key);
    let asked = asked(tokens, run.now_s, &mut key).and_then(|flags| {
        let up = match flags.mode {
            None | Some(b'I' | b'+') => true,
            Some(b'D' | b'-') => false,
            Some(_) => return Err(b"CLIENT_ERROR invalid mode for ma M token\r\n".as_slice()),
        };
        match flags.long_opaque {
            true => Err(LONG_OPAQUE),
            false => Ok((flags, up)),
        }
    });
    let done = match asked {
        Ok((flags, up)) => calculate(run, &flags, up, tokens, &key),
        Err(text) => {
            run.say(text);
            Ok(())
        }
    };
    run.shared.key = key;
    done.map(|()| line.bytes)
}

fn calculate<E: Engine>(
    run: &mut Run<'_, E>,
    flags: &Flags,
    up: bool,
    tokens: &Tokens<'_>,
    key: &[u8],
) -> Result<(), crate::run::Stop> {
    let op = Op::Arithmetic(Arithmetic {
        up,
        delta: flags.delta.unwrap_or(1),
        cas: flags.cas.filter(|cas| *cas != 0),
        initial: flags
            .vivify
            .map(|at_s| (flags.initial, made(flags, tokens, at_s))),
        expires_s: flags.expires_s,
    });
    let now_s = run.now_s;
    run.number = flags.number;
    run.apply(key, op, |out, counts, given| {
        counts.cmd_meta += 1;
        text::count_arithmetic(counts, up, given);
        let code: &[u8] = match given {
            // A made counter is answered in any case, as in memcached.
            Answer::Number { made: false, .. } if flags.quiet => return,
            Answer::Number { .. } => return number_line(out, flags, tokens, key, given, now_s),
            Answer::NotNumber => return out.extend_from_slice(NOT_NUMBER),
            Answer::Full => return out.extend_from_slice(b"SERVER_ERROR out of memory\r\n"),
            Answer::Failed(words) => return text::failed(out, words),
            Answer::Exists => b"EX",
            Answer::NotStored => b"NS",
            _ => b"NF",
        };
        out.extend_from_slice(code);
        for token in tokens.from(2) {
            flags::echo(out, token, key, flags.encoded);
        }
        out.extend_from_slice(b"\r\n");
    })
}

/// The expiry of a counter that is made: `N` and `T` are carried out in their order.
fn made(flags: &Flags, tokens: &Tokens<'_>, vivify: u32) -> u32 {
    let place = |letter: u8| tokens.from(2).position(|t| t.first() == Some(&letter));
    match flags.expires_s {
        Some(touch) if place(b'T') > place(b'N') => touch,
        _ => vivify,
    }
}

fn number_line(
    out: &mut Vec<u8>,
    flags: &Flags,
    tokens: &Tokens<'_>,
    key: &[u8],
    given: Answer<'_>,
    now_s: u32,
) {
    let Answer::Number {
        value,
        cas,
        mut expires_s,
        made,
    } = given
    else {
        return;
    };
    let mut digits = itoa::Buffer::new();
    let digits = digits.format(value).as_bytes();
    match flags.value {
        true => {
            out.extend_from_slice(b"VA ");
            number::write(digits.len() as u64, out);
        }
        false => out.extend_from_slice(b"HD"),
    }
    for token in tokens.from(2) {
        match token.first() {
            Some(b'c') => flags::number(out, b'c', cas),
            Some(b't') => flags::left(out, expires_s, now_s),
            Some(b'T') => expires_s = flags.expires_s.unwrap_or(expires_s),
            Some(b'N') if made => expires_s = flags.vivify.unwrap_or(expires_s),
            _ => {
                flags::echo(out, token, key, flags.encoded);
            }
        }
    }
    out.extend_from_slice(b"\r\n");
    if flags.value {
        out.extend_from_slice(digits);
        out.extend_from_slice(b"\r\n");
    }
}
