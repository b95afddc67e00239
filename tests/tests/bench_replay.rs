//! Recorded traffic sent again: access logs that nginx itself wrote, HAR
//! files, and catalogues that are asked for as a recording would be.

use std::collections::BTreeMap;

use forebay_tests::{Bench, Origin, Site, SiteConfig, reply};

/// How often each path was asked for.
fn paths(log: &[String]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for line in log {
        let request = line.split('"').nth(1).unwrap();
        let path = request.split(' ').nth(1).unwrap();
        *counts.entry(path.to_owned()).or_default() += 1;
    }
    counts
}

const ANY: &str = "location / { return 200 x; }";

/// A site whose log has `/a` twice for each `/b?q=1`, 30 requests in all.
fn recorded(http: &str) -> Site {
    let site = Site::with(&SiteConfig {
        server: ANY.into(),
        http: http.into(),
        ..SiteConfig::default()
    });
    let (a, b) = (site.url("/a"), site.url("/b?q=1"));
    Bench::new(&[&a, &a, &b, "-n", "30", "-c", "1"]).figures();
    site.log(30);
    site
}

#[test]
fn a_log_of_nginx_is_replayed_in_its_order_and_once() {
    let (from, to) = (recorded(""), Site::start(ANY));
    let log = from.log_path().display().to_string();
    let figures = Bench::new(&["--log", &log, "--base", &to.url("/"), "-c", "1"]).figures();
    assert_eq!(figures.count("succeeded"), 30);
    assert_eq!(figures.warnings(), "", "nothing was left out");
    let first = |site: &Site| -> Vec<String> {
        let requests = site.log(30).into_iter();
        requests
            .map(|line| line.split('"').nth(1).unwrap().to_owned())
            .collect()
    };
    assert_eq!(first(&to), first(&from));
}

#[test]
fn a_replay_on_several_connections_sends_each_request_once() {
    let (from, to) = (recorded(""), Site::start(ANY));
    let log = from.log_path().display().to_string();
    let load = [
        "--log",
        &log,
        "--base",
        &to.url("/"),
        "-c",
        "8",
        "-t",
        "2",
        "--speed",
        "max",
    ];
    assert_eq!(Bench::new(&load).figures().count("succeeded"), 30);
    assert_eq!(paths(&to.log(30)), paths(&from.log(30)));
}

#[test]
fn popularity_asks_for_each_request_as_often_as_it_occurs() {
    let (from, to) = (recorded(""), Site::start(ANY));
    let log = from.log_path().display().to_string();
    let load = [
        "--log",
        &log,
        "--base",
        &to.url("/"),
        "--speed",
        "popularity",
        "-n",
        "600",
        "-c",
        "2",
    ];
    assert_eq!(Bench::new(&load).figures().count("succeeded"), 600);
    let counts = paths(&to.log(600));
    // Two of three by chance: 400 with a standard deviation of 11.5.
    assert!((330..=470).contains(&counts["/a"]), "{counts:?}");
    assert_eq!(counts["/a"] + counts["/b?q=1"], 600);
}

#[test]
fn a_log_at_ten_times_its_speed_takes_a_tenth_of_its_time() {
    let (from, to) = (Site::start(ANY), Site::start(ANY));
    // nginx writes a log of two seconds and a bit.
    Bench::new(&[&from.url("/a"), "--rate", "10", "-n", "22", "-c", "2"]).figures();
    from.log(22);
    let log = from.log_path().display().to_string();
    let load = [
        "--log",
        &log,
        "--base",
        &to.url("/"),
        "-c",
        "2",
        "--speed",
        "10",
    ];
    let figures = Bench::new(&load).figures();
    assert_eq!(figures.count("succeeded"), 22);
    // The log's times are whole seconds: from the first to the last line two or three.
    let seconds = figures.phase().seconds();
    assert!((0.1..1.9).contains(&seconds), "{seconds}");
}

#[test]
fn requests_of_a_timed_log_are_sent_when_they_are_due() {
    let site = Site::start(ANY);
    let line = |second: u32| {
        format!(
            "127.0.0.1 - - [22/Nov/2026:10:00:{second:02} +0000] \"GET /{second} HTTP/1.1\" 200 1 \"-\" \"-\"\n"
        )
    };
    let log: String = [0, 10, 40].map(line).concat();
    let load = [
        "--log",
        "a.log",
        "--base",
        &site.url("/"),
        "-c",
        "1",
        "--speed",
        "100",
    ];
    let figures = Bench::new(&load).file("a.log", log).figures();
    assert_eq!(figures.count("succeeded"), 3);
    assert!(
        figures.phase().seconds() >= 0.4,
        "{}",
        figures.phase().seconds()
    );
}

#[test]
fn squid_and_json_logs_are_known_by_their_lines() {
    let site = Site::start(ANY);
    let squid = "1763800000.123     52 127.0.0.1 TCP_MISS/200 512 GET http://shop.example/s1 - HIER_DIRECT/1.2.3.4 text/html\n\
                 1763800001.000      1 127.0.0.1 TCP_MEM_HIT/200 512 GET http://shop.example/s2 - HIER_NONE/- text/html\n";
    let json = "{\"time\":\"2026-11-22T10:00:00Z\",\"method\":\"GET\",\"uri\":\"/j1\",\"status\":200}\n\
                {\"time\":\"2026-11-22T10:00:01Z\",\"method\":\"GET\",\"uri\":\"/j2\",\"status\":200}\n";
    for log in [squid, json] {
        let load = ["--log", "a.log", "--base", &site.url("/"), "-c", "1"];
        let figures = Bench::new(&load).file("a.log", log).figures();
        assert_eq!(figures.count("succeeded"), 2, "{}", figures.warnings());
    }
    let details = site.details(4).join("\n");
    for part in [
        "GET shop.example /s1 ",
        "GET shop.example /s2 ",
        " /j1 ",
        " /j2 ",
    ] {
        assert!(details.contains(part), "{part} in {details}");
    }
}

#[test]
fn forebays_own_access_log_is_replayed() {
    let origin = Origin::fixed(reply(200, &["Cache-Control: max-age=60"], "x"));
    let config = forebay_tests::Config::to(&origin);
    for format in ["combined", "json"] {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("access.log").display().to_string();
        let config = config
            .clone()
            .set("log", &format!("access = {log:?}"))
            .set("log", &format!("format = {format:?}"));
        let forebay = forebay_tests::Forebay::start(&config);
        let url = format!("http://{}/page?n=1", forebay.authority());
        Bench::new(&[&url, "-n", "12", "-c", "1"]).figures();
        // The writer takes lines ten times a second; the end of the program flushes the rest.
        forebay.signal(rustix::process::Signal::TERM);
        let mut forebay = forebay;
        forebay.wait_exit();
        let site = Site::start(ANY);
        let figures = Bench::new(&["--log", &log, "--base", &site.url("/"), "-c", "1"]).figures();
        assert_eq!(
            figures.count("succeeded"),
            12,
            "{format}: {}",
            figures.warnings()
        );
        assert_eq!(paths(&site.log(12))["/page?n=1"], 12);
    }
}

fn har(base: &str) -> String {
    let host = base.strip_prefix("http://").unwrap();
    let request = |method: &str, path: &str, rest: &str| {
        format!(
            r#"{{"startedDateTime":"2026-11-22T10:00:00.000Z","time":5,"request":{{"method":"{method}","url":"{base}{path}",
            "httpVersion":"HTTP/1.1","headers":[{{"name":"X-Shop","value":"one"}},{{"name":"Connection","value":"keep-alive"}},
            {{"name":"Host","value":"{host}"}},{{"name":":authority","value":"x"}}],"queryString":[],"cookies":[],
            "headersSize":-1,"bodySize":-1{rest}}},"response":{{"status":200,"content":{{}}}}}}"#
        )
    };
    let post = r#","postData":{"mimeType":"application/x-www-form-urlencoded","text":"name=ann"}"#;
    format!(
        r#"{{"log":{{"version":"1.2","creator":{{"name":"test","version":"1"}},"entries":[{},{}]}}}}"#,
        request("GET", "/start", ""),
        request("POST", "/login", post)
    )
}

#[test]
fn a_har_file_is_sent_with_its_fields_and_bodies() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let server = format!("http://{}", origin.server());
    let load = ["--har", "page.har", "-c", "1"];
    let figures = Bench::new(&load).file("page.har", har(&server)).figures();
    assert_eq!(figures.count("succeeded"), 2, "{}", figures.warnings());
    let requests = origin.requests();
    assert_eq!(
        (&*requests[0].method, &*requests[0].target),
        ("GET", "/start")
    );
    assert_eq!(
        (&*requests[1].method, &*requests[1].target),
        ("POST", "/login")
    );
    assert_eq!(requests[1].body, b"name=ann");
    for request in &requests {
        assert_eq!(request.field("X-Shop"), Some("one"));
        assert!(request.field(":authority").is_none() && request.field("Connection").is_none());
    }
}

#[test]
fn a_har_file_goes_to_another_server_under_its_own_host() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let server = format!("http://{}", origin.server());
    let load = ["--har", "page.har", "-c", "1", "--base", &server];
    let file = har("http://shop.example");
    assert_eq!(
        Bench::new(&load)
            .file("page.har", file)
            .figures()
            .count("succeeded"),
        2
    );
    assert_eq!(origin.last().field("Host"), Some("shop.example"));
}

#[test]
fn a_catalogue_is_asked_for_by_popularity() {
    let site = Site::start("location /bytes/ { return 200 $uri; }");
    let load = [
        "--zipf",
        "100",
        "--exponent",
        "1.0",
        "--sizes",
        "1KiB..4KiB",
        "-n",
        "2000",
        "-c",
        "4",
    ];
    let figures = Bench::new(&[&site.url("/")]).args(&load).figures();
    assert_eq!(figures.count("succeeded"), 2000);
    let counts = paths(&site.log(2000));
    let of = |index: &str| -> usize {
        let found = counts
            .iter()
            .filter(|(path, _)| path.ends_with(&format!("/{index}")));
        found.map(|(_, count)| count).sum()
    };
    assert!(
        counts.len() > 60,
        "only {} objects were asked for",
        counts.len()
    );
    // The first has 1/5.187 of all at an exponent of 1: 386 with a standard deviation of 18.
    let first = *counts.values().max().unwrap();
    assert!((300..=470).contains(&first), "{first}");
    assert!(of("0").max(of("1")) == first, "{counts:?}");
    for path in counts.keys() {
        let size: u64 = path.split('/').nth(2).unwrap().parse().unwrap();
        assert!((1024..=4096).contains(&size), "{path}");
    }
}

#[test]
fn the_same_seed_sends_the_same() {
    let site = Site::start(ANY);
    let load = |seed: &str| {
        let before = std::fs::read_to_string(site.log_path()).unwrap_or_default();
        let before = before.lines().count() as u64;
        let arguments = ["--zipf", "1000", "-n", "200", "-c", "1", "--seed", seed];
        Bench::new(&[&site.url("/")]).args(&arguments).figures();
        let log = site.log(before + 200);
        let requests = log[before as usize..].iter();
        requests
            .map(|line| line.split('"').nth(1).unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let first = load("7");
    assert_eq!(load("7"), first);
    assert_ne!(load("8"), first);
}
