//! The harness against itself: what it would call broken must be broken.

use std::sync::Arc;

use forebay_tests::head::Framing;
use forebay_tests::stream::Address;
use forebay_tests::{Broken, Client, Event, Nginx, Origin, reply};

fn client_of(origin: &Origin) -> Client {
    Client::connect(origin.address())
}

#[test]
fn client_and_origin_understand_each_other() {
    let origin = Origin::fixed(reply(
        200,
        &["Cache-Status: x; hit, forebay; fwd=uri-miss; stored"],
        "hello",
    ));
    let mut client = client_of(&origin);
    let response = client.exchange("POST", "/a?b", &["X: 1"], "body");
    assert_eq!((response.status, response.text().as_str()), (200, "hello"));
    assert_eq!(
        (
            response.cache_status().forwarded(),
            response.cache_status().stored
        ),
        ("uri-miss", true)
    );
    let request = origin.last();
    assert_eq!(
        (
            request.method.as_str(),
            request.target.as_str(),
            request.body.as_slice()
        ),
        ("POST", "/a?b", &b"body"[..])
    );
    assert_eq!(
        request.raw,
        b"POST /a?b HTTP/1.1\r\nHost: test.example\r\nX: 1\r\nContent-Length: 4\r\n\r\nbody"
    );
}

#[test]
fn client_calls_lenient_responses_broken() {
    for broken in [
        "HTTP/1.1 200 OK\nContent-Length: 0\n\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length : 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\n folded: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabX\r\n0\r\n\r\n",
        "HTTP/1.1 204 No\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n",
    ] {
        let origin = Origin::fixed(broken);
        let mut client = client_of(&origin);
        let read = client.send_request("GET", "/", &[], "").try_read();
        assert!(
            matches!(read, Err((_, Broken::Malformed(_)))),
            "{broken:?} gave {read:?}"
        );
    }
}

#[test]
fn client_tells_truncation_reset_and_trailers_apart() {
    let origin = Origin::start(|request, connection| match request.target.as_str() {
        "/short" => {
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc");
            connection.close();
        }
        "/chunked" => connection.send(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nT: v\r\n\r\n",
        ),
        _ => {
            connection.send("HTTP/1.1 200 OK\r\n\r\nabc");
            connection.reset();
        }
    });
    let short = client_of(&origin)
        .send_request("GET", "/short", &[], "")
        .try_read();
    assert!(matches!(short, Err((Some(_), Broken::Closed))), "{short:?}");
    let chunked = client_of(&origin).get("/chunked");
    assert_eq!(
        (chunked.trailers.get("t"), chunked.framing),
        (Some("v"), Framing::Chunked(0))
    );
    let reset = client_of(&origin)
        .send_request("GET", "/reset", &[], "")
        .try_read();
    assert!(matches!(reset, Err((_, Broken::Reset))), "{reset:?}");
}

#[test]
fn origin_keeps_what_was_no_whole_request() {
    let origin = Origin::fixed(reply(200, &[], ""));
    let mut client = client_of(&origin);
    client.get("/");
    client.send("GET /half HTTP/1.1\r\n");
    drop(client);
    assert_eq!(origin.stray(), b"GET /half HTTP/1.1\r\n");
}

#[test]
fn origin_waits_for_events_and_streams() {
    let go = Arc::new(Event::new("go"));
    let gate = go.clone();
    let origin = Origin::start(move |_, connection| {
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc");
        gate.wait();
        connection.send("def");
    });
    let mut client = client_of(&origin);
    let mut response = client.send_request("GET", "/", &[], "").read_head();
    client.read_body(&mut response, 3);
    assert_eq!(response.text(), "abc");
    go.set();
    client.read_rest(&mut response).unwrap();
    assert_eq!(response.text(), "abcdef");
}

#[test]
fn client_agrees_with_nginx() {
    let nginx = Nginx::start("");
    nginx.write("a.txt", b"hello world");
    let mut client = Client::connect(&Address::Unix(nginx.socket()));
    let whole = client.get("/a.txt");
    assert_eq!((whole.status, whole.text().as_str()), (200, "hello world"));
    let part = client.get_with("/a.txt", &["Range: bytes=0-4"]);
    assert_eq!((part.status, part.text().as_str()), (206, "hello"));
    let etag = format!("If-None-Match: {}", whole.field("etag").unwrap());
    assert_eq!(client.get_with("/a.txt", &[&etag]).status, 304);
    assert_eq!(client.exchange("HEAD", "/a.txt", &[], "").body, b"");
    assert_eq!(client.get("/none").status, 404);
    client.send("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n");
    assert_eq!(client.read().status, 400);
    client.expect_close();
}

#[test]
#[should_panic(expected = "malformed requests")]
fn origin_calls_lenient_requests_malformed() {
    let origin = Origin::fixed(reply(200, &[], ""));
    let mut client = client_of(&origin);
    client.send("GET / HTTP/1.1\r\nHost : a\r\n\r\n");
    client.expect_close();
}
