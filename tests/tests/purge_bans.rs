//! Bans: expressions and patterns, what they hit, and how long they are kept.

use forebay_tests::{Forebay, Origin, reply};

use crate::common::eventually;
use crate::purge::{fill, json, kept, open, purge, with_fields};

const TARGETS: [&str; 5] = [
    "/news/1",
    "/news/2.jpg",
    "/old/news",
    "/missing",
    "/plain?a=b",
];

fn site() -> Origin {
    Origin::start(|request, connection| {
        let status = if request.target == "/missing" {
            404
        } else {
            200
        };
        let kind = if request.target.ends_with(".jpg") {
            "Content-Type: image/jpeg"
        } else {
            "Content-Type: text/html"
        };
        let mut fields = vec!["Cache-Control: max-age=600", kind];
        if request.target.starts_with("/old") {
            fields.push("X-Section: archive");
        }
        connection.send(reply(status, &fields, &request.target));
    })
}

#[track_caller]
fn filled(origin: &Origin) -> Forebay {
    let forebay = Forebay::start(&open(origin));
    for target in TARGETS {
        forebay.get(target);
        assert!(forebay.get(target).is_hit(), "{target}");
    }
    forebay
}

/// Which targets are still served from the cache.
#[track_caller]
fn left(forebay: &Forebay) -> Vec<&'static str> {
    let is_hit = |target: &&str| {
        let response = forebay.get_with(target, &["Cache-Control: only-if-cached"]);
        response.is_hit()
    };
    TARGETS.into_iter().filter(is_hit).collect()
}

#[test]
fn expressions_hit_what_they_hold_for() {
    let origin = site();
    for (expression, expected) in [
        ("req.url ~ ^/news", &TARGETS[2..]),
        (
            "url ~ /news && obj.http.content-type ~ image",
            &["/news/1", "/old/news", "/missing", "/plain?a=b"],
        ),
        (
            "obj.status == 404",
            &["/news/1", "/news/2.jpg", "/old/news", "/plain?a=b"],
        ),
        ("status >= 200 && status < 300", &["/missing"]),
        (
            "obj.http.x-section == archive",
            &["/news/1", "/news/2.jpg", "/missing", "/plain?a=b"],
        ),
        ("header.x-section != archive", &["/old/news"]),
        ("url == \"/plain?a=b\"", &TARGETS[..4]),
        (
            "host == test.example && url ~ \"\\.jpg$\"",
            &["/news/1", "/old/news", "/missing", "/plain?a=b"],
        ),
        ("req.http.host == other.example", &TARGETS),
        ("url ~ \"(?i)NEWS\"", &["/missing", "/plain?a=b"]),
        ("url !~ news", &["/news/1", "/news/2.jpg", "/old/news"]),
        ("url ~ .", &[]),
    ] {
        let forebay = filled(&origin);
        purge(&forebay, "BAN", "/", &[&format!("X-Ban: {expression}")]);
        assert_eq!(left(&forebay), expected, "{expression}");
    }
}

#[test]
fn patterns_of_url_and_host_in_fields() {
    let origin = site();
    for (fields, expected) in [
        (
            &["X-Url: ^/news", "X-Host: ^test\\.example$"][..],
            &TARGETS[2..],
        ),
        (&["X-Url: ^/news", "X-Host: ^shop\\.example$"], &TARGETS[..]),
        (
            &["X-Content-Type: image"],
            &["/news/1", "/old/news", "/missing", "/plain?a=b"],
        ),
        (&["X-Url: .*", "X-Content-Type: html"], &["/news/2.jpg"]),
    ] {
        let forebay = filled(&origin);
        purge(&forebay, "BAN", "/", fields);
        assert_eq!(left(&forebay), expected, "{fields:?}");
    }
}

#[test]
fn cache_tags_as_drupal_sends_them() {
    let origin = with_fields(&[
        ("/node/1", &["Cache-Tags: node:1 config:x"]),
        ("/node/12", &["Cache-Tags: node:12"]),
    ]);
    let forebay = Forebay::start(&open(&origin));
    let targets = ["/node/1", "/node/12", "/none"];
    fill(&forebay, &targets);
    purge(&forebay, "BAN", "/", &["Cache-Tags: (^|\\s)node:1(\\s|$)"]);
    assert_eq!(kept(&forebay, &targets), ["/node/12", "/none"]);
}

#[test]
fn objects_fetched_after_a_ban_are_not_hit_by_it() {
    let origin = site();
    let forebay = filled(&origin);
    purge(&forebay, "BAN", "/", &["X-Ban: url ~ ."]);
    fill(&forebay, &TARGETS[..3]);
    assert_eq!(left(&forebay), TARGETS[..3]);
}

#[test]
fn expressions_that_make_no_sense_are_refused_in_words() {
    let origin = site();
    let forebay = filled(&origin);
    let long = format!("url ~ {}", "x".repeat(5000));
    for expression in [
        "url",
        "url ~",
        "url ~ (",
        "nonsense == 1",
        "url > 3",
        "status ~ [",
        "url ~ a || url ~ b",
        "url ~ a &&",
        "status == many",
        &long,
    ] {
        let response = forebay.exchange("BAN", "/", &[&format!("X-Ban: {expression}")], "");
        assert_eq!(response.status, 400, "{expression:.60}: {response:?}");
        assert!(!response.text().trim().is_empty(), "{expression:.60}");
    }
    assert_eq!(left(&forebay), TARGETS);
    assert_eq!(forebay.metric("forebay_bans"), Some(0.0));
}

#[test]
fn equal_bans_are_one() {
    let origin = site();
    let forebay = filled(&origin);
    // Nothing is tested against them before it is asked for.
    for _ in 0..20 {
        purge(
            &forebay,
            "BAN",
            "/",
            &["X-Ban: req.url ~ \"^/nowhere\" && obj.status == 200"],
        );
        purge(
            &forebay,
            "BAN",
            "/",
            &["X-Ban: status == 200 && url ~ ^/nowhere"],
        );
    }
    let bans = forebay.metric("forebay_bans").unwrap();
    assert!(bans <= 2.0, "{bans} bans of equal meaning");
    assert_eq!(left(&forebay), TARGETS);
}

#[test]
fn ban_is_retired_when_everything_was_tested() {
    let origin = site();
    let forebay = filled(&origin);
    purge(&forebay, "BAN", "/", &["X-Ban: url ~ ^/news"]);
    assert_eq!(left(&forebay), TARGETS[2..]);
    eventually(|| forebay.metric("forebay_bans") == Some(0.0));
    assert_eq!(left(&forebay), TARGETS[2..]);
}

#[test]
fn pattern_that_is_hard_to_match_does_not_stop_the_server() {
    let long = format!("/{}!", "a".repeat(4000));
    let origin = with_fields(&[]);
    let forebay = Forebay::start(&open(&origin));
    fill(&forebay, &[&long]);
    purge(&forebay, "BAN", "/", &["X-Ban: url ~ ^/(a+)+$"]);
    assert_eq!(kept(&forebay, &[&long]), [&long]);
}

#[test]
fn answer_says_how_many_objects_may_be_hit() {
    let origin = site();
    let forebay = filled(&origin);
    let answer = json(&purge(&forebay, "BAN", "/", &["X-Ban: url ~ \"a\\\"b\""]));
    assert_eq!(answer["may_touch"], 5, "{answer}");
    assert!(
        answer["done"].as_str().is_some_and(|done| !done.is_empty()),
        "{answer}"
    );
}
