//! How long the log becomes.
#![allow(clippy::unwrap_used)]

mod support;

use std::sync::Arc;
use std::thread;

use forebay_session_store::{Durability, Full};
use support::{Client, NOW_S, on_disk, open, value_of};

const WRITERS: u32 = 4;
const KEYS: u32 = 50;
const VALUE: usize = 20_000;
/// Of each writer: together 200 MB, of which 4 MB live.
const WRITES: u32 = 2500;

#[test]
fn a_log_that_is_written_without_a_pause_is_compacted_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let options = on_disk(folder.path(), 8 << 20, Full::Spill, Durability::Interval);
    let (store, _) = open(options);
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let store = Arc::clone(&store);
            scope.spawn(move || {
                let mut client = Client::of(&store);
                for version in 0..WRITES {
                    let value = value_of(writer, version, VALUE);
                    let key = format!("{writer}-{}", version % KEYS);
                    assert_eq!(client.set(&key, &value, NOW_S + 1000), "STORED\r\n");
                }
            });
        }
    });
    let log = store.figures().log.unwrap();
    let (disk, written) = (log.disk_bytes, log.written_bytes);
    assert!(
        disk < written / 2,
        "{disk} of {written} bytes are still there"
    );
    store.stop().unwrap();
}
