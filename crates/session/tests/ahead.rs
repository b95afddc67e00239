//! What the engine is told of commands that have come and are not carried out yet.

#![allow(clippy::unwrap_used)]

mod support;

use forebay_session::{Access, Ahead, Connection, Counts, Limits};
use support::engine::Plain;
use support::{Client, NOW_S};

/// The keys the engine was told of while a pipeline was carried out.
fn told(pipeline: &[u8]) -> Vec<Vec<String>> {
    let engine = Plain::new(1 << 20);
    Client::new(&engine).send(pipeline);
    let words = |keys: Vec<Vec<u8>>| {
        keys.iter()
            .map(|key| key.escape_ascii().to_string())
            .collect()
    };
    engine.hints().into_iter().map(words).collect()
}

fn binary(opcode: u8, extras: usize, key: &[u8], value: &[u8]) -> Vec<u8> {
    let whole = (extras + key.len() + value.len()) as u32;
    let mut frame = vec![0; 24 + extras];
    frame[..2].copy_from_slice(&[0x80, opcode]);
    frame[2..4].copy_from_slice(&(key.len() as u16).to_be_bytes());
    frame[4] = extras as u8;
    frame[8..12].copy_from_slice(&whole.to_be_bytes());
    [&frame, key, value].concat()
}

fn tyrant(command: u8, key: &[u8], value: Option<&[u8]>) -> Vec<u8> {
    let mut request = vec![0xc8, command];
    request.extend_from_slice(&(key.len() as u32).to_be_bytes());
    if let Some(value) = value {
        request.extend_from_slice(&(value.len() as u32).to_be_bytes());
    }
    [&request, key, value.unwrap_or_default()].concat()
}

#[test]
fn of_a_pipeline_all_keys_behind_the_first_are_told_in_every_protocol() {
    let text = b"get first\r\nset a 0 0 3\r\nget\r\nversion\r\nget  b\r\ncas c 0 0 1 7\r\nx\r\n\
        ms d 1\r\ny\r\nmg e v\r\nget many keys\r\nincr f 1\r\nget cut";
    assert_eq!(told(text)[0], ["a", "b", "c", "d", "e", "f"]);
    let frames = [
        binary(0x00, 0, b"first", b""),
        binary(0x09, 0, b"a", b""),
        binary(0x11, 8, b"b", b"value"),
        binary(0x10, 0, b"settings", b""),
        binary(0x0a, 0, b"", b""),
        binary(0x04, 0, b"c", b""),
    ];
    assert_eq!(told(&frames.concat()), [["a", "b", "c"]]);
    let records = [
        tyrant(0x30, b"first", None),
        tyrant(0x10, b"a", Some(b"value")),
        tyrant(0x18, b"b", Some(b"")),
        tyrant(0x38, b"c", None),
        vec![0xc8, 0x80],
        tyrant(0x30, b"later", None),
    ];
    assert_eq!(told(&records.concat()), [["a", "b", "c"]]);
}

#[test]
fn a_long_pipeline_is_told_piece_by_piece() {
    let gets: Vec<String> = (0..50).map(|n| format!("get key{n}\r\n")).collect();
    let told = told(gets.concat().as_bytes());
    let lengths: Vec<usize> = told.iter().map(Vec::len).collect();
    assert_eq!(lengths, [16, 16, 16]);
    assert!(
        told.concat()
            .into_iter()
            .eq((1..49).map(|n| format!("key{n}")))
    );
}

#[test]
fn what_is_said_before_the_token_was_shown_touches_no_item() {
    let engine = Plain::new(1 << 20);
    let access = Access::Token {
        user: None,
        token: "secret".into(),
    };
    let mut client = Client::with(&engine, Limits::default(), access);
    client.send(b"get a\r\nget b\r\nget c\r\n");
    assert!(engine.hints().is_empty());
}

#[test]
fn one_command_of_each_of_several_connections_is_told_together() {
    let engine = Plain::new(1 << 20);
    let texts = [
        &b"get a\r\n"[..],
        b"set b 0 0 1\r\nx\r\n",
        b"get c d\r\n",
        b"get cu",
    ];
    let connections = texts.map(|text| {
        let mut connection = Connection::new(Limits::default(), Access::Open);
        connection.take(
            b"mn\r\n",
            &engine,
            NOW_S,
            &mut Vec::new(),
            &mut Counts::default(),
        );
        (connection, text)
    });
    let mut ahead = Ahead::default();
    for (connection, text) in &connections {
        connection.look_ahead(text, &mut ahead);
    }
    ahead.tell(&engine);
    assert_eq!(engine.hints(), [[b"a", b"b"]]);
    // A new connection's protocol is not known yet.
    let mut ahead = Ahead::default();
    let new = Connection::new(Limits::default(), Access::Open);
    new.look_ahead(b"get a\r\n", &mut ahead);
    new.look_ahead(b"get b\r\n", &mut ahead);
    ahead.tell(&engine);
    assert_eq!(engine.hints().len(), 1);
}
