//! What must hold for a client's connection to a session store, whatever the client sends.

use std::sync::Arc;

use forebay_session::{
    Access, Backend, Calls, Connection, Counts, Engine, Limits, State, Ticket, Traffic,
};
use forebay_session_store::{Full, Options, Store};

#[path = "../../../crates/session/tests/support/engine.rs"]
#[allow(dead_code)]
mod engine;

use engine::Plain;

const NOW_S: u32 = 1_700_000_000;
/// The longest value.
const ITEM: usize = 500;
/// The longest answer that has to be whole.
const ANSWER: usize = 2000;
/// No single answer without values of clients is longer: statistics, and a step of a dump.
const OWN_WORDS: usize = 64 << 10;

/// The first byte of `choice` says how narrow the limits are, the second how the input is cut.
pub fn check(choice: [u8; 2], input: &[u8]) {
    let [how, piece] = choice;
    let piece = usize::from(piece).max(1);
    let access = match how & 12 {
        12 => Access::Token {
            user: Some("me".into()),
            token: "secret".into(),
        },
        8 => Access::Token {
            user: None,
            token: "secret".into(),
        },
        _ => Access::Open,
    };
    let narrow = limits([1, 64, 1000, 1 << 20][usize::from(how & 3)]);
    let whole = talk(&Plain::new(ITEM), limits(1 << 20), &access, &[input]);
    let pieces: Vec<&[u8]> = input.chunks(piece).collect();
    // An engine that always asks to be called again would never answer.
    let pending_every = [0, 2, 3, 7][usize::from(how >> 4 & 3)];
    let slow = Plain::slow(ITEM, pending_every);
    assert_eq!(talk(&slow, narrow, &access, &pieces), whole);
    if input.len() <= 300 {
        let bytes: Vec<&[u8]> = input.chunks(1).collect();
        let plain = Plain::new(ITEM);
        assert_eq!(talk(&plain, limits(1 << 20), &access, &bytes), whole);
    }
    let full = [Full::Evict, Full::Refuse][usize::from(how >> 6 & 1)];
    let store = store(full);
    let engine = store.engine(Arc::new(Nobody), Arc::new(Traffic::default()));
    talk(&engine, narrow, &access, &pieces);
}

fn limits(output_bytes: usize) -> Limits {
    Limits {
        item_bytes: ITEM,
        output_bytes,
        answer_bytes: ANSWER,
    }
}

/// Sends the pieces one after another; returns everything that is answered.
fn talk(
    engine: &impl Engine,
    limits: Limits,
    access: &Access,
    pieces: &[&[u8]],
) -> (Vec<u8>, bool) {
    let mut connection = Connection::new(limits, access.clone());
    let (mut input, mut answer) = (Vec::new(), Vec::new());
    // Statistics tell of them, however the input is cut.
    let mut counts = Counts::default();
    let closed = pieces.iter().any(|piece| {
        input.extend_from_slice(piece);
        let inward = (&mut input, &mut counts);
        serve(&mut connection, engine, limits, inward, &mut answer)
    });
    if closed {
        let mut more = Vec::new();
        let taken = connection.take(b"get a\r\n", engine, NOW_S, &mut more, &mut counts);
        assert_eq!((taken.consumed, taken.state), (0, State::Close));
        assert!(more.is_empty(), "a closed connection speaks");
    }
    (without_interim(&answer), closed)
}

/// The answers without those that only ask for a body, which depend on whether it is there already
/// (RFC 9110 section 10.1.1).
fn without_interim(answer: &[u8]) -> Vec<u8> {
    const INTERIM: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
    let (mut left, mut rest) = (Vec::new(), answer);
    while let Some((byte, tail)) = rest.split_first() {
        rest = match rest.strip_prefix(INTERIM) {
            Some(rest) => rest,
            None => {
                left.push(*byte);
                tail
            }
        };
    }
    left
}

/// Takes as much of the input as there are commands in it; true: the connection is closed.
fn serve(
    connection: &mut Connection,
    engine: &impl Engine,
    limits: Limits,
    (input, counts): (&mut Vec<u8>, &mut Counts),
    answer: &mut Vec<u8>,
) -> bool {
    for _ in 0..1_000_000 {
        let mut out = Vec::new();
        let taken = connection.take(input, engine, NOW_S, &mut out, counts);
        assert!(taken.consumed <= input.len());
        let most = limits.output_bytes + limits.answer_bytes.max(limits.item_bytes) + OWN_WORDS;
        assert!(out.len() <= most, "{} bytes of output", out.len());
        input.drain(..taken.consumed);
        let progressed = taken.consumed > 0 || !out.is_empty();
        answer.append(&mut out);
        match taken.state {
            State::Full => assert!(progressed, "full without any output"),
            State::Wait(ticket) => connection.resume(ticket),
            State::Close => return true,
            State::More { bytes } => {
                assert!(bytes > input.len(), "more input would not help");
                return false;
            }
        }
    }
    panic!("it never wants more input");
}

/// Nothing is waited for in memory.
struct Nobody;

impl Calls for Nobody {
    fn call(&self, _: Ticket) {}

    fn progressed(&self) {}
}

fn store(full: Full) -> Arc<Store> {
    let options = Options {
        name: "fuzz".into(),
        memory_bytes: 256 << 10,
        full,
        item_bytes: ITEM,
        quota_bytes: None,
        max_connections: 10,
        port: 0,
        disk: None,
    };
    Store::open(options).expect("a store in memory")
}
