//! Requests that could be read in two ways are refused, closed and never
//! forwarded (RFC 9112 sections 2.2, 3.2, 5.1, 5.2, 6.1, 6.3 and 7.1).

use forebay_tests::{Forebay, Origin, reply};

use crate::refusal::refused;

#[test]
fn content_length_beside_transfer_encoding() {
    refused(&[400], &[
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\ncontent-length: 5\r\nTRANSFER-ENCODING: chunked\r\n\r\n0\r\n\r\n",
    ]);
}

#[test]
fn content_lengths_that_differ() {
    refused(
        &[400],
        &[
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 6\r\n\r\nhello!",
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: \r\n\r\nhello",
        ],
    );
}

#[test]
fn content_length_that_is_no_number() {
    refused(&[400], &[
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\nhello",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\nhello",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5\r\n\r\nhello",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5.0\r\n\r\nhello",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5 5\r\n\r\nhello",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\nhello",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: five\r\n\r\nhello",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5,\r\n\r\nhello",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \"5\"\r\n\r\nhello",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\x0b\r\n\r\nhello",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551621\r\n\r\nhello",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999999\r\n\r\nhello",
    ]);
}

#[test]
fn transfer_encoding_that_is_not_exactly_chunked_at_the_end() {
    refused(&[400, 501], &[
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\x0b\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked,\x00\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ]);
}

#[test]
fn bare_line_feed() {
    refused(
        &[400],
        &[
            b"GET / HTTP/1.1\nHost: a\n\n",
            b"GET / HTTP/1.1\nHost: a\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nX: 1\nY: 2\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\n\n",
            b"\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        ],
    );
}

#[test]
fn bare_carriage_return() {
    refused(
        &[400],
        &[
            b"GET / HTTP/1.1\rHost: a\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n",
            b"GET / HTTP/1.1\r\r\nHost: a\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\rchunked\r\n\r\n",
        ],
    );
}

#[test]
fn folded_lines() {
    refused(
        &[400],
        &[
            b"GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n\tb\r\n\r\n",
            b"GET / HTTP/1.1\r\n Host: a\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\n \r\n\r\n",
            b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
        ],
    );
}

#[test]
fn white_space_around_field_names() {
    refused(
        &[400],
        &[
            b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nX : b\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nX\t: b\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nX y: b\r\n\r\n",
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length : 5\r\n\r\nhello",
            b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        ],
    );
}

#[test]
fn field_lines_that_are_none() {
    refused(
        &[400],
        &[
            b"GET / HTTP/1.1\r\nHost: a\r\nnocolon\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\n: empty\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\n(x): y\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nX\xc3\xa4: y\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nX\"y: z\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nX\x00y: z\r\n\r\n",
        ],
    );
}

#[test]
fn control_bytes_in_values() {
    refused(
        &[400],
        &[
            b"GET / HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nX: a\x01b\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nX: a\x0bb\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nX: a\x1fb\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nX: a\x7fb\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nX: \x1b[31m\r\n\r\n",
        ],
    );
}

#[test]
fn tabs_and_bytes_beyond_ascii_in_values_are_fine() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.send(b"GET / HTTP/1.1\r\nHost: a\r\nX: a\tb\xe4\xff\r\n\r\n");
    assert_eq!(client.read().status, 200);
    assert_eq!(origin.last().field("x"), Some("a\tb\u{e4}\u{ff}"));
}

#[test]
fn request_behind_a_refused_one_is_not_answered() {
    let origin = Origin::fixed(reply(200, &[], "wrong"));
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.send(
        "GET / HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n",
    );
    assert_eq!(client.read().status, 400);
    client.expect_close();
    drop(forebay);
    assert_eq!(origin.stray(), b"");
}

#[test]
fn refusal_waits_for_the_requests_before_it() {
    let origin = Origin::fixed(reply(200, &[], "fine"));
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost : a\r\n\r\n");
    assert_eq!(client.read().text(), "fine");
    assert_eq!(client.read().status, 400);
    client.expect_close();
}

#[test]
fn equal_content_lengths_are_refused_or_made_one() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let forebay = Forebay::before(&origin);
    for lengths in [
        "Content-Length: 5\r\nContent-Length: 5",
        "Content-Length: 5, 5",
    ] {
        let mut client = forebay.client();
        client.send(format!(
            "POST / HTTP/1.1\r\nHost: a\r\n{lengths}\r\n\r\nhello"
        ));
        // RFC 9110 section 8.6 allows either.
        if client.read().status != 400 {
            assert_eq!(origin.last().fields.joined("content-length"), "5");
        }
    }
}
