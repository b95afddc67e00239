//! Stores of sessions: who is served, how, and who is not.

use std::io::{Read as _, Write as _};
use std::process::Command;

use forebay_tests::stream::Stream;
use forebay_tests::{Address, Forebay, SessionClient};

use crate::common::eventually;
use crate::session_keep::store;

/// A store in memory alone, with these settings.
fn in_memory(settings: &str) -> Forebay {
    let text = "[server]\nworkers = 1\n[admin]\naddress = \"127.0.0.1:0\"\n\
                [session.web]\naddress = \"127.0.0.1:0\"\nmemory = \"16MiB\"\n";
    Forebay::start_text(&format!("{text}{settings}"))
}

#[test]
fn file_with_a_store_alone_serves_sessions_and_nothing_else() {
    let mut forebay = Forebay::start_text("[session.web]\naddress = \"127.0.0.1:0\"\n");
    assert!(forebay.addresses.is_empty() && forebay.sessions.len() == 1);
    let mut client = forebay.session();
    assert_eq!(client.set("a", "hello", 0), "STORED");
    assert_eq!(client.get("a").unwrap(), "hello");
    assert_eq!(client.get("b"), None);
    forebay.stop();
}

#[test]
fn memccapable_finds_every_command_of_memcached() {
    let forebay = in_memory("");
    let Address::Tcp(address) = forebay.sessions[0].1 else {
        panic!("a TCP address");
    };
    let ran = Command::new("memccapable")
        .args(["-h", "127.0.0.1", "-p", &address.port().to_string()])
        .output()
        .expect("libmemcached-tools is installed");
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(said.contains("All tests passed"), "{said}");
    assert_eq!(said.matches("[pass]").count(), 54, "{said}");
}

#[test]
fn every_protocol_is_told_by_its_first_bytes_on_one_address() {
    let forebay = in_memory("");
    let address = &forebay.sessions[0].1;
    let say = |bytes: &[u8], length: usize| {
        let stream = Stream::connect(address).unwrap();
        (&stream).write_all(bytes).unwrap();
        let mut answer = vec![0; length];
        (&stream).read_exact(&mut answer).unwrap();
        answer
    };
    assert_eq!(say(b"set k 0 0 1\r\nv\r\n", 8), b"STORED\r\n");
    assert_eq!(say(b"mg k v\r\n", 9), b"VA 1\r\nv\r\n");
    let binary_get = b"\x80\x00\0\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0k";
    assert_eq!(say(binary_get, 29)[24..], *b"\0\0\0\0v");
    let tyrant_get = b"\xc8\x30\0\0\0\x01k";
    assert_eq!(say(tyrant_get, 6), b"\0\0\0\0\x01v");
    let http = say(b"GET /k HTTP/1.1\r\nHost: x\r\n\r\n", 15);
    assert_eq!(http, b"HTTP/1.1 200 OK");
}

#[test]
fn sockets_are_for_the_group_unless_the_file_says_who_may_connect() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let forebay = Forebay::start_text(&format!(
        "[session.cart]\naddress = {:?}\n\
         [session.web]\naddress = [\"127.0.0.1:0\", {:?}]\nsocket_mode = \"0606\"\n",
        format!("unix:{}", path("cart.sock").display()),
        format!("unix:{}", path("web.sock").display()),
    ));
    for (name, expected) in [("cart.sock", 0o660), ("web.sock", 0o606)] {
        let mode = std::fs::metadata(path(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, expected, "{name}");
        let mut client = SessionClient::connect(&Address::Unix(path(name)));
        assert_eq!(client.set("a", "1", 0), "STORED");
    }
    drop(forebay);
}

#[test]
fn stores_are_apart_and_each_has_its_own_settings() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("cart.sock");
    let forebay = Forebay::start_text(&format!(
        "[session.cart]\naddress = \"unix:{}\"\ntoken = \"0123456789abcdef\"\n\
         [session.web]\naddress = [\"127.0.0.1:0\", \"127.0.0.1:0\"]\nmax_item = \"2KiB\"\n",
        socket.display()
    ));
    let names: Vec<&str> = forebay.sessions.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["cart", "web", "web"]);
    let mut cart = SessionClient::connect(&Address::Unix(socket));
    assert_eq!(cart.ask("get a"), "CLIENT_ERROR unauthenticated");
    let mut cart = SessionClient::connect(&forebay.sessions[0].1);
    assert_eq!(cart.set("auth", "any 0123456789abcdef", 0), "STORED");
    assert_eq!(cart.set("a", "cart", 0), "STORED");
    let mut one = SessionClient::connect(&forebay.sessions[1].1);
    let mut other = SessionClient::connect(&forebay.sessions[2].1);
    assert_eq!(one.get("a"), None);
    assert_eq!(one.set("a", "web", 0), "STORED");
    assert_eq!(other.get("a").unwrap(), "web");
    assert_eq!(cart.get("a").unwrap(), "cart");
    let large = one.set("b", &"x".repeat(2049), 0);
    assert_eq!(large, "SERVER_ERROR object too large for cache");
}

#[test]
fn connections_beyond_the_limit_are_told_so_and_leave_the_others_alone() {
    let forebay = in_memory("max_connections = 2\n");
    let (mut one, mut two) = (forebay.session(), forebay.session());
    assert_eq!(one.set("a", "1", 0), "STORED");
    assert_eq!(two.get("a").unwrap(), "1");
    let mut three = forebay.session();
    let told = three.read_until("\r\n").unwrap();
    assert_eq!(told, "ERROR Too many open connections\r\n");
    assert!(three.is_ended());
    assert_eq!(one.get("a").unwrap(), "1");
    assert_eq!(
        forebay.metric("forebay_session_connections_refused_total"),
        Some(1.0)
    );
}

#[test]
fn what_is_counted_is_shown_to_clients_to_the_administration_and_in_metrics() {
    let forebay = in_memory("");
    let mut client = forebay.session();
    client.set("a", "12345", 0);
    client.get("a");
    client.get("b");
    assert_eq!((client.stat("cmd_get"), client.stat("get_hits")), (2, 1));
    assert_eq!(client.stat("curr_items"), 1);
    let status = forebay.admin("GET", "/api/v1/sessions").text();
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    let web = &status["sessions"][0];
    assert_eq!(web["name"], "web");
    assert_eq!(web["addresses"][0], forebay.sessions[0].1.to_string());
    assert_eq!(web["figures"]["get_hits"], 1);
    assert_eq!(forebay.metric("forebay_session_items"), Some(1.0));
    let config = forebay.admin("GET", "/api/v1/config").text();
    assert!(config.contains("session.web.memory"), "{config}");
}

#[test]
fn reload_leaves_the_stores_as_they_are_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let text = store(&directory, "");
    let forebay = Forebay::start_text(&text);
    let mut client = forebay.session();
    client.set("a", "1", 0);
    forebay.write_config(&text.replace("16MiB", "32MiB"));
    let answer = forebay.admin_json("POST", "/api/v1/reload", "{}").text();
    assert!(answer.contains("[session.web] takes a restart"), "{answer}");
    // It is not forgotten either that it waits.
    let again = forebay.admin_json("POST", "/api/v1/reload", "{}").text();
    assert_eq!(again, answer);
    assert_eq!(client.get("a").unwrap(), "1");
}

#[test]
fn quota_refuses_new_values_and_lets_everything_else_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let forebay = Forebay::start_text(&store(&directory, "quota = \"1MiB\""));
    let mut client = forebay.session();
    assert_eq!(client.set("kept", "x", 0), "STORED");
    let value = "v".repeat(60_000);
    let mut number = 0;
    // It is looked at four times a second.
    eventually(|| {
        number += 1;
        client.set(&format!("k{number}"), &value, 0) == "SERVER_ERROR out of memory storing object"
    });
    assert!(number > 16, "{number} values");
    assert_eq!(client.get("kept").as_deref(), Some("x"));
    assert_eq!(client.ask("touch kept 1000"), "TOUCHED");
    for number in 1..number {
        assert_eq!(client.ask(&format!("delete k{number}")), "DELETED");
    }
    eventually(|| client.set("again", "x", 0) == "STORED");
}

#[test]
fn full_store_that_evicts_takes_every_value_and_gives_up_what_nobody_read() {
    let forebay = Forebay::start_text(
        "[session.web]\naddress = \"127.0.0.1:0\"\nmemory = \"1MiB\"\nfull = \"evict\"\n\
         max_item = \"64KiB\"\n",
    );
    let mut client = forebay.session();
    assert_eq!(client.set("read", "x", 0), "STORED");
    let value = "v".repeat(30_000);
    for number in 0..100 {
        assert_eq!(client.set(&format!("k{number}"), &value, 0), "STORED");
        assert_eq!(client.get("read").as_deref(), Some("x"), "{number}");
    }
    assert_eq!(client.get("k99"), Some(value));
    assert_eq!(client.get("k0"), None);
    assert!(client.stat("evictions") > 50);
}

#[test]
fn connection_that_says_nothing_is_closed_and_one_that_does_stays() {
    let forebay = in_memory("idle_timeout = \"1s\"");
    let (mut idle, mut busy) = (forebay.session(), forebay.session());
    assert_eq!(idle.set("a", "1", 0), "STORED");
    let ended = std::thread::spawn(move || idle.is_ended());
    eventually(|| {
        assert_eq!(busy.get("a").as_deref(), Some("1"));
        ended.is_finished()
    });
    assert!(ended.join().unwrap());
    assert_eq!(busy.get("a").as_deref(), Some("1"));
}
