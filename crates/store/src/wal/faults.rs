//! Tests of a full and of a failing disk, with errors put in the way.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rustix::io::Errno;

use super::disk::Plan;
use super::*;

fn open(path: &Path, sync: Sync) -> Arc<Wal> {
    let options = Options {
        segment_bytes: Some(64 << 10),
        ..Options::new(path, sync)
    };
    let (wal, recovery) = Wal::open(options).unwrap();
    recovery.run(&AtomicBool::new(false), |_, _| {});
    wal
}

fn found(path: &Path) -> (Vec<(Place, Vec<u8>)>, Recovered) {
    let (_wal, recovery) = Wal::open(Options::new(path, Sync::Always)).unwrap();
    let mut found = Vec::new();
    let recovered = recovery.run(&AtomicBool::new(false), |place, payload| {
        found.push((place, payload.to_vec()));
    });
    (found, recovered)
}

fn plan(wal: &Wal, plan: Plan) {
    *wal.core.disk.plan.lock() = plan;
}

fn append(wal: &Wal, numbers: std::ops::Range<u32>) -> Vec<(Place, Vec<u8>)> {
    let records = numbers.map(|n| {
        let payload = n.to_le_bytes().repeat(300);
        (wal.append(&[&payload]), payload)
    });
    records.collect()
}

fn assert_readable(wal: &Wal, records: &[(Place, Vec<u8>)]) {
    let mut out = Vec::new();
    for (place, payload) in records {
        assert!(wal.read(*place, Wait::Yes, &mut out).unwrap());
        assert!(out == *payload);
    }
}

/// Every kind of error: it is told, nothing is lost, and it goes on by itself.
fn survives(sync: Sync, trouble: Plan) {
    let directory = tempfile::tempdir().unwrap();
    let wal = open(directory.path(), sync);
    let mut all = append(&wal, 0..30);
    wal.sync().unwrap();
    plan(&wal, trouble);
    // More than fits into the segment, so that the next one is begun as well.
    all.extend(append(&wal, 30..100));
    let error = wal.sync().unwrap_err();
    assert!(matches!(error, Error::Disk(_)), "{error}");
    assert_eq!(wal.state(), State::Failing);
    assert!(wal.synced() < wal.position());
    all.extend(append(&wal, 100..130));
    assert_readable(&wal, &all);
    assert!(wal.sync().is_err());
    plan(&wal, Plan::default());
    wal.sync().unwrap();
    assert_eq!(wal.state(), State::Good);
    assert_eq!(wal.synced(), wal.position());
    assert_readable(&wal, &all);
    all.extend(append(&wal, 130..140));
    wal.close().unwrap();
    drop(wal);
    let (found, recovered) = found(directory.path());
    assert!(found == all);
    assert!(!recovered.torn && recovered.damaged_records == 0);
}

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn a_disk_too_full_for_another_segment_loses_nothing() {
    for sync in [Sync::Always, Sync::Every(HOUR), Sync::Never(HOUR)] {
        survives(
            sync,
            Plan {
                create: Some(Errno::NOSPC),
                ..Plan::default()
            },
        );
    }
}

#[test]
fn a_write_that_ends_within_a_record_is_continued_there() {
    for some in [0, 1, 17, 5_000, 30_000] {
        for sync in [Sync::Always, Sync::Every(HOUR), Sync::Never(HOUR)] {
            survives(
                sync,
                Plan {
                    write: Some((some, Errno::NOSPC)),
                    ..Plan::default()
                },
            );
        }
    }
}

#[test]
fn a_sync_that_fails_is_not_believed_when_it_is_repeated() {
    // What had been synced before ends at 4096 + 30 * 1216.
    let known = 4096 + 30 * 1216;
    for cut in [None, Some(known)] {
        for sync in [Sync::Always, Sync::Every(HOUR)] {
            survives(
                sync,
                Plan {
                    sync: Some((cut, Errno::IO)),
                    ..Plan::default()
                },
            );
        }
    }
    survives(
        Sync::Never(HOUR),
        Plan {
            sync: Some((None, Errno::IO)),
            ..Plan::default()
        },
    );
}

#[test]
fn a_file_written_anew_leaves_nothing_beside_it() {
    let directory = tempfile::tempdir().unwrap();
    let wal = open(directory.path(), Sync::Always);
    let all = append(&wal, 0..5);
    let failing = Plan {
        sync: Some((None, Errno::IO)),
        ..Plan::default()
    };
    plan(&wal, failing);
    wal.sync().unwrap_err();
    wal.sync().unwrap_err();
    plan(&wal, Plan::default());
    wal.sync().unwrap();
    assert!(wal.figures().rebuilt >= 1);
    assert_readable(&wal, &all);
    let names = fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(names, 2, "the lock and the segment");
}

#[test]
fn without_anybody_asking_the_disk_is_tried_again() {
    let directory = tempfile::tempdir().unwrap();
    let wal = open(directory.path(), Sync::Always);
    let (sender, notices) = std::sync::mpsc::channel();
    wal.notify(Box::new(move || sender.send(()).unwrap_or(())));
    let full = Plan {
        create: Some(Errno::NOSPC),
        ..Plan::default()
    };
    plan(&wal, full);
    append(&wal, 0..3);
    wal.push();
    let most = Duration::from_secs(60);
    while wal.state() != State::Failing {
        notices.recv_timeout(most).unwrap();
    }
    let trouble = wal.trouble().unwrap();
    assert_eq!(trouble.error, Errno::NOSPC);
    assert!(trouble.to_string().contains("creating"));
    plan(&wal, Plan::default());
    while wal.synced() < wal.position() {
        notices.recv_timeout(most).unwrap();
    }
    assert_eq!(wal.state(), State::Good);
}

#[test]
fn closing_on_a_disk_that_refuses_says_so_and_keeps_what_was_synced() {
    let directory = tempfile::tempdir().unwrap();
    let wal = open(directory.path(), Sync::Always);
    let all = append(&wal, 0..3);
    wal.sync().unwrap();
    let full = Plan {
        write: Some((100, Errno::NOSPC)),
        ..Plan::default()
    };
    plan(&wal, full);
    append(&wal, 3..6);
    assert!(matches!(wal.close(), Err(Error::Disk(_))));
    drop(wal);
    let (found, recovered) = found(directory.path());
    assert!(found == all);
    assert!(recovered.torn);
}

#[test]
fn a_segment_is_not_removed_while_what_was_moved_on_is_not_on_disk() {
    let directory = tempfile::tempdir().unwrap();
    let wal = open(directory.path(), Sync::Never(HOUR));
    let all = append(&wal, 0..3);
    wal.roll().unwrap();
    append(&wal, 0..3);
    let failing = Plan {
        sync: Some((None, Errno::IO)),
        ..Plan::default()
    };
    plan(&wal, failing);
    assert!(matches!(wal.remove(1), Err(Error::Disk(_))));
    assert_readable(&wal, &all);
    plan(&wal, Plan::default());
    wal.remove(1).unwrap();
    let read = wal.read(all[0].0, Wait::Yes, &mut Vec::new());
    assert!(matches!(read, Err(ReadError::Gone)));
}

#[test]
fn what_an_earlier_process_left_is_synced_before_a_segment_goes() {
    let directory = tempfile::tempdir().unwrap();
    let wal = open(directory.path(), Sync::Always);
    append(&wal, 0..3);
    wal.roll().unwrap();
    let second = append(&wal, 3..6);
    drop(wal);
    let wal = open(directory.path(), Sync::Always);
    let failing = Plan {
        sync: Some((None, Errno::IO)),
        ..Plan::default()
    };
    plan(&wal, failing);
    assert!(matches!(wal.remove(1), Err(Error::Disk(_))));
    assert_eq!(wal.segments().len(), 2);
    plan(&wal, Plan::default());
    wal.remove(1).unwrap();
    assert_readable(&wal, &second);
    drop(wal);
    assert!(found(directory.path()).0 == second);
}

#[test]
#[ignore = "mounts a small file system, which only root may"]
fn a_real_disk_that_is_full_takes_everything_once_there_is_room() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let run = |program: &str, args: &[&str]| {
        let status = Command::new(program).args(args).arg(path).status();
        assert!(status.unwrap().success(), "{program}");
    };
    run("mount", &["-t", "tmpfs", "-o", "size=600k", "tmpfs"]);
    fs::write(path.join("ballast"), vec![1; 300 << 10]).unwrap();
    let wal = open(path, Sync::Always);
    let all = append(&wal, 0..400);
    assert!(wal.sync().is_err());
    assert_readable(&wal, &all);
    fs::remove_file(path.join("ballast")).unwrap();
    wal.sync().unwrap();
    wal.close().unwrap();
    drop(wal);
    assert!(found(path).0 == all);
    run("umount", &[]);
}
