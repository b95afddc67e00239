//! Tests of what happens when the disk is full or fails, with errors put in the
//! way of writes.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::io::Errno;

use crate::{Id, Kind, Log, New, Options, Place, ReadError, Verdict, Wait, WriteError};

const SEGMENT: u64 = 32 << 10;

fn open(path: &Path, size_bytes: u64) -> Arc<Log> {
    Log::open(Options {
        path: path.to_path_buf(),
        size_bytes,
        segment_bytes: Some(SEGMENT),
    })
    .unwrap()
}

fn append(log: &Log, key: u64) -> Result<Place, WriteError> {
    let data = vec![key as u8; 5_000];
    let slices = [&data[..]];
    let new = New {
        id: Id { key, variant: 0 },
        kind: Kind::Entry,
        meta: b"meta",
        data: &slices,
    };
    log.append(&[new]).map(|places| places[0])
}

/// Appends entries and gives the place of the last.
fn fill(log: &Log, keys: std::ops::Range<u64>) -> Option<Place> {
    keys.fold(None, |_, key| Some(append(log, key).unwrap()))
}

fn fault(log: &Log, errno: Errno) {
    *log.health.fault.lock() = Some(errno);
}

/// Reads what the index has; it must be what was appended.
fn readable(log: &Log, keys: std::ops::Range<u64>) -> Vec<u64> {
    let there = keys.filter(|key| {
        let found = log.find(*key);
        let Some(hit) = found.first() else {
            return false;
        };
        let extent = log.extent(hit.place).unwrap();
        let record = extent.read(Wait::Yes).unwrap().unwrap();
        assert_eq!(record.data.concat(), vec![*key as u8; 5_000]);
        true
    });
    there.collect()
}

#[test]
fn a_full_disk_lowers_the_limit_and_the_log_goes_on_with_what_it_has() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), 1 << 20);
    // Six to a segment: the next one needs a new segment.
    fill(&log, 0..18);
    let before = log.figures();
    assert!(!log.needs_reclaim());
    fault(&log, Errno::NOSPC);
    assert!(matches!(append(&log, 18), Err(WriteError::Full)));
    let figures = log.figures();
    assert!(!figures.failed);
    assert!(figures.limit_bytes < before.limit_bytes);
    assert_eq!(figures.segments, before.segments);
    assert!(log.needs_reclaim());
    assert_eq!(log.reclaim(&mut |_| Verdict::Drop).dropped, 6);
    append(&log, 18).unwrap();
    assert_eq!(readable(&log, 0..19), (6..19).collect::<Vec<_>>());
    assert!(log.figures().limit_bytes > figures.limit_bytes);
}

#[test]
fn a_disk_that_is_full_in_the_middle_of_a_record_keeps_what_came_before() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), 1 << 20);
    fill(&log, 0..3);
    fault(&log, Errno::NOSPC);
    assert!(matches!(append(&log, 3), Err(WriteError::Full)));
    assert_eq!(readable(&log, 0..4), [0, 1, 2]);
    log.reclaim(&mut |_| Verdict::Keep);
    append(&log, 4).unwrap();
    drop(log);
    let log = open(directory.path(), 1 << 20);
    log.recover(&AtomicBool::new(false));
    assert_eq!(readable(&log, 4..5), [4]);
}

#[test]
fn a_disk_without_space_for_one_segment_is_tried_again() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), 1 << 20);
    for _ in 0..3 {
        fault(&log, Errno::NOSPC);
        assert!(matches!(append(&log, 1), Err(WriteError::Full)));
        assert_eq!(log.figures().used_bytes, 0);
    }
    append(&log, 1).unwrap();
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 2);
}

#[test]
fn a_footer_without_space_is_left_out_and_costs_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), 1 << 20);
    fill(&log, 0..3);
    fault(&log, Errno::NOSPC);
    log.close().unwrap();
    assert_eq!(readable(&log, 0..3), [0, 1, 2]);
    drop(log);
    let log = open(directory.path(), 1 << 20);
    assert_eq!(log.recover(&AtomicBool::new(false)).scanned, 1);
    assert_eq!(readable(&log, 0..3), [0, 1, 2]);
}

#[test]
fn a_disk_that_fails_is_given_up_with_all_it_has() {
    for errno in [Errno::IO, Errno::ROFS] {
        for writes_before in [0, 1, 5, 6] {
            let directory = tempfile::tempdir().unwrap();
            let log = open(directory.path(), 1 << 20);
            let place = fill(&log, 0..writes_before);
            fault(&log, errno);
            assert!(matches!(append(&log, 9), Err(WriteError::Failed)));
            assert!(log.is_failed());
            assert!(matches!(append(&log, 9), Err(WriteError::Failed)));
            assert!(log.find(9).is_empty());
            if let Some(place) = place {
                let read = log.extent(place).unwrap().read(Wait::Yes);
                assert!(matches!(read, Err(ReadError::Failed)));
            }
        }
    }
}

#[test]
fn a_sync_that_fails_gives_the_disk_up() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), 1 << 20);
    append(&log, 1).unwrap();
    log.sync().unwrap();
    fault(&log, Errno::IO);
    assert!(matches!(log.sync(), Err(WriteError::Failed)));
    assert!(log.is_failed());
}

#[test]
#[ignore = "mounts a small file system, which only root may"]
fn a_real_disk_that_is_smaller_than_the_size() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let run = |program: &str, args: &[&str]| {
        let status = Command::new(program).args(args).arg(path).status();
        assert!(status.unwrap().success(), "{program}");
    };
    run("mount", &["-t", "tmpfs", "-o", "size=600k", "tmpfs"]);
    let log = open(path, 4 << 20);
    for key in 0..2_000 {
        while log.needs_reclaim() {
            log.reclaim(&mut |_| Verdict::Drop);
        }
        match append(&log, key) {
            Ok(_) => {}
            Err(WriteError::Full) => assert!(log.needs_reclaim()),
            Err(error) => panic!("{error}"),
        }
    }
    let there = readable(&log, 0..2_000).len();
    assert!(there > 60, "{there}");
    log.close().unwrap();
    drop(log);
    let log = open(path, 4 << 20);
    log.recover(&AtomicBool::new(false));
    assert_eq!(readable(&log, 0..2_000).len(), there);
    drop(log);
    run("umount", &[]);
}
