//! The end of the process at any moment. In a program of its own: a child that
//! is being started holds the locks of all logs for a moment.
#![allow(clippy::unwrap_used)]

mod wal_support;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::*};

use forebay_store::wal::{Sync, Wal};
use wal_support::*;

/// Threads of the child, each with records of its own.
const THREADS: u64 = 4;

/// Not a test of its own: what the next one ends in the middle of its work.
#[test]
fn child_that_is_killed() {
    let Some(path) = std::env::var_os("FOREBAY_WAL_CHILD") else {
        return;
    };
    let wal = open(Path::new(&path), Sync::Always);
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                // An end, should the parent have gone.
                while next.load(Relaxed) < 500_000 {
                    let n = next.fetch_add(1, Relaxed);
                    wal.append(&[&n.to_le_bytes(), &noise(n, (n % 3_000) as usize)]);
                    wal.wait(wal.position()).unwrap();
                    println!("\nkept {n}");
                }
            });
        }
    });
}

#[test]
fn what_was_acknowledged_before_a_kill_is_there_after_it() {
    let directory = tempfile::tempdir().unwrap();
    for wanted in [1, 100, 1_500] {
        Wal::clear(directory.path()).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child_that_is_killed", "--nocapture"])
            .env("FOREBAY_WAL_CHILD", directory.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut kept: Vec<u64> = Vec::new();
        while let Some(line) = lines.next().and_then(Result::ok) {
            kept.extend(
                line.strip_prefix("kept ")
                    .and_then(|n| n.parse::<u64>().ok()),
            );
            if kept.len() == wanted {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        assert!(kept.len() >= wanted);
        let (_wal, found, recovered) = reopen(directory.path());
        assert_eq!(recovered.damaged_records, 0);
        let mut there = BTreeSet::new();
        for (_, payload) in found {
            let n = u64::from_le_bytes(payload[..8].try_into().unwrap());
            assert!(payload[8..] == noise(n, (n % 3_000) as usize));
            there.insert(n);
        }
        assert!(kept.iter().all(|n| there.contains(n)), "{wanted}");
    }
}
