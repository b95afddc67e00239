//! Redis' protocol, RESP2; Valkey, KeyDB and Dragonfly speak it as well.

use forebay_engine::Malformed;

use super::{Command, Expect, Grammar, Key, MISPLACED, Reply, Store, Which, digits, number, parse};

/// RESP2: `GET` and `MGET`, `SET`, `DEL`, `EXPIRE`, `INCR`; `AUTH` and `SELECT` as a greeting.
#[derive(Debug)]
pub(crate) struct Resp;

impl Grammar for Resp {
    fn answers(_: Expect) -> u32 {
        1
    }

    fn line(line: &[u8], expect: Expect, reply: &mut Reply) -> Result<Option<u64>, Malformed> {
        let (&kind, rest) = line.split_first().ok_or(MISPLACED)?;
        let is_many = expect.keys > 1 && expect.command == Command::Get;
        match (kind, expect.command) {
            (b'-', _) => {
                reply.left -= 1;
                reply.refused(rest);
            }
            // Several values, each with an answer of its own; more than keys there cannot be.
            (b'*', Command::Get) if is_many && reply.hits + reply.misses == 0 => {
                if parse(rest) != Some(u64::from(expect.keys)) {
                    return Err(Malformed("not as many values as keys"));
                }
                if reply.left != 1 {
                    return Err(MISPLACED);
                }
                reply.left = u32::from(expect.keys);
            }
            // Several keys are answered in an array, never by one value.
            (b'$' | b'_', Command::Get)
                if is_many && reply.left == 1 && reply.hits + reply.misses == 0 =>
            {
                return Err(MISPLACED);
            }
            (b'$', Command::Get) => return bulk(rest, reply),
            (b'_', Command::Get) => {
                reply.left -= 1;
                reply.misses += 1;
            }
            (b'+', Command::Set | Command::Add) | (b':', Command::Delete) => reply.left -= 1,
            // SET NX of a key that is there.
            (b'$', Command::Add) if rest == b"-1" => reply.left -= 1,
            (b'_', Command::Add) => reply.left -= 1,
            (b':', Command::Incr) => {
                reply.left -= 1;
                reply.hits = 1;
            }
            (b':', Command::Touch) => {
                reply.left -= 1;
                match rest {
                    b"0" => reply.misses = 1,
                    _ => reply.hits = 1,
                }
            }
            _ => return Err(MISPLACED),
        }
        Ok(None)
    }

    fn get(out: &mut Vec<u8>, prefix: &[u8], indexes: &[u64]) {
        if let &[index] = indexes {
            out.extend_from_slice(b"*2\r\n$3\r\nGET\r\n");
            return argument(out, Key { prefix, index });
        }
        out.push(b'*');
        number(out, indexes.len() as u64 + 1);
        out.extend_from_slice(b"\r\n$4\r\nMGET\r\n");
        for &index in indexes {
            argument(out, Key { prefix, index });
        }
    }

    fn store(out: &mut Vec<u8>, key: Key<'_>, bytes: u64, how: Store) {
        let arguments = 3 + 2 * u64::from(how.expiry_s > 0) + u64::from(how.add);
        out.push(b'*');
        number(out, arguments);
        out.extend_from_slice(b"\r\n$3\r\nSET\r\n");
        argument(out, key);
        length(out, bytes);
    }

    fn stored(out: &mut Vec<u8>, how: Store) {
        out.extend_from_slice(b"\r\n");
        if how.expiry_s > 0 {
            out.extend_from_slice(b"$2\r\nEX\r\n");
            seconds(out, how.expiry_s);
        }
        if how.add {
            out.extend_from_slice(b"$2\r\nNX\r\n");
        }
    }

    fn simple(out: &mut Vec<u8>, command: Command, key: Key<'_>, expiry_s: u32) {
        out.extend_from_slice(match command {
            Command::Touch => b"*3\r\n$6\r\nEXPIRE\r\n",
            Command::Incr => b"*2\r\n$4\r\nINCR\r\n",
            _ => b"*2\r\n$3\r\nDEL\r\n",
        });
        argument(out, key);
        if command == Command::Touch {
            seconds(out, expiry_s);
        }
    }
}

impl Resp {
    /// What is said first on a connection, and how many commands it is. Only what is given is said.
    pub(crate) fn greeting(
        user: Option<&str>,
        password: Option<&str>,
        database: u32,
    ) -> (Vec<u8>, u8) {
        let (mut out, mut commands) = (Vec::new(), 0);
        if let Some(password) = password {
            let arguments = ["AUTH"].into_iter().chain(user).chain([password]);
            command(&mut out, &arguments.collect::<Vec<_>>());
            commands += 1;
        }
        if database != 0 {
            command(&mut out, &["SELECT", &database.to_string()]);
            commands += 1;
        }
        (out, commands)
    }

    /// The question after the server's own counts.
    pub(crate) fn info() -> Vec<u8> {
        let mut out = Vec::new();
        command(&mut out, &["INFO", "stats"]);
        out
    }
}

/// A bulk string's line: its length, or that there is none.
fn bulk(length: &[u8], reply: &mut Reply) -> Result<Option<u64>, Malformed> {
    let place = (reply.hits + reply.misses) as usize;
    reply.left -= 1;
    if length == b"-1" {
        reply.misses += 1;
        return Ok(None);
    }
    reply.hits += 1;
    reply.value_of(Which::Place(place));
    let bytes = parse(length).ok_or(Malformed("a length is malformed"))?;
    Ok(Some(bytes))
}

fn command(out: &mut Vec<u8>, arguments: &[&str]) {
    out.push(b'*');
    number(out, arguments.len() as u64);
    out.extend_from_slice(b"\r\n");
    for argument in arguments {
        length(out, argument.len() as u64);
        out.extend_from_slice(argument.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
}

fn length(out: &mut Vec<u8>, bytes: u64) {
    out.push(b'$');
    number(out, bytes);
    out.extend_from_slice(b"\r\n");
}

fn argument(out: &mut Vec<u8>, key: Key<'_>) {
    length(out, key.len() as u64);
    key.write(out);
    out.extend_from_slice(b"\r\n");
}

fn seconds(out: &mut Vec<u8>, expiry_s: u32) {
    length(out, digits(u64::from(expiry_s)) as u64);
    number(out, u64::from(expiry_s));
    out.extend_from_slice(b"\r\n");
}
