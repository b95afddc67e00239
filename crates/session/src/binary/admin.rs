//! Commands on the store as a whole, and those that are not known.

use super::frame::{Frame, Status};
use crate::engine::Engine;
use crate::run::{Run, Step, Stop};
use crate::{expiry, stats};

pub(super) fn step<E: Engine>(
    run: &mut Run<'_, E>,
    frame: &Frame<'_>,
    opcode: u8,
    quiet: bool,
) -> Step {
    match opcode {
        0x07 => {
            if !quiet {
                frame.done(run.out, &[], 0);
            }
            return Err(Stop::Close);
        }
        0x08 => {
            let at_s = match frame.extra_32(0) {
                0 => run.now_s,
                delay => expiry::absolute(delay.into(), run.now_s),
            };
            match run.flush(at_s) {
                Ok(()) if quiet => {}
                Ok(()) => frame.done(run.out, &[], 0),
                Err(_) => frame.refuse(run.out, Status::Failed),
            }
        }
        0x0a => frame.done(run.out, &[], 0),
        0x0b => frame.done(run.out, stats::VERSION.as_bytes(), 0),
        0x10 => statistics(run, frame),
        _ => frame.refuse(run.out, Status::UnknownCommand),
    }
    run.shared.swallow = frame.value_bytes;
    Ok(frame.head_bytes())
}

fn statistics<E: Engine>(run: &mut Run<'_, E>, frame: &Frame<'_>) {
    let known = match frame.key {
        b"reset" => {
            stats::reset(run);
            true
        }
        b"detail on" | b"detail off" | b"detail dump" => true,
        which => stats::each(run, which, |out, name, value| {
            frame.header(out, 0, (0, name.len(), value.len()), 0);
            out.extend_from_slice(name);
            out.extend_from_slice(value);
        }),
    };
    match known {
        true => frame.done(run.out, &[], 0),
        false => frame.refuse(run.out, Status::Missing),
    }
}
