//! Files of URLs, line by line.

#![allow(clippy::unwrap_used)]

use super::*;
use proptest::prelude::*;

fn no_file(path: &str) -> io::Result<Vec<u8>> {
    match path {
        "body.json" => Ok(b"{}".to_vec()),
        _ => Err(io::Error::from(io::ErrorKind::NotFound)),
    }
}

fn read(text: &str) -> Result<Vec<Request>, LineErrors> {
    let base = Target::parse("http://base.example/dir/").unwrap();
    parse(text, Some(&base), &mut no_file)
}

fn shown(text: &str) -> Vec<String> {
    let show = |request: &Request| format!("{} {}", request.method, request.target);
    read(text).unwrap().iter().map(show).collect()
}

#[test]
fn a_url_on_each_line() {
    let text = "\u{feff}# a comment\n\n  http://a.example/x?y=1 \r\n\thttps://b.example\nc.example/z # why\n/path\n";
    assert_eq!(
        shown(text),
        [
            "GET http://a.example/x?y=1",
            "GET https://b.example/",
            "GET http://c.example/z",
            "GET http://base.example/path",
        ]
    );
}

#[test]
fn methods_and_bodies_as_siege_writes_them() {
    let text = "http://a/ POST name=x y&b=$(c)\nhttp://a/ POST <body.json\nhttp://a/ POST < body.json\nhttp://a/ DELETE\nhttp://a/ POST";
    let requests = read(text).unwrap();
    assert_eq!(requests[0].body, b"name=x y&b=$(c)");
    assert_eq!(
        requests[0].headers,
        [("Content-Type".to_owned(), FORM.to_owned())]
    );
    for request in &requests[1..3] {
        assert_eq!(request.body, b"{}");
        assert_eq!(request.headers[0].1, "application/json");
    }
    assert_eq!(requests[3].method, "DELETE");
    assert!(requests[4].body.is_empty() && requests[4].headers.is_empty());
}

#[test]
fn variables_as_siege_writes_them() {
    let text = "HOST = www.example\nURL=http://$(HOST)/app\n$(URL)/a?b=$5\n${URL}/b POST u=${HOST}";
    assert_eq!(
        shown(text),
        [
            "GET http://www.example/app/a?b=$5",
            "POST http://www.example/app/b"
        ]
    );
    assert_eq!(read(text).unwrap()[1].body, b"u=www.example");
}

#[test]
fn a_line_that_is_no_request_is_named() {
    for (text, part) in [
        (
            "http://a/\nftp://b/",
            "line 2: `ftp://b/` is not a URL: the scheme `ftp`",
        ),
        ("http://a/ b", "line 1: `b` behind the URL is no method"),
        ("http://a/ POST <none.json", "line 1: none.json: "),
        ("$(HOST)/", "line 1: the variable `HOST` is not set above"),
        ("X=$(X)", "line 1: the variable `X`"),
        ("# nothing\n", "line 1: there is no URL in the file"),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
    let error = parse("/x", None, &mut no_file).unwrap_err().to_string();
    assert!(error.contains("--base"), "{error}");
    let many = "http:///\n".repeat(100);
    let errors = read(&many).unwrap_err();
    assert_eq!((errors.first.len(), errors.total), (20, 100));
}

#[test]
fn variables_that_multiply_end() {
    let mut text = String::from("A=http://a/xxxxxxxx\n");
    for _ in 0..40 {
        text.push_str("A=$(A)$(A)\n");
    }
    let error = read(&text).unwrap_err().to_string();
    assert!(error.contains("longer than 16 MiB"), "{error}");
}

proptest! {
    #[test]
    fn no_file_is_too_strange(text in "(?s).{0,200}") {
        let _ = read(&text);
    }

    #[test]
    fn pieces_of_real_lines_in_any_order(
        parts in proptest::collection::vec(
            proptest::sample::select(vec![
                "http://", "a.example", "/", "$(", "${", ")", "}", "=", "N", " ", "POST", "<", "\n", "#", "é",
            ]),
            0..40,
        )
    ) {
        let _ = read(&parts.concat());
    }

    #[test]
    fn a_written_line_reads_back(
        host in "[a-z]{1,10}\\.example", path in "(/[a-z0-9._~-]{0,8}){1,4}", query in "(\\?[a-z]=[0-9]{1,3})?",
        body in "[a-z]=[a-z0-9%+]{1,20}",
    ) {
        let url = format!("http://{host}{path}{query}");
        let requests = read(&format!("{url}\n{url} POST {body}\n")).unwrap();
        prop_assert_eq!(requests[0].target.to_string(), url.clone());
        prop_assert_eq!(&requests[1].body, body.as_bytes());
        prop_assert_eq!(requests[1].target.to_string(), url);
    }
}
