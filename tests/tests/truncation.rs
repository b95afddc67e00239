//! What an origin leaves unfinished is never finished for it, and never stored.

use forebay_tests::{Broken, Event, Forebay, Origin, reply};

/// The origin sends `head` and part of a body, then ends as `end` says; the
/// client must notice and the next request must go to the origin again.
#[track_caller]
fn broken_off(first: &'static [u8], reset: bool) {
    let origin = Origin::start(move |request, connection| {
        if request.number > 0 {
            return connection.send(reply(200, &["Cache-Control: max-age=60"], "whole"));
        }
        connection.send(first);
        if reset {
            connection.reset()
        } else {
            connection.close()
        }
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
    broken_off(
        b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 10\r\n\r\nhello",
        false,
    );
}

#[test]
fn body_short_of_its_length_by_reset_never_looks_complete() {
    broken_off(
        b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 10\r\n\r\nhello",
        true,
    );
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
    broken_off(
        b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n\r\nhello",
        true,
    );
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
        connection.send(
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 10\r\n\r\n01234",
        );
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
        assert!(
            read.is_err() || response.text() == "0123456789",
            "looks complete: {response:?}"
        );
    }
    assert_eq!(forebay.get("/").text(), "0123456789");
}
