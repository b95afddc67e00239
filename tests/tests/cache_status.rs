//! The reason for every answer, in `Cache-Status` (RFC 9211), and the
//! directives that are for us alone (RFC 9213).

use forebay_tests::{Config, Forebay, Origin, reply};

use crate::common::{STALE, expect_hits, expect_hits_with, is_fresh_for, numbered};

#[test]
fn miss_and_hit_have_the_exact_text() {
    let origin = numbered(&["Cache-Control: max-age=600"]);
    let forebay = Forebay::before(&origin);
    let miss = forebay.get("/").fields.joined("cache-status");
    let mut parameters: Vec<&str> = miss
        .split("; ")
        .filter(|p| !p.starts_with("ttl="))
        .collect();
    parameters[1..].sort_unstable();
    assert_eq!(
        parameters,
        ["forebay", "fwd-status=200", "fwd=uri-miss", "stored"],
        "{miss}"
    );
    let hit = forebay.get("/").fields.joined("cache-status");
    let ttl: u64 = hit
        .strip_prefix("forebay; hit; ttl=")
        .expect(&hit)
        .parse()
        .unwrap();
    assert!((590..=600).contains(&ttl), "{hit}");
}

#[test]
fn reasons_for_going_forward() {
    let origin = Origin::start(|request, connection| match request.target.as_str() {
        "/store" => connection.send(reply(200, &["Cache-Control: max-age=60"], "x")),
        "/stale" => connection.send(reply(
            200,
            &["Cache-Control: max-age=60", STALE, "ETag: \"a\""],
            "x",
        )),
        _ => connection.send(reply(200, &["Cache-Control: no-store"], "x")),
    });
    let forebay = Forebay::before(&origin);
    let reason = |method: &str, target: &str, fields: &[&str]| {
        forebay
            .exchange(method, target, fields, "")
            .cache_status()
            .forwarded()
            .to_owned()
    };
    assert_eq!(reason("GET", "/store", &[]), "uri-miss");
    assert_eq!(reason("POST", "/other", &[]), "method");
    assert_eq!(
        reason("GET", "/store", &["Cache-Control: no-cache"]),
        "request"
    );
    assert_eq!(reason("GET", "/stale", &[]), "uri-miss");
    assert_eq!(reason("GET", "/stale", &[]), "stale");
    let uncacheable = forebay.get("/never").cache_status();
    assert_eq!(
        (uncacheable.forwarded(), uncacheable.stored),
        ("uri-miss", false)
    );
}

#[test]
fn pass_is_a_bypass() {
    let origin = numbered(&["Cache-Control: max-age=60"]);
    let forebay = Forebay::start(&Config::to(&origin).cache("pass = true"));
    for _ in 0..2 {
        let status = forebay.get("/").cache_status();
        assert_eq!(
            (status.forwarded(), status.stored, status.hit),
            ("bypass", false, false)
        );
    }
    assert_eq!(origin.count(), 2);
}

#[test]
fn our_member_comes_behind_the_origins() {
    let origin = numbered(&["Cache-Control: max-age=60", "Cache-Status: inner; hit"]);
    let forebay = Forebay::before(&origin);
    for _ in 0..2 {
        let value = forebay.get("/").fields.joined("cache-status");
        assert!(value.starts_with("inner; hit, forebay; "), "{value}");
    }
}

#[test]
fn cache_status_can_be_left_out() {
    let origin = numbered(&["Cache-Control: max-age=60"]);
    let forebay = Forebay::start(&Config::to(&origin).cache("cache_status = false"));
    for _ in 0..2 {
        assert!(forebay.get("/").field("cache-status").is_none());
    }
}

#[test]
fn fwd_status_is_the_origins() {
    let origin = Origin::fixed(reply(404, &[], "x"));
    let forebay = Forebay::before(&origin);
    assert_eq!(forebay.get("/").cache_status().fwd_status, Some(404));
}

#[test]
fn errors_of_our_own_are_no_hits() {
    let mut origin = numbered(&[]);
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    origin.kill();
    let response = forebay.get("/2");
    assert!(response.status >= 500);
    assert!(
        !response.fields.joined("cache-status").contains("hit"),
        "{response:?}"
    );
}

#[test]
fn cdn_cache_control_overrides_cache_control() {
    expect_hits(&[
        (
            &["CDN-Cache-Control: max-age=60", "Cache-Control: no-store"],
            true,
        ),
        (
            &["CDN-Cache-Control: max-age=60", "Cache-Control: private"],
            true,
        ),
        (
            &["CDN-Cache-Control: no-store", "Cache-Control: max-age=60"],
            false,
        ),
        (
            &["CDN-Cache-Control: max-age=0", "Cache-Control: max-age=60"],
            false,
        ),
        (
            &["CDN-Cache-Control: private", "Cache-Control: max-age=60"],
            false,
        ),
        (&["CDN-Cache-Control: max-age=60", "Expires: 0"], true),
        // RFC 9213 section 2.2: a field that cannot be parsed, or is empty, is ignored.
        (
            &[
                "CDN-Cache-Control: max-age=60, &",
                "Cache-Control: no-store",
            ],
            false,
        ),
        (&["CDN-Cache-Control:", "Cache-Control: max-age=60"], true),
        (
            &["Other-Cache-Control: max-age=60", "Cache-Control: no-store"],
            false,
        ),
    ]);
}

#[test]
fn targeted_fields_are_the_operators_choice() {
    let cases: &[(&[&str], bool)] = &[
        (
            &[
                "Forebay-Cache-Control: max-age=60",
                "CDN-Cache-Control: no-store",
                "Cache-Control: no-store",
            ],
            true,
        ),
        (
            &["CDN-Cache-Control: max-age=60", "Cache-Control: no-store"],
            true,
        ),
    ];
    let line = "targeted_fields = [\"Forebay-Cache-Control\", \"CDN-Cache-Control\"]";
    expect_hits_with(|config| config.cache(line), &[], cases);
    expect_hits_with(
        |config| config.cache("targeted_fields = []"),
        &[],
        &[(
            &["CDN-Cache-Control: max-age=60", "Cache-Control: no-store"],
            false,
        )],
    );
}

/// What a client gets of the origin's `Surrogate-Control`, in answers of every kind.
fn surrogate_control_sent(settings: &str, fields: &[&str]) -> Vec<Option<String>> {
    let origin = Origin::start(|request, connection| {
        let fields = [
            "surrogate-control: max-age=60",
            "Cache-Control: no-cache",
            "Surrogate-Control: content=\"ESI/1.0\"",
            "ETag: \"1\"",
        ];
        let status = request.target[1..].parse().unwrap_or(200);
        connection.send(reply(status, &fields, "hello"));
    });
    let config = Config::to(&origin).cache(settings).append(
        "[site.a]\npool = \"app\"\n[[site.a.path]]\nmatch = \"/changed\"\nset_response_headers = { X-A = \"1\" }\n",
    );
    let forebay = Forebay::start(&config);
    let mut client = forebay.client();
    let mut sent = |method: &str, target: &str, more: &[&str], status: u16| {
        let answer = client.exchange(method, target, &[fields, more].concat(), "");
        assert_eq!(answer.status, status, "{method} {target} {more:?}");
        answer.field("surrogate-control").map(str::to_owned)
    };
    vec![
        sent("GET", "/", &[], 200),
        sent("GET", "/", &[], 200),
        sent("HEAD", "/", &[], 200),
        sent("GET", "/", &["If-None-Match: \"1\""], 304),
        sent("GET", "/", &["Range: bytes=1-2"], 206),
        sent("GET", "/", &["Range: bytes=0-0, 2-3"], 206),
        sent("POST", "/", &[], 200),
        sent("GET", "/404", &[], 404),
        sent("GET", "/changed", &[], 200),
        sent("GET", "/changed", &[], 200),
    ]
}

#[test]
fn surrogate_control_that_is_heeded_is_not_for_clients() {
    let heeded = "targeted_fields = [\"surrogate-control\"]";
    let hidden = surrogate_control_sent(heeded, &[]);
    assert!(hidden.iter().all(Option::is_none), "{hidden:?}");
    let surrogate = ["Surrogate-Capability: edge=\"Surrogate/1.0\""];
    let passed_on = surrogate_control_sent(heeded, &surrogate);
    assert!(passed_on.iter().all(Option::is_some), "{passed_on:?}");
    // Who does not heed it is no surrogate, and leaves it to whoever is one.
    let unheeded = surrogate_control_sent("targeted_fields = [\"CDN-Cache-Control\"]", &[]);
    assert!(unheeded.iter().all(Option::is_some), "{unheeded:?}");
}

#[test]
fn surrogate_control_is_heeded_where_it_is_listed() {
    let fields = [
        "Surrogate-Control: max-age=60",
        "Cache-Control: private, max-age=5",
    ];
    let origin = Origin::fixed(reply(200, &fields, "x"));
    let listed = Config::to(&origin).cache("targeted_fields = [\"Surrogate-Control\"]");
    let forebay = Forebay::start(&listed);
    forebay.get("/");
    let hit = forebay.get("/");
    assert!(is_fresh_for(&hit, 60), "{hit:?}");
    assert_eq!(hit.field("cache-control"), Some("private, max-age=5"));
    let told = origin.last();
    let capability = Some("forebay=\"Surrogate/1.0\"");
    assert_eq!(told.field("surrogate-capability"), capability);
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    assert!(!forebay.get("/").is_hit());
    assert_eq!(origin.last().field("surrogate-capability"), None);
}
