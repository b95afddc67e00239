//! The same strictness towards the origin: what it says unclearly becomes
//! 502, what it leaves unfinished is never finished for it, and never stored.

use forebay_tests::{Config, Forebay, Origin, Response};

#[track_caller]
fn bad_gateway(responses: &[&[u8]]) {
    let script: Vec<Vec<u8>> = responses.iter().map(|r| r.to_vec()).collect();
    let origin = Origin::start(move |request, connection| {
        let which: usize = request.target[1..].parse().unwrap();
        connection.send(&script[which]);
        connection.close();
    });
    let forebay = Forebay::start(&Config::to(&origin).cache("default_ttl = \"1m\""));
    let mut failures = Vec::new();
    for (which, response) in responses.iter().enumerate() {
        let shown = String::from_utf8_lossy(response)
            .chars()
            .take(200)
            .collect::<String>();
        match forebay
            .client()
            .send_request("GET", &format!("/{which}"), &[], "")
            .try_read()
        {
            Ok(Response { status: 502, .. }) => {}
            Ok(other) => failures.push(format!("{shown:?}: {} instead of 502", other.status)),
            Err((_, why)) => failures.push(format!("{shown:?}: {why:?} instead of 502")),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn unclear_framing_becomes_502() {
    bad_gateway(&[
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nhello!",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: abc\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    ]);
}

#[test]
fn malformed_heads_become_502() {
    bad_gateway(&[
        b"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
        b"HTTP/1.1 200 OK\r\nX: a\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: a\rb\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX : a\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: a\x00b\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: a\x7fb\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nnocolon\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n: x\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 abc OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 099 Low\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1  200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"ICY 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"<html>not HTTP at all</html>\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    ]);
}

#[test]
fn heads_without_end_become_502() {
    let long = format!(
        "HTTP/1.1 200 OK\r\nX: {}\r\nContent-Length: 0\r\n\r\n",
        "x".repeat(70 << 10)
    );
    let many = format!(
        "HTTP/1.1 200 OK\r\n{}Content-Length: 0\r\n\r\n",
        "X: y\r\n".repeat(300)
    );
    bad_gateway(&[
        long.as_bytes(),
        many.as_bytes(),
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"",
    ]);
}

#[test]
fn body_delimited_by_close_is_whole_and_stored() {
    let origin = Origin::start(|_, connection| {
        connection.send("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n\r\nuntil the end");
        connection.close();
    });
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    assert_eq!(client.get("/").text(), "until the end");
    let again = client.get("/");
    assert_eq!(
        (again.is_hit(), again.text().as_str()),
        (true, "until the end")
    );
    assert_eq!(again.field("content-length"), Some("13"));
}

#[test]
fn http_1_0_origin_is_understood() {
    let origin = Origin::start(|_, connection| {
        connection.send("HTTP/1.0 200 OK\r\nCache-Control: max-age=60\r\n\r\nancient");
        connection.close();
    });
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    let response = client.get("/");
    assert_eq!(
        (response.version.as_str(), response.text().as_str()),
        ("HTTP/1.1", "ancient")
    );
    assert!(client.get("/").is_hit());
}

#[test]
fn empty_reason_phrase_is_fine() {
    let origin = Origin::fixed("HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok");
    let forebay = Forebay::before(&origin);
    assert_eq!(forebay.get("/").text(), "ok");
}

#[test]
fn equal_content_lengths_are_made_one_or_refused() {
    let origin =
        Origin::fixed("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok");
    let forebay = Forebay::before(&origin);
    // The client's reader takes exactly one.
    let response = forebay.get("/");
    assert!(
        response.status == 502 || response.text() == "ok",
        "{response:?}"
    );
}

#[test]
fn no_content_with_framing_reaches_the_client_without() {
    let origin = Origin::fixed("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n");
    let forebay = Forebay::before(&origin);
    // RFC 9110 section 8.6: the field must not be sent in a 204; ours to repair or refuse.
    let response = forebay.get("/");
    assert!(matches!(response.status, 204 | 502), "{response:?}");
}

#[test]
fn response_in_an_unknown_transfer_coding_ends_with_its_connection() {
    let origin = Origin::start(|_, connection| {
        connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: rot13\r\n\r\nhello");
        connection.close();
    });
    let forebay = Forebay::before(&origin);
    // RFC 9112 section 6.3: delimited by the close; the coding is not the client's matter.
    for n in 0..2 {
        let response = forebay.get(&format!("/{n}"));
        assert_eq!(response.status, 200, "{response:?}");
        assert!(!response.fields.lists("transfer-encoding", "rot13"));
    }
    assert_eq!(origin.connections(), 2);
}
