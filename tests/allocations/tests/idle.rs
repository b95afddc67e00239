//! What a keep-alive connection costs between two requests.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use forebay_allocations::client::Client;
use forebay_allocations::counting::Watch;
use forebay_allocations::origin::Origin;
use forebay_allocations::server;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const CONNECTIONS: usize = 2000;
/// Each has two ends in this process.
const FILES: u64 = 2 * CONNECTIONS as u64 + 200;
/// The promise: resident memory for each idle connection.
const MOST_RESIDENT: usize = 6 << 10;
/// What a connection may hold of the heap: its task, its part of the event loop and a timer.
const MOST_HEAP: usize = 3 << 10;

/// One test, because another one's memory would be measured too.
#[test]
fn an_idle_connection_holds_its_task_and_no_buffer() {
    allow_files();
    let origin = Origin::start();
    let (server, address) = server::start(server::settings(&origin));
    // What the worker keeps for all connections is there before the measurement.
    let mut first: Vec<Client> = (0..64).map(|_| connect(address)).collect();
    first.iter_mut().for_each(ask);
    first.iter_mut().for_each(ask);
    let watch = Watch::workers();
    let before = resident_bytes();
    let clients: Vec<Client> = (0..CONNECTIONS).map(|_| connect(address)).collect();
    let resident = resident_bytes().saturating_sub(before) / CONNECTIONS;
    let heap = usize::try_from(watch.held_bytes()).unwrap_or(0) / CONNECTIONS;
    println!("an idle connection: {resident} bytes resident, {heap} of the heap");
    assert_eq!(
        server.handle().gauges().connections as usize,
        first.len() + CONNECTIONS
    );
    assert!(
        resident <= MOST_RESIDENT,
        "{resident} bytes are resident for each"
    );
    assert!(heap <= MOST_HEAP, "{heap} bytes of the heap for each");
    drop((watch, first, clients));
    assert!(server.drain(Duration::from_secs(10)).finished);
}

/// A connection that was answered once and is idle since.
fn connect(address: std::net::SocketAddr) -> Client {
    let mut client = Client::connect(address);
    ask(&mut client);
    client.forget();
    client
}

fn ask(client: &mut Client) {
    client.send(b"GET /20480 HTTP/1.1\r\nHost: shop.example\r\n\r\n");
    assert_eq!(client.receive().body_bytes, 20_480);
}

fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    line.split_whitespace()
        .next()
        .unwrap()
        .parse::<usize>()
        .unwrap()
        << 10
}

fn allow_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    assert!(
        maximum.is_none_or(|most| most >= FILES),
        "{FILES} files must be allowed (ulimit -Hn)"
    );
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(FILES),
            maximum,
        },
    )
    .unwrap();
}
