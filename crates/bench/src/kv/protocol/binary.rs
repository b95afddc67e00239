//! memcached's binary protocol: `get`, `set`, `add`, `delete`, `touch`, `increment`. Each key has
//! its own answer, in the order of the requests; quiet commands are not used, so that nothing has
//! to be inferred from an answer that is not there.

use forebay_engine::Malformed;

use super::{Command, Expect, Grammar, Key, MISPLACED, Reply, Store, Which, wire};

/// memcached's binary protocol.
#[derive(Debug)]
pub(crate) struct Binary;

const HEAD: usize = 24;
const REQUEST: u8 = 0x80;
const RESPONSE: u8 = 0x81;

const NOT_FOUND: u16 = 1;
const EXISTS: u16 = 2;
/// The expiry with which `increment` makes no counter where there is none.
const NO_COUNTER: u32 = u32::MAX;

const CUT: Malformed = Malformed("the head of an answer is malformed");

impl Grammar for Binary {
    const TAIL: &'static [u8] = b"";

    fn answers(expect: Expect) -> u32 {
        u32::from(expect.keys)
    }

    /// The head, extras and key of an answer; where something is refused, the server's words too.
    fn head(input: &[u8]) -> Result<Option<(&[u8], usize)>, Malformed> {
        let Some(head) = Head::read(input)? else {
            return Ok(None);
        };
        let bytes = HEAD + head.before_value(head.status != 0);
        if bytes > wire::MOST_LINE {
            return Err(CUT);
        }
        Ok(input.get(..bytes).map(|taken| (taken, bytes)))
    }

    fn line(line: &[u8], expect: Expect, reply: &mut Reply) -> Result<Option<u64>, Malformed> {
        let head = Head::read(line)?.ok_or(CUT)?;
        if head.opcode != opcode(expect.command) {
            return Err(MISPLACED);
        }
        let place = u32::from(expect.keys) - reply.left;
        reply.left -= 1;
        match (expect.command, head.status) {
            (Command::Get, 0) => {
                reply.hits += 1;
                reply.value_of(Which::Place(place as usize));
            }
            (Command::Touch | Command::Incr, 0) => reply.hits += 1,
            (Command::Get | Command::Touch | Command::Incr, NOT_FOUND) => reply.misses += 1,
            (_, 0) | (Command::Delete, NOT_FOUND) | (Command::Add, EXISTS) => {}
            _ => {
                let own = head.before_value(false);
                reply.refused(line.get(HEAD + own..).unwrap_or_default());
            }
        }
        let value = head.body - head.before_value(head.status != 0);
        Ok((value > 0).then_some(value as u64))
    }

    fn get(out: &mut Vec<u8>, prefix: &[u8], indexes: &[u64]) {
        for &index in indexes {
            request(out, Command::Get, Key { prefix, index }, &[], 0);
        }
    }

    fn store(out: &mut Vec<u8>, key: Key<'_>, bytes: u64, how: Store) {
        let command = if how.add { Command::Add } else { Command::Set };
        let [a, b, c, d] = how.expiry_s.to_be_bytes();
        request(out, command, key, &[0, 0, 0, 0, a, b, c, d], bytes as u32);
    }

    fn stored(_: &mut Vec<u8>, _: Store) {}

    fn simple(out: &mut Vec<u8>, command: Command, key: Key<'_>, expiry_s: u32) {
        match command {
            Command::Touch => request(out, command, key, &expiry_s.to_be_bytes(), 0),
            Command::Incr => {
                let mut extras = [0; 20];
                extras[7] = 1;
                extras[16..].copy_from_slice(&NO_COUNTER.to_be_bytes());
                request(out, command, key, &extras, 0);
            }
            _ => request(out, command, key, &[], 0),
        }
    }
}

/// What an answer's first bytes say.
struct Head {
    opcode: u8,
    status: u16,
    key: usize,
    extras: usize,
    /// Bytes behind it: extras, key and value.
    body: usize,
}

impl Head {
    fn read(input: &[u8]) -> Result<Option<Self>, Malformed> {
        let &[magic, opcode, k1, k0, extras, _, s1, s0, b3, b2, b1, b0, ..] = input else {
            return match input.first() {
                None | Some(&RESPONSE) => Ok(None),
                Some(_) => Err(MISPLACED),
            };
        };
        let head = Self {
            opcode,
            status: u16::from_be_bytes([s1, s0]),
            key: u16::from_be_bytes([k1, k0]).into(),
            extras: extras.into(),
            body: u32::from_be_bytes([b3, b2, b1, b0]) as usize,
        };
        match magic {
            RESPONSE if head.extras + head.key <= head.body => {
                Ok((input.len() >= HEAD).then_some(head))
            }
            RESPONSE => Err(CUT),
            _ => Err(MISPLACED),
        }
    }

    /// How much of the body stands before the value; `whole`: there is none, all of it does.
    fn before_value(&self, whole: bool) -> usize {
        if whole {
            self.body
        } else {
            self.extras + self.key
        }
    }
}

fn opcode(command: Command) -> u8 {
    match command {
        Command::Get => 0x00,
        Command::Set => 0x01,
        Command::Add => 0x02,
        Command::Delete => 0x04,
        Command::Incr => 0x05,
        Command::Touch => 0x1c,
    }
}

/// Appends a request up to its value.
fn request(out: &mut Vec<u8>, command: Command, key: Key<'_>, extras: &[u8], value_bytes: u32) {
    let key_bytes = key.len();
    let body = (extras.len() + key_bytes) as u32 + value_bytes;
    out.extend_from_slice(&[REQUEST, opcode(command)]);
    out.extend_from_slice(&(key_bytes as u16).to_be_bytes());
    out.extend_from_slice(&[extras.len() as u8, 0, 0, 0]);
    out.extend_from_slice(&body.to_be_bytes());
    // Neither the client's mark nor a number of the item.
    out.extend_from_slice(&[0; 12]);
    out.extend_from_slice(extras);
    key.write(out);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::tests::{Outcome, expect, feed, outcome, responses};
    use super::*;
    use forebay_results::Lookup;
    use proptest::prelude::*;

    fn answer(command: Command, status: u16, extras: &[u8], value: &[u8]) -> Vec<u8> {
        let mut out = vec![RESPONSE, opcode(command), 0, 0, extras.len() as u8, 0];
        out.extend_from_slice(&status.to_be_bytes());
        out.extend_from_slice(&((extras.len() + value.len()) as u32).to_be_bytes());
        out.extend_from_slice(&[7; 12]);
        [&out, extras, value].concat()
    }

    const FLAGS: [u8; 4] = [0; 4];

    #[test]
    fn answers_mean_what_they_say() {
        use Command::{Add, Delete, Get, Incr, Set, Touch};
        let none: Outcome<'_> = (Lookup::Unknown, 0, 0, None);
        let refused = |words| (Lookup::Unknown, 0, 0, Some(words));
        let table = [
            (
                Get,
                0,
                &FLAGS[..],
                &b"ab\r\nc"[..],
                (Lookup::Hit, 1, 0, None),
            ),
            (Get, 0, &FLAGS, b"", (Lookup::Hit, 1, 0, None)),
            (Get, 1, &[], b"Not found", (Lookup::Miss, 0, 1, None)),
            (Set, 0, &[], b"", none),
            (Set, 0x82, &[], b"Out of memory", refused("Out of memory")),
            (Add, 0, &[], b"", none),
            (Add, 2, &[], b"Data exists for key.", none),
            (Delete, 0, &[], b"", none),
            (Delete, 1, &[], b"Not found", none),
            (Touch, 0, &FLAGS, b"", (Lookup::Hit, 1, 0, None)),
            (Touch, 1, &[], b"Not found", (Lookup::Miss, 0, 1, None)),
            (Incr, 0, &[], &[0; 8], (Lookup::Unknown, 1, 0, None)),
            (Incr, 1, &[], b"", (Lookup::Unknown, 0, 1, None)),
            (Get, 0x20, &[], b"Auth failure", refused("Auth failure")),
        ];
        for (command, status, extras, value, wanted) in table {
            let input = answer(command, status, extras, value);
            let found = &responses::<Binary>(&input, &[expect(command, 1)])[0];
            assert_eq!(outcome(found), wanted, "{command:?} {status}");
        }
        // They follow each other without a gap.
        let expects: Vec<Expect> = table.iter().map(|row| expect(row.0, 1)).collect();
        let all =
            table.map(|(command, status, extras, value, _)| answer(command, status, extras, value));
        responses::<Binary>(&all.concat(), &expects);
    }

    #[test]
    fn the_words_of_a_miss_are_no_part_of_a_value() {
        let get = |status, value| answer(Command::Get, status, &[], value);
        let input = [get(0, b"x"), get(1, b"Not found"), get(0, b"zz")].concat();
        let found = &responses::<Binary>(&input, &[expect(Command::Get, 3)])[0];
        assert_eq!(found.values, ["Place(0) x", "Place(2) zz"]);
        assert_eq!((found.hits, found.misses), (2, 1));
    }

    #[test]
    fn answers_to_something_else_are_refused() {
        let get = [expect(Command::Get, 1)];
        let mut cut = answer(Command::Get, 0, &FLAGS, b"");
        cut[11] = 3;
        let mut endless = answer(Command::Get, 1, &[], b"");
        endless[8] = 0x40;
        let set = answer(Command::Set, 0, &[], b"");
        for input in [&b"VALUE k 0 1\r\n"[..], b"\x80\0", &cut, &endless, &set] {
            assert!(feed::<Binary>(input, &get, 7).is_err(), "{input:?}");
        }
    }

    #[test]
    fn requests_are_written_as_the_protocol_says() {
        let key = Key {
            prefix: b"k:",
            index: 7,
        };
        let how = Store {
            add: false,
            expiry_s: 60,
        };
        let (mut store, mut incr, mut two) = (Vec::new(), Vec::new(), Vec::new());
        Binary::store(&mut store, key, 5, how);
        let head = b"\x80\x01\0\x03\x08\0\0\0\0\0\0\x10";
        assert_eq!(
            store,
            [&head[..], &[0; 12], &[0, 0, 0, 0, 0, 0, 0, 60], b"k:7"].concat()
        );
        Binary::simple(&mut incr, Command::Incr, key, 0);
        let head = b"\x80\x05\0\x03\x14\0\0\0\0\0\0\x17";
        let extras = [&[0; 7][..], &[1], &[0; 8], &[0xff; 4]].concat();
        assert_eq!(incr, [&head[..], &[0; 12], &extras, b"k:7"].concat());
        Binary::get(&mut two, b"k:", &[7, 10]);
        let get = |key: &[u8]| {
            let bytes = key.len() as u8;
            let head = [0x80, 0, 0, bytes, 0, 0, 0, 0, 0, 0, 0, bytes];
            [&head[..], &[0; 12], key].concat()
        };
        assert_eq!(two, [get(b"k:7"), get(b"k:10")].concat());
    }

    proptest! {
        #[test]
        fn noise_does_no_harm_and_pieces_make_no_difference(
            frames in prop::collection::vec((0..6_usize, 0..3_u16, 0..5_u8, 0..40_u8, 0..40_usize), 1..8),
            piece in 1..30_usize,
        ) {
            let (mut input, mut expects) = (Vec::new(), Vec::new());
            for (command, status, extras, said, sent) in frames {
                let command = Command::ALL[command];
                expects.push(expect(command, 1));
                let head = [RESPONSE, opcode(command), 0, 0, extras, 0, 0, status as u8, 0, 0, 0, said];
                input.extend([&head[..], &[0; 12], &vec![b'x'; sent]].concat());
            }
            let whole = feed::<Binary>(&input, &expects, input.len());
            prop_assert_eq!(whole, feed::<Binary>(&input, &expects, piece));
        }
    }
}
