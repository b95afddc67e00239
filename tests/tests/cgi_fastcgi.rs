//! FastCGI spoken to an application by hand: cuts, rejections, deaths, kept connections.

use forebay_tests::fastcgi::{answer, end, record, stdout};
use forebay_tests::{Config, Connection, FastCgiRequest, Forebay, Origin};

fn config(origin: &Origin) -> Config {
    Config::to(origin).set("pool.app", "protocol = \"fastcgi\"")
}

/// An application that answers as `script` says, as often as it is asked.
fn application(
    script: impl Fn(&FastCgiRequest, &mut Connection) + Send + Sync + 'static,
) -> (Origin, Forebay) {
    let origin = Origin::raw(move |connection| {
        while let Ok(request) = FastCgiRequest::read(connection) {
            script(&request, connection);
        }
    });
    let forebay = Forebay::start(&config(&origin));
    (origin, forebay)
}

const PAGE: &str = "Content-Type: text/plain\r\n\r\nhello";

#[test]
fn without_a_root_the_application_gets_the_whole_path() {
    let (_origin, forebay) = application(|request, connection| {
        let text = format!(
            "{}|{}|{}|{}",
            request.param("SCRIPT_NAME"),
            request.param("PATH_INFO"),
            request.params.contains_key("SCRIPT_FILENAME"),
            request.keep
        );
        connection.send(answer(format!("A: b\n\n{text}")));
    });
    assert_eq!(
        forebay.get("/a%20b/c.php/d?e").text(),
        "|/a b/c.php/d|false|true"
    );
}

#[test]
fn an_application_gets_the_host_that_its_pool_says() {
    let origin = Origin::raw(|connection| {
        while let Ok(request) = FastCgiRequest::read(connection) {
            let names = [
                "HTTP_HOST",
                "SERVER_NAME",
                "SERVER_PORT",
                "HTTP_X_FORWARDED_HOST",
            ];
            let told: Vec<&str> = names.iter().map(|name| request.param(name)).collect();
            connection.send(answer(format!("A: b\n\n{}", told.join("|"))));
        }
    });
    let server = origin.server();
    let port = server.rsplit(':').next().unwrap();
    for (host, told) in [
        ("client", "shop.example:81|shop.example|81|".to_owned()),
        (
            "app.example",
            "app.example|app.example|80|shop.example:81".to_owned(),
        ),
        (
            "app.example:82",
            "app.example:82|app.example|82|shop.example:81".to_owned(),
        ),
        (
            "server",
            format!("{server}|127.0.0.1|{port}|shop.example:81"),
        ),
    ] {
        let forebay = Forebay::start(&config(&origin).set("pool.app", &format!("host = {host:?}")));
        let mut client = forebay.client();
        client.send("GET / HTTP/1.1\r\nHost: shop.example:81\r\nX-Forwarded-Host: evil\r\n\r\n");
        assert_eq!(client.read().text(), told, "{host}");
    }
}

#[test]
fn responses_cut_anywhere_are_whole() {
    let (_origin, forebay) = application(|request, connection| {
        let response = [
            stdout("Status: 404 Gone\r\nContent-"),
            record(7, "a complaint\n"),
            stdout("Type: text/plain\r\n\r\nfirst "),
            stdout("second"),
            stdout(""),
            end(0),
        ]
        .concat();
        let cut = request.param("QUERY_STRING").parse::<usize>().unwrap_or(0);
        for piece in response.chunks(cut.max(1)) {
            connection.send(piece);
        }
    });
    let mut client = forebay.client();
    for cut in [1, 2, 3, 5, 7, 8, 9, 16, 31, 64, 200] {
        let answer = client.get(&format!("/?{cut}"));
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (404, "first second"),
            "{cut}"
        );
        assert_eq!(answer.field("content-type"), Some("text/plain"));
    }
    forebay.wait_for_output("a complaint");
}

#[test]
fn uploads_come_in_records_and_end() {
    let (_origin, forebay) = application(|request, connection| {
        let whole = request.body == "0123456789".repeat(100_000).as_bytes();
        let length = request.param("CONTENT_LENGTH");
        connection.send(answer(format!(
            "A: b\r\n\r\n{length} {whole} {}",
            request.stdin_records > 10
        )));
    });
    let answer = forebay.exchange("POST", "/", &[], &"0123456789".repeat(100_000));
    assert_eq!(answer.text(), "1000000 true true");
}

#[test]
fn an_expectation_is_met_by_us() {
    let (_origin, forebay) = application(|request, connection| {
        connection.send(answer(format!("A: b\r\n\r\n{}", request.body.len())));
    });
    let mut client = forebay.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
    assert_eq!(client.read_any_head().status, 100);
    client.send("body");
    assert_eq!(client.read().text(), "4");
}

#[test]
fn an_overloaded_application_is_503() {
    let (_origin, forebay) = application(|_, connection| connection.send(end(2)));
    assert_eq!(forebay.exchange("POST", "/", &[], "x").status, 503);
}

#[test]
fn what_is_not_a_response_is_502() {
    let cases: [Vec<u8>; 7] = [
        end(0),
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec(),
        answer("no head here\r\n\r\n"),
        answer("Status: 100 Continue\r\n\r\n"),
        answer("A: b\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx"),
        [&[1, 6, 0, 2, 0, 1, 0, 0, b'x'][..], &end(0)].concat(),
        [
            stdout(format!("A: {}", "x".repeat(60_000))),
            answer(format!("{}\r\n\r\n", "x".repeat(9_000))),
        ]
        .concat(),
    ];
    let count = cases.len();
    let (_origin, forebay) = application(move |request, connection| {
        let case = request.param("QUERY_STRING").parse::<usize>().unwrap_or(0);
        connection.send(&cases[case]);
    });
    for case in 0..count {
        assert_eq!(
            forebay
                .exchange("POST", &format!("/?{case}"), &[], "x")
                .status,
            502,
            "{case}"
        );
    }
}

#[test]
fn a_response_that_breaks_off_is_not_taken_for_whole() {
    let (_origin, forebay) = application(|request, connection| {
        let head = match request.param("QUERY_STRING") {
            "length" => "Content-Length: 100\r\n\r\nhalf",
            _ => "A: b\r\n\r\nhalf",
        };
        connection.send(stdout(head));
        if request.param("QUERY_STRING") == "length" {
            connection.send(end(0));
        }
        connection.close();
    });
    for target in ["/?length", "/?close"] {
        let mut client = forebay.client();
        client.send_request("POST", target, &[], "x");
        assert!(client.try_read().is_err(), "{target}");
    }
}

#[test]
fn a_length_that_lies_neither_hangs_nor_smuggles() {
    let (origin, forebay) = application(|request, connection| {
        connection.send(match request.param("QUERY_STRING") {
            "short" => answer("Content-Length: 3\r\n\r\nabcHTTP/1.1 200 OK\r\n\r\nsmuggled"),
            "chunked" => {
                answer("Transfer-Encoding: chunked\r\nConnection: x\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
            }
            _ => answer(PAGE),
        });
    });
    let mut client = forebay.client();
    assert_eq!(client.get("/?short").text(), "abc");
    assert_eq!(client.get("/?plain").text(), "hello");
    let chunked = client.get("/?chunked");
    assert_eq!(
        chunked.text(),
        "3\r\nabc\r\n0\r\n\r\n",
        "CGI knows no transfer codings"
    );
    assert_eq!(client.get("/?plain").text(), "hello");
    assert_eq!(origin.connections(), 1);
}

#[test]
fn work_behind_the_answer_delays_nobody_and_the_connection_is_kept() {
    let (origin, forebay) = application(|request, connection| {
        let mut answer = stdout("Content-Length: 5\r\n\r\nhello");
        // The end of the first comes only when the client has asked for something else.
        if request.param("QUERY_STRING") != "first" {
            answer.extend(end(0));
        }
        connection.send(answer);
    });
    let mut client = forebay.client();
    assert_eq!(client.get("/?first").text(), "hello");
    assert_eq!(client.get("/?second").text(), "hello");
    assert_eq!(origin.connections(), 2);
    assert_eq!(client.get("/?third").text(), "hello");
    assert_eq!(origin.connections(), 2);
}

#[test]
fn a_kept_connection_that_died_is_replaced_unnoticed() {
    let (origin, forebay) = application(|_, connection| {
        connection.send(answer(PAGE));
    });
    let mut client = forebay.client();
    for _ in 0..5 {
        assert_eq!(client.get("/").text(), "hello");
        origin.close_connections();
    }
}

#[test]
fn head_and_conditions_keep_the_connection() {
    let (origin, forebay) = application(|request, connection| {
        connection.send(match request.param("QUERY_STRING") {
            "304" => answer("Status: 304\r\nETag: \"x\"\r\n\r\n"),
            "204" => answer("Status: 204\r\n\r\nbut a body all the same"),
            _ => answer(PAGE),
        });
    });
    let mut client = forebay.client();
    for _ in 0..3 {
        assert_eq!(client.exchange("HEAD", "/", &[], "").status, 200);
        assert_eq!(
            client.get_with("/?304", &["If-None-Match: \"x\""]).status,
            304
        );
        assert_eq!(client.get("/?204").status, 204);
        assert_eq!(client.get("/").text(), "hello");
    }
    assert_eq!(origin.connections(), 1);
}
