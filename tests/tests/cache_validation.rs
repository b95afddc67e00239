//! Conditional requests in both directions (RFC 9110 section 13, RFC 9111
//! section 4.3).

use forebay_tests::{Config, Forebay, Origin, date, reply};

use crate::common::{STALE, numbered, scripted};

#[test]
fn stale_object_is_validated_by_its_tag() {
    let origin = scripted(&[
        (200, &["Cache-Control: max-age=60", STALE, "ETag: \"v1\""]),
        (
            304,
            &["Cache-Control: max-age=60", "ETag: \"v1\"", "X-New: 1"],
        ),
    ]);
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    let second = forebay.get("/");
    assert_eq!(origin.last().field("if-none-match"), Some("\"v1\""));
    assert_eq!((second.status, second.text().as_str()), (200, "n0"));
    assert_eq!(
        (
            second.cache_status().forwarded(),
            second.cache_status().fwd_status
        ),
        ("stale", Some(304))
    );
    assert_eq!(
        second.field("x-new"),
        Some("1"),
        "the 304's fields are merged"
    );
    let third = forebay.get("/");
    assert!(third.is_hit(), "{third:?}");
    assert_eq!(
        (third.text().as_str(), third.field("x-new")),
        ("n0", Some("1"))
    );
    assert!(third.age() < 100, "{third:?}");
}

#[test]
fn a_304_that_forbids_storing_is_told_to_the_client_and_ends_the_object() {
    for field in ["Set-Cookie: sid=1", "Cache-Control: no-store"] {
        let origin = scripted(&[
            (200, &["Cache-Control: max-age=60", STALE, "ETag: \"v1\""]),
            (304, &[field, "ETag: \"v1\"", "X-New: 1"]),
            (200, &["Cache-Control: max-age=60"]),
        ]);
        let forebay = Forebay::before(&origin);
        forebay.get("/");
        let second = forebay.get("/");
        assert_eq!((second.status, second.text().as_str()), (200, "n0"));
        let (name, value) = field.split_once(": ").unwrap();
        assert_eq!(second.field(name), Some(value), "{second:?}");
        assert_eq!(second.field("x-new"), Some("1"), "{second:?}");
        assert_eq!(forebay.get("/").text(), "n2", "{field}");
        assert_eq!(origin.last().field("if-none-match"), None);
    }
}

#[test]
fn whose_request_is_not_to_be_stored_does_not_end_the_object() {
    for field in ["Authorization: Basic YTpi", "Cache-Control: no-store"] {
        let origin = scripted(&[
            (200, &["Cache-Control: max-age=60", STALE, "ETag: \"v1\""]),
            (304, &["ETag: \"v1\"", "X-New: 1"]),
            (304, &["Cache-Control: max-age=60", "ETag: \"v1\""]),
        ]);
        let forebay = Forebay::before(&origin);
        forebay.get("/");
        let second = forebay.get_with("/", &[field]);
        assert_eq!(second.text(), "n0", "{second:?}");
        assert_eq!(second.field("x-new"), Some("1"), "{second:?}");
        let third = forebay.get("/");
        assert_eq!(
            (third.text().as_str(), third.field("x-new")),
            ("n0", None),
            "{field}"
        );
        assert_eq!(origin.last().field("if-none-match"), Some("\"v1\""));
        assert!(forebay.get("/").is_hit());
    }
}

#[test]
fn a_client_that_has_what_may_not_be_stored_is_told_so() {
    let fields: &[&str] = &["Cache-Control: private", "ETag: \"v1\""];
    let origin = scripted(&[(200, fields), (304, fields), (200, fields)]);
    let forebay = Forebay::before(&origin);
    // The first time nobody knows: it is asked for whole, and judged here.
    let has_it = ["If-None-Match: \"v1\""];
    let first = forebay.get_with("/", &has_it);
    assert_eq!((first.status, first.text().as_str()), (304, ""));
    assert_eq!(first.field("etag"), Some("\"v1\""));
    assert_eq!(origin.last().field("if-none-match"), None);
    // Then the origin judges.
    let second = forebay.get_with("/", &has_it);
    assert_eq!((second.status, second.text().as_str()), (304, ""));
    assert_eq!(origin.last().field("if-none-match"), Some("\"v1\""));
    let other = forebay.get_with("/", &["If-None-Match: \"v2\""]);
    assert_eq!((other.status, other.text().as_str()), (200, "n2"));
}

#[test]
fn a_stale_object_is_validated_for_a_head_too() {
    let origin = scripted(&[
        (200, &["Cache-Control: max-age=60", STALE, "ETag: \"v1\""]),
        (304, &["Cache-Control: max-age=60", "ETag: \"v1\""]),
    ]);
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    let mut client = forebay.client();
    let head = client.exchange("HEAD", "/", &[], "");
    assert_eq!(
        (head.status, head.field("content-length")),
        (200, Some("2"))
    );
    assert_eq!(origin.last().field("if-none-match"), Some("\"v1\""));
    assert!(client.exchange("HEAD", "/", &[], "").is_hit());
    assert!(client.get("/").is_hit());
    assert_eq!(origin.count(), 2);
}

#[test]
fn a_head_whose_object_has_changed_is_answered_as_its_conditions_have_it() {
    let fields: &[&str] = &["Cache-Control: max-age=60", STALE, "ETag: \"v1\""];
    let changed: &[&str] = &["ETag: \"v2\""];
    let origin = scripted(&[(200, fields), (200, changed), (200, changed)]);
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    for (condition, status) in [("If-Match: \"v1\"", 412), ("If-None-Match: \"v2\"", 304)] {
        let mut client = forebay.client();
        let head = client.exchange("HEAD", "/", &[condition], "");
        assert_eq!(head.status, status, "{condition}");
    }
}

#[test]
fn a_stale_object_stands_in_for_a_head_too() {
    let origin = scripted(&[
        (
            200,
            &["Cache-Control: max-age=60, stale-if-error=9999999", STALE],
        ),
        (503, &[]),
    ]);
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    let head = forebay.client().exchange("HEAD", "/", &[], "");
    assert_eq!(
        (head.status, head.field("content-length")),
        (200, Some("2"))
    );
}

#[test]
fn stale_object_is_validated_by_its_date() {
    let modified = date::from_now(-5000);
    let field = format!("Last-Modified: {modified}");
    let origin = scripted(&[
        (200, &["Cache-Control: max-age=60", STALE, &field]),
        (304, &["Cache-Control: max-age=60"]),
    ]);
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    assert_eq!(forebay.get("/").text(), "n0");
    assert_eq!(
        origin.last().field("if-modified-since"),
        Some(modified.as_str())
    );
    assert!(forebay.get("/").is_hit());
}

#[test]
fn validation_that_brings_a_new_object_replaces_the_old() {
    let origin = scripted(&[
        (200, &["Cache-Control: max-age=60", STALE, "ETag: \"v1\""]),
        (200, &["Cache-Control: max-age=60", "ETag: \"v2\""]),
    ]);
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    assert_eq!(forebay.get("/").text(), "n1");
    let hit = forebay.get("/");
    assert_eq!(
        (hit.is_hit(), hit.text().as_str(), hit.field("etag")),
        (true, "n1", Some("\"v2\""))
    );
}

#[test]
fn no_cache_is_stored_and_validated_each_time() {
    let origin = scripted(&[
        (200, &["Cache-Control: no-cache", "ETag: \"v1\""]),
        (304, &["Cache-Control: no-cache", "ETag: \"v1\""]),
    ]);
    let forebay = Forebay::before(&origin);
    for _ in 0..3 {
        assert_eq!(forebay.get("/").text(), "n0");
    }
    assert_eq!(origin.count(), 3);
    assert_eq!(origin.last().field("if-none-match"), Some("\"v1\""));
}

#[test]
fn framing_fields_of_a_304_are_not_merged() {
    let origin = Origin::sequence(&[
        reply(200, &["Cache-Control: max-age=60", STALE, "ETag: \"a\"", "Content-Type: text/plain"], "body"),
        "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nCache-Control: max-age=60\r\nContent-Length: 9999\r\nContent-Encoding: gzip\r\nContent-Range: bytes 0-1/2\r\n\r\n".into(),
    ]);
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    for _ in 0..2 {
        let response = forebay.get("/");
        assert_eq!(
            (response.text().as_str(), response.field("content-length")),
            ("body", Some("4"))
        );
        assert!(response.field("content-range").is_none(), "{response:?}");
    }
}

#[test]
fn client_with_the_current_tag_gets_304_from_the_cache() {
    let origin = numbered(&[
        "Cache-Control: max-age=60",
        "ETag: \"v1\"",
        "Content-Type: text/plain",
        "X-A: 1",
    ]);
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    for tags in ["\"v1\"", "\"x\", \"v1\"", "W/\"v1\"", "*"] {
        let response = forebay.get_with("/", &[&format!("If-None-Match: {tags}")]);
        assert_eq!((response.status, response.is_hit()), (304, true), "{tags}");
        // RFC 9110 section 15.4.5: what a 200 would have carried of these.
        assert_eq!(response.field("etag"), Some("\"v1\""));
        assert!(response.field("cache-control").is_some() && response.field("date").is_some());
    }
    for tags in ["\"v2\"", "\"V1\"", "v1"] {
        assert_eq!(
            forebay
                .get_with("/", &[&format!("If-None-Match: {tags}")])
                .status,
            200,
            "{tags}"
        );
    }
    assert_eq!(origin.count(), 1);
}

#[test]
fn client_with_the_current_date_gets_304_from_the_cache() {
    let modified = "Sun, 06 Nov 1994 08:49:37 GMT";
    let origin = numbered(&[
        "Cache-Control: max-age=60",
        &format!("Last-Modified: {modified}"),
    ]);
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    let ask = |date: &str| {
        forebay
            .get_with("/", &[&format!("If-Modified-Since: {date}")])
            .status
    };
    assert_eq!(ask(modified), 304);
    assert_eq!(ask("Sunday, 06-Nov-94 08:49:37 GMT"), 304);
    assert_eq!(ask("Sun Nov  6 08:49:37 1994"), 304);
    assert_eq!(ask("Sun, 06 Nov 1994 08:49:38 GMT"), 304);
    assert_eq!(ask("Sun, 06 Nov 1994 08:49:36 GMT"), 200);
    assert_eq!(ask("nonsense"), 200);
    assert_eq!(origin.count(), 1);
}

#[test]
fn tags_are_stronger_than_dates() {
    let modified = "Sun, 06 Nov 1994 08:49:37 GMT";
    let origin = numbered(&[
        "Cache-Control: max-age=60",
        "ETag: \"v1\"",
        &format!("Last-Modified: {modified}"),
    ]);
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    let since = format!("If-Modified-Since: {modified}");
    assert_eq!(
        forebay
            .get_with("/", &["If-None-Match: \"other\"", &since])
            .status,
        200
    );
    assert_eq!(
        forebay
            .get_with(
                "/",
                &[
                    "If-None-Match: \"v1\"",
                    "If-Modified-Since: Sun, 06 Nov 1994 00:00:00 GMT"
                ]
            )
            .status,
        304
    );
}

#[test]
fn failed_preconditions_are_412_from_the_cache() {
    let modified = "Sun, 06 Nov 1994 08:49:37 GMT";
    let origin = numbered(&[
        "Cache-Control: max-age=60",
        "ETag: \"v1\"",
        &format!("Last-Modified: {modified}"),
    ]);
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    for (field, status) in [
        ("If-Match: \"v1\"", 200),
        ("If-Match: *", 200),
        ("If-Match: \"v2\"", 412),
        ("If-Match: W/\"v1\"", 412),
        ("If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT", 200),
        ("If-Unmodified-Since: Sun, 06 Nov 1994 08:49:36 GMT", 412),
    ] {
        let response = forebay.get_with("/", &[field]);
        // A cache may leave these two to the origin (RFC 9111 section 4.3.2), which answers 200 here.
        assert!(
            response.status == status || !response.is_hit(),
            "{field}: {response:?}"
        );
        assert_eq!(response.status, status, "{field}");
    }
}

#[test]
fn conditional_miss_fetches_something_to_store_or_passes_the_condition() {
    let origin = Origin::start(|request, connection| {
        let fields = ["Cache-Control: max-age=60", "ETag: \"v1\""];
        match request.field("if-none-match") {
            Some("\"v1\"") => connection.send(reply(304, &fields, "")),
            _ => connection.send(reply(200, &fields, "whole")),
        }
    });
    let forebay = Forebay::before(&origin);
    assert_eq!(
        forebay.get_with("/", &["If-None-Match: \"v1\""]).status,
        304
    );
    let next = forebay.get("/");
    assert_eq!((next.status, next.text().as_str()), (200, "whole"));
    assert!(forebay.get("/").is_hit());
}

#[test]
fn conditional_request_validates_a_stale_object_and_gets_its_own_answer() {
    let origin = Origin::start(|request, connection| {
        let age = if request.number == 0 { STALE } else { "Age: 0" };
        let fields = ["Cache-Control: max-age=60", "ETag: \"v1\"", age];
        match request.field("if-none-match") {
            Some(tags) if tags.contains("\"v1\"") => connection.send(reply(304, &fields, "")),
            _ => connection.send(reply(200, &fields, "whole")),
        }
    });
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    // This client has something else: it needs the whole, although the origin says 304 to our tag.
    let other = forebay.get_with("/", &["If-None-Match: \"v0\""]);
    assert_eq!((other.status, other.text().as_str()), (200, "whole"));
    assert_eq!(
        forebay.get_with("/", &["If-None-Match: \"v1\""]).status,
        304
    );
}

#[test]
fn failed_validation_does_not_destroy_the_object() {
    let origin = scripted(&[
        (200, &["Cache-Control: max-age=60", STALE, "ETag: \"a\""]),
        (503, &[]),
        (304, &["Cache-Control: max-age=60", "ETag: \"a\""]),
    ]);
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    assert_eq!(
        forebay.get("/").status,
        503,
        "nothing allows the stale answer"
    );
    assert_eq!(forebay.get("/").text(), "n0");
    assert_eq!(origin.last().field("if-none-match"), Some("\"a\""));
}

#[test]
fn head_updates_or_invalidates_but_never_answers_with_a_body() {
    let origin = Origin::start(|request, connection| {
        let fields = ["Cache-Control: max-age=60", "ETag: \"v1\""];
        let text = reply(200, &fields, "whole");
        let end = if request.method == "HEAD" {
            text.len() - 5
        } else {
            text.len()
        };
        connection.send(&text[..end]);
    });
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    let mut client = forebay.client();
    let head = client.exchange("HEAD", "/", &[], "");
    assert_eq!(
        (head.is_hit(), head.field("content-length")),
        (true, Some("5"))
    );
    assert_eq!(
        client
            .exchange("HEAD", "/", &["If-None-Match: \"v1\""], "")
            .status,
        304
    );
    assert_eq!(client.get("/").text(), "whole");
    assert_eq!(origin.count(), 1);
}

#[test]
fn head_response_is_never_served_to_a_get() {
    let origin = Origin::start(|request, connection| match request.method.as_str() {
        "HEAD" => connection
            .send("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 5\r\n\r\n"),
        _ => connection.send(reply(200, &["Cache-Control: max-age=60"], "whole")),
    });
    let forebay = Forebay::before(&origin);
    forebay.client().exchange("HEAD", "/", &[], "");
    assert_eq!(forebay.get("/").text(), "whole");
}

#[test]
fn object_without_validator_is_fetched_anew() {
    let origin = numbered(&["Cache-Control: max-age=60", STALE]);
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    assert_eq!(forebay.get("/").text(), "n1");
    let request = origin.last();
    assert!(
        request.field("if-none-match").is_none() && request.field("if-modified-since").is_none()
    );
}

#[test]
fn conditions_of_the_client_are_not_sent_with_our_own() {
    let origin = numbered(&["Cache-Control: max-age=60", "ETag: \"ours\"", STALE]);
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    forebay.get_with(
        "/",
        &[
            "If-None-Match: \"theirs\"",
            "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT",
        ],
    );
    let request = origin.last();
    assert_eq!(
        request.fields.all("if-none-match").count(),
        1,
        "{request:?}"
    );
    assert!(
        request.fields.joined("if-none-match").contains("\"ours\""),
        "{request:?}"
    );
}

#[test]
fn passed_requests_keep_their_conditions() {
    let origin = Origin::fixed(reply(304, &["ETag: \"a\""], ""));
    let forebay = Forebay::start(&Config::to(&origin).cache("pass = true"));
    assert_eq!(forebay.get_with("/", &["If-None-Match: \"a\""]).status, 304);
    assert_eq!(origin.last().field("if-none-match"), Some("\"a\""));
}
