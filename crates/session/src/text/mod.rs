//! memcached's text protocol, which the meta commands are a part of. Tyrant's clients speak it too.

mod admin;
mod auth;
mod change;
mod get;
pub(crate) mod line;
mod store;

use crate::ahead::Next;
use crate::engine::{Engine, Mode};
use crate::limits::LINE_MOST;
use crate::run::{Run, Step, Stop};
use crate::{meta, number};
use line::{Line, Tokens};

pub(crate) use change::{count as count_arithmetic, count_delete};
pub(crate) use get::count as count_read;
pub(crate) use store::{LENGTH_MOST, chunk, count as count_store, forget};

pub(crate) const ERROR: &[u8] = b"ERROR\r\n";
pub(crate) const BAD_FORMAT: &[u8] = b"CLIENT_ERROR bad command line format\r\n";
pub(crate) const BAD_CHUNK: &[u8] = b"CLIENT_ERROR bad data chunk\r\n";
pub(crate) const TOO_LARGE: &[u8] = b"SERVER_ERROR object too large for cache\r\n";
pub(crate) const NO_MEMORY: &[u8] = b"SERVER_ERROR out of memory storing object\r\n";
pub(crate) const NOT_NUMBER: &[u8] =
    b"CLIENT_ERROR cannot increment or decrement non-numeric value\r\n";

/// Carries out the command at the head of the input, or goes on with the one under way.
pub(crate) fn step<E: Engine>(run: &mut Run<'_, E>, input: &[u8]) -> Step {
    if run.shared.keys.is_some() {
        return get::go_on(run, input);
    }
    if run.shared.dump.is_some() {
        return admin::dump(run);
    }
    if run.access.is_guarded() && !run.shared.admitted {
        return auth::step(run, input);
    }
    let end = match memchr::memchr(b'\n', input) {
        Some(end) if end <= LINE_MOST => end,
        None if input.len() <= LINE_MOST => return Err(Stop::Need(input.len() + 1)),
        // Only the keys of a `get` may be that many.
        _ => return get::long(run, input),
    };
    let line = Line::of(input, end);
    // What is said most is told without looking for all tokens.
    match line.text {
        [b'g', b'e', b't', b' ', keys @ ..] => get::short(run, false, keys, &line),
        [b'g', b'e', b't', b's', b' ', keys @ ..] => get::short(run, true, keys, &line),
        _ => command(run, input, &line),
    }
}

/// The command at the head of the input, which is not carried out yet.
pub(crate) fn ahead(input: &[u8]) -> Option<Next<'_>> {
    let head = input.get(..=LINE_MOST).unwrap_or(input);
    let line = Line::of(input, memchr::memchr(b'\n', head)?);
    let (verb, rest) = line::next(line.text);
    let (first, rest) = line::next(rest);
    let (second, _) = line::next(rest);
    let (key, value_bytes) = match verb {
        // Those of a line with several are told of when it is carried out.
        b"get" | b"gets" if second.is_empty() => (first, None),
        b"set" | b"add" | b"replace" | b"append" | b"prepend" | b"cas" => {
            let (_, rest) = line::next(rest);
            let (_, rest) = line::next(rest);
            (first, Some(line::next(rest).0))
        }
        b"ms" => (first, Some(second)),
        b"mg" | b"md" | b"ma" | b"touch" | b"incr" | b"decr" | b"delete" => (first, None),
        _ => (&[][..], None),
    };
    let value_bytes = match value_bytes {
        Some(text) => number::unsigned_32(text)? as usize + b"\r\n".len(),
        None => 0,
    };
    Some(Next {
        key,
        bytes: line.bytes + value_bytes,
    })
}

/// Appends an answer, unless the client wants none.
pub(crate) fn reply<E: Engine>(run: &mut Run<'_, E>, quiet: bool, text: &[u8]) {
    if !quiet {
        run.say(text);
    }
}

/// The engine's own words.
pub(crate) fn failed(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(b"SERVER_ERROR ");
    out.extend(text.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n')));
    out.extend_from_slice(b"\r\n");
}

fn command<E: Engine>(run: &mut Run<'_, E>, input: &[u8], line: &Line<'_>) -> Step {
    let tokens = Tokens::of(line.text);
    let verb = tokens.get(0);
    let wanted = match verb {
        b"get" | b"gets" | b"gat" | b"gats" | b"bget" => 3..=usize::MAX,
        b"set" | b"add" | b"replace" | b"append" | b"prepend" => 6..=7,
        b"cas" => 7..=8,
        b"incr" | b"decr" | b"touch" => 4..=5,
        b"delete" => 3..=5,
        b"mg" | b"ms" | b"md" | b"ma" => 3..=usize::MAX,
        b"flush_all" => 2..=4,
        b"verbosity" | b"cache_memlimit" => 3..=4,
        b"lru" => 3..=usize::MAX,
        _ => 2..=usize::MAX,
    };
    if verb.len() < 2 || !wanted.contains(&tokens.count) {
        run.say(ERROR);
        return Ok(line.bytes);
    }
    match verb {
        b"set" => store::step(run, input, line, &tokens, Mode::Set),
        b"add" => store::step(run, input, line, &tokens, Mode::Add),
        b"replace" => store::step(run, input, line, &tokens, Mode::Replace),
        b"append" => store::step(run, input, line, &tokens, Mode::Append),
        b"prepend" => store::step(run, input, line, &tokens, Mode::Prepend),
        b"cas" => store::step(run, input, line, &tokens, Mode::Set),
        b"get" | b"gets" | b"gat" | b"gats" | b"bget" => get::verb(run, verb, line),
        b"touch" => change::touch(run, line, &tokens),
        b"incr" => change::arithmetic(run, line, &tokens, true),
        b"decr" => change::arithmetic(run, line, &tokens, false),
        b"delete" => change::delete(run, line, &tokens),
        b"mg" => meta::get(run, line, &tokens),
        b"ms" => meta::set(run, input, line, &tokens),
        b"md" => meta::delete(run, line, &tokens),
        b"ma" => meta::arithmetic(run, line, &tokens),
        b"me" => meta::debug(run, line, &tokens),
        _ => admin::step(run, line, &tokens),
    }
}
