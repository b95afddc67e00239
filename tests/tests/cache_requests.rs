//! What a request may ask of the cache (RFC 9111 section 5.2.1).

use forebay_tests::{Config, Forebay};

use crate::common::{STALE, numbered};

#[test]
fn request_no_store_keeps_the_response_out() {
    let origin = numbered(&["Cache-Control: max-age=60"]);
    let forebay = Forebay::before(&origin);
    forebay.get_with("/", &["Cache-Control: no-store"]);
    assert!(!forebay.get("/").is_hit());
}

#[test]
fn request_no_cache_goes_to_the_origin() {
    let origin = numbered(&["Cache-Control: max-age=60", "Age: 5"]);
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    for fields in [
        ["Cache-Control: no-cache"],
        ["Cache-Control: max-age=0"],
        ["Pragma: no-cache"],
    ] {
        let response = forebay.get_with("/", &fields);
        assert_eq!(
            (response.is_hit(), response.cache_status().forwarded()),
            (false, "request"),
            "{fields:?}"
        );
    }
    // What came replaced what was stored.
    assert_eq!(forebay.get("/").text(), "n3");
}

#[test]
fn request_freshness_limits_are_obeyed() {
    let origin = numbered(&["Cache-Control: max-age=600", "Age: 300"]);
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    assert!(
        forebay
            .get_with("/", &["Cache-Control: max-age=400"])
            .is_hit()
    );
    assert!(
        !forebay
            .get_with("/", &["Cache-Control: max-age=200"])
            .is_hit()
    );
    assert!(
        forebay
            .get_with("/", &["Cache-Control: min-fresh=200"])
            .is_hit()
    );
    assert!(
        !forebay
            .get_with("/", &["Cache-Control: min-fresh=400"])
            .is_hit()
    );
}

#[test]
fn request_may_accept_staleness() {
    let origin = numbered(&["Cache-Control: max-age=900", STALE, "ETag: \"a\""]);
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    assert!(
        forebay
            .get_with("/", &["Cache-Control: max-stale=3600"])
            .is_hit()
    );
    assert!(
        forebay
            .get_with("/", &["Cache-Control: max-stale"])
            .is_hit()
    );
    assert!(
        !forebay
            .get_with("/", &["Cache-Control: max-stale=10"])
            .is_hit()
    );
}

#[test]
fn request_directives_can_be_ignored() {
    let origin = numbered(&["Cache-Control: max-age=60"]);
    let forebay = Forebay::start(&Config::to(&origin).cache("request_directives = false"));
    forebay.get_with("/", &["Cache-Control: no-store"]);
    assert!(forebay.get_with("/", &["Cache-Control: no-cache"]).is_hit());
    assert!(forebay.get_with("/", &["Pragma: no-cache"]).is_hit());
}

#[test]
fn only_if_cached_never_reaches_the_origin() {
    let origin = numbered(&["Cache-Control: max-age=60"]);
    let forebay = Forebay::before(&origin);
    assert_eq!(
        forebay
            .get_with("/", &["Cache-Control: only-if-cached"])
            .status,
        504
    );
    assert_eq!(origin.count(), 0);
    forebay.get("/");
    assert!(
        forebay
            .get_with("/", &["Cache-Control: only-if-cached"])
            .is_hit()
    );
}
