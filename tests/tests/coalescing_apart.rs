//! Who must not share a fetch, and what becomes of the waiters when it goes
//! wrong.

use std::time::Duration;

use forebay_tests::{Config, Event, Forebay, Origin, Request, reply};

use crate::coalescing::{HEAD, crowd, taken};

/// An origin that answers the first `free` requests at once, says when the one numbered `last` is
/// there too, and keeps the others waiting until it is told.
fn holding(
    free: usize,
    last: usize,
    answer: impl Fn(&Request) -> String + Send + Sync + 'static,
) -> (Origin, Event, Event) {
    let all = Event::new("all at the origin at once");
    let go = Event::new("release");
    let (announce, gate) = (all.clone(), go.clone());
    let origin = Origin::start(move |request, connection| {
        if request.number == last {
            announce.set();
        }
        if request.number >= free {
            gate.wait();
        }
        connection.send(answer(request));
    });
    (origin, all, go)
}

#[test]
fn uncacheable_answer_sends_the_waiters_on_their_own_at_once() {
    let go = Event::new("all have asked");
    let gate = go.clone();
    let origin = Origin::start(move |request, connection| {
        gate.wait();
        connection.send(reply(
            200,
            &["Cache-Control: no-store"],
            &format!("n{}", request.number),
        ));
    });
    let forebay = Forebay::before(&origin);
    let mut clients = crowd(&forebay, 10, &[]);
    taken(&forebay, 10);
    go.set();
    let mut bodies: Vec<_> = clients
        .iter_mut()
        .map(|client| client.read().text())
        .collect();
    bodies.sort();
    bodies.dedup();
    assert_eq!(
        bodies.len(),
        10,
        "two clients got the same uncacheable answer"
    );
}

#[test]
fn hit_for_miss_does_not_serialise() {
    let private = |_: &Request| reply(200, &["Cache-Control: private"], "x");
    let (origin, all, go) = holding(1, 5, private);
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    let mut clients = crowd(&forebay, 5, &[]);
    // They reach the origin together, although it has answered none of them.
    all.wait();
    go.set();
    clients
        .iter_mut()
        .for_each(|client| assert_eq!(client.read().status, 200));
}

#[test]
fn variants_that_are_known_to_differ_are_fetched_at_once() {
    let (origin, all, go) = holding(1, 5, |request| {
        let fields = ["Cache-Control: max-age=60", "Vary: X-Kind"];
        reply(200, &fields, request.field("x-kind").unwrap_or(""))
    });
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    let mut clients = Vec::new();
    for kind in 0..5 {
        let field = format!("X-Kind: k{kind}");
        clients.extend(crowd(&forebay, 2, &[&field]));
    }
    // One of each kind is there although none was answered; the other waits for it.
    all.wait();
    taken(&forebay, 11);
    go.set();
    for (number, client) in clients.iter_mut().enumerate() {
        assert_eq!(client.read().text(), format!("k{}", number / 2));
    }
    assert_eq!(origin.count(), 6);
}

#[test]
fn who_wants_nothing_stored_waits_for_nobody() {
    let fresh = |_: &Request| reply(200, &["Cache-Control: max-age=60"], "x");
    let (origin, all, go) = holding(0, 4, fresh);
    let forebay = Forebay::before(&origin);
    let mut clients = crowd(&forebay, 5, &["Cache-Control: no-store"]);
    all.wait();
    go.set();
    clients
        .iter_mut()
        .for_each(|client| assert_eq!(client.read().status, 200));
}

#[test]
fn hit_for_miss_ends_when_the_answer_becomes_cacheable() {
    let origin = Origin::start(|request, connection| {
        let control = if request.number == 0 {
            "Cache-Control: no-store"
        } else {
            "Cache-Control: max-age=60"
        };
        connection.send(reply(200, &[control], "x"));
    });
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    forebay.get("/");
    assert!(forebay.get("/").is_hit());
}

#[test]
fn leader_whose_origin_fails_leaves_answers_for_the_waiters() {
    let go = Event::new("all have asked");
    let gate = go.clone();
    let origin = Origin::start(move |request, connection| {
        gate.wait();
        if request.number == 0 {
            return connection.close();
        }
        connection.send(format!("{HEAD}0123456789"));
    });
    let forebay = Forebay::start(&Config::to(&origin).set("pool.app", "retries = 0"));
    let mut clients = crowd(&forebay, 10, &[]);
    taken(&forebay, 10);
    go.set();
    for client in &mut clients {
        let response = client.read();
        assert!(matches!(response.status, 200 | 502), "{response:?}");
    }
    assert_eq!(forebay.get("/").text(), "0123456789");
}

#[test]
fn leader_that_times_out_does_not_make_the_waiters_wait_again_in_turn() {
    let origin = Origin::start(|_, connection| {
        connection.read_to_end();
        connection.close();
    });
    let forebay = Forebay::start(&Config::to(&origin).set("timeouts", "response_head = \"300ms\""));
    let before = std::time::Instant::now();
    let mut clients = crowd(&forebay, 10, &[]);
    clients
        .iter_mut()
        .for_each(|client| assert_eq!(client.read().status, 504));
    assert!(
        before.elapsed() < Duration::from_millis(300 * 6),
        "{:?} for ten clients",
        before.elapsed()
    );
}

#[test]
fn variants_are_not_confused_by_coalescing() {
    let go = Event::new("all have asked");
    let gate = go.clone();
    let origin = Origin::start(move |request, connection| {
        gate.wait();
        let kind = request.fields.joined("x-kind");
        connection.send(reply(
            200,
            &["Cache-Control: max-age=60", "Vary: X-Kind"],
            &kind,
        ));
    });
    let forebay = Forebay::before(&origin);
    let mut a = crowd(&forebay, 3, &["X-Kind: a"]);
    let mut b = crowd(&forebay, 3, &["X-Kind: b"]);
    taken(&forebay, 6);
    go.set();
    a.iter_mut()
        .for_each(|client| assert_eq!(client.read().text(), "a"));
    b.iter_mut()
        .for_each(|client| assert_eq!(client.read().text(), "b"));
}

#[test]
fn credentials_do_not_leak_through_coalescing() {
    let go = Event::new("all have asked");
    let gate = go.clone();
    let origin = Origin::start(move |request, connection| {
        gate.wait();
        connection.send(reply(
            200,
            &["Cache-Control: max-age=60"],
            &request.fields.joined("authorization"),
        ));
    });
    let forebay = Forebay::before(&origin);
    let mut alice = crowd(&forebay, 1, &["Authorization: alice"]);
    let mut bob = crowd(&forebay, 1, &["Authorization: bob"]);
    taken(&forebay, 2);
    go.set();
    assert_eq!(
        (
            alice[0].read().text().as_str(),
            bob[0].read().text().as_str()
        ),
        ("alice", "bob")
    );
}

#[test]
fn waiters_beyond_the_limit_go_to_the_origin() {
    let go = Event::new("all have asked");
    let gate = go.clone();
    let origin = Origin::start(move |_, connection| {
        gate.wait();
        connection.send(format!("{HEAD}0123456789"));
    });
    let forebay = Forebay::start(&Config::to(&origin).set("limits", "waiters = 2"));
    let mut clients = crowd(&forebay, 6, &[]);
    taken(&forebay, 6);
    origin.wait_for(4);
    go.set();
    clients
        .iter_mut()
        .for_each(|client| assert_eq!(client.read().text(), "0123456789"));
}

#[test]
fn head_and_get_share_a_fetch_or_do_without() {
    let go = Event::new("both have asked");
    let gate = go.clone();
    let origin = Origin::start(move |request, connection| {
        gate.wait();
        let text = format!("{HEAD}0123456789");
        let end = if request.method == "HEAD" {
            HEAD.len()
        } else {
            text.len()
        };
        connection.send(&text[..end]);
    });
    let forebay = Forebay::before(&origin);
    let (mut head, mut get) = (forebay.client(), forebay.client());
    head.send_request("HEAD", "/", &[], "");
    get.send_request("GET", "/", &[], "");
    taken(&forebay, 2);
    go.set();
    assert_eq!(head.read_for("HEAD").number("content-length"), Some(10));
    assert_eq!(get.read().text(), "0123456789");
}
