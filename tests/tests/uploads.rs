//! Bodies of requests beyond the plain ones: expected, refused, broken off.

use forebay_tests::{Broken, Config, Forebay, Origin, reply};

#[test]
fn expectation_is_met_before_the_body_is_sent() {
    let origin = Origin::raw(|connection| {
        while let Ok(mut request) = connection.request_head() {
            if request.field("expect").is_some() {
                connection.send("HTTP/1.1 100 Continue\r\n\r\n");
            }
            if connection.request_body(&mut request).is_err() {
                return;
            }
            connection.record(request);
            connection.send(reply(200, &[], "got it"));
        }
    });
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
    assert_eq!(client.read_any_head().status, 100);
    client.send("body");
    assert_eq!(client.read().text(), "got it");
    assert_eq!(origin.last().body, b"body");
}

#[test]
fn expectation_with_a_body_that_is_there_already_works() {
    let origin = Origin::fixed(reply(200, &[], "got it"));
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.send(
        "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 4\r\n\r\nbody",
    );
    assert_eq!(client.read().text(), "got it");
    assert_eq!(client.get("/next").text(), "got it");
}

#[test]
fn final_answer_instead_of_continue_spares_the_body() {
    let origin = Origin::raw(|connection| {
        if let Ok(request) = connection.request_head() {
            connection.record(request);
            connection.send(reply(401, &["Connection: close"], "no"));
            connection.close();
        }
    });
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.send(
        "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1000000\r\n\r\n",
    );
    let response = client.read();
    assert_eq!((response.status, response.text().as_str()), (401, "no"));
}

#[test]
fn expectation_of_a_http_1_0_client_is_ignored() {
    let origin = Origin::fixed(reply(200, &[], "got it"));
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    // RFC 9110 section 10.1.1
    client.send(
        "POST / HTTP/1.0\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\nbody",
    );
    let response = client.read();
    assert_eq!((response.status, response.interim.len()), (200, 0));
}

#[test]
fn unknown_expectation_is_refused_or_passed_on() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let forebay = Forebay::before(&origin);
    let response = forebay.get_with("/", &["Expect: miracles"]);
    assert!(matches!(response.status, 200 | 417), "{response:?}");
}

#[test]
fn answer_before_the_end_of_the_upload_reaches_the_client() {
    let origin = Origin::raw(|connection| {
        let Ok(request) = connection.request_head() else {
            return;
        };
        connection.record(request);
        connection.send(reply(403, &["Connection: close"], "enough"));
        connection.read_to_end();
    });
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nonly a part");
    let response = client.read();
    assert_eq!((response.status, response.text().as_str()), (403, "enough"));
    // The rest of the body cannot be told from a next request, unless it is read to its end.
    client.send_anyway(vec![b'x'; 1_000_000 - "only a part".len()]);
    match client
        .send_anyway("GET /next HTTP/1.1\r\nHost: a\r\n\r\n")
        .try_read()
    {
        Ok(next) => assert_eq!(next.status, 403),
        Err((None, Broken::Closed | Broken::Reset)) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn body_larger_than_the_limit_is_refused_by_its_length() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let forebay = Forebay::start(&Config::to(&origin).set("limits", "request_body = \"1KiB\""));
    let mut client = forebay.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1025\r\n\r\n");
    assert_eq!(client.read().status, 413);
    client.expect_close();
    assert_eq!(origin.count(), 0);
    let whole = "x".repeat(1024);
    assert_eq!(forebay.exchange("POST", "/", &[], &whole).status, 200);
}

#[test]
fn chunked_body_larger_than_the_limit_is_refused_when_it_shows() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let forebay = Forebay::start(&Config::to(&origin).set("limits", "request_body = \"1KiB\""));
    let mut client = forebay.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    for _ in 0..5 {
        client.send_anyway(format!("100\r\n{}\r\n", "x".repeat(256)));
    }
    client.send_anyway("0\r\n\r\n");
    assert_eq!(client.read().status, 413);
    client.expect_close();
    drop(forebay);
    assert_eq!(origin.count(), 0, "the origin took it for complete");
}

#[test]
fn client_that_leaves_in_its_upload_completes_nothing() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let forebay = Forebay::before(&origin);
    for upload in [
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
    ] {
        let mut client = forebay.client();
        client.send(upload);
        drop(client);
    }
    assert_eq!(forebay.get("/").status, 200);
    drop(forebay);
    assert_eq!(origin.count(), 1, "{:?}", origin.requests());
}

#[test]
fn get_with_a_body_passes_it_on_and_is_not_answered_from_the_cache() {
    let origin = Origin::fixed(reply(200, &["Cache-Control: max-age=60"], "x"));
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    let first = client.exchange("GET", "/", &[], "question");
    assert_eq!(first.status, 200);
    assert_eq!(origin.last().body, b"question");
    assert_eq!(client.get("/").status, 200);
}

#[test]
fn post_without_a_body_says_so_to_the_origin() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let forebay = Forebay::before(&origin);
    forebay
        .client()
        .exchange("POST", "/", &["Content-Length: 0"], "");
    // RFC 9110 section 8.6
    assert_eq!(origin.last().field("content-length"), Some("0"));
}
