//! Stores of sessions over TLS: who is served, and with which certificate.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use forebay_tests::site::{self_signed, signed_client};
use forebay_tests::{Address, Forebay, SessionClient, program};
use tempfile::TempDir;

/// A store with a certificate for `localhost`, and these settings more.
struct Secure {
    forebay: Forebay,
    certificate: PathBuf,
    directory: TempDir,
}

impl Secure {
    fn new(settings: impl FnOnce(&Path) -> String) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (certificate, key) = self_signed(directory.path(), &["localhost"]);
        let socket = directory.path().join("web.sock");
        let text = format!(
            "[server]\nworkers = 1\n[admin]\naddress = \"127.0.0.1:0\"\n[session.web]\n\
             address = [{:?}, \"127.0.0.1:0\"]\ncertificate = {certificate:?}\nkey = {key:?}\n{}",
            format!("unix:{}", socket.display()),
            settings(directory.path())
        );
        Self {
            forebay: Forebay::start_text(&text),
            certificate,
            directory,
        }
    }

    fn socket(&self) -> Address {
        Address::Unix(self.directory.path().join("web.sock"))
    }

    /// Runs an order over TCP, trusting the certificate that the store began with.
    fn order(&self, arguments: &[&str]) -> Output {
        let address = format!("localhost:{}", self.forebay.sessions[1].1.port());
        let mut command = session(arguments);
        command.args(["--tls", "--address", &address]);
        command.arg("--ca").arg(&self.certificate).output().unwrap()
    }
}

fn session(arguments: &[&str]) -> Command {
    let mut command = Command::new(program::path());
    command.arg("session").args(arguments);
    command.env_remove("FOREBAY_SESSION");
    command
}

#[track_caller]
fn is_ok(output: &Output) {
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn store_speaks_tls_over_tcp_and_none_on_its_socket() {
    let secure = Secure::new(|_| String::new());
    is_ok(&secure.order(&["set", "a", "one"]));
    let mut client = SessionClient::connect(&secure.socket());
    assert_eq!(client.get("a").as_deref(), Some("one"));
    let file = secure.forebay.config_file();
    let by_file = session(&["get", "a"]).arg("-c").arg(file).output().unwrap();
    is_ok(&by_file);
    assert_eq!(by_file.stdout, b"one");
    let mut plain = SessionClient::connect(&secure.forebay.sessions[1].1);
    plain.send(b"get a\r\n");
    assert_eq!(plain.read_until("END"), None, "it was served without TLS");
}

#[test]
fn command_shows_its_certificate_to_a_store_that_asks_for_one() {
    let (clients, strangers) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let secure = Secure::new(|_| {
        let (authority, _) = self_signed(clients.path(), &["clients"]);
        format!("client_ca = {authority:?}\n")
    });
    self_signed(strangers.path(), &["strangers"]);
    let set = |[cert, key]: &[String; 2]| {
        let code = secure.order(&["set", "a", "one", "--cert", cert, "--key", key]);
        code.status.code()
    };
    let client = signed_client(clients.path());
    assert_eq!(set(&signed_client(strangers.path())), Some(1));
    assert_eq!(secure.order(&["get", "a"]).status.code(), Some(1));
    assert_eq!(set(&client), Some(0));
    // Only the two together make sense.
    let half = secure.order(&["get", "a", "--cert", &client[0]]);
    assert_eq!(half.status.code(), Some(2));
}

#[test]
fn renewed_certificate_is_shown_after_a_reload_and_a_wrong_one_is_refused() {
    let secure = Secure::new(|_| String::new());
    is_ok(&secure.order(&["set", "a", "one"]));
    let renewed = tempfile::tempdir().unwrap();
    let (certificate, key) = self_signed(renewed.path(), &["localhost"]);
    let old_key = secure.certificate.with_file_name("key.pem");
    let trusted = renewed.path().join("trusted.pem");
    let both = [&secure.certificate, &certificate].map(|file| std::fs::read(file).unwrap());
    std::fs::write(&trusted, both.concat()).unwrap();
    let old_only = renewed.path().join("old.pem");
    std::fs::write(&old_only, &both[0]).unwrap();
    let reload = || secure.forebay.command(&["reload"]);
    let get = |ca: &Path| {
        let address = format!("localhost:{}", secure.forebay.sessions[1].1.port());
        let mut command = session(&["get", "a", "--tls", "--address", &address]);
        command.arg("--ca").arg(ca).output().unwrap()
    };
    // Half of it: the key does not fit.
    std::fs::copy(&certificate, &secure.certificate).unwrap();
    let said = reload();
    assert_eq!(said.status, 1, "{said:?}");
    assert!(said.stderr.contains("[session.web]"), "{said:?}");
    is_ok(&get(&old_only));
    std::fs::copy(&key, &old_key).unwrap();
    let said = reload();
    assert_eq!(said.status, 0, "{said:?}");
    assert!(!said.stdout.contains("restart"), "{said:?}");
    assert_eq!(get(&old_only).status.code(), Some(1));
    is_ok(&get(&certificate));
    is_ok(&get(&trusted));
}
