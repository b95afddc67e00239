//! Delete, Increment, Decrement and their quiet forms.

use super::frame::{Frame, Status};
use crate::engine::{Answer, Arithmetic, Engine, Op};
use crate::run::{Run, Step};
use crate::{expiry, text};

/// The expiry that says that no counter is to be made.
const NOT_MADE: u32 = u32::MAX;

pub(super) fn delete<E: Engine>(run: &mut Run<'_, E>, frame: &Frame<'_>, quiet: bool) -> Step {
    let op = Op::Delete {
        cas: frame.asked_cas(),
    };
    run.apply(frame.key, op, |out, counts, given| {
        text::count_delete(counts, given);
        match given {
            Answer::Deleted if quiet => {}
            Answer::Deleted => frame.done(out, &[], 0),
            Answer::Exists => frame.refuse(out, Status::Exists),
            Answer::Failed(_) => frame.refuse(out, Status::Failed),
            _ => frame.refuse(out, Status::Missing),
        }
    })?;
    Ok(frame.bytes())
}

pub(super) fn arithmetic<E: Engine>(
    run: &mut Run<'_, E>,
    frame: &Frame<'_>,
    up: bool,
    quiet: bool,
) -> Step {
    let given_s = frame.extra_32(16);
    let expires_s = expiry::absolute(given_s.into(), run.now_s);
    let how = Arithmetic {
        up,
        delta: frame.extra_64(0),
        cas: frame.asked_cas(),
        initial: (given_s != NOT_MADE).then_some((frame.extra_64(8), expires_s)),
        expires_s: None,
    };
    run.apply(frame.key, Op::Arithmetic(how), |out, counts, given| {
        text::count_arithmetic(counts, up, given);
        match given {
            Answer::Number { .. } if quiet => {}
            Answer::Number { value, cas, .. } => frame.done(out, &value.to_be_bytes(), cas),
            Answer::NotNumber => frame.refuse(out, Status::NotNumber),
            Answer::Exists => frame.refuse(out, Status::Exists),
            Answer::Missing => frame.refuse(out, Status::Missing),
            Answer::NotStored => frame.refuse(out, Status::NotStored),
            Answer::Failed(_) => frame.refuse(out, Status::Failed),
            _ => frame.refuse(out, Status::NoMemory),
        }
    })?;
    Ok(frame.bytes())
}
