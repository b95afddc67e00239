//! Whole logs.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::{Base, Replay, Target};
use proptest::prelude::*;

fn options() -> Options {
    Options {
        base: Base::server(Target::parse("http://127.0.0.1:81/").unwrap()),
        ..Options::default()
    }
}

fn combined(second: u32, request: &str) -> String {
    format!("192.0.2.7 - - [21/Nov/2026:20:00:{second:02} +0000] \"{request}\" 200 5 \"-\" \"x\"\n")
}

fn slots(replay: &Replay) -> Vec<(u32, u32)> {
    replay
        .order
        .iter()
        .map(|slot| (slot.at_ms, slot.index))
        .collect()
}

#[test]
fn a_log_becomes_requests_and_their_order() {
    let log = [
        combined(10, "GET /a HTTP/1.1"),
        combined(10, "GET /b HTTP/1.1"),
        "nonsense\n".into(),
        combined(12, "GET /a HTTP/1.1"),
        "\n".into(),
        combined(12, "POST /a HTTP/1.1"),
        combined(12, "-"),
        // Logged late by another worker.
        combined(11, "HEAD /a HTTP/1.1"),
        format!("{}\n", "x".repeat(70_000)),
    ]
    .concat();
    let replay = read(log.as_bytes(), &options()).unwrap();
    // Two in the first second are half a second apart.
    assert_eq!(slots(&replay), [(0, 0), (500, 1), (1_000, 2), (2_000, 0)]);
    assert!(replay.timed);
    assert_eq!(replay.counts(), [2, 1, 1]);
    let urls: Vec<String> = replay
        .requests
        .iter()
        .map(|request| request.target.to_string())
        .collect();
    assert_eq!(
        urls,
        [
            "http://127.0.0.1:81/a",
            "http://127.0.0.1:81/b",
            "http://127.0.0.1:81/a"
        ]
    );
    assert!(
        replay
            .requests
            .iter()
            .all(|request| request.headers.is_empty())
    );
    assert_eq!(replay.requests[2].method, "HEAD");
    assert_eq!(replay.skipped.total(), 4);
    let words = replay.skipped.to_string();
    for part in [
        "1 request left out: bodies are not in a log",
        "POST 1",
        "1 request left out: the line says that none was read",
        "line 3: no time in brackets: nonsense",
        "line 9: longer than 64 KiB",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
    let all = Options {
        all_methods: true,
        ..options()
    };
    assert_eq!(read(log.as_bytes(), &all).unwrap().order.len(), 5);
    let fields = Options {
        keep_fields: true,
        ..options()
    };
    let replay = read(log.as_bytes(), &fields).unwrap();
    assert_eq!(
        replay.requests[0].headers,
        [("User-Agent".to_owned(), "x".to_owned())]
    );
}

#[test]
fn a_proxys_log_goes_to_the_server_under_test_with_the_hosts_it_had() {
    let line = |url: &str| format!("1795291200.000 0 c TCP_MISS/200 5 GET {url} - NONE/- -\n");
    let log = line("http://a.example/x")
        + &line("https://b.example:8443/x")
        + &line("http://127.0.0.1:81/x");
    let log = log + &line("http://127.0.0.1:81/x?");
    let replay = read(log.as_bytes(), &options()).unwrap();
    assert_eq!(replay.skipped.without_query, 1);
    assert!(replay.skipped.to_string().contains("strip_query_terms"));
    let hosts: Vec<_> = replay
        .requests
        .iter()
        .map(|request| request.headers.clone())
        .collect();
    let host = |host: &str| vec![("Host".to_owned(), host.to_owned())];
    assert_eq!(
        hosts,
        [host("a.example"), host("b.example:8443"), vec![], vec![]]
    );
    assert!(
        replay
            .requests
            .iter()
            .all(|request| request.target.place() == "127.0.0.1:81")
    );

    let recorded = Options {
        base: Base::recorded(),
        ..options()
    };
    let replay = read(log.as_bytes(), &recorded).unwrap();
    assert_eq!(
        replay.requests[1].target.to_string(),
        "https://b.example:8443/x"
    );

    // Nothing is sent to a place that the user has not named.
    let nowhere = Options::default();
    let replay = read(log.as_bytes(), &nowhere).unwrap();
    assert!(replay.order.is_empty());
    assert!(replay.skipped.to_string().contains("name it with --base"));
}

#[test]
fn a_log_that_cannot_be_one_is_refused() {
    let error = |text: &[u8], options: &Options| read(text, options).unwrap_err().to_string();
    assert!(error(b"\n \n", &options()).contains("empty"));
    assert!(error(b"\x1f\x8b\x08\x00", &options()).contains("gzip"));
    let text = error(b"hello\nworld\n", &options());
    assert!(text.contains("begins with: hello"), "{text}");
    let squid = Options {
        format: Some(Format::Squid),
        ..options()
    };
    let text = error(combined(1, "GET / HTTP/1.1").as_bytes(), &squid);
    assert!(
        text.contains("format `squid` (no time in seconds"),
        "{text}"
    );
}

#[test]
fn what_a_replay_holds_is_bounded() {
    let log: String = (0..10)
        .map(|k| combined(k, &format!("GET /{} HTTP/1.1", k % 5)))
        .collect();
    let few = Options {
        most_slots: 4,
        ..options()
    };
    let replay = read(log.as_bytes(), &few).unwrap();
    assert_eq!((replay.order.len(), replay.skipped.beyond_limit), (4, 6));
    let few = Options {
        most_requests: 3,
        ..options()
    };
    let replay = read(log.as_bytes(), &few).unwrap();
    assert_eq!(
        (
            replay.requests.len(),
            replay.order.len(),
            replay.skipped.beyond_limit
        ),
        (3, 6, 4)
    );
}

proptest! {
    #[test]
    fn no_log_is_too_strange(
        parts in proptest::collection::vec(
            proptest::sample::select(vec![
                "192.0.2.7 - - [21/Nov/2026:20:00:00 +0000] ", "\"GET /a HTTP/1.1\" 200 5", "\"-\"", "\n", "\r\n",
                "1795291200.000 0 c TCP_MISS/200 5 GET ", "http://a/", "/x", "é", "{\"method\":\"GET\",\"url\":\"/\"}",
                "{\"ts\":9e18,\"method\":\"GET\",\"url\":\"http://b/\",\"duration\":-9e99}",
            ]),
            0..30,
        )
    ) {
        let text = parts.concat();
        let lines = text.lines().filter(|line| !line.trim().is_empty()).count() as u64;
        if let Ok(replay) = read(text.as_bytes(), &options()) {
            // Every line is either sent or counted.
            prop_assert_eq!(replay.order.len() as u64 + replay.skipped.total(), lines, "{}", text);
        }
    }
}
