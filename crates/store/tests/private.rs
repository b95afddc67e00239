//! What clients said is for the eyes of the process's own user alone.

#![allow(clippy::unwrap_used)]

mod support;
mod wal_support;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use forebay_store::Journal;
use forebay_store::wal::Sync;
use support::{entry, id, open_sized};

/// Asserts it of a directory and what is in it, which are `least` files or more.
fn assert_private(path: &Path, least: usize) {
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path), 0o700, "{}", path.display());
    let files = fs::read_dir(path).unwrap().map(|file| file.unwrap().path());
    let files: Vec<_> = files.collect();
    assert!(files.len() >= least, "{files:?}");
    for file in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[test]
fn nobody_else_reads_a_write_ahead_log_or_its_snapshot() {
    let directory = tempfile::tempdir().unwrap();
    let (path, copy) = (
        directory.path().join("a/log"),
        directory.path().join("b/copy"),
    );
    fs::create_dir(directory.path().join("b")).unwrap();
    let wal = wal_support::open(&path, Sync::Always);
    wal.append(&[b"one"]);
    wal.sync().unwrap();
    wal.snapshot(&copy).unwrap();
    assert_private(&path, 2);
    assert_private(&copy, 1);
}

#[test]
fn nobody_else_reads_a_log_or_a_journal() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let log = open_sized(&path, 8 << 20, 1 << 20);
    log.append(&[entry(id(1, 9), b"meta", &[b"data"])]).unwrap();
    let (journal, _) = Journal::open(&path.join("journal")).unwrap();
    journal.append(b"one").unwrap();
    assert_private(&path, 3);
    journal.rewrite(&[b"two"]).unwrap();
    assert_private(&path, 3);
}
