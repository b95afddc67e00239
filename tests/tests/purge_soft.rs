//! Soft purges: stale, served once more, and refreshed behind with a condition.

use forebay_tests::{Event, Forebay, Origin, reply};

use crate::common::eventually;
use crate::purge::{open, purge};

const FIELDS: [&str; 3] = ["Cache-Control: max-age=600", "ETag: \"a\"", "xkey: red"];

/// Soft purges that hit `/` with `FIELDS`.
const SOFT: [(&str, &[&str]); 5] = [
    ("PURGE", &["Soft-Purge: 1"]),
    ("PURGE", &["xkey-softpurge: red"]),
    ("PURGE", &["xkey: red", "Fastly-Soft-Purge: 1"]),
    ("BAN", &["X-Ban: url ~ .", "Soft-Purge: 1"]),
    ("PURGE", &["X-Magento-Tags-Pattern: .*", "X-Soft-Purge: 1"]),
];

#[test]
fn old_answer_goes_out_once_more_and_a_condition_behind_it() {
    for (method, fields) in SOFT {
        let origin = Origin::sequence(&[reply(200, &FIELDS, "old"), reply(304, &FIELDS, "")]);
        let forebay = Forebay::start(&open(&origin));
        forebay.get("/");
        purge(&forebay, method, "/", fields);
        let next = forebay.get("/");
        assert!(next.is_hit(), "{method} {fields:?}: {next:?}");
        assert_eq!(next.text(), "old");
        let asked = origin.wait_for(2);
        assert_eq!(asked[1].field("if-none-match"), Some("\"a\""), "{fields:?}");
        // The 304 was enough: nothing more is asked.
        forebay.wait_for_metric("forebay_background_fetches_total", 1.0);
        for _ in 0..5 {
            let response = forebay.get("/");
            assert!(response.is_hit());
            assert_eq!(response.text(), "old");
        }
        eventually(|| forebay.get("/").cache_status().ttl > Some(500));
        assert_eq!(origin.count(), 2, "{method} {fields:?}");
    }
}

#[test]
fn changed_object_takes_the_place_of_the_stale_one() {
    let origin = Origin::sequence(&[
        reply(200, &FIELDS, "old"),
        reply(200, &["Cache-Control: max-age=600", "ETag: \"b\""], "new"),
    ]);
    let forebay = Forebay::start(&open(&origin));
    forebay.get("/");
    purge(&forebay, "PURGE", "/", &["Soft-Purge: 1"]);
    assert_eq!(forebay.get("/").text(), "old");
    eventually(|| forebay.get("/").text() == "new");
    assert_eq!(origin.count(), 2);
}

#[test]
fn many_clients_after_a_soft_purge_cause_one_request() {
    let go = Event::new("all have their answers");
    let gate = go.clone();
    let origin = Origin::start(move |request, connection| {
        if request.number > 0 {
            gate.wait();
        }
        connection.send(reply(200, &FIELDS, &format!("n{}", request.number)));
    });
    let forebay = Forebay::start(&open(&origin));
    forebay.get("/");
    purge(&forebay, "PURGE", "/", &["Soft-Purge: 1"]);
    for _ in 0..20 {
        assert_eq!(forebay.get("/").text(), "n0");
    }
    go.set();
    eventually(|| forebay.get("/").text() == "n1");
    assert_eq!(origin.count(), 2);
}

#[test]
fn hard_purge_is_a_miss_and_is_stronger_than_a_soft_one() {
    for order in [[&["Soft-Purge: 1"][..], &[]], [&[], &["Soft-Purge: 1"][..]]] {
        let origin = Origin::start(|request, connection| {
            connection.send(reply(200, &FIELDS, &format!("n{}", request.number)));
        });
        let forebay = Forebay::start(&open(&origin));
        forebay.get("/");
        for fields in order {
            purge(&forebay, "PURGE", "/", fields);
        }
        let response = forebay.get("/");
        assert!(!response.is_hit(), "{order:?}");
        assert_eq!(response.text(), "n1");
        assert_eq!(origin.last().field("if-none-match"), None);
    }
}

#[test]
fn soft_purge_of_what_must_not_be_served_stale_is_validated_first() {
    let fields = ["Cache-Control: max-age=600, must-revalidate", "ETag: \"a\""];
    let origin = Origin::sequence(&[reply(200, &fields, "old"), reply(304, &fields, "")]);
    let forebay = Forebay::start(&open(&origin));
    forebay.get("/");
    purge(&forebay, "PURGE", "/", &["Soft-Purge: 1"]);
    let next = forebay.get("/");
    assert!(!next.is_hit(), "{next:?}");
    assert_eq!(
        (next.text(), next.cache_status().fwd_status),
        ("old".into(), Some(304))
    );
    assert!(forebay.get("/").is_hit());
}

#[test]
fn zero_means_a_hard_purge() {
    let origin = Origin::fixed(reply(200, &FIELDS, "text"));
    let forebay = Forebay::start(&open(&origin));
    forebay.get("/");
    purge(&forebay, "PURGE", "/", &["Soft-Purge: 0"]);
    assert!(!forebay.get("/").is_hit());
}

#[test]
fn origin_that_fails_after_a_soft_purge_leaves_the_old_answer() {
    let mut origin = Origin::fixed(reply(
        200,
        &[
            "Cache-Control: max-age=600, stale-if-error=600",
            "ETag: \"a\"",
        ],
        "old",
    ));
    let forebay = Forebay::start(&open(&origin));
    forebay.get("/");
    purge(&forebay, "PURGE", "/", &["Soft-Purge: 1"]);
    origin.kill();
    for _ in 0..5 {
        assert_eq!(forebay.get("/").text(), "old");
    }
}
