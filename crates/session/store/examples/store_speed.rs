//! How fast a store is without sockets: a million small keys written and read, and a million
//! sessions of 1 KB read back at a start. Processor time of the whole process, log included.
//!
//! ```text
//! taskset -c 1 cargo run --release -p forebay-session-store --example store_speed [DIRECTORY]
//! ```

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use forebay_session::{
    Answer, Backend, Calls, Done, Engine, Mode, Op, Request, Store as Put, Ticket, Traffic,
};
use forebay_session_store::{Disk, Durability, Full, Handle, Options, Store};

const COUNT: u64 = 1_000_000;
const NOW_S: u32 = 1_700_000_000;

struct Nobody;

impl Calls for Nobody {
    fn call(&self, _: Ticket) {}
    fn progressed(&self) {}
}

fn main() {
    let directory = std::env::args().nth(1).map(PathBuf::from);
    let directory = directory.unwrap_or_else(|| std::env::temp_dir().join("forebay-speed"));
    let _ = std::fs::remove_dir_all(&directory);
    let (small, large) = (directory.join("small"), directory.join("large"));
    {
        let (store, handle) = open(&small);
        measure("write 1,000,000 keys of 8 bytes", || {
            write(&handle, 8, &[b'v'; 8]);
        });
        measure("read them", || read(&handle));
        measure("read them again", || read(&handle));
        measure("write them again", || write(&handle, 8, &[b'w'; 8]));
        store.stop().unwrap();
    }
    {
        let (store, handle) = open(&large);
        measure("write 1,000,000 sessions of 1 KB", || {
            write(&handle, 16, &[b'v'; 1024]);
        });
        store.stop().unwrap();
    }
    measure("read them back at a start", || {
        let (store, _) = open(&large);
        assert_eq!(store.figures().table.items, COUNT);
        std::mem::forget(store);
    });
    let _ = std::fs::remove_dir_all(&directory);
}

fn open(path: &Path) -> (Arc<Store>, Handle) {
    let store = Store::open(Options {
        name: "speed".into(),
        memory_bytes: 2 << 30,
        full: Full::Spill,
        item_bytes: 1 << 20,
        quota_bytes: None,
        max_connections: 1,
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
    let handle = store.engine(Arc::new(Nobody), Arc::new(Traffic::default()));
    (store, handle)
}

fn write(handle: &Handle, key_len: usize, value: &[u8]) {
    let mut key = [b'k'; 64];
    for number in 0..COUNT {
        key[..8].copy_from_slice(&number.to_be_bytes());
        let op = Op::Store(Put {
            mode: Mode::Set,
            cas: None,
            invalidate: false,
            encoded: false,
            flags: 0,
            expires_s: 0,
            value,
        });
        loop {
            let request = Request {
                key: &key[..key_len],
                op,
                now_s: NOW_S,
                resumed: None,
                number: None,
            };
            let stored = |answer: Answer<'_>| assert!(matches!(answer, Answer::Stored { .. }));
            match handle.apply(request, &mut { stored }) {
                Done::Ready(_) => break,
                Done::Pending(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }
}

fn read(handle: &Handle) {
    for number in 0..COUNT {
        let key = number.to_be_bytes();
        let request = Request {
            key: &key,
            op: Op::Get,
            now_s: NOW_S,
            resumed: None,
            number: None,
        };
        let found = |answer: Answer<'_>| assert!(matches!(answer, Answer::Found { .. }));
        handle.apply(request, &mut { found });
    }
}

fn measure(what: &str, work: impl FnOnce()) {
    let (began, cpu) = (Instant::now(), cpu_time());
    work();
    println!(
        "{what:<40} {:6.3} s, {:6.3} s of the processor",
        began.elapsed().as_secs_f64(),
        (cpu_time() - cpu).as_secs_f64()
    );
}

/// Processor time of this process so far, to a hundredth of a second.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split(' ').collect();
    let ticks: u64 = [fields[12], fields[13]]
        .map(|n| n.parse::<u64>().unwrap())
        .iter()
        .sum();
    Duration::from_millis(ticks * 10)
}
