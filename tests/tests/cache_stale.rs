//! Serving stale, and when not to (RFC 9111 section 4.2.4, RFC 5861).

use forebay_tests::{Config, Event, Forebay, Origin, reply};

use crate::common::{STALE, eventually, numbered, scripted};

/// The first answer is stale on arrival; later ones wait for `gate`.
fn gated(first: &'static [&'static str], gate: &Event) -> Origin {
    let gate = gate.clone();
    Origin::start(move |request, connection| {
        if request.number > 0 {
            gate.wait();
            return connection.send(reply(200, &["Cache-Control: max-age=600"], "new"));
        }
        connection.send(reply(200, first, "old"));
    })
}

#[test]
fn stale_while_revalidate_answers_at_once_and_fetches_behind() {
    let gate = Event::new("let the origin answer");
    let origin = gated(
        &[
            "Cache-Control: max-age=60, stale-while-revalidate=3600",
            STALE,
        ],
        &gate,
    );
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    for _ in 0..3 {
        let stale = forebay.get("/");
        assert_eq!((stale.text().as_str(), stale.is_hit()), ("old", true));
        assert!(
            stale.cache_status().ttl.is_some_and(|ttl| ttl < 0),
            "{stale:?}"
        );
        assert!(stale.age() >= 1000, "{stale:?}");
    }
    gate.set();
    eventually(|| forebay.get("/").text() == "new");
    assert_eq!(origin.count(), 2, "one fetch behind the answers");
}

#[test]
fn grace_of_the_operator_does_the_same() {
    let gate = Event::new("let the origin answer");
    let origin = gated(&["Cache-Control: max-age=60", STALE], &gate);
    let forebay = Forebay::start(&Config::to(&origin).cache("grace = \"1h\""));
    forebay.get("/");
    let stale = forebay.get("/");
    assert_eq!((stale.text().as_str(), stale.is_hit()), ("old", true));
    gate.set();
    eventually(|| forebay.get("/").text() == "new");
}

#[test]
fn background_fetch_goes_on_without_its_client() {
    let gate = Event::new("let the origin answer");
    let origin = gated(
        &[
            "Cache-Control: max-age=60, stale-while-revalidate=3600",
            STALE,
        ],
        &gate,
    );
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    let mut client = forebay.client();
    assert_eq!(client.get("/").text(), "old");
    client.reset();
    origin.wait_for(2);
    gate.set();
    eventually(|| forebay.get("/").text() == "new");
}

#[test]
fn background_validation_freshens_the_object() {
    let origin = scripted(&[
        (
            200,
            &[
                "Cache-Control: max-age=60, stale-while-revalidate=3600",
                STALE,
                "ETag: \"a\"",
            ],
        ),
        (304, &["Cache-Control: max-age=600", "ETag: \"a\""]),
    ]);
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    assert_eq!(forebay.get("/").text(), "n0");
    eventually(|| {
        forebay
            .get("/")
            .cache_status()
            .ttl
            .is_some_and(|ttl| ttl > 60)
    });
    assert_eq!(origin.last().field("if-none-match"), Some("\"a\""));
}

#[test]
fn staleness_beyond_the_window_is_not_served() {
    let origin = numbered(&[
        "Cache-Control: max-age=60, stale-while-revalidate=10",
        STALE,
    ]);
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    assert_eq!(forebay.get("/").text(), "n1");
}

#[test]
fn directives_forbid_every_kind_of_staleness() {
    for directive in [
        "must-revalidate",
        "proxy-revalidate",
        "no-cache",
        "s-maxage=60",
    ] {
        let control = format!("Cache-Control: max-age=60, {directive}");
        let origin = scripted(&[(200, &[&control, STALE, "ETag: \"a\""]), (500, &[])]);
        let config = Config::to(&origin)
            .cache("grace = \"1h\"")
            .cache("stale_if_error = \"1h\"");
        let forebay = Forebay::start(&config);
        forebay.get("/");
        let second = forebay.get("/");
        assert_eq!(
            (second.status, second.is_hit()),
            (500, false),
            "{directive}"
        );
    }
}

#[test]
fn must_revalidate_with_a_dead_origin_is_504() {
    let mut origin = numbered(&[
        "Cache-Control: max-age=60, must-revalidate",
        STALE,
        "ETag: \"a\"",
    ]);
    let forebay = Forebay::start(&Config::to(&origin).cache("stale_if_error = \"1h\""));
    forebay.get("/");
    origin.kill();
    // RFC 9111 section 5.2.2.2
    assert_eq!(forebay.get("/").status, 504);
}

#[test]
fn stale_if_error_hides_error_statuses() {
    for status in [500, 502, 503, 504] {
        let origin = scripted(&[
            (
                200,
                &["Cache-Control: max-age=60, stale-if-error=3600", STALE],
            ),
            (status, &[]),
        ]);
        let forebay = Forebay::before(&origin);
        forebay.get("/");
        let second = forebay.get("/");
        assert_eq!(
            (second.status, second.text().as_str()),
            (200, "n0"),
            "{status}"
        );
    }
}

#[test]
fn stale_if_error_hides_no_other_status() {
    let origin = scripted(&[
        (
            200,
            &["Cache-Control: max-age=60, stale-if-error=3600", STALE],
        ),
        (404, &[]),
    ]);
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    assert_eq!(forebay.get("/").status, 404);
}

#[test]
fn stale_if_error_hides_a_dead_origin() {
    let mut origin = numbered(&["Cache-Control: max-age=60, stale-if-error=3600", STALE]);
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    origin.kill();
    for _ in 0..2 {
        let stale = forebay.get("/");
        assert_eq!((stale.status, stale.text().as_str()), (200, "n0"));
    }
}

#[test]
fn stale_if_error_hides_timeouts_and_nonsense() {
    for nonsense in ["", "garbage\r\n\r\n"] {
        let origin = Origin::start(move |request, connection| {
            if request.number == 0 {
                return connection.send(reply(
                    200,
                    &["Cache-Control: max-age=60, stale-if-error=3600", STALE],
                    "old",
                ));
            }
            connection.send(nonsense);
            connection.read_to_end();
            connection.close();
        });
        let forebay =
            Forebay::start(&Config::to(&origin).set("timeouts", "response_head = \"200ms\""));
        forebay.get("/");
        assert_eq!(forebay.get("/").text(), "old", "{nonsense:?}");
    }
}

#[test]
fn stale_if_error_by_the_operator_and_by_the_request() {
    let origin = scripted(&[
        (200, &["Cache-Control: max-age=60", STALE, "ETag: \"a\""]),
        (503, &[]),
    ]);
    let forebay = Forebay::start(&Config::to(&origin).cache("stale_if_error = \"1h\""));
    forebay.get("/");
    assert_eq!(forebay.get("/").text(), "n0");

    let origin = scripted(&[
        (200, &["Cache-Control: max-age=60", STALE, "ETag: \"a\""]),
        (503, &[]),
    ]);
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    let wanted = forebay.get_with("/", &["Cache-Control: stale-if-error=3600"]);
    assert_eq!(wanted.text(), "n0");
    assert_eq!(forebay.get("/").status, 503, "nobody allowed it");
}

#[test]
fn dead_origin_without_permission_is_an_error() {
    let mut origin = numbered(&["Cache-Control: max-age=60", STALE]);
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    origin.kill();
    // RFC 9111 section 4.2.4 would let a disconnected cache serve stale; ours is told when to.
    assert!(matches!(forebay.get("/").status, 502..=504));
}

#[test]
fn failed_background_fetch_keeps_the_stale_object() {
    let origin = scripted(&[
        (
            200,
            &[
                "Cache-Control: max-age=60, stale-while-revalidate=3600",
                STALE,
            ],
        ),
        (500, &[]),
    ]);
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    forebay.get("/");
    origin.wait_for(2);
    for _ in 0..3 {
        assert_eq!(forebay.get("/").text(), "n0");
    }
}

#[test]
fn error_body_broken_off_falls_back_to_stale() {
    let origin = Origin::start(|request, connection| {
        if request.number == 0 {
            return connection.send(reply(
                200,
                &["Cache-Control: max-age=60, stale-if-error=3600", STALE],
                "old",
            ));
        }
        connection.close();
    });
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    assert_eq!(forebay.get("/").text(), "old");
}
