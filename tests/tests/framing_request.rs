//! Requests that could be read in two ways are refused, closed and never
//! forwarded (RFC 9112 sections 2.2, 3.2, 5.1, 5.2, 6.1, 6.3 and 7.1).

use forebay_tests::{Broken, Config, Forebay, Origin, reply};

/// Sends each of `requests` on a connection of its own and expects one of
/// `statuses`, a close, and an origin that heard nothing at all.
#[track_caller]
fn refused(statuses: &[u16], requests: &[&[u8]]) {
    let (forebay, origin) = refuse_all(statuses, requests);
    drop(forebay);
    assert_eq!(origin.count(), 0, "forwarded: {:?}", origin.requests());
    let stray = origin.stray();
    assert!(stray.is_empty(), "the origin got {:?}", String::from_utf8_lossy(&stray));
}

/// The same for what shows only in the body: a head may have gone, a whole
/// request must not.
#[track_caller]
fn refused_in_the_body(requests: &[&[u8]]) {
    let (forebay, origin) = refuse_all(&[400], requests);
    drop(forebay);
    assert_eq!(origin.count(), 0, "forwarded: {:?}", origin.requests());
}

#[track_caller]
fn refuse_all(statuses: &[u16], requests: &[&[u8]]) -> (Forebay, Origin) {
    let origin = Origin::fixed(reply(200, &["Cache-Control: max-age=60"], "wrong"));
    let forebay = Forebay::before(&origin);
    let mut failures = Vec::new();
    for request in requests {
        let shown = String::from_utf8_lossy(request).chars().take(200).collect::<String>();
        let mut client = forebay.client();
        client.send_anyway(request);
        match client.try_read() {
            Err((_, why)) => failures.push(format!("{shown:?}: {why:?} instead of a status")),
            Ok(response) if !statuses.contains(&response.status) => {
                failures.push(format!("{shown:?}: {} instead of {statuses:?}", response.status));
            }
            Ok(response) => {
                if !response.fields.lists("connection", "close") {
                    failures.push(format!("{shown:?}: {} without Connection: close", response.status));
                }
                let (bytes, end) = client.read_to_end();
                if !bytes.is_empty() || end == Broken::Silent {
                    failures.push(format!("{shown:?}: not closed, {} more bytes, {end:?}", bytes.len()));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    (forebay, origin)
}

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
    refused(&[400], &[
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 6\r\n\r\nhello!",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: \r\n\r\nhello",
    ]);
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
    refused(&[400], &[
        b"GET / HTTP/1.1\nHost: a\n\n",
        b"GET / HTTP/1.1\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: 1\nY: 2\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n\n",
        b"\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    ]);
}

#[test]
fn bare_carriage_return() {
    refused(&[400], &[
        b"GET / HTTP/1.1\rHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n",
        b"GET / HTTP/1.1\r\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\rchunked\r\n\r\n",
    ]);
}

#[test]
fn folded_lines() {
    refused(&[400], &[
        b"GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n\tb\r\n\r\n",
        b"GET / HTTP/1.1\r\n Host: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n \r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    ]);
}

#[test]
fn white_space_around_field_names() {
    refused(&[400], &[
        b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX : b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX\t: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX y: b\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length : 5\r\n\r\nhello",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    ]);
}

#[test]
fn field_lines_that_are_none() {
    refused(&[400], &[
        b"GET / HTTP/1.1\r\nHost: a\r\nnocolon\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n: empty\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n(x): y\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX\xc3\xa4: y\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX\"y: z\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX\x00y: z\r\n\r\n",
    ]);
}

#[test]
fn control_bytes_in_values() {
    refused(&[400], &[
        b"GET / HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: a\x01b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: a\x0bb\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: a\x1fb\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: a\x7fb\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: \x1b[31m\r\n\r\n",
    ]);
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
fn host_missing_twice_or_invalid() {
    refused(&[400], &[
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: y\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a, b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: user@a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: http://a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a:port\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a:99999\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: [::1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a?b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a#b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\\b\r\n\r\n",
        b"GET http://a/ HTTP/1.1\r\n\r\n",
        b"GET http://a/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    ]);
}

#[test]
fn request_lines_that_are_none() {
    refused(&[400, 505], &[
        b"GET\r\n\r\n",
        b"GET /\r\n\r\n",
        b"GET / \r\nHost: a\r\n\r\n",
        b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /  HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
        b"GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n",
        b" GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / x HTTP/1.1\r\nHost: a\r\n\r\n",
        b"G\xc3\xa4T / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"G(T / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / http/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1,1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.10\r\nHost: a\r\n\r\n",
        b"GET / HTTP/11\r\nHost: a\r\n\r\n",
        b"GET / HTTQ/1.1\r\nHost: a\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a TLS hello\r\n\r\n",
        b"\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\n\r\n",
    ]);
}

#[test]
fn targets_that_are_none() {
    refused(&[400], &[
        b"GET a HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET ?q HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /a\x00b HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /a\x7fb HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /\xc3\xa4 HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /a#fragment HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET http:/// HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET http://user:pass@a/ HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET a:80 HTTP/1.1\r\nHost: a\r\n\r\n",
    ]);
}

#[test]
fn other_major_versions() {
    refused(&[505, 400], &[
        b"GET / HTTP/2.0\r\nHost: a\r\n\r\n",
        b"GET / HTTP/0.9\r\nHost: a\r\n\r\n",
        b"GET / HTTP/3.0\r\nHost: a\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ]);
}

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
    let requests: Vec<Vec<u8>> = bodies.iter().map(|body| [HEAD.as_bytes(), body].concat()).collect();
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

#[test]
fn request_behind_a_refused_one_is_not_answered() {
    let origin = Origin::fixed(reply(200, &[], "wrong"));
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n");
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
    for lengths in ["Content-Length: 5\r\nContent-Length: 5", "Content-Length: 5, 5"] {
        let mut client = forebay.client();
        client.send(format!("POST / HTTP/1.1\r\nHost: a\r\n{lengths}\r\n\r\nhello"));
        // RFC 9110 section 8.6 allows either.
        if client.read().status != 400 {
            assert_eq!(origin.last().fields.joined("content-length"), "5");
        }
    }
}

#[test]
fn method_that_the_site_forbids() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let config = Config::to(&origin).set("site.s", "hosts = [\"*\"]").set("site.s", "methods = [\"GET\", \"HEAD\"]");
    let forebay = Forebay::start(&config);
    let mut client = forebay.client();
    let response = client.exchange("BREW", "/", &[], "");
    assert_eq!(response.status, 405);
    assert_eq!(response.fields.joined("allow").replace(' ', ""), "GET,HEAD");
    assert_eq!(forebay.exchange("POST", "/", &[], "body").status, 405);
    assert_eq!(origin.count(), 0);
    assert_eq!(forebay.get("/").status, 200);
}

#[test]
fn refusals_say_what_they_are() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.send("GET / HTTP/1.1\r\nHost : a\r\n\r\n");
    let response = client.read();
    assert!(response.field("content-type").is_some_and(|t| t.starts_with("text/")), "{response:?}");
    assert!(response.text().contains("400"), "{}", response.text());
    assert!(response.field("date").is_some());
}
