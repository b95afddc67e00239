//! The token in the binary protocol: SASL's PLAIN (RFC 4616).

use super::frame::{Frame, Status};
use crate::engine::Engine;
use crate::run::{Run, Step, Stop};

/// The longest message of a client's that is looked at.
const MESSAGE_MOST: usize = 2048;

pub(super) fn step<E: Engine>(run: &mut Run<'_, E>, frame: &Frame<'_>, input: &[u8]) -> Step {
    if frame.opcode == 0x20 {
        frame.done(run.out, b"PLAIN", 0);
        return Ok(frame.bytes());
    }
    if frame.value_bytes > MESSAGE_MOST {
        frame.refuse(run.out, Status::Invalid);
        return Err(Stop::Close);
    }
    let Some(message) = input.get(frame.head_bytes()..frame.bytes()) else {
        return Err(Stop::Need(frame.bytes()));
    };
    run.counts.auth_cmds += 1;
    // PLAIN has one step: there is nothing to go on with.
    let starts = frame.opcode == 0x21 && frame.key == b"PLAIN";
    run.shared.admitted = starts && admits(run, message);
    if run.shared.admitted {
        frame.done(run.out, b"Authenticated", 0);
    } else {
        run.counts.auth_errors += 1;
        frame.refuse(run.out, Status::AuthError);
    }
    Ok(frame.bytes())
}

/// A message is: the name to act for, NUL, the name, NUL, the token.
fn admits<E: Engine>(run: &Run<'_, E>, message: &[u8]) -> bool {
    let mut parts = message.splitn(3, |byte| *byte == 0).skip(1);
    match (parts.next(), parts.next()) {
        (Some(name), Some(token)) => run.access.admits(name, token),
        _ => false,
    }
}
