//! Tokyo Tyrant's binary protocol: 0xC8, a command's number, lengths, bytes; numbers are
//! big-endian. An answer begins with a code: 0 is success.

mod list;
mod misc;
mod read;
mod record;
mod store;

use crate::ahead::Next;
use crate::engine::Engine;
use crate::run::{Run, Step, Stop};
use read::Reader;

/// The first byte of a request.
pub(crate) const MAGIC: u8 = 0xc8;

/// It was done.
pub(super) const DONE: u8 = 0;

/// It was not: there is no such record, there is one, or the server cannot.
pub(super) const NOT_DONE: u8 = 1;

/// The longest key that is gathered, in bytes. One that is longer than keys are is answered by a
/// code; one that is longer than this ends the connection.
pub(super) const KEY_READ_MOST: usize = 1024;

/// The most elements of a request on many records: it is gone through with every piece of it that
/// arrives.
pub(super) const RECORDS_MOST: u32 = 1 << 16;

/// Carries out the command at the head of the input.
pub(crate) fn step<E: Engine>(run: &mut Run<'_, E>, input: &[u8]) -> Step {
    if run.access.is_guarded() {
        // There is no way to show the token.
        return Err(Stop::Close);
    }
    let mut reader = Reader::new(input);
    if reader.byte()? != MAGIC {
        return Err(Stop::Close);
    }
    let r = &mut reader;
    match r.byte()? {
        0x10 => record::put(run, r, record::Put::Set)?,
        0x11 => record::put(run, r, record::Put::Keep)?,
        0x12 => record::put(run, r, record::Put::Cat)?,
        0x13 => record::put(run, r, record::Put::Shift)?,
        0x18 => record::put(run, r, record::Put::NoAnswer)?,
        0x20 => record::out(run, r)?,
        0x30 => record::get(run, r)?,
        0x31 => list::mget(run, r)?,
        0x38 => record::size(run, r)?,
        0x50 => store::iter_begin(run),
        0x51 => store::iter_next(run),
        0x58 => store::forward_matching(run, r)?,
        0x60 => record::add_int(run, r)?,
        0x61 => record::add_real(run, r)?,
        0x68 => store::extension(run, r)?,
        0x70 => store::sync(run),
        0x71 => store::optimize(run, r)?,
        0x72 => store::vanish(run),
        0x73 => store::copy(run, r)?,
        0x74 => store::restore(run, r)?,
        0x78 => store::set_master(run, r)?,
        0x80 => store::record_count(run),
        0x81 => store::size(run),
        0x88 => store::statistics(run),
        0x90 => misc::step(run, r)?,
        _ => return Err(Stop::Close),
    }
    Ok(reader.bytes())
}

/// The command at the head of the input, which is not carried out yet.
pub(crate) fn ahead(input: &[u8]) -> Option<Next<'_>> {
    let mut reader = Reader::new(input);
    let r = &mut reader;
    r.byte().ok().filter(|magic| *magic == MAGIC)?;
    let command = r.byte().ok()?;
    let key_bytes = r.u32().ok()?;
    let value_bytes = match command {
        0x20 | 0x30 | 0x38 => 0,
        0x10 | 0x11 | 0x12 | 0x18 => r.u32().ok()? as usize,
        _ => return None,
    };
    let key = r.key(key_bytes).ok()?;
    Some(Next {
        key,
        bytes: reader.bytes() + value_bytes,
    })
}
