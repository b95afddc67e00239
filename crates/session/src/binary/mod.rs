//! memcached's binary protocol: a header of 24 bytes, extras, a key, a value. Its quiet commands
//! are answered only where something is to be told.

mod admin;
mod change;
mod frame;
mod get;
mod sasl;
mod store;

use crate::ahead::Next;
use crate::engine::{Engine, Mode};
use crate::limits::KEY_MOST;
use crate::run::{Run, Step, Stop};
use frame::{Frame, Status};

pub(crate) use frame::MAGIC;

/// Carries out the command at the head of the input.
pub(crate) fn step<E: Engine>(run: &mut Run<'_, E>, input: &[u8]) -> Step {
    let frame = Frame::read(input)?;
    if !frame.fits {
        frame.refuse(run.out, Status::UnknownCommand);
        return Err(Stop::Close);
    }
    let is_open = matches!(frame.opcode, 0x0b | 0x20 | 0x21 | 0x22);
    if run.access.is_guarded() && !run.shared.admitted && !is_open {
        frame.refuse(run.out, Status::AuthError);
        return Err(Stop::Close);
    }
    if frame.key.len() > KEY_MOST {
        return wrong(run, &frame);
    }
    let (opcode, quiet) = loud(frame.opcode);
    if !is_well_formed(opcode, &frame) {
        return wrong(run, &frame);
    }
    match opcode {
        0x00 | 0x0c | 0x1c | 0x1d | 0x23 => get::step(run, &frame, opcode, quiet),
        0x01 => store::step(run, &frame, input, Mode::Set, quiet),
        0x02 => store::step(run, &frame, input, Mode::Add, quiet),
        0x03 => store::step(run, &frame, input, Mode::Replace, quiet),
        0x04 => change::delete(run, &frame, quiet),
        0x05 => change::arithmetic(run, &frame, true, quiet),
        0x06 => change::arithmetic(run, &frame, false, quiet),
        0x0e => store::step(run, &frame, input, Mode::Append, quiet),
        0x0f => store::step(run, &frame, input, Mode::Prepend, quiet),
        0x20..=0x22 if run.access.is_guarded() => sasl::step(run, &frame, input),
        _ => admin::step(run, &frame, opcode, quiet),
    }
}

/// The command at the head of the input, which is not carried out yet.
pub(crate) fn ahead(input: &[u8]) -> Option<Next<'_>> {
    let frame = Frame::read(input).ok()?;
    let bytes = frame.bytes();
    // Those that are about all items have none, and that of the statistics is no item's.
    let key = if frame.opcode == 0x10 { &[] } else { frame.key };
    Some(Next { key, bytes })
}

/// What is no request is answered, and the connection ends.
fn wrong<E: Engine>(run: &mut Run<'_, E>, frame: &Frame<'_>) -> Step {
    frame.refuse(run.out, Status::Invalid);
    Err(Stop::Close)
}

/// The command that a quiet one stands for, and whether it is one.
fn loud(opcode: u8) -> (u8, bool) {
    match opcode {
        0x09 => (0x00, true),
        0x0d => (0x0c, true),
        0x11..=0x16 => (opcode - 0x10, true),
        0x17 => (0x07, true),
        0x18 => (0x08, true),
        0x19 => (0x0e, true),
        0x1a => (0x0f, true),
        0x1e => (0x1d, true),
        0x24 => (0x23, true),
        _ => (opcode, false),
    }
}

/// Whether extras, key and value are what the command has.
fn is_well_formed(opcode: u8, frame: &Frame<'_>) -> bool {
    let (extras, key, value) = (frame.extras.len(), frame.key.len(), frame.value_bytes);
    match opcode {
        0x00 | 0x0c | 0x04 => extras == 0 && key > 0 && value == 0,
        0x01..=0x03 => extras == 8 && key > 0,
        0x05 | 0x06 => extras == 20 && key > 0 && value == 0,
        0x07 | 0x0a | 0x0b | 0x20 => extras == 0 && key == 0 && value == 0,
        0x08 => matches!(extras, 0 | 4) && key == 0 && value == 0,
        0x0e | 0x0f | 0x21 | 0x22 => extras == 0 && key > 0,
        0x10 => extras == 0,
        0x1c | 0x1d | 0x23 => extras == 4 && key > 0,
        _ => true,
    }
}
