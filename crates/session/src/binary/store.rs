//! Set, Add, Replace, Append, Prepend and their quiet forms.

use super::frame::{Frame, Status};
use crate::engine::{Answer, Engine, Mode, Op, Store};
use crate::run::{Run, Step, Stop};
use crate::{expiry, text};

pub(super) fn step<E: Engine>(
    run: &mut Run<'_, E>,
    frame: &Frame<'_>,
    input: &[u8],
    mode: Mode,
    quiet: bool,
) -> Step {
    if frame.value_bytes > run.limits.item_bytes {
        if mode == Mode::Set {
            text::forget(run, frame.key)?;
        }
        run.counts.store_too_large += 1;
        frame.refuse(run.out, Status::TooLarge);
        run.shared.swallow = frame.value_bytes;
        return Ok(frame.head_bytes());
    }
    let Some(value) = input.get(frame.head_bytes()..frame.bytes()) else {
        return Err(Stop::Need(frame.bytes()));
    };
    let cas = frame.asked_cas();
    let joins = matches!(mode, Mode::Append | Mode::Prepend);
    let store = Store {
        // With a number every store is one that compares.
        mode: if cas.is_some() && !joins {
            Mode::Set
        } else {
            mode
        },
        cas,
        invalidate: false,
        encoded: false,
        flags: frame.extra_32(0),
        expires_s: expiry::absolute(frame.extra_32(4).into(), run.now_s),
        value,
    };
    run.apply(frame.key, Op::Store(store), |out, counts, given| {
        text::count_store(counts, cas.is_some(), given);
        match given {
            Answer::Stored { .. } if quiet => {}
            Answer::Stored { cas } => frame.done(out, &[], cas),
            other => frame.refuse(out, status(mode, other)),
        }
    })?;
    Ok(frame.bytes())
}

fn status(mode: Mode, given: Answer<'_>) -> Status {
    match (given, mode) {
        (Answer::Exists, _) | (Answer::NotStored, Mode::Add) => Status::Exists,
        (Answer::Missing, _) | (Answer::NotStored, Mode::Replace) => Status::Missing,
        (Answer::NotStored, _) => Status::NotStored,
        (Answer::TooLarge, _) => Status::TooLarge,
        (Answer::Failed(_), _) => Status::Failed,
        _ => Status::NoMemory,
    }
}
