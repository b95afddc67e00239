//! 1xx responses on their way through (RFC 9110 section 15.2, RFC 8297).

use forebay_tests::{Config, Event, Forebay, Origin, reply};

const HINTS: &str = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n";

#[test]
fn early_hints_reach_the_client_before_the_final_answer() {
    let go = Event::new("the client has the hints");
    let gate = go.clone();
    let origin = Origin::start(move |_, connection| {
        connection.send(HINTS);
        gate.wait();
        connection.send(reply(200, &[], "page"));
    });
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    let hints = client.send_request("GET", "/", &[], "").read_any_head();
    assert_eq!(hints.status, 103);
    assert_eq!(hints.field("link"), Some("</style.css>; rel=preload"));
    go.set();
    assert_eq!(client.read().text(), "page");
}

#[test]
fn several_interim_responses_keep_their_order() {
    let second = "HTTP/1.1 103 Early Hints\r\nLink: </two>\r\n\r\n";
    let origin = Origin::fixed(format!("{HINTS}{second}{}", reply(200, &[], "page")));
    let forebay = Forebay::before(&origin);
    let response = forebay.get("/");
    let links: Vec<_> = response
        .interim
        .iter()
        .map(|(s, f)| (*s, f.joined("link")))
        .collect();
    assert_eq!(
        links,
        [
            (103, "</style.css>; rel=preload".to_owned()),
            (103, "</two>".to_owned())
        ]
    );
    assert_eq!(response.text(), "page");
}

#[test]
fn unknown_interim_responses_are_forwarded() {
    let origin = Origin::fixed(format!(
        "HTTP/1.1 150 Progress\r\nX: y\r\n\r\n{}",
        reply(200, &[], "page")
    ));
    let forebay = Forebay::before(&origin);
    let response = forebay.get("/");
    // RFC 9110 section 15.2: a proxy forwards 1xx responses it did not ask for itself.
    assert_eq!(
        response.interim.first().map(|(status, _)| *status),
        Some(150)
    );
}

#[test]
fn http_1_0_client_gets_no_interim_response() {
    let origin = Origin::fixed(format!("{HINTS}{}", reply(200, &[], "page")));
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.send("GET / HTTP/1.0\r\nHost: a\r\n\r\n");
    let response = client.read();
    assert_eq!((response.status, response.interim.len()), (200, 0));
}

#[test]
fn hop_by_hop_fields_of_interim_responses_stay_here() {
    let hints = "HTTP/1.1 103 Early Hints\r\nConnection: x-hop\r\nX-Hop: 1\r\nLink: </a>\r\n\r\n";
    let origin = Origin::fixed(format!("{hints}{}", reply(200, &[], "page")));
    let forebay = Forebay::before(&origin);
    let response = forebay.get("/");
    assert!(response.interim[0].1.get("x-hop").is_none(), "{response:?}");
    assert_eq!(response.interim[0].1.get("link"), Some("</a>"));
}

#[test]
fn interim_response_is_not_stored() {
    let origin = Origin::fixed(format!(
        "{HINTS}{}",
        reply(200, &["Cache-Control: max-age=60"], "page")
    ));
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    let hit = forebay.get("/");
    assert!(hit.is_hit());
    assert_eq!((hit.text().as_str(), hit.interim.len()), ("page", 0));
}

#[test]
fn unasked_continue_harms_nobody() {
    let origin = Origin::fixed(format!(
        "HTTP/1.1 100 Continue\r\n\r\n{}",
        reply(200, &[], "page")
    ));
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    assert_eq!(client.get("/1").text(), "page");
    assert_eq!(client.get("/2").text(), "page");
}

#[test]
fn flood_of_interim_responses_becomes_502() {
    let origin = Origin::start(|_, connection| {
        connection.send(HINTS.repeat(1000));
        connection.send(reply(200, &[], "page"));
    });
    let forebay = Forebay::start(&Config::to(&origin).set("limits", "interim_responses = 4"));
    let response = forebay.get("/");
    assert_eq!(response.status, 502);
    assert!(response.interim.len() <= 4, "{}", response.interim.len());
}

#[test]
fn malformed_interim_response_becomes_502() {
    let origin = Origin::fixed(format!(
        "HTTP/1.1 103 Hints\r\nX : y\r\n\r\n{}",
        reply(200, &[], "page")
    ));
    let forebay = Forebay::before(&origin);
    assert_eq!(forebay.get("/").status, 502);
}
