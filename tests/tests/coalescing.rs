//! One fetch per key: who waits, who streams, who goes alone.

use forebay_tests::{Client, Config, Event, Forebay, Origin, reply};

use crate::common::eventually;

pub(crate) const HEAD: &str =
    "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 10\r\n\r\n";

/// `count` clients that have sent the same request.
pub(crate) fn crowd(forebay: &Forebay, count: usize, fields: &[&str]) -> Vec<Client> {
    let mut clients: Vec<Client> = (0..count).map(|_| forebay.client()).collect();
    for client in &mut clients {
        client.send_request("GET", "/", fields, "");
    }
    clients
}

/// Waits until all of `count` requests have reached the program: they are
/// heads in its sockets before, and requests in its counters after.
pub(crate) fn taken(forebay: &Forebay, count: usize) {
    forebay.wait_for_metric("forebay_requests_total", count as f64);
}

#[test]
fn many_clients_cause_one_fetch() {
    for workers in ["workers = 1", "workers = 2"] {
        let go = Event::new("all have asked");
        let gate = go.clone();
        let origin = Origin::start(move |_, connection| {
            gate.wait();
            connection.send(format!("{HEAD}0123456789"));
        });
        let forebay = Forebay::start(&Config::to(&origin).set("server", workers));
        let mut clients = crowd(&forebay, 50, &[]);
        taken(&forebay, 50);
        go.set();
        let responses: Vec<_> = clients.iter_mut().map(Client::read).collect();
        assert!(
            responses
                .iter()
                .all(|response| response.text() == "0123456789")
        );
        let collapsed = responses
            .iter()
            .filter(|response| response.cache_status().collapsed)
            .count();
        assert_eq!((origin.count(), collapsed), (1, 49), "{workers}");
    }
}

#[test]
fn waiters_stream_the_body_as_it_grows() {
    let go = Event::new("the second client has the first half");
    let gate = go.clone();
    let origin = Origin::start(move |_, connection| {
        connection.send(format!("{HEAD}01234"));
        gate.wait();
        connection.send("56789");
    });
    let forebay = Forebay::before(&origin);
    let mut first = forebay.client();
    let mut one = first.send_request("GET", "/", &[], "").read_head();
    first.read_body(&mut one, 5);
    let mut second = forebay.client();
    let mut two = second.send_request("GET", "/", &[], "").read_head();
    second.read_body(&mut two, 5);
    assert_eq!(two.text(), "01234");
    go.set();
    first.read_rest(&mut one).unwrap();
    second.read_rest(&mut two).unwrap();
    assert_eq!(
        (one.text(), two.text()),
        ("0123456789".into(), "0123456789".into())
    );
    assert_eq!(origin.count(), 1);
}

#[test]
fn waiters_of_a_chunked_response_stream_it_too() {
    let go = Event::new("the second client has the first half");
    let gate = go.clone();
    let origin = Origin::start(move |_, connection| {
        connection.send("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n");
        gate.wait();
        connection.send("5\r\n56789\r\n0\r\n\r\n");
    });
    let forebay = Forebay::before(&origin);
    let mut clients = crowd(&forebay, 3, &[]);
    let mut responses: Vec<_> = clients.iter_mut().map(Client::read_head).collect();
    clients
        .iter_mut()
        .zip(&mut responses)
        .for_each(|(client, response)| client.read_body(response, 5));
    go.set();
    for (client, response) in clients.iter_mut().zip(&mut responses) {
        client.read_rest(response).unwrap();
        assert_eq!(response.text(), "0123456789");
    }
    assert_eq!(origin.count(), 1);
}

#[test]
fn slow_reader_does_not_hold_up_the_others() {
    // More than the kernel's buffers take.
    let body = "x".repeat(12 << 20);
    let origin = Origin::fixed(reply(200, &["Cache-Control: max-age=60"], &body));
    let config = Config::to(&origin)
        .cache("memory = \"64MiB\"")
        .cache("max_object = \"16MiB\"");
    let forebay = Forebay::start(&config);
    let mut slow = forebay.client();
    let mut head = slow.send_request("GET", "/", &[], "").read_head();
    // The slow one has its head and reads no further.
    assert_eq!(forebay.get("/").body.len(), body.len());
    slow.read_rest(&mut head).unwrap();
    assert_eq!((head.body.len(), origin.count()), (body.len(), 1));
}

#[test]
fn leader_that_leaves_does_not_end_the_fetch() {
    let go = Event::new("the leader has left");
    let gate = go.clone();
    let origin = Origin::start(move |_, connection| {
        connection.send(format!("{HEAD}01234"));
        gate.wait();
        connection.send("56789");
    });
    let forebay = Forebay::before(&origin);
    let mut leader = forebay.client();
    let mut head = leader.send_request("GET", "/", &[], "").read_head();
    leader.read_body(&mut head, 5);
    let mut waiter = forebay.client();
    let mut followed = waiter.send_request("GET", "/", &[], "").read_head();
    leader.reset();
    go.set();
    waiter.read_rest(&mut followed).unwrap();
    assert_eq!(followed.text(), "0123456789");
    assert!(forebay.get("/").is_hit());
    assert_eq!(origin.count(), 1);
}

#[test]
fn leader_that_leaves_before_the_head_does_not_end_the_fetch() {
    let go = Event::new("the leader has left");
    let gate = go.clone();
    let origin = Origin::start(move |_, connection| {
        gate.wait();
        connection.send(format!("{HEAD}0123456789"));
    });
    let forebay = Forebay::before(&origin);
    let mut leader = forebay.client();
    leader.send_request("GET", "/", &[], "");
    origin.wait_for(1);
    let mut waiter = forebay.client();
    waiter.send_request("GET", "/", &[], "");
    taken(&forebay, 2);
    leader.reset();
    go.set();
    assert_eq!(waiter.read().text(), "0123456789");
    assert_eq!(origin.count(), 1);
}

#[test]
fn fetch_worth_storing_goes_on_when_nobody_is_left() {
    let go = Event::new("the only client has left");
    let gate = go.clone();
    let origin = Origin::start(move |_, connection| {
        connection.send(format!("{HEAD}01234"));
        gate.wait();
        connection.send("56789");
    });
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    let mut head = client.send_request("GET", "/", &[], "").read_head();
    client.read_body(&mut head, 5);
    client.reset();
    go.set();
    eventually(|| forebay.get("/").is_hit());
    assert_eq!(origin.count(), 1);
}

#[test]
fn range_waiters_get_their_part_of_the_one_fetch() {
    let go = Event::new("all have asked");
    let gate = go.clone();
    let origin = Origin::start(move |request, connection| {
        gate.wait();
        match request.field("range") {
            Some("bytes=2-4") => {
                let fields = [
                    "Cache-Control: max-age=60",
                    "ETag: \"a\"",
                    "Content-Range: bytes 2-4/10",
                ];
                connection.send(reply(206, &fields, "234"));
            }
            _ => connection.send(reply(
                200,
                &["Cache-Control: max-age=60", "ETag: \"a\""],
                "0123456789",
            )),
        }
    });
    let forebay = Forebay::before(&origin);
    let mut whole = crowd(&forebay, 3, &[]);
    origin.wait_for(1);
    let mut parts = crowd(&forebay, 3, &["Range: bytes=2-4"]);
    taken(&forebay, 6);
    go.set();
    whole
        .iter_mut()
        .for_each(|client| assert_eq!(client.read().text(), "0123456789"));
    for client in &mut parts {
        let response = client.read();
        assert_eq!((response.status, response.text().as_str()), (206, "234"));
    }
}

#[test]
fn waiters_of_a_stale_object_are_validated_together() {
    let go = Event::new("all have asked");
    let gate = go.clone();
    let origin = Origin::start(move |request, connection| {
        if request.number == 0 {
            let fields = ["Cache-Control: max-age=60", "Age: 100", "ETag: \"a\""];
            return connection.send(reply(200, &fields, "0123456789"));
        }
        gate.wait();
        connection.send(reply(
            304,
            &["Cache-Control: max-age=60", "ETag: \"a\""],
            "",
        ));
    });
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    let mut clients = crowd(&forebay, 10, &[]);
    taken(&forebay, 11);
    go.set();
    clients
        .iter_mut()
        .for_each(|client| assert_eq!(client.read().text(), "0123456789"));
    assert_eq!(origin.count(), 2);
}
