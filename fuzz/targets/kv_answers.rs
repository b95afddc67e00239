//! Answers of key-value servers as the load tester reads them, in three protocols: at once, byte by
//! byte and in pieces, with one result.
#![no_main]

use forebay_engine::{Malformed, Response, Session};
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/bench/src/kv/protocol/mod.rs"]
#[allow(dead_code, unused_imports)]
mod protocol;

use protocol::{Command, Expect, Grammar, Greeting, Meta, Resp, Text, Which, Wire};

/// Each response with what the server refused and the values that came.
type Heard = Vec<(Response, Option<Box<str>>, Vec<(Vec<u8>, Vec<u8>)>)>;

fuzz_target!(|input: &[u8]| {
    let [choice, asked, piece, input @ ..] = input else {
        return;
    };
    let command = Command::ALL[usize::from(choice % 6)];
    let keys = match command {
        Command::Get => 1 + u16::from(asked % 5),
        _ => 1,
    };
    let expect = Expect {
        command,
        keys,
        greeting: [Greeting::Needless, Greeting::Here(2), Greeting::Earlier]
            [usize::from(asked / 5 % 3)],
        keep: choice & 0x40 == 0,
    };
    let piece = usize::from(*piece).max(1);
    match choice / 6 % 3 {
        0 => check::<Text>(input, piece, expect),
        1 => check::<Meta>(input, piece, expect),
        _ => check::<Resp>(input, piece, expect),
    }
});

fn check<G: Grammar>(input: &[u8], piece: usize, expect: Expect) {
    let whole = receive::<G>(input, input.len(), expect);
    for size in [piece, 1] {
        let other = receive::<G>(input, size, expect);
        assert_eq!(other.0, whole.0);
        assert_eq!(
            other.1.is_ok(),
            whole.1.is_ok(),
            "{:?} {:?}",
            other.1,
            whole.1
        );
    }
    for (response, _, values) in &whole.0 {
        let kept: usize = values.iter().map(|(_, value)| value.len()).sum();
        assert!(!expect.keep || kept as u64 == response.body_bytes);
        assert!(values.len() <= usize::from(expect.keys));
    }
}

fn receive<G: Grammar>(
    input: &[u8],
    piece: usize,
    expect: Expect,
) -> (Heard, Result<(), Malformed>) {
    let mut session = Wire::<G>::new();
    let (mut heard, mut at, mut limit) = (Heard::new(), 0, 0);
    loop {
        limit = input.len().min(limit.max(at) + piece);
        // As the engine does: what is not consumed is shown again, with more.
        while at < limit {
            let shown = &input[at..limit];
            let progress = match session.receive(&mut (), shown, expect) {
                Ok(progress) => progress,
                Err(malformed) => return (heard, Err(malformed)),
            };
            assert!(progress.consumed <= shown.len());
            at += progress.consumed;
            let Some(response) = progress.done else {
                break;
            };
            assert!(session.reply().hits + session.reply().misses <= u32::from(expect.keys));
            heard.push((response, session.reply().error.clone(), values(&session)));
        }
        if limit == input.len() {
            return (heard, Ok(()));
        }
    }
}

fn values<G: Grammar>(session: &Wire<G>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let whose = |which: Which<'_>| match which {
        Which::Key(key) => key.to_vec(),
        Which::Place(place) => place.to_string().into_bytes(),
    };
    let values = session.values();
    values
        .map(|(which, value)| (whose(which), value.to_vec()))
        .collect()
}
