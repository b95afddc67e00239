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
fn a_record_that_cannot_be_read_is_not_told_to_be_missing() {
    let engine = Plain::slow(1 << 20, 2).broken_at("kb");
    let mut client = Client::new(&engine);
    client.send(&misc(b"putlist", &[b"ka", b"1", b"kb", b"2"]));
    let mut mget = command(0x31, &[2], &[]);
    for key in ["ka", "kb"] {
        mget.extend_from_slice(&[&numbers(&[2])[..], key.as_bytes()].concat());
    }
    assert_eq!(client.send(&mget), list(1, &[]));
    assert_eq!(
        client.send(&misc(b"getlist", &[b"ka", b"kb"])),
        list(1, &[])
    );
    client.send(&command(0x50, &[], &[]));
    assert_eq!(
        client.send(&misc(b"iternext", &[])),
        list(0, &[b"ka", b"1"])
    );
    assert_eq!(client.send(&misc(b"iternext", &[])), [0_u8; 0]);
    assert!(client.closed, "its code would say that the walk is over");
}

#[test]
fn a_part_of_a_value_is_read() {
    let engine = Plain::slow(1 << 20, 2);
    let mut client = Client::new(&engine);
    client.send(&misc(b"put", &[b"a", b"abcdef"]));
    let mut part = |arguments: &[&[u8]]| client.send(&misc(b"getpart", arguments));
    assert_eq!(part(&[b"a", b"2", b"3"]), list(0, &[b"cde"]));
    assert_eq!(part(&[b"a", b"2", b"99"]), list(0, &[b"cdef"]));
    assert_eq!(part(&[b"a", b"2", b"0"]), list(0, &[b""]));
    assert_eq!(part(&[b"a", b"5"]), list(0, &[b"f"]));
    assert_eq!(part(&[b"a", b"-1", b"-1"]), list(0, &[b"abcdef"]));
    assert_eq!(part(&[b"a"]), list(0, &[b"abcdef"]));
    assert_eq!(part(&[b"a", b"6"]), list(1, &[]));
    assert_eq!(part(&[b"a", &[b'9'; 40]]), list(1, &[]));
    assert_eq!(part(&[b"none", b"0"]), list(1, &[]));
    assert_eq!(part(&[]), list(1, &[]));
}

#[test]
fn a_walk_begins_at_the_key_that_is_named() {
    let engine = Plain::new(1 << 20);
    let mut client = Client::new(&engine);
    for number in 100..400 {
        client.send(&misc(b"put", &[number.to_string().as_bytes(), b"v"]));
    }
    assert_eq!(client.send(&misc(b"iterinit", &[b"none"])), list(1, &[]));
    assert_eq!(client.send(&misc(b"iterinit", &[b"398"])), list(0, &[]));
    for key in [b"398", b"399"] {
        let next = client.send(&misc(b"iternext", &[]));
        assert_eq!(next, list(0, &[key, b"v"]));
    }
    assert_eq!(client.send(&misc(b"iternext", &[])), list(1, &[]));
}

#[test]
fn arguments_of_misc_that_are_too_many_are_passed_over() {
    let engine = Plain::new(1 << 20);
    let mut client = Client::new(&engine);
    let done = list(0, &[]);
    assert_eq!(
        client.send(&misc(b"putlist", &[b"a", b"1", b"b", b"2", b"c"])),
        done
    );
    assert_eq!(client.send(&misc(b"put", &[b"d", b"4", b"e"])), done);
    let all = misc(b"getlist", &[b"a", b"b", b"c", b"d", b"e"]);
    let found: [&[u8]; 6] = [b"a", b"1", b"b", b"2", b"d", b"4"];
    assert_eq!(client.send(&all), list(0, &found));
    assert_eq!(client.send(&misc(b"get", &[b"a", b"b"])), list(0, &[b"1"]));
    assert_eq!(client.send(&misc(b"put", &[b"a"])), list(1, &[]));
    assert_eq!(client.send(&misc(b"putlist", &[b"a"])), done);
    assert_eq!(client.send(&misc(b"outlist", &[])), done);
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
fn a_key_that_no_store_takes_is_refused_in_the_words_of_each_protocol() {
    let engine = Plain::new(1 << 20);
    let mut client = Client::new(&engine);
    for bytes in [0, 251, 1024] {
        let key = vec![b'k'; bytes];
        let put = command(0x10, &[bytes as u32, 1], &[&key, b"v"]);
        assert_eq!(client.send(&put), [1], "put of {bytes} bytes");
        assert_eq!(client.send(&misc(b"put", &[&key, b"v"])), list(1, &[]));
        let get = command(0x30, &[bytes as u32], &[&key]);
        assert_eq!(client.send(&get), [1], "get of {bytes} bytes");
        assert_eq!(client.send(&misc(b"getlist", &[&key])), list(0, &[]));
    }
    assert_eq!(
        client.send(&command(0x10, &[250, 1], &[&[b'k'; 250], b"v"])),
        [0]
    );
    let long = "k".repeat(251);
    for (path, expected) in [(&*long, "414 URI Too Long"), ("", "400 Bad Request")] {
        let mut client = Client::new(&engine);
        for method in ["GET", "HEAD", "PUT", "POST", "DELETE"] {
            let request = format!("{method} /{path} HTTP/1.1\r\nContent-Length: 0\r\n\r\n");
            let answer = client.say(&request);
            let status = format!("HTTP/1.1 {expected}\r\n");
            assert!(answer.starts_with(&status), "{method}: {answer}");
            let is_head = answer.ends_with("\r\n\r\n");
            assert_eq!(is_head, method == "HEAD", "{answer}");
        }
    }
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
fn http_ends_and_keeps_connections_as_their_clients_ask() {
    let engine = Plain::new(1 << 20);
    let ends = |version: &str, fields: &str| {
        let mut client = Client::new(&engine);
        let answer = client.say(&format!("GET /a HTTP/{version}\r\n{fields}\r\n"));
        let said = answer.lines().find(|line| line.starts_with("Connection:"));
        (client.closed, said.map(str::to_owned))
    };
    let close = (true, Some("Connection: close".to_owned()));
    let kept = (false, Some("Connection: keep-alive".to_owned()));
    assert_eq!(ends("1.1", ""), (false, None));
    assert_eq!(ends("1.1", "Connection: keep-alive\r\n"), (false, None));
    assert_eq!(ends("1.1", "Connection: TE, Close\r\n"), close);
    assert_eq!(
        ends("1.1", "Connection: close\r\nConnection: keep-alive\r\n"),
        close
    );
    assert_eq!(ends("1.0", ""), close);
    assert_eq!(ends("1.0", "Connection: TE\r\n"), close);
    assert_eq!(ends("1.0", "Connection: Keep-Alive, TE\r\n"), kept);
}

#[test]
fn a_command_by_name_over_http_is_told_not_to_be_there() {
    let engine = Plain::new(1 << 20);
    let mut client = Client::new(&engine);
    for name in ["X-TT-MNAME: getlist", "X-TT-XNAME: script"] {
        let request = format!("POST / HTTP/1.1\r\n{name}\r\nContent-Length: 0\r\n\r\n");
        let answer = client.say(&request);
        assert!(answer.starts_with("HTTP/1.1 501 "), "{answer}");
    }
}

#[test]
fn a_plus_sign_in_the_path_is_a_blank_in_the_key() {
    let engine = Plain::new(1 << 20);
    let mut client = Client::new(&engine);
    client.say("PUT /a+b%2Bc HTTP/1.1\r\nContent-Length: 1\r\n\r\nx");
    let mut other = Client::new(&engine);
    let get = command(0x30, &[5], &[b"a b+c"]);
    assert_eq!(other.send(&get), [&[0][..], &numbers(&[1]), b"x"].concat());
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
