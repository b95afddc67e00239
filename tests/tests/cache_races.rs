//! What happens to an object while it is fetched, read or replaced.

use forebay_tests::{Config, Event, Forebay, Origin, reply};

use crate::common::{STALE, eventually, numbered};

#[test]
fn fetch_that_began_before_an_invalidation_is_not_kept() {
    let go = Event::new("the PUT was answered");
    let gate = go.clone();
    let origin = Origin::start(move |request, connection| {
        if request.method == "GET" && request.number == 0 {
            gate.wait();
            return connection.send(reply(200, &["Cache-Control: max-age=600"], "old"));
        }
        connection.send(reply(200, &["Cache-Control: max-age=600"], "new"));
    });
    let forebay = Forebay::before(&origin);
    let mut reader = forebay.client();
    reader.send_request("GET", "/", &[], "");
    origin.wait_for(1);
    assert_eq!(forebay.exchange("PUT", "/", &[], "new").status, 200);
    go.set();
    assert_eq!(reader.read().text(), "old");
    assert_eq!(
        forebay.get("/").text(),
        "new",
        "the old answer outlived the PUT"
    );
}

#[test]
fn invalidation_by_group_reaches_a_fetch_under_way() {
    let go = Event::new("the POST was answered");
    let gate = go.clone();
    let origin =
        Origin::start(
            move |request, connection| match (request.method.as_str(), request.number) {
                ("GET", 0) => {
                    gate.wait();
                    connection.send(reply(
                        200,
                        &["Cache-Control: max-age=600", "Cache-Groups: \"g\""],
                        "old",
                    ));
                }
                ("GET", _) => connection.send(reply(200, &["Cache-Control: max-age=600"], "new")),
                _ => connection.send(reply(200, &["Cache-Group-Invalidation: \"g\""], "")),
            },
        );
    let forebay = Forebay::before(&origin);
    let mut reader = forebay.client();
    reader.send_request("GET", "/", &[], "");
    origin.wait_for(1);
    forebay.exchange("POST", "/other", &[], "x");
    go.set();
    reader.read();
    assert_eq!(
        forebay.get("/").text(),
        "new",
        "it was asked before the invalidation"
    );
}

#[test]
fn reader_of_an_old_version_gets_it_whole() {
    let old = "o".repeat(8 << 20);
    let body = old.clone();
    let origin = Origin::start(move |request, connection| {
        let text = if request.number == 0 {
            body.as_str()
        } else {
            "new"
        };
        connection.send(reply(200, &["Cache-Control: max-age=600"], text));
    });
    let forebay = Forebay::start(&Config::to(&origin).cache("max_object = \"16MiB\""));
    forebay.get("/");
    let mut slow = forebay.client();
    let mut response = slow.send_request("GET", "/", &[], "").read_head();
    forebay.exchange("PUT", "/", &[], "x");
    assert!(
        forebay
            .get_with("/", &["Cache-Control: no-cache"])
            .text()
            .starts_with('n')
    );
    slow.read_rest(&mut response).unwrap();
    assert!(
        response.text() == old,
        "another body of {} bytes",
        response.body.len()
    );
}

#[test]
fn range_of_a_growing_object_is_answered_as_it_comes() {
    let go = Event::new("the range was read");
    let gate = go.clone();
    let origin = Origin::start(move |request, connection| {
        let fields = "Cache-Control: max-age=600\r\nETag: \"a\"\r\n";
        if request.field("range").is_some() {
            let head = format!(
                "HTTP/1.1 206 Part\r\n{fields}Content-Range: bytes 2-4/10\r\nContent-Length: 3\r\n\r\n234"
            );
            return connection.send(head);
        }
        connection.send(format!(
            "HTTP/1.1 200 OK\r\n{fields}Content-Length: 10\r\n\r\n012345"
        ));
        gate.wait();
        connection.send("6789");
    });
    let forebay = Forebay::before(&origin);
    let mut first = forebay.client();
    let mut whole = first.send_request("GET", "/", &[], "").read_head();
    first.read_body(&mut whole, 6);
    let part = forebay.get_with("/", &["Range: bytes=2-4"]);
    assert_eq!((part.status, part.text().as_str()), (206, "234"));
    let mut last = forebay.client();
    last.send_request("GET", "/", &["Range: bytes=8-9"], "");
    go.set();
    first.read_rest(&mut whole).unwrap();
    assert_eq!(whole.text(), "0123456789");
    let response = last.read();
    // The origin of this story knows one range only.
    assert!(response.status == 206, "{response:?}");
}

#[test]
fn http_1_0_client_follows_a_growing_object() {
    let go = Event::new("it has the first half");
    let gate = go.clone();
    let origin = Origin::start(move |_, connection| {
        connection.send("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n");
        gate.wait();
        connection.send("5\r\n56789\r\n0\r\n\r\n");
    });
    let forebay = Forebay::before(&origin);
    let mut leader = forebay.client();
    let mut one = leader.send_request("GET", "/", &[], "").read_head();
    leader.read_body(&mut one, 5);
    let mut old = forebay.client();
    let mut two = old
        .send("GET / HTTP/1.0\r\nHost: test.example\r\n\r\n")
        .read_head();
    old.read_body(&mut two, 5);
    go.set();
    old.read_rest(&mut two).unwrap();
    assert_eq!(two.text(), "0123456789");
    assert_eq!(origin.count(), 1);
}

#[test]
fn conditional_waiters_get_304_of_the_one_fetch() {
    let go = Event::new("both have asked");
    let gate = go.clone();
    let origin = Origin::start(move |request, connection| {
        gate.wait();
        let fields = ["Cache-Control: max-age=60", "ETag: \"a\""];
        match request.field("if-none-match") {
            Some("\"a\"") => connection.send(reply(304, &fields, "")),
            _ => connection.send(reply(200, &fields, "whole")),
        }
    });
    let forebay = Forebay::before(&origin);
    let (mut plain, mut conditional) = (forebay.client(), forebay.client());
    plain.send_request("GET", "/", &[], "");
    origin.wait_for(1);
    conditional.send_request("GET", "/", &["If-None-Match: \"a\""], "");
    forebay.wait_for_metric("forebay_requests_total", 2.0);
    go.set();
    assert_eq!(plain.read().text(), "whole");
    assert_eq!(conditional.read().status, 304);
}

#[test]
fn conditional_leader_leaves_no_304_for_others() {
    let go = Event::new("both have asked");
    let gate = go.clone();
    let origin = Origin::start(move |request, connection| {
        gate.wait();
        let fields = ["Cache-Control: max-age=60", "ETag: \"a\""];
        match request.field("if-none-match") {
            Some("\"a\"") => connection.send(reply(304, &fields, "")),
            _ => connection.send(reply(200, &fields, "whole")),
        }
    });
    let forebay = Forebay::before(&origin);
    let (mut conditional, mut plain) = (forebay.client(), forebay.client());
    conditional.send_request("GET", "/", &["If-None-Match: \"a\""], "");
    origin.wait_for(1);
    plain.send_request("GET", "/", &[], "");
    forebay.wait_for_metric("forebay_requests_total", 2.0);
    go.set();
    assert_eq!(conditional.read().status, 304);
    assert_eq!(plain.read().text(), "whole");
}

#[test]
fn waiters_behind_a_failing_validation_get_stale_answers_together() {
    let go = Event::new("all have asked");
    let gate = go.clone();
    let origin = Origin::start(move |request, connection| {
        if request.number == 0 {
            let fields = [
                "Cache-Control: max-age=60, stale-if-error=3600",
                STALE,
                "ETag: \"a\"",
            ];
            return connection.send(reply(200, &fields, "old"));
        }
        gate.wait();
        connection.send(reply(503, &[], "down"));
    });
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    let mut clients: Vec<_> = (0..8).map(|_| forebay.client()).collect();
    for client in &mut clients {
        client.send_request("GET", "/", &[], "");
    }
    forebay.wait_for_metric("forebay_requests_total", 9.0);
    go.set();
    for client in &mut clients {
        assert_eq!(client.read().text(), "old");
    }
}

#[test]
fn confirmation_with_another_tag_keeps_the_tag_that_was_asked_about() {
    let origin = Origin::start(|request, connection| match request.number {
        0 => connection.send(reply(
            200,
            &["Cache-Control: max-age=60", STALE, "ETag: \"v1\""],
            "one",
        )),
        1 => connection.send(reply(
            304,
            &["Cache-Control: max-age=600", "ETag: \"v2\""],
            "",
        )),
        _ => panic!("the object is fresh again"),
    });
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    // Only one tag was asked about, so the 304 can mean no other object (the public suite asks
    // for the same); what it says of itself does not become what we say of our body.
    for _ in 0..2 {
        let response = forebay.get("/");
        assert_eq!(response.text(), "one");
        assert_eq!(response.field("etag"), Some("\"v1\""));
    }
}

#[test]
fn date_of_a_hit_is_the_stored_one() {
    let date = "Date: Sun, 06 Nov 1994 08:49:37 GMT";
    let origin = numbered(&["Cache-Control: max-age=4000000000", date]);
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    let hit = forebay.get("/");
    assert!(hit.is_hit());
    assert_eq!(hit.fields.joined("date"), &date[6..]);
}

#[test]
fn object_evicted_while_it_is_read_is_read_to_its_end() {
    let body = "x".repeat(3 << 20);
    let text = body.clone();
    let origin = Origin::start(move |_, connection| {
        connection.send(reply(200, &["Cache-Control: max-age=600"], &text));
    });
    let config = Config::to(&origin)
        .cache("memory = \"8MiB\"")
        .cache("max_object = \"4MiB\"");
    let forebay = Forebay::start(&config);
    forebay.get("/read");
    let mut slow = forebay.client();
    let mut response = slow.send_request("GET", "/read", &[], "").read_head();
    for n in 0..8 {
        forebay.get(&format!("/{n}"));
    }
    slow.read_rest(&mut response).unwrap();
    assert!(response.text() == body);
}

#[test]
fn memory_of_a_fetch_that_broke_off_is_given_back() {
    let origin = Origin::start(|_, connection| {
        connection.send(
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 2000000\r\n\r\n",
        );
        connection.send("x".repeat(1_000_000));
        connection.close();
    });
    let forebay = Forebay::before(&origin);
    let before = forebay.metric("forebay_cache_memory_bytes").unwrap();
    for n in 0..10 {
        let read = forebay
            .client()
            .send_request("GET", &format!("/{n}"), &[], "")
            .try_read();
        assert!(read.is_err() || read.is_ok_and(|r| r.status == 502));
    }
    // A worker frees a body when its last reader has gone.
    eventually(|| forebay.metric("forebay_cache_memory_bytes").unwrap() < before + 1_000_000.0);
    assert_eq!(forebay.metric("forebay_cache_objects"), Some(0.0));
}
