//! Partial responses stored, combined and completed (RFC 9111 sections 3.3 and
//! 3.4, RFC 9110 section 14).

use forebay_tests::{Config, Forebay, Origin, reply};

use crate::cache_ranges::{BODY, FRESH, multipart, range};
use crate::common::{file, part};

#[test]
fn ranged_miss_is_answered_and_the_same_range_hits() {
    let origin = file("\"v1\"", BODY, FRESH);
    let forebay = Forebay::before(&origin);
    assert_eq!(
        part(&range(&forebay, "bytes=0-9")),
        (206, "bytes 0-9/36", BODY[..10].into())
    );
    let count = origin.count();
    let second = range(&forebay, "bytes=0-9");
    assert_eq!(part(&second), (206, "bytes 0-9/36", BODY[..10].into()));
    assert!(second.is_hit(), "{second:?}");
    let within = range(&forebay, "bytes=2-5");
    assert_eq!(
        (part(&within), within.is_hit()),
        ((206, "bytes 2-5/36", "2345".into()), true)
    );
    assert_eq!(origin.count(), count);
}

#[test]
fn a_range_of_everything_is_fetched_and_stored_whole() {
    let origin = file("\"v1\"", BODY, FRESH);
    let forebay = Forebay::before(&origin);
    let first = range(&forebay, "bytes=0-");
    assert_eq!(part(&first), (206, "bytes 0-35/36", BODY.into()));
    assert_eq!(origin.last().field("range"), None);
    for wanted in ["bytes=0-", "bytes=10-19"] {
        assert!(range(&forebay, wanted).is_hit(), "{wanted}");
    }
    assert!(forebay.get("/").is_hit());
    assert_eq!(origin.count(), 1);

    // What may not be stored is the same to the client, and then the origin's to cut.
    let private = file("\"v1\"", BODY, &["Cache-Control: private"]);
    let forebay = Forebay::before(&private);
    for sent in [None, Some("bytes=0-")] {
        let response = range(&forebay, "bytes=0-");
        assert_eq!(part(&response), (206, "bytes 0-35/36", BODY.into()));
        assert_eq!(private.last().field("range"), sent);
    }
}

#[test]
fn parts_are_combined_to_a_whole() {
    let origin = file("\"v1\"", BODY, FRESH);
    let forebay = Forebay::before(&origin);
    range(&forebay, "bytes=0-17");
    range(&forebay, "bytes=18-35");
    let count = origin.count();
    let whole = forebay.get("/");
    assert_eq!((whole.status, whole.text().as_str()), (200, BODY));
    assert!(whole.is_hit(), "{whole:?}");
    assert!(whole.field("content-range").is_none());
    assert_eq!(
        (whole.number("content-length"), origin.count()),
        (Some(36), count)
    );
}

#[test]
fn overlapping_parts_are_combined() {
    let origin = file("\"v1\"", BODY, FRESH);
    let forebay = Forebay::before(&origin);
    range(&forebay, "bytes=10-20");
    range(&forebay, "bytes=5-12");
    range(&forebay, "bytes=15-30");
    let response = range(&forebay, "bytes=5-30");
    assert_eq!(part(&response), (206, "bytes 5-30/36", BODY[5..31].into()));
    assert!(response.is_hit(), "{response:?}");
}

#[test]
fn stored_part_is_completed_by_what_is_missing() {
    let origin = file("\"v1\"", BODY, FRESH);
    let forebay = Forebay::before(&origin);
    range(&forebay, "bytes=0-9");
    let whole = forebay.get("/");
    assert_eq!((whole.status, whole.text().as_str()), (200, BODY));
    let fetched: usize = origin
        .requests()
        .iter()
        .filter(|r| r.field("range").is_none())
        .count();
    if fetched == 0 {
        let request = origin.last();
        assert!(
            matches!(request.field("range"), Some("bytes=10-" | "bytes=10-35")),
            "{request:?}"
        );
        assert_eq!(request.field("if-range"), Some("\"v1\""));
    }
    assert!(forebay.get("/").is_hit());
}

#[test]
fn part_is_completed_with_the_whole_when_the_object_changed() {
    let origin =
        Origin::start(
            |request, connection| match (request.number, request.field("range")) {
                (0, Some(_)) => {
                    let fields = [
                        "Cache-Control: max-age=60",
                        "ETag: \"v1\"",
                        "Content-Range: bytes 0-4/10",
                    ];
                    connection.send(reply(206, &fields, "01234"));
                }
                (0, None) => connection.send(reply(
                    200,
                    &["Cache-Control: max-age=60", "ETag: \"v1\""],
                    "0123456789",
                )),
                _ => connection.send(reply(
                    200,
                    &["Cache-Control: max-age=60", "ETag: \"v2\""],
                    "abcdefghij",
                )),
            },
        );
    let forebay = Forebay::before(&origin);
    range(&forebay, "bytes=0-4");
    let whole = forebay.get("/");
    // Either version, never a mixture.
    assert!(
        matches!(whole.text().as_str(), "0123456789" | "abcdefghij"),
        "{whole:?}"
    );
    assert_eq!(whole.status, 200);
}

#[test]
fn parts_of_different_versions_are_never_combined() {
    let origin = Origin::start(|request, connection| {
        let (tag, body) = match request.number {
            0 => ("ETag: \"v1\"", "0123456789"),
            _ => ("ETag: \"v2\"", "abcdefghij"),
        };
        let (first, last) = match request.field("range") {
            Some("bytes=0-4") => (0, 4),
            Some("bytes=5-9") => (5, 9),
            _ => return connection.send(reply(200, &["Cache-Control: max-age=60", tag], body)),
        };
        let range = format!("Content-Range: bytes {first}-{last}/10");
        connection.send(reply(
            206,
            &["Cache-Control: max-age=60", tag, &range],
            &body[first..=last],
        ));
    });
    let forebay = Forebay::before(&origin);
    range(&forebay, "bytes=0-4");
    range(&forebay, "bytes=5-9");
    let whole = forebay.get("/").text();
    assert!(
        matches!(whole.as_str(), "0123456789" | "abcdefghij"),
        "a mixture: {whole}"
    );
}

#[test]
fn parts_with_a_weak_tag_are_never_combined() {
    let origin = file("W/\"v1\"", BODY, FRESH);
    let forebay = Forebay::before(&origin);
    range(&forebay, "bytes=0-17");
    range(&forebay, "bytes=18-35");
    let whole = forebay.get("/");
    assert_eq!(whole.text(), BODY);
    let sent_whole = origin
        .requests()
        .iter()
        .any(|request| request.field("range").is_none());
    assert!(sent_whole, "combined by a weak tag");
}

#[test]
fn range_beyond_a_stored_part_is_fetched() {
    let origin = file("\"v1\"", BODY, FRESH);
    let forebay = Forebay::before(&origin);
    range(&forebay, "bytes=0-9");
    let response = range(&forebay, "bytes=5-14");
    assert_eq!(part(&response), (206, "bytes 5-14/36", BODY[5..15].into()));
    let suffix = range(&forebay, "bytes=-4");
    assert_eq!(part(&suffix), (206, "bytes 32-35/36", "wxyz".into()));
}

#[test]
fn part_alone_never_answers_for_the_whole() {
    // An origin that answers every request with the same part, even without Range.
    let fields = [
        "Cache-Control: max-age=60",
        "ETag: \"v1\"",
        "Content-Range: bytes 0-4/10",
    ];
    let origin = Origin::start(move |request, connection| match request.field("range") {
        Some("bytes=0-4") => connection.send(reply(206, &fields, "01234")),
        _ => connection.send(reply(200, &["ETag: \"v1\""], "0123456789")),
    });
    let forebay = Forebay::before(&origin);
    range(&forebay, "bytes=0-4");
    assert_eq!(forebay.get("/").text(), "0123456789");
}

#[test]
fn unasked_206_is_not_passed_as_the_whole() {
    let fields = [
        "Cache-Control: max-age=60",
        "ETag: \"v1\"",
        "Content-Range: bytes 0-4/10",
    ];
    let origin = Origin::fixed(reply(206, &fields, "01234"));
    let forebay = Forebay::before(&origin);
    let response = forebay.get("/");
    assert!(matches!(response.status, 206 | 502), "{response:?}");
    assert_ne!(forebay.get("/").status, 200);
}

#[test]
fn content_range_that_contradicts_the_body_is_not_stored() {
    for range in [
        "bytes 0-9/10",
        "bytes 4-0/10",
        "bytes 0-4/3",
        "bytes x-y/z",
        "lines 0-4/10",
    ] {
        let field = format!("Content-Range: {range}");
        let origin = Origin::fixed(reply(
            206,
            &["Cache-Control: max-age=60", "ETag: \"v1\"", &field],
            "01234",
        ));
        let forebay = Forebay::before(&origin);
        let ask = || {
            forebay
                .client()
                .send_request("GET", "/", &["Range: bytes=0-4"], "")
                .try_read()
        };
        let _ = ask();
        if let Ok(second) = ask() {
            assert!(!second.is_hit(), "{range}: {second:?}");
        }
    }
}

#[test]
fn multipart_from_the_origin_is_passed_untouched() {
    let kind = "Content-Type: multipart/byteranges; boundary=B";
    let body = "--B\r\nContent-Range: bytes 0-0/36\r\n\r\n0\r\n--B\r\nContent-Range: bytes 2-2/36\r\n\r\n2\r\n--B--\r\n";
    let origin = Origin::start(move |request, connection| match request.field("range") {
        Some(_) => connection.send(reply(
            206,
            &[kind, "Cache-Control: max-age=60", "ETag: \"v1\""],
            body,
        )),
        None => connection.send(reply(
            200,
            &["Cache-Control: max-age=60", "ETag: \"v1\""],
            BODY,
        )),
    });
    let forebay = Forebay::before(&origin);
    let response = range(&forebay, "bytes=0-0,2-2");
    assert_eq!(response.status, 206);
    let parts = multipart(&response);
    assert_eq!(
        parts.iter().map(|(_, b)| b.as_str()).collect::<Vec<_>>(),
        ["0", "2"]
    );
    assert_eq!(forebay.get("/").text(), BODY);
}

#[test]
fn passed_ranges_reach_the_origin() {
    let origin = file("\"v1\"", BODY, FRESH);
    let forebay = Forebay::start(&Config::to(&origin).cache("pass = true"));
    assert_eq!(
        part(&range(&forebay, "bytes=3-4")),
        (206, "bytes 3-4/36", "34".into())
    );
    assert_eq!(origin.last().field("range"), Some("bytes=3-4"));
}

#[test]
fn range_that_the_origin_refuses_is_416_to_the_client() {
    let origin = file("\"v1\"", BODY, FRESH);
    let forebay = Forebay::before(&origin);
    assert_eq!(range(&forebay, "bytes=1000-").status, 416);
    assert_eq!(forebay.get("/").text(), BODY);
}

#[test]
fn parts_in_any_order_always_give_the_right_bytes() {
    // Three hundred questions in ten orders; whatever is combined, it is the object.
    for seed in 1..=10_usize {
        let origin = file("\"v1\"", BODY, FRESH);
        let forebay = Forebay::before(&origin);
        let mut client = forebay.client();
        let mut at = seed * 7;
        for step in 0..30 {
            at = (at * 31 + seed + step) % 40;
            let asked = match at % 4 {
                0 => format!("bytes={at}-"),
                1 => format!("bytes=-{at}"),
                _ => format!("bytes={at}-{}", at + step % 9),
            };
            let fields = [format!("Range: {asked}")];
            let fields: Vec<&str> = if at == 39 {
                Vec::new()
            } else {
                fields.iter().map(String::as_str).collect()
            };
            let response = client.get_with("/", &fields);
            match response.status {
                200 => assert_eq!(response.text(), BODY, "{asked}"),
                416 => assert!(at >= BODY.len() && at % 4 != 1, "{asked}"),
                206 => {
                    let range = response.field("content-range").unwrap();
                    let (first, rest) = range["bytes ".len()..].split_once('-').unwrap();
                    let last = rest.split('/').next().unwrap();
                    let (first, last): (usize, usize) =
                        (first.parse().unwrap(), last.parse().unwrap());
                    assert_eq!(response.text(), BODY[first..=last], "{asked} gave {range}");
                }
                other => panic!("{asked} gave {other}"),
            }
        }
        assert_eq!(client.get("/").text(), BODY);
    }
}
