//! Active health checks: a server that is not well gets no requests, and gets them again when it is.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use forebay_tests::{Config, Connection, Event, Forebay, Origin, PhpFpm, Request, reply};

use crate::common::eventually;

/// Answers with `name`, and on `/health` with how it is.
fn server(name: &'static str, is_well: &Arc<AtomicBool>) -> Origin {
    let is_well = Arc::clone(is_well);
    Origin::start(move |request: &Request, connection: &mut Connection| {
        let is_check = request.target == "/health";
        let (status, body) = match (is_check, is_well.load(SeqCst)) {
            (true, true) => (200, "all is well"),
            (true, false) => (503, "not today"),
            (false, _) => (200, name),
        };
        connection.send(reply(status, &["Cache-Control: no-store"], body));
    })
}

fn checked(servers: &[&str], check: &[&str]) -> Config {
    let config = Config::new(servers)
        .set("pool.app.health", "interval = \"100ms\"")
        .set("pool.app.health", "rise = 2")
        .set("pool.app.health", "fall = 2");
    check
        .iter()
        .fold(config, |config, line| config.set("pool.app.health", line))
}

/// Who answers, of twenty requests.
fn who_answers(forebay: &Forebay) -> Vec<String> {
    let mut names: Vec<String> = (0..20)
        .map(|n| forebay.get(&format!("/{n}")).text())
        .collect();
    names.sort();
    names.dedup();
    names
}

#[test]
fn server_that_says_it_is_ill_gets_no_requests_until_it_is_well_again() {
    let (well_a, well_b) = (
        Arc::new(AtomicBool::new(true)),
        Arc::new(AtomicBool::new(true)),
    );
    let (a, b) = (server("a", &well_a), server("b", &well_b));
    let config = checked(&[&a.server(), &b.server()], &["path = \"/health\""]);
    let forebay = Forebay::start(&config);
    assert_eq!(who_answers(&forebay), ["a", "b"]);
    well_b.store(false, SeqCst);
    forebay.wait_for_output("server is down: status 503");
    assert_eq!(who_answers(&forebay), ["a"]);
    well_b.store(true, SeqCst);
    forebay.wait_for_output("server is up again");
    assert_eq!(who_answers(&forebay), ["a", "b"]);
}

#[test]
fn check_looks_into_the_body_and_says_what_was_missing() {
    let well = Arc::new(AtomicBool::new(true));
    let origin = server("a", &well);
    let check = ["path = \"/health\"", "body = \"splendid\""];
    let forebay = Forebay::start(&checked(&[&origin.server()], &check));
    forebay.wait_for_output("the body does not contain `splendid`");
    let response = forebay.get("/");
    assert_eq!(response.status, 503, "no server takes requests");
}

#[test]
fn check_is_asked_for_under_the_name_that_the_settings_give() {
    let well = Arc::new(AtomicBool::new(true));
    let origin = server("a", &well);
    let check = ["path = \"/health\"", "host = \"shop.example\""];
    let _forebay = Forebay::start(&checked(&[&origin.server()], &check));
    let requests = origin.wait_for(1);
    assert_eq!(requests[0].target, "/health");
    assert_eq!(requests[0].field("Host"), Some("shop.example"));
}

#[test]
fn without_a_path_a_connection_is_enough() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let well = Arc::new(AtomicBool::new(true));
    let other = server("other", &well);
    let config = checked(&[&address.to_string(), &other.server()], &[]);
    let forebay = Forebay::start(&config);
    // The kernel accepts for it: it counts as up, until nobody listens any more.
    drop(listener);
    forebay.wait_for_output("server is down: the origin cannot be reached");
    assert_eq!(who_answers(&forebay), ["other"]);
    let _back = TcpListener::bind(address).unwrap();
    forebay.wait_for_output("server is up again");
}

#[test]
fn server_that_hangs_is_down_after_the_time_out() {
    let hangs = Origin::raw(|connection| while connection.request().is_ok() {});
    let check = ["path = \"/health\"", "timeout = \"100ms\""];
    let forebay = Forebay::start(&checked(&[&hangs.server()], &check));
    forebay.wait_for_output("server is down: no answer within 100ms");
}

#[test]
fn reload_without_checks_brings_a_server_back() {
    let well = Arc::new(AtomicBool::new(false));
    let origin = server("a", &well);
    let config = checked(&[&origin.server()], &["path = \"/health\""]);
    let forebay = Forebay::start(&config);
    forebay.wait_for_output("server is down");
    assert_eq!(forebay.get("/").status, 503);
    forebay.write_config(&Config::to(&origin).text());
    assert_eq!(forebay.admin("POST", "/reload").status, 200);
    eventually(|| forebay.get("/again").status == 200);
}

#[test]
fn php_fpm_is_asked_by_its_ping_page() {
    let mut fpm = PhpFpm::start(1);
    let config = checked(
        &[&fpm.server()],
        &[
            "path = \"/ping\"",
            "body = \"pong\"",
            "host = \"localhost\"",
        ],
    )
    .set("pool.app", "protocol = \"fastcgi\"");
    let forebay = Forebay::start(&config);
    fpm.stop();
    forebay.wait_for_output("server is down");
    fpm.restart();
    forebay.wait_for_output("server is up again");
}

/// Answers when it is let, and counts what it works on at once.
fn slow(let_go: &Event, most: &Arc<AtomicUsize>) -> Origin {
    let (let_go, most, now) = (let_go.clone(), Arc::clone(most), AtomicUsize::new(0));
    Origin::start(move |_: &Request, connection: &mut Connection| {
        most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
        let_go.wait();
        now.fetch_sub(1, SeqCst);
        connection.send(reply(200, &["Cache-Control: no-store"], "done"));
    })
}

#[test]
fn check_is_not_one_request_more_than_a_server_takes() {
    let (let_go, most) = (Event::new("let go"), Arc::new(AtomicUsize::new(0)));
    let origin = slow(&let_go, &most);
    let well = Arc::new(AtomicBool::new(true));
    let other = server("other", &well);
    // The other one, of another pool, tells that time has passed.
    let config = checked(&[&origin.server()], &["path = \"/health\""])
        .set("pool.app.health", "timeout = \"20s\"")
        .set("pool.app", "max_connections = 1")
        .set("pool.other", &format!("servers = [{:?}]", other.server()))
        .set("pool.other.health", "path = \"/health\"")
        .set("pool.other.health", "interval = \"100ms\"")
        .set("site.app", "hosts = [\"*\"]")
        .set("site.app", "pool = \"app\"");
    let forebay = Forebay::start(&config);
    let mut clients: Vec<_> = (0..3).map(|_| forebay.client()).collect();
    for client in &mut clients {
        client.send_request("GET", "/", &[], "");
    }
    origin.wait_for(1);
    other.wait_for(other.count() + 10);
    assert_eq!(most.load(SeqCst), 1);
    let_go.set();
    for client in &mut clients {
        assert_eq!(client.read().status, 200);
    }
    eventually(|| {
        let requests = origin.requests();
        requests.iter().any(|request| request.target == "/health")
    });
    assert_eq!(most.load(SeqCst), 1);
}
