//! Bodies in both directions: streamed, bounded, chunked, expected.

use std::time::Duration;

use forebay_tests::head::Framing;
use forebay_tests::{Config, Event, Forebay, Origin, reply};

/// More than the kernel's buffers of two connections and ours together.
const HUGE: usize = 96 << 20;

#[test]
fn request_body_by_length_arrives_exactly() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    for size in [0usize, 1, 1000, 65_536, 1_000_003] {
        let body: String = ('a'..='z').cycle().take(size).collect();
        client.send(format!(
            "POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n{body}"
        ));
        assert_eq!(client.read().status, 200);
        let request = origin.last();
        assert_eq!(request.body, body.as_bytes(), "{size} bytes");
        assert_eq!(
            request.field("content-length").map(str::to_owned),
            Some(size.to_string())
        );
    }
}

#[test]
fn chunked_request_body_arrives_with_its_trailers() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.send(
        "POST / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: TE\r\nTrailer: X-Sum\r\n\
         Transfer-Encoding: chunked\r\n\r\n5;ext=1\r\nhello\r\n00006\r\n world\r\n0\r\nX-Sum: 42\r\n\r\n",
    );
    assert_eq!(client.read().status, 200);
    let request = origin.last();
    assert_eq!(request.body, b"hello world");
    assert_eq!(request.trailers.get("x-sum"), Some("42"));
    // The connection goes on right behind the trailers.
    assert_eq!(client.get("/next").status, 200);
}

#[test]
fn chunked_request_sent_byte_by_byte_arrives_the_same() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.send_byte_by_byte(
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\nA\r\n0123456789\r\n1\r\nx\r\n0\r\n\r\n",
    );
    assert_eq!(client.read().status, 200);
    assert_eq!(origin.last().body, b"0123456789x");
}

#[test]
fn request_body_is_streamed_while_it_comes() {
    let arrived = Event::new("first half at the origin");
    let announce = arrived.clone();
    let origin = Origin::raw(move |connection| {
        let Ok(mut request) = connection.request_head() else {
            return;
        };
        let half = connection.read_bytes(5).unwrap();
        announce.set();
        let rest = connection.read_bytes(5).unwrap();
        request.body = [half, rest].concat();
        connection.record(request);
        connection.send(reply(200, &[], "thanks"));
    });
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n01234");
    arrived.wait();
    client.send("56789");
    assert_eq!(client.read().text(), "thanks");
    assert_eq!(origin.last().body, b"0123456789");
}

#[test]
fn slow_origin_slows_the_uploading_client() {
    let go = Event::new("the origin reads");
    let gate = go.clone();
    let origin = Origin::raw(move |connection| {
        let Ok(mut request) = connection.request_head() else {
            return;
        };
        gate.wait();
        connection.request_body(&mut request).unwrap();
        connection.send(reply(200, &[], &request.body.len().to_string()));
    });
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.send(format!(
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {HUGE}\r\n\r\n"
    ));
    let body = vec![b'u'; HUGE];
    let sent = client.send_until_blocked(&body, Duration::from_millis(500));
    assert!(
        sent < HUGE,
        "all {HUGE} bytes were taken although the origin reads none"
    );
    go.set();
    client.send(&body[sent..]);
    assert_eq!(client.read().text(), HUGE.to_string());
}

#[test]
fn response_is_streamed_while_it_comes() {
    let go = Event::new("the client has the first half");
    let gate = go.clone();
    let origin = Origin::start(move |_, connection| {
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234");
        gate.wait();
        connection.send("56789");
    });
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    let mut response = client.send_request("GET", "/", &[], "").read_head();
    client.read_body(&mut response, 5);
    go.set();
    client.read_rest(&mut response).unwrap();
    assert_eq!(response.text(), "0123456789");
}

/// An origin offers a huge response to a client that does not read.
#[track_caller]
fn slow_client_slows_the_origin(extra: &str, cached: bool) {
    let (blocked, extra) = (
        Event::new("the origin was stopped or done"),
        extra.to_owned(),
    );
    let announce = blocked.clone();
    let origin = Origin::start(move |_, connection| {
        connection.send(format!(
            "HTTP/1.1 200 OK\r\n{extra}Content-Length: {HUGE}\r\n\r\n"
        ));
        let body = vec![b'd'; HUGE];
        let sent = connection.send_until_blocked(&body, Duration::from_millis(500));
        assert!(
            sent < HUGE,
            "all {HUGE} bytes were taken although the client reads none"
        );
        announce.set();
        connection.send(&body[sent..]);
    });
    let forebay = Forebay::start(&Config::to(&origin).cache(if cached {
        "memory = \"32MiB\""
    } else {
        "pass = true"
    }));
    let mut client = forebay.client();
    let mut response = client.send_request("GET", "/", &[], "").read_head();
    blocked.wait();
    client.read_rest(&mut response).unwrap();
    assert_eq!(response.body.len(), HUGE);
}

#[test]
fn slow_client_slows_the_origin_of_a_passed_response() {
    slow_client_slows_the_origin("", false);
}

#[test]
fn slow_client_slows_the_origin_of_a_response_too_large_to_store() {
    slow_client_slows_the_origin("Cache-Control: max-age=60\r\n", true);
}

#[test]
fn chunked_response_arrives_with_its_trailers() {
    let origin = Origin::fixed(
        "HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n6\r\n world\r\n0\r\nX-Sum: 42\r\n\r\n",
    );
    let forebay = Forebay::start(&Config::to(&origin).cache("pass = true"));
    let mut client = forebay.client();
    let response = client.get_with("/", &["TE: trailers", "Connection: TE"]);
    assert_eq!(response.text(), "hello world");
    assert_eq!(response.trailers.get("x-sum"), Some("42"));
    assert_eq!(client.get("/").text(), "hello world");
    assert_eq!(origin.connections(), 1);
}

#[test]
fn chunked_response_split_anywhere_arrives_the_same() {
    let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=\"y\"\r\n world\r\n0\r\nT: v\r\n\r\n";
    let origin =
        Origin::start(move |_, connection| text.bytes().for_each(|byte| connection.send([byte])));
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    assert_eq!(client.get("/1").text(), "hello world");
    assert_eq!(client.get("/2").text(), "hello world");
}

#[test]
fn empty_chunked_response_is_empty() {
    let origin = Origin::fixed(
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    );
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    assert_eq!(client.get("/").body, b"");
    let hit = client.get("/");
    assert!(hit.is_hit() && hit.body.is_empty(), "{hit:?}");
}

#[test]
fn large_response_is_whole_from_origin_and_cache() {
    let body: String = ('a'..='z').cycle().take(3_000_001).collect();
    let origin = Origin::fixed(reply(200, &["Cache-Control: max-age=60"], &body));
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    assert_eq!(client.get("/").text(), body);
    let hit = client.get("/");
    assert!(hit.is_hit());
    assert_eq!(hit.text(), body);
}

#[test]
fn body_of_unknown_length_reaches_a_1_1_client_in_chunks() {
    let origin = Origin::start(|_, connection| {
        connection.send("HTTP/1.1 200 OK\r\n\r\nuntil close");
        connection.close();
    });
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    let response = client.get("/1");
    assert_eq!(response.text(), "until close");
    assert!(
        matches!(response.framing, Framing::Chunked(_)),
        "{response:?}"
    );
    assert_eq!(client.get("/2").text(), "until close");
}
