//! Commands over sockets: however they come, whatever protocol, however large.

#![allow(clippy::unwrap_used)]

mod support;

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};

use forebay_session::Limits;
use forebay_session_server::{Inherited, Listen, ListenAddress, Options, Server};
use support::{DEADLINE, Store, ask, connect, expect, is_ended, is_served, listen, serve, start};

#[test]
fn how_commands_are_cut_makes_no_difference() {
    let store = Store::new();
    let server = serve(1, vec![listen(&store)]);
    let script =
        b"set a 1 0 5\r\nhello\r\nget a b a\r\nincr n 1\r\nset n 0 0 1\r\n7\r\nincr n 5\r\n\
        delete a\r\nmg n v t\r\nbogus\r\nset z 0 0 3 noreply\r\nabc\r\nget z\r\n";
    let answer = b"STORED\r\nVALUE a 1 5\r\nhello\r\nVALUE a 1 5\r\nhello\r\nEND\r\nNOT_FOUND\r\n\
        STORED\r\n12\r\nDELETED\r\nVA 2 t-1\r\n12\r\nERROR\r\nVALUE z 0 3\r\nabc\r\nEND\r\n";
    for piece in [1, 2, 3, 7, 19, 64, script.len()] {
        let mut client = connect(&server);
        ask(&mut client, b"flush_all\r\n", b"OK\r\n");
        for bytes in script.chunks(piece) {
            client.write_all(bytes).unwrap();
        }
        expect(&mut client, answer);
    }
}

#[test]
fn every_protocol_is_spoken_on_one_port() {
    let store = Store::new();
    let server = serve(2, vec![listen(&store)]);
    ask(
        &mut connect(&server),
        b"set k 0 0 1\r\nv\r\n",
        b"STORED\r\n",
    );
    ask(&mut connect(&server), b"mg k v\r\n", b"VA 1\r\nv\r\n");
    let binary_get = [&[0x80, 0, 0, 1][..], &[0; 7], &[1], &[0; 12], b"k"].concat();
    let mut client = connect(&server);
    client.write_all(&binary_get).unwrap();
    let mut answer = [0; 29];
    client.read_exact(&mut answer).unwrap();
    assert_eq!((answer[0], answer[28]), (0x81, b'v'));
    let tyrant_get = [0xc8, 0x30, 0, 0, 0, 1, b'k'];
    ask(&mut connect(&server), &tyrant_get, &[0, 0, 0, 0, 1, b'v']);
    ask(
        &mut connect(&server),
        b"GET /k HTTP/1.1\r\nHost: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n",
    );
}

#[test]
fn large_values_come_and_go_whole() {
    let store = Store::new();
    let limits = Limits {
        item_bytes: 16 << 20,
        ..Limits::default()
    };
    let server = serve(
        1,
        vec![Listen {
            limits,
            ..listen(&store)
        }],
    );
    let mut client = connect(&server);
    for length in [60_000, 65_536, 1 << 20, (9 << 20) + 1] {
        let value: Vec<u8> = (0..length).map(|at: usize| (at % 251) as u8).collect();
        let head = format!("set big 0 0 {length}\r\n");
        let behind = b"\r\nget big\r\nget none\r\n";
        client
            .write_all(&[head.as_bytes(), &value, behind].concat())
            .unwrap();
        let head = format!("STORED\r\nVALUE big 0 {length}\r\n");
        expect(
            &mut client,
            &[head.as_bytes(), &value, b"\r\nEND\r\nEND\r\n"].concat(),
        );
    }
}

#[test]
fn a_client_that_only_stops_sending_gets_its_answers() {
    let store = Store::new();
    let server = serve(1, vec![listen(&store)]);
    let mut client = connect(&server);
    client.write_all(b"set k 0 0 1\r\nv\r\nget k\r\n").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "STORED\r\nVALUE k 0 1\r\nv\r\nEND\r\n");
}

#[test]
fn what_says_goodbye_is_closed() {
    let store = Store::new();
    let server = serve(1, vec![listen(&store)]);
    let mut client = connect(&server);
    ask(&mut client, b"mn\r\nquit\r\n", b"MN\r\n");
    assert!(is_ended(&mut client));
}

#[test]
fn clients_wait_until_the_store_has_recovered() {
    let store = Store::new();
    let server = start(1, vec![listen(&store)]);
    let mut client = connect(&server);
    client.write_all(b"mn\r\n").unwrap();
    assert_eq!(store.clients().connections_total, 0);
    server.accept();
    expect(&mut client, b"MN\r\n");
}

#[test]
fn who_is_read_from_in_a_row_gets_its_own_answers() {
    let store = Store::new();
    let server = start(1, vec![listen(&store)]);
    // What all of them say is there before the first is served: some briefly, some at length, one
    // in pieces, one with a fault of ours.
    let value = |n: usize| vec![b'a' + (n % 26) as u8; [3, 40_000, 1000][n % 3] + n];
    let mut clients: Vec<_> = (0..50).map(|_| connect(&server)).collect();
    for (n, client) in clients.iter_mut().enumerate() {
        let value = value(n);
        let head = format!("set key{n} 0 0 {}\r\n", value.len());
        let behind = match n {
            7 => "\r\nget fault\r\n".into(),
            8 => "\r\nget key8\r\nget k".into(),
            _ => format!("\r\nget key{n}\r\n"),
        };
        let said = [head.as_bytes(), &value, behind.as_bytes()].concat();
        client.write_all(&said).unwrap();
    }
    server.accept();
    clients[8].write_all(b"ey8\r\n").unwrap();
    for (n, client) in clients.iter_mut().enumerate() {
        let value = value(n);
        let head = format!("VALUE key{n} 0 {}\r\n", value.len());
        let found = [head.as_bytes(), &value, b"\r\nEND\r\n"].concat();
        match n {
            7 => assert!(is_ended(client)),
            8 => expect(client, &[b"STORED\r\n", &found[..], &found].concat()),
            _ => expect(client, &[b"STORED\r\n", &found[..]].concat()),
        }
    }
}

#[test]
fn what_every_client_of_a_row_did_is_told_though_it_is_answered_in_parts() {
    let store = Store::new();
    let limits = Limits {
        output_bytes: 400,
        ..Limits::default()
    };
    let listens = vec![Listen {
        limits,
        ..listen(&store)
    }];
    let server = start(1, listens);
    let mut answered: Vec<_> = (0..2).map(|_| connect(&server)).collect();
    let (value, mut silent) = ("x".repeat(200), connect(&server));
    for client in &mut answered {
        let said = format!("set a 0 0 200\r\n{value}\r\nget a\r\n");
        client.write_all(said.as_bytes()).unwrap();
    }
    silent.write_all(b"set b 0 0 1 noreply\r\nx\r\n").unwrap();
    server.accept();
    let answer = format!("STORED\r\nVALUE a 0 200\r\n{value}\r\nEND\r\n");
    for client in &mut answered {
        expect(client, answer.as_bytes());
    }
    let start = std::time::Instant::now();
    while store.clients().counts.cmd_set < 3 {
        assert!(start.elapsed() < DEADLINE, "{:?}", store.clients().counts);
        std::thread::yield_now();
    }
}

#[test]
fn sockets_of_one_store_share_its_items_and_its_threads_engines() {
    let (store, other) = (Store::new(), Store::new());
    let server = serve(2, vec![listen(&store), listen(&store), listen(&other)]);
    let at = |number| std::net::TcpStream::connect(support::address(&server, number)).unwrap();
    ask(&mut at(0), b"set k 0 0 1\r\nv\r\n", b"STORED\r\n");
    ask(&mut at(1), b"get k\r\n", b"VALUE k 0 1\r\nv\r\nEND\r\n");
    ask(&mut at(2), b"get k\r\n", b"END\r\n");
    for _ in 0..8 {
        is_served(&mut at(0));
    }
    // Told before it was answered.
    let clients = store.clients();
    assert_eq!(clients.counts.cmd_get, 1);
    assert_eq!((clients.counts.cmd_set, clients.connections_total), (1, 10));
    assert_eq!(clients.bytes_written, 8 + 21 + 8 * 4);
    server.drain(std::time::Instant::now());
    assert_eq!((store.engines(), other.engines()), (2, 2));
}

#[test]
fn a_unix_socket_has_its_mode_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    // Left by a process that was killed.
    drop(UnixListener::bind(&path).unwrap());
    let store = Store::new();
    let at_path = || Listen {
        unix_mode: Some(0o640),
        ..Listen::new(ListenAddress::Unix(path.clone()), store.clone())
    };
    let server = serve(1, vec![at_path()]);
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    let mut client = UnixStream::connect(&path).unwrap();
    client.set_read_timeout(Some(DEADLINE)).unwrap();
    is_served(&mut client);
    let value = vec![b'v'; 500_000];
    let set = [&b"set k 0 0 500000\r\n"[..], &value, b"\r\n"].concat();
    ask(&mut client, &set, b"STORED\r\n");
    let found = [&b"VALUE k 0 500000\r\n"[..], &value, b"\r\nEND\r\n"].concat();
    ask(&mut client, b"get k\r\n", &found);
    let (threads, name) = (1, "test".into());
    let second = Server::start(Options { threads, name }, vec![at_path()]);
    let refused = second.expect_err("somebody listens there");
    assert_eq!(refused.error.kind(), std::io::ErrorKind::AddrInUse);
    assert_eq!(refused.address, Some(ListenAddress::Unix(path.clone())));
    is_served(&mut UnixStream::connect(&path).unwrap());
    drop(server);
    assert!(!path.exists());
}

#[test]
fn an_inherited_socket_is_served() {
    let store = Store::new();
    let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let bound = socket.local_addr().unwrap();
    let inherited = Some(Inherited::Tcp(socket));
    let server = serve(
        1,
        vec![Listen {
            inherited,
            ..listen(&store)
        }],
    );
    assert_eq!(server.addresses(), [ListenAddress::Tcp(bound)]);
    is_served(&mut connect(&server));
}
