//! Who may do what, over real sockets: tokens, roles, Unix sockets, forgery.
#![allow(clippy::unwrap_used)]

mod harness;

use forebay_admin::{Access, Address, start};
use harness::{Running, exchange, on_socket, over_socket, request, running, serving, tokens};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

fn with_tokens() -> Running {
    let local: SocketAddr = "127.0.0.1:0".parse().unwrap();
    serving(Access {
        tokens: tokens(),
        ..Access::from(local)
    })
}

/// What each kind of request takes.
const MATRIX: [(&str, &str, &str); 16] = [
    ("GET", "/metrics", "read"),
    ("GET", "/status", "read"),
    ("GET", "/plain", "read"),
    ("GET", "/api/v1/status", "read"),
    ("GET", "/api/v1/counters", "read"),
    ("GET", "/api/v1/history", "read"),
    ("GET", "/api/v1/config", "read"),
    ("GET", "/api/v1/objects?url=a", "read"),
    ("GET", "/api/v1/objects/hottest", "read"),
    ("GET", "/api/v1/bans", "read"),
    ("HEAD", "/api/v1/log", "read"),
    ("GET", "/api/v1/log-level", "read"),
    ("POST", "/api/v1/purge", "purge"),
    ("POST", "/reload", "admin"),
    ("POST", "/api/v1/reload", "admin"),
    ("PUT", "/api/v1/log-level", "admin"),
];

fn send(server: &Running, method: &str, target: &str, token: Option<&str>) -> u16 {
    let token = token.map_or(String::new(), |token| {
        format!("Authorization: Bearer {token}\r\n")
    });
    let fields = format!("{token}Content-Type: application/json\r\n");
    let body = match (method, target) {
        ("POST", "/api/v1/purge") => r#"{"all":true}"#,
        ("PUT", _) => r#"{"level":"warn"}"#,
        _ => "",
    };
    server.send(method, target, &fields, body).status
}

#[test]
fn each_route_takes_its_role_and_no_less() {
    let server = with_tokens();
    let rank = |role| {
        ["read", "purge", "admin"]
            .iter()
            .position(|own| *own == role)
    };
    for (method, target, needed) in MATRIX {
        for role in ["read", "purge", "admin"] {
            let expected = if rank(role) >= rank(needed) { 200 } else { 403 };
            let token = format!("{role}-secret");
            let status = send(&server, method, target, Some(&token));
            assert_eq!(status, expected, "{method} {target} with {role}");
        }
        assert_eq!(
            send(&server, method, target, None),
            401,
            "{method} {target}"
        );
        assert_eq!(send(&server, method, target, Some("guess")), 401);
    }
    // Only those that were allowed did anything.
    assert_eq!(server.control.orders.lock().unwrap().len(), 2);
}

#[test]
fn a_request_without_a_token_is_told_what_to_send() {
    let server = with_tokens();
    let answer = server.get("/api/v1/status");
    assert_eq!(answer.status, 401);
    assert!(
        answer
            .head
            .contains("\r\nWWW-Authenticate: Bearer realm=\"forebay\""),
        "{}",
        answer.head
    );
    assert!(answer.json()["error"].as_str().unwrap().contains("token"));
    let status = server.get("/api/v1/openapi.json").status;
    assert_eq!(status, 200, "the description needs no token");
}

#[test]
fn a_denied_request_is_not_read_further() {
    let server = with_tokens();
    // The body never comes; the refusal does not wait for it.
    let head = "POST /api/v1/purge HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n";
    assert_eq!(server.raw(head.as_bytes()).status, 401);
}

#[test]
fn without_tokens_this_machine_needs_none() {
    let server = running();
    for (method, target, _) in MATRIX {
        assert_eq!(
            send(&server, method, target, None),
            200,
            "{method} {target}"
        );
    }
}

#[test]
fn other_web_pages_can_neither_command_nor_listen() {
    let server = running();
    let json = "Content-Type: application/json\r\n";
    for forged in [
        "Origin: http://evil.example\r\n",
        "Origin: null\r\n",
        "Sec-Fetch-Site: cross-site\r\n",
    ] {
        let fields = format!("{json}{forged}");
        let purge = server.send("POST", "/api/v1/purge", &fields, r#"{"all":true}"#);
        assert_eq!(purge.status, 403, "{forged}");
        let level = server.send("PUT", "/api/v1/log-level", &fields, r#"{"level":"warn"}"#);
        assert_eq!(level.status, 403, "{forged}");
        assert_eq!(server.send("POST", "/api/v1/drain", forged, "").status, 403);
        assert_eq!(server.send("GET", "/api/v1/log", forged, "").status, 403);
    }
    let own = format!("{json}Origin: http://localhost\r\nSec-Fetch-Site: same-origin\r\n");
    let purge = server.send("POST", "/api/v1/purge", &own, r#"{"all":true}"#);
    assert_eq!(purge.status, 200);
    assert_eq!(server.control.orders.lock().unwrap().len(), 1);
}

#[test]
fn names_of_the_configuration_are_served() {
    let local: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let server = serving(Access {
        names: vec!["admin.example".into()],
        ..Access::from(local)
    });
    let ask = |host: &str| {
        let request = format!("GET /status HTTP/1.1\r\nHost: {host}\r\n\r\n");
        server.raw(request.as_bytes()).status
    };
    assert_eq!(ask("admin.example:8081"), 200);
    assert_eq!(ask("evil.example"), 421);
}

#[test]
fn a_unix_socket_is_guarded_by_its_mode_and_needs_no_token() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("admin.sock");
    let server = serving(Access {
        tokens: tokens(),
        ..on_socket(&path)
    });
    assert_eq!(server.admin.addresses(), [Address::Unix(path.clone())]);
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o660);
    let answer = over_socket(&path, &request("GET", "/api/v1/status", "", ""));
    assert_eq!(answer.status, 200);
    drop(server);
    assert!(!path.exists(), "the socket's file was left");
}

#[test]
fn a_stale_socket_is_replaced_and_a_live_one_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("admin.sock");
    drop(UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let server = serving(on_socket(&path));
    let second = start(on_socket(&path), server.control.clone());
    assert!(second.err().unwrap().to_string().contains("admin.sock"));
    let answer = over_socket(&path, &request("GET", "/status", "", ""));
    assert_eq!(answer.status, 200);
    let file = directory.path().join("file");
    std::fs::write(&file, "precious").unwrap();
    assert!(start(on_socket(&file), server.control.clone()).is_err());
    assert_eq!(std::fs::read(&file).unwrap(), b"precious");
}

#[test]
fn several_addresses_are_served_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("admin.sock");
    let mut access = on_socket(&path);
    access
        .listen
        .push(Address::Tcp("127.0.0.1:0".parse().unwrap()));
    let server = serving(access);
    assert_eq!(server.get("/status").status, 200);
    let stream = std::os::unix::net::UnixStream::connect(&path).unwrap();
    let answer = exchange(stream, request("GET", "/status", "", "").as_bytes());
    assert_eq!(answer.status, 200);
}
