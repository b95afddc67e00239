//! What peers cannot do: take more than their share of memory, connections or time.

#![allow(clippy::unwrap_used)]

mod support;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use forebay_session_server::Listen;
use support::{Store, address, ask, connect, expect, is_ended, is_served, listen, serve};

#[test]
fn a_client_that_does_not_read_is_not_answered_on() {
    const GETS: usize = 2000;
    let store = Store::new();
    let server = serve(1, vec![listen(&store)]);
    let (mut client, mut other) = (connect(&server), connect(&server));
    let value = vec![b'x'; 100_000];
    let set = [&b"set k 0 0 100000\r\n"[..], &value, b"\r\n"].concat();
    ask(&mut client, &set, b"STORED\r\n");
    client
        .write_all("get k\r\n".repeat(GETS).as_bytes())
        .unwrap();
    // Others are served meanwhile, in turns with it until it is stopped.
    for _ in 0..200 {
        is_served(&mut other);
    }
    // What the kernel's buffers take is not ours to choose: some megabytes on loopback.
    assert!(store.asked() < 400, "{} answers were made", store.asked());
    let answer = [&b"VALUE k 0 100000\r\n"[..], &value, b"\r\nEND\r\n"].concat();
    for _ in 0..GETS {
        expect(&mut client, &answer);
    }
    is_served(&mut client);
}

#[test]
fn one_connection_too_many_is_told_so() {
    let store = Store::new();
    let max_connections = 2;
    let server = serve(
        2,
        vec![Listen {
            max_connections,
            ..listen(&store)
        }],
    );
    let (mut first, mut second) = (connect(&server), connect(&server));
    is_served(&mut first);
    is_served(&mut second);
    let mut third = connect(&server);
    expect(&mut third, b"ERROR Too many open connections\r\n");
    assert!(is_ended(&mut third));
    let clients = store.clients();
    assert_eq!((clients.connections, clients.connections_refused), (2, 1));
    first.write_all(b"quit\r\n").unwrap();
    assert!(is_ended(&mut first));
    // The place is free once the thread has counted; who comes too early is sent away, and asks again.
    let is_admitted = |_: &u32| {
        let mut fourth = connect(&server);
        let _ = fourth.write_all(b"mn\r\n");
        let mut answer = [0; 4];
        fourth.read_exact(&mut answer).is_ok() && &answer == b"MN\r\n"
    };
    assert!((0..1000).find(is_admitted).is_some());
}

#[test]
fn half_a_command_does_not_hold_a_connection_for_ever() {
    let store = Store::new();
    let stalled_timeout = Duration::from_millis(1);
    let server = serve(
        1,
        vec![Listen {
            stalled_timeout,
            ..listen(&store)
        }],
    );
    let (mut half, mut idle) = (connect(&server), connect(&server));
    is_served(&mut idle);
    half.write_all(b"set k 0 0 10\r\nabc").unwrap();
    assert!(is_ended(&mut half));
    is_served(&mut idle);
}

#[test]
fn an_answer_that_is_not_read_does_not_hold_a_connection_for_ever() {
    let store = Store::new();
    let stalled_timeout = Duration::from_millis(1);
    let server = serve(
        1,
        vec![Listen {
            stalled_timeout,
            ..listen(&store)
        }],
    );
    let mut client = connect(&server);
    let set = [
        &b"set k 0 0 1000000\r\n"[..],
        &vec![b'x'; 1_000_000],
        b"\r\n",
    ]
    .concat();
    let mut sent = client.write_all(&set);
    // Closed while it does not read: it notices when it sends.
    while sent.is_ok() {
        sent = client.write_all(b"get k\r\n");
    }
    assert!(!matches!(
        sent.unwrap_err().kind(),
        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
    ));
}

#[test]
fn who_is_silent_for_too_long_is_closed_where_that_is_wanted() {
    let store = Store::new();
    let idle_timeout = Some(Duration::from_millis(1));
    let server = serve(
        1,
        vec![Listen {
            idle_timeout,
            ..listen(&store)
        }],
    );
    let mut client = connect(&server);
    is_served(&mut client);
    assert!(is_ended(&mut client));
    assert_eq!(store.clients().connections_total, 1);
}

#[test]
fn two_thousand_clients_are_served() {
    let store = Store::new();
    let max_connections = 4000;
    let server = serve(
        2,
        vec![Listen {
            max_connections,
            ..listen(&store)
        }],
    );
    let mut clients: Vec<_> = (0..2000).map(|_| connect(&server)).collect();
    for _ in 0..2 {
        for client in &mut clients {
            client.write_all(b"mn\r\n").unwrap();
        }
        for client in &mut clients {
            expect(client, b"MN\r\n");
        }
    }
    assert_eq!(store.clients().connections, 2000);
}

#[test]
fn an_internal_fault_ends_one_connection_only() {
    let store = Store::new();
    let server = serve(1, vec![listen(&store)]);
    let (mut faulty, mut other) = (connect(&server), connect(&server));
    is_served(&mut other);
    faulty.write_all(b"mn\r\nget fault\r\n").unwrap();
    assert!(is_ended(&mut faulty));
    is_served(&mut other);
}

#[test]
fn half_sent_values_of_all_connections_together_are_bounded_and_their_room_is_given_back() {
    let store = Store::new();
    let server = serve(
        1,
        vec![Listen {
            buffers_bytes: 1 << 20,
            ..listen(&store)
        }],
    );
    let mut idle = connect(&server);
    let (half, rest) = ([b'x'; 290_000], [&[b'x'; 10_000][..], b"\r\n"].concat());
    let half = [&b"set k 0 0 300000\r\n"[..], &half].concat();
    let mut begin = || {
        let mut client = connect(&server);
        // It may be closed meanwhile.
        let _ = client.write_all(&half);
        for _ in 0..20 {
            is_served(&mut idle);
        }
        client
    };
    let mut within = [begin(), begin(), begin()];
    assert!(is_ended(&mut begin()), "four of them take more");
    for client in &mut within {
        ask(client, &rest, b"STORED\r\n");
    }
    ask(&mut begin(), &rest, b"STORED\r\n");
}

#[test]
fn answers_that_are_not_read_count_too() {
    let store = Store::new();
    let narrow = Listen {
        buffers_bytes: 64 << 10,
        ..listen(&store)
    };
    let server = serve(1, vec![listen(&store), narrow]);
    let mut wide = connect(&server);
    let set = [&b"set k 0 0 1000000\r\n"[..], &[b'x'; 1_000_000], b"\r\n"].concat();
    ask(&mut wide, &set, b"STORED\r\n");
    let mut greedy = TcpStream::connect(address(&server, 1)).unwrap();
    greedy.write_all(&b"get k\r\n".repeat(1_000)).unwrap();
    for _ in 0..50 {
        is_served(&mut wide);
    }
    // What the kernel took comes; then it ends.
    let (mut read, mut piece) = (0, vec![0; 1 << 20]);
    while let Ok(count @ 1..) = greedy.read(&mut piece) {
        read += count;
    }
    assert!(read < 100 << 20, "{read} bytes");
}
