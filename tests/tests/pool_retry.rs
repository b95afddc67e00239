//! Requests that can be repeated are: on another server, within a budget; and servers that fail are
//! left alone.

use std::time::{Duration, Instant};

use forebay_tests::{Config, Event, Forebay, Origin, reply};

fn pool(origins: &[&Origin]) -> Config {
    let servers: Vec<String> = origins.iter().map(|origin| origin.server()).collect();
    let servers: Vec<&str> = servers.iter().map(String::as_str).collect();
    Config::new(&servers).cache("pass = true")
}

/// An origin that closes every connection when it has read a request.
fn closing() -> Origin {
    Origin::start(|_, connection| connection.close())
}

#[test]
fn a_server_that_closes_without_an_answer_is_not_seen_by_who_reads() {
    let (closing, good) = (closing(), Origin::fixed(reply(200, &[], "good")));
    let forebay = Forebay::start(&pool(&[&closing, &good]));
    for n in 0..6 {
        assert_eq!(forebay.get(&format!("/{n}")).text(), "good");
    }
    assert_eq!(closing.count(), 1, "then it is left out");
    forebay.wait_for_metric("forebay_pool_retries_total", 1.0);
}

#[test]
fn what_may_have_been_done_is_not_done_twice() {
    let (closing, good) = (closing(), Origin::fixed(reply(200, &[], "good")));
    let forebay = Forebay::start(&pool(&[&closing, &good]));
    let first = forebay.exchange("POST", "/", &[], "order");
    assert_eq!((first.status, good.count()), (502, 0));
    assert_eq!(forebay.exchange("POST", "/", &[], "order").text(), "good");
}

#[test]
fn a_body_that_was_kept_goes_to_another_server() {
    let good = Origin::start(|request, connection| {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        connection.send(reply(200, &[], &body));
    });
    let closing = closing();
    let config = pool(&[&closing, &good]).set("pool.app", "buffer_requests = true");
    let forebay = Forebay::start(&config);
    // More than is kept in memory.
    let body = "0123456789".repeat(20_000);
    for n in 0..3 {
        let response = forebay.exchange("PUT", &format!("/{n}"), &[], &body);
        assert!(response.status == 200 && response.text() == body);
    }
    assert_eq!((closing.count(), good.count()), (1, 3));
}

#[test]
fn no_idempotent_request_fails_as_long_as_one_server_lives() {
    let mut origins: Vec<Origin> = (0..4)
        .map(|_| {
            Origin::start(|_, connection| {
                std::thread::sleep(Duration::from_millis(1));
                connection.send(reply(200, &[], "x"));
            })
        })
        .collect();
    let config = pool(&origins.iter().collect::<Vec<_>>()).set("server", "workers = 2");
    let forebay = Forebay::start(&config);
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..8)
            .map(|number| {
                let forebay = &forebay;
                scope.spawn(move || {
                    let mut client = forebay.client();
                    for n in 0..100 {
                        let response = client.get(&format!("/{number}/{n}"));
                        assert_eq!(response.status, 200, "{response:?}");
                    }
                })
            })
            .collect();
        for victim in (1..4).rev() {
            let before: usize = origins.iter().map(Origin::count).sum();
            let enough = |origins: &[Origin]| {
                origins.iter().map(Origin::count).sum::<usize>() >= before + 60
                    || clients.iter().all(|client| client.is_finished())
            };
            while !enough(&origins) {
                std::thread::yield_now();
            }
            origins[victim].kill();
        }
    });
}

#[test]
fn a_status_is_tried_again_where_that_is_asked_for() {
    let busy = Origin::fixed(reply(503, &[], "busy"));
    let good = Origin::fixed(reply(200, &[], "good"));
    let config = pool(&[&busy, &good]).set("pool.app", "retry_on = [\"503\"]");
    let forebay = Forebay::start(&config);
    for n in 0..4 {
        assert_eq!(forebay.get(&format!("/{n}")).text(), "good");
    }
    assert!(busy.count() > 0);
    // The last word counts when nobody is left.
    let other = Origin::fixed(reply(503, &[], "busy too"));
    let config = pool(&[&busy, &other]).set("pool.app", "retry_on = [\"503\"]");
    assert_eq!(Forebay::start(&config).get("/").status, 503);
}

#[test]
fn a_silent_server_is_given_up_where_that_is_asked_for() {
    let silent = Origin::start(|_, connection| {
        connection.read_to_end();
        connection.close();
    });
    let good = Origin::fixed(reply(200, &[], "good"));
    let config = pool(&[&silent, &good])
        .set("pool.app", "retry_on = [\"timeout\"]")
        .set("pool.app", "response_head_timeout = \"200ms\"");
    let forebay = Forebay::start(&config);
    assert_eq!(forebay.get("/").text(), "good");
    assert_eq!(silent.count(), 1);
}

#[test]
fn retries_end_with_their_number_and_their_budget() {
    for setting in ["retries = 0", "retry_budget = \"0%\"", "retry_on = []"] {
        let (closing, good) = (closing(), Origin::fixed(reply(200, &[], "good")));
        let forebay = Forebay::start(&pool(&[&closing, &good]).set("pool.app", setting));
        assert_eq!(forebay.get("/").status, 502, "{setting}");
        assert_eq!(good.count(), 0, "{setting}");
    }
}

#[test]
fn a_server_is_left_out_after_so_many_failures_in_a_row() {
    let (closing, good) = (closing(), Origin::fixed(reply(200, &[], "good")));
    let config = pool(&[&closing, &good])
        .set("pool.app", "fail_after = 3")
        .set("pool.app", "fail_timeout = \"1h\"");
    let forebay = Forebay::start(&config);
    for n in 0..20 {
        assert_eq!(forebay.get(&format!("/{n}")).text(), "good");
    }
    assert_eq!(closing.count(), 3);
    assert_eq!(forebay.metric("forebay_origin_server_failed"), Some(1.0));
}

#[test]
fn one_request_tries_a_server_that_failed() {
    let well = Event::new("it is well again");
    let recovered = well.clone();
    let ill = Origin::start(move |_, connection| {
        if recovered.is_set() {
            connection.send(reply(200, &[], "back"));
        } else {
            connection.close();
        }
    });
    let good = Origin::fixed(reply(200, &[], "good"));
    let config = pool(&[&ill, &good]).set("pool.app", "fail_timeout = \"100ms\"");
    let forebay = Forebay::start(&config);
    let before = Instant::now();
    while before.elapsed() < Duration::from_millis(350) {
        assert_eq!(forebay.get("/").text(), "good");
    }
    assert!(
        (1..=4).contains(&ill.count()),
        "it was tried {} times",
        ill.count()
    );
    well.set();
    let deadline = Instant::now() + forebay_tests::DEADLINE;
    while forebay.get("/").text() != "back" {
        assert!(Instant::now() < deadline, "it is never tried again");
    }
}

#[test]
fn the_faster_of_two_answers() {
    let release = Event::new("release");
    let gate = release.clone();
    let closed = Event::new("the slow one is given up");
    let announce = closed.clone();
    let slow = Origin::start(move |_, connection| {
        connection.read_to_end();
        announce.set();
        gate.wait();
        connection.close();
    });
    let quick = Origin::fixed(reply(200, &[], "quick"));
    let config = pool(&[&slow, &quick]).set("pool.app", "hedge_after = \"50ms\"");
    let forebay = Forebay::start(&config);
    let response = forebay.get("/");
    assert_eq!(response.text(), "quick");
    closed.wait();
    release.set();
    assert_eq!(forebay.metric("forebay_pool_hedges_total"), Some(1.0));
    assert_eq!((slow.count(), quick.count()), (1, 1));
}

#[test]
fn a_slow_first_answer_counts_when_the_second_is_slower() {
    let asked = Event::new("the second is asked");
    let told = asked.clone();
    let first = Origin::start(move |_, connection| {
        asked.wait();
        connection.send(reply(200, &[], "first"));
    });
    let second = Origin::start(move |_, connection| {
        told.set();
        connection.read_to_end();
        connection.close();
    });
    let config = pool(&[&first, &second]).set("pool.app", "hedge_after = \"20ms\"");
    let forebay = Forebay::start(&config);
    assert_eq!(forebay.get("/").text(), "first");
}

#[test]
fn an_order_is_never_sent_to_two() {
    let slow = Origin::start(|_, connection| {
        std::thread::sleep(Duration::from_millis(150));
        connection.send(reply(200, &[], "slow"));
    });
    let quick = Origin::fixed(reply(200, &[], "quick"));
    let config = pool(&[&slow, &quick]).set("pool.app", "hedge_after = \"10ms\"");
    let forebay = Forebay::start(&config);
    assert_eq!(forebay.exchange("POST", "/", &[], "order").text(), "slow");
    assert_eq!(quick.count(), 0);
}

#[test]
fn a_server_that_answers_worse_than_others_is_ejected() {
    let bad = Origin::fixed(reply(500, &[], "bad"));
    let good = Origin::fixed(reply(200, &[], "good"));
    let config = pool(&[&bad, &good])
        .set("pool.app.eject", "errors = \"50%\"")
        .set("pool.app.eject", "requests = 5")
        .set("pool.app.eject", "window = \"2s\"")
        .set("pool.app.eject", "time = \"1h\"");
    let forebay = Forebay::start(&config);
    let deadline = Instant::now() + forebay_tests::DEADLINE;
    while forebay.metric("forebay_origin_server_ejected") != Some(1.0) {
        forebay.get("/");
        assert!(Instant::now() < deadline, "it is never ejected");
    }
    let before = bad.count();
    for n in 0..10 {
        assert_eq!(forebay.get(&format!("/{n}")).text(), "good");
    }
    assert_eq!(bad.count(), before);
}
