//! Chunked requests that could be read in two ways (RFC 9112 section 7.1).

use forebay_tests::{Forebay, Origin, reply};

use crate::refusal::refused_in_the_body;

#[test]
fn chunk_sizes_that_are_none() {
    const HEAD: &str = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let bodies: [&[u8]; 19] = [
        b"\r\n\r\n",
        b"g\r\n\r\n",
        b"0x5\r\nhello\r\n0\r\n\r\n",
        b"+5\r\nhello\r\n0\r\n\r\n",
        b"-1\r\n\r\n",
        b" 5\r\nhello\r\n0\r\n\r\n",
        b"5 \r\nhello\r\n0\r\n\r\n",
        b"5\nhello\r\n0\r\n\r\n",
        b"5\r\nhello\n0\r\n\r\n",
        b"5\r\nhelloX\r\n0\r\n\r\n",
        b"5\r\nhello0\r\n\r\n",
        b"5\rhello\r\n0\r\n\r\n",
        b"10000000000000005\r\nhello\r\n0\r\n\r\n",
        b"fffffffffffffffff\r\nhello\r\n0\r\n\r\n",
        b"5;a=\x00\r\nhello\r\n0\r\n\r\n",
        b"5;a\n\r\nhello\r\n0\r\n\r\n",
        b"0\r\nX : y\r\n\r\n",
        b"0\r\nX: y\n\r\n",
        b"0\r\nX: a\r\n b\r\n\r\n",
    ];
    let requests: Vec<Vec<u8>> = bodies
        .iter()
        .map(|body| [HEAD.as_bytes(), body].concat())
        .collect();
    refused_in_the_body(&requests.iter().map(Vec::as_slice).collect::<Vec<_>>());
}

#[test]
fn trailers_that_change_the_framing_are_refused_or_dropped() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let forebay = Forebay::before(&origin);
    for name in ["Transfer-Encoding: chunked", "Content-Length: 5", "Host: b"] {
        let mut client = forebay.client();
        client.send(format!(
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n{name}\r\n\r\n"
        ));
        if client.read().status != 400 {
            assert!(origin.last().trailers.0.is_empty(), "{:?}", origin.last());
        }
    }
}

#[test]
fn chunk_extensions_without_end() {
    let long = format!(
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;x={}\r\nhello\r\n0\r\n\r\n",
        "y".repeat(300)
    );
    refused_in_the_body(&[long.as_bytes()]);
}

#[test]
fn trailers_without_end() {
    let line = format!("X-{}: {}\r\n", "n".repeat(90), "v".repeat(100));
    let long = format!(
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n{}\r\n",
        line.repeat(60)
    );
    let origin = Origin::fixed(reply(200, &[], "wrong"));
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.send_anyway(&long);
    assert!(matches!(client.read().status, 400 | 431));
    client.expect_close();
    drop(forebay);
    assert_eq!(origin.count(), 0);
}
