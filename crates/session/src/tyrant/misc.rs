//! `misc`: commands by name, with a list of arguments and a list as the answer. As in Tokyo
//! Cabinet, arguments beyond those that a command has are passed over.

use super::list::{Growing, element, whole};
use super::read::Reader;
use super::record::plain;
use super::store;
use crate::engine::{Answer, Engine, Mode, Op};
use crate::limits::is_key_length;
use crate::run::{Run, Stop};
use crate::text;

/// The longest name of a command.
const NAME_MOST: u32 = 64;

/// The commands of one record or many, by what they do with each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Each {
    Put(Put),
    Out,
    Get {
        with_key: bool,
    },
    /// So many bytes of the value from an offset on.
    Part {
        offset: usize,
        most: usize,
    },
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
        b"getpart" => (part(arguments.clone(), count)?, false),
        b"getlist" => (Each::Get { with_key: true }, true),
        b"iternext" => return next_record(run),
        other => {
            whole_store(run, other, arguments, count);
            return Ok(());
        }
    };
    let step = if matches!(each, Each::Put(_)) { 2 } else { 1 };
    if !many && count < step {
        Growing::resume(run).fail_with_none(run);
        return Ok(());
    }
    let records_most = if many { u32::MAX } else { 1 };
    records(run, each, many, arguments, records_most.min(count / step))
}

/// What `getpart` asks for: behind the key an offset and a length, in digits; a length below zero,
/// or none, is the rest.
fn part(mut arguments: Reader<'_>, count: u32) -> Result<Each, Stop> {
    let mut numbers = [0, -1];
    if count > 0 {
        sized(&mut arguments)?;
    }
    for (number, _) in numbers.iter_mut().zip(1..count) {
        *number = integer(sized(&mut arguments)?);
    }
    let [offset, most] = numbers;
    Ok(Each::Part {
        offset: usize::try_from(offset).unwrap_or(0),
        most: usize::try_from(most).unwrap_or(usize::MAX),
    })
}

/// A number as Tokyo Cabinet reads one: what begins with none is 0.
fn integer(text: &[u8]) -> i64 {
    let text = text.trim_ascii_start();
    let (sign, digits) = match text {
        [b'-', digits @ ..] => (-1, digits),
        [b'+', digits @ ..] => (1, digits),
        digits => (1, digits),
    };
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let add = |sum: i64, byte: &u8| sum.saturating_mul(10).saturating_add((byte - b'0').into());
    sign * digits.fold(0, add)
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
        if !is_key_length(key.len()) || value.len() > run.limits.item_bytes {
            // Of many that are only looked for, one may be missing.
            answer.failed |= !many || matches!(each, Each::Put(_));
            continue;
        }
        let (failed, found) = (&mut answer.failed, &mut answer.found);
        let applied = run.apply(key, op(each, value), |out, counts, given| match given {
            Answer::Found { item, .. } => {
                text::count_read(counts, false, true);
                if each == (Each::Get { with_key: true }) {
                    element(out, found, key);
                }
                match each {
                    Each::Part { offset, most } => match item.value.get(offset..) {
                        None | Some([]) => *failed = true,
                        Some(rest) => element(out, found, rest.get(..most).unwrap_or(rest)),
                    },
                    _ => element(out, found, item.value),
                }
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
        Each::Get { .. } | Each::Part { .. } => Op::Get,
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
        let (found, failed) = (&mut answer.found, &mut answer.failed);
        let read = run.apply(&key, Op::Peek, |out, _, given| match given {
            Answer::Found { item, .. } => {
                element(out, found, &key);
                element(out, found, item.value);
            }
            Answer::Failed(_) => *failed = true,
            _ => {}
        });
        run.shared.key = key;
        // The answer is begun anew when the engine has the value.
        read.inspect_err(|_| answer.drop_answer(run))?;
        if answer.failed {
            // The code of an error would say that the walk is at its end.
            answer.drop_answer(run);
            return Err(Stop::Close);
        }
        store::pass_key(run);
    }
    answer.finish(run);
    Ok(())
}

/// The commands that are not about records named by the client.
fn whole_store<E: Engine>(
    run: &mut Run<'_, E>,
    name: &[u8],
    mut arguments: Reader<'_>,
    count: u32,
) {
    let answer = Growing::resume(run);
    let succeeded = match name {
        b"iterinit" if count == 0 => {
            store::rewind(run);
            true
        }
        b"iterinit" => sized(&mut arguments).is_ok_and(|key| store::seek(run, key)),
        b"vanish" => run.flush(run.now_s).is_ok(),
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
