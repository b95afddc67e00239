//! Ranges and conditions on what lies on disk, and parts that are kept there.

use forebay_tests::{Forebay, Origin, Response, reply};

use crate::disk::{body_of, config, directory, objects, restarted, wait_on_disk, whole};

const LARGE: &str = "/a/3000000";

/// A range of `LARGE`, and that it is the right one.
#[track_caller]
fn expect_part(response: &Response, first: usize, last: usize) {
    let text = body_of(LARGE);
    assert_eq!(response.status, 206, "{:?}", response.fields);
    assert_eq!(
        response.field("content-range"),
        Some(&*format!("bytes {first}-{last}/3000000"))
    );
    assert!(
        response.text() == text[first..=last],
        "wrong bytes of {first}-{last}"
    );
    assert!(response.is_hit());
}

#[test]
fn ranges_of_a_large_object_are_read_from_disk() {
    let (origin, directory) = (objects(), directory());
    let forebay = restarted(&config(&origin, &directory), &[LARGE]);
    let mut client = forebay.client();
    for (range, first, last) in [
        ("0-0", 0, 0),
        ("2999999-", 2_999_999, 2_999_999),
        ("-1", 2_999_999, 2_999_999),
        ("-1500000", 1_500_000, 2_999_999),
        ("0-", 0, 2_999_999),
        ("0-99999999", 0, 2_999_999),
        // Within a block, over the ends of blocks, over the end of a piece.
        ("100-199", 100, 199),
        ("65535-65536", 65_535, 65_536),
        ("65536-131071", 65_536, 131_071),
        ("1048575-1048576", 1_048_575, 1_048_576),
        ("1000000-2200000", 1_000_000, 2_200_000),
        ("-99999999", 0, 2_999_999),
    ] {
        let response = client.get_with(LARGE, &[&format!("Range: bytes={range}")]);
        expect_part(&response, first, last);
    }
    assert_eq!(origin.count(), 1);
}

#[test]
fn range_reads_only_what_it_needs() {
    let (origin, directory) = (objects(), directory());
    let forebay = restarted(&config(&origin, &directory), &["/a/8000000"]);
    let response = forebay.get_with("/a/8000000", &["Range: bytes=5000000-5000099"]);
    assert_eq!((response.status, response.body.len()), (206, 100));
    let read = forebay.metric("forebay_disk_read_bytes_total").unwrap();
    assert!(read < 2e6, "{read} bytes were read for a range of 100");
}

#[test]
fn every_small_range_over_the_end_of_a_block_is_right() {
    let (origin, directory) = (objects(), directory());
    let forebay = restarted(&config(&origin, &directory), &[LARGE]);
    let mut client = forebay.client();
    for border in [65_536, 262_144, 524_288, 1_048_576, 2_097_152] {
        for (before, after) in [(1, 0), (0, 1), (1, 1), (3, 5), (40_000, 40_000)] {
            let (first, last) = (border - before, border + after);
            let range = format!("Range: bytes={first}-{last}");
            expect_part(&client.get_with(LARGE, &[&range]), first, last);
        }
    }
}

#[test]
fn several_ranges_of_an_object_on_disk() {
    let (origin, directory) = (objects(), directory());
    let forebay = restarted(&config(&origin, &directory), &[LARGE]);
    let ranges = "Range: bytes=0-9, 1048570-1048589, -10";
    let response = forebay.get_with(LARGE, &[ranges]);
    assert_eq!(response.status, 206, "{response:?}");
    let kind = response.field("content-type").unwrap();
    let boundary = kind
        .strip_prefix("multipart/byteranges; boundary=")
        .unwrap();
    let text = response.text();
    let all = body_of(LARGE);
    assert_eq!(text.matches(&format!("--{boundary}")).count(), 4);
    for (first, last) in [(0, 9), (1_048_570, 1_048_589), (2_999_990, 2_999_999)] {
        let head = format!("ontent-Range: bytes {first}-{last}/3000000");
        let part = text
            .split_once(&head)
            .unwrap()
            .1
            .split_once("\r\n\r\n")
            .unwrap()
            .1;
        assert!(part.starts_with(&all[first..=last]), "{first}-{last}");
    }
    assert_eq!(origin.count(), 1);
}

#[test]
fn range_beyond_the_end_is_416() {
    let (origin, directory) = (objects(), directory());
    let forebay = restarted(&config(&origin, &directory), &[LARGE]);
    let response = forebay.get_with(LARGE, &["Range: bytes=3000000-"]);
    assert_eq!(response.status, 416);
    assert_eq!(response.field("content-range"), Some("bytes */3000000"));
    assert_eq!(origin.count(), 1);
}

#[test]
fn conditions_on_what_is_on_disk() {
    for target in ["/small/1000", LARGE] {
        let (origin, directory) = (objects(), directory());
        let forebay = restarted(&config(&origin, &directory), &[target]);
        let status = |field: &str| forebay.get_with(target, &[field]).status;
        assert_eq!(status("If-None-Match: \"e\""), 304);
        assert_eq!(status("If-None-Match: \"x\""), 200);
        assert_eq!(status("If-Match: \"x\""), 412);
        assert_eq!(status("If-Match: \"e\""), 200);
        let range = "Range: bytes=10-19";
        let held = forebay.get_with(target, &[range, "If-Range: \"e\""]);
        assert_eq!((held.status, held.body.len()), (206, 10));
        let outdated = forebay.get_with(target, &[range, "If-Range: \"x\""]);
        whole(&outdated, target);
        let head = forebay.exchange("HEAD", target, &["If-None-Match: \"e\""], "");
        assert_eq!(head.status, 304);
        assert_eq!(origin.count(), 1, "{target}");
    }
}

/// An origin for `LARGE` that answers ranges of it; it counts bodies by their first byte.
fn ranged() -> Origin {
    Origin::start(|request, connection| {
        let text = body_of(&request.target);
        let fields = ["Cache-Control: max-age=600", "ETag: \"e\""];
        let Some(range) = request.field("range") else {
            return connection.send(reply(200, &fields, &text));
        };
        let (first, last) = range
            .strip_prefix("bytes=")
            .unwrap()
            .split_once('-')
            .unwrap();
        let first: usize = first.parse().unwrap();
        let last = last.parse().unwrap_or(text.len() - 1).min(text.len() - 1);
        let content_range = format!("Content-Range: bytes {first}-{last}/{}", text.len());
        let fields = [fields[0], fields[1], &content_range];
        connection.send(reply(206, &fields, &text[first..=last]));
    })
}

#[test]
fn parts_are_kept_over_a_restart_and_completed_on_demand() {
    let (origin, directory) = (ranged(), directory());
    let config = config(&origin, &directory);
    let mut forebay = Forebay::start(&config);
    let target = "/a/100000";
    let text = body_of(target);
    let first = forebay.get_with(target, &["Range: bytes=0-49999"]);
    assert_eq!((first.status, first.body.len()), (206, 50_000));
    forebay.stop();
    let forebay = Forebay::start(&config);
    wait_on_disk(&forebay, 1);
    let part = forebay.get_with(target, &["Range: bytes=100-199"]);
    assert_eq!((part.status, part.text()), (206, text[100..200].to_owned()));
    assert!(part.is_hit(), "{part:?}");
    assert_eq!(origin.count(), 1);
    whole(&forebay.get(target), target);
    assert_eq!(origin.count(), 2);
    assert_eq!(origin.last().field("range"), Some("bytes=50000-"));
    whole(&forebay.get(target), target);
    assert_eq!(origin.count(), 2);
}

#[test]
fn part_on_disk_grows_by_what_is_asked_for() {
    let (origin, directory) = (ranged(), directory());
    let config = config(&origin, &directory);
    let target = "/a/100000";
    let text = body_of(target);
    for (range, first, last) in [
        ("bytes=0-9999", 0, 9_999),
        ("bytes=10000-19999", 10_000, 19_999),
        ("bytes=20000-29999", 20_000, 29_999),
    ] {
        let mut forebay = Forebay::start(&config);
        let response = forebay.get_with(target, &[&format!("Range: {range}")]);
        assert_eq!(
            (response.status, response.text()),
            (206, text[first..=last].to_owned())
        );
        forebay.stop();
    }
    let forebay = Forebay::start(&config);
    wait_on_disk(&forebay, 1);
    let response = forebay.get_with(target, &["Range: bytes=20000-29999"]);
    assert_eq!(response.text(), text[20_000..30_000]);
    assert!(response.is_hit(), "{response:?}");
    assert_eq!(origin.count(), 3);
    whole(&forebay.get(target), target);
}

#[test]
fn range_of_a_large_object_that_nobody_has_is_answered() {
    let (origin, directory) = (ranged(), directory());
    let forebay = Forebay::start(&config(&origin, &directory));
    let text = body_of(LARGE);
    for _ in 0..2 {
        let response = forebay.get_with(LARGE, &["Range: bytes=1000000-2999999"]);
        assert_eq!(response.status, 206);
        assert!(response.text() == text[1_000_000..]);
    }
    whole(&forebay.get(LARGE), LARGE);
    whole(&forebay.get(LARGE), LARGE);
    let response = forebay.get_with(LARGE, &["Range: bytes=1000000-2999999"]);
    assert!(response.is_hit());
    assert!(response.text() == text[1_000_000..]);
}
