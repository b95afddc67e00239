//! The write-ahead log and what can happen to its files: torn ends, damaged
//! bytes, later versions.
#![allow(clippy::unwrap_used)]

mod wal_support;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use forebay_store::wal::{OpenError, Sync, Wait, Wal};
use proptest::prelude::*;
use wal_support::*;

/// Where the records of a segment begin.
const FIRST: usize = 4096;

fn records() -> Vec<Vec<u8>> {
    let lengths = [3_usize, 0, 1, 7, 8, 9, 60, 33];
    lengths.iter().map(|n| noise(*n as u64, *n)).collect()
}

/// Where the payloads end in the file, and where the records do.
fn ends() -> Vec<(usize, usize)> {
    let mut at = FIRST;
    let ends = records().into_iter().map(|record| {
        let payload = at + 16 + record.len();
        at = payload.next_multiple_of(8);
        (payload, at)
    });
    ends.collect()
}

/// A log of one segment, and the bytes of that.
fn written(path: &Path) -> (PathBuf, Vec<u8>) {
    let wal = open(path, Sync::Always);
    for record in records() {
        wal.append(&[&record]);
    }
    wal.close().unwrap();
    let file = file(path, 1);
    let bytes = fs::read(&file).unwrap();
    (file, bytes)
}

fn payloads(path: &Path) -> (Vec<Vec<u8>>, forebay_store::wal::Recovered) {
    let (_wal, found, recovered) = reopen(path);
    (found.into_iter().map(|one| one.1).collect(), recovered)
}

#[test]
fn a_log_cut_at_any_byte_has_all_that_came_before_and_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let (file, whole) = written(directory.path());
    for cut in (0..FIRST).step_by(32).chain(FIRST..=whole.len()) {
        Wal::clear(directory.path()).unwrap();
        fs::write(&file, &whole[..cut]).unwrap();
        let before = ends().iter().filter(|(payload, _)| *payload <= cut).count();
        let (wal, found, recovered) = reopen(directory.path());
        let found: Vec<_> = found.into_iter().map(|one| one.1).collect();
        assert_eq!(found, records()[..before], "cut at {cut}");
        assert_eq!(recovered.damaged_records, 0, "cut at {cut}");
        wal.append(&[b"next"]);
        wal.close().unwrap();
        drop(wal);
        let (found, recovered) = payloads(directory.path());
        assert_eq!(found[..before], records()[..before], "cut at {cut}");
        assert_eq!(found[before..], [b"next".to_vec()], "cut at {cut}");
        assert!(!recovered.torn, "cut at {cut}");
    }
}

#[test]
fn a_flipped_or_zeroed_byte_loses_one_record_at_most_and_invents_none() {
    let directory = tempfile::tempdir().unwrap();
    let (file, whole) = written(directory.path());
    let ends = ends();
    for at in 0..whole.len() {
        for damage in [whole[at] ^ 0x40, 0] {
            let mut bytes = whole.clone();
            bytes[at] = damage;
            fs::write(&file, &bytes).unwrap();
            let (found, recovered) = payloads(directory.path());
            let mut expected = records();
            let hit = ends.iter().position(|(_, end)| at < *end);
            if at >= FIRST && damage != whole[at] && hit.is_some_and(|n| at < ends[n].0) {
                expected.remove(hit.unwrap());
                let told = recovered.damaged_records == 1 || recovered.torn;
                assert!(told, "byte {at}: {recovered:?}");
            } else {
                assert_eq!(recovered.damaged_records, 0, "byte {at}");
            }
            assert_eq!(found, expected, "byte {at}");
        }
    }
}

#[test]
fn blocks_that_were_not_written_in_order_lose_what_they_held() {
    let directory = tempfile::tempdir().unwrap();
    let wal = open(directory.path(), Sync::Always);
    for n in 0..40 {
        wal.append(&[&noise(n, 1_000)]);
    }
    wal.close().unwrap();
    drop(wal);
    let file = file(directory.path(), 1);
    let mut bytes = fs::read(&file).unwrap();
    let end = bytes.len();
    bytes[8192..12288].fill(0);
    bytes[end - 100..].fill(0);
    bytes.resize(64 << 10, 0);
    fs::write(&file, &bytes).unwrap();
    let (found, recovered) = payloads(directory.path());
    // A record takes 1,016 bytes: the hole touches the fifth to the ninth.
    let expected: Vec<_> = (0..4).chain(9..39).map(|n| noise(n, 1_000)).collect();
    assert!(found == expected);
    assert!(recovered.torn);
    assert!(recovered.damaged_records >= 1);
    assert_eq!(recovered.damaged_bytes, 5 * 1_016);
    assert_eq!(
        fs::metadata(&file).unwrap().len(),
        (FIRST + 39 * 1_016) as u64
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn whatever_lies_on_the_disk_only_what_was_appended_comes_back(
        damage in proptest::collection::vec((0_usize..12_000, 0_usize..3_000, any::<u8>()), 1..6),
        cut in 0_usize..14_000,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let wal = open(directory.path(), Sync::Never(Duration::from_secs(3600)));
        let all: Vec<_> = (0..40).map(|n| noise(n, (n * 37 % 500) as usize)).collect();
        for record in &all {
            wal.append(&[record]);
        }
        drop(wal);
        let file = file(directory.path(), 1);
        let mut bytes = fs::read(&file).unwrap();
        for (from, length, value) in damage {
            let end = bytes.len().min(from + length);
            bytes[from.min(end)..end].fill(value);
        }
        bytes.truncate(cut);
        fs::write(&file, bytes).unwrap();
        let mut expected = all.iter();
        for payload in payloads(directory.path()).0 {
            prop_assert!(expected.any(|one| *one == payload));
        }
    }
}

#[test]
fn a_value_that_looks_like_a_record_is_not_taken_for_one() {
    let directory = tempfile::tempdir().unwrap();
    let (file, whole) = written(directory.path());
    // A client that knew the format, the place and the number of the segment,
    // but not the number that this segment drew.
    let wal = open(directory.path(), Sync::Always);
    let payload = &whole[FIRST..FIRST + 24];
    let place = wal.append(&[payload, payload, payload]);
    wal.close().unwrap();
    drop(wal);
    fs::remove_file(file).unwrap();
    let second = wal_support::file(directory.path(), place.segment);
    let mut bytes = fs::read(&second).unwrap();
    bytes[FIRST] ^= 1;
    fs::write(&second, &bytes).unwrap();
    assert!(payloads(directory.path()).0.is_empty());
}

#[test]
fn a_file_that_is_no_segment_any_more_is_kept_under_another_name() {
    let directory = tempfile::tempdir().unwrap();
    let (file, mut bytes) = written(directory.path());
    bytes[..FIRST].fill(1);
    fs::write(&file, &bytes).unwrap();
    let (found, recovered) = payloads(directory.path());
    assert!(found.is_empty());
    assert_eq!(recovered.set_aside, 1);
    let aside = directory.path().join("0000000001.wal.damaged");
    assert_eq!(fs::read(aside).unwrap(), bytes);
}

#[test]
fn a_later_version_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let (file, mut bytes) = written(directory.path());
    for at in [0, 2048] {
        bytes[at + 8] = 2;
        let sum = crc32c::crc32c(&bytes[at..at + 12]);
        bytes[at + 12..at + 16].copy_from_slice(&sum.to_le_bytes());
    }
    fs::write(&file, &bytes).unwrap();
    let error = Wal::open(options(directory.path(), Sync::Always))
        .err()
        .unwrap();
    assert!(
        matches!(error, OpenError::Version { found: 2, .. }),
        "{error}"
    );
    assert_eq!(fs::read(&file).unwrap(), bytes);
}

#[test]
fn a_damaged_record_is_not_read() {
    let directory = tempfile::tempdir().unwrap();
    let (file, mut bytes) = written(directory.path());
    bytes[FIRST + 16] ^= 1;
    fs::write(&file, &bytes).unwrap();
    let (wal, _recovery) = Wal::open(options(directory.path(), Sync::Always)).unwrap();
    let place = forebay_store::wal::Place {
        segment: 1,
        offset: FIRST as u32,
        bytes: 3,
    };
    let mut out = Vec::new();
    assert!(wal.read(place, Wait::Yes, &mut out).is_err());
    assert!(out.is_empty());
    assert_eq!(wal.figures().corrupt, 1);
}
