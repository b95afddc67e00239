//! `max_connections`: never exceeded, by any number of workers; and the queue before it.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use forebay_tests::{Client, Config, Event, Forebay, Origin, reply};
use rustix::process::Signal;

use crate::compress::plain;

/// An origin that counts the requests it works on at once, and the most there ever were.
fn counting(takes: Duration) -> (Origin, Arc<AtomicUsize>) {
    let (now, most) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let seen = most.clone();
    let origin = Origin::start(move |_, connection| {
        seen.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
        std::thread::sleep(takes);
        now.fetch_sub(1, SeqCst);
        connection.send(reply(200, &[], "x"));
    });
    (origin, most)
}

fn limited(origin: &Origin, limit: usize) -> Config {
    Config::to(origin)
        .cache("pass = true")
        .set("server", "workers = 4")
        .set("pool.app", &format!("max_connections = {limit}"))
}

/// So many clients at once, each with so many requests; all are answered.
fn load(forebay: &Forebay, clients: usize, requests: usize) {
    std::thread::scope(|scope| {
        for number in 0..clients {
            scope.spawn(move || {
                let mut client = forebay.client();
                for n in 0..requests {
                    assert_eq!(client.get(&format!("/{number}/{n}")).status, 200);
                }
            });
        }
    });
}

#[test]
fn a_limit_holds_over_all_workers() {
    for limit in [1, 3] {
        let (origin, most) = counting(Duration::from_millis(1));
        let forebay = Forebay::start(&limited(&origin, limit));
        load(&forebay, 16, 15);
        assert_eq!((origin.count(), most.load(SeqCst)), (240, limit));
        assert!(origin.connections() <= limit, "{}", origin.connections());
    }
}

#[test]
fn a_client_that_reads_slowly_does_not_hold_the_place() {
    // More than a socket takes, in both framings.
    const BYTES: usize = 24 << 20;
    for framed in [true, false] {
        let origin = Origin::start(move |request, connection| {
            let bytes = if request.target == "/large" { BYTES } else { 3 };
            let body = "x".repeat(bytes);
            let (head, body) = match framed {
                true => (format!("Content-Length: {bytes}"), body),
                false => (
                    "Transfer-Encoding: chunked".into(),
                    format!("{bytes:x}\r\n{body}\r\n0\r\n\r\n"),
                ),
            };
            connection.send(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}"));
        });
        let config = limited(&origin, 1)
            .cache("memory = \"256MiB\"")
            .set("limits", "stream_window = \"64MiB\"");
        let forebay = Forebay::start(&config);
        let mut slow = forebay.client();
        slow.send_request("GET", "/large", &[], "");
        let mut response = slow.read_head();
        assert_eq!(forebay.get("/small").text(), "xxx");
        slow.read_rest(&mut response).unwrap();
        assert_eq!(response.body.len(), BYTES);
        assert!(response.body.iter().all(|&byte| byte == b'x'));
        assert_eq!(slow.get("/small").text(), "xxx");
    }
}

#[test]
fn a_client_that_reads_slowly_what_is_compressed_does_not_hold_the_place() {
    let mut seed = 1_u32;
    let noise = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b'0' + (seed >> 27) as u8)
    });
    let noise: String = noise.take(24 << 20).collect();
    let sent = noise.clone();
    let origin = Origin::start(move |request, connection| {
        let large = request.target == "/large";
        let body = if large { &sent[..] } else { "xxx" };
        connection.send(reply(200, &["Content-Type: text/plain"], body));
    });
    let config = limited(&origin, 1)
        .set("site.app", "pool = \"app\"")
        .set("site.app", "compress = [\"gzip\"]")
        .cache("memory = \"256MiB\"")
        .set("limits", "stream_window = \"64MiB\"");
    let forebay = Forebay::start(&config);
    let mut slow = forebay.client();
    slow.send_request("GET", "/large", &["Accept-Encoding: gzip"], "");
    let mut response = slow.read_head();
    assert_eq!(response.field("content-encoding"), Some("gzip"));
    assert_eq!(forebay.get("/small").text(), "xxx");
    slow.read_rest(&mut response).unwrap();
    assert!(plain(&response) == noise);
}

#[test]
fn a_slow_upload_does_not_hold_the_place_if_bodies_are_kept() {
    let origin = Origin::start(|request, connection| {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        connection.send(reply(200, &[], &body));
    });
    let keeping = "max_connections = 1\nbuffer_requests = true";
    let forebay = Forebay::start(&Config::to(&origin).set("pool.app", keeping));
    for framing in ["Content-Length: 10", "Transfer-Encoding: chunked"] {
        let mut slow = forebay.client();
        let head =
            format!("POST / HTTP/1.1\r\nHost: a\r\n{framing}\r\nExpect: 100-continue\r\n\r\n");
        slow.send(&head);
        assert_eq!(slow.read_any_head().status, 100);
        let chunked = framing.starts_with('T');
        slow.send(if chunked { "5\r\n01234\r\n" } else { "01234" });
        assert_eq!(forebay.get("/").status, 200);
        slow.send(if chunked {
            "5\r\n56789\r\n0\r\n\r\n"
        } else {
            "56789"
        });
        assert_eq!(slow.read().text(), "0123456789", "{framing}");
        assert_eq!(origin.last().field("content-length"), Some("10"));
    }
}

#[test]
fn a_limit_holds_over_reloads() {
    let (origin, most) = counting(Duration::from_millis(1));
    let config = limited(&origin, 1);
    let forebay = Forebay::start(&config);
    std::thread::scope(|scope| {
        let loading = scope.spawn(|| load(&forebay, 12, 30));
        let mut reloads = 0.0;
        while !loading.is_finished() {
            reloads += 1.0;
            let idle = format!("idle_connections = {}", 1 + reloads as usize % 7);
            forebay.write_config(&config.clone().set("pool.app", &idle).text());
            forebay.signal(Signal::HUP);
            forebay.wait_for_metric("forebay_config_generation", 1.0 + reloads);
        }
    });
    assert_eq!((origin.count(), most.load(SeqCst)), (360, 1));
}

/// A back end that serves one connection to its end before it looks at the next, as many simple
/// application servers do.
fn one_connection_at_a_time() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = connections.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            counted.fetch_add(1, SeqCst);
            let mut head = Vec::new();
            let mut byte = [0];
            while matches!(stream.read(&mut byte), Ok(1)) {
                head.push(byte[0]);
                if head.ends_with(b"\r\n\r\n") {
                    head.clear();
                    if stream.write_all(reply(200, &[], "x").as_bytes()).is_err() {
                        break;
                    }
                }
            }
        }
    });
    (address, connections)
}

#[test]
fn an_idle_connection_does_not_block_a_back_end_that_serves_one_at_a_time() {
    let (address, connections) = one_connection_at_a_time();
    let config = Config::new(&[&address])
        .cache("pass = true")
        .set("server", "workers = 4")
        .set("pool.app", "max_connections = 1");
    let forebay = Forebay::start(&config);
    load(&forebay, 12, 20);
    assert_eq!(
        connections.load(SeqCst),
        1,
        "it is handed from worker to worker"
    );
}

#[test]
fn a_higher_class_goes_first() {
    let release = Event::new("release");
    let gate = release.clone();
    let origin = Origin::start(move |_, connection| {
        gate.wait();
        connection.send(reply(200, &[], "x"));
    });
    let config = limited(&origin, 1)
        .set("site.app", "hosts = [\"*\"]")
        .set("site.app", "pool = \"app\"")
        .append("[[site.app.path]]\nmatch = \"/high/*\"\npriority = \"high\"")
        .append("[[site.app.path]]\nmatch = \"/low/*\"\npriority = \"low\"");
    let forebay = Forebay::start(&config);
    let mut clients: Vec<Client> = Vec::new();
    let targets = [
        "/first",
        "/low/1",
        "/normal/1",
        "/high/1",
        "/normal/2",
        "/high/2",
    ];
    for (n, target) in targets.iter().enumerate() {
        let mut client = forebay.client();
        client.send_request("GET", target, &[], "");
        clients.push(client);
        match n {
            0 => drop(origin.wait_for(1)),
            waiting => forebay.wait_for_metric("forebay_pool_waiting", waiting as f64),
        }
    }
    release.set();
    for client in &mut clients {
        assert_eq!(client.read().status, 200);
    }
    let order: Vec<String> = origin.requests().into_iter().map(|r| r.target).collect();
    let expected = [
        "/first",
        "/high/1",
        "/high/2",
        "/normal/1",
        "/normal/2",
        "/low/1",
    ];
    assert_eq!(order, expected);
}

#[test]
fn a_full_queue_is_503_and_says_when_to_come_again() {
    let release = Event::new("release");
    let gate = release.clone();
    let origin = Origin::start(move |_, connection| {
        gate.wait();
        connection.send(reply(200, &[], "x"));
    });
    let config = limited(&origin, 1)
        .set("pool.app", "queue = 1")
        .set("pool.app", "queue_timeout = \"8s\"");
    let forebay = Forebay::start(&config);
    let mut first = forebay.client();
    first.send_request("GET", "/first", &[], "");
    origin.wait_for(1);
    let mut second = forebay.client();
    second.send_request("GET", "/second", &[], "");
    forebay.wait_for_metric("forebay_pool_waiting", 1.0);
    let refused = forebay.get("/third");
    assert_eq!(refused.status, 503);
    assert_eq!(refused.field("Retry-After"), Some("8"));
    // Who leaves makes room at once.
    second.reset();
    let deadline = std::time::Instant::now() + forebay_tests::DEADLINE;
    while forebay.metric("forebay_pool_waiting") != Some(0.0) {
        assert!(std::time::Instant::now() < deadline, "it never leaves");
    }
    let mut third = forebay.client();
    third.send_request("GET", "/third", &[], "");
    forebay.wait_for_metric("forebay_pool_waiting", 1.0);
    release.set();
    assert_eq!(first.read().status, 200);
    assert_eq!(third.read().status, 200);
    let asked: Vec<String> = origin.requests().into_iter().map(|r| r.target).collect();
    assert!(!asked.contains(&"/second".to_owned()), "{asked:?}");
}

#[test]
fn waiting_ends_in_503_and_says_when_to_come_again() {
    let release = Event::new("release");
    let gate = release.clone();
    let origin = Origin::start(move |_, connection| {
        gate.wait();
        connection.send(reply(200, &[], "x"));
    });
    let config = limited(&origin, 1).set("pool.app", "queue_timeout = \"300ms\"");
    let forebay = Forebay::start(&config);
    let mut first = forebay.client();
    first.send_request("GET", "/first", &[], "");
    origin.wait_for(1);
    let refused = forebay.get("/second");
    assert_eq!(
        (refused.status, refused.field("Retry-After")),
        (503, Some("1"))
    );
    assert_eq!(
        forebay.metric("forebay_pool_queue_timeouts_total"),
        Some(1.0)
    );
    release.set();
    assert_eq!(first.read().status, 200);
}

#[test]
fn a_server_of_its_own_limit_leaves_the_rest_to_the_others() {
    let (one, most_one) = counting(Duration::from_millis(5));
    let (two, most_two) = counting(Duration::from_millis(5));
    let servers = format!(
        "servers = [{{ address = {:?}, max_connections = 1 }}, {{ address = {:?}, max_connections = 4 }}]",
        one.server(),
        two.server()
    );
    let config = Config::to(&one)
        .cache("pass = true")
        .set("server", "workers = 4")
        .set("pool.app", &servers);
    let forebay = Forebay::start(&config);
    load(&forebay, 12, 10);
    assert_eq!((most_one.load(SeqCst), most_two.load(SeqCst)), (1, 4));
    assert_eq!(one.count() + two.count(), 120);
}
