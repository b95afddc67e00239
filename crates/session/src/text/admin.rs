//! Commands on the store as a whole: `flush_all`, `stats`, `version`, `verbosity` and what
//! memcached has for tuning it, which is answered as if it were done.

use super::line::{Line, Tokens};
use super::{BAD_FORMAT, ERROR, failed, reply};
use crate::engine::{Cursor, Engine, Item};
use crate::run::{Run, Step, Stop};
use crate::{expiry, number, stats};

/// How many classes of items memcached knows; here everything is in the first one.
const CLASSES: u32 = 64;

/// How many items a dump asks the engine for at a time.
const DUMP_ITEMS: usize = 64;

pub(super) fn step<E: Engine>(run: &mut Run<'_, E>, line: &Line<'_>, tokens: &Tokens<'_>) -> Step {
    match tokens.get(0) {
        b"mn" => run.say(b"MN\r\n"),
        b"flush_all" => flush(run, tokens),
        b"version" => {
            run.say(b"VERSION ");
            run.say(stats::VERSION.as_bytes());
            run.say(b"\r\n");
        }
        b"verbosity" => match number::unsigned_32(tokens.get(1)) {
            Some(_) => reply(run, tokens.no_reply(), b"OK\r\n"),
            None => reply(run, tokens.no_reply(), BAD_FORMAT),
        },
        b"stats" => statistics(run, tokens),
        b"quit" => return Err(Stop::Close),
        b"shutdown" => run.say(b"ERROR: shutdown not enabled\r\n"),
        b"cache_memlimit" => memory_limit(run, tokens),
        b"lru_crawler" => return crawler(run, line, tokens),
        b"slabs" => slabs(run, tokens),
        b"lru" => lru(run, tokens),
        b"watch" => run.say(b"CLIENT_ERROR watch commands not allowed\r\n"),
        _ => run.say(ERROR),
    }
    Ok(line.bytes)
}

fn flush<E: Engine>(run: &mut Run<'_, E>, tokens: &Tokens<'_>) {
    let quiet = tokens.no_reply();
    let mut given_s = 0;
    if tokens.count != if quiet { 3 } else { 2 } {
        let Some(delay) = number::signed_32(tokens.get(1)) else {
            return reply(run, quiet, b"CLIENT_ERROR invalid exptime argument\r\n");
        };
        given_s = delay;
    }
    let at_s = match given_s {
        ..=0 => run.now_s,
        delay => expiry::absolute(delay.into(), run.now_s),
    };
    match run.flush(at_s) {
        Ok(()) => reply(run, quiet, b"OK\r\n"),
        Err(words) => failed(run.out, words),
    }
}

fn statistics<E: Engine>(run: &mut Run<'_, E>, tokens: &Tokens<'_>) {
    match tokens.get(1) {
        b"reset" => {
            stats::reset(run);
            run.say(b"RESET\r\n");
        }
        b"detail" => match tokens.get(2) {
            b"on" | b"off" => run.say(b"OK\r\n"),
            b"dump" => run.say(b"END\r\n"),
            _ => run.say(b"CLIENT_ERROR usage: stats detail on|off|dump\r\n"),
        },
        b"cachedump" => cache_dump(run, tokens),
        which => {
            let known = stats::each(run, which, |out, name, value| {
                out.extend_from_slice(b"STAT ");
                out.extend_from_slice(name);
                out.push(b' ');
                out.extend_from_slice(value);
                out.extend_from_slice(b"\r\n");
            });
            run.say(if known { b"END\r\n" } else { ERROR });
        }
    }
}

/// The first items of a class.
fn cache_dump<E: Engine>(run: &mut Run<'_, E>, tokens: &Tokens<'_>) {
    if tokens.count < 5 {
        return run.say(b"CLIENT_ERROR bad command line\r\n");
    }
    let numbers = number::unsigned_32(tokens.get(2)).zip(number::unsigned_32(tokens.get(3)));
    let most = match numbers {
        None => return run.say(BAD_FORMAT),
        Some((CLASSES.., _)) => return run.say(b"CLIENT_ERROR Illegal slab id\r\n"),
        Some((class, _)) if class != 1 => return run.say(b"END\r\n"),
        Some((_, most)) => most,
    };
    let most = if most == 0 { usize::MAX } else { most as usize };
    let (mut cursor, mut shown) = (Some(Cursor::default()), 0);
    // As in memcached, a dump is what goes into one page of 2 MB.
    let enough = run.out.len() + (2 << 20);
    while let (Some(at), true) = (cursor, shown < most && run.out.len() < enough) {
        let out = &mut *run.out;
        cursor = run
            .engine
            .scan(at, run.now_s, DUMP_ITEMS, &mut |key, item, len| {
                if shown < most {
                    shown += 1;
                    out.extend_from_slice(b"ITEM ");
                    out.extend_from_slice(key);
                    out.extend_from_slice(b" [");
                    number::write(len as u64, out);
                    out.extend_from_slice(b" b; ");
                    number::write(item.expires_s.into(), out);
                    out.extend_from_slice(b" s]\r\n");
                }
            });
    }
    run.say(b"END\r\n");
}

fn memory_limit<E: Engine>(run: &mut Run<'_, E>, tokens: &Tokens<'_>) {
    let text: &[u8] = match number::unsigned_32(tokens.get(1)) {
        None => ERROR,
        Some(..8) => b"MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m\r\n",
        Some(1_000_000_001..) => b"MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes\r\n",
        Some(_) => b"MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust\r\n",
    };
    reply(run, tokens.no_reply(), text);
}

fn crawler<E: Engine>(run: &mut Run<'_, E>, line: &Line<'_>, tokens: &Tokens<'_>) -> Step {
    let text: &[u8] = match (tokens.count, tokens.get(1)) {
        (4, b"metadump") => {
            run.shared.dump = Some(Cursor::default());
            return Ok(line.bytes);
        }
        (3, b"enable" | b"disable") | (4, b"crawl") => b"OK\r\n",
        (4, b"tocrawl") => match number::unsigned_32(tokens.get(2)) {
            Some(_) => b"OK\r\n",
            None => BAD_FORMAT,
        },
        (4, b"sleep") => match number::unsigned_32(tokens.get(2)) {
            Some(..=1_000_000) => b"OK\r\n",
            Some(_) => b"CLIENT_ERROR sleep must be one second or less\r\n",
            None => BAD_FORMAT,
        },
        _ => ERROR,
    };
    run.say(text);
    Ok(line.bytes)
}

/// Goes on with the dump of all items, up to the bound of the output.
pub(super) fn dump<E: Engine>(run: &mut Run<'_, E>) -> Step {
    while let Some(cursor) = run.shared.dump {
        if run.is_full() {
            return Ok(0);
        }
        let out = &mut *run.out;
        let next = run
            .engine
            .scan(cursor, run.now_s, DUMP_ITEMS, &mut |key, item, len| {
                dump_item(out, key, &item, len);
            });
        run.shared.dump = next;
    }
    run.say(b"END\r\n");
    Ok(0)
}

fn dump_item(out: &mut Vec<u8>, key: &[u8], item: &Item<'_>, value_len: usize) {
    out.extend_from_slice(b"key=");
    for byte in key {
        match byte {
            b'-' | b'.' | b'_' | b'~' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => out.push(*byte),
            _ => {
                let digit = |half: u8| match half & 15 {
                    half @ ..10 => b'0' + half,
                    half => b'A' + half - 10,
                };
                out.extend_from_slice(&[b'%', digit(byte >> 4), digit(*byte)]);
            }
        }
    }
    out.extend_from_slice(b" exp=");
    match item.expires_s {
        0 => out.extend_from_slice(b"-1"),
        at_s => number::write(at_s.into(), out),
    }
    out.extend_from_slice(b" la=");
    number::write(item.used_s.into(), out);
    out.extend_from_slice(b" cas=");
    number::write(item.cas, out);
    out.extend_from_slice(match item.marks.fetched {
        true => b" fetch=yes cls=1 size=",
        false => b" fetch=no cls=1 size=",
    });
    number::write(stats::size(key, value_len), out);
    out.push(b'\n');
}

fn slabs<E: Engine>(run: &mut Run<'_, E>, tokens: &Tokens<'_>) {
    let text: &[u8] = match (tokens.count, tokens.get(1)) {
        (5, b"reassign") => b"NOSPARE source class has no spare pages\r\n",
        (4.., b"automove") => match number::unsigned_32(tokens.get(2)) {
            Some(0..=2) => b"OK\r\n",
            Some(_) => ERROR,
            None if tokens.get(2) == b"ratio" && tokens.count >= 5 => b"OK\r\n",
            None => BAD_FORMAT,
        },
        _ => ERROR,
    };
    run.say(text);
}

fn lru<E: Engine>(run: &mut Run<'_, E>, tokens: &Tokens<'_>) {
    let is_known = match (tokens.get(1), tokens.get(2)) {
        (b"tune", _) => tokens.count >= 7,
        (b"mode", b"flat" | b"segmented") => true,
        (b"temp_ttl", ttl) => number::signed_32(ttl).is_some(),
        _ => false,
    };
    let text: &[u8] = if is_known { b"OK\r\n" } else { ERROR };
    reply(run, tokens.no_reply(), text);
}
