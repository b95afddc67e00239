//! The token in the text protocol, as memcached takes it: before anything else a `set` of any key
//! whose value is `user token`.

use super::line::{self, Line, Tokens};
use super::store;
use crate::engine::Engine;
use crate::limits::LINE_MOST;
use crate::number;
use crate::run::{Run, Step, Stop};

pub(super) fn step<E: Engine>(run: &mut Run<'_, E>, input: &[u8]) -> Step {
    let line = Line::read(input)?;
    let tokens = Tokens::of(line.text);
    let length = match number::unsigned_32(tokens.get(4)) {
        Some(length) if tokens.count >= 6 && tokens.get(0) == b"set" => length as usize,
        _ => {
            run.say(b"CLIENT_ERROR unauthenticated\r\n");
            return Ok(line.bytes);
        }
    };
    if length > LINE_MOST {
        return Err(Stop::Close);
    }
    let whole = line.bytes + length + 2;
    match store::chunk(input, line.bytes, length) {
        None => return Err(Stop::Need(whole)),
        Some(Err(())) => run.say(b"CLIENT_ERROR bad command line termination\r\n"),
        Some(Ok(value)) => admit(run, value),
    }
    Ok(whole)
}

fn admit<E: Engine>(run: &mut Run<'_, E>, value: &[u8]) {
    let (name, rest) = line::next(value);
    let (token, _) = line::next(rest);
    if token.is_empty() {
        run.say(b"CLIENT_ERROR bad authentication token format\r\n");
        return;
    }
    run.counts.auth_cmds += 1;
    if run.access.admits(name, token) {
        run.shared.admitted = true;
        run.say(b"STORED\r\n");
    } else {
        run.counts.auth_errors += 1;
        run.say(b"CLIENT_ERROR authentication failure\r\n");
    }
}
