//! Tags: `xkey`, `Surrogate-Key`, `Cache-Tag`, and Magento's patterns.

use forebay_tests::{Forebay, Origin};

use crate::purge::{fill, json, kept, open, purge, with_fields};

const TARGETS: [&str; 5] = ["/one", "/two", "/both", "/case", "/none"];

fn tagged() -> Origin {
    with_fields(&[
        ("/one", &["xkey: red"]),
        ("/two", &["Surrogate-Key: blue green"]),
        ("/both", &["Cache-Tag: red,blue"]),
        ("/case", &["xkey: RED reddish"]),
    ])
}

#[test]
fn tag_hits_what_carries_it_whatever_field_named_it() {
    let origin = tagged();
    for (method, field, left) in [
        ("PURGE", "xkey: red", &["/two", "/case", "/none"][..]),
        ("BAN", "xkey: red", &["/two", "/case", "/none"]),
        ("PURGE", "xkey-purge: blue", &["/one", "/case", "/none"]),
        (
            "PURGE",
            "Surrogate-Key: green",
            &["/one", "/both", "/case", "/none"],
        ),
        ("BAN", "Cache-Tag: red,blue", &["/case", "/none"]),
        ("PURGE", "xkey: red green", &["/case", "/none"]),
        ("PURGE", "xkey: yellow", &TARGETS),
        ("PURGE", "xkey: re", &TARGETS),
    ] {
        let forebay = Forebay::start(&open(&origin));
        fill(&forebay, &TARGETS);
        // The path of a purge by tag means nothing.
        purge(&forebay, method, "/none", &[field]);
        assert_eq!(kept(&forebay, &TARGETS), left, "{method} {field}");
    }
}

#[test]
fn objects_after_the_purge_of_their_tag_stay() {
    let origin = tagged();
    let forebay = Forebay::start(&open(&origin));
    fill(&forebay, &TARGETS);
    for _ in 0..3 {
        purge(&forebay, "PURGE", "/", &["xkey: red"]);
        assert!(!forebay.get("/one").is_hit());
        assert!(forebay.get("/one").is_hit());
    }
    assert_eq!(kept(&forebay, &["/one"]), ["/one"]);
}

#[test]
fn tag_is_the_whole_caches_whatever_the_host() {
    let origin = tagged();
    let forebay = Forebay::start(&open(&origin));
    for host in ["Host: a.example", "Host: b.example"] {
        forebay.get_with("/one", &[host]);
        assert!(forebay.get_with("/one", &[host]).is_hit());
    }
    purge(&forebay, "PURGE", "/", &["Host: c.example", "xkey: red"]);
    for host in ["Host: a.example", "Host: b.example"] {
        assert!(!forebay.get_with("/one", &[host]).is_hit(), "{host}");
    }
}

#[test]
fn many_tags_on_an_object_and_in_a_purge() {
    let origin = Origin::start(|request, connection| {
        let tags: Vec<String> = (0..300).map(|n| format!("t{n}")).collect();
        let field = format!("xkey: {}", tags.join(" "));
        let fields = ["Cache-Control: max-age=600", &field];
        connection.send(forebay_tests::reply(200, &fields, &request.target));
    });
    let forebay = Forebay::start(&open(&origin));
    for tag in ["t0", "t150", "t299"] {
        fill(&forebay, &["/a"]);
        purge(&forebay, "PURGE", "/", &[&format!("xkey: {tag}")]);
        assert!(kept(&forebay, &["/a"]).is_empty(), "{tag}");
    }
    fill(&forebay, &["/a"]);
    let tags: Vec<String> = (1000..1200).map(|n| format!("t{n}")).collect();
    purge(
        &forebay,
        "PURGE",
        "/",
        &[&format!("xkey: {} t7", tags.join(" "))],
    );
    assert!(kept(&forebay, &["/a"]).is_empty());
}

#[test]
fn field_of_tags_can_be_another() {
    let origin = with_fields(&[("/one", &["X-My-Tags: red", "xkey: blue"])]);
    let forebay = Forebay::start(&open(&origin).cache("tag_fields = [\"X-My-Tags\"]"));
    fill(&forebay, &["/one"]);
    purge(&forebay, "PURGE", "/", &["xkey: blue"]);
    assert_eq!(kept(&forebay, &["/one"]), ["/one"]);
    purge(&forebay, "PURGE", "/", &["xkey: red"]);
    assert!(kept(&forebay, &["/one"]).is_empty());
}

#[test]
fn patterns_of_tags_as_magento_sends_them() {
    let origin = with_fields(&[
        ("/product", &["X-Magento-Tags: cat_p_1,cat_c_7,FPC"]),
        ("/other", &["X-Magento-Tags: cat_p_12,FPC"]),
        ("/page", &["X-Magento-Tags: cms_p_1,FPC"]),
    ]);
    let forebay = Forebay::start(&open(&origin));
    let targets = ["/product", "/other", "/page", "/none"];
    fill(&forebay, &targets);
    purge(
        &forebay,
        "PURGE",
        "/",
        &["X-Magento-Tags-Pattern: ((^|,)cat_p_1(,|$))"],
    );
    assert_eq!(kept(&forebay, &targets), ["/other", "/page", "/none"]);
    purge(
        &forebay,
        "PURGE",
        "/",
        &["X-Magento-Tags-Pattern: ((^|,)cat_p_12(,|$))|((^|,)cms_p_9(,|$))"],
    );
    assert_eq!(kept(&forebay, &targets), ["/page", "/none"]);
    purge(&forebay, "PURGE", "/", &["X-Magento-Tags-Pattern: .*"]);
    assert!(kept(&forebay, &targets).is_empty());
}

#[test]
fn tag_of_thousands_of_objects_is_answered_and_hits_all() {
    let origin = Origin::start(|_, connection| {
        let fields = ["Cache-Control: max-age=600", "xkey: all"];
        connection.send(forebay_tests::reply(200, &fields, "x"));
    });
    let forebay = Forebay::start(&open(&origin));
    let mut client = forebay.client();
    for n in 0..2000 {
        client.get(&format!("/{n}"));
    }
    let answer = json(&purge(&forebay, "PURGE", "/", &["xkey: all"]));
    assert!(answer["may_touch"].as_u64() >= Some(2000), "{answer}");
    for n in (0..2000).step_by(97) {
        assert!(!client.get(&format!("/{n}")).is_hit(), "{n}");
    }
}
