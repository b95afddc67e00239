//! Every quantity a client can drive has an end (design: limits).

use std::io::Read;
use std::time::{Duration, Instant};

use forebay_tests::{Broken, Client, Config, Event, Forebay, Origin, reply};

fn limited(line: &str) -> (Origin, Forebay) {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let forebay = Forebay::start(&Config::to(&origin).set("limits", line));
    (origin, forebay)
}

#[track_caller]
fn answered_and_closed(forebay: &Forebay, request: &str, status: u16) {
    let mut client = forebay.client();
    client.send_anyway(request);
    assert_eq!(client.read().status, status);
    client.expect_close();
}

#[test]
fn request_line_beyond_its_limit_is_414() {
    let (origin, forebay) = limited("request_line = \"1KiB\"");
    let target = "x".repeat(1200);
    answered_and_closed(
        &forebay,
        &format!("GET /{target} HTTP/1.1\r\nHost: a\r\n\r\n"),
        414,
    );
    assert_eq!(forebay.get(&format!("/{}", &target[..900])).status, 200);
    drop(forebay);
    assert_eq!(origin.count(), 1);
}

#[test]
fn request_line_that_never_ends_is_414() {
    let (_origin, forebay) = limited("request_line = \"1KiB\"");
    answered_and_closed(&forebay, &format!("GET /{}", "x".repeat(3000)), 414);
}

#[test]
fn head_beyond_its_limit_is_431() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let config = Config::to(&origin)
        .set("limits", "request_head = \"2KiB\"")
        .set("limits", "request_line = \"1KiB\"");
    let forebay = Forebay::start(&config);
    let field = format!("X: {}\r\n", "x".repeat(3000));
    answered_and_closed(
        &forebay,
        &format!("GET / HTTP/1.1\r\nHost: a\r\n{field}\r\n"),
        431,
    );
    answered_and_closed(
        &forebay,
        &format!("GET / HTTP/1.1\r\nHost: a\r\n{field}"),
        431,
    );
    let small = format!("X: {}", "x".repeat(1500));
    assert_eq!(forebay.get_with("/", &[&small]).status, 200);
    assert_eq!(origin.count(), 1);
}

#[test]
fn fields_beyond_their_number_are_431() {
    let (origin, forebay) = limited("request_fields = 10");
    let fields = |count: usize| "X: y\r\n".repeat(count);
    answered_and_closed(
        &forebay,
        &format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", fields(10)),
        431,
    );
    let mut client = forebay.client();
    client.send(format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", fields(9)));
    assert_eq!(client.read().status, 200);
    assert_eq!(origin.count(), 1);
}

#[test]
fn large_heads_within_the_limits_pass() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let forebay = Forebay::before(&origin);
    let field = format!("X: {}", "x".repeat(24_000));
    let mut client = forebay.client();
    for _ in 0..3 {
        assert_eq!(client.get_with("/", &[&field]).status, 200);
        assert_eq!(origin.last().field("x").map(str::len), Some(24_000));
    }
}

#[test]
fn head_that_comes_too_slowly_is_408() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let forebay = Forebay::start(&Config::to(&origin).set("timeouts", "request_head = \"200ms\""));
    let before = Instant::now();
    let mut client = forebay.client();
    client.send("GET / HTTP/1.1\r\nHo");
    assert_eq!(client.read().status, 408);
    client.expect_close();
    assert!(before.elapsed() >= Duration::from_millis(190));
}

#[test]
fn trickle_does_not_extend_the_time_for_a_head() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let forebay = Forebay::start(&Config::to(&origin).set("timeouts", "request_head = \"300ms\""));
    let mut client = forebay.client();
    for _ in 0..20 {
        client.send_anyway("G");
        std::thread::sleep(Duration::from_millis(30));
    }
    // Twenty bytes in 600 ms: each within the time, all together not.
    assert_eq!(client.read().status, 408);
}

#[test]
fn body_that_stops_coming_is_408() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let forebay = Forebay::start(&Config::to(&origin).set("timeouts", "request_body = \"200ms\""));
    let mut client = forebay.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf");
    assert_eq!(client.read().status, 408);
    client.expect_close();
    drop(forebay);
    assert_eq!(origin.count(), 0);
}

#[test]
fn idle_connection_is_closed_in_silence() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let forebay = Forebay::start(&Config::to(&origin).set("timeouts", "keep_alive = \"200ms\""));
    let mut used = forebay.client();
    used.get("/");
    used.expect_close();
}

#[test]
fn connection_that_never_speaks_is_closed() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let config = Config::to(&origin)
        .set("timeouts", "keep_alive = \"200ms\"")
        .set("timeouts", "request_head = \"200ms\"");
    let forebay = Forebay::start(&config);
    let (bytes, end) = forebay.client().read_to_end();
    assert!(bytes.is_empty() || bytes.starts_with(b"HTTP/1.1 408 "));
    assert_ne!(end, Broken::Silent);
}

#[test]
fn client_that_reads_nothing_is_let_go() {
    let ended = Event::new("the origin is let go too");
    let announce = ended.clone();
    let origin = Origin::start(move |_, connection| {
        connection.send(format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n",
            1_u64 << 40
        ));
        let piece = vec![0; 1 << 20];
        while connection.send_until_blocked(&piece, Duration::from_secs(8)) == piece.len() {}
        announce.set();
    });
    let config = Config::to(&origin)
        .cache("pass = true")
        .set("timeouts", "send = \"300ms\"");
    let forebay = Forebay::start(&config);
    let mut client = Client::connect_small(&forebay.addresses[0]);
    client.send_request("GET", "/", &[], "").read_head();
    ended.wait();
}

#[test]
fn requests_on_one_connection_are_limited() {
    let (_origin, forebay) = limited("requests_per_connection = 3");
    let mut client = forebay.client();
    for n in 1..=3 {
        let response = client.get("/");
        assert_eq!(
            response.fields.lists("connection", "close"),
            n == 3,
            "request {n}"
        );
    }
    client.expect_close();
}

#[test]
fn connections_beyond_the_limit_are_turned_away_until_one_ends() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let forebay = Forebay::start(&Config::to(&origin).set("server", "max_connections = 3"));
    let mut clients: Vec<Client> = (0..3).map(|_| forebay.client()).collect();
    clients
        .iter_mut()
        .for_each(|client| assert_eq!(client.get("/").status, 200));
    let mut fourth = forebay.client();
    let (bytes, _) = fourth
        .send_anyway("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        .read_to_end();
    assert!(
        bytes.is_empty() || bytes.starts_with(b"HTTP/1.1 503 "),
        "{:?}",
        String::from_utf8_lossy(&bytes)
    );
    clients
        .iter_mut()
        .for_each(|client| assert_eq!(client.get("/").status, 200));
    drop(clients);
    forebay.wait_for_metric("forebay_connections_closed_total", 3.0);
    assert_eq!(forebay.get("/").status, 200);
}

#[test]
fn one_client_has_so_many_connections_over_all_workers() {
    let origin = Origin::fixed(reply(200, &[], "ok"));
    let config = Config::to(&origin)
        .set("server", "workers = 2")
        .set("limits", "client_connections = 3");
    let forebay = Forebay::start(&config);
    let mut clients: Vec<Client> = (0..3).map(|_| forebay.client()).collect();
    for client in &mut clients {
        assert_eq!(client.get("/").status, 200);
    }
    let mut refused = forebay.client();
    let (bytes, _) = refused
        .send_anyway("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        .read_to_end();
    assert!(bytes.is_empty(), "{:?}", String::from_utf8_lossy(&bytes));
    forebay.wait_for_metric("forebay_client_connections_refused_total", 1.0);
    // Those that are there go on, and one that ends makes room.
    assert_eq!(clients[0].get("/").status, 200);
    drop(clients.pop());
    forebay.wait_for_metric("forebay_connections_closed_total", 2.0);
    assert_eq!(forebay.get("/").status, 200);
    // A trusted proxy's are those of many.
    let config = config.set("server", "trusted_proxies = [\"127.0.0.1\"]");
    let forebay = Forebay::start(&config);
    let mut clients: Vec<Client> = (0..5).map(|_| forebay.client()).collect();
    for client in &mut clients {
        assert_eq!(client.get("/").status, 200);
    }
}

#[test]
fn pipeline_without_reading_does_not_fill_the_memory() {
    let body = "x".repeat(100_000);
    let origin = Origin::fixed(reply(200, &["Cache-Control: max-age=600"], &body));
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    let before = resident(&forebay);
    let mut client = Client::connect_small(&forebay.addresses[0]);
    let requests = "GET / HTTP/1.1\r\nHost: test.example\r\n\r\n".repeat(20_000);
    client.send_until_blocked(requests.as_bytes(), Duration::from_millis(300));
    let grown = resident(&forebay).saturating_sub(before);
    assert!(
        grown < 16 << 20,
        "{grown} bytes more for one client that asks and does not read"
    );
}

/// Bytes of the process in memory.
fn resident(forebay: &Forebay) -> u64 {
    let mut text = String::new();
    let path = format!("/proc/{}/status", forebay.pid());
    std::fs::File::open(path)
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    let line = text
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<u64>()
        .unwrap()
        << 10
}

#[test]
fn hundreds_of_connections_are_served() {
    let origin = Origin::fixed(reply(200, &["Cache-Control: max-age=600"], "x"));
    let forebay = Forebay::start(&Config::to(&origin).set("server", "workers = 2"));
    let mut clients: Vec<Client> = (0..400).map(|_| forebay.client()).collect();
    for _ in 0..2 {
        for client in &mut clients {
            client.send_request("GET", "/", &[], "");
        }
        clients
            .iter_mut()
            .for_each(|client| assert_eq!(client.read().status, 200));
    }
    assert_eq!(origin.count(), 1);
}
