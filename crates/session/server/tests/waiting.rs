//! Answers that have to wait: for a value from elsewhere, for a write to be durable, for the end.

#![allow(clippy::unwrap_used)]

mod support;

use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Instant;

use forebay_session::{Commit, Progress};
use support::{DEADLINE, Event, Store, ask, connect, expect, is_ended, is_served, listen, serve};

#[test]
fn a_called_ticket_goes_on_where_the_command_was() {
    let store = Store::new();
    let server = serve(1, vec![listen(&store)]);
    let (mut client, mut other) = (connect(&server), connect(&server));
    ask(&mut client, b"set a 0 0 1\r\n1\r\n", b"STORED\r\n");
    client
        .write_all(b"get a slow:1 a\r\nget slow:2\r\nmn\r\n")
        .unwrap();
    for _ in 0..2 {
        assert!(matches!(store.event(), Event::Waits(_)));
        is_served(&mut other);
        store.call();
    }
    expect(
        &mut client,
        b"VALUE a 0 1\r\n1\r\nVALUE a 0 1\r\n1\r\nEND\r\nEND\r\nMN\r\n",
    );
}

#[test]
fn several_clients_can_wait_for_one_ticket() {
    let store = Store::new();
    let server = serve(1, vec![listen(&store)]);
    let mut clients = [connect(&server), connect(&server), connect(&server)];
    for client in &mut clients {
        client.write_all(b"get slow:same\r\n").unwrap();
        assert!(matches!(store.event(), Event::Waits(_)));
    }
    store.call();
    for client in &mut clients {
        expect(client, b"END\r\n");
    }
}

#[test]
fn a_ticket_of_a_client_that_has_gone_concerns_nobody() {
    let store = Store::new();
    let server = serve(1, vec![listen(&store)]);
    let mut client = connect(&server);
    client.write_all(b"get slow\r\n").unwrap();
    assert!(matches!(store.event(), Event::Waits(_)));
    drop(client);
    is_served(&mut connect(&server));
    store.call();
    store.call();
    is_served(&mut connect(&server));
}

#[test]
fn nothing_is_acknowledged_before_it_is_durable() {
    let store = Store::new();
    let server = serve(1, vec![listen(&store)]);
    let (mut first, mut second) = (connect(&server), connect(&server));
    first
        .write_all(b"set safe 0 0 1\r\n1\r\nset safe 0 0 1\r\n2\r\n")
        .unwrap();
    assert_eq!(store.event(), Event::Pushed(Commit(2)));
    second.write_all(b"set safe 0 0 1\r\n3\r\n").unwrap();
    assert_eq!(store.event(), Event::Pushed(Commit(3)));
    first.set_nonblocking(true).unwrap();
    is_served(&mut connect(&server));
    let early = std::io::Read::read(&mut first, &mut [0; 8]).unwrap_err();
    assert_eq!(early.kind(), std::io::ErrorKind::WouldBlock);
    first.set_nonblocking(false).unwrap();
    store.set(Commit(1), Progress::Durable);
    store.set(Commit(2), Progress::Durable);
    expect(&mut first, b"STORED\r\nSTORED\r\n");
    is_served(&mut first);
    assert!(store.no_event(), "a commit is asked for once");
    store.set(Commit(3), Progress::Durable);
    expect(&mut second, b"STORED\r\n");
}

#[test]
fn a_large_answer_waits_for_its_commit_and_comes_whole() {
    let store = Store::new();
    let server = serve(1, vec![listen(&store)]);
    let mut client = connect(&server);
    let value = vec![b'x'; 100_000];
    let set = [&b"set big 0 0 100000\r\n"[..], &value, b"\r\n"].concat();
    ask(&mut client, &set, b"STORED\r\n");
    client
        .write_all(b"set safe 0 0 1\r\n1\r\nget big\r\n")
        .unwrap();
    assert_eq!(store.event(), Event::Pushed(Commit(1)));
    store.set(Commit(1), Progress::Durable);
    let head = b"STORED\r\nVALUE big 0 100000\r\n";
    expect(&mut client, &[&head[..], &value, b"\r\nEND\r\n"].concat());
    is_served(&mut client);
}

#[test]
fn a_write_that_failed_is_not_acknowledged() {
    let store = Store::new();
    let server = serve(1, vec![listen(&store)]);
    let (mut client, mut other) = (connect(&server), connect(&server));
    client.write_all(b"set safe 0 0 1\r\n1\r\n").unwrap();
    assert_eq!(store.event(), Event::Pushed(Commit(1)));
    store.set(Commit(1), Progress::Failed);
    assert!(is_ended(&mut client));
    is_served(&mut other);
}

#[test]
fn draining_finishes_what_is_under_way_and_nothing_else() {
    let store = Store::new();
    let server = serve(2, vec![listen(&store)]);
    let (mut idle, mut safe, mut slow) = (connect(&server), connect(&server), connect(&server));
    is_served(&mut idle);
    safe.write_all(b"set safe 0 0 1\r\n1\r\n").unwrap();
    assert_eq!(store.event(), Event::Pushed(Commit(1)));
    slow.write_all(b"get slow\r\n").unwrap();
    assert!(matches!(store.event(), Event::Waits(_)));
    std::thread::scope(|scope| {
        let drained = scope.spawn(|| server.drain(Instant::now() + DEADLINE));
        assert!(is_ended(&mut idle));
        store.set(Commit(1), Progress::Durable);
        expect(&mut safe, b"STORED\r\n");
        assert!(is_ended(&mut safe));
        store.call();
        expect(&mut slow, b"END\r\n");
        assert!(is_ended(&mut slow));
        assert_eq!(drained.join().unwrap(), 0);
    });
    assert_eq!(store.clients().connections, 0);
}

#[test]
fn what_is_not_done_by_the_deadline_is_cut_and_counted() {
    let store = Store::new();
    let server = serve(1, vec![listen(&store)]);
    let (mut half, mut idle) = (connect(&server), connect(&server));
    ask(&mut half, b"mn\r\nset k 0 0 10\r\nabc", b"MN\r\n");
    is_served(&mut idle);
    assert_eq!(server.drain(Instant::now()), 1);
    assert!(is_ended(&mut half) && is_ended(&mut idle));
    assert_eq!(server.drain(Instant::now()), 0);
}

#[test]
fn whatever_has_to_wait_answers_come_whole_and_in_order() {
    const CLIENTS: usize = 12;
    const ROUNDS: usize = 100;
    let store = Store::new();
    let server = serve(2, vec![listen(&store)]);
    let done = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (server, done) = (&server, &done);
            scope.spawn(move || {
                let mut client = connect(server);
                for round in 0..ROUNDS {
                    // Of every size: what is copied, what is handed over, what is more than a read.
                    let value = "v".repeat(round * (number * number * 40 + 1));
                    let length = value.len();
                    let key = format!("safe:{number}");
                    let request = format!(
                        "set {key} 0 0 {length}\r\n{value}\r\nget slow {key} slow\r\nget {key}\r\nmn\r\n"
                    );
                    let found = format!("VALUE {key} 0 {length}\r\n{value}\r\nEND\r\n");
                    let answer = format!("STORED\r\n{found}{found}MN\r\n");
                    ask(&mut client, request.as_bytes(), answer.as_bytes());
                }
                done.fetch_add(1, SeqCst);
            });
        }
        store.drive(|| done.load(SeqCst) == CLIENTS);
    });
}

#[test]
fn what_was_sent_before_the_drain_is_answered() {
    let store = Store::new();
    for _ in 0..20 {
        let server = serve(2, vec![listen(&store)]);
        let mut client = connect(&server);
        is_served(&mut client);
        client.write_all(b"mn\r\nset k 0 0 1\r\nv\r\n").unwrap();
        assert_eq!(server.drain(Instant::now() + DEADLINE), 0);
        expect(&mut client, b"MN\r\nSTORED\r\n");
        assert!(is_ended(&mut client));
    }
}
