//! Listening addresses with a certificate: visitors by https, back ends that join by TLS.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use forebay_tests::app::until;
use forebay_tests::site::{self_signed, signed_client};
use forebay_tests::{Address, Forebay, Origin, program, reply};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// A server with a plain address and one with a certificate for `localhost`.
struct Secure {
    forebay: Forebay,
    files: TempDir,
}

impl Secure {
    /// `tls`: more settings of the second address; `rest`: everything else.
    fn start(tls: impl FnOnce(&Path) -> String, rest: &str) -> Self {
        let files = tempfile::tempdir().unwrap();
        let (certificate, key) = self_signed(files.path(), &["localhost"]);
        let text = format!(
            "[[listen]]\naddress = \"127.0.0.2:0\"\n\
             [[listen]]\naddress = \"127.0.0.1:0\"\ncertificate = {certificate:?}\nkey = {key:?}\n{}\
             [server]\nworkers = 2\n[admin]\naddress = \"127.0.0.1:0\"\n{rest}",
            tls(files.path())
        );
        let forebay = Forebay::start_text(&text);
        Self { forebay, files }
    }

    /// In front of this origin.
    fn before(origin: &Origin, more: &str) -> Self {
        Self::start(|_| String::new(), &site(origin, more))
    }

    fn port(&self) -> u16 {
        match &self.forebay.addresses[1] {
            Address::Tcp(address) => address.port(),
            Address::Unix(_) => unreachable!("it is TCP"),
        }
    }

    fn certificate(&self) -> PathBuf {
        self.files.path().join("cert.pem")
    }

    /// curl on these paths of the address with the certificate, which is trusted.
    fn curl(&self, arguments: &[&str], paths: &[&str]) -> Output {
        let port = self.port();
        let mut command = Command::new("curl");
        command.args(["-sS", "-4", "--max-time", "20"]);
        command
            .arg("--cacert")
            .arg(self.certificate())
            .args(arguments);
        let urls = paths
            .iter()
            .map(|path| format!("https://localhost:{port}{path}"));
        command.args(urls).output().expect("curl is installed")
    }

    /// What curl got.
    #[track_caller]
    fn got(&self, arguments: &[&str], paths: &[&str]) -> Vec<u8> {
        let output = self.curl(arguments, paths);
        assert!(output.status.success(), "{output:?}");
        output.stdout
    }
}

fn site(origin: &Origin, more: &str) -> String {
    format!(
        "[pool.app]\nservers = [\"{}\"]\n[site.all]\npool = \"app\"\n{more}",
        origin.server()
    )
}

/// Says how the client came, as the origin is told.
fn told() -> Origin {
    Origin::start(|request, connection| {
        let of = |name| request.field(name).unwrap_or("-").to_owned();
        let said = format!("{} {}", of("X-Forwarded-Proto"), of("Forwarded"));
        connection.send(reply(200, &["Cache-Control: no-store"], &said));
    })
}

#[test]
fn a_visitor_by_https_is_served_and_the_origin_is_told() {
    let origin = told();
    let secure = Secure::before(&origin, "");
    let text = String::from_utf8(secure.got(&["--http1.1"], &["/"])).unwrap();
    assert!(text.starts_with("https "), "{text}");
    assert!(text.contains(";proto=https"), "{text}");
    let plain = secure.forebay.get("/").text();
    assert!(
        plain.starts_with("http ") && plain.contains(";proto=http"),
        "{plain}"
    );
    assert!(!plain.contains("https"), "{plain}");
    // One that may speak HTTP/2 is told that it is HTTP/1.1 here.
    let version = secure.got(
        &["--http2", "-o", "/dev/null", "-w", "%{http_version}"],
        &["/"],
    );
    assert_eq!(version, b"1.1");
}

#[test]
fn what_came_by_https_is_stored_apart() {
    let origin = Origin::start(|request, connection| {
        let proto = request.field("X-Forwarded-Proto").unwrap_or("-");
        connection.send(reply(200, &["Cache-Control: max-age=60"], proto));
    });
    let secure = Secure::before(&origin, "");
    let port = secure.port();
    // As it is with both at their own ports: the same host for either.
    let host = "Host: shop.example";
    for (target, hosts) in [
        ("/a", [host, host]),
        ("/b", ["Host: shop.example:443", host]),
    ] {
        for host in hosts {
            assert_eq!(secure.got(&["-H", host], &[target]), b"https", "{port}");
        }
        assert_eq!(secure.forebay.get_with(target, &[host]).text(), "http");
    }
    assert_eq!(origin.count(), 4, "the second time it was a hit");
}

#[test]
fn what_is_whole_ends_as_tls_ends() {
    let origin = Origin::start(|_, connection| {
        connection.send("HTTP/1.1 200 OK\r\n\r\nuntil it closes");
        connection.close();
    });
    let secure = Secure::before(&origin, "");
    let requests = [
        "GET / HTTP/1.0\r\nHost: localhost\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    ];
    for request in requests {
        let mut client = Command::new("openssl")
            .args([
                "s_client",
                "-quiet",
                "-connect",
                &format!("localhost:{}", secure.port()),
            ])
            .arg("-CAfile")
            .arg(secure.certificate())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("openssl is installed");
        // Its input stays open: it ends because the server says that it has.
        let mut input = client.stdin.take().unwrap();
        input.write_all(request.as_bytes()).unwrap();
        let output = client.wait_with_output().unwrap();
        drop(input);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            String::from_utf8_lossy(&output.stdout).contains("until it closes"),
            "{output:?}"
        );
        assert!(!said.contains("unexpected eof"), "{said}");
    }
}

#[test]
fn hits_and_bodies_of_any_size_pass_on_one_connection() {
    let large: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    let body = large.clone();
    let origin = Origin::start(move |request, connection| {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nCache-Control: max-age=60\r\n\r\n",
            if request.body.is_empty() {
                body.len()
            } else {
                request.body.len()
            }
        );
        connection.send(head);
        match request.body.is_empty() {
            true => connection.send(&body[..]),
            false => connection.send(&request.body[..]),
        };
    });
    let secure = Secure::before(&origin, "");
    let connects = ["-w", "%{num_connects}"];
    let got = secure.got(&connects, &["/large", "/large", "/large"]);
    let expected = [&large[..], b"1", &large, b"0", &large, b"0"].concat();
    assert!(got == expected, "{} of {} bytes", got.len(), expected.len());
    let part = secure.got(&["-r", "1000000-1999999"], &["/large"]);
    assert!(part == large[1_000_000..2_000_000]);
    let file = secure.files.path().join("upload");
    std::fs::write(&file, &large).unwrap();
    let upload = format!("@{}", file.display());
    let echo = secure.got(&["-H", "Expect:", "--data-binary", &upload], &["/echo"]);
    assert!(echo == large, "{} bytes", echo.len());
    assert!(origin.count() <= 2, "the rest were hits");
}

#[test]
fn files_are_sent_through_tls() {
    let root = tempfile::tempdir().unwrap();
    let large: Vec<u8> = (0..1_500_000_u32).map(|n| (n % 241) as u8).collect();
    std::fs::write(root.path().join("large.bin"), &large).unwrap();
    let rest = format!("[site.all]\nroot = {:?}\n", root.path());
    let secure = Secure::start(|_| String::new(), &rest);
    let slowly = ["--limit-rate", "3M"];
    assert!(secure.got(&slowly, &["/large.bin"]) == large);
    assert!(secure.got(&["-r", "-1000"], &["/large.bin"]) == large[large.len() - 1000..]);
}

#[test]
fn who_does_not_speak_tls_is_not_served() {
    let origin = told();
    let secure = Secure::before(&origin, "[timeouts]\nrequest_head = \"1s\"\n");
    let connect = || TcpStream::connect(("127.0.0.1", secure.port())).unwrap();
    let answer = |mut stream: TcpStream| {
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        answer
    };
    let plain = connect();
    (&plain)
        .write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    let said = answer(plain);
    assert!(!said.starts_with(b"HTTP/"), "{said:?}");
    // One that says nothing at all is not kept for longer than for a request's head.
    assert_eq!(answer(connect()), b"");
    secure
        .forebay
        .wait_for_metric("forebay_tls_failed_total", 2.0);
    assert_eq!(origin.count(), 0);
}

#[test]
fn a_client_that_only_begins_takes_a_place_of_its_own() {
    let origin = told();
    let secure = Secure::before(&origin, "[limits]\nclient_connections = 1\n");
    let silent = TcpStream::connect(("127.0.0.1", secure.port())).unwrap();
    let refused = "forebay_client_connections_refused_total";
    until("it is counted", || {
        !secure.curl(&[], &["/"]).status.success()
    });
    assert!(secure.forebay.metric(refused) >= Some(1.0));
    drop(silent);
    until("its place is free", || {
        secure.curl(&[], &["/"]).status.success()
    });
}

#[test]
fn a_reload_shows_a_renewed_certificate_and_refuses_a_wrong_one() {
    let origin = told();
    let secure = Secure::before(&origin, "");
    secure.got(&[], &["/"]);
    let renewed = tempfile::tempdir().unwrap();
    let (certificate, key) = self_signed(renewed.path(), &["localhost"]);
    let before = std::fs::read(secure.certificate()).unwrap();
    // Half of it: the key does not fit.
    std::fs::copy(&certificate, secure.certificate()).unwrap();
    let said = secure.forebay.command(&["reload"]);
    assert_eq!(said.status, 1, "{said:?}");
    assert!(said.stderr.contains("[[listen]] 127.0.0.1:0"), "{said:?}");
    std::fs::write(secure.certificate(), &before).unwrap();
    secure.got(&[], &["/"]);
    std::fs::copy(&certificate, secure.certificate()).unwrap();
    std::fs::copy(&key, secure.files.path().join("key.pem")).unwrap();
    let said = secure.forebay.command(&["reload"]);
    assert_eq!(said.status, 0, "{said:?}");
    secure.got(&[], &["/"]);
    std::fs::write(secure.certificate(), &before).unwrap();
    assert!(
        !secure.curl(&[], &["/"]).status.success(),
        "the old one is not shown any more"
    );
}

#[test]
fn without_a_certificate_of_the_clients_authority_nobody_gets_in() {
    let origin = told();
    let clients = tempfile::tempdir().unwrap();
    let secure = Secure::start(
        |_| {
            let (authority, _) = self_signed(clients.path(), &["clients"]);
            format!("client_ca = {authority:?}\n")
        },
        &site(&origin, ""),
    );
    assert!(!secure.curl(&[], &["/"]).status.success());
    let [cert, key] = signed_client(clients.path());
    secure.got(&["--cert", &cert, "--key", &key], &["/"]);
}

/// A running `forebay join`; killed when dropped.
struct Joiner(Child);

impl Joiner {
    /// To the address with a certificate, which bears the name `localhost`.
    fn start(edge: &Secure, origin: &Origin, more: &[&str]) -> Self {
        let child = Command::new(program::path())
            .args(["join", &format!("https://localhost:{}", edge.port())])
            .args(["--pool", "app", "--name", "web-1", "--token", "secret"])
            .args(["--local", &origin.server()])
            .args(more)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        Self(child.unwrap())
    }

    /// Waits until it says this.
    ///
    /// # Panics
    /// When it ends before.
    #[track_caller]
    fn says(&mut self, words: &str) {
        let stderr = self.0.stderr.take().unwrap();
        let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
        assert!(
            lines.any(|line| line.contains(words)),
            "it does not say {words:?}"
        );
    }
}

impl Drop for Joiner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const JOINED: &str =
    "[pool.app]\njoin_tokens = [\"secret\"]\n[site.all]\npool = \"app\"\npass = true\n";

#[test]
fn a_back_end_joins_by_tls_and_bodies_of_any_size_pass() {
    let origin = Origin::start(|request, connection| {
        connection.send(reply(200, &[], &"x".repeat(request.body.len().max(1))));
    });
    let edge = Secure::start(|_| String::new(), JOINED);
    let ca = edge.certificate().display().to_string();
    let mut joiner = Joiner::start(&edge, &origin, &["--ca", &ca]);
    edge.forebay.wait_for_output("join:web-1 has joined");
    for size in [1, 3_000_000, 2, 100_000] {
        let response = edge.forebay.exchange("POST", "/", &[], &"u".repeat(size));
        assert_eq!((response.status, response.text().len()), (200, size));
    }
    // From end to end.
    assert_eq!(edge.got(&[], &["/"]), b"x");
    kill_process(Pid::from_child(&joiner.0), Signal::TERM).unwrap();
    edge.forebay
        .wait_for_output("join:web-1 is out: it has left");
    assert!(joiner.0.wait().unwrap().success());
}

#[test]
fn a_back_end_does_not_tell_its_token_to_an_edge_it_does_not_trust() {
    let origin = told();
    let edge = Secure::start(|_| String::new(), JOINED);
    let others = tempfile::tempdir().unwrap();
    let (other, _) = self_signed(others.path(), &["localhost"]);
    let ca = other.display().to_string();
    let mut joiner = Joiner::start(&edge, &origin, &["--ca", &ca]);
    joiner.says("invalid peer certificate");
    drop(joiner);
    assert!(!edge.forebay.output().contains("has joined"));
    let anyone = Joiner::start(&edge, &origin, &["--insecure"]);
    edge.forebay.wait_for_output("join:web-1 has joined");
    drop(anyone);
}

#[test]
fn an_edge_may_ask_back_ends_for_a_certificate() {
    let origin = told();
    let clients = tempfile::tempdir().unwrap();
    let asks = |_: &Path| {
        let (authority, _) = self_signed(clients.path(), &["clients"]);
        format!("client_ca = {authority:?}\n")
    };
    let edge = Secure::start(asks, JOINED);
    let ca = edge.certificate().display().to_string();
    let nobody = Joiner::start(&edge, &origin, &["--ca", &ca]);
    edge.forebay
        .wait_for_metric("forebay_tls_failed_total", 1.0);
    drop(nobody);
    assert!(!edge.forebay.output().contains("has joined"));
    let [cert, key] = signed_client(clients.path());
    let _known = Joiner::start(
        &edge,
        &origin,
        &["--ca", &ca, "--cert", &cert, "--key", &key],
    );
    edge.forebay.wait_for_output("join:web-1 has joined");
    assert_eq!(edge.forebay.get("/").status, 200);
}

#[test]
fn options_of_tls_are_for_edges_with_tls() {
    let output = Command::new(program::path())
        .args(["join", "edge.example:80", "--insecure", "--pool", "app"])
        .args(["--local", "127.0.0.1:1", "--token", "secret"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("https://"));
}
