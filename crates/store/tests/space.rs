//! The configured size, reclaiming, and what readers may rely on meanwhile.
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeSet;

use forebay_store::{Candidate, Id, Log, ReadError, ReclaimOutcome, Verdict, Wait, WriteError};
use support::*;

fn drop_all(log: &Log) -> ReclaimOutcome {
    log.reclaim(&mut |_| Verdict::Drop)
}

/// Appends, reclaiming what must be.
fn append_on(log: &Log, id: Id, data: &[u8], keep: &mut dyn FnMut(Candidate<'_>) -> Verdict) {
    while log.needs_reclaim() {
        assert!(log.reclaim(keep).segment.is_some());
    }
    append(log, id, b"meta", data);
}

#[test]
fn the_size_is_never_exceeded() {
    let directory = tempfile::tempdir().unwrap();
    for start in 0..3u64 {
        // Ended without closing, so that segments of all lengths come about.
        let log = reopen(directory.path());
        for n in 0..2_000u64 {
            let length = (n * 7919 % 12_000) as usize;
            let mut every_third = |candidate: Candidate<'_>| match candidate {
                Candidate::Entry { id, .. } if id.key % 3 == 0 => Verdict::Keep,
                _ => Verdict::Drop,
            };
            append_on(
                &log,
                id(start << 20 | n, 0),
                &noise(n, length),
                &mut every_third,
            );
            if n % 16 == 0 {
                let taken = taken(directory.path());
                assert!(taken <= SIZE, "{taken} bytes");
            }
            let figures = log.figures();
            assert!(figures.used_bytes <= figures.limit_bytes);
        }
        assert!(taken(directory.path()) > SIZE * 3 / 4);
    }
}

#[test]
fn without_reclaiming_the_log_is_full_and_goes_on_when_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path());
    let data = noise(1, 10_000);
    let slices = [&data[..]];
    let mut keys = 0;
    let error = loop {
        match log.append(&[entry(id(keys, 0), b"", &slices)]) {
            Ok(_) => keys += 1,
            Err(error) => break error,
        }
        assert!(keys < 200);
    };
    assert!(matches!(error, WriteError::Full), "{error}");
    assert!(log.needs_reclaim());
    let outcome = drop_all(&log);
    assert_eq!((outcome.segment, outcome.dropped), (Some(1), 3));
    append(&log, id(1000, 0), b"", &data);
    assert!(place_of(&log, id(0, 0)).is_none());
    assert!(place_of(&log, id(keys - 1, 0)).is_some());
    assert_eq!(log.entries(), keys - 3 + 1);
}

#[test]
fn what_is_kept_is_the_same_elsewhere_with_half_its_heat() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path());
    for key in 0..60 {
        append(&log, id(key, 0), &[key as u8], &noise(key, 1000));
    }
    (0..3).for_each(|_| log.touch(id(0, 0)));
    let before = place_of(&log, id(0, 0)).unwrap();
    let mut asked = BTreeSet::new();
    let outcome = log.reclaim(&mut |candidate| {
        let Candidate::Entry {
            id, heat, extent, ..
        } = candidate
        else {
            panic!("there are no pieces");
        };
        let meta = extent.read_meta(Wait::Yes).unwrap().unwrap().1;
        assert_eq!(meta[..], [id.key as u8]);
        asked.insert(id.key);
        if heat > 0 {
            Verdict::Keep
        } else {
            Verdict::Drop
        }
    });
    assert_eq!((outcome.kept, outcome.lost), (1, 0));
    assert_eq!(outcome.kept_bytes, u64::from(before.bytes));
    assert_eq!(asked.len() as u64, outcome.kept + outcome.dropped);
    let found = log.find(0);
    assert!(found[0].place.segment > before.segment);
    assert_eq!(found[0].heat, 1);
    assert_eq!(joined(&read(&log, found[0].place)), noise(0, 1000));
    // And it stays so.
    drop(log);
    let log = reopen(directory.path());
    assert_eq!(joined(&read(&log, log.find(0)[0].place)), noise(0, 1000));
    assert_eq!(log.entries(), 60 - outcome.dropped);
}

#[test]
fn only_what_is_still_referred_to_is_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path());
    for round in 0..2 {
        for key in 0..20 {
            append(&log, id(key, 0), &[round], &noise(key, 1000));
        }
    }
    log.remove(id(19, 0), None);
    for key in 40..80 {
        append(&log, id(key, 0), &[1], &noise(key, 1000));
    }
    let outcome = log.reclaim(&mut |candidate| {
        let Candidate::Entry { id, extent, .. } = candidate else {
            panic!("there are no pieces");
        };
        assert_ne!(id.key, 19);
        assert_eq!(extent.read_meta(Wait::Yes).unwrap().unwrap().1[..], [1]);
        Verdict::Drop
    });
    assert!(outcome.dropped < 20, "{outcome:?}");
}

#[test]
fn an_entry_that_is_replaced_while_it_is_reclaimed_stays_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path());
    for key in 0..40 {
        append(&log, id(key, 0), b"", &noise(key, 1000));
    }
    log.reclaim(&mut |candidate| {
        if let Candidate::Entry { id, .. } = candidate {
            match id.key {
                3 => drop(append(&log, id, b"", b"newer")),
                4 => drop(log.remove(id, None)),
                _ => {}
            }
        }
        Verdict::Keep
    });
    assert!(place_of(&log, id(4, 0)).is_none());
    assert_eq!(
        joined(&read(&log, place_of(&log, id(3, 0)).unwrap())),
        b"newer"
    );
    drop(log);
    let log = reopen(directory.path());
    assert_eq!(
        joined(&read(&log, place_of(&log, id(3, 0)).unwrap())),
        b"newer"
    );
}

#[test]
fn the_owner_of_a_piece_is_asked_while_its_entry_exists() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path());
    let data = noise(1, 3000);
    for key in 0..30 {
        let places = log.append(&[piece(id(key, 0), b"", &[&data])]).unwrap();
        append(&log, id(key, 0), &places[0].to_bytes(), b"");
    }
    log.remove(id(1, 0), None);
    let mut asked = Vec::new();
    let outcome = log.reclaim(&mut |candidate| {
        if let Candidate::Piece {
            id, place, extent, ..
        } = candidate
        {
            asked.push(id.key);
            // The whole object is written anew; its old entry is then not asked for.
            let record = extent.read(Wait::Yes).unwrap().unwrap();
            let data: Vec<&[u8]> = record.data.iter().map(|chunk| &chunk[..]).collect();
            let places = log.append(&[piece(id, b"", &data)]).unwrap();
            append(&log, id, &places[0].to_bytes(), b"");
            assert_eq!(extent.place(), place);
        }
        Verdict::Drop
    });
    assert!(asked.len() > 5 && !asked.contains(&1), "{asked:?}");
    assert_eq!(outcome.pieces, asked.len() as u64);
    assert_eq!(log.entries() + outcome.dropped, 29);
    for key in asked {
        if let Some(place) = place_of(&log, id(key, 0)) {
            let meta = read(&log, place).meta;
            let place = forebay_store::Place::from_bytes(meta[..].try_into().unwrap());
            assert_eq!(joined(&read(&log, place)), data);
        }
    }
}

#[test]
fn a_reader_goes_on_after_its_segment_is_gone_and_its_space_counts_until_then() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path());
    let place = append(&log, id(0, 0), b"meta", &noise(0, 20_000));
    append(&log, id(1, 0), b"", &noise(1, 20_000));
    let extent = log.extent(place).unwrap();
    let before = log.figures().used_bytes;
    let outcome = drop_all(&log);
    assert_eq!(outcome.segment, Some(place.segment));
    assert!(log.extent(place).is_none());
    assert_eq!(log.figures().used_bytes, before);
    let record = extent.read(Wait::Yes).unwrap().unwrap();
    assert_eq!(joined(&record), noise(0, 20_000));
    drop(extent);
    assert!(log.figures().used_bytes < before);
}

#[test]
fn the_open_segment_is_not_reclaimed() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path());
    assert_eq!(drop_all(&log).segment, None);
    append(&log, id(0, 0), b"", b"data");
    assert_eq!(drop_all(&log).segment, None);
    assert!(!log.needs_reclaim());
    assert_eq!(log.entries(), 1);
}

#[test]
fn a_segment_whose_table_is_damaged_leaves_nothing_in_the_index() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path());
    for key in 0..60 {
        append(&log, id(key, 0), b"", &noise(key, 1000));
    }
    let path = &files(directory.path())[&1];
    let length = std::fs::metadata(path).unwrap().len() as usize;
    std::fs::write(path, vec![0; length]).unwrap();
    let outcome = drop_all(&log);
    assert_eq!((outcome.segment, outcome.dropped), (Some(1), 0));
    for key in 0..60 {
        assert!(place_of(&log, id(key, 0)).is_none_or(|place| place.segment != 1));
    }
    assert!(log.entries() < 60);
}

#[test]
fn scanning_gives_the_metas_of_what_is_live() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path());
    for key in 0..60 {
        let meta = noise(key, key as usize * 100);
        append(&log, id(key, 0), &meta, &noise(key, 300));
    }
    log.remove(id(2, 0), None);
    append(&log, id(3, 0), b"", b"");
    let mut seen = BTreeSet::new();
    for segment in log.segments() {
        let scanned = log.scan(segment.number, &mut |id, place, meta| {
            if id.key == 3 {
                assert!(meta.is_empty(), "the newer one");
                return;
            }
            assert_eq!(meta, noise(id.key, id.key as usize * 100));
            assert_eq!(place_of(&log, id), Some(place));
            assert!(seen.insert(id.key));
        });
        scanned.unwrap();
    }
    // Also of the segment that is being written.
    assert_eq!(seen, (0..60).filter(|key| !matches!(key, 2 | 3)).collect());
    log.scan(9999, &mut |_, _, _| panic!("there is no such segment"))
        .unwrap();
}

#[test]
fn a_log_that_was_given_up_answers_errors() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path());
    let place = append(&log, id(0, 0), b"", b"data");
    log.fail();
    assert!(log.is_failed() && log.figures().failed);
    let extent = log.extent(place).unwrap();
    assert!(matches!(extent.read(Wait::Yes), Err(ReadError::Failed)));
    assert!(matches!(
        log.append(&[entry(id(1, 0), b"", &[])]),
        Err(WriteError::Failed)
    ));
    assert!(!log.needs_reclaim());
    assert!(matches!(log.sync(), Err(WriteError::Failed)));
}

#[test]
fn a_changed_size_takes_effect_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let log = open_sized(directory.path(), 2 << 20, 32 << 10);
    for key in 0..50 {
        append(&log, id(key, 0), b"", &noise(key, 30_000));
    }
    assert!(!log.needs_reclaim());
    log.resize(1 << 20);
    while log.needs_reclaim() {
        drop_all(&log);
    }
    assert!(taken(directory.path()) <= 1 << 20);
    assert!(log.entries() > 25);
    log.resize(2 << 20);
    for key in 50..70 {
        append(&log, id(key, 0), b"", &noise(key, 30_000));
    }
}

/// A segment that was cut off gets its footer back, which makes its file longer.
#[test]
fn what_a_footer_adds_to_a_file_is_counted_and_given_back() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path());
    let batch: Vec<_> = (0..80).map(|key| entry(id(key, 0), b"", &[])).collect();
    let places = log.append(&batch).unwrap();
    log.close().unwrap();
    drop(log);
    // 64 and 80 times 48 bytes are just below a page; with the footer it is two.
    let end = places.last().unwrap().offset + 48;
    let file = std::fs::File::options()
        .write(true)
        .open(&files(directory.path())[&1]);
    file.unwrap().set_len(end.into()).unwrap();
    let log = open(directory.path());
    assert_eq!(log.figures().used_bytes, 4096);
    assert_eq!(recover(&log).entries, 80);
    assert_eq!(log.figures().used_bytes, 8192);
    assert_eq!(drop_all(&log).dropped, 80);
    assert_eq!(log.figures().used_bytes, 0);
}
