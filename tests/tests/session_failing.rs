//! Stores of sessions when something goes wrong: the disk, the directory, the clients.

use forebay_tests::{Fault, Forebay, SessionClient, Strace};

use crate::common::eventually;
use crate::session_keep::store;

/// How the log is written.
const WRITES: &str = "pwrite64";

/// Stores an item, lets the disk take no more until the result is dropped, and stores another, which
/// the log has to keep in memory. `None`: there is no strace here.
fn fill_disk(forebay: &Forebay, client: &mut SessionClient) -> Option<Strace> {
    client.set("before", "x", 0);
    let disk = Strace::attach(forebay, "wal", WRITES, Fault::Fails("ENOSPC", 1))?;
    assert_eq!(client.set("during", "x", 0), "STORED");
    forebay.wait_for_metric("forebay_session_log_failing", 1.0);
    Some(disk)
}

#[test]
fn full_disk_refuses_writes_keeps_reads_and_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let text = store(&directory, "");
    let mut forebay = Forebay::start_text(&text);
    let mut client = forebay.session();
    let Some(disk) = fill_disk(&forebay, &mut client) else {
        return;
    };
    let refused = client.set("refused", "x", 0);
    assert!(
        refused.starts_with("SERVER_ERROR the log cannot be written"),
        "{refused}"
    );
    assert_eq!(client.ask("delete before"), refused);
    assert_eq!(client.ask("gat 100 before"), refused);
    assert_eq!(client.get("before").unwrap(), "x");
    assert_eq!(client.get("during").unwrap(), "x");
    assert_eq!(client.get("refused"), None);
    drop(disk);
    eventually(|| forebay.metric("forebay_session_log_failing") == Some(0.0));
    assert_eq!(client.set("after", "x", 0), "STORED");
    forebay.stop();
    let forebay = Forebay::start_text(&text);
    let mut client = forebay.session();
    for key in ["before", "during", "after"] {
        assert_eq!(client.get(key).as_deref(), Some("x"), "{key}");
    }
}

#[test]
fn flush_that_cannot_be_kept_is_not_acknowledged_and_flushes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let forebay = Forebay::start_text(&store(&directory, ""));
    let mut client = forebay.session();
    let Some(disk) = fill_disk(&forebay, &mut client) else {
        return;
    };
    let refused = "SERVER_ERROR the log cannot be written: the disk is full or failing";
    assert_eq!(client.ask("flush_all"), refused);
    // As memcached has it, an error is told also where no answer is wanted.
    assert_eq!(client.ask("flush_all noreply"), refused);
    let quiet = [&[0x80, 0x18][..], &[0; 22]].concat();
    let mut binary = forebay.session();
    binary.send(&quiet);
    let answer = binary.read_bytes(24);
    assert_eq!(answer[..8], [0x81, 0x18, 0, 0, 0, 0, 0, 0x84]);
    let mut tyrant = forebay.session();
    tyrant.send(b"\xc8\x72");
    assert_eq!(tyrant.read_bytes(1), [1]);
    assert_eq!(client.get("before").as_deref(), Some("x"));
    drop(disk);
    eventually(|| forebay.metric("forebay_session_log_failing") == Some(0.0));
    assert_eq!(client.get("during").as_deref(), Some("x"));
    assert_eq!(client.ask("flush_all"), "OK");
    assert_eq!(client.get("before"), None);
}

#[test]
fn write_that_cannot_be_kept_is_not_acknowledged_with_always() {
    let directory = tempfile::tempdir().unwrap();
    let forebay = Forebay::start_text(&store(&directory, "durability = \"always\""));
    let mut client = forebay.session();
    assert_eq!(client.set("before", "x", 0), "STORED");
    let Some(_disk) = Strace::attach(&forebay, "wal", WRITES, Fault::Fails("EIO", 1)) else {
        return;
    };
    client.send(b"set a 0 0 1\r\nx\r\n");
    assert!(client.is_ended(), "it was acknowledged");
    assert_eq!(forebay.session().get("before").unwrap(), "x");
}

#[test]
fn second_server_on_one_directory_is_refused_and_says_who_has_it() {
    let directory = tempfile::tempdir().unwrap();
    let text = store(&directory, "");
    let forebay = Forebay::start_text(&text);
    let mut second = Forebay::spawn_text(&text);
    assert_eq!(second.wait_exit().code(), Some(1));
    second.wait_for_output(&forebay.pid().to_string());
    assert!(
        second.output().contains("[session.web]"),
        "{}",
        second.output()
    );
    assert_eq!(forebay.session().set("a", "1", 0), "STORED");
}

#[test]
fn address_that_is_taken_is_an_error_that_names_it() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let text = format!("[session.web]\naddress = \"{address}\"\n");
    let mut forebay = Forebay::spawn_text(&text);
    assert_eq!(forebay.wait_exit().code(), Some(1));
    forebay.wait_for_output(&format!("cannot listen on {address}"));
}

#[test]
fn smaller_memory_that_may_not_spill_is_refused_at_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let text = store(&directory, "full = \"refuse\"\n");
    let mut forebay = Forebay::start_text(&text);
    let mut client = forebay.session();
    for number in 0..400 {
        assert_eq!(
            client.set(&format!("k{number}"), &"x".repeat(30_000), 0),
            "STORED"
        );
    }
    forebay.stop();
    let small = text.replace("16MiB", "4MiB");
    let mut forebay = Forebay::spawn_text(&small);
    assert_eq!(forebay.wait_exit().code(), Some(1));
    forebay.wait_for_output("its memory is too small for what its path holds");
    let spilling = small.replace("refuse", "spill");
    let forebay = Forebay::start_text(&spilling);
    assert_eq!(forebay.session().get("k399").unwrap().len(), 30_000);
}

#[test]
fn damaged_log_costs_what_was_damaged_and_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let text = store(&directory, "");
    let mut forebay = Forebay::start_text(&text);
    let mut client = forebay.session();
    for number in 0..100 {
        client.set(&format!("k{number}"), &format!("value-{number:03}"), 0);
    }
    forebay.stop();
    let mut files: Vec<_> = std::fs::read_dir(directory.path().join("store"))
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "wal"))
        .collect();
    files.sort();
    let mut bytes = std::fs::read(&files[0]).unwrap();
    let at = bytes
        .windows(9)
        .position(|part| part == b"value-050")
        .unwrap();
    bytes[at + 7] ^= 1;
    std::fs::write(&files[0], bytes).unwrap();
    let forebay = Forebay::start_text(&text);
    forebay.wait_for_output("1 records were damaged");
    let mut client = forebay.session();
    for number in 0..100 {
        let expected = (number != 50).then(|| format!("value-{number:03}"));
        assert_eq!(client.get(&format!("k{number}")), expected);
    }
}
