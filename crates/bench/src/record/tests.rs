//! The recorder between a client and a site, over real sockets.
#![allow(clippy::unwrap_used)]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use clap::Parser;

use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: RecordArgs,
}

/// A recorder, and what it runs for.
struct Recorder {
    address: SocketAddr,
    folder: Folder,
    done: std::thread::JoinHandle<Result<(), String>>,
}

/// A folder of its own that is removed.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("forebay-record-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Recorder {
    fn start(options: &[&str]) -> Self {
        let folder = Folder::new();
        let out = folder.0.join("site.toml");
        let fixed = [
            "record",
            "--out",
            out.to_str().unwrap(),
            "--listen",
            "127.0.0.1:0",
        ];
        let args = Line::parse_from(fixed.iter().chain(options)).args;
        let shared = Arc::new(shared(&args).unwrap());
        let listener = TcpListener::bind(args.listen).unwrap();
        let address = listener.local_addr().unwrap();
        let never = AtomicBool::new(false);
        let done = std::thread::spawn(move || record(&args, listener, &shared, &never));
        Self {
            address,
            folder,
            done,
        }
    }

    /// Waits for the end, and returns the scenario.
    fn text(self) -> String {
        self.done.join().unwrap().unwrap();
        std::fs::read_to_string(self.folder.0.join("site.toml")).unwrap()
    }
}

/// A site that answers the connections one after the other, each one request, and returns what it got.
fn site(answers: Vec<Vec<u8>>) -> (SocketAddr, std::thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = move || {
        let mut seen = Vec::new();
        for answer in answers {
            let (mut socket, _) = listener.accept().unwrap();
            seen.push(request(&mut socket));
            socket.write_all(&answer).unwrap();
        }
        seen
    };
    (address, std::thread::spawn(serve))
}

/// Reads one request with a `Content-Length` or none.
fn request(socket: &mut TcpStream) -> String {
    let (mut text, mut byte) = (String::new(), [0]);
    loop {
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("Content-Length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return text;
            }
        }
        assert_eq!(socket.read(&mut byte).unwrap(), 1, "{text}");
        text.push(char::from(byte[0]));
    }
}

fn answer(head: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Sends a request on a connection of its own and returns all that comes back.
fn ask(address: SocketAddr, request: &str) -> String {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_forward_proxy_records_a_login_with_its_token() {
    let form = "<form><input type=\"hidden\" name=\"csrf\" value=\"a1b2c3d4e5\"></form>";
    let (site, seen) = site(vec![
        answer("200 OK\r\nContent-Type: text/html\r\nSet-Cookie: sid=1; Path=/", form),
        answer("302 Found\r\nLocation: /home", ""),
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n".to_vec(),
    ]);
    let recorder = Recorder::start(&["--requests", "3"]);
    let head = format!(
        "HTTP/1.1\r\nHost: {site}\r\nAccept: text/html\r\nAccept-Encoding: gzip\r\nConnection: close\r\n"
    );
    let page = ask(
        recorder.address,
        &format!("GET http://{site}/login {head}If-None-Match: \"1\"\r\n\r\n"),
    );
    assert!(
        page.starts_with("HTTP/1.1 200 OK\r\n") && page.ends_with(form),
        "{page}"
    );
    let body = "user=carol&csrf=a1b2c3d4e5";
    let sent = ask(
        recorder.address,
        &format!(
            "POST http://{site}/login {head}Content-Type: application/x-www-form-urlencoded\r\nCookie: sid=1\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        ),
    );
    assert!(sent.starts_with("HTTP/1.1 302"), "{sent}");
    let home = ask(
        recorder.address,
        &format!("GET http://{site}/home {head}Cookie: sid=1\r\n\r\n"),
    );
    assert!(home.ends_with("5\r\nhello\r\n0\r\n\r\n"), "{home}");

    let seen = seen.join().unwrap();
    assert!(seen[0].starts_with("GET /login HTTP/1.1\r\n"), "{seen:?}");
    assert!(
        seen[0].contains("Accept-Encoding: identity\r\n") && !seen[0].contains("If-None-Match")
    );
    assert!(
        seen[1].contains("Cookie: sid=1") && seen[1].ends_with(body),
        "{seen:?}"
    );

    let text = recorder.text();
    let scenario = forebay_workload::scenario::Scenario::parse(&text, "site.toml");
    let scenario = scenario.map_err(|errors| errors.to_string()).unwrap();
    assert_eq!(scenario.base, Some(format!("http://{site}")));
    let [login, post] = scenario.flow[0].step.as_slice() else {
        panic!("{text}");
    };
    assert_eq!(login.extract[0].variable, "csrf");
    assert_eq!(post.form.get("csrf").unwrap(), "${csrf}");
    assert_eq!(
        (post.follow, post.expect.status.as_slice()),
        (1, &["200".to_owned()][..])
    );
    assert!(!text.contains("sid"), "{text}");
}

#[test]
fn a_reverse_proxy_keeps_the_browser_and_speaks_the_sites_name() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let site = listener.local_addr().unwrap();
    let seen = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let first = request(&mut socket);
        let page = format!("<a href=\"http://{site}/next\">");
        let fields = format!(
            "200 OK\r\nContent-Type: text/html\r\nLink: <http://{site}/x>\r\nStrict-Transport-Security: max-age=1\r\n\
             Set-Cookie: __Host-a=1; Secure; Domain={site}; Path=/"
        );
        socket.write_all(&answer(&fields, &page)).unwrap();
        first
    });
    let recorder = Recorder::start(&[
        "--requests",
        "1",
        "--target",
        &format!("http://{site}/shop"),
    ]);
    let local = recorder.address;
    let page = ask(
        local,
        &format!(
            "GET /a?back=http%3A%2F%2F{} HTTP/1.1\r\nHost: {local}\r\nReferer: http://{local}/\r\n\
             Cookie: recorded-host-a=1\r\nConnection: close\r\n\r\n",
            local.to_string().replace(':', "%3A")
        ),
    );
    assert!(
        page.ends_with(&format!("<a href=\"http://{local}/next\">")),
        "{page}"
    );
    assert!(
        page.contains(&format!("Link: <http://{local}/x>\r\n")),
        "{page}"
    );
    assert!(
        page.contains("Set-Cookie: recorded-host-a=1; Path=/\r\n"),
        "{page}"
    );
    assert!(!page.contains("Strict-Transport-Security"), "{page}");
    let seen = seen.join().unwrap();
    let back = site.to_string().replace(':', "%3A");
    assert!(
        seen.starts_with(&format!("GET /a?back=http%3A%2F%2F{back} HTTP/1.1\r\n")),
        "{seen}"
    );
    assert!(seen.contains(&format!("Host: {site}\r\n")), "{seen}");
    assert!(
        seen.contains(&format!("Referer: http://{site}/\r\n")),
        "{seen}"
    );
    assert!(seen.contains("Cookie: __Host-a=1\r\n"), "{seen}");
    let text = recorder.text();
    assert!(
        text.contains(&format!("base = \"http://{site}\"")),
        "{text}"
    );
}

#[test]
fn a_tunnel_is_passed_through_and_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = listener.local_addr().unwrap();
    let echo = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut got = [0; 5];
        socket.read_exact(&mut got).unwrap();
        socket.write_all(&got).unwrap();
    });
    let (plain, seen) = site(vec![answer("204 No Content", "")]);
    let recorder = Recorder::start(&["--requests", "1"]);
    let got = ask_and_close(
        recorder.address,
        &format!("CONNECT {server} HTTP/1.1\r\nHost: {server}\r\n\r\nhello"),
    );
    assert_eq!(got, "HTTP/1.1 200 Connection established\r\n\r\nhello");
    echo.join().unwrap();
    ask(
        recorder.address,
        &format!("GET http://{plain}/ HTTP/1.1\r\nHost: {plain}\r\nConnection: close\r\n\r\n"),
    );
    seen.join().unwrap();
    let text = recorder.text();
    assert!(
        text.contains("# - 127.0.0.1 was spoken to under TLS"),
        "{text}"
    );
}

/// As [`ask`], with the end of what is sent made known.
fn ask_and_close(address: SocketAddr, request: &str) -> String {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.write_all(request.as_bytes()).unwrap();
    socket.shutdown(std::net::Shutdown::Write).unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn what_is_doubtful_is_refused_and_does_not_end_the_recording() {
    let (plain, seen) = site(vec![answer("200 OK", "x")]);
    let recorder = Recorder::start(&["--requests", "1"]);
    for (request, status) in [
        ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        ("GET http://x/ HTTP/1.1\nHost: x\n\n", 400),
        (
            "POST http://x/ HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            400,
        ),
        (
            "POST http://x/ HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n",
            413,
        ),
        ("CONNECT x HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        ("GET ftp://x/ HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        ("GET http://127.0.0.1:1/ HTTP/1.1\r\nHost: x\r\n\r\n", 502),
    ] {
        let refused = ask(recorder.address, request);
        assert!(
            refused.starts_with(&format!("HTTP/1.1 {status} ")),
            "{request}: {refused}"
        );
    }
    ask(
        recorder.address,
        &format!("GET http://{plain}/ HTTP/1.1\r\nHost: {plain}\r\nConnection: close\r\n\r\n"),
    );
    seen.join().unwrap();
    let text = recorder.text();
    assert!(text.contains("http://127.0.0.1:1/: no response"), "{text}");
}
