//! Content codings: files that lie beside, and responses that are compressed here.

use std::io::Write;
use std::process::{Command, Stdio};

use forebay_tests::{Config, Event, Forebay, Origin, Response, reply};

use crate::files::Tree;

fn text() -> String {
    (0..2000)
        .map(|n| format!("<li>{} of many</li>\n", n / 3))
        .collect()
}

/// The body as it was before it was coded, by the program that everybody has for it.
pub(crate) fn plain(response: &Response) -> String {
    let program = match response.field("content-encoding") {
        None => return response.text(),
        Some("gzip") => "gzip",
        Some("br") => "brotli",
        Some("zstd") => "zstd",
        Some(other) => panic!("coding {other}"),
    };
    let mut child = Command::new(program)
        .arg("-dc")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    let mut input = child.stdin.take().unwrap();
    let body = response.body.clone();
    let writing = std::thread::spawn(move || input.write_all(&body));
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap().unwrap();
    assert!(output.status.success(), "{program}");
    String::from_utf8(output.stdout).unwrap()
}

const ACCEPT: &str = "Accept-Encoding: gzip, br, zstd";

fn before(origin: &Origin, lines: &[&str]) -> Forebay {
    let mut config = Config::to(origin).set("site.app", "pool = \"app\"");
    for line in lines {
        config = config.set("site.app", line);
    }
    Forebay::start(&config)
}

fn page(fields: &[&str]) -> Origin {
    let fields = [&["Content-Type: text/html"], fields].concat();
    Origin::fixed(reply(200, &fields, &text()))
}

#[test]
fn a_file_beside_is_sent_to_whoever_accepts_it() {
    for size in [2_000, 400_000] {
        let body = "x".repeat(size);
        let tree = Tree::new(&[
            ("a.css", &body),
            ("a.css.gz", "GZIP"),
            ("a.css.br", "BROTLI"),
        ]);
        let forebay = tree.serve(&["precompressed = [\"br\", \"zstd\", \"gzip\"]"]);
        for (accept, coding, text) in [
            ("gzip, deflate, br, zstd", Some("br"), "BROTLI"),
            ("gzip", Some("gzip"), "GZIP"),
            ("br;q=0.1, gzip;q=0.9", Some("gzip"), "GZIP"),
            ("br;q=0, gzip;q=0.1", Some("gzip"), "GZIP"),
            ("zstd", None, &*body),
            ("identity, br;q=0.5", None, &*body),
            ("*", Some("br"), "BROTLI"),
        ] {
            for _ in 0..2 {
                let field = format!("Accept-Encoding: {accept}");
                let response = forebay.get_with("/a.css", &[&field]);
                assert_eq!(response.field("content-encoding"), coding, "{accept}");
                assert_eq!(response.field("vary"), Some("Accept-Encoding"), "{accept}");
                assert_eq!(
                    response.field("content-type"),
                    Some("text/css; charset=utf-8")
                );
                assert_eq!(response.text(), text, "{accept}");
            }
        }
        let etag = |fields: &[&str]| {
            let response = forebay.get_with("/a.css", fields);
            response.field("etag").unwrap().to_owned()
        };
        let (plain, brotli) = (etag(&[]), etag(&["Accept-Encoding: br"]));
        let gzip = etag(&["Accept-Encoding: gzip"]);
        assert!(plain != brotli && plain != gzip && brotli != gzip);
        let same = format!("If-None-Match: {brotli}");
        let known = forebay.get_with("/a.css", &["Accept-Encoding: br", &same]);
        assert_eq!((known.status, known.field("etag")), (304, Some(&*brotli)));
        assert_eq!(forebay.get_with("/a.css", &[&same]).status, 200);
        let part = forebay.get_with("/a.css", &["Accept-Encoding: br", "Range: bytes=1-2"]);
        assert_eq!((part.status, part.text()), (206, "RO".into()));
    }
}

#[test]
fn a_file_beside_that_changes_is_noticed() {
    let tree = Tree::new(&[("a.css", "plain")]);
    let forebay = tree.serve(&["precompressed = [\"br\"]", "file_check = \"0s\""]);
    let get = || forebay.get_with("/a.css", &["Accept-Encoding: br"]).text();
    assert_eq!(get(), "plain");
    tree.write("a.css.br", "ONE");
    assert_eq!(get(), "ONE");
    tree.write("a.css.br", "OTHER");
    assert_eq!(get(), "OTHER");
    std::fs::remove_file(tree.path("a.css.br")).unwrap();
    assert_eq!(get(), "plain");
}

#[test]
fn a_cached_page_is_compressed_once_for_each_coding() {
    let origin = page(&["Cache-Control: max-age=60", "ETag: \"v1\""]);
    let forebay = before(&origin, &["compress = true"]);
    for (accept, coding) in [
        ("gzip, br, zstd", Some("br")),
        ("gzip", Some("gzip")),
        ("zstd", Some("zstd")),
        ("gzip;q=1, br;q=0.2", Some("gzip")),
        ("", None),
        ("deflate", None),
        ("identity", None),
    ] {
        for _ in 0..3 {
            let response = forebay.get_with("/", &[&format!("Accept-Encoding: {accept}")]);
            assert_eq!(response.field("content-encoding"), coding, "{accept}");
            assert_eq!(response.field("vary"), Some("Accept-Encoding"), "{accept}");
            let etag = if coding.is_some() {
                "W/\"v1\""
            } else {
                "\"v1\""
            };
            assert_eq!(response.field("etag"), Some(etag), "{accept}");
            assert_eq!(plain(&response), text(), "{accept}");
            assert!(coding.is_none() || response.body.len() * 5 < text().len());
        }
    }
    assert_eq!(origin.count(), 1);
    assert_eq!(forebay.metric("forebay_compressed_total"), Some(3.0));
}

#[test]
fn a_hit_on_a_coded_form_has_a_length() {
    let origin = page(&["Cache-Control: max-age=60"]);
    let forebay = before(&origin, &["compress = [\"gzip\"]"]);
    forebay.get_with("/", &[ACCEPT]);
    let response = forebay.get_with("/", &[ACCEPT]);
    assert_eq!(
        response.number("content-length"),
        Some(response.body.len() as u64)
    );
    assert!(response.is_hit());
    let mut client = forebay.client();
    client.send_request("HEAD", "/", &[ACCEPT], "");
    let head = client.read_for("HEAD");
    assert_eq!(head.field("content-encoding"), Some("gzip"));
    assert_eq!(
        head.number("content-length"),
        Some(response.body.len() as u64)
    );
}

#[test]
fn what_is_not_worth_it_stays_as_it_is() {
    let long = text();
    for (status, fields, body) in [
        (200, &["Content-Type: image/png"][..], &*long),
        (200, &["Content-Type: text/html"], "short"),
        (
            200,
            &[
                "Content-Type: text/html",
                "Cache-Control: no-transform, max-age=9",
            ],
            &long,
        ),
        (
            200,
            &["Content-Type: text/html", "Content-Encoding: x-own"],
            &long,
        ),
        (200, &[], &long),
    ] {
        for pass in ["pass = true", "pass = false"] {
            let origin = Origin::fixed(reply(status, fields, body));
            let forebay = before(&origin, &["compress = true", pass]);
            let response = forebay.get_with("/", &[ACCEPT]);
            let origins = fields
                .iter()
                .find_map(|line| line.strip_prefix("Content-Encoding: "));
            assert_eq!(response.field("content-encoding"), origins, "{fields:?}");
            assert_eq!(response.field("vary"), None, "{fields:?}");
            assert_eq!(response.text(), body);
        }
    }
}

#[test]
fn what_is_passed_is_compressed_on_its_way() {
    let origin = page(&[
        "Cache-Control: no-store",
        "ETag: \"v1\"",
        "Accept-Ranges: bytes",
    ]);
    for lines in [
        &["compress = true"][..],
        &["compress = true", "pass = true"],
    ] {
        let forebay = before(&origin, lines);
        let mut client = forebay.client();
        for (accept, coding) in [("gzip", Some("gzip")), ("br", Some("br")), ("x", None)] {
            let response = client.get_with("/", &[&format!("Accept-Encoding: {accept}")]);
            assert_eq!(response.field("content-encoding"), coding);
            assert_eq!(response.field("vary"), Some("Accept-Encoding"));
            assert_eq!(plain(&response), text());
            let etag = if coding.is_some() {
                "W/\"v1\""
            } else {
                "\"v1\""
            };
            assert_eq!(response.field("etag"), Some(etag));
            assert_eq!(response.field("accept-ranges").is_none(), coding.is_some());
        }
        let post = client.exchange("POST", "/", &[ACCEPT], "body");
        assert_eq!(
            (plain(&post), post.field("content-encoding")),
            (text(), Some("br"))
        );
        let part = client.get_with("/", &[ACCEPT, "Range: bytes=0-1"]);
        assert_eq!(part.field("content-encoding"), None);
    }
}

#[test]
fn a_client_of_http_1_0_gets_it_until_the_end_of_the_connection() {
    let origin = page(&["Cache-Control: no-store"]);
    let forebay = before(&origin, &["compress = true"]);
    let mut client = forebay.client();
    client.send("GET / HTTP/1.0\r\nHost: test.example\r\nAccept-Encoding: gzip\r\n\r\n");
    let response = client.read();
    assert_eq!(plain(&response), text());
}

#[test]
fn ranges_are_of_the_plain_form() {
    let origin = page(&["Cache-Control: max-age=60", "ETag: \"v1\""]);
    let forebay = before(&origin, &["compress = true"]);
    forebay.get_with("/", &[ACCEPT]);
    let part = forebay.get_with("/", &[ACCEPT, "Range: bytes=0-8"]);
    assert_eq!((part.status, part.text()), (206, text()[..9].to_owned()));
    assert_eq!(part.field("content-encoding"), None);
    assert_eq!(part.field("vary"), Some("Accept-Encoding"));
    // What the client has is the compressed form: a part of the plain one does not belong to it.
    let other = forebay.get_with("/", &[ACCEPT, "Range: bytes=0-8", "If-Range: W/\"v1\""]);
    assert_eq!(other.status, 200);
}

#[test]
fn conditions_hold_for_the_compressed_form() {
    let origin = page(&["Cache-Control: max-age=60", "ETag: \"v1\""]);
    let forebay = before(&origin, &["compress = true"]);
    forebay.get_with("/", &[ACCEPT]);
    let known = forebay.get_with("/", &[ACCEPT, "If-None-Match: W/\"v1\""]);
    assert_eq!((known.status, known.field("etag")), (304, Some("W/\"v1\"")));
    assert_eq!(known.field("vary"), Some("Accept-Encoding"));
}

#[test]
fn a_stream_is_flushed_as_it_comes() {
    for cacheable in [false, true] {
        let seen = Event::new("the first event was seen");
        let waited = seen.clone();
        let origin = Origin::start(move |_, connection| {
            let control = if cacheable { "max-age=60" } else { "no-store" };
            connection.send(format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: {control}\r\n\
                 Transfer-Encoding: chunked\r\n\r\n7\r\nfirst\n\n\r\n"
            ));
            waited.wait();
            connection.send("8\r\nsecond\n\n\r\n0\r\n\r\n");
        });
        let forebay = before(&origin, &["compress = [\"gzip\"]"]);
        let mut client = forebay.client();
        client.send_request("GET", "/", &["Accept-Encoding: gzip"], "");
        let mut response = client.read_head();
        assert_eq!(response.field("content-encoding"), Some("gzip"));
        // The header of gzip, then a block with the first event, which ends at a byte.
        client.read_body(&mut response, 17);
        seen.set();
        client.read_rest(&mut response).unwrap();
        assert_eq!(plain(&response), "first\n\nsecond\n\n");
    }
}

#[test]
fn a_body_that_breaks_off_is_never_shown_as_whole() {
    for control in ["max-age=60", "no-store"] {
        let origin = Origin::start(move |_, connection| {
            let part = text();
            connection.send(format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nCache-Control: {control}\r\n\
                 Content-Length: 999999\r\n\r\n{part}"
            ));
            connection.close();
        });
        let forebay = before(&origin, &["compress = true"]);
        let mut client = forebay.client();
        client.send_request("GET", "/", &[ACCEPT], "");
        assert!(client.try_read().is_err(), "{control}");
    }
}

#[test]
fn small_and_large_files_are_compressed_too() {
    let large = text().repeat(20);
    let tree = Tree::new(&[
        ("small.html", &text()),
        ("large.html", &large),
        ("a.png", &text()),
    ]);
    let forebay = tree.serve(&["compress = true"]);
    for (path, expected) in [("/small.html", text()), ("/large.html", large)] {
        for _ in 0..2 {
            let response = forebay.get_with(path, &[ACCEPT]);
            assert_eq!(response.field("content-encoding"), Some("br"), "{path}");
            assert_eq!(response.field("vary"), Some("Accept-Encoding"), "{path}");
            assert!(plain(&response) == expected, "{path}");
            let bare = forebay.get(path);
            assert_eq!(bare.field("vary"), Some("Accept-Encoding"), "{path}");
            assert!(bare.text() == expected, "{path}");
        }
    }
    assert_eq!(
        forebay
            .get_with("/a.png", &[ACCEPT])
            .field("content-encoding"),
        None
    );
}

#[test]
fn a_confirmed_page_keeps_its_compressed_form() {
    let body = text();
    let origin = Origin::start(move |request, connection| {
        let fields = [
            "Content-Type: text/html",
            "Cache-Control: max-age=0",
            "ETag: \"v1\"",
        ];
        if request.field("if-none-match").is_some() {
            connection.send("HTTP/1.1 304 Not Modified\r\nETag: \"v1\"\r\n\r\n");
        } else {
            connection.send(reply(200, &fields, &body));
        }
    });
    let forebay = before(&origin, &["compress = true"]);
    for _ in 0..4 {
        assert_eq!(plain(&forebay.get_with("/", &[ACCEPT])), text());
    }
    assert_eq!(forebay.metric("forebay_compressed_total"), Some(1.0));
}
