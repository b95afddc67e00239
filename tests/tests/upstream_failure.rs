//! Origins that are gone, silent, slow or full: the next one, or the right
//! status (502, 503, 504).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use forebay_tests::{Client, Config, DEADLINE, Event, Forebay, Origin, Response, reply};

use crate::common::eventually_within;

/// A loopback port where nobody listens. Bound without listening for as long
/// as it lives, so that nothing else of this machine takes it.
struct DeadPort(socket2::Socket);

impl DeadPort {
    fn new() -> Self {
        let socket =
            socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        socket
            .bind(&std::net::SocketAddr::from(([127, 0, 0, 1], 0)).into())
            .unwrap();
        Self(socket)
    }

    /// The same port with somebody listening.
    fn come_alive(self) -> std::net::TcpListener {
        self.0.listen(16).unwrap();
        self.0.into()
    }

    fn server(&self) -> String {
        self.0
            .local_addr()
            .unwrap()
            .as_socket()
            .unwrap()
            .to_string()
    }
}

#[test]
fn refused_connection_falls_to_the_next_server() {
    let origin = Origin::fixed(reply(200, &[], "second"));
    let dead = DeadPort::new();
    let forebay = Forebay::start(&Config::new(&[&dead.server(), &origin.server()]));
    for n in 0..6 {
        assert_eq!(
            forebay
                .exchange("POST", &format!("/{n}"), &[], "safe: nothing was sent")
                .text(),
            "second"
        );
    }
}

#[test]
fn all_servers_refusing_is_502_or_503() {
    let (one, two) = (DeadPort::new(), DeadPort::new());
    let forebay = Forebay::start(&Config::new(&[&one.server(), &two.server()]));
    for _ in 0..3 {
        let response = forebay.get("/");
        assert!(matches!(response.status, 502 | 503), "{response:?}");
        assert!(!response.is_hit());
    }
}

#[test]
fn server_that_comes_back_is_used_again() {
    let dead = DeadPort::new();
    let forebay =
        Forebay::start(&Config::new(&[&dead.server()]).set("pool.app", "fail_timeout = \"100ms\""));
    assert_ne!(forebay.get("/").status, 200);
    let _origin = Origin::raw_on(dead.come_alive(), |connection| {
        while connection.request().is_ok() {
            connection.send(reply(200, &[], "back"));
        }
    });
    // All servers are left out: then none is.
    assert_eq!(forebay.get("/").text(), "back");
}

#[test]
fn addresses_of_a_name_are_tried_in_turn() {
    // `localhost` is ::1 and 127.0.0.1 on this system, and the origin has only the latter.
    let origin = Origin::fixed(reply(200, &[], "found"));
    let server = format!("localhost:{}", origin.address().port());
    let forebay = Forebay::start(&Config::new(&[&server]));
    assert_eq!(forebay.get("/").text(), "found");
}

#[test]
fn name_that_does_not_resolve_is_a_warning_and_502() {
    let mut forebay = Forebay::start(&Config::new(&["nowhere.invalid:80"]));
    let response = forebay.get("/");
    assert!(matches!(response.status, 502 | 503), "{response:?}");
    assert!(
        forebay.output().contains("nowhere.invalid"),
        "{}",
        forebay.output()
    );
    assert!(forebay.is_running());
}

#[test]
fn missing_unix_socket_is_502() {
    let forebay = Forebay::start(&Config::new(&["unix:/nonexistent/app.sock"]));
    let response = forebay.get("/");
    assert!(matches!(response.status, 502 | 503), "{response:?}");
}

#[test]
fn origins_that_hang_do_not_keep_everybody_waiting() {
    let well = Arc::new(AtomicBool::new(false));
    let origins = [(), ()].map(|()| {
        let well = Arc::clone(&well);
        Origin::start(move |_, connection| {
            if well.load(Relaxed) {
                connection.send(reply(200, &[], "well"));
            } else {
                connection.read_to_end();
                connection.close();
            }
        })
    });
    let servers = origins.each_ref().map(Origin::server);
    let config = Config::new(&[&servers[0], &servers[1]])
        .set("pool.app", "response_head_timeout = \"300ms\"");
    let forebay = Forebay::start(&config);
    let told = |response: &Response| {
        let status = response.field("Cache-Status").unwrap_or_default();
        status.contains("no server of the pool takes requests")
    };
    eventually_within(DEADLINE, || {
        let response = forebay.get("/silent");
        assert!(matches!(response.status, 503 | 504), "{response:?}");
        response.status == 503 && told(&response)
    });
    well.store(true, Relaxed);
    eventually_within(DEADLINE, || forebay.get("/silent").status == 200);
    for n in 0..4 {
        assert_eq!(forebay.get(&format!("/{n}")).text(), "well");
    }
}

#[test]
fn silent_origin_is_504() {
    let origin = Origin::start(|_, connection| {
        connection.read_to_end();
        connection.close();
    });
    let forebay = Forebay::start(&Config::to(&origin).set("timeouts", "response_head = \"200ms\""));
    let before = Instant::now();
    assert_eq!(forebay.get("/").status, 504);
    assert!(
        before.elapsed() >= Duration::from_millis(190),
        "gave up after {:?}",
        before.elapsed()
    );
}

#[test]
fn half_a_head_is_504_too() {
    let origin = Origin::start(|_, connection| {
        connection.send("HTTP/1.1 200 OK\r\nX: ");
        connection.read_to_end();
        connection.close();
    });
    let forebay = Forebay::start(&Config::to(&origin).set("timeouts", "response_head = \"200ms\""));
    assert_eq!(forebay.get("/").status, 504);
}

#[test]
fn stalled_body_is_broken_off_and_not_stored() {
    let origin = Origin::start(|request, connection| {
        if request.number > 0 {
            return connection.send(reply(200, &["Cache-Control: max-age=60"], "0123456789"));
        }
        connection.send(
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 10\r\n\r\n01234",
        );
        connection.read_to_end();
        connection.close();
    });
    let forebay = Forebay::start(&Config::to(&origin).set("timeouts", "response_body = \"200ms\""));
    let read = forebay
        .client()
        .send_request("GET", "/", &[], "")
        .try_read();
    assert!(read.is_err(), "{read:?}");
    assert_eq!(forebay.get("/").text(), "0123456789");
}

#[test]
fn unreachable_address_times_out_and_the_next_is_tried() {
    let origin = Origin::fixed(reply(200, &[], "near"));
    // A listener whose backlog is full does not answer a SYN.
    let full = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    full.bind(&std::net::SocketAddr::from(([127, 0, 0, 1], 0)).into())
        .unwrap();
    full.listen(0).unwrap();
    let address = full.local_addr().unwrap().as_socket().unwrap();
    let _filling: Vec<_> = (0..4)
        .map(|_| std::net::TcpStream::connect_timeout(&address, Duration::from_millis(100)))
        .collect();
    let config = Config::new(&[&address.to_string(), &origin.server()])
        .set("timeouts", "connect = \"200ms\"");
    let forebay = Forebay::start(&config);
    for n in 0..4 {
        assert_eq!(forebay.get(&format!("/{n}")).text(), "near");
    }
}

#[test]
fn one_connection_at_a_time_means_one() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NOW: AtomicUsize = AtomicUsize::new(0);
    let origin = Origin::start(|_, connection| {
        assert_eq!(
            NOW.fetch_add(1, Ordering::SeqCst),
            0,
            "two requests at once"
        );
        std::thread::sleep(Duration::from_millis(10));
        NOW.fetch_sub(1, Ordering::SeqCst);
        connection.send(reply(200, &[], "x"));
    });
    let config = Config::to(&origin)
        .set("pool.app", "max_connections = 1")
        .set("server", "workers = 2");
    let forebay = Forebay::start(&config);
    let mut clients: Vec<Client> = (0..12).map(|_| forebay.client()).collect();
    for (n, client) in clients.iter_mut().enumerate() {
        client.send_request("GET", &format!("/{n}"), &[], "");
    }
    clients
        .iter_mut()
        .for_each(|client| assert_eq!(client.read().status, 200));
    assert_eq!(origin.count(), 12);
}

#[test]
fn queue_for_a_busy_server_ends_in_503() {
    let release = Event::new("release");
    let gate = release.clone();
    let origin = Origin::start(move |_, connection| {
        gate.wait();
        connection.send(reply(200, &[], "x"));
    });
    let config = Config::to(&origin)
        .set("pool.app", "max_connections = 1")
        .set("timeouts", "queue = \"200ms\"");
    let forebay = Forebay::start(&config);
    let mut first = forebay.client();
    first.send_request("GET", "/1", &[], "");
    origin.wait_for(1);
    assert_eq!(forebay.get("/2").status, 503);
    release.set();
    assert_eq!(first.read().status, 200);
}

#[test]
fn waiting_client_that_leaves_frees_its_place() {
    let release = Event::new("release");
    let gate = release.clone();
    let origin = Origin::start(move |_, connection| {
        gate.wait();
        connection.send(reply(200, &[], "x"));
    });
    let forebay = Forebay::start(
        &Config::to(&origin)
            .cache("pass = true")
            .set("pool.app", "max_connections = 1"),
    );
    let mut first = forebay.client();
    first.send_request("GET", "/1", &[], "");
    origin.wait_for(1);
    for n in 0..5 {
        let mut leaver = forebay.client();
        leaver.send_request("GET", &format!("/leaver{n}"), &[], "");
        leaver.reset();
    }
    release.set();
    assert_eq!(first.read().status, 200);
    assert_eq!(forebay.get("/last").status, 200);
}

#[test]
fn client_that_leaves_an_uncacheable_fetch_ends_it() {
    let ended = Event::new("the origin sees the end");
    let announce = ended.clone();
    let origin = Origin::start(move |_, connection| {
        connection.send("HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n");
        connection.read_to_end();
        announce.set();
        connection.close();
    });
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    let mut response = client.send_request("GET", "/", &[], "").read_head();
    client.read_body(&mut response, 1);
    client.reset();
    ended.wait();
}
