//! Get, GetK, Touch, GAT, GATK and their quiet forms.

use super::frame::{Frame, Status};
use crate::engine::{Answer, Engine, Item, Op};
use crate::run::{Run, Step};
use crate::{expiry, text};

pub(super) fn step<E: Engine>(
    run: &mut Run<'_, E>,
    frame: &Frame<'_>,
    opcode: u8,
    quiet: bool,
) -> Step {
    let touched = matches!(opcode, 0x1c | 0x1d | 0x23);
    let op = match touched {
        true => Op::Touch(expiry::absolute(frame.extra_32(0).into(), run.now_s)),
        false => Op::Get,
    };
    let shown = Shown {
        key: matches!(opcode, 0x0c | 0x23),
        value: opcode != 0x1c,
    };
    run.apply(frame.key, op, |out, counts, given| {
        text::count_read(counts, touched, matches!(given, Answer::Found { .. }));
        match given {
            Answer::Found { item, .. } => hit(out, frame, &item, shown),
            Answer::Failed(_) => frame.refuse(out, Status::Failed),
            _ if quiet => {}
            // A miss with its key has no text.
            _ if shown.key => {
                frame.header(out, Status::Missing as u16, (0, frame.key.len(), 0), 0);
                out.extend_from_slice(frame.key);
            }
            _ => frame.refuse(out, Status::Missing),
        }
    })?;
    run.shared.swallow = frame.value_bytes;
    Ok(frame.head_bytes())
}

/// What a hit tells beside the flags.
#[derive(Clone, Copy)]
struct Shown {
    key: bool,
    value: bool,
}

fn hit(out: &mut Vec<u8>, frame: &Frame<'_>, item: &Item<'_>, shown: Shown) {
    let key = if shown.key { frame.key } else { &[] };
    let value = if shown.value { item.value } else { &[] };
    frame.header(out, 0, (4, key.len(), value.len()), item.cas);
    out.extend_from_slice(&item.flags.to_be_bytes());
    out.extend_from_slice(key);
    out.extend_from_slice(value);
}
