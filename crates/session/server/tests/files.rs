//! No more open files: alone in its process, whose limit it sets.

#![allow(clippy::unwrap_used)]

mod support;

use std::io::Write as _;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use support::{Store, connect, expect, is_served, listen, serve};

#[test]
fn without_room_for_another_file_clients_wait_and_are_served_later() {
    let store = Store::new();
    let server = serve(1, vec![listen(&store)]);
    let mut client = connect(&server);
    is_served(&mut client);
    let spare = std::fs::File::open("/dev/null").unwrap();
    let highest = std::os::fd::AsRawFd::as_raw_fd(&spare) as u64;
    let before = getrlimit(Resource::Nofile);
    // Room for the client's end of a connection, and none for the server's.
    drop(spare);
    let limit = |current| Rlimit {
        current,
        maximum: before.maximum,
    };
    setrlimit(Resource::Nofile, limit(Some(highest + 1))).unwrap();
    let mut waiting = connect(&server);
    waiting.write_all(b"mn\r\n").unwrap();
    for _ in 0..100 {
        is_served(&mut client);
    }
    assert_eq!(store.clients().connections, 1);
    setrlimit(Resource::Nofile, limit(before.current)).unwrap();
    expect(&mut waiting, b"MN\r\n");
}
