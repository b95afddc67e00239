//! The log of a session store, with records that are anything: recovery ends well, a value that is
//! there was written for its key, and the next start finds the same.
//!
//! The input is records one behind the other, each with its length in two bytes before it.
#![no_main]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use forebay_session::{
    Answer, Backend, Calls, Done, Engine, KEY_MOST, Op, Request, Ticket, Traffic,
};
use forebay_session_store::{Disk, Durability, Entry, Full, Options, Store};
use forebay_store::wal::{self, Sync, Wal};
use forebay_table::Value;
use libfuzzer_sys::fuzz_target;

/// Ahead of the real clock, so that nothing ends while it is looked at.
const NOW_S: u32 = 2_100_000_000;

type Values<'a> = BTreeMap<&'a [u8], BTreeSet<&'a [u8]>>;

fuzz_target!(|input: &[u8]| {
    let Some((first, rest)) = input.split_first() else {
        return;
    };
    let records = records(rest);
    let directory = written(&records);
    let full = [Full::Evict, Full::Spill, Full::Refuse][usize::from(*first) % 3];
    let mut written = Values::new();
    for record in &records {
        match Entry::read(record) {
            Some(Entry::Put(key, item)) => {
                let Value::Here(value) = item.value else {
                    panic!("a value that is read from the log is elsewhere");
                };
                written.entry(key).or_default().insert(value);
            }
            Some(Entry::Changed { key, .. } | Entry::Removed(key)) => {
                written.entry(key).or_default();
            }
            Some(Entry::Cleared(_) | Entry::ToClear(_)) | None => {}
        }
    }
    let found = start(&directory, full, &written);
    assert_eq!(start(&directory, full, &written), found);
});

/// Starts a store, and returns what it has of the keys.
fn start(directory: &Path, full: Full, written: &Values<'_>) -> Vec<Option<Vec<u8>>> {
    let store = Store::open(Options {
        name: "fuzz".into(),
        memory_bytes: 1 << 20,
        full,
        item_bytes: 100_000,
        quota_bytes: None,
        max_connections: 10,
        port: 0,
        disk: Some(Disk {
            path: directory.into(),
            durability: Durability::Never,
            segment_bytes: Some(64 << 10),
        }),
    })
    .expect("a directory");
    store
        .recover(&AtomicBool::new(false))
        .expect("room for a few kilobytes");
    let engine = store.engine(Arc::new(Nobody), Arc::new(Traffic::default()));
    let found = written.iter().map(|(key, values)| {
        let value = get(&engine, key)?;
        assert!(values.contains(&value[..]), "a value that was not written");
        Some(value)
    });
    let found = found.collect();
    store.stop().expect("a disk");
    found
}

fn get(engine: &impl Engine, key: &[u8]) -> Option<Vec<u8>> {
    let request = Request {
        key,
        op: Op::Peek,
        now_s: NOW_S,
        resumed: None,
        number: None,
    };
    let mut value = None;
    let done = engine.apply(request, &mut |answer| match answer {
        Answer::Found { item, .. } => value = Some(item.value.to_vec()),
        Answer::Missing => {}
        Answer::Failed(_) if key.len() > KEY_MOST => {}
        other => panic!("{other:?}"),
    });
    assert!(matches!(done, Done::Ready(_)), "it is all in memory");
    value
}

fn records(mut input: &[u8]) -> Vec<&[u8]> {
    let mut records = Vec::new();
    while let Some((length, rest)) = input.split_first_chunk() {
        let length = usize::from(u16::from_le_bytes(*length)).min(rest.len());
        let (record, rest) = rest.split_at(length);
        records.push(record);
        input = rest;
    }
    records
}

/// A log with these records, in a directory of this process.
fn written(records: &[&[u8]]) -> PathBuf {
    let memory = Path::new("/dev/shm");
    let base = if memory.is_dir() {
        memory.to_path_buf()
    } else {
        std::env::temp_dir()
    };
    let path = base.join(format!("forebay-fuzz-session-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    let options = wal::Options {
        segment_bytes: Some(64 << 10),
        ..wal::Options::new(&path, Sync::Never(std::time::Duration::from_secs(60)))
    };
    let (log, recovery) = Wal::open(options).expect("a directory");
    recovery.run(&AtomicBool::new(false), |_, _| {});
    for record in records {
        log.append(&[record]);
    }
    log.close().expect("a disk");
    path
}

/// Nothing is waited for.
struct Nobody;

impl Calls for Nobody {
    fn call(&self, _: Ticket) {}

    fn progressed(&self) {}
}
