//! Answers in pieces of every size, requests byte by byte, and noise.

#![allow(clippy::unwrap_used)]

use forebay_engine::{Malformed, Response, Session};
use forebay_results::Lookup;
use proptest::prelude::*;

use super::*;

/// What a response came to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Seen {
    response: Response,
    pub(super) hits: u32,
    pub(super) misses: u32,
    error: Option<String>,
    pub(super) values: Vec<String>,
}

pub(super) fn expect(command: Command, keys: u16) -> Expect {
    Expect {
        command,
        keys,
        greeting: Greeting::Needless,
        keep: true,
    }
}

fn seen<G: Grammar>(wire: &Wire<G>, response: Response) -> Seen {
    Seen {
        response,
        hits: wire.reply().hits,
        misses: wire.reply().misses,
        error: wire.reply().error.as_deref().map(str::to_owned),
        values: wire
            .values()
            .map(|(which, value)| format!("{which:?} {}", String::from_utf8_lossy(value)))
            .collect(),
    }
}

/// Feeds `input` in pieces of one size; every response is to the request of its turn.
pub(super) fn feed<G: Grammar>(
    input: &[u8],
    expects: &[Expect],
    piece: usize,
) -> Result<Vec<Seen>, Malformed> {
    let (mut wire, mut from, mut found) = (Wire::<G>::new(), 0, Vec::new());
    for to in (piece..input.len()).step_by(piece).chain([input.len()]) {
        while from < to && found.len() < expects.len() {
            let progress = wire.receive(&mut (), &input[from..to], expects[found.len()])?;
            from += progress.consumed;
            match progress.done {
                Some(response) => found.push(seen(&wire, response)),
                None => break,
            }
        }
    }
    Ok(found)
}

pub(super) fn responses<G: Grammar>(
    input: &(impl AsRef<[u8]> + ?Sized),
    expects: &[Expect],
) -> Vec<Seen> {
    let input = input.as_ref();
    let whole = feed::<G>(input, expects, input.len()).unwrap();
    assert_eq!(whole.len(), expects.len(), "{}", input.escape_ascii());
    for piece in 1..input.len() {
        let pieces = feed::<G>(input, expects, piece).unwrap();
        assert_eq!(
            pieces,
            whole,
            "in pieces of {piece}: {}",
            input.escape_ascii()
        );
    }
    whole
}

/// One answer: its lookup, hits, misses and error.
pub(super) type Outcome<'a> = (Lookup, u32, u32, Option<&'a str>);

pub(super) fn outcome(found: &Seen) -> Outcome<'_> {
    assert_eq!(found.response.fault.is_some(), found.error.is_some());
    let error = found.error.as_deref();
    (found.response.lookup, found.hits, found.misses, error)
}

fn assert_outcomes<G: Grammar>(table: &[(Command, &str, Outcome<'_>)]) {
    for (command, input, outcome) in table {
        let found = &responses::<G>(input, &[expect(*command, 1)])[0];
        assert_eq!(self::outcome(found), *outcome, "{command:?} {input:?}");
    }
    // Answers follow each other without a gap.
    let all: String = table.iter().map(|(_, input, _)| *input).collect();
    let expects: Vec<Expect> = table
        .iter()
        .map(|(command, ..)| expect(*command, 1))
        .collect();
    responses::<G>(&all, &expects);
}

const NONE: Outcome<'_> = (Lookup::Unknown, 0, 0, None);
const HIT: Outcome<'_> = (Lookup::Hit, 1, 0, None);
const MISS: Outcome<'_> = (Lookup::Miss, 0, 1, None);

fn refused(words: &str) -> Outcome<'_> {
    (Lookup::Unknown, 0, 0, Some(words))
}

#[test]
fn memcached_text() {
    assert_outcomes::<Text>(&[
        (Command::Get, "VALUE k 0 5\r\nab\r\nc\r\nEND\r\n", HIT),
        (Command::Get, "VALUE k 7 0 12345\r\n\r\nEND\r\n", HIT),
        (Command::Get, "END\r\n", MISS),
        (Command::Set, "STORED\r\n", NONE),
        (Command::Set, "NOT_STORED\r\n", refused("NOT_STORED")),
        (Command::Add, "NOT_STORED\r\n", NONE),
        (Command::Delete, "DELETED\r\n", NONE),
        (Command::Delete, "NOT_FOUND\r\n", NONE),
        (Command::Touch, "TOUCHED\r\n", HIT),
        (Command::Touch, "NOT_FOUND\r\n", MISS),
        (
            Command::Incr,
            "18446744073709551615  \r\n",
            (Lookup::Unknown, 1, 0, None),
        ),
        (
            Command::Incr,
            "NOT_FOUND\r\n",
            (Lookup::Unknown, 0, 1, None),
        ),
        (
            Command::Set,
            "SERVER_ERROR out of memory storing object\r\n",
            refused("SERVER_ERROR out of memory storing object"),
        ),
        (
            Command::Get,
            "CLIENT_ERROR line too long\r\n",
            refused("CLIENT_ERROR line too long"),
        ),
        (Command::Touch, "ERROR\r\n", refused("ERROR")),
    ]);
}

#[test]
fn memcached_meta() {
    assert_outcomes::<Meta>(&[
        (Command::Get, "VA 5 f0\r\nab\r\nc\r\n", HIT),
        (Command::Get, "VA 0\r\n\r\n", HIT),
        (Command::Get, "EN\r\n", MISS),
        (Command::Set, "HD\r\n", NONE),
        (Command::Set, "NS\r\n", refused("NS")),
        (Command::Add, "NS\r\n", NONE),
        (Command::Delete, "HD\r\n", NONE),
        (Command::Delete, "NF\r\n", NONE),
        (Command::Touch, "HD\r\n", HIT),
        (Command::Touch, "EN\r\n", MISS),
        (Command::Incr, "HD\r\n", (Lookup::Unknown, 1, 0, None)),
        (Command::Incr, "NF\r\n", (Lookup::Unknown, 0, 1, None)),
        (
            Command::Get,
            "SERVER_ERROR busy\r\n",
            refused("SERVER_ERROR busy"),
        ),
    ]);
}

#[test]
fn redis() {
    assert_outcomes::<Resp>(&[
        (Command::Get, "$5\r\nab\r\nc\r\n", HIT),
        (Command::Get, "$0\r\n\r\n", HIT),
        (Command::Get, "$-1\r\n", MISS),
        (Command::Get, "_\r\n", MISS),
        (Command::Set, "+OK\r\n", NONE),
        (Command::Add, "+OK\r\n", NONE),
        (Command::Add, "$-1\r\n", NONE),
        (Command::Delete, ":0\r\n", NONE),
        (Command::Touch, ":1\r\n", HIT),
        (Command::Touch, ":0\r\n", MISS),
        (Command::Incr, ":12\r\n", (Lookup::Unknown, 1, 0, None)),
        (
            Command::Set,
            "-OOM command not allowed when used memory > 'maxmemory'.\r\n",
            refused("OOM command not allowed when used memory > 'maxmemory'."),
        ),
        (
            Command::Get,
            "-NOAUTH Authentication required.\r\n",
            refused("NOAUTH Authentication required."),
        ),
    ]);
}

#[test]
fn several_values_are_told_apart() {
    let three = [expect(Command::Get, 3)];
    let text = "VALUE a 0 1\r\nx\r\nVALUE c 0 3\r\n\r\nz\r\nEND\r\n";
    let found = &responses::<Text>(text, &three)[0];
    assert_eq!(
        (found.hits, found.misses, found.response.body_bytes),
        (2, 1, 4)
    );
    assert_eq!(found.values, ["Key([97]) x", "Key([99]) \r\nz"]);
    let found = &responses::<Meta>("VA 1\r\nx\r\nEN\r\nVA 3\r\n\r\nz\r\n", &three)[0];
    assert_eq!(found.values, ["Place(0) x", "Place(2) \r\nz"]);
    let found = &responses::<Resp>("*3\r\n$1\r\nx\r\n$-1\r\n$3\r\n\r\nz\r\n", &three)[0];
    assert_eq!(found.values, ["Place(0) x", "Place(2) \r\nz"]);
    assert_eq!((found.hits, found.misses), (2, 1));
    assert_eq!(found.response.lookup, Lookup::Unknown, "counted key by key");
}

#[test]
fn a_greeting_is_answered_first() {
    let with = |greeting| Expect {
        greeting,
        ..expect(Command::Get, 1)
    };
    let expects = [with(Greeting::Here(2)), with(Greeting::Earlier)];
    let found = responses::<Resp>("+OK\r\n+OK\r\n$-1\r\n$1\r\nx\r\n", &expects);
    assert_eq!((found[0].misses, found[1].hits), (1, 1));
    assert!(found.iter().all(|seen| seen.error.is_none()));
    let input = "-WRONGPASS no\r\n+OK\r\n-NOAUTH\r\n$1\r\nx\r\n";
    let found = responses::<Resp>(input, &expects);
    assert_eq!(found[0].error.as_deref(), Some("WRONGPASS no"));
    // What follows on a connection that is not the database that was meant is no success.
    assert!(found[1].error.is_some());
}

#[test]
fn answers_to_something_else_are_refused() {
    let get = [expect(Command::Get, 1)];
    let two = [expect(Command::Get, 2)];
    let long = format!("VALUE {} 0 1\r\n", "k".repeat(5000));
    for input in [
        "STORED\r\n",
        "VALUE k 0 x\r\n",
        "VALUE k 0 3\r\nabcd\r\nEND\r\n",
        "VALUE k 0 1\r\nx\r\nVALUE k 0 1\r\ny\r\nEND\r\n",
        "VALUE k 0 99999999999999999999999\r\n",
        "VALUE k 0 2000000000\r\n",
        "END\n",
        "HTTP/1.1 400 Bad Request\r\n",
        &long,
    ] {
        assert!(
            feed::<Text>(input.as_bytes(), &get, 7).is_err(),
            "{input:?}"
        );
    }
    for input in ["MN\r\n", "HD\r\n", "VA\r\n", "VA -1\r\n", "\r\n"] {
        assert!(
            feed::<Meta>(input.as_bytes(), &get, 7).is_err(),
            "{input:?}"
        );
    }
    for input in [
        ":1\r\n",
        "*1\r\n$1\r\nx\r\n",
        "$x\r\n",
        "$1\r\nxy\r\n",
        "\r\n",
        "+OK\r\n",
    ] {
        assert!(
            feed::<Resp>(input.as_bytes(), &get, 7).is_err(),
            "{input:?}"
        );
    }
    for input in [
        "*3\r\n",
        "*-1\r\n",
        "*1000000000\r\n",
        "$1\r\nx\r\n",
        "*2\r\n*2\r\n",
    ] {
        assert!(
            feed::<Resp>(input.as_bytes(), &two, 7).is_err(),
            "{input:?}"
        );
    }
}

fn written<G: Grammar>(expiry_s: u32) -> String {
    let key = Key {
        prefix: b"k:",
        index: 10,
    };
    let mut out = Vec::new();
    G::get(&mut out, b"k:", &[7]);
    G::get(&mut out, b"k:", &[7, 10]);
    for add in [false, true] {
        let how = Store { add, expiry_s };
        G::store(&mut out, key, 3, how);
        out.extend_from_slice(b"abc");
        G::stored(&mut out, how);
    }
    for command in [Command::Delete, Command::Touch, Command::Incr] {
        G::simple(&mut out, command, key, expiry_s);
    }
    String::from_utf8(out).unwrap().replace("\r\n", "|")
}

#[test]
fn requests_are_written_as_the_protocols_say() {
    assert_eq!(
        written::<Text>(60),
        "get k:7|get k:7 k:10|set k:10 0 60 3|abc|add k:10 0 60 3|abc|\
         delete k:10|touch k:10 60|incr k:10 1|"
    );
    assert_eq!(
        written::<Meta>(60),
        "mg k:7 v|mg k:7 v|mg k:10 v|ms k:10 3 T60|abc|ms k:10 3 T60 ME|abc|\
         md k:10|mg k:10 T60|ma k:10|"
    );
    assert_eq!(
        written::<Resp>(60),
        "*2|$3|GET|$3|k:7|*3|$4|MGET|$3|k:7|$4|k:10|\
         *5|$3|SET|$4|k:10|$3|abc|$2|EX|$2|60|*6|$3|SET|$4|k:10|$3|abc|$2|EX|$2|60|$2|NX|\
         *2|$3|DEL|$4|k:10|*3|$6|EXPIRE|$4|k:10|$2|60|*2|$4|INCR|$4|k:10|"
    );
    assert!(written::<Meta>(0).contains("ms k:10 3|abc|ms k:10 3 ME|abc|"));
    assert!(written::<Resp>(0).contains("*3|$3|SET|$4|k:10|$3|abc|*4|$3|SET"));
    let (greeting, commands) = Resp::greeting(Some("me"), Some("pw"), 3);
    let greeting = String::from_utf8(greeting).unwrap().replace("\r\n", "|");
    assert_eq!(greeting, "*3|$4|AUTH|$2|me|$2|pw|*2|$6|SELECT|$1|3|");
    assert_eq!(commands, 2);
    assert_eq!(Resp::greeting(None, None, 0), (Vec::new(), 0));
}

#[test]
fn keys_are_as_long_as_they_say() {
    for index in [0, 9, 10, 99, 100, 12_345, u64::MAX] {
        let key = Key {
            prefix: b"k:",
            index,
        };
        let mut out = Vec::new();
        key.write(&mut out);
        assert_eq!(out, format!("k:{index}").into_bytes());
        assert_eq!(out.len(), key.len());
    }
}

/// Bytes that look like an answer.
fn noise() -> impl Strategy<Value = Vec<u8>> {
    let pieces = prop::sample::select(vec![
        "VALUE ",
        "k 0 ",
        "END",
        "VA ",
        "EN",
        "HD",
        "MN",
        "$",
        "-1",
        "*",
        ":",
        "+OK",
        "_",
        "-ERR",
        "1",
        "3",
        " ",
        "99999999999999999999",
        "\r\n",
        "\r\n",
        "\r\n",
        "\n",
        "\r",
        "abc",
        "NOT_FOUND",
        "STORED",
        "SERVER_ERROR x",
    ]);
    let piece = prop_oneof![4 => pieces.prop_map(|piece| piece.as_bytes().to_vec()), 1 => any::<[u8; 3]>().prop_map(Vec::from)];
    prop::collection::vec(piece, 1..40).prop_map(|pieces| pieces.concat())
}

fn any_expect() -> impl Strategy<Value = Expect> {
    let greeting = prop::sample::select(vec![
        Greeting::Needless,
        Greeting::Here(2),
        Greeting::Earlier,
    ]);
    let command = prop::sample::select(Command::ALL.to_vec());
    (command, 1..4_u16, greeting, any::<bool>()).prop_map(|(command, keys, greeting, keep)| {
        Expect {
            command,
            keys: if command == Command::Get { keys } else { 1 },
            greeting,
            keep,
        }
    })
}

proptest! {
    #[test]
    fn noise_does_no_harm_and_pieces_make_no_difference(
        input in noise(),
        expects in prop::collection::vec(any_expect(), 1..5),
        piece in 1..20_usize,
    ) {
        let same = |whole: Result<Vec<Seen>, Malformed>, pieces: Result<Vec<Seen>, Malformed>| {
            whole == pieces
        };
        let len = input.len();
        prop_assert!(same(feed::<Text>(&input, &expects, len), feed::<Text>(&input, &expects, piece)));
        prop_assert!(same(feed::<Meta>(&input, &expects, len), feed::<Meta>(&input, &expects, piece)));
        prop_assert!(same(feed::<Resp>(&input, &expects, len), feed::<Resp>(&input, &expects, piece)));
    }
}
