//! Pools: servers added, removed, drained and weighed while requests go on.

use std::collections::BTreeSet;

use forebay_tests::{Config, Forebay, Origin, Said, reply};
use serde_json::{Value, json};

/// An origin that says its name.
fn named(name: &'static str) -> Origin {
    Origin::start(move |_, connection| connection.send(reply(200, &[], name)))
}

fn uncached(origin: &Origin) -> Config {
    Config::to(origin).cache("pass = true")
}

/// Who answers.
fn who(forebay: &Forebay) -> BTreeSet<String> {
    let mut client = forebay.client();
    (0..8).map(|_| client.get("/").text()).collect()
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(ToString::to_string).collect()
}

fn change(forebay: &Forebay, order: Value) -> (u16, Value) {
    let answer = forebay.admin_json("POST", "/api/v1/servers", &order.to_string());
    let said = serde_json::from_str(&answer.text()).expect("JSON");
    (answer.status, said)
}

fn ok(said: Said) -> String {
    assert_eq!(said.status, 0, "{}", said.stderr);
    said.stdout
}

#[test]
fn a_server_comes_drains_comes_back_and_goes() {
    let (one, two) = (named("one"), named("two"));
    let forebay = Forebay::start(&uncached(&one));
    let second = two.server();
    let added = ok(forebay.command(&["pool", "add", "app", &second, "--weight", "2"]));
    assert!(added.contains("is up, weight 2"), "{added}");
    assert_eq!(who(&forebay), names(&["one", "two"]));

    ok(forebay.command(&["pool", "drain", "app", &one.server()]));
    assert_eq!(who(&forebay), names(&["two"]));
    let list = ok(forebay.command(&["pool"]));
    assert!(list.contains("draining"), "{list}");
    assert!(list.contains("by the operator"), "{list}");

    ok(forebay.command(&["pool", "up", "app", &one.server()]));
    ok(forebay.command(&["pool", "set", "app", &second, "--weight", "0"]));
    assert_eq!(who(&forebay), names(&["one"]));

    ok(forebay.command(&["pool", "remove", "app", &second]));
    let pools = forebay.admin("GET", "/api/v1/pools").text();
    assert!(!pools.contains(&second), "{pools}");
}

#[test]
fn a_reload_undoes_what_is_not_kept() {
    let (one, two, three) = (named("one"), named("two"), named("three"));
    let forebay = Forebay::start(&uncached(&one));
    let add = |server: &Origin, keep: bool| {
        let order = json!({
            "pool": "app", "server": server.server(), "action": "add", "keep": keep,
        });
        change(&forebay, order).1["holds"].clone()
    };
    assert_eq!(add(&two, false), "now");
    assert_eq!(add(&three, true), "reloads");
    assert_eq!(who(&forebay), names(&["one", "two", "three"]));
    ok(forebay.command(&["reload"]));
    assert_eq!(who(&forebay), names(&["one", "three"]));

    ok(forebay.command(&["pool", "remove", "app", &one.server(), "--keep"]));
    ok(forebay.command(&["reload"]));
    assert_eq!(who(&forebay), names(&["three"]));
    ok(forebay.command(&["pool", "add", "app", &one.server()]));
    assert_eq!(who(&forebay), names(&["one", "three"]));
}

#[test]
fn what_is_kept_is_there_after_a_restart() {
    let (one, two) = (named("one"), named("two"));
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("servers.json");
    let config = uncached(&one).set("server", &format!("state_file = {:?}", file));
    let mut forebay = Forebay::start(&config);
    let order = json!({ "pool": "app", "server": two.server(), "action": "add", "keep": true });
    assert_eq!(change(&forebay, order).1["holds"], "restarts");
    ok(forebay.command(&["pool", "down", "app", &one.server(), "--keep"]));
    forebay.kill();

    let forebay = Forebay::start(&config);
    assert_eq!(who(&forebay), names(&["two"]));
    ok(forebay.command(&["pool", "up", "app", &one.server(), "--keep"]));
    ok(forebay.command(&["pool", "remove", "app", &two.server(), "--keep"]));
    assert_eq!(who(&forebay), names(&["one"]));
    let kept = std::fs::read_to_string(&file).expect("the file");
    assert!(!kept.contains(&two.server()), "{kept}");

    // A file that is damaged is put aside; the server starts with what its configuration says.
    drop(forebay);
    std::fs::write(&file, "{").expect("written");
    let forebay = Forebay::start(&config);
    forebay.wait_for_output("servers.json.damaged");
    assert_eq!(who(&forebay), names(&["one"]));
}

#[test]
fn orders_that_cannot_be_carried_out_are_refused_in_words() {
    let one = named("one");
    let forebay = Forebay::start(&uncached(&one));
    let server = one.server();
    for (pool, server, action, status, words) in [
        ("none", &*server, "drain", 404, "there is no pool"),
        ("app", "127.0.0.1:9", "drain", 404, "has no server"),
        ("app", &*server, "add", 409, "has the server"),
        ("app", "ftp://127.0.0.1", "add", 422, "not a way to reach"),
        ("app", "https://127.0.0.1", "add", 422, "TLS"),
        ("app", &*server, "stop", 422, "there is no action"),
    ] {
        let order = json!({ "pool": pool, "server": server, "action": action });
        let (got, said) = change(&forebay, order);
        let error = said["error"].as_str().unwrap_or_default();
        assert_eq!(got, status, "{pool} {server} {action}: {error}");
        assert!(error.contains(words), "{error}");
    }
    let wrong = forebay.command(&["pool", "set", "app", &server]);
    assert_eq!(wrong.status, 2, "a change of nothing");
    let none = forebay.command(&["app", "replace", "shop"]);
    assert_eq!(none.status, 1);
    assert!(none.stderr.contains("no application"), "{}", none.stderr);
}

#[test]
fn what_cannot_be_written_down_is_not_done() {
    let (one, two) = (named("one"), named("two"));
    let config = uncached(&one).set("server", "state_file = \"/proc/forebay/servers.json\"");
    let forebay = Forebay::start(&config);
    let order = json!({ "pool": "app", "server": two.server(), "action": "add", "keep": true });
    let (status, said) = change(&forebay, order);
    assert_eq!(status, 500, "{said}");
    assert_eq!(who(&forebay), names(&["one"]));
}
