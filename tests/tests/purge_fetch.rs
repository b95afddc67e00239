//! A purge that comes while an object is being fetched applies to that fetch too.

use forebay_tests::{Client, Event, Forebay, Origin, reply};

use crate::common::eventually;
use crate::disk;
use crate::purge::{open, purge};

const FIELDS: [&str; 2] = ["Cache-Control: max-age=600", "xkey: red"];

/// Purges that hit `/` with `FIELDS`.
const PURGES: [(&str, &[&str]); 4] = [
    ("PURGE", &[]),
    ("PURGE", &["xkey: red"]),
    ("BAN", &["X-Ban: url ~ ."]),
    ("PURGE", &["X-Magento-Tags-Pattern: .*"]),
];

/// Holds back the first response until `go`: wholly, or its second half.
fn held(go: Event, half: bool) -> Origin {
    Origin::start(move |request, connection| {
        let text = format!("answer {}", request.number);
        let answer = reply(200, &FIELDS, &text);
        if request.number > 0 {
            return connection.send(answer);
        }
        let sent = if half { answer.len() - 4 } else { 0 };
        connection.send(&answer[..sent]);
        go.wait();
        connection.send(&answer[sent..]);
    })
}

#[test]
fn purge_before_the_head_has_come() {
    for (method, fields) in PURGES {
        let go = Event::new("the purge was answered");
        let origin = held(go.clone(), false);
        let forebay = Forebay::start(&open(&origin));
        let mut client = forebay.client();
        client.send_request("GET", "/", &[], "");
        origin.wait_for(1);
        purge(&forebay, method, "/", fields);
        go.set();
        assert_eq!(client.read().text(), "answer 0", "it had asked before");
        let next = forebay.get("/");
        assert_eq!(next.text(), "answer 1", "{method} {fields:?}");
        assert!(forebay.get("/").is_hit(), "{method} {fields:?}");
    }
}

#[test]
fn purge_while_the_body_comes() {
    for (method, fields) in PURGES {
        let go = Event::new("the purge was answered");
        let origin = held(go.clone(), true);
        let forebay = Forebay::start(&open(&origin));
        let mut client = forebay.client();
        let mut response = client.send_request("GET", "/", &[], "").read_head();
        client.read_body(&mut response, 4);
        purge(&forebay, method, "/", fields);
        // Who asks now is not given what is still coming.
        assert_eq!(forebay.get("/").text(), "answer 1", "{method} {fields:?}");
        go.set();
        client.read_rest(&mut response).unwrap();
        assert_eq!(response.text(), "answer 0");
        let after = forebay.get("/");
        assert!(after.is_hit(), "{method} {fields:?}");
        assert_eq!(after.text(), "answer 1");
    }
}

#[test]
fn who_asks_after_the_purge_does_not_wait_for_the_fetch_before_it() {
    let go = Event::new("the second client has its answer");
    let origin = held(go.clone(), false);
    let forebay = Forebay::start(&open(&origin));
    let mut before = forebay.client();
    before.send_request("GET", "/", &[], "");
    origin.wait_for(1);
    purge(&forebay, "PURGE", "/", &[]);
    let mut after: Client = forebay.client();
    after.send_request("GET", "/", &[], "");
    assert_eq!(after.read().text(), "answer 1");
    go.set();
    assert_eq!(before.read().text(), "answer 0");
    assert_eq!(forebay.get("/").text(), "answer 1");
}

#[test]
fn who_asks_after_the_purge_gets_what_was_fetched_after_it() {
    for (method, fields) in PURGES {
        let go = Event::new("the second client has asked");
        let origin = held(go.clone(), false);
        let forebay = Forebay::start(&open(&origin));
        let mut before = forebay.client();
        before.send_request("GET", "/", &[], "");
        origin.wait_for(1);
        purge(&forebay, method, "/", fields);
        let mut after = forebay.client();
        after.send_request("GET", "/", &[], "");
        // Both and the purge; it may wait to see what the first one gets.
        forebay.wait_for_metric("forebay_requests_total", 3.0);
        go.set();
        assert_eq!(after.read().text(), "answer 1", "{method} {fields:?}");
        assert_eq!(before.read().text(), "answer 0");
        let next = forebay.get("/");
        assert!(next.is_hit(), "{method} {fields:?}: {next:?}");
        assert_eq!(next.text(), "answer 1");
    }
}

#[test]
fn large_object_that_is_going_to_disk_is_purged_too() {
    let go = Event::new("the purge was answered");
    let gate = go.clone();
    let origin = Origin::start(move |request, connection| {
        if request.number > 0 {
            return connection.send(reply(200, &FIELDS, "new"));
        }
        let text = disk::body_of("/a/4000000");
        let answer = reply(200, &FIELDS, &text);
        let (first, second) = answer.split_at(2_500_000);
        connection.send(first);
        gate.wait();
        connection.send(second);
    });
    let directory = disk::directory();
    let config = disk::config(&origin, &directory).set("purge", "allow = [\"127.0.0.1\"]");
    let mut forebay = Forebay::start(&config);
    let mut client = forebay.client();
    let mut response = client
        .send_request("GET", "/a/4000000", &[], "")
        .read_head();
    client.read_body(&mut response, 2_000_000);
    purge(&forebay, "PURGE", "/", &["xkey: red"]);
    go.set();
    client.read_rest(&mut response).unwrap();
    disk::whole(&response, "/a/4000000");
    assert_eq!(forebay.get("/a/4000000").text(), "new");
    forebay.stop();
    let forebay = Forebay::start(&config);
    eventually(|| forebay.get("/a/4000000").text() == "new");
    assert_eq!(forebay.get("/a/4000000").text(), "new");
}

#[test]
fn purge_while_a_stale_object_is_validated() {
    let go = Event::new("the purge was answered");
    let gate = go.clone();
    let origin = Origin::start(move |request, connection| match request.number {
        0 => connection.send(reply(
            200,
            &["Cache-Control: max-age=60", "Age: 100", "ETag: \"a\""],
            "old",
        )),
        1 => {
            gate.wait();
            connection.send(reply(
                304,
                &["Cache-Control: max-age=60", "ETag: \"a\""],
                "",
            ));
        }
        _ => connection.send(reply(
            200,
            &["Cache-Control: max-age=60", "ETag: \"b\""],
            "new",
        )),
    });
    let forebay = Forebay::start(&open(&origin));
    forebay.get("/");
    let mut client = forebay.client();
    client.send_request("GET", "/", &[], "");
    origin.wait_for(2);
    purge(&forebay, "PURGE", "/", &[]);
    go.set();
    client.read();
    let response = forebay.get("/");
    assert_eq!(
        response.text(),
        "new",
        "the 304 brought it back: {response:?}"
    );
}
