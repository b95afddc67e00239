//! Purging through the administration's API: each kind and its answer.

use forebay_tests::{Config, Forebay, Response};
use serde_json::json;

use crate::purge::{fill, json as parsed, kept, with_fields};

const TARGETS: [&str; 4] = ["/news/1", "/news/2", "/shop", "/shop?a=b"];

fn site() -> forebay_tests::Origin {
    with_fields(&[("/news/1", &["xkey: red"]), ("/shop", &["xkey: red blue"])])
}

fn post(forebay: &Forebay, body: &serde_json::Value) -> Response {
    forebay.admin_json("POST", "/api/v1/purge", &body.to_string())
}

#[test]
fn each_kind_purges_and_says_what_it_did() {
    let origin = site();
    for (order, kind, objects, left) in [
        (
            json!({"url": "http://test.example/news/1"}),
            "url",
            json!(1),
            &TARGETS[1..],
        ),
        (
            json!({"prefix": "test.example/news"}),
            "prefix",
            json!(null),
            &TARGETS[2..],
        ),
        (
            json!({"prefix": "/shop"}),
            "prefix",
            json!(null),
            &TARGETS[..2],
        ),
        (
            json!({"prefix": "other.example/"}),
            "prefix",
            json!(null),
            &TARGETS[..],
        ),
        (
            json!({"regex": "[12]$"}),
            "regex",
            json!(null),
            &TARGETS[2..],
        ),
        (
            json!({"regex": "^/news", "host": "test.example"}),
            "regex",
            json!(null),
            &TARGETS[2..],
        ),
        (
            json!({"regex": "^/news", "host": "other.example"}),
            "regex",
            json!(null),
            &TARGETS[..],
        ),
        (
            json!({"ban": "req.url == \"/shop?a=b\""}),
            "ban",
            json!(null),
            &TARGETS[..3],
        ),
        (
            json!({"tags": ["blue", "none"]}),
            "tag",
            json!(null),
            &["/news/1", "/news/2", "/shop?a=b"],
        ),
        (json!({"all": true}), "all", json!(null), &[]),
    ] {
        let forebay = Forebay::before(&origin);
        fill(&forebay, &TARGETS);
        let answer = post(&forebay, &order);
        assert_eq!(answer.status, 200, "{order}: {answer:?}");
        let answer = parsed(&answer);
        let result = &answer["results"][0];
        assert_eq!(
            (&answer["done"], &answer["failed"]),
            (&json!(1), &json!(0)),
            "{answer}"
        );
        assert_eq!(
            (&result["kind"], &result["soft"]),
            (&json!(kind), &json!(false)),
            "{answer}"
        );
        assert_eq!(result["objects"], objects, "{order}: {answer}");
        if objects.is_null() {
            assert_eq!(result["may_touch"], 4, "{order}: {answer}");
        }
        assert!(
            result["done"]
                .as_str()
                .is_some_and(|words| !words.is_empty())
        );
        assert_eq!(kept(&forebay, &TARGETS), left, "{order}");
    }
}

#[test]
fn soft_order_leaves_the_object_and_asks_behind() {
    let origin = site();
    let forebay = Forebay::before(&origin);
    fill(&forebay, &["/shop"]);
    let answer = parsed(&post(&forebay, &json!({"tags": ["red"], "soft": true})));
    assert_eq!(answer["results"][0]["soft"], true, "{answer}");
    assert!(forebay.get("/shop").is_hit());
    origin.wait_for(2);
}

#[test]
fn batch_is_carried_out_in_order_with_an_outcome_for_each() {
    let origin = site();
    let forebay = Forebay::before(&origin);
    fill(&forebay, &TARGETS);
    let orders = json!({"orders": [
        {"url": "http://test.example/news/2"},
        {"tags": ["blue"]},
        {"ban": "url ~ ("},
        {"url": "no url at all"},
    ]});
    let answer = parsed(&post(&forebay, &orders));
    assert_eq!(
        (&answer["done"], &answer["failed"]),
        (&json!(2), &json!(2)),
        "{answer}"
    );
    assert_eq!(answer["results"][0]["objects"], 1, "{answer}");
    for wrong in [2, 3] {
        let error = answer["results"][wrong]["error"].as_str();
        assert!(error.is_some_and(|error| !error.is_empty()), "{answer}");
    }
    assert_eq!(kept(&forebay, &TARGETS), ["/news/1", "/shop?a=b"]);
}

#[test]
fn malformed_order_stops_the_whole_batch() {
    let origin = site();
    let forebay = Forebay::before(&origin);
    fill(&forebay, &TARGETS);
    for body in [
        json!({"orders": [{"all": true}, {"ulr": "x"}]}),
        json!({"url": "http://test.example/shop", "all": true}),
        json!({"ban": "url ~ ("}),
        json!({"url": "ftp://test.example/"}),
        json!({}),
    ] {
        let answer = post(&forebay, &body);
        assert_eq!(answer.status, 422, "{body}: {answer:?}");
        assert!(parsed(&answer)["error"].is_string());
    }
    let broken = forebay.admin_json("POST", "/api/v1/purge", "{\"all\": tru");
    assert_eq!(broken.status, 400, "{broken:?}");
    let form = forebay.admin("POST", "/api/v1/purge");
    assert!((400..500).contains(&form.status), "{form:?}");
    assert_eq!(kept(&forebay, &TARGETS), TARGETS);
}

#[test]
fn tokens_decide_who_may_purge() {
    let origin = site();
    let config = Config::to(&origin)
        .set("admin", "read_tokens = [\"reader-reader-reader\"]")
        .set("admin", "purge_tokens = [\"purger-purger-purger\"]");
    let forebay = Forebay::start(&config);
    fill(&forebay, &TARGETS);
    let status = |token: Option<&str>| {
        let address = forebay.admin.as_ref().unwrap();
        let host = format!("Host: {address}");
        let bearer = token.map(|token| format!("Authorization: Bearer {token}"));
        let mut fields = vec![&*host, "Content-Type: application/json"];
        fields.extend(bearer.as_deref());
        let mut client = forebay_tests::Client::connect(address);
        client
            .exchange("POST", "/api/v1/purge", &fields, "{\"all\": true}")
            .status
    };
    assert_eq!(status(None), 401);
    assert_eq!(status(Some("nobody-nobody-nobody")), 401);
    assert_eq!(status(Some("reader-reader-reader")), 403);
    assert_eq!(kept(&forebay, &TARGETS), TARGETS);
    assert_eq!(status(Some("purger-purger-purger")), 200);
    assert!(kept(&forebay, &TARGETS).is_empty());
}

#[test]
fn objects_are_described_with_why_they_are_served() {
    let origin = site();
    let forebay = Forebay::before(&origin);
    fill(&forebay, &["/shop"]);
    forebay.get("/shop");
    let look = |path: &str| {
        let url = format!("http%3A%2F%2Ftest.example{path}");
        parsed(&forebay.admin("GET", &format!("/api/v1/objects?url={url}")))
    };
    let found = look("%2Fshop");
    let variant = &found["variants"][0];
    assert_eq!(
        (&variant["status"], &variant["tier"]),
        (&json!(200), &json!("memory")),
        "{found}"
    );
    assert_eq!(variant["tags"], json!(["red", "blue"]), "{found}");
    assert_eq!(variant["freshness"], "fresh", "{found}");
    assert_eq!(look("%2Fnever")["variants"], json!([]));
    post(&forebay, &json!({"tags": ["red"], "soft": true}));
    assert_eq!(look("%2Fshop")["variants"][0]["freshness"], "grace");
    post(&forebay, &json!({"tags": ["red"]}));
    let gone = look("%2Fshop");
    let words = gone["variants"][0]["freshness"].as_str();
    assert!(words.is_none_or(|words| words == "purged"), "{gone}");
}
