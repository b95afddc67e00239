//! What the protocols themselves cost: commands in batches of 50 against an engine that has one
//! item and does nothing. Nanoseconds a command, the best of five rounds; run it in release mode.
//! An argument chooses the rows whose name begins so.

use std::time::Instant;

use forebay_session::{
    Access, Answer, Commit, Connection, Cursor, Done, Engine, Figures, Item, Limits, Op, Request,
    State,
};

/// An engine that finds everything and keeps nothing.
struct Still {
    value: Vec<u8>,
}

impl Engine for Still {
    fn apply(&self, request: Request<'_>, answer: &mut dyn FnMut(Answer<'_>)) -> Done {
        answer(match request.op {
            Op::Get | Op::Peek | Op::Touch(_) | Op::MetaGet(_) => Answer::Found {
                item: Item {
                    value: &self.value,
                    flags: 1,
                    cas: 12_345_678,
                    ..Item::default()
                },
                won: false,
                made: false,
            },
            Op::Delete { .. } => Answer::Deleted,
            Op::Arithmetic(_) => Answer::Number {
                value: 42,
                cas: 1,
                expires_s: 0,
                made: false,
            },
            _ => Answer::Stored { cas: 12_345_678 },
        });
        Done::Ready(Commit::default())
    }

    fn flush(&self, _at_s: u32, _now_s: u32) -> Result<Commit, &'static str> {
        Ok(Commit::default())
    }

    fn scan(
        &self,
        _: Cursor,
        _: u32,
        _: usize,
        _: &mut dyn FnMut(&[u8], Item<'_>, usize),
    ) -> Option<Cursor> {
        None
    }

    fn figures(&self) -> Figures {
        Figures::default()
    }

    fn reset_figures(&self) {}

    fn sync(&self) -> Commit {
        Commit::default()
    }
}

/// How many commands are sent at once.
const BATCH: usize = 50;

/// How many batches are timed.
const ROUNDS: usize = 20_000;

fn main() {
    let engine = Still {
        value: vec![b'v'; 100],
    };
    let value = "v".repeat(100);
    let binary_get = [
        &[0x80, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 9][..],
        &[0; 12],
        b"session:1",
    ]
    .concat();
    let binary_set = [
        &[0x80, 1, 0, 9, 8, 0, 0, 0, 0, 0, 0, 117][..],
        &[0; 20],
        b"session:1",
        value.as_bytes(),
    ]
    .concat();
    let tyrant_get = [&[0xc8, 0x30, 0, 0, 0, 9][..], b"session:1"].concat();
    let rows: [(&str, Vec<u8>); 9] = [
        ("text get", b"get session:1\r\n".to_vec()),
        ("text gets", b"gets session:1\r\n".to_vec()),
        (
            "text set",
            format!("set session:1 0 3600 100\r\n{value}\r\n").into_bytes(),
        ),
        ("text touch", b"touch session:1 3600\r\n".to_vec()),
        ("meta mg v", b"mg session:1 v t f\r\n".to_vec()),
        (
            "meta ms",
            format!("ms session:1 100 T3600\r\n{value}\r\n").into_bytes(),
        ),
        ("binary get", binary_get),
        ("binary set", binary_set),
        ("tyrant get", tyrant_get),
    ];
    let chosen = std::env::args().nth(1).unwrap_or_default();
    for (name, command) in rows.into_iter().filter(|row| row.0.starts_with(&chosen)) {
        let input = command.repeat(BATCH);
        let best = (0..5)
            .map(|_| round(&engine, &input))
            .fold(f64::MAX, f64::min);
        println!("{name:12} {best:6.1} ns");
    }
}

/// Nanoseconds a command.
fn round(engine: &Still, input: &[u8]) -> f64 {
    let mut connection = Connection::new(Limits::default(), Access::Open);
    let (mut out, mut counts) = (Vec::new(), forebay_session::Counts::default());
    let start = Instant::now();
    for _ in 0..ROUNDS {
        let taken = connection.take(input, engine, 1_700_000_000, &mut out, &mut counts);
        assert_eq!(
            (taken.consumed, taken.state),
            (input.len(), State::More { bytes: 1 })
        );
        out.clear();
    }
    start.elapsed().as_nanos() as f64 / (ROUNDS * BATCH) as f64
}
