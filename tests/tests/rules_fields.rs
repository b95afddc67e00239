//! Rules for fields in both directions, and pages for errors.

use forebay_tests::{Config, Forebay, Origin, reply};

fn with_site(origin: &Origin, text: &str) -> Forebay {
    let site = format!("[site.a]\npool = \"app\"\n{text}");
    Forebay::start(&Config::to(origin).append(&site))
}

#[test]
fn the_origin_gets_the_request_as_it_is_changed() {
    let origin = Origin::fixed(reply(200, &["Cache-Control: no-store"], "ok"));
    let forebay = with_site(
        &origin,
        "set_request_headers = { X-Real-IP = \"{client}\", X-Was = \"{header.x-debug-1}\" }\n\
         add_request_headers = { Accept-Language = \"de\" }\nremove_request_headers = [\"X-Debug-*\", \"*\"]\n",
    );
    // A client cannot take away what is put in by calling it hop-by-hop.
    let fields = [
        "X-Real-IP: 6.6.6.6",
        "X-Debug-1: one",
        "Connection: X-Real-IP, keep-alive",
        "Accept-Language: en",
    ];
    assert_eq!(forebay.exchange("POST", "/", &fields, "body").text(), "ok");
    let seen = origin.last();
    assert_eq!(seen.field("x-real-ip"), Some("127.0.0.1"));
    assert_eq!(seen.field("x-was"), Some("one"));
    assert_eq!(seen.field("x-debug-1"), None);
    assert_eq!(seen.field("accept-language"), Some("de"));
    assert_eq!(seen.field("host"), Some("test.example"));
    assert_eq!(seen.body, b"body");
}

#[test]
fn what_the_cache_varies_by_is_the_changed_request() {
    let origin = Origin::start(|request, connection| {
        let body = request.field("x-device").unwrap_or("none").to_owned();
        connection.send(reply(
            200,
            &["Cache-Control: max-age=60", "Vary: X-Device"],
            &body,
        ));
    });
    let forebay = with_site(
        &origin,
        "[[site.a.path]]\nheaders = { User-Agent = \"*Mobile*\" }\nset_request_headers = { X-Device = \"mobile\" }\n\
         [[site.a.path]]\nmatch = \"*\"\nset_request_headers = { X-Device = \"desktop\" }\n",
    );
    let mut client = forebay.client();
    let mut ask = |agent: &str| client.get_with("/", &[&format!("User-Agent: {agent}")]);
    assert_eq!(ask("A Mobile 1").text(), "mobile");
    assert_eq!(ask("B").text(), "desktop");
    let (again, other) = (ask("C Mobile"), ask("D"));
    assert!(again.is_hit() && other.is_hit());
    assert_eq!(
        (again.text(), other.text()),
        ("mobile".into(), "desktop".into())
    );
    assert_eq!(origin.count(), 2);
}

#[test]
fn responses_are_changed_whether_they_come_from_cache_or_origin() {
    let origin = Origin::fixed(reply(
        200,
        &[
            "Cache-Control: max-age=60",
            "Server: secret",
            "X-Powered-By: x",
            "ETag: \"1\"",
        ],
        "hello",
    ));
    let forebay = with_site(
        &origin,
        "set_response_headers = { Strict-Transport-Security = \"max-age=1\", X-Client = \"{header.x-id}\" }\n\
         add_response_headers = { Cache-Control = \"private\" }\nremove_response_headers = [\"Server\", \"X-Powered-*\"]\n",
    );
    let mut client = forebay.client();
    for (number, method) in ["GET", "GET", "HEAD", "POST"].into_iter().enumerate() {
        let id = format!("X-Id: {number}");
        let fields: &[&str] = &[&id];
        let answer = client.exchange(method, "/", fields, "");
        assert_eq!(answer.status, 200, "{method}");
        assert_eq!(answer.field("strict-transport-security"), Some("max-age=1"));
        assert_eq!(answer.field("x-client"), Some(number.to_string().as_str()));
        assert_eq!(
            (answer.field("server"), answer.field("x-powered-by")),
            (None, None)
        );
        assert_eq!(answer.number("content-length"), Some(5));
    }
    let same = client.get_with("/", &["If-None-Match: \"1\"", "X-Id: z"]);
    assert_eq!((same.status, same.field("x-client")), (304, Some("z")));
    let part = client.get_with("/", &["Range: bytes=1-2"]);
    assert_eq!((part.status, part.text().as_str()), (206, "el"));
    assert_eq!(part.field("content-range"), Some("bytes 1-2/5"));
    assert_eq!(part.field("server"), None);
}

#[test]
fn a_glob_for_everything_leaves_the_framing_alone() {
    let origin = Origin::fixed(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: 1\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    );
    let forebay = with_site(&origin, "remove_response_headers = [\"*\"]\n");
    let mut client = forebay.client();
    for _ in 0..2 {
        let answer = client.get("/");
        assert_eq!((answer.text().as_str(), answer.field("x-a")), ("abc", None));
    }
}

#[test]
fn errors_have_the_operators_pages() {
    let origin = Origin::start(|request, connection| {
        let status = request
            .target
            .trim_start_matches('/')
            .parse()
            .unwrap_or(200);
        let fields = match status {
            401 => "WWW-Authenticate: Basic realm=\"theirs\"",
            _ => "Cache-Control: max-age=60",
        };
        connection.send(reply(status, &[fields], "from the origin"));
    });
    let directory = tempfile::tempdir().unwrap();
    let page = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let pages = format!(
        "error_pages = {{ 401 = {:?}, 404 = {:?}, 5xx = {:?} }}\nintercept_errors = true\n",
        page("401.txt", "who are you?"),
        page("404.html", "<p>not here</p>"),
        page("50x.txt", "down"),
    );
    let forebay = with_site(&origin, &pages);
    let mut client = forebay.client();
    for _ in 0..2 {
        let missing = client.get("/404");
        assert_eq!(
            (missing.status, missing.text().as_str()),
            (404, "<p>not here</p>")
        );
        assert_eq!(
            missing.field("content-type"),
            Some("text/html; charset=utf-8")
        );
    }
    assert_eq!(client.get("/503").text(), "down");
    let challenged = client.get("/401");
    assert_eq!(
        challenged.field("www-authenticate"),
        Some("Basic realm=\"theirs\"")
    );
    assert_eq!(challenged.text(), "who are you?");
    assert_eq!(
        client
            .exchange("HEAD", "/503", &[], "")
            .number("content-length"),
        Some(4)
    );
    assert_eq!(client.get("/403").text(), "from the origin");
    assert_eq!(client.get("/200").text(), "from the origin");
    // Errors of Forebay's own.
    drop(origin);
    let own = forebay.get("/other");
    assert_eq!((own.status, own.text().as_str()), (502, "down"));
}

#[test]
fn a_body_may_be_larger_or_smaller_than_elsewhere() {
    let origin = Origin::fixed(reply(200, &[], "ok"));
    let config = Config::to(&origin).set("limits", "request_body = 10").append(
        "[site.a]\npool = \"app\"\n[[site.a.path]]\nmatch = \"/upload\"\nrequest_body = \"1KiB\"\n\
         [[site.a.path]]\nmatch = \"/small\"\nrequest_body = 2\n",
    );
    let forebay = Forebay::start(&config);
    let ask = |target: &str, bytes: usize| {
        forebay
            .exchange("POST", target, &[], &"x".repeat(bytes))
            .status
    };
    assert_eq!((ask("/", 10), ask("/", 11)), (200, 413));
    assert_eq!((ask("/upload", 1024), ask("/upload", 1025)), (200, 413));
    assert_eq!((ask("/small", 2), ask("/small", 3)), (200, 413));
    let chunked = "POST /small HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    assert_eq!(forebay.client().send(chunked).read().status, 413);
}
