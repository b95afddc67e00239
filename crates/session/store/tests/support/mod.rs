//! A store and its clients, without sockets.

#![allow(dead_code, clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver, Sender};

use forebay_session::{
    Access, Backend, Calls, Connection, Counts, Limits, Progress, State, Ticket, Traffic,
};
use forebay_session_store::{Disk, Durability, Full, Handle, Options, Recovered, Store};

/// The tests' clock, in unix seconds: ahead of the real one, which upkeep goes by.
pub(crate) const NOW_S: u32 = 2_100_000_000;

pub(crate) fn in_memory(memory_bytes: u64, full: Full) -> Options {
    Options {
        name: "test".into(),
        memory_bytes,
        full,
        item_bytes: 256 << 10,
        quota_bytes: None,
        max_connections: 100,
        port: 0,
        disk: None,
    }
}

pub(crate) fn on_disk(
    path: &Path,
    memory_bytes: u64,
    full: Full,
    durability: Durability,
) -> Options {
    Options {
        disk: Some(Disk {
            path: path.into(),
            durability,
            segment_bytes: Some(256 << 10),
        }),
        ..in_memory(memory_bytes, full)
    }
}

/// Opens a store and reads its log.
pub(crate) fn open(options: Options) -> (Arc<Store>, Recovered) {
    let store = Store::open(options).unwrap();
    let recovered = store.recover(&AtomicBool::new(false)).unwrap();
    store.start().unwrap();
    (store, recovered)
}

/// What calls a client's thread.
struct Bell(Sender<Option<Ticket>>);

impl Calls for Bell {
    fn call(&self, ticket: Ticket) {
        let _ = self.0.send(Some(ticket));
    }

    fn progressed(&self) {
        let _ = self.0.send(None);
    }
}

/// A client of a store.
pub(crate) struct Client {
    store: Arc<Store>,
    handle: Handle,
    connection: Connection,
    counts: Counts,
    calls: Receiver<Option<Ticket>>,
    pub(crate) now_s: u32,
    /// How often it had to wait.
    pub(crate) waits: usize,
}

impl Client {
    pub(crate) fn of(store: &Arc<Store>) -> Self {
        let (sender, calls) = mpsc::channel();
        let handle = store.engine(Arc::new(Bell(sender)), Arc::new(Traffic::default()));
        let limits = Limits {
            item_bytes: 256 << 10,
            ..Limits::default()
        };
        Self {
            store: Arc::clone(store),
            handle,
            connection: Connection::new(limits, Access::Open),
            counts: Counts::default(),
            calls,
            now_s: NOW_S,
            waits: 0,
        }
    }

    /// Sends bytes, and returns everything that is answered to them.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> Vec<u8> {
        let (mut input, mut answer) = (bytes.to_vec(), Vec::new());
        loop {
            let (handle, now_s) = (&self.handle, self.now_s);
            let taken = self
                .connection
                .take(&input, handle, now_s, &mut answer, &mut self.counts);
            input.drain(..taken.consumed);
            while self.store.progress(taken.commit) == Progress::Pending {
                self.store.push(taken.commit);
                self.waits += 1;
                self.calls.recv().unwrap();
            }
            assert_eq!(self.store.progress(taken.commit), Progress::Durable);
            match taken.state {
                State::Full => {}
                State::Wait(ticket) => {
                    self.waits += 1;
                    while self.calls.recv().unwrap() != Some(ticket) {}
                    self.connection.resume(ticket);
                }
                State::Close | State::More { .. } => return answer,
            }
        }
    }

    /// The same, as text.
    pub(crate) fn say(&mut self, text: &str) -> String {
        String::from_utf8_lossy(&self.send(text.as_bytes())).into_owned()
    }

    pub(crate) fn set(&mut self, key: &str, value: &[u8], expires_s: u32) -> String {
        let mut command = format!("set {key} 7 {expires_s} {}\r\n", value.len()).into_bytes();
        command.extend_from_slice(value);
        command.extend_from_slice(b"\r\n");
        String::from_utf8_lossy(&self.send(&command)).into_owned()
    }

    pub(crate) fn get(&mut self, key: &str) -> Option<Vec<u8>> {
        let answer = self.send(format!("get {key}\r\n").as_bytes());
        if answer == b"END\r\n" {
            return None;
        }
        let head = answer.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let line = String::from_utf8_lossy(&answer[..head]).into_owned();
        let length: usize = line.split_whitespace().nth(3).unwrap().parse().unwrap();
        assert_eq!(&answer[head + length..], b"\r\nEND\r\n", "{line}");
        Some(answer[head..head + length].to_vec())
    }
}

/// A value that says whose it is.
pub(crate) fn value_of(key: u32, version: u32, len: usize) -> Vec<u8> {
    let mut value = format!("{key}/{version}/").into_bytes();
    let mut state = key.wrapping_mul(2_654_435_761) ^ version;
    value.resize_with(len.max(value.len()), || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    });
    value
}
