//! What the operator sees: access log, metrics, status.

use forebay_tests::{Config, Event, Forebay, Origin, reply};
use rustix::process::Signal;
use serde_json::Value;

use crate::common::{eventually, numbered};

/// A program that logs to a file in `format`, and the file.
fn logging(origin: &Origin, format: &str) -> (Forebay, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("access.log");
    let config = Config::to(origin)
        .set("log", &format!("access = {:?}", file.display().to_string()))
        .set("log", &format!("format = {format:?}"));
    (Forebay::start(&config), directory)
}

/// Waits until the log has `count` lines.
#[track_caller]
fn lines(directory: &tempfile::TempDir, count: usize) -> Vec<String> {
    let read = || std::fs::read_to_string(directory.path().join("access.log")).unwrap_or_default();
    eventually(|| read().lines().count() >= count);
    let lines: Vec<String> = read().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), count, "{lines:?}");
    lines
}

#[test]
fn combined_log_has_the_exact_line() {
    let origin = Origin::fixed(reply(200, &[], "hello"));
    let (forebay, directory) = logging(&origin, "combined");
    forebay.get_with("/p?q=1", &["Referer: http://x/", "User-Agent: test/1.0"]);
    forebay.client().exchange("HEAD", "/", &[], "");
    let lines = lines(&directory, 2);
    let (start, rest) = lines[0].split_once(" [").unwrap();
    let (time, end) = rest.split_once("] ").unwrap();
    assert_eq!(start, "127.0.0.1 - -");
    // 21/Nov/2026:20:00:00 +0000
    assert!(time.len() == 26 && time.ends_with(" +0000"), "{time}");
    assert_eq!(
        end,
        "\"GET /p?q=1 HTTP/1.1\" 200 5 \"http://x/\" \"test/1.0\""
    );
    assert!(
        lines[1].ends_with("\"HEAD / HTTP/1.1\" 200 0 \"-\" \"-\""),
        "{}",
        lines[1]
    );
}

#[test]
fn json_log_is_json_with_everything() {
    let origin = numbered(&["Cache-Control: max-age=60"]);
    let (forebay, directory) = logging(&origin, "json");
    let mut client = forebay.client();
    client.get_with("/p", &["User-Agent: say \"hi\" \\ \u{e4}"]);
    client.get("/p");
    let lines: Vec<Value> = lines(&directory, 2)
        .iter()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let (miss, hit) = (&lines[0], &lines[1]);
    assert_eq!(
        (&miss["method"], &miss["target"], &miss["status"]),
        (&"GET".into(), &"/p".into(), &200.into())
    );
    assert_eq!(
        (&miss["host"], &miss["client"]),
        (&"test.example".into(), &"127.0.0.1".into())
    );
    assert_eq!(
        (&miss["cache"], &hit["cache"]),
        (&"miss".into(), &"hit".into())
    );
    assert_eq!(miss["bytes"], 2);
    assert_eq!(miss["upstream"], Value::from(origin.server()));
    assert!(hit["upstream"].is_null() || hit["upstream"] == "-", "{hit}");
    assert!(
        miss["user_agent"]
            .as_str()
            .unwrap()
            .starts_with("say \"hi\" \\ ")
    );
    assert!(miss["duration"].as_f64().is_some(), "{miss}");
    assert_eq!(miss["connection"], hit["connection"]);
}

#[test]
fn custom_log_follows_its_format() {
    let origin = numbered(&["Cache-Control: max-age=60"]);
    let (forebay, directory) = logging(
        &origin,
        "{{{method}}} {status} {target} {cache} {client_port}",
    );
    let mut client = forebay.client();
    client.get("/p");
    client.get("/p");
    let port = client.local_port();
    assert_eq!(
        lines(&directory, 2),
        [
            format!("{{GET}} 200 /p miss {port}"),
            format!("{{GET}} 200 /p hit {port}")
        ]
    );
}

#[test]
fn nobody_can_forge_a_log_line() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let (forebay, directory) = logging(&origin, "combined");
    forebay.get_with("/", &["User-Agent: a\" 200 0 \"-\" \"forged\t\u{ff}"]);
    let line = lines(&directory, 1).remove(0);
    assert!(line.is_ascii() && !line.contains('\t'), "{line}");
    assert!(!line.contains("a\" 200"), "{line}");
}

#[test]
fn refused_requests_are_logged_too() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let (forebay, directory) = logging(&origin, "{status}");
    let mut client = forebay.client();
    client.send("GET / HTTP/1.1\r\nHost : a\r\n\r\n").read();
    assert_eq!(lines(&directory, 1), ["400"]);
}

#[test]
fn log_file_is_opened_anew_on_reload() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let (forebay, directory) = logging(&origin, "{target}");
    forebay.get("/1");
    lines(&directory, 1);
    std::fs::rename(
        directory.path().join("access.log"),
        directory.path().join("old.log"),
    )
    .unwrap();
    forebay.signal(Signal::HUP);
    eventually(|| directory.path().join("access.log").exists());
    forebay.get("/2");
    assert_eq!(lines(&directory, 1), ["/2"]);
}

#[test]
fn log_that_cannot_be_written_never_blocks() {
    // A pipe that nobody empties: the log's buffer runs full, requests go on.
    let origin = numbered(&["Cache-Control: max-age=600"]);
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    let made = std::process::Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .unwrap();
    assert!(made.success());
    // Held open for reading and writing, so that opening it blocks nobody.
    let _held = std::fs::File::options()
        .read(true)
        .write(true)
        .open(&pipe)
        .unwrap();
    let config = Config::to(&origin)
        .set("log", &format!("access = {:?}", pipe.display().to_string()))
        .set("log", "buffer = \"64KiB\"");
    let forebay = Forebay::start(&config);
    let mut client = forebay.client();
    let agent = format!("User-Agent: {}", "x".repeat(1000));
    for _ in 0..1000 {
        assert_eq!(client.get_with("/", &[&agent]).status, 200);
    }
    forebay.wait_for_metric("forebay_log_dropped_lines_total", 1.0);
}

#[test]
fn metrics_count_what_happened() {
    let origin = numbered(&["Cache-Control: max-age=60"]);
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    for _ in 0..5 {
        client.get("/");
    }
    let metrics = forebay.admin("GET", "/metrics");
    assert!(
        metrics
            .field("content-type")
            .unwrap()
            .starts_with("text/plain; version=0.0.4"),
        "{metrics:?}"
    );
    // Counted when the exchange has ended, after the client has its answer.
    forebay.wait_for_metric("forebay_responses_total", 5.0);
    for (name, value) in [
        ("forebay_requests_total", 5.0),
        ("forebay_cache_hits_total", 4.0),
        ("forebay_cache_misses_total", 1.0),
        ("forebay_origin_requests_total", 1.0),
        ("forebay_origin_connects_total", 1.0),
        ("forebay_connections", 1.0),
        ("forebay_cache_objects", 1.0),
        ("forebay_responses_total", 5.0),
    ] {
        forebay.wait_for_metric(name, value);
        assert_eq!(forebay.metric(name), Some(value), "{name}");
    }
    assert!(forebay.metric("forebay_cache_memory_bytes").unwrap() > 0.0);
    assert_eq!(
        forebay.metric("forebay_cache_memory_budget_bytes"),
        Some(f64::from(32 << 20))
    );
}

#[test]
fn metrics_are_well_formed() {
    let origin = numbered(&[]);
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    let text = forebay.admin("GET", "/metrics").text();
    let mut typed = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            typed.push(rest.split(' ').next().unwrap().to_owned());
        } else if !line.starts_with('#') {
            let name = line.split(['{', ' ']).next().unwrap();
            assert!(
                typed.iter().any(|known| name.starts_with(known.as_str())),
                "no TYPE before {line}"
            );
            assert!(
                line.rsplit(' ').next().unwrap().parse::<f64>().is_ok(),
                "{line}"
            );
        }
    }
    let mut unique = typed.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), typed.len(), "a TYPE twice");
}

#[test]
fn status_is_json_that_agrees_with_the_metrics() {
    let origin = numbered(&["Cache-Control: max-age=60"]);
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.get("/");
    client.get("/");
    forebay.wait_for_metric("forebay_responses_total", 2.0);
    let status: Value = serde_json::from_slice(&forebay.admin("GET", "/status").body).unwrap();
    assert_eq!(
        (&status["counters"]["requests"], &status["counters"]["hits"]),
        (&2.into(), &1.into())
    );
    assert_eq!(status["gauges"]["objects"], 1);
    assert_eq!(status["hit_ratio"], 0.5);
    assert!(
        status.to_string().contains(&forebay.authority()),
        "{status}"
    );
    assert!(status.to_string().contains(&origin.server()), "{status}");
}

#[test]
fn admin_answers_while_the_workers_are_busy() {
    let go = Event::new("done looking");
    let gate = go.clone();
    let origin = Origin::start(move |_, connection| {
        gate.wait();
        connection.send(reply(200, &[], "x"));
    });
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.send_request("GET", "/", &[], "");
    origin.wait_for(1);
    assert_eq!(forebay.admin("GET", "/status").status, 200);
    assert_eq!(
        forebay.metric("forebay_origin_connections_active"),
        Some(1.0)
    );
    go.set();
    assert_eq!(client.read().status, 200);
}

#[test]
fn counters_tell_the_kinds_of_answers_apart() {
    let mut origin = numbered(&["Cache-Control: max-age=60", "Age: 100", "ETag: \"a\""]);
    let forebay = Forebay::start(&Config::to(&origin).cache("stale_if_error = \"1h\""));
    forebay.get("/");
    origin.kill();
    assert_eq!(forebay.get("/").text(), "n0");
    forebay.wait_for_metric("forebay_cache_stale_on_error_total", 1.0);
    forebay.wait_for_metric("forebay_origin_errors_total", 1.0);
    forebay.client().send("nonsense\r\n\r\n").read();
    forebay.wait_for_metric("forebay_bad_requests_total", 1.0);
}
