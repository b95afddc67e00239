//! What the operator may decide over the origin's head.

use std::process::Command;
use std::time::{Duration, Instant};

use forebay_tests::{Config, Forebay, Origin, date, program, reply};

use crate::common::{STALE, expect_hits_with, is_fresh_for, numbered, scripted};

#[test]
fn default_ttl_is_for_responses_that_state_none() {
    let expires = format!("Expires: {}", date::from_now(-10));
    expect_hits_with(
        |c| c.cache("default_ttl = \"1h\""),
        &[],
        &[
            (&[], true),
            (&["Cache-Control: public"], true),
            (&["Cache-Control: max-age=0"], false),
            (&["Cache-Control: no-store"], false),
            (&["Cache-Control: private"], false),
            (&["Cache-Control: no-cache"], false),
            (&[&expires], false),
            (&["Set-Cookie: a=b"], false),
            (&["Vary: *"], false),
        ],
    );
}

#[test]
fn default_ttl_is_exact_to_the_second() {
    let origin = numbered(&[]);
    let forebay = Forebay::start(&Config::to(&origin).cache("default_ttl = \"2s\""));
    let before = Instant::now();
    forebay.get("/");
    let after = Instant::now();
    let hit = forebay.get("/").is_hit();
    assert!(hit || before.elapsed() >= Duration::from_secs(2));
    std::thread::sleep(Duration::from_millis(2050).saturating_sub(after.elapsed()));
    assert!(!forebay.get("/").is_hit());
}

#[test]
fn default_ttl_of_zero_stores_for_validation_only() {
    let origin = scripted(&[(200, &["ETag: \"a\""]), (304, &["ETag: \"a\""])]);
    let forebay = Forebay::start(&Config::to(&origin).cache("default_ttl = 0"));
    forebay.get("/");
    let second = forebay.get("/");
    assert_eq!((second.is_hit(), second.text().as_str()), (false, "n0"));
    assert_eq!(origin.last().field("if-none-match"), Some("\"a\""));
}

#[test]
fn default_ttl_can_be_a_fraction_of_a_second() {
    let origin = numbered(&[]);
    let forebay = Forebay::start(&Config::to(&origin).cache("default_ttl = \"300ms\""));
    forebay.get("/");
    std::thread::sleep(Duration::from_millis(350));
    assert!(!forebay.get("/").is_hit());
}

#[test]
fn ttl_by_status_is_stronger_than_the_default() {
    let origin = Origin::start(|request, connection| {
        connection.send(reply(request.target[1..].parse().unwrap(), &[], "x"));
    });
    let config = Config::to(&origin)
        .cache("default_ttl = \"1h\"")
        .cache("ttl_status = { 404 = \"10s\", 200 = \"0s\" }");
    let forebay = Forebay::start(&config);
    for (status, ttl) in [("404", 10), ("301", 3600)] {
        let target = format!("/{status}");
        forebay.get(&target);
        let hit = forebay.get(&target);
        assert!(is_fresh_for(&hit, ttl), "{status}: {hit:?}");
    }
    forebay.get("/200");
    assert!(!forebay.get("/200").is_hit());
}

/// Statuses whose responses are never stored, so that `ttl_status` refuses them.
const NEVER_STORED: [u16; 15] = [
    304, 407, 408, 411, 412, 413, 415, 416, 417, 421, 422, 425, 426, 428, 431,
];

#[test]
fn ttl_by_status_holds_for_every_status_that_it_takes() {
    let origin = Origin::start(|request, connection| {
        let status = request.target[1..].parse().unwrap();
        let fields: &[&str] = match status {
            206 => &["Content-Range: bytes 0-0/9", "ETag: \"1\""],
            _ => &[],
        };
        connection.send(reply(status, fields, "x"));
    });
    let taken: Vec<u16> = (200..600).filter(|s| !NEVER_STORED.contains(s)).collect();
    let times: Vec<String> = taken.iter().map(|s| format!("{s} = \"1m\"")).collect();
    let table = format!("ttl_status = {{ {} }}", times.join(", "));
    let forebay = Forebay::start(&Config::to(&origin).cache(&table));
    let mut client = forebay.client();
    for status in taken {
        let target = format!("/{status}");
        let fields: &[&str] = match status {
            206 => &["Range: bytes=0-0"],
            _ => &[],
        };
        assert_eq!(client.get_with(&target, fields).status, status);
        let again = client.get_with(&target, fields);
        assert!(is_fresh_for(&again, 60), "{status}: {again:?}");
    }
}

#[test]
fn ttl_by_status_is_refused_where_nothing_is_ever_stored() {
    let origin = Origin::start(|request, connection| {
        let status = request.target[1..].parse().unwrap();
        let fields = ["Cache-Control: public, max-age=60"];
        connection.send(reply(status, &fields, "x"));
    });
    let forebay = Forebay::before(&origin);
    for status in NEVER_STORED {
        forebay.get(&format!("/{status}"));
        let again = forebay.get(&format!("/{status}"));
        assert!(!again.is_hit(), "{status}: {again:?}");
    }
    let file = forebay.config_file();
    for status in NEVER_STORED.into_iter().chain([100, 103, 199]) {
        let line = format!("ttl_status = {{ 404 = \"1s\", {status} = \"1s\" }}");
        forebay.write_config(&Config::to(&origin).cache(&line).text());
        let output = Command::new(program::path())
            .args(["check".as_ref(), "--config".as_ref(), file.as_os_str()])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{status}");
        let said = String::from_utf8_lossy(&output.stderr);
        let why = format!("`{status}` is a status whose responses are never stored");
        let under = format!("{}^", " ".repeat(line.find(&status.to_string()).unwrap()));
        for part in [
            &why,
            &line,
            &under,
            "a status from 200 to 599, but for 304,",
        ] {
            assert!(said.contains(part), "no {part} in {said}");
        }
    }
}

#[test]
fn ttl_by_status_leaves_stated_freshness_alone() {
    let origin = Origin::fixed(reply(404, &["Cache-Control: max-age=100"], "x"));
    let forebay = Forebay::start(&Config::to(&origin).cache("ttl_status = { 404 = \"10s\" }"));
    forebay.get("/");
    assert!(forebay.get("/").cache_status().ttl.unwrap() > 50);
}

#[test]
fn default_ttl_does_not_reach_errors() {
    // A default meant for pages must not keep an outage alive: 5xx need ttl_status or their own word.
    let origin = Origin::fixed(reply(503, &[], "down"));
    let forebay = Forebay::start(&Config::to(&origin).cache("default_ttl = \"1h\""));
    forebay.get("/");
    assert!(!forebay.get("/").is_hit());
}

#[test]
fn force_ttl_overrules_the_origin() {
    expect_hits_with(
        |c| c.cache("force_ttl = \"1h\""),
        &[],
        &[
            (&["Cache-Control: no-store"], true),
            (&["Cache-Control: private"], true),
            (&["Cache-Control: no-cache"], true),
            (&["Cache-Control: max-age=0"], true),
            (&["Expires: 0"], true),
            (&[], true),
            (&["Set-Cookie: a=b"], false),
        ],
    );
    let origin = numbered(&["Cache-Control: max-age=1000"]);
    let forebay = Forebay::start(&Config::to(&origin).cache("force_ttl = \"10s\""));
    forebay.get("/");
    assert!(forebay.get("/").cache_status().ttl.unwrap() <= 10);
}

#[test]
fn site_and_path_settings_go_over_the_defaults() {
    let origin = numbered(&[]);
    let config = Config::to(&origin)
        .cache("default_ttl = \"100s\"")
        .set("site.a", "hosts = [\"a.example\"]")
        .set("site.a", "default_ttl = \"200s\"")
        .set("site.b", "hosts = [\"*\"]")
        .append("[[site.a.path]]\nmatch = \"/img/*\"\ndefault_ttl = \"300s\"")
        .append("[[site.a.path]]\nmatch = \"*.css\"\ndefault_ttl = \"400s\"")
        .append("[[site.a.path]]\nmatch = \"/never\"\npass = true");
    let forebay = Forebay::start(&config);
    let lasts = |host: &str, target: &str, seconds: i64| {
        let host = format!("Host: {host}");
        forebay.get_with(target, &[&host]);
        is_fresh_for(&forebay.get_with(target, &[&host]), seconds)
    };
    assert!(lasts("b.example", "/x", 100));
    assert!(lasts("a.example", "/x", 200));
    assert!(
        lasts("a.example", "/img/x.css", 300),
        "the first rule that matches decides"
    );
    assert!(lasts("a.example", "/style.css?v=1", 400));
    assert!(lasts("b.example", "/style.css", 100));
    for target in ["/never", "/never/more"] {
        let status = forebay
            .get_with(target, &["Host: a.example"])
            .cache_status();
        assert_eq!(
            (status.forwarded(), status.stored),
            ("bypass", false),
            "{target}"
        );
    }
    assert!(lasts("a.example", "/nevermore", 200));
}

#[test]
fn query_parameters_can_be_ignored() {
    let origin = numbered(&["Cache-Control: max-age=60"]);
    let forebay =
        Forebay::start(&Config::to(&origin).cache("ignore_query = [\"utm_*\", \"fbclid\"]"));
    forebay.get("/p?a=1&utm_source=x&b=2&fbclid=y");
    assert_eq!(
        origin.last().target,
        "/p?a=1&b=2",
        "the origin must see what the key says"
    );
    assert!(forebay.get("/p?a=1&b=2&utm_medium=z").is_hit());
    assert!(forebay.get("/p?utm_a=1&a=1&b=2").is_hit());
    assert!(!forebay.get("/p?b=2&a=1").is_hit());
    assert!(!forebay.get("/p").is_hit());
    assert!(
        forebay.get("/p?utm_x=1").is_hit(),
        "a query that is emptied is no query"
    );
}

#[test]
fn query_parameters_can_be_kept_by_name() {
    let origin = numbered(&["Cache-Control: max-age=60"]);
    let forebay = Forebay::start(&Config::to(&origin).cache("keep_query = [\"page\", \"id*\"]"));
    forebay.get("/p?page=1&x=2&id7=a");
    assert_eq!(origin.last().target, "/p?page=1&id7=a");
    assert!(forebay.get("/p?z=9&page=1&id7=a").is_hit());
    assert!(!forebay.get("/p?page=2&id7=a").is_hit());
    for method in ["POST", "PUT"] {
        let target = "/p?page=1&token=2";
        forebay.client().exchange(method, target, &[], "a");
        assert_eq!(origin.last().target, target, "{method}");
    }
}

#[test]
fn query_can_be_sorted() {
    let origin = numbered(&["Cache-Control: max-age=60"]);
    let forebay = Forebay::start(&Config::to(&origin).cache("sort_query = true"));
    forebay.get("/p?b=2&a=1");
    assert!(forebay.get("/p?a=1&b=2").is_hit());
    assert!(!forebay.get("/p?a=1&b=3").is_hit());
}

#[test]
fn query_is_part_of_the_key_as_it_is() {
    let origin = numbered(&["Cache-Control: max-age=60"]);
    let forebay = Forebay::before(&origin);
    for target in [
        "/p", "/p?", "/p?a", "/p?a=", "/p?A=", "/P", "/p/", "//p", "/%70",
    ] {
        assert!(
            !forebay.get(target).is_hit(),
            "{target} was taken for another"
        );
        assert_eq!(origin.last().target, target);
        assert!(forebay.get(target).is_hit(), "{target}");
    }
}

#[test]
fn host_is_part_of_the_key_without_case_and_default_port() {
    let origin = numbered(&["Cache-Control: max-age=60"]);
    let forebay = Forebay::before(&origin);
    let ask = |host: &str| forebay.get_with("/", &[&format!("Host: {host}")]).is_hit();
    assert!(!ask("a.example"));
    assert!(ask("A.EXAMPLE"));
    assert!(ask("a.example:80"));
    assert!(!ask("a.example:8080"));
    assert!(!ask("b.example"));
}

#[test]
fn key_can_be_composed() {
    let origin = numbered(&["Cache-Control: max-age=60"]);
    let line = "key = [\"path\", \"header:X-Device\", \"cookie:lang\"]";
    let forebay = Forebay::start(&Config::to(&origin).cache(line));
    let base = [
        "Host: a.example",
        "X-Device: phone",
        "Cookie: sid=1; lang=de",
    ];
    forebay.get_with("/p?q=1", &base);
    assert!(
        forebay
            .get_with(
                "/p?q=2",
                &[
                    "Host: b.example",
                    "X-Device: phone",
                    "Cookie: lang=de; sid=2"
                ]
            )
            .is_hit()
    );
    assert!(
        !forebay
            .get_with("/p", &["X-Device: desk", "Cookie: lang=de"])
            .is_hit()
    );
    assert!(
        !forebay
            .get_with("/p", &["X-Device: phone", "Cookie: lang=en"])
            .is_hit()
    );
    assert!(!forebay.get_with("/p", &["X-Device: phone"]).is_hit());
    assert!(!forebay.get_with("/other", &base).is_hit());
}

#[test]
fn cookies_can_be_ignored_or_kept() {
    let sent = ["Cookie: _ga=1; sid=2; lang=de"];
    for (line, expected) in [
        ("ignore_cookies = [\"_g*\"]", Some("sid=2; lang=de")),
        ("keep_cookies = [\"lang\"]", Some("lang=de")),
        ("keep_cookies = []", None),
        ("ignore_cookies = []", Some("_ga=1; sid=2; lang=de")),
    ] {
        let origin = numbered(&["Cache-Control: max-age=60", "Vary: Cookie"]);
        let forebay = Forebay::start(&Config::to(&origin).cache(line));
        forebay.get_with("/", &sent);
        assert_eq!(origin.last().field("cookie"), expected, "{line}");
    }
}

#[test]
fn ignored_cookies_make_no_variants() {
    let origin = numbered(&["Cache-Control: max-age=60", "Vary: Cookie"]);
    let forebay = Forebay::start(&Config::to(&origin).cache("ignore_cookies = [\"_g*\"]"));
    forebay.get_with("/", &["Cookie: _ga=1; sid=2"]);
    assert!(forebay.get_with("/", &["Cookie: sid=2; _gid=9"]).is_hit());
    assert!(!forebay.get_with("/", &["Cookie: sid=3"]).is_hit());
}

#[test]
fn request_cookies_do_not_prevent_caching_by_themselves() {
    let origin = numbered(&["Cache-Control: max-age=60"]);
    let forebay = Forebay::before(&origin);
    forebay.get_with("/", &["Cookie: a=1"]);
    assert!(forebay.get_with("/", &["Cookie: a=2"]).is_hit());
}

#[test]
fn stored_cookies_are_served_only_when_told() {
    let origin = numbered(&["Cache-Control: max-age=60", "Set-Cookie: a=b"]);
    let forebay = Forebay::start(&Config::to(&origin).cache("store_set_cookie = true"));
    forebay.get("/");
    let hit = forebay.get("/");
    assert_eq!((hit.is_hit(), hit.field("set-cookie")), (true, Some("a=b")));
}

#[test]
fn keep_of_zero_drops_what_cannot_be_served() {
    let origin = numbered(&["Cache-Control: max-age=60", STALE, "ETag: \"a\""]);
    let forebay = Forebay::start(&Config::to(&origin).cache("keep = 0"));
    forebay.get("/");
    forebay.get("/");
    assert_eq!(origin.last().field("if-none-match"), None);
}
