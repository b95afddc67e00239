//! Commands on many records, whose answer says how many there are before it shows them. When the
//! engine has to wait in the middle, what is done is kept and the command comes again.

use super::read::Reader;
use super::record::sized;
use super::{DONE, NOT_DONE, RECORDS_MOST};
use crate::engine::{Answer, Engine, Op};
use crate::run::{Run, Stop};
use crate::text;

/// The answer to a command on many records, while it grows.
pub(super) struct Growing {
    /// Where it begins in the output.
    start: usize,
    /// The records that were done before.
    skip: u32,
    /// The records that are done.
    done: u32,
    /// How many elements it has.
    pub(super) found: u32,
    /// One of the records could not be done.
    pub(super) failed: bool,
}

impl Growing {
    /// Takes up what was done before.
    pub(super) fn resume<E: Engine>(run: &mut Run<'_, E>) -> Self {
        let start = run.out.len();
        run.out.append(&mut std::mem::take(&mut run.shared.parked));
        if run.out.len() == start {
            run.out.extend_from_slice(&[DONE, 0, 0, 0, 0]);
        }
        Self {
            start,
            skip: std::mem::take(&mut run.shared.records_done),
            done: 0,
            found: std::mem::take(&mut run.shared.records_found),
            failed: std::mem::take(&mut run.shared.records_failed),
        }
    }

    /// Whether the next record was done before.
    pub(super) fn is_done(&mut self) -> bool {
        self.done += 1;
        self.done <= self.skip
    }

    /// Keeps what is done when the next record cannot be done now.
    pub(super) fn park<E: Engine>(&self, run: &mut Run<'_, E>, stop: Stop) -> Stop {
        run.shared.parked = run.out.split_off(self.start);
        run.shared.records_done = self.done - 1;
        run.shared.records_found = self.found;
        run.shared.records_failed = self.failed;
        stop
    }

    /// Takes everything back.
    pub(super) fn drop_answer<E: Engine>(&self, run: &mut Run<'_, E>) {
        run.out.truncate(self.start);
    }

    /// Whether it has become longer than an answer may be.
    pub(super) fn is_too_long<E: Engine>(&self, run: &Run<'_, E>) -> bool {
        run.out.len() - self.start > run.limits.answer_bytes
    }

    /// Takes everything back and says that it was not done, where the list is left out then.
    pub(super) fn fail_short<E: Engine>(&self, run: &mut Run<'_, E>) {
        run.out.truncate(self.start);
        run.say(&[NOT_DONE]);
    }

    /// The same, where the list is there in any case.
    pub(super) fn fail_with_none<E: Engine>(&self, run: &mut Run<'_, E>) {
        run.out.truncate(self.start);
        run.say(&[NOT_DONE, 0, 0, 0, 0]);
    }

    /// Writes how many elements there are.
    pub(super) fn finish<E: Engine>(&self, run: &mut Run<'_, E>) {
        let count = self.start + 1..self.start + 5;
        if let Some(place) = run.out.get_mut(count) {
            place.copy_from_slice(&self.found.to_be_bytes());
        }
    }
}

/// How many elements follow, and where they begin: everything must be there before anything is
/// done, and no more than an answer may have.
pub(super) fn whole<'a>(
    reader: &mut Reader<'a>,
    count: u32,
    most_bytes: usize,
) -> Result<Reader<'a>, Stop> {
    if count > RECORDS_MOST {
        return Err(Stop::Close);
    }
    let before = reader.bytes();
    let from = reader.clone();
    for _ in 0..count {
        let bytes = reader.u32()? as usize;
        if reader.bytes() - before + bytes > most_bytes {
            return Err(Stop::Close);
        }
        reader.take(bytes)?;
    }
    Ok(from)
}

pub(super) fn mget<E: Engine>(run: &mut Run<'_, E>, reader: &mut Reader<'_>) -> Result<(), Stop> {
    let count = reader.u32()?;
    let mut keys = whole(reader, count, run.limits.answer_bytes)?;
    let mut answer = Growing::resume(run);
    for _ in 0..count {
        let bytes = keys.u32()?;
        let key = keys.key(bytes)?;
        if answer.is_done() {
            continue;
        }
        let (found, failed) = (&mut answer.found, &mut answer.failed);
        let read = run.apply(key, Op::Get, |out, counts, given| {
            text::count_read(counts, false, matches!(given, Answer::Found { .. }));
            match given {
                Answer::Found { item, .. } => {
                    *found += 1;
                    out.extend_from_slice(&(key.len() as u32).to_be_bytes());
                    out.extend_from_slice(&(item.value.len() as u32).to_be_bytes());
                    out.extend_from_slice(key);
                    out.extend_from_slice(item.value);
                }
                // A record that cannot be read is not one that is not there.
                Answer::Failed(_) => *failed = true,
                _ => {}
            }
        });
        read.map_err(|stop| answer.park(run, stop))?;
        if answer.failed || answer.is_too_long(run) {
            answer.fail_with_none(run);
            return Ok(());
        }
    }
    answer.finish(run);
    Ok(())
}

/// Appends one element.
pub(super) fn element(out: &mut Vec<u8>, found: &mut u32, bytes: &[u8]) {
    *found += 1;
    sized(out, bytes);
}
