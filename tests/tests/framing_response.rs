//! The same strictness towards the origin: what it says unclearly becomes
//! 502, what it leaves unfinished is never finished for it, and never stored.

use forebay_tests::{Broken, Config, Event, Forebay, Origin, Response, reply};

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
        let shown = String::from_utf8_lossy(response).chars().take(200).collect::<String>();
        match forebay.client().send_request("GET", &format!("/{which}"), &[], "").try_read() {
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
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
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
    let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\nContent-Length: 0\r\n\r\n", "x".repeat(70 << 10));
    let many = format!("HTTP/1.1 200 OK\r\n{}Content-Length: 0\r\n\r\n", "X: y\r\n".repeat(300));
    bad_gateway(&[long.as_bytes(), many.as_bytes(), b"HTTP/1.1 200 OK\r\nContent-Le", b""]);
}

/// The origin sends `head` and part of a body, then ends as `end` says; the
/// client must notice and the next request must go to the origin again.
#[track_caller]
fn broken_off(first: &'static [u8], reset: bool) {
    let origin = Origin::start(move |request, connection| {
        if request.number > 0 {
            return connection.send(reply(200, &["Cache-Control: max-age=60"], "whole"));
        }
        connection.send(first);
        if reset { connection.reset() } else { connection.close() }
    });
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    let read = client.send_request("GET", "/", &[], "").try_read();
    match &read {
        Err((_, Broken::Closed | Broken::Reset)) => {}
        Ok(response) if response.status == 502 => {}
        _ => panic!("looks complete: {read:?}"),
    }
    let second = forebay.get("/");
    assert_eq!(second.text(), "whole", "a broken response was stored");
    assert_eq!(origin.count(), 2);
}

#[test]
fn body_short_of_its_length_never_looks_complete() {
    broken_off(b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 10\r\n\r\nhello", false);
}

#[test]
fn body_short_of_its_length_by_reset_never_looks_complete() {
    broken_off(b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 10\r\n\r\nhello", true);
}

#[test]
fn chunks_without_the_last_never_look_complete() {
    broken_off(b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", false);
}

#[test]
fn chunk_cut_short_never_looks_complete() {
    broken_off(b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhello", false);
}

#[test]
fn last_chunk_without_its_end_never_looks_complete() {
    broken_off(b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", false);
}

#[test]
fn invalid_chunk_never_looks_complete() {
    broken_off(
        b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n\r\n",
        false,
    );
}

#[test]
fn invalid_chunk_end_never_looks_complete() {
    broken_off(
        b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloXX0\r\n\r\n",
        false,
    );
}

#[test]
fn reset_instead_of_the_closing_delimiter_never_looks_complete() {
    broken_off(b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n\r\nhello", true);
}

#[test]
fn broken_body_ends_a_http_1_0_client_by_reset() {
    let origin = Origin::start(|_, connection| {
        connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
        connection.close();
    });
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.send("GET / HTTP/1.0\r\nHost: a\r\n\r\n");
    // For this client a clean close would say that the body is whole.
    match client.try_read() {
        Err((_, Broken::Reset)) => {}
        Ok(response) if response.status == 502 => {}
        other => panic!("looks complete: {other:?}"),
    }
}

#[test]
fn broken_body_reaches_no_waiter_as_complete() {
    let (started, end) = (Event::new("both wait"), Event::new("end"));
    let (announce, gate) = (started.clone(), end.clone());
    let origin = Origin::start(move |request, connection| {
        if request.number > 0 {
            return connection.send(reply(200, &["Cache-Control: max-age=60"], "0123456789"));
        }
        connection.send("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 10\r\n\r\n01234");
        announce.set();
        gate.wait();
        connection.close();
    });
    let forebay = Forebay::before(&origin);
    let (mut one, mut two) = (forebay.client(), forebay.client());
    let mut first = one.send_request("GET", "/", &[], "").read_head();
    one.read_body(&mut first, 5);
    started.wait();
    let mut second = two.send_request("GET", "/", &[], "").read_head();
    two.read_body(&mut second, 5);
    end.set();
    for (client, response) in [(&mut one, &mut first), (&mut two, &mut second)] {
        let read = client.read_rest(response);
        assert!(read.is_err() || response.text() == "0123456789", "looks complete: {response:?}");
    }
    assert_eq!(forebay.get("/").text(), "0123456789");
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
    assert_eq!((again.is_hit(), again.text().as_str()), (true, "until the end"));
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
    assert_eq!((response.version.as_str(), response.text().as_str()), ("HTTP/1.1", "ancient"));
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
    let origin = Origin::fixed("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok");
    let forebay = Forebay::before(&origin);
    // The client's reader takes exactly one.
    let response = forebay.get("/");
    assert!(response.status == 502 || response.text() == "ok", "{response:?}");
}

/// Bytes behind a response must never be taken for the next one.
#[track_caller]
fn not_poisoned(first: &str, method: &str, more: &[&str]) {
    let poison = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison";
    let first = first.to_owned() + poison;
    let origin = Origin::start(move |request, connection| {
        if request.number == 0 { connection.send(&first) } else { connection.send(reply(200, &[], "clean")) }
    });
    let forebay = Forebay::start(&Config::to(&origin).cache("pass = true"));
    let mut client = forebay.client();
    client.send_request(method, "/1", more, "");
    let _ = client.try_read_for(method);
    for n in 2..4 {
        assert_eq!(forebay.get(&format!("/{n}")).text(), "clean");
    }
}

#[test]
fn bytes_behind_a_response_are_not_the_next_response() {
    not_poisoned(&reply(200, &[], "ok"), "GET", &[]);
}

#[test]
fn body_of_a_head_response_is_not_the_next_response() {
    not_poisoned("HTTP/1.1 200 OK\r\nContent-Length: 44\r\n\r\n", "HEAD", &[]);
}

#[test]
fn body_of_a_304_is_not_the_next_response() {
    not_poisoned("HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n", "GET", &["If-None-Match: \"a\""]);
}

#[test]
fn body_of_a_204_is_not_the_next_response() {
    not_poisoned("HTTP/1.1 204 No Content\r\n\r\n", "GET", &[]);
}

#[test]
fn bytes_behind_the_last_chunk_are_not_the_next_response() {
    not_poisoned("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "GET", &[]);
}

#[test]
fn answer_on_an_idle_connection_is_for_nobody() {
    let (idle, sent) = (Event::new("idle"), Event::new("sent"));
    let (gate, announce) = (idle.clone(), sent.clone());
    let origin = Origin::start(move |request, connection| {
        if request.number > 0 {
            return connection.send(reply(200, &[], "clean"));
        }
        connection.send(reply(200, &[], "first"));
        gate.wait();
        connection.send("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        connection.close();
        announce.set();
    });
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    assert_eq!(client.get("/1").text(), "first");
    idle.set();
    sent.wait();
    assert_eq!(client.get("/2").text(), "clean");
}

#[test]
fn no_content_with_framing_reaches_the_client_without() {
    let origin = Origin::fixed("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n");
    let forebay = Forebay::before(&origin);
    // RFC 9110 section 8.6: the field must not be sent in a 204; ours to repair or refuse.
    let response = forebay.get("/");
    assert!(matches!(response.status, 204 | 502), "{response:?}");
}
