//! Each route of the API over real sockets.
#![allow(clippy::unwrap_used)]

mod harness;

use forebay_admin::control::{Order, What};
use harness::{Running, running};
use serde_json::{Value, json};

#[test]
fn the_description_names_every_route_that_answers() {
    let server = running();
    let answer = server.get("/api/v1/openapi.json");
    assert_eq!(answer.status, 200);
    let document = answer.json();
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["info"]["version"], "1.2.3");
    for (path, operations) in document["paths"].as_object().unwrap() {
        for method in operations.as_object().unwrap().keys() {
            // A method that no path has says which it has; a stream is not read here.
            let answer = server.send("DELETE", path, "", "");
            assert_eq!(answer.status, 405, "{method} {path}");
            let allow = method.to_uppercase();
            assert!(answer.head.contains(&allow), "{path}: {}", answer.head);
        }
    }
}

#[test]
fn the_status_has_everything_in_one_document() {
    let status = running().get("/api/v1/status").json();
    assert_eq!(status["version"], "1.2.3");
    assert_eq!(status["pid"], std::process::id());
    assert_eq!(status["memory"]["used_bytes"], 11);
    assert!(status["memory"]["resident_bytes"].as_u64().unwrap() > 0);
    assert_eq!(status["listening"], json!(["127.0.0.1:80"]));
    assert_eq!(status["disk"], Value::Null);
    assert_eq!(status["log_level"], "info");
    let mut members: Vec<&String> = status.as_object().unwrap().keys().collect();
    let document = running().get("/api/v1/openapi.json").json();
    let schema = &document["components"]["schemas"]["Status"]["properties"];
    let mut described: Vec<&String> = schema.as_object().unwrap().keys().collect();
    members.sort();
    described.sort();
    assert_eq!(members, described);
}

#[test]
fn figures_settings_and_history_are_json() {
    let server = running();
    let counters = server.get("/api/v1/counters").json();
    assert_eq!(counters["counters"]["requests"], 0);
    assert_eq!(counters["gauges"]["workers"], 2);
    let config = server.get("/api/v1/config").json();
    assert_eq!(
        config["settings"][0],
        json!({ "name": "cache.memory", "value": "1GiB", "default": true })
    );
    let history = server.get("/api/v1/history?seconds=60").json();
    assert!(history["columns"]["requests"].is_array());
}

#[test]
fn an_object_is_looked_up_by_its_url() {
    let server = running();
    let found = server
        .get("/api/v1/objects?url=http%3A%2F%2Fa%2Fb%3Fc%3D1%26d")
        .json();
    assert_eq!(found["url"], "http://a/b?c=1&d");
    assert_eq!(found["variants"][0]["status"], 200);
    let missing = server.get("/api/v1/objects");
    assert_eq!(missing.status, 400);
    assert_eq!(missing.json()["error"], "the parameter `url` is missing");
    assert_eq!(server.get("/api/v1/objects?url=a+b").status, 422);
}

#[test]
fn lists_have_a_limit() {
    let server = running();
    let count = |target: &str| {
        let answer = server.get(target).json();
        answer["objects"].as_array().unwrap().len()
    };
    assert_eq!(count("/api/v1/objects/hottest"), 20);
    assert_eq!(count("/api/v1/objects/hottest?limit=3"), 3);
    for target in [
        "/api/v1/objects/hottest?limit=0",
        "/api/v1/objects/hottest?limit=1001",
        "/api/v1/objects/hottest?limt=3",
        "/api/v1/objects/hottest?limit=3&limit=4",
        "/api/v1/objects/hottest?limit=%zz",
        "/api/v1/history?seconds=0",
        "/api/v1/log?status=6xx",
    ] {
        let answer = server.get(target);
        assert_eq!(answer.status, 400, "{target}");
        assert!(answer.json()["error"].is_string());
    }
}

#[test]
fn what_a_server_is_without_is_503_and_said() {
    let answer = running().get("/api/v1/objects/biggest");
    assert_eq!(answer.status, 503);
    let error = answer.json()["error"].as_str().unwrap().to_owned();
    assert!(error.contains("not available"), "{error}");
}

fn purge(server: &Running, body: &Value) -> (u16, Value) {
    let answer = server.json("POST", "/api/v1/purge", &body.to_string());
    (answer.status, answer.json())
}

#[test]
fn a_purge_is_carried_out_as_it_is_written() {
    let server = running();
    let (status, answer) = purge(&server, &json!({ "tags": ["a", "b"], "soft": true }));
    assert_eq!(
        (status, &answer["done"], &answer["failed"]),
        (200, &json!(1), &json!(0))
    );
    assert_eq!(answer["results"][0]["done"], "purged");
    assert_eq!(
        *server.control.orders.lock().unwrap(),
        [Order {
            what: What::Tags(vec!["a".into(), "b".into()]),
            soft: true
        }]
    );
    let (status, answer) = purge(&server, &json!({ "url": "bad" }));
    assert_eq!(
        (status, &answer["error"]),
        (422, &json!("`bad` is not a URL"))
    );
}

#[test]
fn a_batch_says_what_came_of_each_order() {
    let server = running();
    let orders = json!({ "orders": [{ "url": "a/1" }, { "url": "bad" }, { "all": true }] });
    let (status, answer) = purge(&server, &orders);
    assert_eq!(
        (status, &answer["done"], &answer["failed"]),
        (200, &json!(2), &json!(1))
    );
    assert_eq!(
        answer["results"][1],
        json!({ "error": "`bad` is not a URL" })
    );
    assert_eq!(server.control.orders.lock().unwrap().len(), 2);
}

#[test]
fn a_batch_with_a_malformed_order_does_nothing() {
    let server = running();
    let (status, answer) = purge(
        &server,
        &json!({ "orders": [{ "all": true }, { "any": true }] }),
    );
    assert_eq!(status, 422);
    assert!(answer["error"].as_str().unwrap().starts_with("orders[1]: "));
    assert!(server.control.orders.lock().unwrap().is_empty());
}

#[test]
fn the_body_must_be_json_and_small_and_say_so() {
    let server = running();
    let json = "Content-Type: application/json; charset=utf-8\r\n";
    let all = r#"{"all":true}"#;
    let send = |fields: &str, body: &str| server.send("POST", "/api/v1/purge", fields, body).status;
    assert_eq!(send("", all), 415);
    assert_eq!(send("Content-Type: text/plain\r\n", all), 415);
    assert_eq!(
        send("Content-Type: application/x-www-form-urlencoded\r\n", all),
        415
    );
    assert_eq!(send(json, "{"), 400);
    assert_eq!(send(json, ""), 400);
    assert_eq!(send(json, &"[".repeat(100_000)), 400);
    assert_eq!(send(json, &"x".repeat((1 << 20) + 1)), 413);
    assert!(server.control.orders.lock().unwrap().is_empty());
    assert_eq!(send(json, all), 200);
    let chunked = format!("{json}Transfer-Encoding: chunked\r\n");
    let request = format!(
        "POST /api/v1/purge HTTP/1.1\r\nHost: localhost\r\n{chunked}\r\n5\r\n{{\"all\r\n7\r\n\":true}}\r\n0\r\n\r\n"
    );
    assert_eq!(server.raw(request.as_bytes()).status, 200);
    let broken = request.replace("\r\n7\r\n", "\n7\r\n");
    assert_eq!(server.raw(broken.as_bytes()).status, 400);
    let both = request.replace("Transfer-", "Content-Length: 5\r\nTransfer-");
    assert_eq!(server.raw(both.as_bytes()).status, 400);
}

#[test]
fn a_client_that_asks_first_is_told_to_go_on() {
    use std::io::{Read, Write};
    let server = running();
    let mut stream = server.connect();
    let head = "POST /api/v1/purge HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                Expect: 100-continue\r\nContent-Length: 12\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let mut go_on = [0; 25];
    stream.read_exact(&mut go_on).unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"{\"all\":true}").unwrap();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert!(rest.starts_with("HTTP/1.1 200 "), "{rest}");
}

#[test]
fn the_log_level_is_read_and_changed() {
    let server = running();
    assert_eq!(
        server.get("/api/v1/log-level").json(),
        json!({ "level": "info" })
    );
    let put = |body: &str| server.json("PUT", "/api/v1/log-level", body);
    assert_eq!(
        put(r#"{"level":"debug"}"#).json(),
        json!({ "level": "debug" })
    );
    assert_eq!(put(r#"{"level":"loud"}"#).status, 422);
    assert_eq!(put(r#"{"level":"warn","more":1}"#).status, 422);
    assert_eq!(put(r#""warn""#).status, 422);
    assert_eq!(*server.control.level.lock().unwrap(), "debug");
}

#[test]
fn reload_drain_and_bans() {
    let server = running();
    let post = |target: &str| server.send("POST", target, "", "");
    let reloaded = post("/api/v1/reload").json();
    assert_eq!(
        reloaded,
        json!({ "reloaded": true, "warnings": ["a warning"] })
    );
    assert_eq!(post("/api/v1/drain").status, 202);
    let again = post("/api/v1/drain");
    assert_eq!(
        (again.status, again.json()["error"].is_string()),
        (409, true)
    );
    assert_eq!(server.get("/api/v1/status").json()["draining"], true);
    assert_eq!(server.get("/api/v1/bans").json()["bans"][0]["soft"], false);
}

#[test]
fn errors_of_the_api_are_json_and_those_beside_it_text() {
    let server = running();
    for target in ["/api/v1/nothing", "/api/v2/status", "/api/"] {
        let answer = server.get(target);
        assert_eq!(answer.status, 404, "{target}");
        assert!(answer.json()["error"].is_string());
    }
    let beside = server.get("/nothing");
    assert_eq!(beside.status, 404);
    assert!(beside.head.contains("text/plain"), "{}", beside.head);
    let method = server.send("PATCH", "/api/v1/log-level", "", "");
    assert!(
        method.head.contains("\r\nAllow: GET, HEAD, PUT\r\n"),
        "{}",
        method.head
    );
    let misdirected = server.raw(b"GET /api/v1/status HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    assert_eq!(misdirected.status, 421);
    assert!(misdirected.json()["error"].is_string());
}

#[test]
fn head_answers_like_get_without_a_body() {
    let server = running();
    for target in ["/api/v1/status", "/api/v1/openapi.json", "/api/v1/log"] {
        let answer = server.send("HEAD", target, "", "");
        assert_eq!((answer.status, answer.body.as_str()), (200, ""), "{target}");
    }
}
