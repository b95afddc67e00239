//! What is on disk means what it meant in memory: variants, keys, staleness, policy.

use forebay_tests::{Config, Forebay, Origin, reply};

use crate::common::{STALE, scripted};
use crate::disk::{
    cached, config, directory, fetch, is_from_disk, objects, restarted, wait_on_disk,
};

/// Answers with the kind that is asked for, padded to `bytes`.
fn by_kind(bytes: usize) -> Origin {
    Origin::start(move |request, connection| {
        let kind = request.field("x-kind").unwrap_or("none").to_owned();
        let text = kind + &".".repeat(bytes);
        connection.send(reply(
            200,
            &["Cache-Control: max-age=600", "Vary: X-Kind"],
            &text,
        ));
    })
}

#[test]
fn variants_are_told_apart_on_disk() {
    for bytes in [10, 2_000_000] {
        let (origin, directory) = (by_kind(bytes), directory());
        let config = config(&origin, &directory);
        let mut forebay = Forebay::start(&config);
        let kinds = ["a", "b", "c"];
        for kind in kinds {
            forebay.get_with("/", &[&format!("X-Kind: {kind}")]);
        }
        if bytes > 1 << 20 {
            wait_on_disk(&forebay, kinds.len());
            forebay.kill();
        } else {
            forebay.stop();
        }
        let forebay = Forebay::start(&config);
        wait_on_disk(&forebay, kinds.len());
        for kind in kinds {
            let response = forebay.get_with("/", &[&format!("X-Kind: {kind}")]);
            assert!(is_from_disk(&response), "{kind}: {response:.0?}");
            assert!(response.text().starts_with(&format!("{kind}.")), "{kind}");
        }
        let other = forebay.get_with("/", &["X-Kind: d"]);
        assert!(!other.is_hit());
        assert!(other.text().starts_with("d."));
        let none = forebay.get("/");
        assert!(none.text().starts_with("none"));
        assert_eq!(origin.count(), 5);
    }
}

#[test]
fn newer_object_without_variants_takes_the_place_of_all_of_them() {
    let fields = ["Cache-Control: max-age=600", "Vary: X-Kind"];
    let origin = scripted(&[
        (200, &fields),
        (200, &fields),
        (200, &["Cache-Control: max-age=600"]),
    ]);
    let directory = directory();
    let config = config(&origin, &directory);
    let mut forebay = Forebay::start(&config);
    forebay.get_with("/", &["X-Kind: a"]);
    forebay.get_with("/", &["X-Kind: b"]);
    forebay.stop();
    let mut forebay = Forebay::start(&config);
    wait_on_disk(&forebay, 2);
    let newest = forebay.get_with("/", &["X-Kind: c"]);
    assert_eq!(newest.text(), "n2");
    forebay.stop();
    let forebay = Forebay::start(&config);
    wait_on_disk(&forebay, 1);
    for kind in ["a", "b", "c"] {
        assert_eq!(
            forebay.get_with("/", &[&format!("X-Kind: {kind}")]).text(),
            "n2",
            "{kind}"
        );
    }
}

#[test]
fn stale_object_on_disk_is_validated_and_used() {
    let large = "x".repeat(2_000_000);
    for text in ["small".to_owned(), large] {
        let stale = ["Cache-Control: max-age=60", STALE, "ETag: \"a\""];
        let fresh = ["Cache-Control: max-age=600", "ETag: \"a\"", "X-New: yes"];
        let origin = Origin::sequence(&[reply(200, &stale, &text), reply(304, &fresh, "")]);
        let directory = directory();
        let config = config(&origin, &directory);
        let mut forebay = Forebay::start(&config);
        forebay.get("/");
        forebay.stop();
        let mut forebay = Forebay::start(&config);
        wait_on_disk(&forebay, 1);
        let response = forebay.get("/");
        assert!(response.text() == text);
        let status = response.cache_status();
        assert_eq!(
            (status.forwarded(), status.fwd_status),
            ("stale", Some(304)),
            "{status:?}"
        );
        assert_eq!(response.field("x-new"), Some("yes"));
        assert_eq!(origin.last().field("if-none-match"), Some("\"a\""));
        assert!(forebay.get("/").is_hit());
        // And what the origin said holds after another restart.
        forebay.stop();
        let forebay = Forebay::start(&config);
        wait_on_disk(&forebay, 1);
        let response = forebay.get("/");
        assert!(
            response.is_hit() && response.text() == text,
            "{:?}",
            response.fields
        );
        assert_eq!(origin.count(), 2);
    }
}

#[test]
fn stale_object_on_disk_that_changed_is_replaced() {
    let stale = ["Cache-Control: max-age=60", STALE, "ETag: \"a\""];
    let origin = scripted(&[(200, &stale), (200, &["Cache-Control: max-age=600"])]);
    let directory = directory();
    let mut forebay = Forebay::start(&config(&origin, &directory));
    forebay.get("/");
    forebay.stop();
    let forebay = Forebay::start(&config(&origin, &directory));
    wait_on_disk(&forebay, 1);
    let replaced = forebay.get("/").cache_status();
    assert_eq!(
        (replaced.forwarded(), replaced.detail.as_deref()),
        ("stale", None)
    );
    assert_eq!(origin.last().field("if-none-match"), Some("\"a\""));
    let response = forebay.get("/");
    assert!(response.is_hit());
    assert_eq!(response.text(), "n1");
}

#[test]
fn stale_object_on_disk_stands_in_for_a_dead_origin() {
    let stale = ["Cache-Control: max-age=60, stale-if-error=86400", STALE];
    let mut origin = scripted(&[(200, &stale)]);
    let directory = directory();
    let config = config(&origin, &directory);
    let mut forebay = Forebay::start(&config);
    forebay.get("/");
    forebay.stop();
    let forebay = Forebay::start(&config);
    wait_on_disk(&forebay, 1);
    origin.kill();
    let response = forebay.get("/");
    assert_eq!((response.status, response.text()), (200, "n0".into()));
}

#[test]
fn stale_object_on_disk_within_grace_is_served_and_refreshed_behind() {
    let stale = [
        "Cache-Control: max-age=60, stale-while-revalidate=86400",
        STALE,
    ];
    let origin = scripted(&[(200, &stale), (200, &["Cache-Control: max-age=600"])]);
    let directory = directory();
    let config = config(&origin, &directory);
    let mut forebay = Forebay::start(&config);
    forebay.get("/");
    forebay.stop();
    let forebay = Forebay::start(&config);
    wait_on_disk(&forebay, 1);
    let first = forebay.get("/");
    assert!(first.is_hit());
    assert_eq!(first.text(), "n0");
    crate::common::eventually(|| forebay.get("/").text() == "n1");
}

#[test]
fn object_that_may_not_be_used_without_asking_is_not_after_a_restart() {
    let fields = ["Cache-Control: no-cache", "ETag: \"a\""];
    let origin = scripted(&[(200, &fields), (304, &fields)]);
    let directory = directory();
    let config = config(&origin, &directory);
    let mut forebay = Forebay::start(&config);
    forebay.get("/");
    forebay.stop();
    let forebay = Forebay::start(&config);
    wait_on_disk(&forebay, 1);
    for _ in 0..2 {
        let response = forebay.get("/");
        assert_eq!(response.text(), "n0");
        assert!(!response.is_hit(), "{response:?}");
    }
    assert_eq!(origin.count(), 3);
}

#[test]
fn what_may_not_be_stored_is_not_on_disk_either() {
    let directory = directory();
    let large = "x".repeat(2_000_000);
    let origin = Origin::start(move |request, connection| {
        let control = match &*request.target {
            "/private" => "Cache-Control: private, max-age=600",
            "/no-store" => "Cache-Control: no-store",
            _ => "Cache-Control: max-age=0",
        };
        connection.send(reply(200, &[control], &large));
    });
    let mut forebay = Forebay::start(&config(&origin, &directory));
    for target in ["/private", "/no-store"] {
        assert_eq!(forebay.get(target).body.len(), 2_000_000);
        assert!(cached(&forebay, target).is_none());
    }
    forebay.stop();
    let forebay = Forebay::start(&config(&origin, &directory));
    assert_eq!(forebay.metric("forebay_disk_objects"), Some(0.0));
    assert!(cached(&forebay, "/private").is_none());
}

#[test]
fn hosts_and_queries_are_told_apart_on_disk() {
    let origin = Origin::start(|request, connection| {
        let text = format!("{}{}", request.field("host").unwrap(), request.target);
        connection.send(reply(200, &["Cache-Control: max-age=600"], &text));
    });
    let directory = directory();
    let config = config(&origin, &directory);
    let mut forebay = Forebay::start(&config);
    let cases = [
        ("a.example", "/x?a=1"),
        ("a.example", "/x?a=2"),
        ("b.example", "/x?a=1"),
    ];
    for (host, target) in cases {
        forebay.get_with(target, &[&format!("Host: {host}")]);
    }
    forebay.stop();
    let forebay = Forebay::start(&config);
    wait_on_disk(&forebay, 3);
    for (host, target) in cases {
        let response = forebay.get_with(target, &[&format!("Host: {host}")]);
        assert!(is_from_disk(&response));
        assert_eq!(response.text(), format!("{host}{target}"));
    }
    assert!(!forebay.get_with("/x", &["Host: a.example"]).is_hit());
}

#[test]
fn policy_after_the_restart_decides() {
    let (origin, directory) = (objects(), directory());
    let config: Config = config(&origin, &directory);
    let forebay = restarted(&config, &["/a/100"]);
    drop(forebay);
    let forebay = Forebay::start(&config.cache("pass = true"));
    wait_on_disk(&forebay, 1);
    assert!(!forebay.get("/a/100").is_hit());
    assert_eq!(origin.count(), 2);
}

#[test]
fn inspect_says_that_an_object_lies_on_disk() {
    let (origin, directory) = (objects(), directory());
    let forebay = restarted(&config(&origin, &directory), &["/a/100"]);
    let inspect = || forebay.command(&["inspect", "http://test.example/a/100"]);
    let said = inspect();
    assert_eq!(said.status, 0, "{said:?}");
    for words in ["variant 1 of 1", "disk", "hit: fresh", "\"e\""] {
        assert!(said.stdout.contains(words), "{words}: {}", said.stdout);
    }
    fetch(&forebay, &["/a/100"]);
    assert!(inspect().stdout.contains("memory"), "{}", inspect().stdout);
    assert_eq!(origin.count(), 1);
}
