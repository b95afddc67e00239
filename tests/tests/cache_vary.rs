//! Variants of one resource (RFC 9111 section 4.1).

use forebay_tests::{Config, Forebay, Origin, reply};

use crate::common::STALE;

/// Echoes a request field as the body, varying by it.
fn echo(name: &'static str, more: &'static [&'static str]) -> Origin {
    Origin::start(move |request, connection| {
        let vary = format!("Vary: {name}");
        let mut fields = vec!["Cache-Control: max-age=60", vary.as_str()];
        fields.extend_from_slice(more);
        connection.send(reply(200, &fields, &request.fields.joined(name)));
    })
}

#[test]
fn each_variant_is_its_own_object() {
    let origin = echo("X-Kind", &[]);
    let forebay = Forebay::before(&origin);
    for kind in ["a", "b", ""] {
        let field = format!("X-Kind: {kind}");
        let fields: &[&str] = if kind.is_empty() { &[] } else { &[&field] };
        assert!(!forebay.get_with("/", fields).is_hit());
    }
    for kind in ["a", "b"] {
        let hit = forebay.get_with("/", &[&format!("X-Kind: {kind}")]);
        assert_eq!((hit.is_hit(), hit.text().as_str()), (true, kind));
    }
    let none = forebay.get("/");
    assert_eq!((none.is_hit(), none.text().as_str()), (true, ""));
    assert_eq!(origin.count(), 3);
}

#[test]
fn second_variant_is_a_vary_miss() {
    let origin = echo("X-Kind", &[]);
    let forebay = Forebay::before(&origin);
    assert_eq!(
        forebay
            .get_with("/", &["X-Kind: a"])
            .cache_status()
            .forwarded(),
        "uri-miss"
    );
    assert_eq!(
        forebay
            .get_with("/", &["X-Kind: b"])
            .cache_status()
            .forwarded(),
        "vary-miss"
    );
}

#[test]
fn several_fields_must_all_match() {
    let origin = echo("X-A, X-B", &[]);
    let forebay = Forebay::before(&origin);
    forebay.get_with("/", &["X-A: 1", "X-B: 2"]);
    assert!(forebay.get_with("/", &["x-b: 2", "x-a: 1"]).is_hit());
    assert!(!forebay.get_with("/", &["X-A: 1", "X-B: 3"]).is_hit());
    assert!(!forebay.get_with("/", &["X-A: 1"]).is_hit());
}

#[test]
fn white_space_and_lines_do_not_make_variants() {
    let origin = echo("X-Kind", &[]);
    let forebay = Forebay::before(&origin);
    forebay.get_with("/", &["X-Kind: a, b"]);
    // RFC 9111 section 4.1: normalisation that the field's grammar allows.
    assert!(forebay.get_with("/", &["X-Kind: a,b"]).is_hit());
    assert!(forebay.get_with("/", &["X-Kind: a", "X-Kind: b"]).is_hit());
    assert!(!forebay.get_with("/", &["X-Kind: b, a"]).is_hit());
}

#[test]
fn accept_encoding_is_normalised() {
    let origin = Origin::start(|request, connection| {
        let gzip = request.fields.joined("accept-encoding").contains("gzip");
        let coding = if gzip {
            "Content-Encoding: gzip"
        } else {
            "X-Coding: none"
        };
        connection.send(reply(
            200,
            &["Cache-Control: max-age=60", "Vary: Accept-Encoding", coding],
            "x",
        ));
    });
    let forebay = Forebay::before(&origin);
    forebay.get_with("/", &["Accept-Encoding: gzip, br"]);
    for same in [
        "br, gzip",
        "gzip;q=1.0, br;q=0.5",
        "GZIP,br",
        "gzip, br, unheard-of",
    ] {
        let response = forebay.get_with("/", &[&format!("Accept-Encoding: {same}")]);
        assert!(response.is_hit(), "{same}");
        assert_eq!(response.field("content-encoding"), Some("gzip"));
    }
    for other in ["identity", "gzip;q=0, br;q=0"] {
        let response = forebay.get_with("/", &[&format!("Accept-Encoding: {other}")]);
        assert_eq!(response.field("content-encoding"), None, "{other}");
    }
}

#[test]
fn accept_language_is_normalised_when_asked() {
    let fields = [
        "Accept-Language: en;q=0.5, de",
        "Accept-Language: DE, en;q=0.5",
    ];
    for (line, expected) in [
        ("normalize_accept_language = true", true),
        ("normalize_accept_language = false", false),
    ] {
        let origin = echo("Accept-Language", &[]);
        let forebay = Forebay::start(&Config::to(&origin).cache(line));
        forebay.get_with("/", &[fields[0]]);
        assert_eq!(
            forebay.get_with("/", &[fields[1]]).is_hit(),
            expected,
            "{line}"
        );
    }
}

#[test]
fn vary_that_changes_over_time_is_followed() {
    let origin = Origin::start(|request, connection| {
        let vary = if request.number == 0 {
            "Vary: X-A"
        } else {
            "Vary: X-B"
        };
        connection.send(reply(
            200,
            &["Cache-Control: max-age=60", vary],
            &format!("n{}", request.number),
        ));
    });
    let forebay = Forebay::before(&origin);
    forebay.get_with("/", &["X-A: 1", "X-B: 1"]);
    assert!(!forebay.get_with("/", &["X-A: 2", "X-B: 1"]).is_hit());
    // By the newer response X-B alone selects.
    assert_eq!(forebay.get_with("/", &["X-A: 3", "X-B: 1"]).text(), "n1");
}

#[test]
fn variants_are_bounded() {
    let origin = echo("X-Kind", &[]);
    let forebay = Forebay::start(&Config::to(&origin).set("limits", "variants = 4"));
    for n in 0..20 {
        forebay.get_with("/", &[&format!("X-Kind: {n}")]);
    }
    let stored = |n: i32| {
        let fields = [&*format!("X-Kind: {n}"), "Cache-Control: only-if-cached"];
        forebay.get_with("/", &fields).status == 200
    };
    assert!((0..20).filter(|n| stored(*n)).count() <= 4);
    assert!(stored(19), "the newest stays");
}

#[test]
fn vary_star_is_never_reused() {
    let origin = Origin::fixed(reply(
        200,
        &["Cache-Control: max-age=60", "Vary: X-A, *"],
        "x",
    ));
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    assert!(!forebay.get("/").is_hit());
}

#[test]
fn validation_offers_the_tag_of_its_own_variant_and_no_other() {
    let origin = Origin::start(|request, connection| {
        let kind = request.fields.joined("x-kind");
        let tag = format!("ETag: \"{kind}\"");
        let fields = ["Cache-Control: max-age=60", STALE, "Vary: X-Kind", &tag];
        let status = match request.field("if-none-match") {
            Some(_) => 304,
            None => 200,
        };
        connection.send(reply(
            status,
            &fields,
            if status == 200 { &kind } else { "" },
        ));
    });
    let forebay = Forebay::before(&origin);
    let offered = |kind: &str| {
        let response = forebay.get_with("/", &[&format!("X-Kind: {kind}")]);
        assert_eq!((response.status, response.text().as_str()), (200, kind));
        let tags = origin.last().fields.joined("if-none-match");
        (!tags.is_empty()).then_some(tags)
    };
    // RFC 9111 section 4.3.1 allows to name the tags of all variants. A variant that is not stored
    // is fetched whole: an origin that confirmed another one would confirm what was not asked for.
    for kind in ["a", "b", "c"] {
        assert_eq!(offered(kind), None, "nothing of {kind} is stored");
    }
    for kind in ["b", "a", "c", "a"] {
        assert_eq!(offered(kind), Some(format!("\"{kind}\"")));
    }
    assert_eq!(origin.count(), 7);
}

#[test]
fn cookie_as_vary_is_respected() {
    let origin = echo("Cookie", &[]);
    let forebay = Forebay::before(&origin);
    forebay.get_with("/", &["Cookie: a=1"]);
    assert!(!forebay.get_with("/", &["Cookie: a=2"]).is_hit());
    assert_eq!(forebay.get_with("/", &["Cookie: a=1"]).text(), "a=1");
}

#[test]
fn ranges_and_conditions_meet_the_right_variant() {
    let origin = Origin::start(|request, connection| {
        let kind = request.fields.joined("x-kind");
        let tag = format!("ETag: \"{kind}\"");
        let fields = ["Cache-Control: max-age=60", "Vary: X-Kind", &tag];
        connection.send(reply(200, &fields, &kind.repeat(10)));
    });
    let forebay = Forebay::before(&origin);
    for kind in ["ab", "cd"] {
        forebay.get_with("/", &[&format!("X-Kind: {kind}")]);
    }
    for (kind, other) in [("ab", "cd"), ("cd", "ab")] {
        let field = format!("X-Kind: {kind}");
        let part = forebay.get_with("/", &[&field, "Range: bytes=2-3"]);
        assert_eq!(
            (part.status, part.text().as_str(), part.is_hit()),
            (206, kind, true)
        );
        let ours = format!("If-None-Match: \"{kind}\"");
        assert_eq!(forebay.get_with("/", &[&field, &ours]).status, 304);
        let theirs = format!("If-None-Match: \"{other}\"");
        assert_eq!(forebay.get_with("/", &[&field, &theirs]).status, 200);
        let theirs = format!("If-Range: \"{other}\"");
        assert_eq!(
            forebay
                .get_with("/", &[&field, "Range: bytes=2-3", &theirs])
                .status,
            200
        );
    }
    assert_eq!(origin.count(), 2);
}
