//! Large files: sent from where they lie, whole, in part, and while they change.

use std::time::Duration;

use forebay_tests::Client;

use crate::cache_ranges::multipart;
use crate::files::Tree;

fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|n| b'a' + (n / 3 % 26) as u8).collect()
}

fn large() -> (Tree, Vec<u8>) {
    let body = pattern(3_000_001);
    let tree = Tree::new(&[]);
    tree.write("large.txt", &body);
    tree.age("large.txt", 1_600_000_000);
    (tree, body)
}

#[test]
fn a_large_file_comes_whole() {
    let (tree, body) = large();
    let forebay = tree.serve(&[]);
    let mut client = forebay.client();
    for _ in 0..3 {
        let response = client.get("/large.txt");
        assert_eq!(response.number("content-length"), Some(body.len() as u64));
        assert!(response.body == body);
    }
    client.send_request("HEAD", "/large.txt", &[], "");
    let head = client.read_for("HEAD");
    assert_eq!(head.number("content-length"), Some(body.len() as u64));
    assert_eq!(forebay.metric("forebay_files_sent_total"), Some(4.0));
    assert_eq!(client.get("/none").status, 404);
}

#[test]
fn ranges_of_a_large_file_are_exact() {
    let (tree, body) = large();
    let forebay = tree.serve(&[]);
    let mut client = forebay.client();
    let length = body.len();
    for (asked, range) in [
        ("bytes=0-0", 0..1),
        ("bytes=0-99999", 0..100_000),
        ("bytes=524287-524288", 524_287..524_289),
        ("bytes=1000000-", 1_000_000..length),
        ("bytes=-1", length - 1..length),
        ("bytes=0-", 0..length),
    ] {
        let response = client.get_with("/large.txt", &[&format!("Range: {asked}")]);
        assert_eq!(response.status, 206, "{asked}");
        let shown = format!("bytes {}-{}/{length}", range.start, range.end - 1);
        assert_eq!(response.field("content-range"), Some(&*shown));
        assert!(response.body == body[range], "{asked}");
    }
    let beyond = client.get_with("/large.txt", &["Range: bytes=9000000-"]);
    assert_eq!(beyond.status, 416);
    assert_eq!(beyond.field("content-range"), Some("bytes */3000001"));
    let several = client.get_with("/large.txt", &["Range: bytes=0-1, 2000000-2000002, -2"]);
    assert_eq!(several.status, 206);
    let text = |from: usize, to: usize| String::from_utf8_lossy(&body[from..to]).into_owned();
    assert_eq!(
        multipart(&several),
        [
            ("bytes 0-1/3000001".into(), text(0, 2)),
            (
                "bytes 2000000-2000002/3000001".into(),
                text(2_000_000, 2_000_003)
            ),
            (
                "bytes 2999999-3000000/3000001".into(),
                text(2_999_999, length)
            ),
        ]
    );
}

#[test]
fn if_range_decides_between_the_part_and_the_whole() {
    let (tree, body) = large();
    let forebay = tree.serve(&[]);
    let etag = forebay.get("/large.txt").field("etag").unwrap().to_owned();
    for (condition, status) in [
        (etag, 206),
        ("\"other\"".into(), 200),
        ("Sun, 13 Sep 2020 12:26:40 GMT".into(), 206),
        ("Sun, 13 Sep 2020 12:26:41 GMT".into(), 200),
    ] {
        let response = forebay.get_with(
            "/large.txt",
            &["Range: bytes=5-9", &format!("If-Range: {condition}")],
        );
        assert_eq!(response.status, status, "{condition}");
        let expected = if status == 206 {
            &body[5..10]
        } else {
            &body[..]
        };
        assert!(response.body == expected);
    }
}

/// A client that has got the head and does not read on.
fn begun(forebay: &forebay_tests::Forebay) -> Client {
    let mut client = forebay.client();
    client.send_request("GET", "/large.txt", &[], "");
    client
}

fn huge() -> (Tree, Vec<u8>) {
    let body = pattern(40_000_000);
    let tree = Tree::new(&[]);
    tree.write("large.txt", &body);
    (tree, body)
}

#[test]
fn a_file_that_is_deleted_while_it_is_sent_arrives_whole() {
    let (tree, body) = huge();
    let forebay = tree.serve(&[]);
    let mut client = begun(&forebay);
    let mut response = client.read_head();
    std::fs::remove_file(tree.path("large.txt")).unwrap();
    client.read_rest(&mut response).unwrap();
    assert!(response.body == body);
    assert_eq!(forebay.get("/large.txt").status, 404);
}

#[test]
fn a_file_that_shrinks_while_it_is_sent_is_broken_off() {
    let (tree, body) = huge();
    let forebay = tree.serve(&[]);
    let mut client = begun(&forebay);
    let mut response = client.read_head();
    let file = std::fs::File::options()
        .write(true)
        .open(tree.path("large.txt"));
    file.unwrap().set_len(30_000_000).unwrap();
    assert!(client.read_rest(&mut response).is_err());
    assert!(response.body.len() <= 30_000_000 && body.starts_with(&response.body));
    assert_eq!(forebay.get("/large.txt").body.len(), 30_000_000);
}

#[test]
fn a_client_that_does_not_read_is_given_up() {
    let (tree, _) = huge();
    let config = tree.config(&[]) + "[timeouts]\nsend = \"300ms\"\n";
    let forebay = forebay_tests::Forebay::start_text(&config);
    let mut client = begun(&forebay);
    let mut response = client.read_head();
    forebay.wait_for_metric("forebay_client_aborts_total", 1.0);
    assert!(client.read_rest(&mut response).is_err());
}

#[test]
fn many_slow_readers_do_not_hold_up_others() {
    let (tree, _) = huge();
    tree.write("small.txt", "small");
    let forebay = tree.serve(&[]);
    let slow: Vec<Client> = (0..20).map(|_| begun(&forebay)).collect();
    let mut client = forebay.client();
    client.set_read_deadline(Duration::from_secs(5));
    for _ in 0..50 {
        assert_eq!(client.get("/small.txt").text(), "small");
    }
    drop(slow);
}

#[test]
fn an_empty_file_is_empty() {
    let tree = Tree::new(&[("empty.txt", "")]);
    for lines in [&[][..], &["pass = true"]] {
        let forebay = tree.serve(lines);
        let mut client = forebay.client();
        let response = client.get("/empty.txt");
        assert_eq!(
            (response.status, response.number("content-length")),
            (200, Some(0))
        );
        assert_eq!(client.get("/empty.txt").body.len(), 0);
    }
}
