//! A request goes through and an answer comes back, by every plain way.

use std::process::Command;

use forebay_tests::{Address, Broken, Client, Config, Forebay, Origin, program, reply};
use rustix::process::Signal;

use crate::common::eventually;

#[test]
fn request_reaches_the_origin_and_its_answer_the_client() {
    let origin = Origin::fixed(reply(
        200,
        &["Content-Type: text/plain", "X-Origin: 1"],
        "hello",
    ));
    let forebay = Forebay::before(&origin);
    let response = forebay.get("/some/path?with=query");
    assert_eq!((response.status, response.text().as_str()), (200, "hello"));
    assert_eq!(response.version, "HTTP/1.1");
    assert_eq!(response.field("x-origin"), Some("1"));
    let request = origin.last();
    assert_eq!(
        (request.method.as_str(), request.target.as_str()),
        ("GET", "/some/path?with=query")
    );
    assert_eq!(request.field("host"), Some("test.example"));
}

#[test]
fn port_zero_is_reported_as_the_real_port() {
    let origin = Origin::fixed(reply(200, &[], ""));
    let forebay = Forebay::before(&origin);
    assert_ne!(forebay.addresses[0].port(), 0);
    assert_ne!(forebay.admin.as_ref().unwrap().port(), 0);
}

#[test]
fn origin_and_listen_on_the_command_line_need_no_file() {
    let origin = Origin::fixed(reply(200, &["Cache-Control: max-age=60"], "plain"));
    let forebay = Forebay::start_with("", |_| {
        let mut command = Command::new(program::path());
        command.args(["serve", "--origin", &format!("http://{}", origin.server())]);
        command.args([
            "--listen",
            "127.0.0.1:0",
            "--memory",
            "16MiB",
            "--ttl",
            "5m",
        ]);
        command
    });
    assert_eq!(forebay.get("/").text(), "plain");
    assert!(forebay.get("/").is_hit());
}

#[test]
fn origin_on_the_command_line_gets_the_host_that_is_said_there() {
    let origin = Origin::fixed(reply(200, &[], "plain"));
    let own = origin.server();
    let cases: &[(&[&str], &str)] = &[
        (&[], "test.example"),
        (&["--host", "client"], "test.example"),
        (&["--host", "server"], &own),
        (&["--host", "Shop.Example:81"], "shop.example:81"),
    ];
    for (options, host) in cases {
        let forebay = Forebay::start_with("", |_| {
            let mut command = Command::new(program::path());
            command.args(["serve", "--listen", "127.0.0.1:0", "--origin", &own]);
            command.args(*options);
            command
        });
        assert_eq!(forebay.get("/").status, 200);
        let request = origin.last();
        assert_eq!(request.field("host"), Some(*host), "{options:?}");
        let asked = Some("test.example");
        assert_eq!(request.field("x-forwarded-host"), asked, "{options:?}");
    }
}

#[test]
fn connection_is_kept_alive_by_default() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    for n in 0..10 {
        let response = client.get(&format!("/{n}"));
        assert_eq!(response.status, 200);
        assert!(
            !response.fields.lists("connection", "close"),
            "{response:?}"
        );
    }
    assert_eq!(origin.count(), 10);
}

#[test]
fn connection_close_of_the_client_is_honoured() {
    let origin = Origin::fixed(reply(200, &["Cache-Control: max-age=60"], "x"));
    let forebay = Forebay::before(&origin);
    for _ in ["miss", "hit"] {
        let mut client = forebay.client();
        let response = client.get_with("/", &["Connection: close"]);
        assert!(response.fields.lists("connection", "close"), "{response:?}");
        client.expect_close();
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let origin = Origin::start(|request, connection| {
        connection.send(reply(200, &["Cache-Control: max-age=60"], &request.target));
    });
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.get("/b");
    let request = |target| format!("GET {target} HTTP/1.1\r\nHost: test.example\r\n\r\n");
    // A hit between misses must not overtake them.
    client.send(["/a", "/b", "/c", "/b", "/a"].map(request).concat());
    for expected in ["/a", "/b", "/c", "/b", "/a"] {
        assert_eq!(client.read().text(), expected);
    }
}

#[test]
fn pipelined_request_behind_a_body_is_not_taken_for_the_body() {
    let origin =
        Origin::start(|request, connection| connection.send(reply(200, &[], &request.target)));
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.send(
        "POST /post HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbodyGET /get HTTP/1.1\r\nHost: a\r\n\r\n",
    );
    assert_eq!(client.read().text(), "/post");
    assert_eq!(client.read().text(), "/get");
    assert_eq!(origin.requests()[0].body, b"body");
}

#[test]
fn head_split_into_single_bytes_is_read_the_same() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.send_byte_by_byte("GET /slow HTTP/1.1\r\nHost: test.example\r\nX-A: b\r\n\r\n");
    assert_eq!(client.read().status, 200);
    assert_eq!(origin.last().field("x-a"), Some("b"));
}

#[test]
fn empty_line_before_a_request_is_ignored() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    // RFC 9112 section 2.2
    client.send("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.read().status, 200);
    client.send("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.read().status, 200);
}

#[test]
fn listener_on_a_unix_socket_serves() {
    let origin = Origin::fixed(reply(200, &[], "through a file"));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("front.sock");
    let listen = format!("unix:{}", path.display());
    let forebay = Forebay::start(&Config::to(&origin).listen(&[&listen, "127.0.0.1:0"]));
    assert_eq!(forebay.addresses[0], Address::Unix(path));
    assert_eq!(forebay.get("/").text(), "through a file");
    assert_eq!(
        Client::connect(&forebay.addresses[1]).get("/").text(),
        "through a file"
    );
}

#[test]
fn unix_listener_is_for_everybody_unless_the_file_says_otherwise_at_a_reload_too() {
    use std::os::unix::fs::PermissionsExt as _;
    let origin = Origin::fixed(reply(200, &[], "through a file"));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("front.sock");
    let listen = format!("unix:{}", path.display());
    let usual = Config::to(&origin).listen(&[&listen]).text();
    let address = format!("address = {listen:?}\n");
    assert!(usual.contains(&address), "{usual}");
    let closed = usual.replace(&address, &format!("{address}socket_mode = \"0600\"\n"));
    let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    let forebay = Forebay::start_text(&usual);
    assert_eq!(mode(), 0o666);
    forebay.write_config(&closed);
    forebay.signal(Signal::HUP);
    eventually(|| mode() == 0o600);
    drop(forebay);
    let forebay = Forebay::start_text(&closed);
    assert_eq!(mode(), 0o600);
    assert_eq!(forebay.get("/").text(), "through a file");
}

#[test]
fn file_where_a_unix_listener_should_be_is_not_removed() {
    let origin = Origin::fixed(reply(200, &[], ""));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("notes.txt");
    std::fs::write(&path, "mine").unwrap();
    let listen = format!("unix:{}", path.display());
    let config = Config::to(&origin).listen(&[&listen]);
    let mut forebay = Forebay::spawn_text(&config.text());
    assert_eq!(forebay.wait_exit().code(), Some(1));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
}

#[test]
fn origin_on_a_unix_socket_is_asked() {
    let directory = tempfile::tempdir().unwrap();
    let origin = Origin::unix(&directory.path().join("app.sock"), |_, connection| {
        connection.send(reply(200, &[], "from a file"));
    });
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    assert_eq!(client.get("/1").text(), "from a file");
    assert_eq!(client.get("/2").text(), "from a file");
    assert_eq!(origin.connections(), 1);
}

#[test]
fn sites_are_chosen_by_host_and_others_refused() {
    let one = Origin::fixed(reply(200, &[], "one"));
    let many = Origin::fixed(reply(200, &[], "many"));
    let config = Config::to(&one)
        .set("pool.many", &format!("servers = [\"{}\"]", many.server()))
        .set("site.one", "hosts = [\"one.example\"]")
        .set("site.one", "pool = \"app\"")
        .set("site.many", "hosts = [\"*.many.example\"]")
        .set("site.many", "pool = \"many\"");
    let forebay = Forebay::start(&config);
    let ask = |host: &str| forebay.get_with("/", &[&format!("Host: {host}")]);
    assert_eq!(ask("one.example").text(), "one");
    assert_eq!(ask("ONE.example:8080").text(), "one");
    assert_eq!(ask("a.many.example").text(), "many");
    assert_eq!(ask("a.b.many.example").text(), "many");
    // RFC 9110 section 7.4: not a host this server answers for.
    let stranger = ask("stranger.example");
    assert!(matches!(stranger.status, 404 | 421), "{stranger:?}");
    assert_eq!(one.count() + many.count(), 4);
}

#[test]
fn two_workers_serve_from_one_cache() {
    let origin = Origin::fixed(reply(200, &["Cache-Control: max-age=60"], "shared"));
    let forebay = Forebay::start(&Config::to(&origin).set("server", "workers = 2"));
    for _ in 0..40 {
        assert_eq!(forebay.get("/").text(), "shared");
    }
    assert_eq!(origin.count(), 1);
}

#[test]
fn client_that_ends_its_sending_still_gets_its_answer() {
    let origin = Origin::fixed(reply(200, &[], "for half a connection"));
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.send_request("GET", "/", &[], "").finish();
    assert_eq!(client.read().text(), "for half a connection");
    client.expect_close();
}

#[test]
fn client_that_connects_and_leaves_harms_nobody() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let mut forebay = Forebay::before(&origin);
    for n in 0..20 {
        let mut client = forebay.client();
        match n % 3 {
            0 => client.reset(),
            1 => drop(client),
            _ => drop(client.send("GET / HT")),
        }
    }
    assert_eq!(forebay.get("/").status, 200);
    assert!(forebay.is_running());
}

#[test]
fn answer_without_a_date_gets_one() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let forebay = Forebay::before(&origin);
    // RFC 9110 section 6.6.1
    let date = forebay
        .get("/")
        .field("date")
        .map(str::to_owned)
        .expect("a Date");
    assert!(date.ends_with(" GMT") && date.len() == 29, "{date}");
}

#[test]
fn dates_and_unknown_fields_of_the_origin_are_kept() {
    let date = "Sun, 06 Nov 1994 08:49:37 GMT";
    let origin = Origin::fixed(reply(
        200,
        &[
            &format!("Date: {date}"),
            "X-A: 1",
            "X-A: 2",
            "x-b:   spaced  ",
        ],
        "",
    ));
    let forebay = Forebay::before(&origin);
    let response = forebay.get("/");
    assert_eq!(response.fields.joined("date"), date);
    assert_eq!(response.fields.joined("x-a"), "1, 2");
    assert_eq!(response.field("x-b"), Some("spaced"));
}

#[test]
fn no_field_of_our_own_invention_is_added() {
    let origin = Origin::fixed(reply(200, &["Cache-Control: max-age=60"], "x"));
    let forebay = Forebay::before(&origin);
    let standard = [
        "cache-control",
        "content-length",
        "date",
        "age",
        "via",
        "cache-status",
        "connection",
    ];
    for _ in ["miss", "hit"] {
        for (name, value) in forebay.get("/").fields.0 {
            assert!(
                standard.contains(&name.to_ascii_lowercase().as_str()),
                "{name}: {value}"
            );
        }
    }
}

#[test]
fn reason_phrase_of_the_origin_survives() {
    let origin = Origin::fixed("HTTP/1.1 299 Very Special\r\nContent-Length: 0\r\n\r\n");
    let forebay = Forebay::before(&origin);
    let mut client = forebay.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let (bytes, end) = client.read_to_end();
    assert!(
        bytes.starts_with(b"HTTP/1.1 299 Very Special\r\n"),
        "{}",
        String::from_utf8_lossy(&bytes)
    );
    assert_eq!(end, Broken::Closed);
}
