//! `forebay session` on a store of Forebay's own.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::process::{Command, Stdio};

use forebay_tests::{Forebay, program};

use crate::session_keep::store;

/// Runs an order on the first store; says how it ended and what it printed.
fn order(forebay: &Forebay, arguments: &[&str], input: &str) -> (i32, String) {
    order_on(&forebay.sessions[0].1.to_string(), arguments, input)
}

/// The same on the store at an address.
fn order_on(address: &str, arguments: &[&str], input: &str) -> (i32, String) {
    let mut child = Command::new(program::path())
        .arg("session")
        .args(arguments)
        .args(["--address", address])
        .env_remove("FOREBAY_SESSION")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // An order that does not read its input may be gone already.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    (output.status.code().unwrap_or(-1), said)
}

#[test]
fn items_are_set_shown_listed_and_deleted() {
    let directory = tempfile::tempdir().unwrap();
    let forebay = Forebay::start_text(&store(&directory, ""));
    assert_eq!(order(&forebay, &["set", "a", "one"], "").0, 0);
    assert_eq!(order(&forebay, &["set", "b", "--ttl", "30m"], "two").0, 0);
    assert_eq!(order(&forebay, &["get", "b"], ""), (0, "two".into()));
    let (_, listed) = order(&forebay, &["list", "--json"], "");
    assert_eq!(listed.lines().count(), 2, "{listed}");
    assert_eq!(order(&forebay, &["delete", "a"], "").0, 0);
    assert_eq!(order(&forebay, &["get", "a"], "").0, 1);
    assert_eq!(forebay.session().get("b").unwrap(), "two");
    let (_, stats) = order(&forebay, &["stats"], "");
    assert!(stats.contains("curr_items"), "{stats}");
}

#[test]
fn export_of_one_store_fills_another() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let from = Forebay::start_text(&store(&one, ""));
    let mut client = from.session();
    for number in 0..3_000 {
        client.set(&format!("k{number}"), &"v".repeat(number), 1000);
    }
    let file = one.path().join("sessions.fbs");
    let file = file.to_str().unwrap();
    let (status, said) = order(&from, &["export", file], "");
    assert_eq!(status, 0, "{said}");
    let to = Forebay::start_text(&store(&two, ""));
    let (status, said) = order(&to, &["import", file], "");
    assert_eq!(status, 0, "{said}");
    let mut client = to.session();
    for number in 0..3_000 {
        let value = client.get(&format!("k{number}"));
        assert_eq!(value.unwrap(), "v".repeat(number));
    }
    client.send(b"mg k7 t\r\n");
    let left = client.read_until("\r\n").unwrap();
    let left: u32 = left.trim().strip_prefix("HD t").unwrap().parse().unwrap();
    assert!((900..=1000).contains(&left), "{left} seconds are left");
}

/// A store of two items, of which it cannot read one.
fn half_broken() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap()).lines();
        for line in lines {
            let answer = match line.unwrap().split_whitespace().nth(1) {
                Some("metadump") => "key=good exp=-1\nkey=broken exp=-1\nEND\r\n",
                Some("good") => "VA 1 f0 t-1 s1 c1 l0 h0\r\nx\r\n",
                _ => "SERVER_ERROR the value cannot be read\r\n",
            };
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    address
}

#[test]
fn export_names_what_cannot_be_read_and_brings_the_rest() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("sessions.fbs");
    let file = file.to_str().unwrap();
    let (status, said) = order_on(&half_broken(), &["export", file], "");
    assert_eq!(status, 1, "{said}");
    let named = "`broken` could not be read: the value cannot be read";
    assert!(said.contains(named), "{said}");
    let to = Forebay::start_text(&store(&directory, ""));
    let (status, said) = order(&to, &["import", file], "");
    assert_eq!(status, 0, "{said}");
    assert_eq!(to.session().get("good").unwrap(), "x");
}

#[test]
fn snapshot_is_ordered_over_the_administration() {
    let directory = tempfile::tempdir().unwrap();
    let forebay = Forebay::start_text(&store(&directory, ""));
    forebay.session().set("a", "1", 0);
    let copy = directory.path().join("copy");
    let copy = copy.to_str().unwrap();
    let said = forebay.command(&["session", "snapshot", copy]);
    assert_eq!(said.status, 0, "{}{}", said.stdout, said.stderr);
    assert!(said.stdout.contains("of web"), "{}", said.stdout);
    let said = forebay.command(&["session", "snapshot", copy, "--store", "other"]);
    assert_eq!(said.status, 1);
    assert!(said.stderr.contains("no store"), "{}", said.stderr);
}
