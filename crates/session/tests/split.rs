//! However the input arrives, whenever the engine answers and however little output may wait, the
//! answers are the same.

#![allow(clippy::unwrap_used)]

mod support;

use forebay_session::Limits;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use support::engine::Plain;
use support::talk;

fn key() -> impl Strategy<Value = &'static str> {
    select(vec!["a", "b", "key:1", "Zm9v", "x1", "y"])
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => select(vec![&b""[..], b"1", b"99", b"\r\n", b"get a\r\n", b"abc"]).prop_map(<[u8]>::to_vec),
        1 => vec(any::<u8>(), 0..600),
    ]
}

fn line() -> impl Strategy<Value = Vec<u8>> {
    select(vec![
        "get a b key:1",
        "gets a",
        "gat 0 a b",
        "gat x a",
        "get",
        "touch a 0",
        "incr a 1",
        "decr x1 5",
        "delete b",
        "delete a noreply",
        "flush_all",
        "version",
        "nonsense",
        "",
        "verbosity 1",
        "mn",
        "mg a v k t f s",
        "mg y N30 v",
        "mg Zm9v b k v",
        "md a I q",
        "md b q",
        "ma x1 N0 v",
        "me a",
        "mg a O1 O2",
        "lru_crawler metadump all",
        "stats settings",
        "set a 0 0 9999",
        "set a 0 0 -1",
        "ms a x",
        "cas a 0 0 1 x",
    ])
    .prop_map(|line| [line.as_bytes(), b"\r\n"].concat())
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    let store = (
        select(vec!["set", "add", "replace", "append", "prepend"]),
        key(),
        value(),
        any::<bool>(),
    )
        .prop_map(|(verb, key, value, quiet)| {
            let tail = if quiet { " noreply" } else { "" };
            let head = format!("{verb} {key} 5 0 {}{tail}\r\n", value.len());
            [head.as_bytes(), &value, b"\r\n"].concat()
        });
    let meta = (
        key(),
        value(),
        select(vec![
            "", " q", " k c", " MA", " I C1", " b k", " F7 T60", " x",
        ]),
    )
        .prop_map(|(key, value, flags)| {
            let head = format!("ms {key} {}{flags}\r\n", value.len());
            [head.as_bytes(), &value, b"\r\n"].concat()
        });
    let long =
        vec(key(), 300..900).prop_map(|keys| format!("get {}\r\n", keys.join(" ")).into_bytes());
    prop_oneof![4 => store, 2 => meta, 5 => line(), 1 => long]
}

fn binary() -> impl Strategy<Value = Vec<u8>> {
    (0..0x26_u8, key(), value(), any::<u32>()).prop_map(|(opcode, key, value, opaque)| {
        let (extras, key, value): (usize, &str, &[u8]) = match opcode {
            1..=3 | 0x11..=0x13 => (8, key, &value),
            5 | 6 | 0x15 | 0x16 => (20, key, &[]),
            0x0e | 0x0f | 0x19 | 0x1a => (0, key, &value),
            0x1c..=0x1e | 0x23 | 0x24 => (4, key, &[]),
            7 | 0x17 | 8 | 0x0a | 0x0b | 0x18 => (0, "", &[]),
            0x10 => (0, "settings", &[]),
            _ => (0, key, &[]),
        };
        // Quit ends the rest.
        let opcode = if matches!(opcode, 7 | 0x17) {
            0x0a
        } else {
            opcode
        };
        let whole = (extras + key.len() + value.len()) as u32;
        let mut frame = vec![0x80, opcode, 0, key.len() as u8, extras as u8, 0, 0, 0];
        frame.extend_from_slice(&whole.to_be_bytes());
        frame.extend_from_slice(&opaque.to_be_bytes());
        frame.resize(24 + extras, 0);
        frame.extend_from_slice(key.as_bytes());
        frame.extend_from_slice(value);
        frame
    })
}

fn numbers(numbers: &[usize]) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| (*number as u32).to_be_bytes())
        .collect()
}

fn sized(items: &[&[u8]]) -> Vec<u8> {
    items
        .iter()
        .flat_map(|item| [&numbers(&[item.len()])[..], item].concat())
        .collect()
}

fn tyrant() -> impl Strategy<Value = Vec<u8>> {
    let command = select(vec![
        0x10_u8, 0x11, 0x12, 0x13, 0x18, 0x20, 0x30, 0x31, 0x38, 0x50, 0x51, 0x58, 0x60, 0x61,
        0x68, 0x70, 0x71, 0x72, 0x73, 0x80, 0x81, 0x90, 0x91, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97,
    ]);
    (command, key(), key(), value()).prop_map(|(command, key, other, value)| {
        let (key, other) = (key.as_bytes(), other.as_bytes());
        let misc = |name: &[u8], arguments: &[&[u8]]| {
            [
                &numbers(&[name.len(), 0, arguments.len()])[..],
                name,
                &sized(arguments),
            ]
            .concat()
        };
        let body = match command {
            0x10 | 0x11 | 0x12 | 0x18 => {
                [&numbers(&[key.len(), value.len()])[..], key, &value].concat()
            }
            0x13 => [&numbers(&[key.len(), value.len(), 7])[..], key, &value].concat(),
            0x20 | 0x30 | 0x38 | 0x71 | 0x73 => [&numbers(&[key.len()])[..], key].concat(),
            0x31 => [numbers(&[3]), sized(&[key, other, b"none"])].concat(),
            0x58 => [&numbers(&[1, 5])[..], &key[..1]].concat(),
            0x60 => [&numbers(&[key.len(), 3])[..], key].concat(),
            0x61 => [&numbers(&[key.len(), 0, 3, 0, 4])[..], key].concat(),
            0x68 => [
                &numbers(&[1, 0, key.len(), value.len()])[..],
                b"f",
                key,
                &value,
            ]
            .concat(),
            0x90 => misc(b"putlist", &[key, &value, other, b"1"]),
            0x91 => misc(b"getlist", &[key, other, b"none"]),
            0x92 => misc(b"outlist", &[key, other]),
            0x93 => misc(b"iternext", &[]),
            0x94 => misc(b"get", &[key]),
            0x95 => misc(b"unknown", &[key]),
            0x96 => misc(b"getpart", &[key, b"1", b"2"]),
            0x97 => misc(b"iterinit", &[key]),
            _ => Vec::new(),
        };
        [&[0xc8, command.min(0x90)][..], &body].concat()
    })
}

fn http() -> impl Strategy<Value = Vec<u8>> {
    (select(vec!["GET", "HEAD", "PUT", "POST", "DELETE"]), key(), value(), 0..4_u8).prop_map(|(method, key, value, mode)| {
        let value = if matches!(method, "PUT" | "POST") { value } else { Vec::new() };
        let head = format!("{method} /{key} HTTP/1.1\r\nHost: x\r\nX-TT-PDMODE: {mode}\r\nContent-Length: {}\r\n\r\n", value.len());
        [head.as_bytes(), &value].concat()
    })
}

fn garbage() -> impl Strategy<Value = Vec<u8>> {
    (
        select(vec![0x80_u8, 0xc8, b'g', b'G', b'm', b's', 0]),
        vec(any::<u8>(), 0..80),
    )
        .prop_map(|(first, mut rest)| {
            rest.insert(0, first);
            rest
        })
}

/// The input in pieces at the given places.
fn cut<'a>(input: &'a [u8], places: &[usize]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = places
        .iter()
        .map(|place| place % (input.len() + 1))
        .collect();
    places.extend([0, input.len()]);
    places.sort_unstable();
    places
        .windows(2)
        .map(|pair| &input[pair[0]..pair[1]])
        .collect()
}

fn limits() -> Limits {
    Limits {
        item_bytes: 500,
        ..Limits::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn any_split_of_the_input_gives_the_same_answers(
        commands in prop_oneof![
            3 => vec(text(), 1..25), 2 => vec(binary(), 1..25), 2 => vec(tyrant(), 1..25), 1 => vec(http(), 1..10),
            1 => vec(garbage(), 1..4),
        ],
        places in vec(any::<usize>(), 0..40),
        pending_every in 0..5_u64,
        output_bytes in select(vec![1_usize, 50, 1000, 1 << 20]),
    ) {
        let input = commands.concat();
        let whole = talk(&Plain::new(500), limits(), &[&input]);
        let pieces = talk(&Plain::new(500), limits(), &cut(&input, &places));
        prop_assert_eq!(&whole, &pieces);
        // An engine that answers every time only when it is asked again would never answer.
        let pending_every = if pending_every == 1 { 0 } else { pending_every };
        let slow = Plain::slow(500, pending_every);
        let narrow = Limits { output_bytes, ..limits() };
        prop_assert_eq!(&whole, &talk(&slow, narrow, &cut(&input, &places)));
    }

    #[test]
    fn every_byte_alone_gives_the_same_answers(commands in vec(prop_oneof![text(), line()], 1..6)) {
        let input = commands.concat();
        let bytes: Vec<&[u8]> = input.chunks(1).collect();
        prop_assert_eq!(talk(&Plain::new(500), limits(), &[&input]), talk(&Plain::new(500), limits(), &bytes));
    }

    #[test]
    fn no_bytes_are_a_reason_to_panic(first in select(vec![&b""[..], b"\x80", b"\xc8", b"set a 0 0 ", b"mg ", b"GET /", b"\xc8\x90"]), rest in vec(any::<u8>(), 0..400)) {
        let input = [first, &rest].concat();
        talk(&Plain::new(500), limits(), &[&input]);
    }
}
