//! The command line as a user and a script meet it: what is printed where,
//! and the exit status.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::JoinHandle;

/// Runs the program to its end.
fn forebay(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_forebay"))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Status, and that it says `expected` on standard error and nothing else.
#[track_caller]
fn assert_fails(output: &Output, status: i32, expected: &[&str]) {
    let text = stderr(output);
    assert_eq!(output.status.code(), Some(status), "{text}");
    assert_eq!(stdout(output), "");
    for part in expected {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
    assert!(!text.contains("panic"), "{text}");
}

/// A file that lives as long as this value.
struct File(tempfile::TempDir);

impl File {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("forebay.toml"), text).unwrap();
        Self(folder)
    }

    fn path(&self) -> String {
        self.0.path().join("forebay.toml").display().to_string()
    }
}

const GOOD: &str = "[[listen]]\naddress = \"127.0.0.1:8080\"\n[cache]\nmemory = \"1GiB\"\n\
                    [pool.app]\nservers = [\"127.0.0.1:9000\"]\n[site.shop]\nhosts = [\"shop.example\"]\n";

fn with_admin(address: SocketAddr) -> File {
    File::new(&format!("{GOOD}[admin]\naddress = \"{address}\"\n"))
}

#[test]
fn version_and_help_are_on_standard_output() {
    let version = forebay(&["--version"]);
    assert_eq!(version.status.code(), Some(0));
    assert_eq!(
        stdout(&version),
        concat!("forebay ", env!("CARGO_PKG_VERSION"), "\n")
    );
    let help = forebay(&["--help"]);
    assert_eq!(help.status.code(), Some(0));
    for command in [
        "serve",
        "check",
        "explain",
        "reload",
        "demonstration",
        "Examples:",
        "Exit status",
    ] {
        assert!(stdout(&help).contains(command), "no {command} in the help");
    }
}

#[test]
fn each_command_shows_examples() {
    for command in ["serve", "check", "explain", "reload"] {
        let help = forebay(&[command, "--help"]);
        assert_eq!(help.status.code(), Some(0));
        assert!(
            stdout(&help).contains(&format!("forebay {command} ")),
            "{command}"
        );
        assert!(stdout(&help).contains("Examples:"), "{command}");
    }
}

#[test]
fn wrong_usage_is_status_2() {
    assert_fails(&forebay(&["sevre"]), 2, &["sevre", "serve"]);
    assert_fails(&forebay(&["serve"]), 2, &["--config"]);
    assert_fails(&forebay(&["check"]), 2, &["--config"]);
    assert_fails(&forebay(&["reload"]), 2, &["--config"]);
    assert_fails(
        &forebay(&["serve", "-c", "a", "--origin", "b"]),
        2,
        &["cannot be used with"],
    );
    assert_fails(
        &forebay(&["serve", "--listen", "127.0.0.1:0"]),
        2,
        &["--origin"],
    );
    assert_fails(&forebay(&["--listen", "here"]), 2, &["here", "--listen"]);
}

#[test]
fn every_wrong_option_of_serve_is_named_at_once() {
    let output = forebay(&[
        "serve", "--origin", "ftp://a", "--listen", "x", "--memory", "much", "--ttl", "soon",
    ]);
    assert_fails(&output, 2, &["--origin", "--listen", "--memory", "--ttl"]);
}

#[test]
fn a_good_file_is_summed_up() {
    let file = File::new(GOOD);
    let output = forebay(&["check", "-c", &file.path()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert_eq!(
        text.lines().next(),
        Some(format!("{}: ok", file.path()).as_str())
    );
    for part in ["127.0.0.1:8080", "shop.example", "127.0.0.1:9000", "1 GiB"] {
        assert!(text.contains(part), "no {part} in: {text}");
    }
}

#[test]
fn a_bad_file_shows_every_mistake_with_line_and_caret() {
    let file =
        File::new(&GOOD.replace("memory = \"1GiB\"", "memori = \"1GiB\"\ngrace = \"often\""));
    let output = forebay(&["check", "-c", &file.path()]);
    assert_fails(
        &output,
        1,
        &[
            "memori",
            "did you mean `memory`",
            "often",
            ":4:",
            ":5:",
            "^",
            "2 errors",
        ],
    );
    assert!(!stderr(&output).contains('\x1b'), "colour in a pipe");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    for command in ["check", "serve", "reload"] {
        assert_fails(
            &forebay(&[command, "-c", "/nonexistent/f.toml"]),
            1,
            &["/nonexistent/f.toml", "No such file"],
        );
    }
}

#[test]
fn a_bad_file_is_not_served() {
    let file = File::new("[[listen]]\naddress = \"nowhere\"\n");
    assert_fails(&forebay(&["serve", "-c", &file.path()]), 1, &["nowhere"]);
}

#[test]
fn the_example_in_the_repository_is_good() {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/forebay.toml");
    let output = forebay(&["check", "-c", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
}

#[test]
fn settings_are_explained() {
    let setting = forebay(&["explain", "cache.default_ttl"]);
    assert_eq!(setting.status.code(), Some(0));
    assert!(stdout(&setting).contains("default_ttl"));
    let everything = stdout(&forebay(&["explain"]));
    for section in ["[server]", "[limits]", "[timeouts]", "[cache]", "[log]"] {
        assert!(
            everything.contains(section),
            "no {section} in the reference"
        );
    }
    assert!(stdout(&forebay(&["explain", "--markdown"])).starts_with("# "));
}

#[test]
fn an_unknown_setting_gets_the_nearest() {
    assert_fails(
        &forebay(&["explain", "cache.defualt_ttl"]),
        1,
        &["cache.defualt_ttl", "default_ttl"],
    );
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_forebay"))
        .args(["explain", "--markdown"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut text = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert!(child.wait().unwrap().success(), "{text}");
    assert_eq!(text, "");
}

/// Answers one exchange with `answer`, and gives back what was asked.
fn administration(answer: &'static str) -> (SocketAddr, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            request.extend(byte);
        }
        stream.write_all(answer.as_bytes()).unwrap();
        String::from_utf8(request).unwrap()
    };
    (address, std::thread::spawn(serve))
}

#[test]
fn reload_asks_the_address_of_the_file_and_shows_warnings() {
    let (address, server) = administration(
        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"warnings\":[\"workers need a restart\"]}",
    );
    let output = forebay(&["reload", "-c", &with_admin(address).path()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        stdout(&output).contains("workers need a restart"),
        "{}",
        stdout(&output)
    );
    let request = server.join().unwrap();
    assert!(
        request.starts_with("POST /reload HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(
        request.contains(&format!("\r\nHost: {address}\r\n")),
        "{request}"
    );
}

#[test]
fn a_refused_reload_is_a_failure_with_the_reason() {
    let (address, server) =
        administration("HTTP/1.1 422 Unprocessable Content\r\n\r\n{\"error\":\"no pool `a`\"}");
    assert_fails(
        &forebay(&["reload", "--admin", &address.to_string()]),
        1,
        &["no pool `a`", "as before"],
    );
    server.join().unwrap();
}

#[test]
fn reload_checks_the_file_before_it_asks() {
    // Nobody answers here; the mistake is found first.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let admin = listener.local_addr().unwrap().to_string();
    let file = File::new(&GOOD.replace("memory", "memori"));
    assert_fails(
        &forebay(&["reload", "-c", &file.path(), "--admin", &admin]),
        1,
        &["memori", "^"],
    );
}

#[test]
fn reload_says_when_nobody_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    assert_fails(
        &forebay(&["reload", "--admin", &address.to_string()]),
        1,
        &["nobody listens", &address.to_string()],
    );
}

#[test]
fn reload_without_an_administration_address_says_what_to_do() {
    assert_fails(
        &forebay(&["reload", "-c", &File::new(GOOD).path()]),
        1,
        &["SIGHUP", "--admin"],
    );
}
