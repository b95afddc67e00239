//! A command to a session store in steady state allocates nothing: what is read is copied from the
//! table into the thread's output, what is written is copied into the table and the log.

#![allow(clippy::unwrap_used)]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use forebay_allocations::counting::Watch;
use forebay_session_server::{Listen, ListenAddress, Options, Server};
use forebay_session_store::{self as store, Disk, Durability, Full, Store};

const KEYS: usize = 200;
const ROUNDS: usize = 5;

/// One test, because another one's threads would be counted too.
#[test]
fn commands_of_every_protocol_allocate_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (server, store) = start(directory.path());
    let ListenAddress::Tcp(address) = server.addresses()[0].clone() else {
        panic!("a TCP address");
    };
    let mut client = TcpStream::connect(address).unwrap();
    client
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    // The table grows and the buffers find their size before anything is counted.
    for _ in 0..3 {
        (0..KEYS).for_each(|key| ask_all(&mut client, key));
    }
    let watch = Watch::workers().tracing();
    for _ in 0..ROUNDS {
        (0..KEYS).for_each(|key| ask_all(&mut client, key));
    }
    let (made, places) = (watch.allocations(), watch.places());
    drop(watch);
    // The log's buffer gets another piece for each megabyte that is written; it was two of them.
    assert!(made <= 8, "{made} allocations:\n{places}");
    drop(client);
    assert_eq!(server.drain(Instant::now() + Duration::from_secs(5)), 0);
    store.stop().unwrap();
}

/// Each command with the length of its answer.
fn ask_all(client: &mut TcpStream, key: usize) {
    let value = "v".repeat(1000);
    let key = format!("key{key:05}");
    for (command, answer) in [
        (format!("set {key} 0 0 1000\r\n{value}\r\n"), 8),
        (format!("get {key}\r\n"), 6 + 8 + 7 + 2 + 1000 + 2 + 5),
        (format!("ms {key} 1000 T0\r\n{value}\r\n"), 4),
        (format!("mg {key} v\r\n"), 9 + 1002),
        (format!("touch {key} 1000\r\n"), 9),
        (format!("incr {key} 1\r\n"), 62),
    ] {
        client.write_all(command.as_bytes()).unwrap();
        let mut read = vec![0; answer];
        client.read_exact(&mut read).unwrap();
        assert!(
            read.ends_with(b"\r\n"),
            "{command}: {}",
            read.escape_ascii()
        );
    }
}

fn start(path: &std::path::Path) -> (Server, Arc<Store>) {
    let store = Store::open(store::Options {
        name: "web".into(),
        memory_bytes: 32 << 20,
        full: Full::Spill,
        item_bytes: 1 << 20,
        quota_bytes: None,
        max_connections: 10,
        port: 0,
        disk: Some(Disk {
            path: path.into(),
            durability: Durability::Interval,
            segment_bytes: None,
        }),
    });
    let store = store.unwrap();
    store.recover(&AtomicBool::new(false)).unwrap();
    store.start().unwrap();
    let listen = Listen::new(
        ListenAddress::Tcp("127.0.0.1:0".parse().unwrap()),
        Arc::clone(&store),
    );
    let options = Options {
        threads: 1,
        name: "worker".into(),
    };
    let server = Server::start(options, vec![listen]).unwrap();
    server.accept();
    (server, store)
}
