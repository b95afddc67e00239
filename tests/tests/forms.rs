//! Requests in their less common forms: HTTP/1.0, absolute-form, `OPTIONS *`,
//! other methods (RFC 9112 section 3.2, RFC 9110 section 9).

use forebay_tests::head::Framing;
use forebay_tests::{Config, Forebay, Origin, reply};

#[test]
fn head_is_answered_without_a_body() {
    let origin = Origin::start(|request, connection| {
        assert_eq!(request.method, "HEAD");
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
    });
    let forebay = Forebay::start(&Config::to(&origin).cache("pass = true"));
    let mut client = forebay.client();
    let response = client.exchange("HEAD", "/", &[], "");
    assert_eq!(
        (response.status, response.field("content-length")),
        (200, Some("1000"))
    );
    // The next response on the connection begins right behind the head.
    assert_eq!(client.exchange("HEAD", "/", &[], "").status, 200);
    assert_eq!(origin.connections(), 1);
}

#[test]
fn statuses_without_a_body_keep_the_connection() {
    let origin = Origin::sequence(&[
        "HTTP/1.1 204 No Content\r\n\r\n".into(),
        "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n".into(),
        reply(200, &[], "after"),
    ]);
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    assert_eq!(client.get("/1").status, 204);
    assert_eq!(client.get_with("/2", &["If-None-Match: \"a\""]).status, 304);
    assert_eq!(client.get("/3").text(), "after");
    assert_eq!(origin.connections(), 1);
}

#[test]
fn http_1_0_client_gets_its_answer_and_a_close() {
    let origin = Origin::fixed(reply(200, &["Cache-Control: max-age=60"], "old"));
    let forebay = Forebay::before(&origin);
    for _ in ["miss", "hit"] {
        let mut client = forebay.client();
        client.send("GET / HTTP/1.0\r\nHost: test.example\r\n\r\n");
        assert_eq!(client.read().text(), "old");
        client.expect_close();
    }
    // Our own requests are HTTP/1.1 whatever the client speaks; the origin's reader insists on it.
    assert_eq!(origin.count(), 1);
}

#[test]
fn http_1_0_client_without_host_is_served() {
    let origin = Origin::fixed(reply(200, &[], "old"));
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.send("GET / HTTP/1.0\r\n\r\n");
    assert_eq!(client.read().status, 200);
    // HTTP/1.1 demands a host, and a web server that it is one.
    let host = origin.address().to_string();
    assert_eq!(origin.last().field("host"), Some(host.as_str()));
    assert_eq!(origin.last().field("via"), Some("1.0 forebay"));
}

#[test]
fn http_1_0_client_may_ask_for_keep_alive() {
    let origin = Origin::fixed(reply(200, &["Cache-Control: max-age=60"], "old"));
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.send("GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n");
    let response = client.read();
    assert_eq!(response.text(), "old");
    if response.fields.lists("connection", "keep-alive") {
        client.send("GET / HTTP/1.0\r\nHost: a\r\n\r\n");
        assert_eq!(client.read().text(), "old");
    }
    client.expect_close();
}

#[test]
fn http_1_0_client_never_gets_chunks() {
    let origin = Origin::fixed(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n",
    );
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.send("GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n");
    let response = client.read();
    assert_eq!(response.text(), "abcdef");
    assert!(response.field("transfer-encoding").is_none());
    assert!(
        matches!(response.framing, Framing::Close | Framing::Length(_)),
        "{response:?}"
    );
}

#[test]
fn absolute_form_decides_over_host() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    // RFC 9112 section 3.2.2: a proxy ignores the received Host and replaces it.
    client.send("GET http://one.example/p?q HTTP/1.1\r\nHost: two.example\r\n\r\n");
    assert_eq!(client.read().status, 200);
    let request = origin.last();
    assert_eq!(
        (
            request.target.as_str(),
            request.fields.joined("host").as_str()
        ),
        ("/p?q", "one.example")
    );
    client.send("GET http://one.example HTTP/1.1\r\nHost: one.example\r\n\r\n");
    assert_eq!(client.read().status, 200);
    assert_eq!(origin.last().target, "/");
}

#[test]
fn absolute_form_and_origin_form_share_one_object() {
    let origin = Origin::fixed(reply(200, &["Cache-Control: max-age=60"], "x"));
    let forebay = Forebay::before(&origin);
    forebay.get("/p");
    let mut client = forebay.client();
    client.send("GET http://TEST.example/p HTTP/1.1\r\nHost: test.example\r\n\r\n");
    assert!(client.read().is_hit());
}

#[test]
fn options_asterisk_reaches_the_origin_as_such_or_is_answered() {
    let origin = Origin::fixed(reply(200, &["Allow: GET"], ""));
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.send("OPTIONS * HTTP/1.1\r\nHost: test.example\r\n\r\n");
    assert!(matches!(client.read().status, 200 | 204));
    assert!(
        origin
            .requests()
            .iter()
            .all(|request| request.target == "*")
    );
    client.send("GET * HTTP/1.1\r\nHost: test.example\r\n\r\n");
    assert_eq!(
        client.read().status,
        400,
        "the asterisk is for OPTIONS alone"
    );
}

#[test]
fn options_with_max_forwards_zero_is_not_forwarded() {
    let origin = Origin::fixed(reply(200, &["Allow: GET"], ""));
    let forebay = Forebay::before(&origin);
    // RFC 9110 section 7.6.2
    let response = forebay.exchange("OPTIONS", "/", &["Max-Forwards: 0"], "");
    assert!(matches!(response.status, 200 | 204), "{response:?}");
    assert_eq!(origin.count(), 0);
    forebay.exchange("OPTIONS", "/", &["Max-Forwards: 7"], "");
    assert_eq!(origin.last().field("max-forwards"), Some("6"));
}

#[test]
fn unknown_methods_are_passed_on() {
    let origin = Origin::fixed(reply(200, &["Cache-Control: max-age=60"], "x"));
    let forebay = Forebay::before(&origin);
    for method in ["PUT", "DELETE", "PATCH", "PROPFIND", "X-OWN"] {
        let response = forebay.exchange(method, "/", &[], "");
        assert_eq!(
            (response.status, origin.last().method.as_str()),
            (200, method)
        );
        assert!(!response.is_hit());
    }
}

#[test]
fn connect_is_refused() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.send("CONNECT other.example:443 HTTP/1.1\r\nHost: other.example:443\r\n\r\n");
    let response = client.read();
    assert!(matches!(response.status, 400 | 405 | 501), "{response:?}");
    assert_eq!(origin.count(), 0);
}

#[test]
fn get_that_states_an_empty_body_is_an_ordinary_get() {
    let origin = Origin::fixed(reply(200, &["Cache-Control: max-age=60"], "x"));
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.get("/");
    assert!(client.get_with("/", &["Content-Length: 0"]).is_hit());
    let chunked =
        "GET / HTTP/1.1\r\nHost: test.example\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    assert_eq!(client.send(chunked).read().text(), "x");
    assert!(client.get("/").is_hit());
}
