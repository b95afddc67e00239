//! memcached's meta protocol: `mg`, `ms`, `md`, `ma`; each key has its own
//! answer, in the order of the requests. Quiet mode is not used, so that
//! nothing has to be inferred from an answer that is not there.

use forebay_engine::Malformed;

use super::{
    Command, Expect, Grammar, Key, MISPLACED, Reply, Store, Which, is_memcached_error, number,
    parse, word,
};

/// memcached's meta protocol.
#[derive(Debug)]
pub(crate) struct Meta;

impl Grammar for Meta {
    fn answers(expect: Expect) -> u32 {
        u32::from(expect.keys)
    }

    fn line(line: &[u8], expect: Expect, reply: &mut Reply) -> Result<Option<u64>, Malformed> {
        // The answer to a no-op: whoever put one on the connection, it answers no command of ours.
        if line == b"MN" {
            return Err(MISPLACED);
        }
        let place = u32::from(expect.keys) - reply.left;
        reply.left -= 1;
        let (code, rest) = word(line);
        match (expect.command, code) {
            (Command::Get, b"VA") => {
                reply.hits += 1;
                reply.value_of(Which::Place(place as usize));
                let bytes = parse(word(rest).0);
                return bytes.map(Some).ok_or(Malformed("a VA line is malformed"));
            }
            (Command::Touch | Command::Incr, b"HD") => reply.hits += 1,
            (Command::Get | Command::Touch, b"EN") | (Command::Incr | Command::Touch, b"NF") => {
                reply.misses += 1;
            }
            (Command::Set | Command::Add, b"HD")
            | (Command::Add, b"NS")
            | (Command::Delete, b"HD" | b"NF") => {}
            (Command::Set, b"NS" | b"EX" | b"NF") => reply.refused(line),
            _ if is_memcached_error(line) => reply.refused(line),
            _ => return Err(MISPLACED),
        }
        Ok(None)
    }

    fn get(out: &mut Vec<u8>, prefix: &[u8], indexes: &[u64]) {
        for &index in indexes {
            out.extend_from_slice(b"mg ");
            Key { prefix, index }.write(out);
            out.extend_from_slice(b" v\r\n");
        }
    }

    fn store(out: &mut Vec<u8>, key: Key<'_>, bytes: u64, how: Store) {
        out.extend_from_slice(b"ms ");
        key.write(out);
        out.push(b' ');
        number(out, bytes);
        if how.expiry_s > 0 {
            out.extend_from_slice(b" T");
            number(out, u64::from(how.expiry_s));
        }
        out.extend_from_slice(if how.add { b" ME\r\n" } else { b"\r\n" });
    }

    fn stored(out: &mut Vec<u8>, _: Store) {
        out.extend_from_slice(b"\r\n");
    }

    fn simple(out: &mut Vec<u8>, command: Command, key: Key<'_>, expiry_s: u32) {
        out.extend_from_slice(match command {
            Command::Touch => b"mg ",
            Command::Incr => b"ma ",
            _ => b"md ",
        });
        key.write(out);
        if command == Command::Touch {
            out.extend_from_slice(b" T");
            number(out, u64::from(expiry_s));
        }
        out.extend_from_slice(b"\r\n");
    }
}
