//! Upgraded connections: a tunnel in both directions (RFC 9110 section 7.8).

use forebay_tests::{Config, Connection, Event, Forebay, Origin, reply};

#[test]
fn upgrade_becomes_a_tunnel_in_both_directions() {
    let origin = Origin::raw(|connection| {
        let Ok(request) = connection.request_head() else {
            return;
        };
        connection.record(request);
        connection.send("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\nhello");
        let ping = connection.read_bytes(4).unwrap();
        connection.send(ping);
        let rest = connection.read_to_end();
        connection.send([b"bye ".as_slice(), &rest].concat());
        connection.close();
    });
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    let fields = [
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Key: k",
        "Sec-WebSocket-Version: 13",
    ];
    let head = client
        .send_request("GET", "/chat", &fields, "")
        .read_any_head();
    assert_eq!(head.status, 101);
    assert!(head.fields.lists("connection", "upgrade"), "{head:?}");
    assert_eq!(head.field("upgrade"), Some("websocket"));
    assert_eq!(head.field("sec-websocket-accept"), Some("x"));
    let request = origin.last();
    assert!(request.fields.lists("connection", "upgrade"), "{request:?}");
    assert_eq!(request.field("upgrade"), Some("websocket"));
    assert_eq!(client.read_bytes(5), b"hello");
    client.send(b"\x00\xff\r\n");
    assert_eq!(client.read_bytes(4), b"\x00\xff\r\n");
    // A direction that ends does not end the other.
    client.send("last").finish();
    assert_eq!(client.read_bytes(8), b"bye last");
    client.expect_close();
}

#[test]
fn bytes_sent_right_behind_the_upgrade_request_are_kept() {
    let origin = Origin::raw(|connection| {
        if connection.request_head().is_err() {
            return;
        }
        connection.send(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n",
        );
        let eager = connection.read_bytes(5).unwrap();
        connection.send(eager);
        connection.close();
    });
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\neager");
    assert_eq!(client.read_any_head().status, 101);
    assert_eq!(client.read_bytes(5), b"eager");
    client.expect_close();
}

#[test]
fn tunnel_carries_much_in_both_directions_at_once() {
    const SIZE: usize = 4 << 20;
    let origin = Origin::raw(|connection| {
        if connection.request_head().is_err() {
            return;
        }
        connection.send(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n",
        );
        while let Ok(piece) = connection.read_bytes(65_536) {
            connection.send(piece);
        }
    });
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n");
    assert_eq!(client.read_any_head().status, 101);
    for round in 0..SIZE / 65_536 {
        let piece = vec![round as u8; 65_536];
        client.send(&piece);
        assert_eq!(client.read_bytes(65_536), piece);
    }
}

#[test]
fn origin_may_decline_an_upgrade() {
    let origin = Origin::fixed(reply(200, &[], "plain"));
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    let response = client.get_with("/", &["Connection: upgrade", "Upgrade: websocket"]);
    assert_eq!((response.status, response.text().as_str()), (200, "plain"));
    assert_eq!(client.get("/").text(), "plain");
}

#[test]
fn upgrade_is_never_answered_from_the_cache() {
    let origin = Origin::fixed(reply(200, &["Cache-Control: max-age=60"], "x"));
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    forebay.get_with("/", &["Connection: upgrade", "Upgrade: websocket"]);
    assert_eq!(origin.count(), 2);
}

/// An origin whose every connection leaves HTTP, and goes on so.
fn switching(then: impl Fn(&mut Connection) + Send + Sync + 'static) -> Origin {
    Origin::raw(move |connection| {
        if connection.request_head().is_err() {
            return;
        }
        connection
            .send("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
        then(connection);
    })
}

#[test]
fn idle_tunnel_is_closed_after_its_timeout() {
    let closed = Event::new("the origin sees the end");
    let announce = closed.clone();
    let origin = switching(move |connection| {
        connection.read_to_end();
        announce.set();
    });
    let forebay = Forebay::start(&Config::to(&origin).set("timeouts", "tunnel = \"200ms\""));
    let mut client = forebay.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
    assert_eq!(client.read_any_head().status, 101);
    client.expect_close();
    closed.wait();
}

#[test]
fn what_a_slow_client_has_not_taken_yet_reaches_it_after_the_tunnel() {
    const SIZE: usize = 3_000_000;
    let ended = Event::new("the origin has sent all");
    let announce = ended.clone();
    let origin = switching(move |connection| {
        connection.read_to_end();
        connection.send(vec![b'x'; SIZE]);
        connection.close();
        announce.set();
    });
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
    assert_eq!(client.read_any_head().status, 101);
    client.finish();
    ended.wait();
    assert_eq!(client.read_bytes(SIZE).len(), SIZE);
    client.expect_close();
}

/// An origin whose every connection becomes a WebSocket, with one early hint before.
fn websocket() -> Origin {
    Origin::raw(|connection| {
        if connection.request_head().is_err() {
            return;
        }
        connection.send(
            "HTTP/1.1 103 Early Hints\r\nServer: hints\r\n\r\n\
             HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade, keep-alive\r\n\
             Upgrade: websocket\r\nSec-WebSocket-Accept: x\r\nSec-WebSocket-Protocol: chat\r\n\
             Server: secret\r\nLink: </o>\r\nX-Powered-By: x\r\n\r\nhello",
        );
        connection.close();
    })
}

const WEBSOCKET: [&str; 4] = [
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Key: k",
    "Sec-WebSocket-Version: 13",
];

#[test]
fn the_fields_of_a_101_are_changed_like_those_of_other_answers() {
    let origin = websocket();
    let site = "[site.a]\npool = \"app\"\nset_response_headers = { X-Id = \"{header.x-id}\", Server = \"edge\" }\n\
                add_response_headers = { Link = \"</e>\" }\nremove_response_headers = [\"X-Powered-*\"]\n";
    let forebay = Forebay::start(&Config::to(&origin).append(site));
    let fields = [&WEBSOCKET[..], &["X-Id: 7"]].concat();
    let mut client = forebay.client();
    let hints = client.send_request("GET", "/", &fields, "").read_any_head();
    assert_eq!((hints.status, hints.field("server")), (103, Some("hints")));
    let head = client.read_any_head();
    assert_eq!(head.status, 101);
    assert!(head.fields.all("server").eq(["edge"]), "{head:?}");
    assert_eq!(head.field("x-id"), Some("7"));
    assert!(head.fields.all("link").eq(["</o>", "</e>"]), "{head:?}");
    assert_eq!(head.field("x-powered-by"), None);
    assert_eq!(head.field("sec-websocket-accept"), Some("x"));
    assert_eq!(client.read_bytes(5), b"hello");
}

#[test]
fn a_glob_for_everything_leaves_the_handshake_alone() {
    let origin = websocket();
    let site = "[site.a]\npool = \"app\"\nremove_response_headers = [\"*\"]\nremove_request_headers = [\"*\"]\n";
    let forebay = Forebay::start(&Config::to(&origin).append(site));
    let mut client = forebay.client();
    client.send_request("GET", "/", &WEBSOCKET, "");
    assert_eq!(client.read_any_head().status, 103);
    let head = client.read_any_head();
    assert_eq!(head.status, 101);
    assert!(head.fields.lists("connection", "upgrade"), "{head:?}");
    assert!(!head.fields.lists("connection", "close"), "{head:?}");
    assert_eq!(head.field("upgrade"), Some("websocket"));
    assert_eq!(head.field("sec-websocket-accept"), Some("x"));
    assert_eq!(head.field("sec-websocket-protocol"), Some("chat"));
    assert_eq!(head.field("x-powered-by"), None);
    assert_eq!(client.read_bytes(5), b"hello");
}

#[test]
fn a_101_sets_the_sticky_cookie_for_who_has_none_that_is_right() {
    let origin = websocket();
    let forebay = Forebay::start(&Config::to(&origin).set("pool.app.sticky", "cookie = \"route\""));
    let upgraded = |more: &[&str]| {
        let mut client = forebay.client();
        client.send_request("GET", "/", &[&WEBSOCKET[..], more].concat(), "");
        assert_eq!(client.read_any_head().field("set-cookie"), None);
        let head = client.read_any_head();
        assert_eq!(head.status, 101);
        assert_eq!(client.read_bytes(5), b"hello");
        head.field("set-cookie").map(str::to_owned)
    };
    let line = upgraded(&[]).expect("a cookie");
    let (pair, attributes) = line.split_once(';').unwrap();
    assert!(
        pair.starts_with("route=") && attributes.contains("Path=/"),
        "{line}"
    );
    assert_eq!(upgraded(&["Cookie: route=0"]), Some(line.clone()));
    assert_eq!(upgraded(&[&format!("Cookie: {pair}")]), None);
}
