//! What somebody may do with the ends of messages to be heard as somebody
//! else: early answers, broken uploads, trailers, unread ends.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use forebay_tests::{Client, Config, Event, Forebay, Origin, reply};

use crate::common::eventually;

/// After which a stream that does not move stands still.
const PATIENCE: Duration = Duration::from_millis(150);

const SMUGGLED: &str = "GET /smuggled HTTP/1.1\r\nHost: test.example\r\n\r\n";

/// Whether another response's head is in `bytes`.
fn has_head(bytes: &[u8]) -> bool {
    bytes.windows(9).any(|window| window == b"HTTP/1.1 ")
}

/// An origin at a Unix socket that reads heads and leaves bodies unread; it answers when `gate`
/// opens, and leaves when it is `over`. Returns the request lines it got.
fn origin_that_reads_no_body(path: &Path, gate: Event, over: Event) -> Arc<Mutex<Vec<String>>> {
    let listener = UnixListener::bind(path).unwrap();
    let lines = Arc::new(Mutex::new(Vec::new()));
    let seen = lines.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (seen, gate, over) = (seen.clone(), gate.clone(), over.clone());
            std::thread::spawn(move || {
                let mut reader = BufReader::with_capacity(256, &stream);
                let mut line = String::new();
                if reader.read_line(&mut line).is_ok() {
                    seen.lock().unwrap().push(line);
                    gate.wait();
                    let _ = (&stream).write_all(reply(200, &[], "ok").as_bytes());
                    // Open, and unread, until everybody has an answer.
                    over.wait();
                }
            });
        }
    });
    lines
}

#[test]
fn body_of_an_upload_that_was_answered_early_is_never_a_request() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("origin.sock");
    let gate = Event::new("every upload stands still");
    let over = Event::new("every client has its answer");
    let lines = origin_that_reads_no_body(&path, gate.clone(), over.clone());
    let server = format!("unix:{}", path.display());
    let forebay = Forebay::start(&Config::new(&[&server]));
    // The danger lies where the last piece has left the client's connection and does not fit
    // into the origin's: sizes around what a Unix socket holds, in steps less than a buffer.
    let sizes = (16..512).step_by(8).map(|size| size << 10);
    let mut clients: Vec<(usize, Client)> = sizes.map(|size| (size, forebay.client())).collect();
    for (size, client) in &mut clients {
        let body = SMUGGLED.repeat(*size / SMUGGLED.len() + 1).into_bytes();
        client.send(format!(
            "POST / HTTP/1.1\r\nHost: test.example\r\nContent-Length: {size}\r\n\r\n"
        ));
        // The end of the body is the end of a request.
        client.send(&body[body.len() - *size..]);
    }
    eventually(|| lines.lock().unwrap().len() == clients.len());
    std::thread::sleep(PATIENCE);
    gate.set();
    for (size, mut client) in clients {
        assert_eq!(client.read().status, 200, "{size}");
        let (rest, _) = client.finish().read_to_end();
        assert!(!has_head(&rest), "{size} bytes of body gave an answer");
    }
    over.set();
    assert!(
        lines
            .lock()
            .unwrap()
            .iter()
            .all(|line| line.starts_with("POST "))
    );
}

#[test]
fn error_in_an_upload_puts_no_second_head_into_the_body_of_its_answer() {
    for mistake in ["ZZZ\r\n", "-1\r\n", "ffffffffffffffffff\r\n"] {
        let full = Event::new("the answer stands still");
        let announce = full.clone();
        let origin = Origin::raw(move |connection| {
            if connection.request_head().is_err() {
                return;
            }
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 20000000\r\n\r\n");
            let body = "x".repeat(20_000_000);
            let sent = connection.send_until_blocked(body.as_bytes(), PATIENCE);
            announce.set();
            connection.send(&body[sent..]);
            connection.read_to_end();
        });
        let forebay = Forebay::before(&origin);
        let mut client = forebay.client();
        client
            .send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
        full.wait();
        client.send(mistake);
        // Only a mistake that is found while the answer stands still is dangerous.
        std::thread::sleep(PATIENCE);
        assert_eq!(client.read_head().status, 200);
        let (bytes, _) = client.read_to_end();
        assert!(!has_head(&bytes), "a second head after {mistake:?}");
        assert!(bytes.len() < 20_000_000, "{mistake:?} went unnoticed");
    }
}

#[test]
fn end_of_a_chunked_body_that_nobody_takes_has_a_deadline() {
    let origin = Origin::start(|request, connection| {
        let size: usize = request.target[1..].parse().unwrap();
        connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        for at in (0..size).step_by(8000) {
            let piece = "x".repeat(8000.min(size - at));
            connection.send(format!("{:x}\r\n{piece}\r\n", piece.len()));
        }
        connection.send("0\r\n\r\n");
    });
    let directory = tempfile::tempdir().unwrap();
    let socket = format!("unix:{}", directory.path().join("f.sock").display());
    let config = Config::to(&origin)
        .listen(&[&socket])
        .cache("pass = true")
        .set("timeouts", "send = \"300ms\"")
        .set("timeouts", "keep_alive = \"300ms\"");
    let forebay = Forebay::start(&config);
    // Among these sizes are those that fill a Unix socket to the last byte.
    let clients: Vec<Client> = (150..230)
        .map(|size| {
            let mut client = forebay.client();
            client.send_request("GET", &format!("/{size}000"), &[], "");
            client
        })
        .collect();
    origin.wait_for(clients.len());
    eventually(|| forebay.metric("forebay_connections") == Some(0.0));
    drop(clients);
}

#[test]
fn trailers_of_a_request_do_not_pass_by_the_rewriting_of_its_head() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.send(
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\
         X-Forwarded-For: 127.0.0.1\r\nForwarded: for=127.0.0.1\r\nAuthorization: Basic eDp5\r\n\
         Connection: close\r\nCookie: id=1\r\nCache-Control: no-store\r\nContent-Type: text/html\r\n\
         X-Sum: 7\r\n\r\n",
    );
    let status = client.read().status;
    if status == 400 {
        // As good: nothing of it reached the origin.
        return assert_eq!(origin.count(), 0);
    }
    assert_eq!(status, 200);
    let request = origin.last();
    assert_eq!(request.body, b"ok");
    let names: Vec<&str> = request.trailers.0.iter().map(|f| f.0.as_str()).collect();
    assert!(names.is_empty() || names == ["X-Sum"], "{names:?}");
}

#[test]
fn trailers_of_a_response_bring_no_fields_that_a_head_is_checked_for() {
    let origin = Origin::fixed(
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n\
         2\r\nok\r\n0\r\nSet-Cookie: id=1\r\nCache-Control: max-age=99\r\nConnection: close\r\n\
         Content-Encoding: gzip\r\nContent-Range: bytes 0-1/2\r\nVary: *\r\nX-Sum: 7\r\n\r\n",
    );
    let forebay = Forebay::before(&origin);
    for kind in ["miss", "hit"] {
        let response = forebay.get_with("/", &["TE: trailers", "Connection: TE"]);
        assert_eq!(response.text(), "ok");
        let names: Vec<&str> = response.trailers.0.iter().map(|f| f.0.as_str()).collect();
        assert!(names.is_empty() || names == ["X-Sum"], "{kind}: {names:?}");
    }
}

/// A client waits for 100 and gets a final answer; what it sends next is no body.
#[track_caller]
fn next_request_is_not_swallowed(config: impl FnOnce(Config) -> Config, status: u16) {
    let origin = Origin::raw(|connection| {
        while let Ok(request) = connection.request_head() {
            let expects = request.field("expect").is_some();
            let mut request = request;
            if !expects && connection.request_body(&mut request).is_err() {
                return;
            }
            connection.record(request);
            connection.send(reply(if expects { 401 } else { 200 }, &[], "x"));
        }
    });
    let forebay = Forebay::start(&config(Config::to(&origin)));
    let hidden = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";
    let next = format!(
        "POST /next HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n",
        hidden.len()
    );
    let mut client = forebay.client();
    client.send(format!(
        "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n",
        next.len()
    ));
    let answer = client.read();
    assert_eq!(answer.status, status);
    assert!(answer.fields.lists("connection", "close"), "{answer:?}");
    client.send_anyway(next + hidden).finish();
    assert!(!has_head(&client.read_to_end().0));
    assert!(origin.requests().iter().all(|r| r.target != "/hidden"));
}

#[test]
fn early_answer_to_an_expectation_does_not_swallow_the_next_request() {
    next_request_is_not_swallowed(|config| config, 401);
}

#[test]
fn refusal_of_an_expectation_does_not_swallow_the_next_request() {
    next_request_is_not_swallowed(
        |config| {
            config
                .set("site.a", "pool = \"app\"")
                .set("site.a", "methods = [\"GET\"]")
        },
        405,
    );
}

#[test]
fn upload_that_moves_is_not_cut_by_the_deadline_of_a_response_that_waits_for_it() {
    let origin = Origin::raw(|connection| {
        let Ok(mut request) = connection.request_head() else {
            return;
        };
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
        if connection.request_body(&mut request).is_ok() {
            connection.record(request);
            connection.send("whole");
        }
    });
    let forebay = Forebay::start(&Config::to(&origin).set("timeouts", "response_body = \"300ms\""));
    let mut client = forebay.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\n1");
    let mut response = client.read_head();
    for piece in ["2", "3", "4", "5", "6"] {
        // The time that a slow client takes is what this is about.
        std::thread::sleep(Duration::from_millis(150));
        client.send_anyway(piece);
    }
    client.read_rest(&mut response).unwrap();
    assert_eq!(response.text(), "whole");
    assert_eq!(origin.last().body, b"123456");
}

#[test]
fn empty_line_behind_a_request_is_no_request_to_be_refused() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let config = Config::to(&origin)
        .set("timeouts", "request_head = \"300ms\"")
        .set("timeouts", "keep_alive = \"600ms\"");
    let forebay = Forebay::start(&config);
    let mut client = forebay.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nok\r\n");
    assert_eq!(client.read().status, 200);
    client.expect_close();
}

#[test]
fn connection_is_given_up_when_its_origin_said_that_it_will() {
    let closed = Event::new("the connection was closed");
    let announce = closed.clone();
    let origin = Origin::raw(move |connection| {
        while connection.request().is_ok() {
            connection.send(reply(200, &["Keep-Alive: timeout=1, max=100"], "x"));
        }
        announce.set();
    });
    let forebay = Forebay::before(&origin);
    forebay.get("/1");
    // Long before the operator's own limit, which is longer than this waits.
    closed.wait();
    forebay.get("/2");
    assert_eq!(origin.connections(), 2);
}

#[test]
fn connection_of_an_origin_without_patience_is_not_used_again() {
    let origin = Origin::fixed(reply(200, &["Keep-Alive: timeout=0"], "x"));
    let forebay = Forebay::before(&origin);
    forebay.get("/1");
    forebay.get("/2");
    assert_eq!(origin.connections(), 2);
}
