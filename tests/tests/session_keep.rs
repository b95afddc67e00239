//! What a store of sessions keeps over a stop, a kill and a copy.

use std::net::SocketAddr;

use forebay_tests::site::free_port;
use forebay_tests::{Forebay, SessionClient};
use tempfile::TempDir;

/// A store in a directory, with these settings more.
pub(crate) fn store(directory: &TempDir, settings: &str) -> String {
    let path = directory.path().join("store");
    format!(
        "[server]\nworkers = 1\n[admin]\naddress = \"127.0.0.1:0\"\n\
         [session.web]\naddress = \"127.0.0.1:0\"\nmemory = \"16MiB\"\npath = {path:?}\n{settings}"
    )
}

fn fill(client: &mut SessionClient, count: usize) {
    for number in 0..count {
        let value = format!("{number}:{}", "v".repeat(number % 3000));
        assert_eq!(client.set(&format!("k{number}"), &value, 0), "STORED");
    }
}

#[track_caller]
fn check(client: &mut SessionClient, count: usize) {
    for number in 0..count {
        let value = format!("{number}:{}", "v".repeat(number % 3000));
        assert_eq!(client.get(&format!("k{number}")), Some(value));
    }
}

#[test]
fn stop_keeps_everything_whatever_the_durability() {
    for durability in ["always", "interval", "never"] {
        let directory = tempfile::tempdir().unwrap();
        let text = store(&directory, &format!("durability = {durability:?}"));
        let mut forebay = Forebay::start_text(&text);
        fill(&mut forebay.session(), 500);
        forebay.stop();
        let forebay = Forebay::start_text(&text);
        check(&mut forebay.session(), 500);
        assert_eq!(forebay.session().stat("curr_items"), 500);
    }
}

#[test]
fn kill_loses_nothing_that_was_acknowledged_with_always() {
    let directory = tempfile::tempdir().unwrap();
    let text = store(&directory, "durability = \"always\"");
    let mut forebay = Forebay::start_text(&text);
    fill(&mut forebay.session(), 200);
    let mut client = forebay.session();
    assert_eq!(client.ask("delete k7"), "DELETED");
    assert_eq!(client.ask("touch k8 100000"), "TOUCHED");
    forebay.kill();
    let forebay = Forebay::start_text(&text);
    let mut client = forebay.session();
    assert_eq!(client.get("k7"), None);
    fill(&mut client, 8);
    check(&mut client, 200);
}

#[test]
fn kill_loses_nothing_that_is_on_disk_with_interval() {
    let directory = tempfile::tempdir().unwrap();
    let text = store(&directory, "");
    let mut forebay = Forebay::start_text(&text);
    fill(&mut forebay.session(), 200);
    let written = forebay.metric("forebay_session_log_syncs_total").unwrap();
    // What was written before a sync began is there; two of them later it surely was before.
    forebay.session().set("later", "x", 0);
    forebay.wait_for_metric("forebay_session_log_syncs_total", written + 1.0);
    forebay.session().set("later still", "x", 0);
    forebay.session().set("later", "y", 0);
    forebay.wait_for_metric("forebay_session_log_syncs_total", written + 2.0);
    forebay.kill();
    let forebay = Forebay::start_text(&text);
    check(&mut forebay.session(), 200);
}

#[test]
fn more_than_memory_holds_is_there_after_a_restart_too() {
    let directory = tempfile::tempdir().unwrap();
    let text = store(&directory, "");
    let mut forebay = Forebay::start_text(&text);
    fill(&mut forebay.session(), 15_000);
    assert!(forebay.metric("forebay_session_spilled_items").unwrap() > 1_000.0);
    assert!(forebay.metric("forebay_session_memory_bytes").unwrap() <= f64::from(16 << 20));
    check(&mut forebay.session(), 15_000);
    forebay.stop();
    let forebay = Forebay::start_text(&text);
    check(&mut forebay.session(), 15_000);
}

#[test]
fn clients_that_come_while_it_is_read_wait_and_get_the_right_answer() {
    let directory = tempfile::tempdir().unwrap();
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let text =
        store(&directory, "").replace("127.0.0.1:0\"\nmemory", &format!("{address}\"\nmemory"));
    let mut forebay = Forebay::start_text(&text);
    fill(&mut forebay.session(), 5_000);
    forebay.stop();
    let asked = std::thread::spawn(move || {
        loop {
            // Nobody listens before the server is there.
            if std::net::TcpStream::connect(address).is_ok() {
                let mut client = SessionClient::connect(&forebay_tests::Address::Tcp(address));
                return client.get("k4999");
            }
        }
    });
    let _forebay = Forebay::start_text(&text);
    let value = asked.join().unwrap().unwrap();
    assert!(value.starts_with("4999:"), "{value}");
}

#[test]
fn snapshot_is_a_store_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let forebay = Forebay::start_text(&store(&directory, ""));
    fill(&mut forebay.session(), 300);
    let copy = directory.path().join("copy");
    let order = format!("{{\"store\":\"web\",\"directory\":{copy:?}}}");
    let made = forebay.admin_json("POST", "/api/v1/sessions/snapshot", &order);
    assert_eq!(made.status, 200, "{}", made.text());
    forebay.session().set("k0", "changed", 0);
    let again = forebay.admin_json("POST", "/api/v1/sessions/snapshot", &order);
    assert_eq!(again.status, 500);
    assert!(again.text().contains("not empty"), "{}", again.text());
    let unknown = order.replace("web", "x");
    let unknown = forebay.admin_json("POST", "/api/v1/sessions/snapshot", &unknown);
    assert_eq!(unknown.status, 404);
    let other = tempfile::tempdir().unwrap();
    let text = store(&other, "");
    std::fs::rename(&copy, other.path().join("store")).unwrap();
    let forebay = Forebay::start_text(&text);
    check(&mut forebay.session(), 300);
}

#[test]
fn sessions_end_at_their_second_also_while_nobody_looks() {
    let directory = tempfile::tempdir().unwrap();
    let text = store(&directory, "");
    let mut forebay = Forebay::start_text(&text);
    let mut client = forebay.session();
    client.set("short", "x", 1);
    client.set("long", "x", 1000);
    forebay.wait_for_metric("forebay_session_expired_total", 1.0);
    forebay.stop();
    let forebay = Forebay::start_text(&text);
    let mut client = forebay.session();
    assert_eq!(
        (client.get("short"), client.get("long")),
        (None, Some("x".into()))
    );
}
