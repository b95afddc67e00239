//! When a connection, to either side, must not carry another message
//! (RFC 9112 section 9).

use forebay_tests::{Broken, Config, Event, Forebay, Origin, reply};

#[test]
fn requests_behind_connection_close_are_not_answered() {
    let origin =
        Origin::start(|request, connection| connection.send(reply(200, &[], &request.target)));
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.send(
        "GET /1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nPOST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
    );
    assert_eq!(client.read().text(), "/1");
    client.expect_close();
    drop(forebay);
    assert_eq!(origin.count(), 1, "{:?}", origin.requests());
}

#[test]
fn origin_that_says_close_and_stays_is_not_asked_there_again() {
    let origin = Origin::fixed(reply(200, &["Connection: close"], "x"));
    let forebay = Forebay::before(&origin);
    forebay.get("/1");
    forebay.get("/2");
    assert_eq!(origin.connections(), 2);
}

#[test]
fn http_1_0_origin_is_not_asked_there_again_unless_it_offers() {
    let origin = Origin::fixed("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx");
    let forebay = Forebay::before(&origin);
    assert_eq!(forebay.get("/1").text(), "x");
    assert_eq!(forebay.get("/2").text(), "x");
    assert_eq!(origin.connections(), 2);
}

#[test]
fn connection_with_half_an_upload_carries_no_other_request() {
    // The origin answers at once, whole and with keep-alive, and reads on; its reader is strict.
    let origin = Origin::raw(|connection| {
        while let Ok(mut request) = connection.request_head() {
            connection.send(reply(200, &[], &request.target));
            if connection.request_body(&mut request).is_err() {
                return;
            }
            connection.record(request);
        }
    });
    let forebay = Forebay::before(&origin);
    let mut uploader = forebay.client();
    uploader.send("POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nhalf");
    assert_eq!(uploader.read().text(), "/up");
    for n in 0..3 {
        assert_eq!(forebay.get(&format!("/{n}")).text(), format!("/{n}"));
    }
    drop(uploader);
    assert_eq!(forebay.get("/after").text(), "/after");
}

#[test]
fn upload_that_was_begun_is_not_repeated_on_another_connection() {
    let origin = Origin::raw(|connection| {
        if connection.number > 0 {
            while connection.request().is_ok() {
                connection.send(reply(200, &[], "second"));
            }
            return;
        }
        if connection.request().is_err() {
            return;
        }
        connection.send(reply(200, &[], "first"));
        // The second request on this connection: its head and a little are read, then the end.
        if connection.request_head().is_ok() {
            let _ = connection.read_bytes(4);
        }
        connection.close();
    });
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    assert_eq!(client.get("/1").text(), "first");
    client.send("POST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\nhalf");
    let response = client.try_read();
    assert!(
        !response.is_ok_and(|r| r.text() == "second"),
        "half an upload was repeated"
    );
}

#[test]
fn abandoned_response_body_is_not_left_on_a_reused_connection() {
    let release = Event::new("release");
    let gate = release.clone();
    let origin = Origin::start(move |request, connection| {
        if request.target != "/abandoned" {
            return connection.send(reply(200, &[], &request.target));
        }
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n0123456789");
        gate.wait();
        connection.send("HTTP/1.1 9");
    });
    let forebay = Forebay::start(&Config::to(&origin).cache("pass = true"));
    let mut client = forebay.client();
    let mut response = client
        .send_request("GET", "/abandoned", &[], "")
        .read_head();
    client.read_body(&mut response, 10);
    client.reset();
    release.set();
    for n in 0..3 {
        assert_eq!(forebay.get(&format!("/{n}")).text(), format!("/{n}"));
    }
}

#[test]
fn error_answer_of_our_own_keeps_the_connection_in_step() {
    let origin = Origin::start(|request, connection| match request.target.as_str() {
        "/bad" => {
            connection.send("nonsense\r\n\r\n");
            connection.close();
        }
        target => connection.send(reply(200, &[], target)),
    });
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /bad HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.read().text(), "/1");
    assert_eq!(client.read().status, 502);
    match client.try_read() {
        Ok(next) => assert_eq!(next.text(), "/2"),
        Err((None, Broken::Closed | Broken::Reset)) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn error_answer_to_an_upload_does_not_take_its_body_for_a_request() {
    let origin = Origin::start(|_, connection| connection.close());
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    let smuggled = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
    client.send(format!(
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{smuggled}",
        smuggled.len()
    ));
    assert_eq!(client.read().status, 502);
    client.finish();
    let (bytes, _) = client.read_to_end();
    assert!(bytes.is_empty(), "{}", String::from_utf8_lossy(&bytes));
    drop(forebay);
    assert!(
        origin
            .requests()
            .iter()
            .all(|request| request.method == "POST")
    );
}
