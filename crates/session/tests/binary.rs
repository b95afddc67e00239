//! Stories of the binary protocol.

#![allow(clippy::unwrap_used)]

mod support;

use forebay_session::{Access, Limits};
use support::Client;
use support::engine::Plain;

fn frame(opcode: u8, extras: &[u8], key: &[u8], value: &[u8], cas: u64) -> Vec<u8> {
    let whole = (extras.len() + key.len() + value.len()) as u32;
    let mut frame = vec![0x80, opcode];
    frame.extend_from_slice(&(key.len() as u16).to_be_bytes());
    frame.extend_from_slice(&[extras.len() as u8, 0, 0, 0]);
    frame.extend_from_slice(&whole.to_be_bytes());
    frame.extend_from_slice(b"opaq");
    frame.extend_from_slice(&cas.to_be_bytes());
    [&frame, extras, key, value].concat()
}

/// Status, number and body of each response.
fn responses(mut bytes: &[u8]) -> Vec<(u16, u64, Vec<u8>)> {
    let mut all = Vec::new();
    while let Some((head, rest)) = bytes.split_at_checked(24) {
        assert_eq!((head[0], &head[12..16]), (0x81, &b"opaq"[..]));
        let length = u32::from_be_bytes(head[8..12].try_into().unwrap()) as usize;
        let status = u16::from_be_bytes([head[6], head[7]]);
        all.push((
            status,
            u64::from_be_bytes(head[16..].try_into().unwrap()),
            rest[..length].to_vec(),
        ));
        bytes = &rest[length..];
    }
    assert!(bytes.is_empty());
    all
}

#[test]
fn what_is_stored_is_read_again_with_its_flags_and_its_number() {
    let engine = Plain::new(1 << 20);
    let mut client = Client::new(&engine);
    let stored = client.send(&frame(1, &[0, 0, 0, 7, 0, 0, 0, 0], b"a", b"value", 0));
    assert_eq!(responses(&stored), [(0, 1, vec![])]);
    assert_eq!(
        responses(&client.send(&frame(0, &[], b"a", b"", 0))),
        [(0, 1, b"\0\0\0\x07value".to_vec())]
    );
    assert_eq!(
        responses(&client.send(&frame(0x0c, &[], b"a", b"", 0))),
        [(0, 1, b"\0\0\0\x07avalue".to_vec())]
    );
    let late = client.send(&frame(1, &[0; 8], b"a", b"other", 99));
    assert_eq!(responses(&late), [(2, 0, b"Data exists for key.".to_vec())]);
}

#[test]
fn quiet_commands_tell_only_what_is_not_ordinary() {
    let engine = Plain::new(1 << 20);
    let mut client = Client::new(&engine);
    let batch = [
        frame(0x09, &[], b"none", b"", 0),
        frame(0x11, &[0; 8], b"a", b"1", 0),
        frame(0x12, &[0; 8], b"a", b"2", 0),
        frame(0x09, &[], b"a", b"", 0),
        frame(0x0a, &[], b"", b"", 0),
    ];
    let answers: Vec<u16> = responses(&client.send(&batch.concat()))
        .iter()
        .map(|answer| answer.0)
        .collect();
    assert_eq!(answers, [2, 0, 0]);
}

#[test]
fn a_frame_that_contradicts_itself_ends_the_connection() {
    let engine = Plain::new(1 << 20);
    let mut client = Client::new(&engine);
    let mut short = frame(0, &[], b"key", b"", 0);
    short[11] = 1;
    assert_eq!(responses(&client.send(&short))[0].0, 0x81);
    assert!(client.closed);
    let mut client = Client::new(&engine);
    assert_eq!(responses(&client.send(&frame(0, &[], b"", b"", 0)))[0].0, 4);
    assert!(client.closed);
}

#[test]
fn an_unknown_command_is_passed_over() {
    let engine = Plain::new(1 << 20);
    let mut client = Client::new(&engine);
    let both = [
        frame(0x7e, b"extra", b"key", b"value", 0),
        frame(0x0a, &[], b"", b"", 0),
    ]
    .concat();
    let answers: Vec<u16> = responses(&client.send(&both))
        .iter()
        .map(|answer| answer.0)
        .collect();
    assert_eq!(answers, [0x81, 0]);
}

#[test]
fn a_value_that_is_too_large_is_refused_and_passed_over() {
    let engine = Plain::new(100);
    let limits = Limits {
        item_bytes: 100,
        ..Limits::default()
    };
    let mut client = Client::with(&engine, limits, Access::Open);
    let both = [
        frame(1, &[0; 8], b"a", &[b'x'; 200], 0),
        frame(0x0a, &[], b"", b"", 0),
    ]
    .concat();
    let answers: Vec<u16> = responses(&client.send(&both))
        .iter()
        .map(|answer| answer.0)
        .collect();
    assert_eq!(answers, [3, 0]);
}

#[test]
fn the_token_is_shown_by_plain() {
    let engine = Plain::new(1 << 20);
    let access = Access::Token {
        user: Some("me".into()),
        token: "secret".into(),
    };
    let mut client = Client::with(&engine, Limits::default(), access.clone());
    assert_eq!(
        responses(&client.send(&frame(0x20, &[], b"", b"", 0)))[0].2,
        b"PLAIN"
    );
    assert_eq!(
        responses(&client.send(&frame(0x21, &[], b"PLAIN", b"\0me\0wrong", 0)))[0].0,
        0x20
    );
    assert_eq!(
        responses(&client.send(&frame(0x21, &[], b"PLAIN", b"\0me\0secret", 0)))[0].0,
        0
    );
    assert_eq!(
        responses(&client.send(&frame(0, &[], b"a", b"", 0)))[0].0,
        1
    );
    let mut client = Client::with(&engine, Limits::default(), access);
    assert_eq!(
        responses(&client.send(&frame(0, &[], b"a", b"", 0)))[0].0,
        0x20
    );
    assert!(client.closed);
}
