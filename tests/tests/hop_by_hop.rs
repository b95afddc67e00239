//! What belongs to one connection stays on it, and what a proxy must add
//! (RFC 9110 sections 7.6 and 7.8, RFC 7239).

use forebay_tests::{Config, Forebay, Origin, Request, reply};

#[track_caller]
fn as_the_origin_sees(config: impl FnOnce(Config) -> Config, fields: &[&str]) -> Request {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let forebay = Forebay::start(&config(Config::to(&origin)));
    assert_eq!(forebay.get_with("/", fields).status, 200);
    origin.last()
}

#[test]
fn connection_fields_of_the_request_stay_here() {
    let request = as_the_origin_sees(
        |config| config,
        &[
            "Connection: keep-alive, X-Hop , x-other",
            "X-Hop: 1",
            "X-OTHER: 2",
            "Keep-Alive: timeout=5",
            "Proxy-Connection: keep-alive",
            "Upgrade: h2c",
            "TE: gzip",
            "X-End: 3",
        ],
    );
    for name in [
        "x-hop",
        "x-other",
        "keep-alive",
        "proxy-connection",
        "upgrade",
        "te",
    ] {
        assert!(
            request.field(name).is_none(),
            "{name} was forwarded: {request:?}"
        );
    }
    assert!(!request.fields.lists("connection", "x-hop"));
    assert_eq!(request.field("x-end"), Some("3"));
}

#[test]
fn connection_fields_of_the_response_stay_here() {
    let fields = [
        "Connection: X-Hop, keep-alive",
        "X-Hop: 1",
        "Keep-Alive: timeout=5",
        "Proxy-Connection: keep-alive",
        "Upgrade: h2c",
        "X-End: 3",
        "Cache-Control: max-age=60",
    ];
    let origin = Origin::fixed(reply(200, &fields, "x"));
    let forebay = Forebay::before(&origin);
    for kind in ["miss", "hit"] {
        let response = forebay.get("/");
        for name in ["x-hop", "keep-alive", "proxy-connection", "upgrade"] {
            assert!(
                response.field(name).is_none(),
                "{name} on a {kind}: {response:?}"
            );
        }
        assert_eq!(response.field("x-end"), Some("3"));
    }
}

#[test]
fn naming_end_to_end_fields_in_connection_removes_no_safeguard() {
    let request = as_the_origin_sees(
        |c| c,
        &["Connection: close, host, content-length, x-forwarded-for, via"],
    );
    assert_eq!(request.field("host"), Some("test.example"));
    assert!(request.field("x-forwarded-for").is_some());
    assert!(request.field("via").is_some());
}

#[test]
fn connection_close_of_the_origin_is_not_the_clients() {
    let origin = Origin::start(|_, connection| {
        connection.send(reply(200, &["Connection: close"], "x"));
        connection.close();
    });
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    for n in 0..3 {
        let response = client.get(&format!("/{n}"));
        assert!(
            !response.fields.lists("connection", "close"),
            "{response:?}"
        );
    }
    assert_eq!(origin.connections(), 3);
}

#[test]
fn connection_close_of_the_client_is_not_the_origins() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let forebay = Forebay::before(&origin);
    for n in 0..3 {
        forebay.get_with(&format!("/{n}"), &["Connection: close"]);
    }
    assert!(
        origin
            .requests()
            .iter()
            .all(|r| !r.fields.lists("connection", "close"))
    );
    assert_eq!(origin.connections(), 1);
}

#[test]
fn via_is_added_in_both_directions() {
    let origin = Origin::fixed(reply(
        200,
        &["Via: 1.0 behind", "Cache-Control: max-age=60"],
        "x",
    ));
    let forebay = Forebay::before(&origin);
    let response = forebay.get_with("/", &["Via: 1.0 before (comment)"]);
    assert_eq!(
        origin.last().fields.joined("via"),
        "1.0 before (comment), 1.1 forebay"
    );
    assert_eq!(response.fields.joined("via"), "1.0 behind, 1.1 forebay");
    assert_eq!(
        forebay.get("/").fields.joined("via"),
        "1.0 behind, 1.1 forebay",
        "on a hit"
    );
}

#[test]
fn via_carries_the_configured_name() {
    let request = as_the_origin_sees(|c| c.set("server", "name = \"edge7\""), &[]);
    assert_eq!(request.field("via"), Some("1.1 edge7"));
}

#[test]
fn origin_learns_who_the_client_is() {
    let request = as_the_origin_sees(|c| c, &[]);
    assert_eq!(request.fields.joined("x-forwarded-for"), "127.0.0.1");
    assert_eq!(request.fields.joined("x-forwarded-host"), "test.example");
    assert_eq!(request.fields.joined("x-forwarded-proto"), "http");
    let forwarded = request
        .fields
        .joined("forwarded")
        .replace('"', "")
        .to_ascii_lowercase();
    for part in ["for=127.0.0.1", "host=test.example", "proto=http"] {
        assert!(
            forwarded.split(';').any(|p| p.trim().starts_with(part)),
            "{part} in {forwarded}"
        );
    }
}

#[test]
fn claims_of_a_stranger_are_replaced() {
    let lies = [
        "X-Forwarded-For: 6.6.6.6",
        "X-Forwarded-Host: evil.example",
        "X-Forwarded-Proto: https",
        "Forwarded: for=6.6.6.6;host=evil.example",
    ];
    let request = as_the_origin_sees(|c| c, &lies);
    let text = String::from_utf8_lossy(&request.raw).into_owned();
    assert!(
        !text.contains("6.6.6.6") && !text.contains("evil.example"),
        "{text}"
    );
    assert_eq!(request.fields.joined("x-forwarded-proto"), "http");
}

#[test]
fn claims_of_a_trusted_proxy_are_extended() {
    let claims = [
        "X-Forwarded-For: 7.7.7.7",
        "X-Forwarded-Proto: https",
        "Forwarded: for=7.7.7.7;proto=https",
    ];
    let request = as_the_origin_sees(
        |c| c.set("server", "trusted_proxies = [\"127.0.0.0/8\"]"),
        &claims,
    );
    assert_eq!(
        request.fields.joined("x-forwarded-for").replace(' ', ""),
        "7.7.7.7,127.0.0.1"
    );
    assert_eq!(request.fields.joined("x-forwarded-proto"), "https");
    let forwarded = request.fields.joined("forwarded").replace('"', "");
    assert!(
        forwarded.starts_with("for=7.7.7.7;proto=https"),
        "{forwarded}"
    );
    assert!(forwarded[1..].contains("for=127.0.0.1"), "{forwarded}");
}

/// What the origin is told when a trusted proxy claims this.
fn told(claims: &[&str]) -> (String, String, String) {
    let trusting = |c: Config| c.set("server", "trusted_proxies = [\"127.0.0.0/8\"]");
    let request = as_the_origin_sees(trusting, claims);
    (
        request.fields.joined("forwarded"),
        request.fields.joined("x-forwarded-for"),
        request.fields.joined("x-forwarded-proto"),
    )
}

#[test]
fn both_forms_of_a_claim_say_the_same() {
    let told_older = told(&["X-Forwarded-For: 2001:db8::7", "X-Forwarded-Proto: https"]);
    let (forwarded, addresses, proto) = told_older;
    assert!(
        forwarded.starts_with("for=\"[2001:db8::7]\";proto=https, for=127.0.0.1"),
        "{forwarded}"
    );
    assert!(!forwarded.contains("proto=http,") && !forwarded.ends_with("proto=http"));
    assert_eq!(addresses, "2001:db8::7, 127.0.0.1");
    assert_eq!(proto, "https");

    let (forwarded, addresses, proto) =
        told(&["Forwarded: for=\"[2001:db8::7]:99\";proto=https;host=\"a.example\""]);
    assert!(
        forwarded
            .starts_with("for=\"[2001:db8::7]:99\";proto=https;host=\"a.example\", for=127.0.0.1"),
        "{forwarded}"
    );
    assert_eq!(addresses, "2001:db8::7, 127.0.0.1");
    assert_eq!(proto, "https");
}

#[test]
fn a_redirection_to_https_is_not_kept_for_those_who_came_by_it() {
    for claim in [
        "Forwarded: for=7.7.7.7;proto=https",
        "X-Forwarded-Proto: https",
    ] {
        let fresh = ["Cache-Control: max-age=60"];
        let origin = Origin::fixed(reply(200, &fresh, "x"));
        let config = Config::to(&origin).set("server", "trusted_proxies = [\"127.0.0.0/8\"]");
        let forebay = Forebay::start(&config);
        forebay.get("/");
        forebay.get("/");
        assert_eq!(origin.count(), 1);
        forebay.get_with("/", &[claim]);
        assert_eq!(origin.count(), 2, "{claim}");
    }
}

#[test]
fn forwarded_fields_are_as_configured() {
    let request = as_the_origin_sees(|c| c.set("server", "forwarded = \"x-forwarded\""), &[]);
    assert!(request.field("x-forwarded-for").is_some() && request.field("forwarded").is_none());
    let request = as_the_origin_sees(|c| c.set("server", "forwarded = \"rfc7239\""), &[]);
    assert!(request.field("x-forwarded-for").is_none() && request.field("forwarded").is_some());
    let request = as_the_origin_sees(|c| c.set("server", "forwarded = \"none\""), &[]);
    assert!(request.field("x-forwarded-for").is_none() && request.field("forwarded").is_none());
}

#[test]
fn client_on_a_unix_socket_is_unknown_not_invented() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let directory = tempfile::tempdir().unwrap();
    let listen = format!("unix:{}", directory.path().join("s").display());
    let forebay = Forebay::start(&Config::to(&origin).listen(&[&listen]));
    assert_eq!(forebay.get("/").status, 200);
    assert!(
        !origin
            .last()
            .fields
            .joined("x-forwarded-for")
            .contains("127.")
    );
}

#[test]
fn te_trailers_ends_with_its_hop() {
    // It says what this client takes, and whether trailers are passed on does not depend on it.
    for fields in [
        &["TE: trailers", "Connection: TE"][..],
        &["TE: trailers"],
        &["TE: trailers, gzip;q=0.5", "Connection: keep-alive, te"],
    ] {
        let request = as_the_origin_sees(|c| c, fields);
        assert_eq!(request.field("te"), None, "{fields:?}");
        let told = request.fields.joined("connection");
        assert!(!request.fields.lists("connection", "te"), "{told}");
    }
}

#[test]
fn credentials_for_the_origin_reach_it() {
    let request = as_the_origin_sees(|c| c, &["Authorization: Basic eDp5", "Cookie: a=b"]);
    assert_eq!(request.field("authorization"), Some("Basic eDp5"));
    assert_eq!(request.field("cookie"), Some("a=b"));
}
