//! Stories of Tokyo Tyrant's binary protocol and of its HTTP.

mod support;

use forebay_session::{Access, Limits};
use support::Client;
use support::engine::Plain;

fn numbers(numbers: &[u32]) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| number.to_be_bytes())
        .collect()
}

fn command(number: u8, lengths: &[u32], bytes: &[&[u8]]) -> Vec<u8> {
    [&[0xc8, number][..], &numbers(lengths), &bytes.concat()].concat()
}

fn misc(name: &[u8], arguments: &[&[u8]]) -> Vec<u8> {
    let mut request = command(
        0x90,
        &[name.len() as u32, 0, arguments.len() as u32],
        &[name],
    );
    for argument in arguments {
        request.extend_from_slice(&numbers(&[argument.len() as u32]));
        request.extend_from_slice(argument);
    }
    request
}

/// An answer with a list.
fn list(code: u8, elements: &[&[u8]]) -> Vec<u8> {
    let mut answer = [&[code][..], &numbers(&[elements.len() as u32])].concat();
    for element in elements {
        answer.extend_from_slice(&numbers(&[element.len() as u32]));
        answer.extend_from_slice(element);
    }
    answer
}

#[test]
fn records_are_put_read_and_taken_out() {
    let engine = Plain::new(1 << 20);
    let mut client = Client::new(&engine);
    assert_eq!(client.send(&command(0x10, &[1, 3], &[b"a", b"one"])), [0]);
    assert_eq!(
        client.send(&command(0x11, &[1, 3], &[b"a", b"two"])),
        [1],
        "putkeep"
    );
    assert_eq!(
        client.send(&command(0x12, &[1, 3], &[b"a", b"two"])),
        [0],
        "putcat"
    );
    assert_eq!(
        client.send(&command(0x30, &[1], &[b"a"])),
        [&[0][..], &numbers(&[6]), b"onetwo"].concat()
    );
    assert_eq!(
        client.send(&command(0x13, &[1, 1, 4], &[b"a", b"!"])),
        [0],
        "putshl"
    );
    assert_eq!(
        client.send(&command(0x38, &[1], &[b"a"])),
        [0, 0, 0, 0, 4],
        "vsiz"
    );
    assert_eq!(
        client.send(&command(0x18, &[1, 1], &[b"b", b"x"])),
        [0_u8; 0],
        "putnr"
    );
    assert_eq!(client.send(&command(0x20, &[1], &[b"b"])), [0]);
    assert_eq!(client.send(&command(0x20, &[1], &[b"b"])), [1]);
    assert_eq!(
        client.send(&command(0x80, &[], &[])),
        [&[0][..], &1_u64.to_be_bytes()].concat(),
        "rnum"
    );
}

#[test]
fn numbers_are_added_to() {
    let engine = Plain::new(1 << 20);
    let mut client = Client::new(&engine);
    assert_eq!(
        client.send(&command(0x60, &[1, 5], &[b"n"])),
        [0, 0, 0, 0, 5]
    );
    assert_eq!(
        client.send(&command(0x60, &[1, u32::MAX], &[b"n"])),
        [0, 0, 0, 0, 4]
    );
    client.send(&command(0x10, &[1, 3], &[b"x", b"abc"]));
    assert_eq!(client.send(&command(0x60, &[1, 5], &[b"x"])), [1]);
    let half = 500_000_000_000_u64.to_be_bytes();
    let add = [
        &[0xc8, 0x61][..],
        &numbers(&[1]),
        &1_u64.to_be_bytes(),
        &half,
        b"d",
    ]
    .concat();
    assert_eq!(
        client.send(&add),
        [&[0][..], &1_u64.to_be_bytes(), &half].concat()
    );
    assert_eq!(
        client.send(&add),
        [&[0][..], &3_u64.to_be_bytes(), &[0; 8]].concat()
    );
}

#[test]
fn many_records_are_read_at_once_and_walked_over() {
    let engine = Plain::slow(1 << 20, 2);
    let mut client = Client::new(&engine);
    assert_eq!(
        client.send(&misc(b"putlist", &[b"ka", b"1", b"kb", b"2"])),
        list(0, &[])
    );
    let mut mget = command(0x31, &[3], &[]);
    for key in ["ka", "no", "kb"] {
        mget.extend_from_slice(&[&numbers(&[2])[..], key.as_bytes()].concat());
    }
    let both = [
        &[0][..],
        &numbers(&[2, 2, 1]),
        b"ka1",
        &numbers(&[2, 1]),
        b"kb2",
    ]
    .concat();
    assert_eq!(client.send(&mget), both);
    assert_eq!(
        client.send(&misc(b"getlist", &[b"kb", b"no"])),
        list(0, &[b"kb", b"2"])
    );
    assert_eq!(client.send(&misc(b"get", &[b"no"])), list(1, &[]));
    assert_eq!(
        client.send(&command(0x58, &[1, u32::MAX], &[b"k"])),
        list(0, &[b"ka", b"kb"]),
        "fwmkeys"
    );
    assert_eq!(client.send(&command(0x50, &[], &[])), [0]);
    assert_eq!(
        client.send(&command(0x51, &[], &[])),
        [&[0][..], &numbers(&[2]), b"ka"].concat()
    );
    assert_eq!(
        client.send(&misc(b"iternext", &[])),
        list(0, &[b"kb", b"2"])
    );
    assert_eq!(client.send(&command(0x51, &[], &[])), [1]);
    assert_eq!(
        client.send(&misc(b"outlist", &[b"ka", b"no"])),
        list(0, &[])
    );
    assert_eq!(client.send(&command(0x72, &[], &[])), [0], "vanish");
    assert_eq!(client.send(&command(0x80, &[], &[])), [0; 9]);
}

#[test]
fn what_cannot_be_done_is_answered_and_read_past() {
    let engine = Plain::new(100);
    let limits = Limits {
        item_bytes: 100,
        ..Limits::default()
    };
    let mut client = Client::with(&engine, limits, Access::Open);
    assert_eq!(
        client.send(&command(0x68, &[1, 0, 1, 1], &[b"f", b"k", b"v"])),
        [1],
        "ext"
    );
    assert_eq!(client.send(&command(0x73, &[4], &[b"path"])), [1], "copy");
    assert_eq!(client.send(&command(0x71, &[0], &[])), [0], "optimize");
    let large = command(0x10, &[1, 200], &[b"a", &[b'x'; 200]]);
    assert_eq!(
        client.send(&[large, command(0x70, &[], &[])].concat()),
        [1, 0],
        "a value that is too large"
    );
    assert_eq!(client.send(&[0xc8, 0xff]), [0_u8; 0]);
    assert!(client.closed);
}

#[test]
fn a_list_that_would_be_too_long_is_not_answered() {
    let engine = Plain::new(1000);
    let limits = Limits {
        answer_bytes: 5000,
        ..Limits::default()
    };
    let mut client = Client::with(&engine, limits, Access::Open);
    client.send(&command(0x10, &[1, 1000], &[b"a", &[b'x'; 1000]]));
    let mut mget = command(0x31, &[10], &[]);
    mget.extend_from_slice(&[&numbers(&[1])[..], b"a"].concat().repeat(10));
    assert_eq!(client.send(&mget), list(1, &[]));
}

#[test]
fn http_reads_and_writes_records() {
    let engine = Plain::new(1 << 20);
    let mut client = Client::new(&engine);
    let put = "PUT /a%20b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc";
    assert!(client.say(put).starts_with("HTTP/1.1 201 Created\r\n"));
    let got = client.say("GET /a%20b HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(
        got.starts_with("HTTP/1.1 200 OK\r\n") && got.ends_with("Content-Length: 3\r\n\r\nabc"),
        "{got}"
    );
    let head = client.say("HEAD /a%20b HTTP/1.1\r\n\r\n");
    assert!(head.ends_with("Content-Length: 3\r\n\r\n"), "{head}");
    let kept = client.say("PUT /a%20b HTTP/1.1\r\nX-TT-PDMODE: 1\r\nContent-Length: 1\r\n\r\nx");
    assert!(kept.starts_with("HTTP/1.1 409 Conflict\r\n"), "{kept}");
    assert!(
        client
            .say("DELETE /a%20b HTTP/1.1\r\n\r\n")
            .starts_with("HTTP/1.1 200 OK\r\n")
    );
    assert!(
        client
            .say("GET /a%20b HTTP/1.0\r\n\r\n")
            .starts_with("HTTP/1.1 404 Not Found\r\n")
    );
    assert!(
        client.closed,
        "HTTP/1.0 keeps the connection only where the client asks for it"
    );
}

#[test]
fn http_tells_an_impatient_client_to_go_on_and_refuses_doubtful_lengths() {
    let engine = Plain::new(1 << 20);
    let mut client = Client::new(&engine);
    let head = "PUT /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
    assert_eq!(client.say(head), "HTTP/1.1 100 Continue\r\n\r\n");
    assert_eq!(client.say("a"), "");
    assert!(client.say("b").starts_with("HTTP/1.1 201 Created\r\n"));
    let doubtful = "PUT /a HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc";
    assert!(
        client
            .say(doubtful)
            .starts_with("HTTP/1.1 400 Bad Request\r\n")
    );
    assert!(client.closed);
}

#[test]
fn a_token_guards_http_and_shuts_the_binary_protocol() {
    let engine = Plain::new(1 << 20);
    let access = Access::Token {
        user: None,
        token: "secret".into(),
    };
    let mut client = Client::with(&engine, Limits::default(), access.clone());
    let refused = client.say("PUT /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc");
    assert!(
        refused.starts_with("HTTP/1.1 401 Unauthorized\r\n"),
        "{refused}"
    );
    let admitted = client.say("GET /a HTTP/1.1\r\nAuthorization: Basic bWU6c2VjcmV0\r\n\r\n");
    assert!(admitted.starts_with("HTTP/1.1 404 "), "{admitted}");
    let mut client = Client::with(&engine, Limits::default(), access);
    assert_eq!(client.send(&command(0x70, &[], &[])), [0_u8; 0]);
    assert!(client.closed);
}
