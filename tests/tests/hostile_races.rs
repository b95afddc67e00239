//! What one client's request, or its leaving, may cost the others and the
//! origin while fetches, changes and the end of the program overlap.

use forebay_tests::{Address, Client, Config, Event, Forebay, Origin, reply};
use rustix::process::Signal;

use crate::common::{STALE, eventually, is_fresh_for};

const FRESH: &str = "Cache-Control: max-age=600";

#[test]
fn request_that_must_not_be_stored_does_not_send_the_others_to_the_origin() {
    let go = Event::new("all have asked");
    let gate = go.clone();
    let origin = Origin::start(move |request, connection| {
        if request.number == 0 {
            gate.wait();
        }
        connection.send(reply(200, &[FRESH], "x"));
    });
    let forebay = Forebay::before(&origin);
    let mut clients: Vec<Client> = (0..9).map(|_| forebay.client()).collect();
    clients[0].send_request("GET", "/", &["Cache-Control: no-store"], "");
    origin.wait_for(1);
    for client in &mut clients[1..] {
        client.send_request("GET", "/", &[], "");
    }
    forebay.wait_for_metric("forebay_requests_total", 9.0);
    go.set();
    for client in &mut clients {
        assert_eq!(client.read().text(), "x");
    }
    assert_eq!(origin.count(), 2);
    assert!(forebay.get("/").is_hit());
}

#[test]
fn head_of_a_stale_object_fetches_it_anew_for_all() {
    let stale = "Cache-Control: max-age=60, stale-while-revalidate=36000";
    let origin = Origin::start(move |request, connection| {
        let fields = [stale, STALE];
        let fields = &fields[..if request.number == 0 { 2 } else { 1 }];
        if request.method == "HEAD" {
            return connection.send(format!(
                "HTTP/1.1 200 OK\r\n{stale}\r\nContent-Length: 2\r\n\r\n"
            ));
        }
        connection.send(reply(200, fields, &format!("n{}", request.number)));
    });
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    assert!(forebay.exchange("HEAD", "/", &[], "").is_hit());
    assert_eq!(origin.wait_for(2)[1].method, "GET");
    eventually(|| is_fresh_for(&forebay.get("/"), 60));
    assert_eq!(forebay.get("/").text(), "n1");
    assert_eq!(origin.count(), 2);
}

#[test]
fn waiters_for_what_is_validated_each_time_do_not_queue_behind_each_other() {
    let (first, rest) = (Event::new("all have asked"), Event::new("all came by"));
    let (gate, behind) = (first.clone(), rest.clone());
    let origin = Origin::start(move |request, connection| {
        let fields = ["ETag: \"a\"", "Cache-Control: no-cache"];
        match request.number {
            0 => gate.wait(),
            _ => behind.wait(),
        }
        match request.field("if-none-match") {
            Some(_) => connection.send(reply(304, &fields, "")),
            None => connection.send(reply(200, &fields, "x")),
        }
    });
    let forebay = Forebay::before(&origin);
    let mut clients: Vec<Client> = (0..6).map(|_| forebay.client()).collect();
    for client in &mut clients {
        client.send_request("GET", "/", &[], "");
    }
    forebay.wait_for_metric("forebay_requests_total", 6.0);
    first.set();
    origin.wait_for(6);
    rest.set();
    for client in &mut clients {
        assert_eq!(client.read().text(), "x");
    }
}

#[test]
fn change_during_a_validation_is_not_forgotten() {
    let go = Event::new("the POST was answered");
    let gate = go.clone();
    let origin = Origin::start(move |request, connection| {
        let fields = ["ETag: \"a\"", FRESH, STALE];
        match (request.method.as_str(), request.number) {
            ("GET", 0) => connection.send(reply(200, &fields, "old")),
            ("GET", 1) => {
                gate.wait();
                connection.send(reply(304, &fields[..2], ""));
            }
            _ => connection.send(reply(200, &[FRESH, "ETag: \"b\""], "new")),
        }
    });
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    let mut reader = forebay.client();
    reader.send_request("GET", "/", &[], "");
    origin.wait_for(2);
    assert_eq!(forebay.exchange("POST", "/", &[], "x").status, 200);
    go.set();
    reader.read();
    assert_eq!(forebay.get("/").text(), "new");
}

#[test]
fn who_comes_after_a_change_does_not_get_what_was_fetched_before_it() {
    let go = Event::new("the second reader asked");
    let gate = go.clone();
    let origin = Origin::start(move |request, connection| {
        if request.number == 0 {
            gate.wait();
            return connection.send(reply(200, &[FRESH], "old"));
        }
        connection.send(reply(200, &[FRESH], "new"));
    });
    let forebay = Forebay::before(&origin);
    let (mut before, mut after) = (forebay.client(), forebay.client());
    before.send_request("GET", "/", &[], "");
    origin.wait_for(1);
    forebay.exchange("POST", "/", &[], "x");
    after.send_request("GET", "/", &[], "");
    forebay.wait_for_metric("forebay_requests_total", 3.0);
    go.set();
    assert_eq!(after.read().text(), "new");
    before.read();
    assert_eq!(forebay.get("/").text(), "new");
}

#[test]
fn refresh_downloads_nothing_that_nobody_gets() {
    let left = Event::new("the connection was closed");
    let announce = left.clone();
    let origin = Origin::start(move |request, connection| {
        if request.number == 0 {
            let fields = [
                "Cache-Control: max-age=60, stale-while-revalidate=36000",
                STALE,
            ];
            return connection.send(reply(200, &fields, "old"));
        }
        connection.send(
            "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 9000000000\r\n\r\nx",
        );
        connection.read_to_end();
        announce.set();
    });
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    assert_eq!(forebay.get("/").text(), "old");
    left.wait();
}

#[test]
fn draining_waits_for_bodies_that_other_workers_fetch() {
    // Which worker a connection falls to is the kernel's choice: in one of a few tries, two.
    (0..6).for_each(|_| drain_under_a_follower());
}

/// The client that a body is fetched for leaves, another follows it, and the program is ended.
fn drain_under_a_follower() {
    let (left, draining) = (Event::new("the first left"), Event::new("draining"));
    let (second, third) = (left.clone(), draining.clone());
    let origin = Origin::start(move |_, connection| {
        connection.send(format!(
            "HTTP/1.1 200 OK\r\n{FRESH}\r\nContent-Length: 10\r\n\r\n01234"
        ));
        second.wait();
        connection.send("5");
        third.wait();
        connection.send("6789");
    });
    let config = Config::to(&origin)
        .set("server", "workers = 2")
        .set("server", "drain_timeout = \"8s\"");
    let forebay = Forebay::start(&config);
    let (mut first, mut follower) = (forebay.client(), forebay.client());
    let mut response = first.send_request("GET", "/", &[], "").read_head();
    first.read_body(&mut response, 5);
    let mut response = follower.send_request("GET", "/", &[], "").read_head();
    follower.read_body(&mut response, 5);
    first.reset();
    // The next byte for it shows that it is gone.
    left.set();
    follower.read_body(&mut response, 6);
    eventually(|| forebay.metric("forebay_connections") == Some(1.0));
    forebay.signal(Signal::TERM);
    let Address::Tcp(address) = &forebay.addresses[0] else {
        unreachable!()
    };
    eventually(|| std::net::TcpStream::connect(address).is_err());
    draining.set();
    follower.read_rest(&mut response).unwrap();
    assert_eq!(response.text(), "0123456789");
}
