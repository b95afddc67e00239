//! What a log promises to those who append, find and read.
#![allow(clippy::unwrap_used)]

mod support;

use std::fs;
use std::process::Command;

use forebay_store::{BLOCK_BYTES, Log, META_MOST, OpenError, Options, ReadError, Wait, WriteError};
use support::*;

#[test]
fn what_was_appended_is_read_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let log = open_sized(directory.path(), 8 << 20, 1 << 20);
    let lengths = [
        0,
        1,
        15,
        16,
        17,
        20_000,
        BLOCK_BYTES - 200,
        BLOCK_BYTES,
        BLOCK_BYTES + 1,
        3 * BLOCK_BYTES + 7,
    ];
    for (key, length) in (0u64..).zip(lengths) {
        for meta_length in [0, 1, 300, 5_000, 70_000] {
            let (meta, data) = (noise(key + 50, meta_length), noise(key, length));
            let (a, b) = data.split_at(length / 3);
            let slices = [a, &[], b];
            let place = log.append(&[entry(id(key, 9), &meta, &slices)]).unwrap()[0];
            let extent = log.extent(place).unwrap();
            let record = extent.read(Wait::Yes).unwrap().unwrap();
            assert_eq!((record.id, &record.meta[..]), (id(key, 9), &meta[..]));
            assert_eq!(joined(&record), data);
            assert!(record.data.iter().all(|chunk| chunk.len() <= BLOCK_BYTES));
            let (whose, read, data_bytes) = extent.read_meta(Wait::Yes).unwrap().unwrap();
            assert_eq!((whose, &read[..]), (id(key, 9), &meta[..]));
            assert_eq!(data_bytes, length as u64);
        }
    }
}

#[test]
fn a_range_is_what_it_is_of_the_data_and_beyond_it_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let log = open_sized(directory.path(), 8 << 20, 1 << 20);
    let length = 2 * BLOCK_BYTES + 100;
    let data = noise(1, length);
    let extent = log.extent(append(&log, id(1, 1), b"meta", &data)).unwrap();
    let block = BLOCK_BYTES as u64;
    let edges = [
        0,
        1,
        block - 1,
        block,
        block + 1,
        2 * block,
        length as u64 - 1,
        length as u64,
    ];
    for from in edges {
        for to in edges.into_iter().filter(|to| *to >= from) {
            let chunks = extent.read_data(from..to, Wait::Yes).unwrap().unwrap();
            assert_eq!(chunks.concat(), data[from as usize..to as usize]);
        }
    }
    for bad in [0..length as u64 + 1, u64::MAX - 1..u64::MAX] {
        assert!(matches!(
            extent.read_data(bad, Wait::Yes),
            Err(ReadError::Range)
        ));
    }
}

#[test]
fn a_range_is_read_although_another_block_is_damaged() {
    let directory = tempfile::tempdir().unwrap();
    let log = open_sized(directory.path(), 8 << 20, 1 << 20);
    let data = noise(1, 3 * BLOCK_BYTES);
    let place = append(&log, id(1, 1), b"", &data);
    let path = &files(directory.path())[&place.segment];
    let mut bytes = fs::read(path).unwrap();
    bytes[place.offset as usize + BLOCK_BYTES + 1000] ^= 1;
    fs::write(path, bytes).unwrap();
    let extent = log.extent(place).unwrap();
    let block = BLOCK_BYTES as u64;
    let third = extent.read_data(2 * block + 5..3 * block, Wait::Yes);
    assert_eq!(
        third.unwrap().unwrap().concat(),
        data[2 * BLOCK_BYTES + 5..]
    );
    for range in [block..block + 1, 0..3 * block, 2 * block - 1..2 * block + 1] {
        let damaged = extent.read_data(range, Wait::Yes);
        assert!(matches!(damaged, Err(ReadError::Corrupt)));
    }
    assert!(matches!(extent.read(Wait::Yes), Err(ReadError::Corrupt)));
    assert_eq!(log.figures().corrupt, 4);
}

#[test]
fn a_newer_entry_replaces_the_older_one_and_keeps_its_heat() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path());
    append(&log, id(5, 1), b"", b"old");
    append(&log, id(5, 2), b"", b"other variant");
    log.touch(id(5, 1));
    let before = log.figures().live_bytes;
    append(&log, id(5, 1), b"", b"new");
    assert_eq!(log.figures().live_bytes, before);
    let found = log.find(5);
    assert_eq!(found.len(), 2);
    let hit = found.iter().find(|hit| hit.id.variant == 1).unwrap();
    assert_eq!(
        (joined(&read(&log, hit.place)), hit.heat),
        (b"new".to_vec(), 1)
    );
    assert!(log.find(6).is_empty());
}

#[test]
fn an_entry_is_removed_only_if_it_is_where_one_thinks() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path());
    let old = append(&log, id(1, 1), b"", b"old");
    let new = append(&log, id(1, 1), b"", b"new");
    assert!(!log.remove(id(1, 1), Some(old)));
    assert!(log.remove(id(1, 1), Some(new)));
    assert!(!log.remove(id(1, 1), None));
    assert_eq!((log.entries(), log.figures().live_bytes), (0, 0));
}

#[test]
fn pieces_are_read_by_their_place_and_not_found() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path());
    let batch = [
        piece(id(1, 1), b"a", &[b"first"]),
        piece(id(1, 1), b"b", &[b"second"]),
    ];
    let places = log.append(&batch).unwrap();
    assert!(log.find(1).is_empty());
    assert_eq!(joined(&read(&log, places[1])), b"second");
    let live = log.figures().live_bytes;
    log.release(places[0]);
    assert_eq!(log.figures().live_bytes, live - u64::from(places[0].bytes));
}

#[test]
fn a_batch_larger_than_a_segment_goes_into_several() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path());
    let data = noise(1, 500);
    let slices: [&[u8]; 2] = [&data[..100], &data[100..]];
    let batch: Vec<_> = (0..400)
        .map(|key| entry(id(key, 0), b"m", &slices))
        .collect();
    let places = log.append(&batch).unwrap();
    assert!(log.figures().segments > 4);
    for (key, place) in (0..400).zip(places) {
        assert_eq!(place_of(&log, id(key, 0)), Some(place));
        assert_eq!(joined(&read(&log, place)), data);
    }
}

#[test]
fn what_does_not_fit_into_a_segment_is_refused_and_the_longest_is_taken() {
    let directory = tempfile::tempdir().unwrap();
    let log = open_sized(directory.path(), 32 << 20, 4 << 20);
    let most = log.record_most() as usize;
    let data = vec![7; most];
    assert!(matches!(
        log.append(&[entry(id(1, 1), b"", &[&data])]),
        Err(WriteError::TooLarge { .. })
    ));
    let longest = &data[..most - 48 - 4 * most.div_ceil(BLOCK_BYTES)];
    let place = append(&log, id(1, 1), b"", longest);
    assert_eq!(u64::from(place.bytes), log.record_most());
    assert_eq!(joined(&read(&log, place)), longest);
    let meta = vec![0; META_MOST + 1];
    assert!(matches!(
        log.append(&[entry(id(1, 1), &meta, &[])]),
        Err(WriteError::TooLarge { .. })
    ));
}

#[test]
fn what_was_just_written_is_read_without_waiting() {
    let directory = tempfile::tempdir().unwrap();
    let log = open_sized(directory.path(), 8 << 20, 1 << 20);
    let data = noise(3, 2 * BLOCK_BYTES);
    for (key, data) in [(1, &data[..]), (2, &data[..20_000])] {
        let extent = log.extent(append(&log, id(key, 0), b"meta", data)).unwrap();
        let whole = extent.read(Wait::No).unwrap();
        let range = extent.read_data(5..10, Wait::No).unwrap();
        let meta = extent.read_meta(Wait::No).unwrap();
        if log.reads_at_once() {
            assert_eq!(joined(&whole.unwrap()), data);
            assert_eq!(range.unwrap().concat(), data[5..10]);
            assert_eq!(&meta.unwrap().1[..], b"meta");
        } else {
            assert!(whole.is_none() && range.is_none() && meta.is_none());
        }
    }
}

#[test]
fn a_place_that_nothing_was_written_to_is_an_error_and_never_a_panic() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path());
    let good = append(&log, id(1, 1), b"meta", &noise(1, 1000));
    append(&log, id(2, 1), b"meta", &noise(1, 1000));
    for offset in [0, 1, 16, 64, 80, 1000, u32::MAX - 15, u32::MAX] {
        for bytes in [0, 1, 16, 48, 1040, 1100, 1 << 30, u32::MAX] {
            let place = forebay_store::Place {
                segment: good.segment,
                offset,
                bytes,
            };
            if place == good {
                continue;
            }
            let extent = log.extent(place).unwrap();
            assert!(extent.read(Wait::Yes).is_err());
            assert!(extent.read_meta(Wait::Yes).is_err());
            assert!(extent.read_data(0..1, Wait::Yes).is_err());
        }
    }
    let elsewhere = forebay_store::Place {
        segment: 99,
        ..good
    };
    assert!(log.extent(elsewhere).is_none());
}

#[test]
fn after_closing_nothing_is_appended_and_everything_read() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path());
    let place = append(&log, id(1, 1), b"", b"data");
    log.close().unwrap();
    assert!(matches!(
        log.append(&[entry(id(2, 1), b"", &[])]),
        Err(WriteError::Closed)
    ));
    assert_eq!(joined(&read(&log, place)), b"data");
    log.close().unwrap();
}

#[test]
fn a_directory_is_not_shared() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path());
    let second = try_open(directory.path());
    let holder = std::process::id();
    assert!(
        matches!(&second, Err(OpenError::Locked { holder: Some(n), .. }) if *n == holder),
        "{second:?}"
    );
    assert!(!opened_by_another_process(directory.path()));
    drop(log);
    assert!(opened_by_another_process(directory.path()));
}

fn try_open(path: &std::path::Path) -> Result<std::sync::Arc<Log>, OpenError> {
    Log::open(Options {
        path: path.to_path_buf(),
        size_bytes: SIZE,
        segment_bytes: None,
    })
}

const DIRECTORY: &str = "FOREBAY_STORE_TEST_DIRECTORY";

/// Runs the test below in a process of its own.
fn opened_by_another_process(path: &std::path::Path) -> bool {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "another_process", "--ignored"])
        .env(DIRECTORY, path)
        .output()
        .unwrap();
    output.status.success()
}

#[test]
#[ignore = "run by a_directory_is_not_shared"]
fn another_process() {
    let path = std::env::var_os(DIRECTORY).unwrap();
    try_open(path.as_ref()).unwrap();
}

#[test]
fn a_later_version_is_refused_and_its_file_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path());
    append(&log, id(1, 1), b"", b"data");
    log.close().unwrap();
    drop(log);
    let path = &files(directory.path())[&1];
    let mut bytes = fs::read(path).unwrap();
    bytes[8] = 2;
    let sum = crc32c::crc32c(&bytes[..12]);
    bytes[12..16].copy_from_slice(&sum.to_le_bytes());
    fs::write(path, &bytes).unwrap();
    let error = try_open(directory.path()).unwrap_err();
    assert!(
        matches!(error, OpenError::Version { found: 2, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("version 2"), "{error}");
    assert_eq!(&fs::read(path).unwrap(), &bytes);
}

#[test]
fn threads_append_and_find_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let log = open_sized(directory.path(), 16 << 20, 64 << 10);
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let log = &log;
            scope.spawn(move || {
                for n in 0..300u64 {
                    // Every thread has keys of its own and one that all write.
                    let data = noise(thread * 1000 + n, 700);
                    let place = append(log, id(thread << 32 | n, 0), b"", &data);
                    append(log, id(u64::MAX, 0), &data[..8], &data);
                    assert_eq!(joined(&read(log, place)), data);
                    let shared = read(log, place_of(log, id(u64::MAX, 0)).unwrap());
                    assert_eq!(shared.meta, joined(&shared)[..8]);
                }
            });
        }
    });
    assert_eq!(log.entries(), 1201);
    let last = place_of(&log, id(u64::MAX, 0));
    drop(log);
    let log = open_sized(directory.path(), 16 << 20, 64 << 10);
    assert_eq!(recover(&log).entries, 1201);
    assert_eq!(place_of(&log, id(u64::MAX, 0)), last);
}
