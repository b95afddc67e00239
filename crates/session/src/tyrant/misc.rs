//! `misc`: commands by name, with a list of arguments and a list as the answer.

use super::list::{Growing, element, whole};
use super::read::Reader;
use super::record::plain;
use super::{KEY_MOST, store};
use crate::engine::{Answer, Engine, Mode, Op};
use crate::run::{Run, Stop};
use crate::text;

/// The longest name of a command.
const NAME_MOST: u32 = 64;

/// The commands of one record or many, by what they do with each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Each {
    Put(Put),
    Out,
    Get { with_key: bool },
}

/// The ways to put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Put {
    Set,
    Keep,
    Cat,
}

pub(super) fn step<E: Engine>(run: &mut Run<'_, E>, reader: &mut Reader<'_>) -> Result<(), Stop> {
    let (bytes, _options, count) = (reader.u32()?, reader.u32()?, reader.u32()?);
    if bytes > NAME_MOST {
        return Err(Stop::Close);
    }
    let name = reader.take(bytes as usize)?;
    let arguments = whole(reader, count, run.limits.answer_bytes)?;
    let (each, many) = match name {
        b"put" => (Each::Put(Put::Set), false),
        b"putkeep" => (Each::Put(Put::Keep), false),
        b"putcat" => (Each::Put(Put::Cat), false),
        b"putlist" => (Each::Put(Put::Set), true),
        b"out" => (Each::Out, false),
        b"outlist" => (Each::Out, true),
        b"get" => (Each::Get { with_key: false }, false),
        b"getlist" => (Each::Get { with_key: true }, true),
        b"iternext" => return next_record(run),
        other => {
            whole_store(run, other, arguments, count);
            return Ok(());
        }
    };
    let step = if matches!(each, Each::Put(_)) { 2 } else { 1 };
    if !count.is_multiple_of(step) || (!many && count != step) {
        Growing::resume(run).fail_with_none(run);
        return Ok(());
    }
    records(run, each, many, arguments, count / step)
}

fn records<E: Engine>(
    run: &mut Run<'_, E>,
    each: Each,
    many: bool,
    mut arguments: Reader<'_>,
    count: u32,
) -> Result<(), Stop> {
    let mut answer = Growing::resume(run);
    for _ in 0..count {
        let key = sized(&mut arguments)?;
        let value = match each {
            Each::Put(_) => sized(&mut arguments)?,
            _ => &[],
        };
        if answer.is_done() {
            continue;
        }
        if key.len() > KEY_MOST || value.len() > run.limits.item_bytes {
            answer.failed = true;
            continue;
        }
        let (failed, found) = (&mut answer.failed, &mut answer.found);
        let applied = run.apply(key, op(each, value), |out, counts, given| match given {
            Answer::Found { item, .. } => {
                text::count_read(counts, false, true);
                if each == (Each::Get { with_key: true }) {
                    element(out, found, key);
                }
                element(out, found, item.value);
            }
            Answer::Stored { .. } => text::count_store(counts, false, given),
            Answer::Deleted => text::count_delete(counts, given),
            // One of many may be missing.
            _ => *failed |= !(many && matches!(given, Answer::Missing)),
        });
        applied.map_err(|stop| answer.park(run, stop))?;
        if answer.is_too_long(run) {
            answer.fail_with_none(run);
            return Ok(());
        }
    }
    match answer.failed {
        true => answer.fail_with_none(run),
        false => answer.finish(run),
    }
    Ok(())
}

fn op(each: Each, value: &[u8]) -> Op<'_> {
    match each {
        Each::Put(Put::Set) => plain(Mode::Set, value),
        Each::Put(Put::Keep) => plain(Mode::Add, value),
        Each::Put(Put::Cat) => Op::Concat { value, width: None },
        Each::Out => Op::Delete { cas: None },
        Each::Get { .. } => Op::Get,
    }
}

/// An argument.
fn sized<'a>(arguments: &mut Reader<'a>) -> Result<&'a [u8], Stop> {
    let bytes = arguments.u32()?;
    arguments.take(bytes as usize)
}

/// `iternext`: the next key and its value. A record that went meanwhile is passed over.
fn next_record<E: Engine>(run: &mut Run<'_, E>) -> Result<(), Stop> {
    let mut answer = Growing::resume(run);
    while answer.found == 0 {
        if !store::next_key(run) {
            answer.fail_with_none(run);
            return Ok(());
        }
        let key = std::mem::take(&mut run.shared.key);
        let found = &mut answer.found;
        let read = run.apply(&key, Op::Peek, |out, _, given| {
            if let Answer::Found { item, .. } = given {
                element(out, found, &key);
                element(out, found, item.value);
            }
        });
        run.shared.key = key;
        // The answer is begun anew when the engine has the value.
        read.inspect_err(|_| answer.drop_answer(run))?;
        store::pass_key(run);
    }
    answer.finish(run);
    Ok(())
}

/// The commands that are not about records named by the client.
fn whole_store<E: Engine>(run: &mut Run<'_, E>, name: &[u8], arguments: Reader<'_>, count: u32) {
    let answer = Growing::resume(run);
    let succeeded = match name {
        b"iterinit" if count == 0 => {
            store::rewind(run);
            true
        }
        b"vanish" => {
            run.flush(run.now_s);
            true
        }
        b"sync" => {
            run.commit = run.commit.max(run.engine.sync());
            true
        }
        b"optimize" | b"cacheclear" => true,
        b"fwmkeys" => return matching(run, answer, arguments, count),
        _ => false,
    };
    match succeeded {
        true => answer.finish(run),
        false => answer.fail_with_none(run),
    }
}

/// `fwmkeys`: how the keys begin, and perhaps how many are wanted, in digits.
fn matching<E: Engine>(
    run: &mut Run<'_, E>,
    answer: Growing,
    mut arguments: Reader<'_>,
    count: u32,
) {
    let prefix = if count > 0 {
        sized(&mut arguments).ok()
    } else {
        None
    };
    let most = match count {
        2.. => sized(&mut arguments)
            .ok()
            .and_then(crate::number::signed_32),
        _ => Some(-1),
    };
    match (prefix, most) {
        (Some(prefix), Some(most)) => store::show_matching(run, answer, prefix, most),
        _ => answer.fail_with_none(run),
    }
}
