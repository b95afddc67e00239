//! What one client, or an origin that lies, may do so that others get what
//! was not meant for them.

use std::io::{Read, Write};
use std::net::SocketAddr;

use forebay_tests::{Address, Config, Forebay, Origin, reply};

use crate::common::{eventually, is_fresh_for, numbered};

const FRESH: &str = "Cache-Control: max-age=600";

/// Answers with the value of a request field, `nothing` without it.
fn echo(field: &'static str, fields: &'static [&'static str]) -> Origin {
    Origin::start(move |request, connection| {
        let value = request.fields.joined(field);
        let text = if value.is_empty() { "nothing" } else { &value };
        connection.send(reply(200, fields, text));
    })
}

/// Has 5 of 20 bytes stored, then is answered with `rest` for the 15 that are missing.
#[track_caller]
fn object_is_not_completed_from(rest: &str, closes: bool) {
    let rest = format!(
        "HTTP/1.1 206 Part\r\nETag: \"a\"\r\n{FRESH}\r\nContent-Range: bytes 5-19/20\r\n{rest}"
    );
    let origin = Origin::start(move |request, connection| {
        let fields = ["ETag: \"a\"", FRESH, "Content-Range: bytes 0-4/20"];
        match (request.target.as_str(), request.field("range")) {
            ("/second", _) => connection.send(reply(200, &[], "second")),
            (_, Some("bytes=0-4")) => connection.send(reply(206, &fields, "01234")),
            (_, Some(_)) => {
                connection.send(&rest);
                if closes {
                    connection.close();
                }
            }
            _ => connection.send(reply(200, &fields[..2], WHOLE)),
        }
    });
    let forebay = Forebay::before(&origin);
    forebay.get_with("/", &["Range: bytes=0-4"]);
    let mut client = forebay.client();
    client.send_request("GET", "/", &[], "");
    client.send_request("GET", "/second", &[], "");
    if let Ok(response) = client.try_read() {
        if response.status == 200 {
            assert_eq!(response.text(), WHOLE);
        }
        if let Ok(next) = client.try_read() {
            assert_eq!(next.text(), "second");
        }
    }
    for _ in 0..2 {
        if let Ok(again) = forebay
            .client()
            .send_request("GET", "/", &[], "")
            .try_read()
        {
            assert!(again.status == 502 || again.text() == WHOLE, "{again:?}");
        }
    }
}

const WHOLE: &str = "01234555555555555555";

#[test]
fn object_is_not_completed_with_more_than_is_missing() {
    let poison = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL";
    let body = format!("{}{poison}", &WHOLE[5..]);
    let chunked = format!(
        "Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
        body.len()
    );
    object_is_not_completed_from(&chunked, false);
    let stated = format!("Content-Length: {}\r\n\r\n{body}", body.len());
    object_is_not_completed_from(&stated, false);
}

#[test]
fn object_is_not_completed_with_less_than_is_missing() {
    object_is_not_completed_from(
        "Transfer-Encoding: chunked\r\n\r\n5\r\n55555\r\n0\r\n\r\n",
        false,
    );
    object_is_not_completed_from("Content-Length: 5\r\n\r\n55555", false);
    // It died on the way, and nothing says so.
    object_is_not_completed_from("Connection: close\r\n\r\n55555", true);
}

#[test]
fn grace_shares_nothing_that_never_was_fresh() {
    for fields in [
        &[] as &[&str],
        &["Expires: 0", "Pragma: no-cache"],
        &["Cache-Control: max-age=0"],
    ] {
        let origin = echo("cookie", fields);
        let config = Config::to(&origin)
            .cache("grace = \"60s\"")
            .cache("stale_if_error = \"60s\"");
        let forebay = Forebay::start(&config);
        assert_eq!(forebay.get_with("/", &["Cookie: alice"]).text(), "alice");
        let other = forebay.get_with("/", &["Cookie: bob"]);
        assert_eq!(other.text(), "bob", "{fields:?}");
    }
}

#[test]
fn failing_origin_shows_nobody_what_never_was_fresh() {
    let origin = Origin::start(|request, connection| match request.number {
        0 => connection.send(reply(200, &["ETag: \"a\""], "alice")),
        _ => connection.send(reply(503, &[], "down")),
    });
    let forebay = Forebay::start(&Config::to(&origin).cache("stale_if_error = \"60s\""));
    forebay.get("/");
    assert_eq!(forebay.get("/").status, 503);
}

#[test]
fn range_that_cannot_be_had_answers_for_nobody_else() {
    let origin = Origin::start(|request, connection| match request.field("range") {
        Some(_) => connection.send(reply(416, &[FRESH, "Content-Range: bytes */5"], "no!")),
        None => connection.send(reply(200, &[FRESH], "hello")),
    });
    let forebay = Forebay::before(&origin);
    assert_eq!(forebay.get_with("/", &["Range: bytes=999999-"]).status, 416);
    let response = forebay.get("/");
    assert_eq!((response.status, response.text().as_str()), (200, "hello"));
}

#[test]
fn keys_without_host_are_a_sites_own() {
    let origin = echo("host", &[FRESH]);
    let mut config = Config::to(&origin);
    for site in ["a", "b"] {
        let section = format!("site.{site}");
        config = config
            .set(&section, &format!("hosts = [\"{site}.example\"]"))
            .set(&section, "pool = \"app\"")
            .set(&section, "key = [\"path\", \"query\"]");
    }
    let forebay = Forebay::start(&config);
    for host in ["a.example", "b.example"] {
        let field = format!("Host: {host}");
        assert_eq!(forebay.get_with("/", &[&field]).text(), host);
        assert!(forebay.get_with("/", &[&field]).is_hit());
    }
}

#[test]
fn field_that_connection_names_does_not_choose_the_key() {
    let origin = Origin::start(|request, connection| {
        let seen = [request.field("x-device"), request.field("cookie")];
        connection.send(reply(200, &[FRESH], &format!("{seen:?}")));
    });
    let key = "key = [\"host\", \"path\", \"header:X-Device\", \"cookie:id\"]";
    let forebay = Forebay::start(&Config::to(&origin).cache(key));
    let fields = ["X-Device: mobile", "Cookie: id=7"];
    for hidden in ["Connection: X-Device", "Connection: close, Cookie"] {
        forebay.get_with("/", &[fields[0], fields[1], hidden]);
    }
    let seen = forebay.get_with("/", &fields).text();
    assert_eq!(seen, "[Some(\"mobile\"), Some(\"id=7\")]");
}

/// One GET from another address of this machine.
fn get_from(address: &str, forebay: &Forebay) -> String {
    let Address::Tcp(to) = forebay.addresses[0] else {
        unreachable!()
    };
    let from: SocketAddr = format!("{address}:0").parse().unwrap();
    let domain = socket2::Domain::IPV4;
    let mut socket = socket2::Socket::new(domain, socket2::Type::STREAM, None).unwrap();
    socket.bind(&from.into()).unwrap();
    socket.connect(&to.into()).unwrap();
    socket
        .set_read_timeout(Some(forebay_tests::DEADLINE))
        .unwrap();
    let request = "GET / HTTP/1.1\r\nHost: test.example\r\nConnection: close\r\n\r\n";
    socket.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn variants_by_the_clients_address_are_nobody_elses() {
    let origin = echo("x-forwarded-for", &[FRESH, "Vary: X-Forwarded-For"]);
    let forebay = Forebay::before(&origin);
    for address in ["127.0.0.2", "127.0.0.3", "127.0.0.2"] {
        let text = get_from(address, &forebay);
        assert!(text.ends_with(&format!("\r\n\r\n{address}")), "{text}");
    }
}

#[test]
fn log_of_a_refused_request_shows_nothing_of_the_one_before() {
    let origin = numbered(&[]);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("access.log");
    let config = Config::to(&origin)
        .set("log", &format!("access = {:?}", file.display().to_string()))
        .set("log", "format = \"{host} {target} {status}\"");
    let forebay = Forebay::start(&config);
    forebay.get_with("/secret", &["Host: victim.example"]);
    let refused = "POST /a HTTP/1.1\r\nHost: other.example\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(forebay.client().send(refused).read().status, 400);
    let read = || std::fs::read_to_string(&file).unwrap_or_default();
    eventually(|| read().lines().count() == 2);
    let line = read().lines().nth(1).unwrap_or_default().to_owned();
    assert!(line.ends_with(" 400"), "{line}");
    assert!(
        !line.contains("victim") && !line.contains("secret"),
        "{line}"
    );
}

#[test]
fn path_that_means_another_does_not_get_the_rules_of_the_one_it_looks_like() {
    let origin = echo("cookie", &["Cache-Control: private"]);
    let config = Config::to(&origin)
        .set("site.a", "pool = \"app\"")
        .append("[[site.a.path]]\nmatch = \"/static/*\"\nforce_ttl = \"1h\"");
    let forebay = Forebay::start(&config);
    for target in [
        "/static/..%2faccount",
        "/static/..%2Faccount",
        "/static/../account",
        "/static/%2e%2e/account",
        "/static/%2E./account",
        "/static/..%5caccount",
        "/static/a/./../../account",
    ] {
        forebay.get_with(target, &["Cookie: victim"]);
        assert_ne!(forebay.get(target).text(), "victim", "{target}");
    }
    forebay.get("/static/a.css");
    assert!(forebay.get("/static/a.css").is_hit());
}

#[test]
fn confirmation_without_a_date_makes_an_old_object_fresh() {
    let origin = Origin::start(|request, connection| {
        let fields = [
            "ETag: \"a\"",
            "Cache-Control: max-age=60",
            "Date: Sun, 06 Nov 1994 08:49:37 GMT",
        ];
        match request.field("if-none-match") {
            Some(_) => connection.send(reply(304, &fields[..2], "")),
            None => connection.send(reply(200, &fields, "x")),
        }
    });
    let forebay = Forebay::before(&origin);
    for _ in 0..2 {
        forebay.get("/");
    }
    let hit = forebay.get("/");
    assert!(is_fresh_for(&hit, 60), "{hit:?}");
    assert_eq!(origin.count(), 2);
}

#[test]
fn what_was_meant_for_plain_http_is_not_served_to_those_behind_tls() {
    let origin = echo("x-forwarded-proto", &[FRESH]);
    let config = Config::to(&origin).set("server", "trusted_proxies = [\"127.0.0.0/8\"]");
    let forebay = Forebay::start(&config);
    for proto in ["http", "https"] {
        let field = format!("X-Forwarded-Proto: {proto}");
        assert_eq!(forebay.get_with("/", &[&field]).text(), proto);
        let again = forebay.get_with("/", &[&field]);
        assert!(again.is_hit() && again.text() == proto, "{again:?}");
    }
}

#[test]
fn claim_of_tls_by_anybody_is_no_other_key() {
    let origin = echo("x-forwarded-proto", &[FRESH]);
    let forebay = Forebay::before(&origin);
    let claim = forebay.get_with("/", &["X-Forwarded-Proto: https"]);
    assert_eq!(claim.text(), "http");
    assert!(forebay.get("/").is_hit());
}
