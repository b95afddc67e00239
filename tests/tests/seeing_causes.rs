//! What the operator sees of causes: why the cache did not answer, where bytes came from, which
//! server was slow or failed.

use forebay_tests::{Config, Forebay, Origin, reply};
use serde_json::Value;

use crate::common::numbered;

/// The value of a metric with these labels.
fn figure(forebay: &Forebay, line: &str) -> f64 {
    let text = forebay.admin("GET", "/metrics").text();
    let found = text
        .lines()
        .find_map(|candidate| candidate.strip_prefix(line)?.strip_prefix(' '));
    found
        .unwrap_or_else(|| panic!("no {line} in\n{text}"))
        .parse()
        .unwrap()
}

fn reason(forebay: &Forebay, reason: &str) -> f64 {
    figure(
        forebay,
        &format!("forebay_cache_miss_reasons_total{{reason=\"{reason}\"}}"),
    )
}

#[test]
fn each_miss_has_its_reason() {
    let origin = Origin::start(|request, connection| {
        let fields: &[&str] = match request.target.as_str() {
            "/private" => &["Cache-Control: private"],
            "/vary" => &["Cache-Control: max-age=60", "Vary: Accept-Language"],
            "/stale" => &["Cache-Control: max-age=60", "Age: 1000", "ETag: \"a\""],
            _ => &["Cache-Control: max-age=60"],
        };
        connection.send(reply(200, fields, "body"));
    });
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.get_with("/", &[]);
    client.get_with("/", &[]);
    client.get_with("/private", &[]);
    client.get_with("/private", &[]);
    client.get_with("/vary", &["Accept-Language: de"]);
    client.get_with("/vary", &["Accept-Language: en"]);
    client.get_with("/stale", &[]);
    client.get_with("/stale", &[]);
    client.exchange("POST", "/", &["Content-Length: 0"], "");
    forebay.wait_for_metric("forebay_responses_total", 9.0);
    // Of each URL the first request found nothing.
    for (name, expected) in [
        ("uri-miss", 4.0),
        ("hit-for-miss", 1.0),
        ("vary-miss", 1.0),
        ("stale", 1.0),
        ("method", 1.0),
        ("bypass", 0.0),
        ("purged", 0.0),
        ("other", 0.0),
    ] {
        assert_eq!(reason(&forebay, name), expected, "{name}");
    }
}

#[test]
fn bytes_are_told_apart_by_their_source() {
    let origin = numbered(&["Cache-Control: max-age=60"]);
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    for _ in 0..4 {
        assert_eq!(client.get("/").text(), "n0");
    }
    forebay.wait_for_metric("forebay_responses_total", 4.0);
    let bytes = |source: &str| {
        figure(
            &forebay,
            &format!("forebay_served_bytes_total{{source=\"{source}\"}}"),
        )
    };
    assert_eq!(
        (bytes("origin"), bytes("memory"), bytes("disk")),
        (2.0, 6.0, 0.0)
    );
}

#[test]
fn each_server_has_figures_of_its_own() {
    let good = numbered(&["Cache-Control: no-store"]);
    let bad = Origin::fixed(reply(503, &["Cache-Control: no-store"], "no"));
    let forebay = Forebay::start(&Config::new(&[&good.server(), &bad.server()]));
    let mut client = forebay.client();
    for n in 0..6 {
        client.get(&format!("/{n}"));
    }
    forebay.wait_for_metric("forebay_responses_total", 6.0);
    let of = |name: &str, origin: &Origin| {
        let server = origin.server();
        let line = format!("forebay_origin_server_{name}{{pool=\"app\",server=\"{server}\"}}");
        figure(&forebay, &line)
    };
    for (name, expected) in [
        ("requests_total", (3.0, 3.0)),
        ("connects_total", (1.0, 1.0)),
        ("failures_total", (0.0, 3.0)),
        ("errors_total", (0.0, 0.0)),
        ("first_byte_seconds_count", (3.0, 3.0)),
        ("active", (0.0, 0.0)),
        ("failed", (0.0, 0.0)),
    ] {
        assert_eq!((of(name, &good), of(name, &bad)), expected, "{name}");
    }
}

#[test]
fn a_server_that_is_gone_shows_as_failed() {
    let good = numbered(&["Cache-Control: no-store"]);
    let mut gone = numbered(&[]);
    let address = gone.server();
    gone.kill();
    let forebay = Forebay::start(&Config::new(&[&address, &good.server()]));
    assert_eq!(forebay.get("/").status, 200);
    let of = |name: &str| {
        let line = format!("forebay_origin_server_{name}{{pool=\"app\",server=\"{address}\"}}");
        figure(&forebay, &line)
    };
    assert_eq!((of("failed"), of("errors_total")), (1.0, 1.0));
    assert_eq!((of("requests_total"), of("connects_total")), (0.0, 0.0));
    let status: Value = serde_json::from_slice(&forebay.admin("GET", "/status").body).unwrap();
    assert_eq!(status["servers"][0]["failed"], true, "{status}");
}
