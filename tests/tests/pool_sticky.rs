//! Users that stay with their server.

use forebay_tests::{Config, Forebay, Origin, Response, reply};

/// An origin that says its name; under `/cached` in a response that may be stored.
fn named(name: &'static str) -> Origin {
    Origin::start(move |request, connection| {
        let fields: &[&str] = match &*request.target {
            "/cached" => &["Cache-Control: max-age=60"],
            "/login" => &[
                "Set-Cookie: SID=from-the-application; Path=/",
                "Cache-Control: no-store",
            ],
            _ => &["Cache-Control: no-store"],
        };
        connection.send(reply(200, fields, name));
    })
}

fn sticky(origins: &[&Origin]) -> Config {
    let servers: Vec<String> = origins.iter().map(|origin| origin.server()).collect();
    let servers: Vec<&str> = servers.iter().map(String::as_str).collect();
    Config::new(&servers).set("pool.app.sticky", "cookie = \"route\"")
}

/// `name=value` of the cookie that a response sets.
fn cookie(response: &Response) -> Option<String> {
    let pair = response.field("Set-Cookie")?.split(';').next()?;
    Some(format!("Cookie: {pair}"))
}

#[test]
fn a_user_stays_with_the_server_that_answered_first() {
    let (one, two) = (named("one"), named("two"));
    let forebay = Forebay::start(&sticky(&[&one, &two]));
    let first = forebay.get("/");
    let cookie = cookie(&first).expect("a cookie");
    assert!(!cookie.contains(&one.server()) && !cookie.contains(&two.server()));
    for n in 0..6 {
        let again = forebay.get_with(&format!("/{n}"), &[&cookie]);
        assert_eq!(again.text(), first.text());
        assert_eq!(again.field("Set-Cookie"), None, "it has it already");
    }
    let others: Vec<String> = (0..4).map(|_| forebay.get("/").text()).collect();
    assert!(others.contains(&"one".into()) && others.contains(&"two".into()));
}

#[test]
fn the_cookie_is_never_stored() {
    let (one, two) = (named("one"), named("two"));
    let forebay = Forebay::start(&sticky(&[&one, &two]));
    for _ in 0..3 {
        assert_eq!(forebay.get("/cached").field("Set-Cookie"), None);
    }
    assert_eq!(one.count() + two.count(), 1);
}

#[test]
fn a_user_whose_server_is_gone_gets_another_and_stays_there() {
    let (mut one, mut two) = (named("one"), named("two"));
    let forebay = Forebay::start(&sticky(&[&one, &two]));
    let first = forebay.get("/");
    let old = cookie(&first).expect("a cookie");
    if first.text() == "one" {
        one.kill();
    } else {
        two.kill();
    }
    let second = forebay.get_with("/2", &[&old]);
    assert_eq!(second.status, 200);
    assert_ne!(second.text(), first.text());
    let new = cookie(&second).expect("a new cookie");
    assert_ne!(new, old);
    assert_eq!(forebay.get_with("/3", &[&new]).text(), second.text());
}

#[test]
fn a_cookie_that_nobody_gave_is_as_good_as_none() {
    let one = named("one");
    let forebay = Forebay::start(&sticky(&[&one]));
    for value in [
        "route=",
        "route=0",
        "route=../../etc",
        "route=ffffffffffffffff",
    ] {
        let response = forebay.get_with("/", &[&format!("Cookie: {value}")]);
        assert_eq!(response.text(), "one");
        assert!(cookie(&response).is_some());
    }
}

#[test]
fn the_cookie_is_the_same_after_a_restart() {
    let (one, two) = (named("one"), named("two"));
    let config = sticky(&[&one, &two]);
    let first = Forebay::start(&config).get("/");
    let cookie = cookie(&first).expect("a cookie");
    let forebay = Forebay::start(&config);
    for n in 0..4 {
        let again = forebay.get_with(&format!("/{n}"), &[&cookie]);
        assert_eq!(again.text(), first.text());
    }
}

#[test]
fn an_applications_own_cookie_is_learned() {
    let (one, two) = (named("one"), named("two"));
    let servers = [one.server(), two.server()];
    let config = Config::new(&[&servers[0], &servers[1]])
        .set("pool.app.sticky", "cookie = \"SID\"")
        .set("pool.app.sticky", "learn = true");
    let forebay = Forebay::start(&config);
    let login = forebay.get("/login");
    assert_eq!(
        login.field("Set-Cookie"),
        Some("SID=from-the-application; Path=/")
    );
    for n in 0..6 {
        let again = forebay.get_with(&format!("/{n}"), &["Cookie: SID=from-the-application"]);
        assert_eq!(again.text(), login.text());
        assert_eq!(again.field("Set-Cookie"), None);
    }
}
