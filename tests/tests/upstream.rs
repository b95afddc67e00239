//! The way to the origin: reuse, retry, other addresses, limits, timeouts.

use forebay_tests::{Client, Config, Event, Forebay, Origin, reply};

#[test]
fn connection_to_the_origin_is_reused() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let forebay = Forebay::before(&origin);
    for n in 0..20 {
        assert_eq!(forebay.get(&format!("/{n}")).status, 200);
    }
    assert_eq!((origin.count(), origin.connections()), (20, 1));
}

#[test]
fn connection_is_reused_after_an_uploaded_body() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let forebay = Forebay::before(&origin);
    for _ in 0..5 {
        assert_eq!(forebay.exchange("POST", "/", &[], "some body").status, 200);
    }
    assert_eq!(origin.connections(), 1);
}

#[test]
fn no_more_idle_connections_are_kept_than_allowed() {
    let (all, release) = (Event::new("all four at the origin"), Event::new("release"));
    let (announce, gate) = (all.clone(), release.clone());
    let origin = Origin::start(move |request, connection| {
        if request.number == 3 {
            announce.set();
        }
        if request.number < 4 {
            gate.wait();
        }
        connection.send(reply(200, &[], "x"));
    });
    let forebay = Forebay::start(&Config::to(&origin).set("pool.app", "idle_connections = 1"));
    let mut clients: Vec<Client> = (0..4).map(|_| forebay.client()).collect();
    for (n, client) in clients.iter_mut().enumerate() {
        client.send_request("GET", &format!("/{n}"), &[], "");
    }
    all.wait();
    release.set();
    clients
        .iter_mut()
        .for_each(|client| assert_eq!(client.read().status, 200));
    for (n, client) in clients.iter_mut().enumerate() {
        assert_eq!(client.get(&format!("/again{n}")).status, 200);
    }
    let kept: Vec<usize> = origin.requests()[4..]
        .iter()
        .map(|request| request.connection)
        .collect();
    assert!(
        kept.iter().all(|connection| *connection == kept[0]),
        "{kept:?}"
    );
}

#[test]
fn idle_connection_to_the_origin_is_closed_in_time() {
    let ended = Event::new("the origin sees the end");
    let announce = ended.clone();
    let origin = Origin::raw(move |connection| {
        while connection.request().is_ok() {
            connection.send(reply(200, &[], "x"));
        }
        announce.set();
    });
    let forebay =
        Forebay::start(&Config::to(&origin).set("timeouts", "upstream_keep_alive = \"100ms\""));
    assert_eq!(forebay.get("/").status, 200);
    ended.wait();
    assert_eq!(forebay.get("/2").status, 200);
}

/// An origin whose first connection dies upon its second request, before a byte.
fn dies_on_reuse() -> Origin {
    Origin::start(|request, connection| {
        if request.connection == 0 && request.number == 1 {
            return connection.close();
        }
        connection.send(reply(200, &[], "alive"));
    })
}

#[test]
fn get_on_a_reused_connection_that_died_is_repeated() {
    let origin = dies_on_reuse();
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    assert_eq!(client.get("/1").text(), "alive");
    assert_eq!(client.get("/2").text(), "alive");
    assert_eq!(origin.connections(), 2);
}

#[test]
fn put_and_delete_are_repeated_as_idempotent() {
    for method in ["PUT", "DELETE"] {
        let origin = dies_on_reuse();
        let forebay = Forebay::before(&origin);
        let mut client = forebay.client();
        client.get("/1");
        let response = client.exchange(method, "/2", &[], "");
        // RFC 9110 section 9.2.2 allows it; a server may be more careful.
        assert!(matches!(response.status, 200 | 502), "{response:?}");
    }
}

#[test]
fn post_on_a_reused_connection_that_died_is_never_sent_twice() {
    let origin = dies_on_reuse();
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.get("/1");
    let response = client.exchange("POST", "/2", &[], "pay once");
    assert_eq!(response.status, 502);
    let posts = origin
        .requests()
        .iter()
        .filter(|r| r.method == "POST")
        .count();
    assert_eq!(posts, 1);
}

#[test]
fn connection_that_the_origin_closed_while_idle_costs_nobody_an_error() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    for n in 0..5 {
        assert_eq!(
            client
                .exchange("POST", &format!("/{n}"), &[], "body")
                .status,
            200
        );
        origin.close_connections();
        // On loopback the close has arrived when the call returns.
    }
}

#[test]
fn fresh_connection_that_dies_is_502_and_not_a_loop() {
    let origin = Origin::start(|_, connection| connection.close());
    let forebay = Forebay::before(&origin);
    assert_eq!(forebay.get("/").status, 502);
    assert!(origin.count() <= 3, "asked {} times", origin.count());
}

#[test]
fn response_that_began_is_never_retried() {
    let origin = Origin::start(|_, connection| {
        connection.send("HTTP/1.1 200 O");
        connection.close();
    });
    let forebay = Forebay::before(&origin);
    assert_eq!(forebay.get("/").status, 502);
    assert_eq!(origin.count(), 1);
}

#[test]
fn servers_of_a_pool_share_the_work() {
    let (one, two) = (
        Origin::fixed(reply(200, &[], "1")),
        Origin::fixed(reply(200, &[], "2")),
    );
    let forebay = Forebay::start(&Config::new(&[&one.server(), &two.server()]));
    for n in 0..20 {
        forebay.get(&format!("/{n}"));
    }
    assert!(
        one.count() >= 5 && two.count() >= 5,
        "{} and {}",
        one.count(),
        two.count()
    );
}
