//! Requests that are none: lines, targets, hosts and versions that cannot be
//! meant (RFC 9112 sections 2 and 3).

use forebay_tests::{Config, Forebay, Origin, reply};

use crate::refusal::refused;

#[test]
fn host_missing_twice_or_invalid() {
    refused(
        &[400],
        &[
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
        ],
    );
}

#[test]
fn request_lines_that_are_none() {
    refused(
        &[400, 505],
        &[
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
        ],
    );
}

#[test]
fn targets_that_are_none() {
    refused(
        &[400],
        &[
            b"GET a HTTP/1.1\r\nHost: a\r\n\r\n",
            b"GET ?q HTTP/1.1\r\nHost: a\r\n\r\n",
            b"GET /a\x00b HTTP/1.1\r\nHost: a\r\n\r\n",
            b"GET /a\x7fb HTTP/1.1\r\nHost: a\r\n\r\n",
            b"GET /\xc3\xa4 HTTP/1.1\r\nHost: a\r\n\r\n",
            b"GET /a#fragment HTTP/1.1\r\nHost: a\r\n\r\n",
            b"GET http:/// HTTP/1.1\r\nHost: a\r\n\r\n",
            b"GET http://user:pass@a/ HTTP/1.1\r\nHost: a\r\n\r\n",
            b"GET a:80 HTTP/1.1\r\nHost: a\r\n\r\n",
        ],
    );
}

#[test]
fn other_major_versions() {
    refused(
        &[505, 400],
        &[
            b"GET / HTTP/2.0\r\nHost: a\r\n\r\n",
            b"GET / HTTP/0.9\r\nHost: a\r\n\r\n",
            b"GET / HTTP/3.0\r\nHost: a\r\n\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        ],
    );
}

#[test]
fn method_that_the_site_forbids() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let config = Config::to(&origin)
        .set("site.s", "hosts = [\"*\"]")
        .set("site.s", "methods = [\"GET\", \"HEAD\"]");
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
    assert!(
        response
            .field("content-type")
            .is_some_and(|t| t.starts_with("text/")),
        "{response:?}"
    );
    assert!(response.text().contains("400"), "{}", response.text());
    assert!(response.field("date").is_some());
}
