//! Recordings as browsers write them.

#![allow(clippy::unwrap_used)]

use super::convert::find;
use super::*;
use crate::Target;
use proptest::prelude::*;
use serde_json::json;

/// 2026-11-21T20:00:00Z
const AT: u64 = 1_795_291_200_000;

fn file(entries: &[serde_json::Value]) -> String {
    json!({"log": {
        "version": "1.2",
        "creator": {"name": "test", "version": "1"},
        "pages": [
            {"id": "page_1", "title": "http://a.example/", "startedDateTime": "2026-11-21T20:00:00.000Z"},
            {"id": "page_2", "title": "", "startedDateTime": "2026-11-21T20:00:05.000Z"},
        ],
        "entries": entries,
    }})
    .to_string()
}

fn get(second: &str, page: &str, url: &str) -> serde_json::Value {
    json!({
        "pageref": page,
        "startedDateTime": format!("2026-11-21T20:00:{second}Z"),
        "time": 250.4,
        "request": {"method": "GET", "url": url, "httpVersion": "HTTP/1.1", "headers": [], "cookies": []},
        "response": {"status": 200, "content": {"size": 5, "mimeType": "text/html; charset=utf-8"}},
        "cache": {}, "timings": {"send": 0, "wait": 1, "receive": 1},
    })
}

fn with(
    mut entry: serde_json::Value,
    pointer: &str,
    value: serde_json::Value,
) -> serde_json::Value {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    entry.pointer_mut(parent).unwrap()[key] = value;
    entry
}

#[test]
fn entries_have_times_pages_and_the_time_to_think_between() {
    // Written in the order in which they ended.
    let text = file(&[
        get("00.500", "page_1", "http://a.example/style.css"),
        get("00.000", "page_1", "http://a.example/"),
        get("05.000", "page_2", "http://a.example/two?x=1#part"),
    ]);
    let entries = entries(&text).unwrap();
    let rows: Vec<_> = entries
        .iter()
        .map(|entry| {
            (
                entry.at_ms - AT,
                entry.think_ms,
                entry.page.as_deref().unwrap(),
                entry.request.target.path.as_str(),
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            (0, 0, "http://a.example/", "/"),
            (500, 0, "http://a.example/", "/style.css"),
            (5_000, 4_250, "page_2", "/two?x=1"),
        ]
    );
    assert_eq!((entries[0].took_ms, entries[0].status), (250, 200));
    assert_eq!(entries[0].mime, "text/html");
}

#[test]
fn a_page_that_was_visited_twice_is_two_pages() {
    let mut text: serde_json::Value = serde_json::from_str(&file(&[
        get("00.000", "page_1", "http://a/"),
        get("05.000", "page_2", "http://a/"),
        get("09.000", "page_1", "http://a/late"),
        get("10.000", "page_9", "http://a/unlisted"),
    ]))
    .unwrap();
    text["log"]["pages"][1]["title"] = "http://a.example/".into();
    let entries = entries(&text.to_string()).unwrap();
    let rows: Vec<_> = entries
        .iter()
        .map(|entry| (entry.page.as_deref().unwrap(), entry.think_ms))
        .collect();
    // What page 1 asks for late is no new page.
    assert_eq!(
        rows,
        [
            ("page_1", 0),
            ("page_2", 4_750),
            ("page_1", 0),
            ("page_9", 750)
        ]
    );
}

#[test]
fn fields_are_as_recorded_but_for_what_the_sender_writes() {
    let headers = json!([
        {"name": ":authority", "value": "a.example"},
        {"name": "Host", "value": "a.example"},
        {"name": "content-length", "value": "7"},
        {"name": "Connection", "value": "keep-alive"},
        {"name": "Accept", "value": "text/html"},
        {"name": "X-Bad", "value": "a\r\nInjected: b"},
        {"name": "bad name", "value": "x"},
    ]);
    let entry = with(
        get("00.000", "page_1", "https://a.example/"),
        "/request/headers",
        headers,
    );
    let cookies = json!([{"name": "sid", "value": "1"}, {"name": "b", "value": "2"}]);
    let har = read(&file(&[with(entry, "/request/cookies", cookies)])).unwrap();
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        har.entries[0].request.headers,
        [pair("Accept", "text/html"), pair("Cookie", "sid=1; b=2")]
    );
    assert_eq!(
        har.notes,
        ["2 entries sent without a field whose name or value is malformed"]
    );
    // A recorded field is not doubled by the list of cookies; another host stays.
    let headers =
        json!([{"name": "cookie", "value": "sid=1"}, {"name": "Host", "value": "b.example"}]);
    let entry = with(
        get("00.000", "page_1", "https://a.example/"),
        "/request/headers",
        headers,
    );
    let entry = with(
        entry,
        "/request/cookies",
        json!([{"name": "sid", "value": "1"}]),
    );
    let har = read(&file(&[entry])).unwrap();
    assert_eq!(
        har.entries[0].request.headers,
        [pair("cookie", "sid=1"), pair("Host", "b.example")]
    );
}

#[test]
fn bodies_are_text_or_parameters() {
    for (data, mime, body) in [
        (
            json!({"mimeType": "application/json", "text": "{\"a\":1}"}),
            Some("application/json"),
            "{\"a\":1}",
        ),
        (
            json!({"mimeType": "application/x-www-form-urlencoded", "text": "", "params": [
                {"name": "q", "value": "a b&ü"}, {"name": "r", "value": "a+b%20c"}, {"name": "s", "value": "50%"},
            ]}),
            Some("application/x-www-form-urlencoded"),
            "q=a+b%26%C3%BC&r=a+b%20c&s=50%25",
        ),
        (
            json!({"mimeType": "text/plain", "text": "aGFsbG8=", "encoding": "base64"}),
            Some("text/plain"),
            "hallo",
        ),
        (
            json!({"mimeType": "", "text": "x", "params": null}),
            None,
            "x",
        ),
        (json!(null), None, ""),
    ] {
        let entry = with(
            get("00.000", "page_1", "http://a/"),
            "/request/method",
            json!("POST"),
        );
        let har = read(&file(&[with(entry, "/request/postData", data.clone())])).unwrap();
        let request = &har.entries[0].request;
        assert_eq!(String::from_utf8_lossy(&request.body), body, "{data}");
        assert_eq!(find(&request.headers, "content-type"), mime, "{data}");
    }
}

#[test]
fn what_was_never_sent_is_left_out_and_noted() {
    let entry = || get("00.000", "page_1", "http://a/");
    let har = read(&file(&[
        get("00.000", "page_1", "data:image/png;base64,xxxx"),
        get("00.000", "page_1", "chrome-extension://abc/x.js"),
        with(entry(), "/_fromCache", json!("memory")),
        with(entry(), "/response/status", json!(0)),
        get("00.000", "page_1", "http:///x"),
        with(entry(), "/request/method", json!("GET / HTTP/1.1\r\nX:")),
        with(entry(), "/startedDateTime", json!("yesterday")),
    ]))
    .unwrap();
    assert_eq!(har.entries.len(), 1);
    assert_eq!(har.notes.len(), 6, "{:?}", har.notes);
    for part in [
        "2 entries left out: the URL is not http",
        "1 entry left out: answered by the browser's cache",
        "1 entry left out: no response",
        "1 entry left out: the URL is malformed",
        "1 entry left out: the method",
        "1 entry without a readable startedDateTime",
    ] {
        assert!(
            har.notes.iter().any(|note| note.starts_with(part)),
            "{part}: {:?}",
            har.notes
        );
    }
}

#[test]
fn what_is_no_recording_is_refused_with_its_line() {
    for (text, line, part) in [
        ("", 1, "EOF"),
        ("{\n\"log\": {}\n}", 2, "missing field `entries`"),
        (
            "{\"log\": {\"entries\": [{\n}]}}",
            2,
            "missing field `request`",
        ),
        ("[]", 1, "invalid"),
    ] {
        let error = read(text).unwrap_err();
        assert_eq!(error.line, line, "{text}: {error}");
        assert!(error.to_string().contains(part), "{text}: {error}");
    }
    assert!(
        read("\u{feff}{\"log\":{\"entries\":[]}}")
            .unwrap()
            .entries
            .is_empty()
    );
}

#[test]
fn a_recording_can_be_replayed() {
    let text = file(&[
        get("00.000", "page_1", "http://a.example/"),
        get("00.500", "page_1", "http://b.example/x"),
        get("00.700", "page_1", "http://a.example/"),
    ]);
    let har = read(&text).unwrap();
    let server = Target::parse("http://127.0.0.1:81/").unwrap();
    let replay = replay(&har, &Base::server(server));
    let slots: Vec<_> = replay
        .order
        .iter()
        .map(|slot| (slot.at_ms, slot.index))
        .collect();
    assert_eq!(slots, [(0, 0), (500, 1), (700, 0)]);
    assert_eq!(
        replay.requests[1].headers,
        [("Host".to_owned(), "b.example".to_owned())]
    );
    assert_eq!(
        replay.requests[1].target.to_string(),
        "http://127.0.0.1:81/x"
    );
    let replay = super::replay(&har, &Base::recorded());
    assert_eq!(replay.requests[1].target.to_string(), "http://b.example/x");
    assert_eq!(
        super::replay(&har, &Base::default()).skipped.errors.total,
        3
    );
}

proptest! {
    #[test]
    fn no_text_is_too_strange(text in "(?s).{0,100}") {
        let _ = read(&text);
    }

    #[test]
    fn no_values_are_too_strange(
        url in "(http://)?.{0,20}", method in ".{0,5}", name in "(?s).{0,9}", value in "(?s).{0,9}",
        status in any::<f64>(), started in "[0-9T:.Z+-]{0,30}", took in any::<f64>(),
    ) {
        let entry = with(get("00.000", "page_1", &url), "/request/method", json!(method));
        let entry = with(entry, "/request/headers", json!([{"name": name, "value": value}]));
        let entry = with(entry, "/request/cookies", json!([{"name": name, "value": value}]));
        let entry = with(entry, "/request/postData", json!({"mimeType": value, "params": [{"name": name}]}));
        let entry = with(entry, "/response/status", json!(status));
        let entry = with(entry, "/startedDateTime", json!(started));
        let text = file(&[with(entry, "/time", json!(took))]);
        for entry in read(&text).unwrap().entries {
            let mut out = Vec::new();
            entry.request.write_to(false, &mut out);
            let head = out.len() - entry.request.body.len();
            prop_assert_eq!(out[..head].windows(4).position(|part| part == b"\r\n\r\n"), Some(head - 4));
        }
    }
}
