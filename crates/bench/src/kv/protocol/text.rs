//! memcached's text protocol.

use forebay_engine::Malformed;

use super::{
    Command, Expect, Grammar, Key, MISPLACED, Reply, Store, Which, is_memcached_error, number,
    parse, word,
};

/// memcached's text protocol: `get`, `set`, `add`, `delete`, `touch`, `incr`.
#[derive(Debug)]
pub(crate) struct Text;

impl Grammar for Text {
    fn answers(_: Expect) -> u32 {
        1
    }

    fn line(line: &[u8], expect: Expect, reply: &mut Reply) -> Result<Option<u64>, Malformed> {
        if expect.command == Command::Get
            && let Some(rest) = line.strip_prefix(b"VALUE ")
        {
            return value(rest, expect, reply).map(Some);
        }
        reply.left = 0;
        match (expect.command, line) {
            (Command::Get, b"END") => reply.misses = u32::from(expect.keys) - reply.hits,
            (Command::Set | Command::Add, b"STORED")
            | (Command::Add, b"NOT_STORED")
            | (Command::Delete, b"DELETED" | b"NOT_FOUND") => {}
            (Command::Touch, b"TOUCHED") => reply.hits = 1,
            (Command::Touch | Command::Incr, b"NOT_FOUND") => reply.misses = 1,
            (Command::Incr, counter) if parse(counter.trim_ascii_end()).is_some() => reply.hits = 1,
            (Command::Set, b"NOT_STORED") => reply.refused(line),
            _ if is_memcached_error(line) => reply.refused(line),
            _ => return Err(MISPLACED),
        }
        Ok(None)
    }

    fn get(out: &mut Vec<u8>, prefix: &[u8], indexes: &[u64]) {
        out.extend_from_slice(b"get");
        for &index in indexes {
            out.push(b' ');
            Key { prefix, index }.write(out);
        }
        out.extend_from_slice(b"\r\n");
    }

    fn store(out: &mut Vec<u8>, key: Key<'_>, bytes: u64, how: Store) {
        out.extend_from_slice(if how.add { b"add " } else { b"set " });
        key.write(out);
        out.extend_from_slice(b" 0 ");
        number(out, u64::from(how.expiry_s));
        out.push(b' ');
        number(out, bytes);
        out.extend_from_slice(b"\r\n");
    }

    fn stored(out: &mut Vec<u8>, _: Store) {
        out.extend_from_slice(b"\r\n");
    }

    fn simple(out: &mut Vec<u8>, command: Command, key: Key<'_>, expiry_s: u32) {
        out.extend_from_slice(match command {
            Command::Touch => b"touch ",
            Command::Incr => b"incr ",
            _ => b"delete ",
        });
        key.write(out);
        match command {
            Command::Touch => {
                out.push(b' ');
                number(out, u64::from(expiry_s));
            }
            Command::Incr => out.extend_from_slice(b" 1"),
            _ => {}
        }
        out.extend_from_slice(b"\r\n");
    }
}

/// `VALUE <key> <flags> <bytes> [<cas>]`, as `get` and `gets` are answered.
fn value(rest: &[u8], expect: Expect, reply: &mut Reply) -> Result<u64, Malformed> {
    let (key, rest) = word(rest);
    let (flags, rest) = word(rest);
    let (bytes, cas) = word(rest);
    reply.hits += 1;
    if reply.hits > u32::from(expect.keys) {
        return Err(Malformed("more values than keys were asked for"));
    }
    if key.is_empty() || parse(flags).is_none() || !(cas.is_empty() || parse(cas).is_some()) {
        return Err(Malformed("a VALUE line is malformed"));
    }
    reply.value_of(Which::Key(key));
    parse(bytes).ok_or(Malformed("a VALUE line is malformed"))
}
