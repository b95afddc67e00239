//! Commands on the store as a whole, and the walk over its keys.

use super::list::Growing;
use super::read::Reader;
use super::record::sized;
use super::{DONE, NOT_DONE};
use crate::engine::{Copied, Cursor, Engine};
use crate::run::{Run, Stop};
use crate::{number, stats};

/// The most keys that are shown at once.
const KEYS_MOST: u32 = 1 << 20;

/// How many items the engine is asked for at a time.
const SCAN_ITEMS: usize = 64;

/// The longest path or script that is read past.
const TEXT_MOST: usize = 1 << 16;

/// The longest name of a copy, in bytes: what is made on the way has a longer one.
const COPY_NAME_MOST: usize = 200;

pub(super) fn iter_begin<E: Engine>(run: &mut Run<'_, E>) {
    rewind(run);
    run.say(&[DONE]);
}

/// The walk begins again.
pub(super) fn rewind<E: Engine>(run: &mut Run<'_, E>) {
    let walk = &mut run.shared.walk;
    walk.cursor = Some(Cursor::default());
    walk.keys.clear();
    walk.seen = 0;
}

/// The walk begins at this key; false: there is none. Like `fwmkeys`, it goes through the keys for
/// that.
pub(super) fn seek<E: Engine>(run: &mut Run<'_, E>, key: &[u8]) -> bool {
    rewind(run);
    while next_key(run) {
        if run.shared.key == key {
            return true;
        }
        pass_key(run);
    }
    false
}

/// Leaves the next key of the walk in `shared.key`; false: it is at its end, or was not begun. A
/// walk is its connection's own.
pub(super) fn next_key<E: Engine>(run: &mut Run<'_, E>) -> bool {
    let walk = &mut run.shared.walk;
    while walk.seen >= walk.keys.len() {
        walk.keys.clear();
        walk.seen = 0;
        let Some(cursor) = walk.cursor else {
            return false;
        };
        let keys = &mut walk.keys;
        walk.cursor = run
            .engine
            .scan(cursor, run.now_s, SCAN_ITEMS, &mut |key, _, _| {
                sized(keys, key)
            });
    }
    let rest = walk.keys.get(walk.seen..).unwrap_or_default();
    let Some((bytes, rest)) = rest.split_first_chunk::<4>() else {
        return false;
    };
    let bytes = u32::from_be_bytes(*bytes) as usize;
    run.shared.key.clear();
    let key = rest.get(..bytes).unwrap_or_default();
    run.shared.key.extend_from_slice(key);
    true
}

/// The client has got that key.
pub(super) fn pass_key<E: Engine>(run: &mut Run<'_, E>) {
    run.shared.walk.seen += 4 + run.shared.key.len();
}

pub(super) fn iter_next<E: Engine>(run: &mut Run<'_, E>) {
    if next_key(run) {
        run.out.push(DONE);
        sized(run.out, &run.shared.key);
        pass_key(run);
    } else {
        run.say(&[NOT_DONE]);
    }
}

/// `fwmkeys`: the keys that begin alike, at most so many (below zero: any number).
pub(super) fn forward_matching<E: Engine>(
    run: &mut Run<'_, E>,
    reader: &mut Reader<'_>,
) -> Result<(), Stop> {
    let (bytes, most) = (reader.u32()?, reader.u32()?);
    let prefix = reader.key(bytes)?;
    let answer = Growing::resume(run);
    show_matching(run, answer, prefix, most.cast_signed());
    Ok(())
}

/// Answers with the keys that begin alike.
pub(super) fn show_matching<E: Engine>(
    run: &mut Run<'_, E>,
    mut answer: Growing,
    prefix: &[u8],
    most: i32,
) {
    let most = u32::try_from(most).unwrap_or(KEYS_MOST).min(KEYS_MOST);
    let mut cursor = Some(Cursor::default());
    while let (Some(at), true) = (cursor, answer.found < most) {
        let (out, found) = (&mut *run.out, &mut answer.found);
        cursor = run
            .engine
            .scan(at, run.now_s, SCAN_ITEMS, &mut |key, _, _| {
                if *found < most && key.starts_with(prefix) {
                    *found += 1;
                    sized(out, key);
                }
            });
        if answer.is_too_long(run) {
            return answer.fail_short(run);
        }
    }
    answer.finish(run);
}

/// `ext`: there are no scripts here.
pub(super) fn extension<E: Engine>(
    run: &mut Run<'_, E>,
    reader: &mut Reader<'_>,
) -> Result<(), Stop> {
    let (name, _options) = (reader.u32()?, reader.u32()?);
    let (key, value) = (reader.u32()?, reader.u32()?);
    reader.key(name)?;
    reader.key(key)?;
    reader.value(value, run.limits)?;
    run.say(&[NOT_DONE]);
    Ok(())
}

pub(super) fn sync<E: Engine>(run: &mut Run<'_, E>) {
    run.commit = run.commit.max(run.engine.sync());
    run.say(&[DONE]);
}

pub(super) fn vanish<E: Engine>(run: &mut Run<'_, E>) {
    let done = match run.flush(run.now_s) {
        Ok(()) => DONE,
        Err(_) => NOT_DONE,
    };
    run.say(&[done]);
}

/// Reads past a text of a given length.
fn text<'a>(reader: &mut Reader<'a>, bytes: u32) -> Result<&'a [u8], Stop> {
    match bytes as usize {
        bytes @ ..=TEXT_MOST => reader.take(bytes),
        _ => Err(Stop::Close),
    }
}

/// `optimize`, of which there is nothing to do here.
pub(super) fn optimize<E: Engine>(
    run: &mut Run<'_, E>,
    reader: &mut Reader<'_>,
) -> Result<(), Stop> {
    let bytes = reader.u32()?;
    text(reader, bytes)?;
    run.say(&[DONE]);
    Ok(())
}

/// `copy`: under a name only. Where it lies is the operator's affair, and commands that are run
/// for it (`@…`) are not for clients.
pub(super) fn copy<E: Engine>(run: &mut Run<'_, E>, reader: &mut Reader<'_>) -> Result<(), Stop> {
    let bytes = reader.u32()?;
    let name = text(reader, bytes)?;
    let resumed = run.resumed.take();
    let copied = match copy_name(name) {
        Some(name) => run.engine.copy(name, resumed),
        None => Copied::Refused,
    };
    match copied {
        Copied::Done => run.say(&[DONE]),
        Copied::Refused => run.say(&[NOT_DONE]),
        Copied::Pending(ticket) => return Err(Stop::Wait(0, ticket)),
    }
    Ok(())
}

/// The name of a copy: letters, digits, and `.`, `_` and `-` behind the first of them.
fn copy_name(name: &[u8]) -> Option<&str> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
    let begins = name.first().is_some_and(u8::is_ascii_alphanumeric);
    let fits = begins && name.len() <= COPY_NAME_MOST && name.iter().all(is_plain);
    str::from_utf8(name).ok().filter(|_| fits)
}

/// `restore`: a file's name, a moment and options.
pub(super) fn restore<E: Engine>(
    run: &mut Run<'_, E>,
    reader: &mut Reader<'_>,
) -> Result<(), Stop> {
    let bytes = reader.u32()?;
    let (_since, _options) = (reader.i64()?, reader.u32()?);
    text(reader, bytes)?;
    run.say(&[NOT_DONE]);
    Ok(())
}

/// `setmst`: a host, a port, a moment and options; who follows whom is the operator's affair.
pub(super) fn set_master<E: Engine>(
    run: &mut Run<'_, E>,
    reader: &mut Reader<'_>,
) -> Result<(), Stop> {
    let (bytes, _port) = (reader.u32()?, reader.u32()?);
    let (_since, _options) = (reader.i64()?, reader.u32()?);
    text(reader, bytes)?;
    run.say(&[NOT_DONE]);
    Ok(())
}

pub(super) fn record_count<E: Engine>(run: &mut Run<'_, E>) {
    let count = run.engine.figures().curr_items;
    run.say(&[DONE]);
    run.say(&count.to_be_bytes());
}

pub(super) fn size<E: Engine>(run: &mut Run<'_, E>) {
    let bytes = run.engine.figures().bytes;
    run.say(&[DONE]);
    run.say(&bytes.to_be_bytes());
}

/// `stat`: lines of a name, a tab and a value.
pub(super) fn statistics<E: Engine>(run: &mut Run<'_, E>) {
    let figures = run.engine.figures();
    let mut text = Vec::new();
    let mut row = |name: &[u8], value: u64| {
        text.extend_from_slice(name);
        text.push(b'\t');
        number::write(value, &mut text);
        text.push(b'\n');
    };
    row(b"time", run.now_s.into());
    row(b"pid", figures.pid.into());
    row(b"rnum", figures.curr_items);
    row(b"size", figures.bytes);
    row(b"bigend", 0);
    text.extend_from_slice(b"version\t");
    text.extend_from_slice(stats::VERSION.as_bytes());
    text.extend_from_slice(b"\ntype\ton-memory hash\n");
    run.say(&[DONE]);
    sized(run.out, &text);
}
