//! Bytes behind a response are never the next response.

use forebay_tests::{Config, Event, Forebay, Origin, reply};

/// Bytes behind a response must never be taken for the next one.
#[track_caller]
fn not_poisoned(first: &str, method: &str, more: &[&str]) {
    let poison = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison";
    let first = first.to_owned() + poison;
    let origin = Origin::start(move |request, connection| {
        if request.number == 0 {
            connection.send(&first)
        } else {
            connection.send(reply(200, &[], "clean"))
        }
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
    not_poisoned(
        "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n",
        "GET",
        &["If-None-Match: \"a\""],
    );
}

#[test]
fn body_of_a_204_is_not_the_next_response() {
    not_poisoned("HTTP/1.1 204 No Content\r\n\r\n", "GET", &[]);
}

#[test]
fn bytes_behind_the_last_chunk_are_not_the_next_response() {
    not_poisoned(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        "GET",
        &[],
    );
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
        connection
            .send("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
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
