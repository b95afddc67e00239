//! A WSGI application on a real uWSGI, by uwsgi, SCGI and FastCGI.

use forebay_tests::{Config, Forebay, Uwsgi};

const APPLICATION: &str = "
import time
def application(environ, start_response):
    path = environ['PATH_INFO']
    if path == '/echo':
        body = environ['wsgi.input'].read(int(environ.get('CONTENT_LENGTH') or 0))
        start_response('201 Made', [('Content-Type', 'text/plain'), ('X-Length', str(len(body)))])
        return [body]
    if path == '/big':
        start_response('200 OK', [('Content-Type', 'text/plain')])
        return (b'0123456789abcdef' * 1024 for _ in range(500))
    if path == '/gone':
        start_response('410 Gone', [('Content-Length', '4')])
        return [b'gone']
    if path == '/away':
        start_response('302 Found', [('Location', 'http://other.example/')])
        return [b'']
    if path == '/cached':
        start_response('200 OK', [('Cache-Control', 'max-age=60')])
        return [str(time.perf_counter_ns()).encode()]
    start_response('200 OK', [('Content-Type', 'text/plain')])
    names = ['REQUEST_METHOD', 'SCRIPT_NAME', 'PATH_INFO', 'QUERY_STRING', 'SERVER_NAME',
             'SERVER_PORT', 'REMOTE_ADDR', 'HTTP_HOST', 'HTTP_X_A', 'HTTP_PROXY', 'wsgi.url_scheme']
    return ['|'.join(str(environ.get(name, '-')) for name in names).encode()]
";

fn each_protocol(story: impl Fn(&str, &Forebay)) {
    for protocol in ["uwsgi", "scgi", "fastcgi"] {
        let uwsgi = Uwsgi::start(protocol, APPLICATION);
        // uWSGI closes FastCGI connections after an answer; what may not be repeated must not meet
        // one that is about to be closed.
        let config = Config::new(&[&uwsgi.server()])
            .set("pool.app", &format!("protocol = {protocol:?}"))
            .set("pool.app", "idle_connections = 0");
        story(protocol, &Forebay::start(&config));
    }
}

#[test]
fn requests_arrive_and_answers_come_back() {
    each_protocol(|protocol, forebay| {
        let mut client = forebay.client();
        let told = client
            .get_with("/a%20b?c=d", &["X-A: 1", "Proxy: evil"])
            .text();
        assert_eq!(
            told, "GET||/a b|c=d|test.example|80|127.0.0.1|test.example|1|-|http",
            "{protocol}"
        );
        let gone = client.get("/gone");
        assert_eq!(
            (gone.status, gone.text().as_str()),
            (410, "gone"),
            "{protocol}"
        );
        assert_eq!(client.get("/away").status, 302, "{protocol}");
        assert_eq!(
            client.exchange("HEAD", "/gone", &[], "").status,
            410,
            "{protocol}"
        );
        let big = client.get("/big");
        assert_eq!(big.body.len(), 16 * 1024 * 500, "{protocol}");
    });
}

#[test]
fn uploads_with_and_without_a_length_arrive_whole() {
    each_protocol(|protocol, forebay| {
        let body = "0123456789".repeat(100_000);
        let mut client = forebay.client();
        let made = client.exchange("POST", "/echo", &[], &body);
        assert_eq!(
            (made.status, made.field("x-length")),
            (201, Some("1000000")),
            "{protocol}"
        );
        assert!(made.body == body.as_bytes(), "{protocol}");
        client.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
        for _ in 0..100 {
            client.send(format!("2710\r\n{}\r\n", &body[..10_000]));
        }
        client.send("0\r\n\r\n");
        let made = client.read();
        assert!(
            made.body == body.as_bytes(),
            "{protocol}: {} bytes",
            made.body.len()
        );
    });
}

#[test]
fn answers_are_cached_like_any_other() {
    each_protocol(|protocol, forebay| {
        let first = forebay.get("/cached").text();
        assert_eq!(forebay.get("/cached").text(), first, "{protocol}");
    });
}
