//! Ranges from whole objects; partial responses stored, combined and
//! completed (RFC 9110 section 14, RFC 9111 section 3.3 and 3.4).

use forebay_tests::{Forebay, Origin, Response, reply};

use crate::common::{file, part};

pub(crate) const BODY: &str = "0123456789abcdefghijklmnopqrstuvwxyz";
pub(crate) const FRESH: &[&str] = &["Cache-Control: max-age=60"];

fn whole_object() -> (Origin, Forebay) {
    let origin = file("\"v1\"", BODY, FRESH);
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    (origin, forebay)
}

#[track_caller]
pub(crate) fn range(forebay: &Forebay, range: &str) -> Response {
    forebay.get_with("/", &[&format!("Range: {range}")])
}

#[test]
fn single_ranges_come_from_the_whole_object() {
    let (origin, forebay) = whole_object();
    for (asked, content_range, text) in [
        ("bytes=0-0", "bytes 0-0/36", "0"),
        ("bytes=0-9", "bytes 0-9/36", "0123456789"),
        ("bytes=30-", "bytes 30-35/36", "uvwxyz"),
        ("bytes=-3", "bytes 33-35/36", "xyz"),
        ("bytes=10-1000", "bytes 10-35/36", &BODY[10..]),
        ("bytes=-1000", "bytes 0-35/36", BODY),
        ("BYTES=1-2", "bytes 1-2/36", "12"),
    ] {
        let response = range(&forebay, asked);
        assert_eq!(
            part(&response),
            (206, content_range, text.to_owned()),
            "{asked}"
        );
        assert!(response.is_hit());
        assert_eq!(response.number("content-length"), Some(text.len() as u64));
        assert_eq!(response.field("etag"), Some("\"v1\""));
    }
    assert_eq!(origin.count(), 1);
}

#[test]
fn ranges_beyond_the_end_are_416() {
    let (_origin, forebay) = whole_object();
    for asked in ["bytes=36-", "bytes=100-200", "bytes=-0"] {
        let response = range(&forebay, asked);
        assert_eq!(
            (response.status, response.field("content-range")),
            (416, Some("bytes */36")),
            "{asked}"
        );
    }
    assert_eq!(range(&forebay, "bytes=0-0").status, 206);
}

#[test]
fn ranges_that_are_none_are_ignored() {
    let (_origin, forebay) = whole_object();
    for asked in [
        "bytes=",
        "bytes=5-2",
        "bytes=a-b",
        "lines=1-2",
        "bytes 1-2",
        "bytes=1-2-3",
        "bytes=--1",
        "bytes=1",
    ] {
        let response = range(&forebay, asked);
        assert_eq!(
            (response.status, response.text().as_str()),
            (200, BODY),
            "{asked}"
        );
    }
}

/// The parts of a `multipart/byteranges` body: `Content-Range` and content.
pub(crate) fn multipart(response: &Response) -> Vec<(String, String)> {
    let kind = response.field("content-type").unwrap();
    let boundary = kind
        .strip_prefix("multipart/byteranges")
        .unwrap()
        .split("boundary=")
        .nth(1)
        .unwrap();
    let text = "\r\n".to_owned() + &response.text();
    let delimiter = format!("\r\n--{}", boundary.trim_matches('"'));
    let mut sections: Vec<&str> = text.split(&delimiter).skip(1).collect();
    let end = sections.pop().unwrap();
    assert!(end.starts_with("--"), "no closing delimiter: {end:?}");
    let read = |section: &&str| {
        let (head, body) = section.split_once("\r\n\r\n").unwrap();
        let line = head
            .lines()
            .find(|l| l.to_ascii_lowercase().starts_with("content-range:"))
            .unwrap();
        (
            line.split_once(':').unwrap().1.trim().to_owned(),
            body.to_owned(),
        )
    };
    sections.iter().map(read).collect()
}

#[test]
fn several_ranges_come_as_multipart() {
    let (_origin, forebay) = whole_object();
    let response = range(&forebay, "bytes=0-1, 10-11 ,-2");
    assert_eq!(response.status, 206);
    assert!(response.field("content-range").is_none(), "{response:?}");
    let expected = [
        ("bytes 0-1/36", "01"),
        ("bytes 10-11/36", "ab"),
        ("bytes 34-35/36", "yz"),
    ];
    let parts = multipart(&response);
    assert_eq!(
        parts
            .iter()
            .map(|(r, b)| (r.as_str(), b.as_str()))
            .collect::<Vec<_>>(),
        expected
    );
}

#[test]
fn one_satisfiable_range_of_several_is_no_multipart_or_one_part() {
    let (_origin, forebay) = whole_object();
    let response = range(&forebay, "bytes=0-1,100-200");
    assert_eq!(response.status, 206);
    match response.field("content-range") {
        Some(range) => assert_eq!((range, response.text().as_str()), ("bytes 0-1/36", "01")),
        None => assert_eq!(
            multipart(&response),
            [("bytes 0-1/36".to_owned(), "01".to_owned())]
        ),
    }
}

#[test]
fn too_many_ranges_are_ignored() {
    let (_origin, forebay) = whole_object();
    let many = (0..30)
        .map(|n| format!("{n}-{n}"))
        .collect::<Vec<_>>()
        .join(",");
    let response = range(&forebay, &format!("bytes={many}"));
    assert_eq!(response.text(), BODY);
    assert_eq!(response.status, 200);
}

#[test]
fn overlapping_ranges_cannot_multiply_the_response() {
    let (_origin, forebay) = whole_object();
    let response = range(&forebay, "bytes=0-,0-,0-,0-,0-,0-,0-,0-");
    assert!(
        response.body.len() < 3 * BODY.len(),
        "{} bytes",
        response.body.len()
    );
}

#[test]
fn if_range_decides_between_part_and_whole() {
    let (_origin, forebay) = whole_object();
    for (condition, status) in [
        ("\"v1\"", 206),
        ("\"v2\"", 200),
        ("W/\"v1\"", 200),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 200),
    ] {
        let response = forebay.get_with(
            "/",
            &["Range: bytes=0-4", &format!("If-Range: {condition}")],
        );
        assert_eq!(response.status, status, "{condition}");
    }
}

#[test]
fn if_range_by_date_needs_a_strong_one() {
    let modified = "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT";
    let origin = Origin::fixed(reply(200, &["Cache-Control: max-age=60", modified], BODY));
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    let ask = |date: &str| {
        forebay
            .get_with("/", &["Range: bytes=0-4", &format!("If-Range: {date}")])
            .status
    };
    assert_eq!(ask("Sun, 06 Nov 1994 08:49:37 GMT"), 206);
    assert_eq!(ask("Sun, 06 Nov 1994 08:49:38 GMT"), 200);
}

#[test]
fn preconditions_come_before_ranges() {
    let (_origin, forebay) = whole_object();
    assert_eq!(
        forebay
            .get_with("/", &["Range: bytes=0-4", "If-None-Match: \"v1\""])
            .status,
        304
    );
}

#[test]
fn range_of_an_error_or_a_post_is_ignored() {
    let origin = Origin::fixed(reply(404, &["Cache-Control: max-age=60"], "not found"));
    let forebay = Forebay::before(&origin);
    forebay.get("/");
    let response = forebay.get_with("/", &["Range: bytes=0-2"]);
    assert_eq!(
        (response.status, response.text().as_str()),
        (404, "not found")
    );
}

#[test]
fn head_with_range_states_no_part_of_a_body() {
    let (_origin, forebay) = whole_object();
    // RFC 9110 section 14.2: Range is defined for GET only.
    let mut client = forebay.client();
    let response = client.exchange("HEAD", "/", &["Range: bytes=0-2"], "");
    assert_eq!(
        (response.status, response.field("content-length")),
        (200, Some("36"))
    );
}

#[test]
fn ranges_of_a_large_object_are_exact() {
    let body: Vec<u8> = (0..1_500_000_u32)
        .map(|n| b'a' + (n.wrapping_mul(2_654_435_761) >> 28) as u8)
        .collect();
    let text = String::from_utf8(body.clone()).unwrap();
    let length = text.len();
    // Once by length and once in chunks: it is kept in pieces of different sizes.
    let origin = Origin::start(move |request, connection| {
        if request.target == "/length" {
            return connection.send(reply(200, FRESH, &text));
        }
        connection.send(
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n",
        );
        for piece in text.as_bytes().chunks(10_007) {
            connection.send(format!(
                "{:x}\r\n{}\r\n",
                piece.len(),
                String::from_utf8_lossy(piece)
            ));
        }
        connection.send("0\r\n\r\n");
    });
    let forebay = Forebay::before(&origin);
    for target in ["/length", "/chunks"] {
        let mut client = forebay.client();
        client.get(target);
        let mut at = 12_345;
        for step in 0..200 {
            at = (at * 7919 + 104_729) % length;
            let (first, last) = (at, (at + step * step * 10).min(length - 1));
            let part = client.get_with(target, &[&format!("Range: bytes={first}-{last}")]);
            assert_eq!((part.status, part.is_hit()), (206, true));
            assert!(part.body == body[first..=last], "{target} {first}-{last}");
        }
        let several = client.get_with(target, &["Range: bytes=5-9,70000-70009,-10"]);
        let parts: Vec<String> = multipart(&several)
            .into_iter()
            .map(|(_, part)| part)
            .collect();
        let expected = [5..10, 70_000..70_010, length - 10..length]
            .map(|r| String::from_utf8(body[r].to_vec()).unwrap());
        assert_eq!(parts, expected);
    }
    assert_eq!(origin.count(), 2);
}
