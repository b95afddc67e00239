//! The administration address over real sockets.
#![allow(clippy::unwrap_used)]

use forebay_admin::{Admin, Control, start};
use forebay_stats::{Counter, Gauges, Registry, Snapshot};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

/// A control whose reloads end when the test says how.
struct Example {
    registry: Arc<Registry>,
    reload_started: Sender<()>,
    reload_result: Mutex<Receiver<Result<Vec<String>, String>>>,
}

impl Control for Example {
    fn snapshot(&self) -> Snapshot {
        self.registry.snapshot()
    }

    fn gauges(&self) -> Gauges {
        Gauges {
            connections: 7,
            ..Gauges::default()
        }
    }

    fn reload(&self) -> Result<Vec<String>, String> {
        self.reload_started.send(()).unwrap();
        self.reload_result.lock().unwrap().recv().unwrap()
    }

    fn version(&self) -> &str {
        "1.2.3"
    }

    fn status_extra(&self) -> Value {
        json!({ "pools": { "app<1>": { "servers": [] } }, "version": "ignored" })
    }
}

struct Running {
    admin: Admin,
    reload_started: Receiver<()>,
    reload_result: Sender<Result<Vec<String>, String>>,
}

fn running() -> Running {
    let registry = Registry::new();
    registry.shared().add(Counter::Requests, 42);
    let ((started, reload_started), (reload_result, result)) = (channel(), channel());
    let control = Example {
        registry,
        reload_started: started,
        reload_result: Mutex::new(result),
    };
    let admin = start(
        "127.0.0.1:0".parse::<SocketAddr>().unwrap(),
        Arc::new(control),
    )
    .unwrap();
    Running {
        admin,
        reload_started,
        reload_result,
    }
}

impl Running {
    fn connect(&self) -> TcpStream {
        TcpStream::connect(self.admin.address()).unwrap()
    }

    /// Sends `text` with LF as CRLF and reads to the end of the connection.
    fn raw(&self, text: &str) -> String {
        let mut stream = self.connect();
        stream
            .write_all(text.replace('\n', "\r\n").as_bytes())
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn ask(&self, method: &str, path: &str) -> (u16, String, String) {
        parts(&self.raw(&format!(
            "{method} {path} HTTP/1.1\nHost: {}\n\n",
            self.admin.address()
        )))
    }
}

/// Status, head and body.
fn parts(answer: &str) -> (u16, String, String) {
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("no head in {answer:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_owned(), body.to_owned())
}

#[test]
fn metrics_are_prometheus_text() {
    let (status, head, body) = running().ask("GET", "/metrics?x=y");
    assert_eq!(status, 200);
    assert!(
        head.contains("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8"),
        "{head}"
    );
    assert!(
        head.contains(&format!("\r\nContent-Length: {}", body.len())),
        "{head}"
    );
    assert!(head.contains("\r\nConnection: close"), "{head}");
    assert!(body.contains("\nforebay_requests_total 42\n"), "{body}");
    assert!(
        body.contains("\nforebay_build_info{version=\"1.2.3\"} 1\n"),
        "{body}"
    );
}

#[test]
fn status_is_json_with_figures_and_the_state_of_pools() {
    let (status, _, body) = running().ask("GET", "/status");
    assert_eq!(status, 200);
    let document: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(document["version"], "1.2.3");
    assert_eq!(document["counters"]["requests"], 42);
    assert_eq!(document["gauges"]["connections"], 7);
    assert!(document["gauges"]["resident_bytes"].as_u64().unwrap() > 0);
    assert!(document["pools"]["app<1>"].is_object());
}

#[test]
fn the_plain_page_shows_figures_and_escapes_what_it_shows() {
    let (status, head, body) = running().ask("GET", "/plain");
    assert_eq!(status, 200);
    assert!(
        head.contains("text/html") && head.contains("Content-Security-Policy: default-src 'none'"),
        "{head}"
    );
    assert!(
        body.contains("<td>42\n") && body.contains("app&lt;1&gt;") && !body.contains("app<1>"),
        "{body}"
    );
}

#[test]
fn head_has_the_head_of_get_and_no_body() {
    let server = running();
    let (status, head, body) = server.ask("HEAD", "/status");
    assert_eq!((status, body.as_str()), (200, ""));
    assert!(head.contains("Content-Type: application/json"), "{head}");
    assert!(!head.contains("Content-Length: 0"), "{head}");
}

#[test]
fn other_paths_and_methods_are_refused_with_what_is_allowed() {
    let server = running();
    assert_eq!(server.ask("GET", "/nothing").0, 404);
    let (status, head, _) = server.ask("DELETE", "/metrics");
    assert!(
        status == 405 && head.contains("\r\nAllow: GET, HEAD\r\n"),
        "{head}"
    );
    let (status, head, _) = server.ask("GET", "/reload");
    assert!(
        status == 405 && head.contains("\r\nAllow: POST\r\n"),
        "{head}"
    );
}

#[test]
fn a_reload_says_what_came_of_it() {
    let server = running();
    server
        .reload_result
        .send(Ok(vec!["pool `app`: name does not resolve".into()]))
        .unwrap();
    let (status, _, body) = server.ask("POST", "/reload");
    let answer: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &answer["reloaded"]), (200, &json!(true)));
    assert_eq!(
        answer["warnings"],
        json!(["pool `app`: name does not resolve"])
    );

    server
        .reload_result
        .send(Err("line 3: unknown setting".into()))
        .unwrap();
    let (status, _, body) = server.ask("POST", "/reload");
    let answer: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        (status, &answer["reloaded"], &answer["error"]),
        (422, &json!(false), &json!("line 3: unknown setting"))
    );
}

#[test]
fn while_a_reload_is_under_way_figures_are_served_and_another_reload_is_not() {
    let server = running();
    let mut first = server.connect();
    write!(first, "POST /reload HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    server.reload_started.recv().unwrap();
    assert_eq!(server.ask("GET", "/metrics").0, 200);
    assert_eq!(server.ask("POST", "/reload").0, 409);
    server.reload_result.send(Ok(Vec::new())).unwrap();
    let mut answer = String::new();
    first.read_to_string(&mut answer).unwrap();
    assert_eq!(parts(&answer).0, 200);
}

#[test]
fn a_body_that_nobody_reads_does_not_cost_the_answer() {
    let server = running();
    server.reload_result.send(Ok(Vec::new())).unwrap();
    let body = "x".repeat(50_000);
    let request = format!(
        "POST /reload HTTP/1.1\nHost: localhost\nContent-Length: {}\n\n{body}",
        body.len()
    );
    assert_eq!(parts(&server.raw(&request)).0, 200);
}

#[test]
fn web_pages_cannot_reach_it_through_a_name_or_a_form() {
    let server = running();
    let ask = |request: &str| parts(&server.raw(request)).0;
    assert_eq!(ask("GET /status HTTP/1.1\nHost: evil.example\n\n"), 421);
    assert_eq!(ask("GET /status HTTP/1.1\n\n"), 400);
    assert_eq!(
        ask("POST /reload HTTP/1.1\nHost: localhost\nOrigin: http://evil.example\n\n"),
        403
    );
    assert!(
        server.reload_started.try_recv().is_err(),
        "the forged reload was carried out"
    );
}

#[test]
fn malformed_and_oversized_heads_get_their_status() {
    let server = running();
    let ask = |request: &str| parts(&server.raw(request)).0;
    assert_eq!(ask("GET / HTTP/1.1\nHost : localhost\n\n"), 400);
    assert_eq!(ask("GET / HTTP/2.0\nHost: localhost\n\n"), 505);
    assert_eq!(
        ask(&format!(
            "GET /{} HTTP/1.1\nHost: localhost\n\n",
            "a".repeat(5_000)
        )),
        414
    );
    assert_eq!(
        ask(&format!(
            "GET / HTTP/1.1\nHost: localhost\nX: {}\n\n",
            "a".repeat(9_000)
        )),
        431
    );
    assert_eq!(
        ask(&format!(
            "GET / HTTP/1.1\nHost: localhost\n{}\n",
            "X: y\n".repeat(100)
        )),
        431
    );
}

#[test]
fn a_request_may_come_byte_by_byte_and_the_client_may_stop_sending() {
    let server = running();
    let mut stream = server.connect();
    stream.set_nodelay(true).unwrap();
    for byte in b"GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n" {
        stream.write_all(&[*byte]).unwrap();
    }
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert_eq!(parts(&answer).0, 200);
}

#[test]
fn after_the_drop_the_address_is_free() {
    let server = running();
    let address = server.admin.address();
    assert_eq!(server.ask("GET", "/metrics").0, 200);
    drop(server);
    TcpListener::bind(address).unwrap();
}

#[test]
fn an_address_in_use_is_an_error() {
    let server = running();
    let control = Example {
        registry: Registry::new(),
        reload_started: channel().0,
        reload_result: Mutex::new(channel().1),
    };
    assert!(start(server.admin.address(), Arc::new(control)).is_err());
}

/// A control whose reload gives the administration address up.
#[derive(Default)]
struct Moving {
    admin: Mutex<Option<Admin>>,
}

impl Control for Moving {
    fn snapshot(&self) -> Snapshot {
        Snapshot::default()
    }

    fn gauges(&self) -> Gauges {
        Gauges::default()
    }

    fn reload(&self) -> Result<Vec<String>, String> {
        drop(self.admin.lock().unwrap().take());
        Ok(Vec::new())
    }

    fn version(&self) -> &str {
        ""
    }

    fn status_extra(&self) -> Value {
        Value::Null
    }
}

#[test]
fn a_reload_that_ends_the_address_it_came_by_does_not_lock_up() {
    let control = Arc::new(Moving::default());
    let admin = start(
        "127.0.0.1:0".parse::<SocketAddr>().unwrap(),
        control.clone(),
    )
    .unwrap();
    let address = admin.address();
    *control.admin.lock().unwrap() = Some(admin);
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "POST /reload HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    // The connection ends, with or without an answer, and the address is free.
    let _ = stream.read_to_end(&mut Vec::new());
    TcpListener::bind(address).unwrap();
}

/// More connections than are served at once, which say half of what they want and wait.
#[test]
fn connections_that_ask_for_nothing_keep_nobody_out() {
    let running = running();
    let mut held = Vec::new();
    for _ in 0..200 {
        let mut stream = running.connect();
        stream.write_all(b"GET /status HTTP/1.1\r\nHo").unwrap();
        held.push(stream);
    }
    let (status, _, _) = running.ask("GET", "/status");
    assert_eq!(status, 200);
}
