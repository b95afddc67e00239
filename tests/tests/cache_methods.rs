//! Methods other than GET: what they may store and what they invalidate
//! (RFC 9110 section 9, RFC 9111 sections 4 and 4.4).

use forebay_tests::{Forebay, Origin, reply};

/// GETs are cacheable; other methods answer with `status` and `fields`.
fn site(status: u16, fields: &'static [&'static str]) -> Origin {
    Origin::start(move |request, connection| match request.method.as_str() {
        "GET" => connection.send(reply(
            200,
            &["Cache-Control: max-age=600"],
            &format!("n{}", request.number),
        )),
        _ => connection.send(reply(status, fields, "")),
    })
}

#[test]
fn unsafe_methods_invalidate_their_target() {
    for method in ["POST", "PUT", "DELETE", "PATCH", "M-UNKNOWN"] {
        let origin = site(200, &[]);
        let forebay = Forebay::before(&origin);
        forebay.get("/a");
        forebay.get("/b");
        forebay.exchange(method, "/a", &[], "");
        assert!(!forebay.get("/a").is_hit(), "{method}");
        assert!(
            forebay.get("/b").is_hit(),
            "{method} touched another resource"
        );
    }
}

#[test]
fn safe_methods_invalidate_nothing() {
    for method in ["OPTIONS", "HEAD", "TRACE"] {
        let origin = site(200, &[]);
        let forebay = Forebay::before(&origin);
        forebay.get("/a");
        forebay
            .client()
            .send_request(method, "/a", &[], "")
            .try_read_for(method)
            .unwrap();
        assert!(forebay.get("/a").is_hit(), "{method}");
    }
}

#[test]
fn unsafe_method_that_failed_invalidates_nothing() {
    for status in [400, 404, 500, 503] {
        let origin = site(status, &[]);
        let forebay = Forebay::before(&origin);
        forebay.get("/a");
        forebay.exchange("POST", "/a", &[], "");
        assert!(forebay.get("/a").is_hit(), "{status}");
    }
}

#[test]
fn location_and_content_location_are_invalidated_on_the_same_host() {
    for (fields, hit) in [
        (&["Location: /b"] as &'static [&'static str], false),
        (&["Content-Location: /b"], false),
        (&["Location: http://test.example/b"], false),
        (&["Location: b"], false),
        (&["Content-Location: ./x/../b"], false),
        (&["Location: http://other.example/b"], true),
        (&["Content-Location: http://test.example:8080/b"], true),
        (&["Location: //other.example/b"], true),
    ] {
        let origin = site(201, fields);
        let forebay = Forebay::before(&origin);
        forebay.get("/b");
        forebay.exchange("POST", "/a", &[], "");
        assert_eq!(forebay.get("/b").is_hit(), hit, "{fields:?}");
    }
}

#[test]
fn invalidation_reaches_every_variant() {
    let origin = Origin::start(|request, connection| {
        connection.send(reply(
            200,
            &["Cache-Control: max-age=600", "Vary: X-Kind"],
            "",
        ));
        assert!(request.number < 100);
    });
    let forebay = Forebay::before(&origin);
    for kind in ["X-Kind: a", "X-Kind: b"] {
        forebay.get_with("/", &[kind]);
    }
    forebay.exchange("PUT", "/", &[], "new");
    for kind in ["X-Kind: a", "X-Kind: b"] {
        assert!(!forebay.get_with("/", &[kind]).is_hit(), "{kind}");
    }
}

#[test]
fn post_with_explicit_freshness_and_its_own_location_serves_gets() {
    let origin = Origin::start(|request, connection| match request.method.as_str() {
        "POST" => connection.send(reply(
            200,
            &["Cache-Control: max-age=60", "Content-Location: /a"],
            "posted",
        )),
        _ => connection.send(reply(200, &["Cache-Control: max-age=60"], "got")),
    });
    let forebay = Forebay::before(&origin);
    assert_eq!(forebay.exchange("POST", "/a", &[], "x").text(), "posted");
    // RFC 9110 section 9.3.3
    let hit = forebay.get("/a");
    assert_eq!((hit.is_hit(), hit.text().as_str()), (true, "posted"));
}

#[test]
fn post_is_always_forwarded() {
    let origin = Origin::fixed(reply(
        200,
        &["Cache-Control: max-age=60", "Content-Location: /a"],
        "x",
    ));
    let forebay = Forebay::before(&origin);
    for _ in 0..3 {
        let response = forebay.exchange("POST", "/a", &[], "x");
        assert_eq!(
            (response.is_hit(), response.cache_status().forwarded()),
            (false, "method")
        );
    }
    assert_eq!(origin.count(), 3);
}

#[test]
fn post_without_location_is_not_served_to_gets() {
    let origin = Origin::start(|request, connection| {
        connection.send(reply(200, &["Cache-Control: max-age=60"], &request.method));
    });
    let forebay = Forebay::before(&origin);
    forebay.exchange("POST", "/a", &[], "x");
    assert_eq!(forebay.get("/a").text(), "GET");
}

#[test]
fn head_is_answered_from_a_get() {
    let origin = site(200, &[]);
    let forebay = Forebay::before(&origin);
    let body = forebay.get("/a").text();
    let head = forebay.exchange("HEAD", "/a", &[], "");
    assert!(head.is_hit());
    assert_eq!(head.number("content-length"), Some(body.len() as u64));
    assert_eq!(origin.count(), 1);
}

#[test]
fn cache_groups_are_invalidated_together() {
    let origin = Origin::start(|request, connection| {
        let fields: &[&str] = match (request.method.as_str(), request.target.as_str()) {
            ("GET", "/a") => &[
                "Cache-Control: max-age=60",
                "Cache-Groups: \"one\", \"two\"",
            ],
            ("GET", "/b") => &["Cache-Control: max-age=60", "Cache-Groups: \"two\""],
            ("GET", "/c") => &["Cache-Control: max-age=60", "Cache-Groups: \"three\""],
            ("GET", _) => &["Cache-Control: max-age=60"],
            _ => &["Cache-Group-Invalidation: \"two\", \"unheard-of\""],
        };
        connection.send(reply(200, fields, ""));
    });
    let forebay = Forebay::before(&origin);
    let all = ["/a", "/b", "/c", "/d"];
    all.iter().for_each(|target| drop(forebay.get(target)));
    assert!(all.iter().all(|target| forebay.get(target).is_hit()));
    // RFC 9875 section 3
    forebay.exchange("POST", "/elsewhere", &[], "x");
    let hits = all.map(|target| forebay.get(target).is_hit());
    assert_eq!(hits, [false, false, true, true]);
}

#[test]
fn group_invalidation_needs_an_unsafe_method_and_the_same_origin() {
    let origin = Origin::start(|request, connection| {
        let fields: &[&str] = match request.target.as_str() {
            "/a" => &["Cache-Control: max-age=60", "Cache-Groups: \"g\""],
            _ => &["Cache-Group-Invalidation: \"g\""],
        };
        connection.send(reply(200, fields, ""));
    });
    let forebay = Forebay::before(&origin);
    forebay.get("/a");
    forebay.get("/b");
    assert!(forebay.get("/a").is_hit(), "a GET invalidated");
    forebay.exchange("POST", "/b", &["Host: other.example"], "x");
    assert!(forebay.get("/a").is_hit(), "another host invalidated");
    forebay.exchange("POST", "/b", &[], "x");
    assert!(!forebay.get("/a").is_hit());
}

#[test]
fn malformed_group_fields_are_ignored() {
    let origin = Origin::start(|request, connection| {
        let fields: &[&str] = match request.method.as_str() {
            "GET" => &["Cache-Control: max-age=60", "Cache-Groups: \"g\""],
            _ => &["Cache-Group-Invalidation: g, \"g"],
        };
        connection.send(reply(200, fields, ""));
    });
    let forebay = Forebay::before(&origin);
    forebay.get("/a");
    forebay.exchange("POST", "/b", &[], "x");
    assert!(forebay.get("/a").is_hit());
}
