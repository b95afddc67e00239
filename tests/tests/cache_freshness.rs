//! What is stored and for how long (RFC 9111 sections 3, 4.2 and 5.2).

use std::time::{Duration, Instant};

use forebay_tests::{Forebay, date};

use crate::common::{expect_hits, expect_hits_with, numbered, scripted};

#[test]
fn explicit_freshness_makes_hits() {
    let (later, earlier) = (date::from_now(100), date::from_now(-100));
    let (expires, expired) = (format!("Expires: {later}"), format!("Expires: {earlier}"));
    expect_hits(&[
        (&["Cache-Control: max-age=60"], true),
        (&["Cache-Control: max-age=0"], false),
        (&["Cache-Control: s-maxage=60, max-age=0"], true),
        (&["Cache-Control: s-maxage=0, max-age=60"], false),
        (&[&expires], true),
        (&[&expired], false),
        (&["Expires: 0"], false),
        (&["Cache-Control: max-age=60", &expired], true),
        (&["Cache-Control: max-age=0", &expires], false),
        (&["CACHE-CONTROL: MAX-AGE=60"], true),
        (
            &["Cache-Control: public", "Cache-Control: max-age=60"],
            true,
        ),
        (
            &["Cache-Control: unknown, max-age=60, other=\"x, no-store\""],
            true,
        ),
        (&["Cache-Control: max-age=99999999999999999999"], true),
    ]);
}

#[test]
fn nothing_without_a_basis_is_a_hit() {
    expect_hits(&[
        (&[], false),
        (&["Cache-Control: max-age=-1"], false),
        (&["Cache-Control: max-age=1.5"], false),
        (&["Cache-Control: max-age=x"], false),
        (&["Cache-Control: s-maxage"], false),
        (&["Expires: tomorrow"], false),
        (&["Cache-Control: xmax-age=60"], false),
        (&["Cache-Control: \"max-age=60\""], false),
    ]);
}

#[test]
fn directives_that_forbid_reuse() {
    expect_hits(&[
        (&["Cache-Control: no-store, max-age=60"], false),
        (&["Cache-Control: max-age=60, no-cache"], false),
        (&["Cache-Control: private, max-age=60"], false),
        (
            &["Cache-Control: max-age=60", "Cache-Control: no-store"],
            false,
        ),
        (&["Cache-Control: No-Store, max-age=60"], false),
        (&["Cache-Control: max-age=60", "Pragma: no-cache"], true),
        (&["Cache-Control: max-age=60", "Vary: *"], false),
    ]);
}

#[test]
fn fields_named_by_private_and_no_cache_are_kept_back() {
    let named = [
        "Cache-Control: max-age=60, private=\"X-Secret, x-other\"",
        "Cache-Control: max-age=60, no-cache=\"X-Secret, x-other\"",
        "CDN-Cache-Control: max-age=60, private=\"X-Secret, x-other\"",
        "CDN-Cache-Control: max-age=60, no-cache=\"X-Secret, x-other\"",
        "CDN-Cache-Control: max-age=60\r\nCache-Control: private=\"X-Secret, x-other\"",
    ];
    for control in named {
        let origin = numbered(&[control, "X-Secret: 1", "X-Other: 2", "X-Open: 3"]);
        let forebay = Forebay::before(&origin);
        assert_eq!(
            forebay.get("/").field("x-secret"),
            Some("1"),
            "the first client gets all"
        );
        let second = forebay.get("/");
        assert!(second.is_hit(), "{second:?}");
        assert!(
            second.field("x-secret").is_none() && second.field("x-other").is_none(),
            "{second:?}"
        );
        assert_eq!(second.field("x-open"), Some("3"));
    }
}

#[test]
fn heuristic_freshness_comes_from_last_modified() {
    let (old, new) = (date::from_now(-864_000), date::from_now(5));
    let (old, new) = (
        format!("Last-Modified: {old}"),
        format!("Last-Modified: {new}"),
    );
    expect_hits(&[
        (&[&old], true),
        (&[&new], false),
        (&["Last-Modified: never"], false),
    ]);
    expect_hits_with(|c| c.cache("heuristic = false"), &[], &[(&[&old], false)]);
    expect_hits_with(|c| c.cache("heuristic_max = 0"), &[], &[(&[&old], false)]);
}

#[test]
fn statuses_are_stored_with_explicit_freshness() {
    for status in [
        200, 203, 204, 300, 301, 302, 303, 307, 308, 404, 405, 410, 414, 501, 500, 503, 299, 499,
    ] {
        let origin = scripted(&[(status, &["Cache-Control: max-age=60", "Location: /x"])]);
        let forebay = Forebay::before(&origin);
        assert_eq!(forebay.get("/").status, status);
        let second = forebay.get("/");
        assert_eq!((second.status, second.is_hit()), (status, true));
    }
}

#[test]
fn statuses_are_stored_by_heuristics_as_the_rfc_allows() {
    let modified = format!("Last-Modified: {}", date::from_now(-864_000));
    for (status, expected) in [
        (200, true),
        (203, true),
        (204, true),
        (300, true),
        (301, true),
        (308, true),
        (404, true),
        (405, true),
        (410, true),
        (414, true),
        (501, true),
        (302, false),
        (307, false),
        (201, false),
        (403, false),
        (500, false),
        (502, false),
        (503, false),
    ] {
        let origin = scripted(&[(status, &[&modified])]);
        let forebay = Forebay::before(&origin);
        forebay.get("/");
        assert_eq!(forebay.get("/").is_hit(), expected, "{status}");
    }
}

#[test]
fn must_understand_keeps_unknown_statuses_out() {
    for (status, expected) in [(200, true), (299, false), (499, false)] {
        let origin = scripted(&[(
            status,
            &["Cache-Control: max-age=60, must-understand, no-store"],
        )]);
        let forebay = Forebay::before(&origin);
        forebay.get("/");
        assert_eq!(forebay.get("/").is_hit(), expected, "{status}");
    }
}

#[test]
fn authorization_keeps_responses_apart_unless_allowed() {
    let request = ["Authorization: Basic eDp5"];
    expect_hits_with(
        |c| c,
        &request,
        &[
            (&["Cache-Control: max-age=60"], false),
            (&["Cache-Control: max-age=60, public"], true),
            (&["Cache-Control: s-maxage=60"], true),
            (&["Cache-Control: max-age=60, must-revalidate"], true),
        ],
    );
}

#[test]
fn set_cookie_is_not_stored_unless_told() {
    let fields: &[&str] = &["Cache-Control: max-age=60", "Set-Cookie: a=b"];
    expect_hits(&[(fields, false)]);
    expect_hits_with(
        |c| c.cache("store_set_cookie = true"),
        &[],
        &[(fields, true)],
    );
}

#[test]
fn age_counts_on_from_the_origins() {
    let origin = numbered(&["Cache-Control: max-age=600", "Age: 100"]);
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    let hit = forebay.get("/");
    assert!(hit.is_hit());
    assert!((100..110).contains(&hit.age()), "{hit:?}");
    assert!(
        (485..=500).contains(&hit.cache_status().ttl.unwrap()),
        "{hit:?}"
    );
}

#[test]
fn age_counts_from_the_date() {
    let dated = format!("Date: {}", date::from_now(-200));
    let origin = numbered(&["Cache-Control: max-age=600", &dated, "Age: 100"]);
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    let hit = forebay.get("/");
    // RFC 9111 section 4.2.3: the larger of apparent and corrected age.
    assert!((200..210).contains(&hit.age()), "{hit:?}");
}

#[test]
fn age_beyond_the_freshness_makes_stale() {
    let old = format!("Date: {}", date::from_now(-120));
    expect_hits(&[
        (&["Cache-Control: max-age=60", "Age: 59000"], false),
        (&["Cache-Control: max-age=60", "Age: 60"], false),
        (&["Cache-Control: max-age=60", &old], false),
        // Which age was meant cannot be known: the careful reading.
        (&["Cache-Control: max-age=60", "Age: nonsense"], false),
    ]);
}

#[test]
fn freshness_ends_to_the_second() {
    let origin = numbered(&["Cache-Control: max-age=2"]);
    let forebay = Forebay::before(&origin);
    let before = Instant::now();
    forebay.get("/");
    let after = Instant::now();
    let hit = forebay.get("/");
    assert!(hit.is_hit() || before.elapsed() >= Duration::from_secs(2));
    std::thread::sleep(Duration::from_millis(2050).saturating_sub(after.elapsed()));
    assert!(!forebay.get("/").is_hit());
}

#[test]
fn age_of_a_hit_grows_with_time() {
    let origin = numbered(&["Cache-Control: max-age=60"]);
    let forebay = Forebay::before(&origin);
    let before = Instant::now();
    forebay.get("/");
    let stored = Instant::now();
    std::thread::sleep(Duration::from_millis(1100));
    let least = stored.elapsed().as_secs();
    let hit = forebay.get("/");
    let most = before.elapsed().as_secs() + 1;
    assert!(
        (least..=most).contains(&hit.age()),
        "Age {} outside {least}..={most}",
        hit.age()
    );
}
