//! What is there after a stop, a kill, a torn write, a lost or damaged file.
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use forebay_store::{Id, Log, Recovered, Wait};
use support::*;

/// Ids and data of three entries and a piece, so small that each byte of their
/// records can be damaged in turn.
fn some() -> Vec<(Id, Vec<u8>, Vec<u8>)> {
    let lengths = [(3, 20), (0, 0), (17, 100), (5, 61)];
    let all = (1u64..).zip(lengths);
    all.map(|(key, (meta, data))| (id(key, 1), noise(key, meta), noise(key + 10, data)))
        .collect()
}

/// Writes them and ends without closing. Gives where each record ends.
fn write_some(path: &Path) -> Vec<usize> {
    let log = open(path);
    let ends = some().into_iter().map(|(id, meta, data)| {
        let place = append(&log, id, &meta, &data);
        (place.offset + place.bytes) as usize
    });
    ends.collect()
}

/// Reads everything that is found; whatever is read must be what was written.
fn check_some(log: &Log, context: &str) -> Vec<bool> {
    let there = some().into_iter().map(|(id, meta, data)| {
        let Some(place) = place_of(log, id) else {
            return false;
        };
        match log.extent(place).unwrap().read(Wait::Yes) {
            Ok(record) => {
                let record = record.unwrap();
                assert_eq!(record.id, id, "{context}");
                assert_eq!(
                    (&record.meta[..], joined(&record)),
                    (&meta[..], data),
                    "{context}"
                );
                true
            }
            Err(_) => false,
        }
    });
    there.collect()
}

#[test]
fn after_a_clean_stop_everything_is_there_and_no_record_is_looked_at() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path());
    for key in 0..300 {
        append(&log, id(key, 0), b"meta", &noise(key, 400));
    }
    log.append(&[piece(id(5, 0), b"", &[b"piece"])]).unwrap();
    let before = log.figures();
    log.close().unwrap();
    drop(log);
    let log = open(directory.path());
    assert!(!log.is_recovered());
    let recovered = recover(&log);
    let expected = Recovered {
        segments: before.segments,
        entries: 300,
        pieces: 1,
        ..Recovered::default()
    };
    assert_eq!(recovered, expected);
    assert!(log.is_recovered());
    assert_eq!(log.figures().live_bytes, before.live_bytes);
    for key in 0..300 {
        let place = place_of(&log, id(key, 0)).unwrap();
        assert_eq!(joined(&read(&log, place)), noise(key, 400));
    }
}

#[test]
fn after_a_kill_the_open_segment_is_read_once_and_closed() {
    let directory = tempfile::tempdir().unwrap();
    for key in 0..100 {
        // Each time killed and started again: nothing is lost, and little
        // space is taken.
        let log = reopen(directory.path());
        append(&log, id(key, 0), b"meta", &noise(key, 1000));
    }
    assert!(taken(directory.path()) < 100 * 4096 + SEGMENT + 4096);
    let log = open(directory.path());
    let recovered = recover(&log);
    assert_eq!((recovered.entries, recovered.scanned), (100, 1));
    drop(log);
    assert_eq!(recover(&open(directory.path())).scanned, 0);
}

/// A write that was torn, or lost, at every byte.
#[test]
fn a_file_that_ends_at_any_byte_has_all_that_came_before() {
    let directory = tempfile::tempdir().unwrap();
    let ends = write_some(directory.path());
    let path = &files(directory.path())[&1];
    let whole = fs::read(path).unwrap();
    let last = *ends.last().unwrap();
    for cut in 64..=last {
        for length in [cut, whole.len()] {
            // Cut off, or nothing but zeros from there on.
            let mut bytes = whole[..cut].to_vec();
            bytes.resize(length, 0);
            let _ = fs::remove_dir_all(directory.path());
            fs::create_dir(directory.path()).unwrap();
            fs::write(path, bytes).unwrap();
            let log = reopen(directory.path());
            let context = format!("cut at {cut} of {length}");
            let there = check_some(&log, &context);
            for (n, end) in ends.iter().enumerate() {
                // What is cut off may happen to be zeros.
                let whole_without = whole[cut.min(*end)..*end].iter().all(|byte| *byte == 0);
                let expected = *end <= cut || (length > cut && whole_without);
                assert_eq!(there[n], expected, "{context}, record {n}");
            }
            append(&log, id(99, 9), b"", b"goes on");
            drop(log);
            let log = reopen(directory.path());
            assert_eq!(check_some(&log, &context), there);
            assert_eq!(
                joined(&read(&log, place_of(&log, id(99, 9)).unwrap())),
                b"goes on"
            );
        }
    }
}

#[test]
fn any_damaged_byte_costs_at_most_its_record_and_what_is_behind_a_damaged_head() {
    let directory = tempfile::tempdir().unwrap();
    let ends = write_some(directory.path());
    let path = &files(directory.path())[&1];
    let whole = fs::read(path).unwrap();
    for at in 64..*ends.last().unwrap() {
        for damage in [whole[at] ^ 1, whole[at] ^ 0x80, 0, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] = damage;
            fs::write(path, &bytes).unwrap();
            let log = reopen(directory.path());
            let there = check_some(&log, &format!("byte {at}"));
            let hit = ends.iter().filter(|end| **end <= at).count();
            assert!(there[..hit].iter().all(|there| *there), "byte {at}");
            let start = if hit == 0 { 64 } else { ends[hit - 1] };
            if at >= start + 48 {
                assert!(there[hit + 1..].iter().all(|there| *there), "byte {at}");
            }
            drop(log);
            fs::remove_file(directory.path().join("lock")).unwrap();
        }
    }
}

#[test]
fn a_damaged_byte_in_a_closed_segment_is_never_read_as_data() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("0000000001.seg");
    write_some(directory.path());
    let log = reopen(directory.path());
    log.close().unwrap();
    drop(log);
    let whole = fs::read(&path).unwrap();
    assert!(whole.len() < 1000, "it was cut to its length");
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        fs::write(&path, &bytes).unwrap();
        let log = reopen(directory.path());
        let there = check_some(&log, &format!("byte {at}"));
        let lost = there.iter().filter(|there| !**there).count();
        // The head of the file costs all, a record itself, the footer nothing.
        assert!(
            if at < 64 { lost == 4 } else { lost <= 1 },
            "byte {at}: {lost}"
        );
    }
}

#[test]
fn a_lost_footer_or_any_part_of_it_costs_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let ends = write_some(directory.path());
    let log = reopen(directory.path());
    log.close().unwrap();
    drop(log);
    let path = &files(directory.path())[&1];
    let whole = fs::read(path).unwrap();
    for cut in *ends.last().unwrap()..whole.len() {
        fs::write(path, &whole[..cut]).unwrap();
        let log = open(directory.path());
        assert_eq!(recover(&log).scanned, 1);
        assert_eq!(check_some(&log, "footer"), [true; 4]);
    }
}

#[test]
fn an_older_copy_does_not_come_back() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path());
    for round in 0..200u64 {
        append(&log, id(round % 7, 0), b"", &noise(round, 1000));
    }
    drop(log);
    let log = reopen(directory.path());
    for key in 0..7u64 {
        let newest = (0..200).rev().find(|round| round % 7 == key).unwrap();
        let place = place_of(&log, id(key, 0)).unwrap();
        assert_eq!(joined(&read(&log, place)), noise(newest, 1000));
    }
    assert_eq!(log.entries(), 7);
}

#[test]
fn what_is_appended_or_removed_before_recovery_stays_so_after_it() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path());
    for key in 0..10 {
        append(&log, id(key, 0), b"", b"old");
    }
    drop(log);
    let log = open(directory.path());
    append(&log, id(3, 0), b"", b"new");
    assert!(!log.remove(id(4, 0), None));
    append(&log, id(5, 0), b"", b"new");
    assert!(log.remove(id(5, 0), None));
    assert_eq!(recover(&log).entries, 7);
    assert_eq!(
        joined(&read(&log, place_of(&log, id(3, 0)).unwrap())),
        b"new"
    );
    assert_eq!(place_of(&log, id(4, 0)), None);
    assert_eq!(place_of(&log, id(5, 0)), None);
    assert_eq!(
        joined(&read(&log, place_of(&log, id(6, 0)).unwrap())),
        b"old"
    );
}

#[test]
fn recovery_stops_when_told() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path());
    append(&log, id(1, 0), b"", b"data");
    drop(log);
    let log = open(directory.path());
    assert!(log.recover(&AtomicBool::new(true)).stopped);
    assert!(!log.is_recovered());
    assert_eq!(recover(&log).entries, 1);
}

#[test]
fn files_that_are_not_segments_are_left_alone_and_damaged_ones_go() {
    let directory = tempfile::tempdir().unwrap();
    write_some(directory.path());
    let file = |name: &str| directory.path().join(name);
    fs::write(file("notes.txt"), "mine").unwrap();
    fs::write(file("0000000007.seg"), "not a segment").unwrap();
    fs::write(file("0000000008.seg"), [0; 4096]).unwrap();
    fs::copy(file("0000000001.seg"), file("0000000005.seg")).unwrap();
    let log = reopen(directory.path());
    assert_eq!(check_some(&log, "others"), [true; 4]);
    assert_eq!(files(directory.path()).into_keys().collect::<Vec<_>>(), [1]);
    assert!(file("notes.txt").exists());
    // A number is not used again, even if its file was of no use.
    assert_eq!(append(&log, id(50, 0), b"", b"").segment, 9);
}

#[test]
fn a_smaller_size_drops_the_oldest() {
    let directory = tempfile::tempdir().unwrap();
    let log = open_sized(directory.path(), 4 << 20, 64 << 10);
    let places: BTreeMap<u64, _> = (0..100)
        .map(|key| (key, append(&log, id(key, 0), b"", &noise(key, 30_000))))
        .collect();
    log.close().unwrap();
    drop(log);
    let log = open_sized(directory.path(), 1 << 20, 64 << 10);
    assert!(taken(directory.path()) <= 1 << 20);
    let left: Vec<u64> = files(directory.path()).into_keys().collect();
    recover(&log);
    assert!(left.len() > 10);
    for (key, place) in places {
        assert_eq!(
            place_of(&log, id(key, 0)).is_some(),
            place.segment >= left[0]
        );
    }
}
