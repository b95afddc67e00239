//! The methods PURGE and BAN: who may use them, and URLs.

use forebay_tests::{Config, Forebay, Origin, reply};

use crate::common::numbered;
use crate::purge::{fill, json, kept, open, purge, with_fields};

#[test]
fn nobody_may_purge_unless_told() {
    let origin = with_fields(&[]);
    let forebay = Forebay::before(&origin);
    fill(&forebay, &["/a"]);
    for method in ["PURGE", "BAN"] {
        for fields in [
            &[][..],
            &["xkey: a"],
            &["X-Ban: url ~ ."],
            &["X-Magento-Tags-Pattern: .*"],
        ] {
            let response = forebay.exchange(method, "/a", fields, "");
            assert_eq!(response.status, 403, "{response:?}");
        }
    }
    assert_eq!(kept(&forebay, &["/a"]), ["/a"]);
    assert_eq!(origin.count(), 1, "a purge went to the origin");
}

#[test]
fn clients_of_other_addresses_are_refused() {
    let origin = with_fields(&[]);
    let config = Config::to(&origin).set("purge", "allow = [\"10.0.0.0/8\", \"::1\"]");
    let forebay = Forebay::start(&config);
    fill(&forebay, &["/a"]);
    assert_eq!(forebay.exchange("PURGE", "/a", &[], "").status, 403);
    // What the client says about itself is not believed.
    let fields = ["X-Forwarded-For: 10.1.2.3", "Forwarded: for=10.1.2.3"];
    assert_eq!(forebay.exchange("PURGE", "/a", &fields, "").status, 403);
    assert_eq!(kept(&forebay, &["/a"]), ["/a"]);
}

#[test]
fn network_of_the_client_is_allowed() {
    let origin = with_fields(&[]);
    let config = Config::to(&origin).set("purge", "allow = [\"127.0.0.0/8\"]");
    let forebay = Forebay::start(&config);
    fill(&forebay, &["/a"]);
    purge(&forebay, "PURGE", "/a", &[]);
    assert!(kept(&forebay, &["/a"]).is_empty());
}

#[test]
fn token_allows_whatever_the_address() {
    let origin = with_fields(&[]);
    let config = Config::to(&origin).set("purge", "tokens = [\"a-long-random-text\"]");
    let forebay = Forebay::start(&config);
    fill(&forebay, &["/a"]);
    for wrong in [
        "Authorization: Bearer a-long-random-tex",
        "Authorization: Bearer a-long-random-textt",
        "Authorization: Bearer ",
        "Authorization: Basic a-long-random-text",
        "X-Token: a-long-random-text",
    ] {
        assert_eq!(
            forebay.exchange("PURGE", "/a", &[wrong], "").status,
            403,
            "{wrong}"
        );
    }
    assert_eq!(kept(&forebay, &["/a"]), ["/a"]);
    purge(
        &forebay,
        "PURGE",
        "/a",
        &["Authorization: bearer a-long-random-text"],
    );
    assert!(kept(&forebay, &["/a"]).is_empty());
}

#[test]
fn url_is_purged_with_its_query_and_nothing_else() {
    let forebay_origin = with_fields(&[]);
    let forebay = Forebay::start(&open(&forebay_origin));
    let targets = ["/a", "/a?x=1", "/a?x=2", "/a/b", "/ab"];
    fill(&forebay, &targets);
    let answer = json(&purge(&forebay, "PURGE", "/a?x=1", &[]));
    assert_eq!(answer["objects"], 1, "{answer}");
    assert_eq!(kept(&forebay, &targets), ["/a", "/a?x=2", "/a/b", "/ab"]);
    purge(&forebay, "BAN", "/a", &[]);
    assert_eq!(kept(&forebay, &targets), ["/a?x=2", "/a/b", "/ab"]);
    let nothing = json(&purge(&forebay, "PURGE", "/never", &[]));
    assert_eq!(nothing["objects"], 0, "{nothing}");
}

#[test]
fn url_of_another_host_stays() {
    let origin = with_fields(&[]);
    let forebay = Forebay::start(&open(&origin));
    for host in ["Host: a.example", "Host: b.example"] {
        forebay.get_with("/x", &[host]);
    }
    purge(&forebay, "PURGE", "/x", &["Host: A.Example"]);
    let is_hit = |host: &str| forebay.get_with("/x", &[host]).is_hit();
    assert_eq!(
        (is_hit("Host: a.example"), is_hit("Host: b.example")),
        (false, true)
    );
}

#[test]
fn all_variants_of_a_url_are_purged() {
    let origin = Origin::start(|request, connection| {
        let kind = request.field("x-kind").unwrap_or("none");
        connection.send(reply(
            200,
            &["Cache-Control: max-age=600", "Vary: X-Kind"],
            kind,
        ));
    });
    let forebay = Forebay::start(&open(&origin));
    let kinds = ["X-Kind: a", "X-Kind: b", "X-Kind: c"];
    for kind in kinds {
        forebay.get_with("/", &[kind]);
        assert!(forebay.get_with("/", &[kind]).is_hit());
    }
    let answer = json(&purge(&forebay, "PURGE", "/", &["X-Kind: b"]));
    assert_eq!(answer["objects"], 3, "{answer}");
    for kind in kinds {
        assert!(!forebay.get_with("/", &[kind]).is_hit(), "{kind}");
    }
}

#[test]
fn purged_url_is_fetched_anew_and_kept_again() {
    let origin = numbered(&["Cache-Control: max-age=600", "ETag: \"a\""]);
    let forebay = Forebay::start(&open(&origin));
    forebay.get("/");
    purge(&forebay, "PURGE", "/", &[]);
    let response = forebay.get("/");
    assert_eq!(response.text(), "n1");
    assert_eq!(response.cache_status().forwarded(), "uri-miss");
    // What is gone is not asked about.
    assert_eq!(origin.last().field("if-none-match"), None);
    let hit = forebay.get("/");
    assert!(hit.is_hit());
    assert_eq!(hit.text(), "n1");
}

#[test]
fn url_of_a_site_keyed_without_the_query() {
    let origin = with_fields(&[]);
    let config = open(&origin).cache("key = [\"host\", \"path\"]");
    let forebay = Forebay::start(&config);
    fill(&forebay, &["/a?x=1"]);
    assert_eq!(kept(&forebay, &["/a?x=2"]), ["/a?x=2"]);
    purge(&forebay, "PURGE", "/a", &[]);
    assert!(kept(&forebay, &["/a?x=1", "/a?x=2", "/a"]).is_empty());
    fill(&forebay, &["/a?x=1"]);
    purge(&forebay, "PURGE", "/a?anything=else", &[]);
    assert!(kept(&forebay, &["/a?x=1", "/a?x=2", "/a"]).is_empty());
}

#[test]
fn url_of_a_site_with_ignored_and_sorted_parameters() {
    let origin = with_fields(&[]);
    let config = open(&origin)
        .cache("ignore_query = [\"utm_*\"]")
        .cache("sort_query = true");
    let forebay = Forebay::start(&config);
    fill(&forebay, &["/a?b=2&a=1&utm_source=x"]);
    purge(&forebay, "PURGE", "/a?a=1&b=2", &[]);
    assert!(kept(&forebay, &["/a?a=1&b=2", "/a?b=2&a=1"]).is_empty());
}

#[test]
fn url_of_a_site_keyed_by_a_field_is_purged_for_every_value() {
    let origin = with_fields(&[]);
    let config = open(&origin).cache("key = [\"host\", \"path\", \"query\", \"header:X-Country\"]");
    let forebay = Forebay::start(&config);
    let is_hit = |country: &str| forebay.get_with("/a", &[country]).is_hit();
    for country in ["X-Country: ch", "X-Country: de"] {
        is_hit(country);
        assert!(is_hit(country));
    }
    fill(&forebay, &["/b"]);
    purge(&forebay, "PURGE", "/a", &[]);
    assert_eq!(
        (is_hit("X-Country: ch"), is_hit("X-Country: de")),
        (false, false)
    );
    assert_eq!(kept(&forebay, &["/b"]), ["/b"]);
}

#[test]
fn pattern_of_urls_as_wordpress_sends_it() {
    let origin = with_fields(&[]);
    let forebay = Forebay::start(&open(&origin));
    let targets = ["/blog/1", "/blog/2?p=3", "/shop/blog/1", "/about"];
    fill(&forebay, &targets);
    forebay.get_with("/blog/1", &["Host: other.example"]);
    purge(&forebay, "PURGE", "/blog/.*", &["X-Purge-Method: regex"]);
    assert_eq!(kept(&forebay, &targets), ["/shop/blog/1", "/about"]);
    assert!(
        forebay
            .get_with("/blog/1", &["Host: other.example"])
            .is_hit()
    );
    purge(&forebay, "PURGE", "/.*", &["X-Purge-Method: regex"]);
    assert!(kept(&forebay, &targets).is_empty());
}

#[test]
fn pattern_that_makes_no_sense_is_refused_in_words() {
    let origin = with_fields(&[]);
    let forebay = Forebay::start(&open(&origin));
    fill(&forebay, &["/a"]);
    let response = forebay.exchange("PURGE", "/a(", &["X-Purge-Method: regex"], "");
    assert_eq!(response.status, 400, "{response:?}");
    assert!(!response.text().trim().is_empty());
    assert_eq!(kept(&forebay, &["/a"]), ["/a"]);
}

#[test]
fn connection_goes_on_after_a_purge_with_or_without_a_body() {
    let origin = with_fields(&[]);
    let forebay = Forebay::start(&open(&origin));
    let mut client = forebay.client();
    client.get("/a");
    assert_eq!(client.exchange("PURGE", "/a", &[], "").status, 200);
    assert!(!client.get("/a").is_hit());
    assert!(client.get("/a").is_hit());
    // What a plug-in sends along is not taken for a request.
    let response = forebay.exchange("PURGE", "/a", &[], "GET /b HTTP/1.1\r\n\r\n");
    assert_eq!(response.status, 200);
    assert!(kept(&forebay, &["/a", "/b"]).is_empty());
}

#[test]
fn purges_are_counted_by_kind_and_logged_with_their_status() {
    let origin = with_fields(&[]);
    let forebay = Forebay::start(&open(&origin).set("log", "access = \"stdout\""));
    fill(&forebay, &["/a"]);
    purge(&forebay, "PURGE", "/a", &[]);
    purge(&forebay, "PURGE", "/", &["xkey: b"]);
    purge(&forebay, "BAN", "/", &["X-Ban: url ~ x"]);
    assert_eq!(forebay.metric("forebay_purges_total"), Some(3.0));
    forebay.wait_for_output("\"PURGE /a HTTP/1.1\" 200");
}

#[test]
fn reload_changes_who_may_purge() {
    let origin = with_fields(&[]);
    let forebay = Forebay::start(&open(&origin));
    let mut client = forebay.client();
    assert_eq!(client.exchange("PURGE", "/a", &[], "").status, 200);
    forebay.write_config(&Config::to(&origin).text());
    assert_eq!(forebay.admin("POST", "/reload").status, 200);
    assert_eq!(forebay.exchange("PURGE", "/a", &[], "").status, 403);
}
