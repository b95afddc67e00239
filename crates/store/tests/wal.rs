//! The write-ahead log: what was appended can be read, is found again in the
//! same order, and goes when its segment is removed.

#![allow(clippy::unwrap_used)]

mod wal_support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::time::Duration;

use forebay_store::wal::{Error, OpenError, Options, Place, ReadError, State, Sync, Wait, Wal};
use proptest::prelude::*;
use wal_support::*;

#[test]
fn records_come_back_in_the_order_of_appending_and_at_their_places() {
    let directory = tempfile::tempdir().unwrap();
    let wal = open(directory.path(), Sync::Always);
    let records: Vec<_> = (0..500)
        .map(|n| noise(n, (n * 7 % 2_000) as usize))
        .collect();
    let places: Vec<_> = records.iter().map(|one| wal.append(&[one])).collect();
    wal.close().unwrap();
    drop(wal);
    let (_wal, found, recovered) = reopen(directory.path());
    let expected: Vec<_> = places.into_iter().zip(records).collect();
    assert!(found == expected);
    assert_eq!(recovered.records, 500);
    assert!(recovered.segments > 5);
    assert!(!recovered.torn && !recovered.stopped);
    assert_eq!((recovered.damaged_records, recovered.damaged_bytes), (0, 0));
}

#[test]
fn a_record_is_read_before_and_after_it_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let wal = open(directory.path(), Sync::Every(Duration::from_secs(3600)));
    let place = wal.append(&[b"one ", b"", b"two"]);
    let none = wal.append(&[]);
    let mut out = vec![1; 10];
    for _ in 0..2 {
        assert!(wal.read(place, Wait::No, &mut out).unwrap());
        assert_eq!(out, b"one two");
        assert!(wal.read(none, Wait::Yes, &mut out).unwrap());
        assert!(out.is_empty());
        wal.sync().unwrap();
    }
    assert_eq!(wal.figures().waiting_bytes, 0);
}

#[test]
fn a_place_that_names_no_record_gives_nothing_and_takes_no_memory() {
    let directory = tempfile::tempdir().unwrap();
    let wal = open(directory.path(), Sync::Always);
    let place = wal.append(&[&[7; 100]]);
    let wrong = [
        Place {
            offset: place.offset + 8,
            ..place
        },
        Place {
            bytes: place.bytes - 1,
            ..place
        },
        Place {
            bytes: u32::MAX,
            ..place
        },
        Place {
            offset: u32::MAX,
            bytes: u32::MAX,
            ..place
        },
        Place { offset: 0, ..place },
    ];
    let mut out = Vec::new();
    for synced in [false, true] {
        if synced {
            wal.sync().unwrap();
        }
        for place in wrong {
            let read = wal.read(place, Wait::Yes, &mut out);
            assert!(!matches!(read, Ok(true)), "{place:?} {synced}");
            assert!(out.is_empty());
        }
        let elsewhere = Place {
            segment: 9,
            ..place
        };
        let read = wal.read(elsewhere, Wait::Yes, &mut out);
        assert!(matches!(read, Err(ReadError::Gone)));
    }
    assert!(out.capacity() < 1 << 20);
}

#[test]
fn a_record_longer_than_a_segment_gets_one_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let wal = open(directory.path(), Sync::Always);
    let long = noise(1, 3 << 20);
    let places = [
        wal.append(&[b"a"]),
        wal.append(&[&long]),
        wal.append(&[b"b"]),
    ];
    assert_eq!(places.map(|place| place.segment), [1, 2, 3]);
    wal.close().unwrap();
    drop(wal);
    let (wal, found, _) = reopen(directory.path());
    let lengths: Vec<_> = found.iter().map(|(_, payload)| payload.len()).collect();
    assert_eq!(lengths, [1, 3 << 20, 1]);
    let mut out = Vec::new();
    assert!(wal.read(places[1], Wait::Yes, &mut out).unwrap());
    assert!(out == long);
}

#[test]
fn the_positions_move_as_promised() {
    let directory = tempfile::tempdir().unwrap();
    let wal = open(directory.path(), Sync::Never(Duration::from_millis(1)));
    wal.append(&[b"x"]);
    assert_eq!(wal.position().0, 24);
    wal.wait(wal.position()).unwrap();
    assert_eq!((wal.written().0, wal.synced().0), (24, 0));
    wal.sync().unwrap();
    assert_eq!(wal.synced(), wal.position());
    drop(wal);
    let (wal, ..) = reopen(directory.path());
    assert_eq!(wal.position().0, 0);
}

#[test]
fn a_push_is_followed_by_a_notice_that_it_is_synced() {
    let directory = tempfile::tempdir().unwrap();
    let wal = open(directory.path(), Sync::Always);
    let (sender, notices) = std::sync::mpsc::channel();
    wal.notify(Box::new(move || sender.send(()).unwrap_or(())));
    for _ in 0..20 {
        wal.append(&[b"x"]);
        let position = wal.position();
        wal.push();
        while wal.durable() < position {
            notices.recv_timeout(Duration::from_secs(20)).unwrap();
        }
        assert!(wal.synced() >= position);
    }
}

#[test]
fn a_sync_that_is_asked_for_is_done_and_told_though_less_is_promised() {
    let directory = tempfile::tempdir().unwrap();
    let wal = open(directory.path(), Sync::Never(Duration::from_millis(1)));
    let (sender, notices) = std::sync::mpsc::channel();
    wal.append(&[b"x"]);
    let position = wal.position();
    wal.wait(position).unwrap();
    assert_eq!(wal.synced().0, 0);
    wal.notify(Box::new(move || sender.send(()).unwrap_or(())));
    wal.ask(position);
    while wal.synced() < position {
        notices.recv_timeout(Duration::from_secs(20)).unwrap();
    }
}

#[test]
fn a_log_with_more_waiting_than_its_buffer_says_so_and_keeps_it() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options {
        buffer_bytes: 10_000,
        ..options(directory.path(), Sync::Every(Duration::from_secs(3600)))
    };
    let wal = open_with(options);
    let records: Vec<_> = (0..12).map(|n| noise(n, 1_000)).collect();
    let places: Vec<_> = records.iter().map(|one| wal.append(&[one])).collect();
    assert_eq!(wal.state(), State::Behind);
    let mut out = Vec::new();
    for (place, record) in places.iter().zip(&records) {
        assert!(wal.read(*place, Wait::No, &mut out).unwrap());
        assert_eq!(&out, record);
    }
    wal.sync().unwrap();
    assert_eq!(wal.state(), State::Good);
}

#[test]
fn the_memory_of_the_buffers_is_given_back_when_nothing_is_appended() {
    let directory = tempfile::tempdir().unwrap();
    let wal = open(directory.path(), Sync::Every(Duration::from_millis(5)));
    for n in 0..3_000 {
        wal.append(&[&noise(n, 4_000)]);
    }
    assert!(wal.figures().buffer_bytes > 0);
    wal.sync().unwrap();
    let deadline = std::time::Instant::now() + Duration::from_secs(60);
    while wal.figures().buffer_bytes > 0 {
        assert!(std::time::Instant::now() < deadline, "{:?}", wal.figures());
        std::thread::yield_now();
    }
}

#[test]
fn only_the_oldest_segment_is_removed_and_its_places_are_gone() {
    let directory = tempfile::tempdir().unwrap();
    let wal = open(directory.path(), Sync::Never(Duration::from_secs(3600)));
    let first = wal.append(&[b"first"]);
    assert!(matches!(
        wal.walk(1, |_, _| {}),
        Err(ReadError::Gone | ReadError::StillOpen)
    ));
    wal.roll().unwrap();
    let second = wal.append(&[b"second"]);
    wal.sync().unwrap();
    assert_eq!(wal.remove(second.segment), Err(Error::NotOldest(1)));
    let mut walked = Vec::new();
    let figures = wal
        .walk(1, |place, payload| walked.push((place, payload.to_vec())))
        .unwrap();
    assert_eq!(walked, [(first, b"first".to_vec())]);
    assert_eq!((figures.records, figures.damaged_records), (1, 0));
    let moved = wal.append(&[b"first"]);
    wal.remove(1).unwrap();
    assert_eq!(wal.synced(), wal.position());
    assert_eq!(wal.remove(1), Err(Error::Gone));
    assert_eq!(wal.remove(second.segment), Err(Error::StillOpen));
    let mut out = Vec::new();
    assert!(matches!(
        wal.read(first, Wait::Yes, &mut out),
        Err(ReadError::Gone)
    ));
    assert!(wal.read(moved, Wait::Yes, &mut out).unwrap());
    assert_eq!(out, b"first");
    let segments = wal.segments();
    assert_eq!(segments.len(), 1);
    assert!(segments[0].open && segments[0].number == 2);
}

#[test]
fn rolling_twice_makes_no_empty_segment() {
    let directory = tempfile::tempdir().unwrap();
    let wal = open(directory.path(), Sync::Always);
    wal.roll().unwrap();
    assert!(wal.segments().is_empty());
    wal.append(&[b"x"]);
    wal.roll().unwrap();
    wal.roll().unwrap();
    let segments = wal.segments();
    assert_eq!(segments.len(), 1);
    assert!(!segments[0].open);
    assert_eq!(wal.figures().disk_bytes, 4096 + 24);
}

#[test]
fn a_second_log_in_a_directory_is_told_who_has_it() {
    let directory = tempfile::tempdir().unwrap();
    let _wal = open(directory.path(), Sync::Always);
    let error = Wal::open(options(directory.path(), Sync::Always))
        .err()
        .unwrap();
    let own = std::process::id();
    assert!(matches!(error, OpenError::Locked { holder: Some(one), .. } if one == own));
    assert!(Wal::clear(directory.path()).is_err());
}

#[test]
fn segments_that_go_together_take_no_open_one_and_none_behind_them() {
    let directory = tempfile::tempdir().unwrap();
    let wal = open(directory.path(), Sync::Never(Duration::from_secs(3600)));
    let mut places = Vec::new();
    for number in 0..4_u8 {
        places.push(wal.append(&[&[number]]));
        wal.roll().unwrap();
    }
    let open = wal.append(&[b"open"]);
    wal.sync().unwrap();
    assert_eq!(wal.remove_through(open.segment), Err(Error::StillOpen));
    assert_eq!(wal.remove_through(99), Err(Error::Gone));
    let moved = wal.append(&[b"moved"]);
    wal.remove_through(places[2].segment).unwrap();
    assert_eq!(wal.synced(), wal.position());
    let left: Vec<u32> = wal.segments().iter().map(|one| one.number).collect();
    assert_eq!(left, [places[3].segment, open.segment]);
    wal.close().unwrap();
    drop(wal);
    let (_, found, _) = reopen(directory.path());
    let places_left: Vec<Place> = found.iter().map(|(place, _)| *place).collect();
    assert_eq!(places_left, [places[3], open, moved]);
}

#[test]
fn clearing_removes_the_log_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let wal = open(directory.path(), Sync::Always);
    wal.append(&[b"x"]);
    wal.close().unwrap();
    drop(wal);
    std::fs::write(directory.path().join("notes"), "x").unwrap();
    Wal::clear(directory.path()).unwrap();
    let (wal, found, _) = reopen(directory.path());
    assert!(found.is_empty());
    assert!(directory.path().join("notes").exists());
    assert_eq!(wal.append(&[b"y"]).segment, 1);
}

#[test]
fn recovery_stops_when_told_to() {
    let directory = tempfile::tempdir().unwrap();
    let wal = open(directory.path(), Sync::Always);
    for n in 0..5_000 {
        wal.append(&[&noise(n, 1_000)]);
    }
    drop(wal);
    let (_wal, recovery) = Wal::open(options(directory.path(), Sync::Always)).unwrap();
    let (stop, mut seen) = (AtomicBool::new(false), 0);
    let recovered = recovery.run(&stop, |_, _| {
        seen += 1;
        stop.store(true, Relaxed);
    });
    assert!(recovered.stopped);
    assert!(seen < 5_000);
}

#[test]
fn a_snapshot_under_appends_is_exactly_what_came_before_it() {
    let directory = tempfile::tempdir().unwrap();
    let (live, copy) = (directory.path().join("live"), directory.path().join("copy"));
    let wal = open(&live, Sync::Every(Duration::from_millis(1)));
    let appended = AtomicU64::new(0);
    let snapshot = std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            for n in 0..20_000_u64 {
                wal.append(&[&n.to_le_bytes(), &noise(n, 84)]);
                appended.store(n, Relaxed);
            }
        });
        while appended.load(Relaxed) < 2_000 {
            std::thread::yield_now();
        }
        let snapshot = wal.snapshot(&copy).unwrap();
        writing.join().unwrap();
        snapshot
    });
    // All records have one length: 16 of head, 92, 4 of padding.
    let expected = snapshot.position.0 / 112;
    assert!((2_000..=20_000).contains(&expected));
    let error = wal.snapshot(&copy).unwrap_err();
    assert!(matches!(error, Error::NotEmpty(path) if path == copy));
    let (_other, found, recovered) = reopen(&copy);
    assert_eq!(recovered.segments, snapshot.segments);
    assert_eq!(found.len() as u64, expected);
    for (n, (_, payload)) in found.iter().enumerate() {
        assert_eq!(payload[..8], (n as u64).to_le_bytes());
    }
    assert!(!directory.path().join("copy.part").exists());
}

#[test]
fn a_snapshot_that_was_begun_before_does_not_get_into_the_next_one() {
    let directory = tempfile::tempdir().unwrap();
    let (live, copy) = (directory.path().join("live"), directory.path().join("copy"));
    let part = directory.path().join("copy.part");
    let wal = open(&live, Sync::Never(Duration::from_secs(3600)));
    std::fs::create_dir_all(&copy).unwrap();
    std::fs::create_dir_all(&part).unwrap();
    std::fs::write(file(&part, 9), "left over").unwrap();
    wal.append(&[b"one"]);
    wal.roll().unwrap();
    wal.append(&[b"two"]);
    let snapshot = wal.snapshot(&copy).unwrap();
    assert_eq!((snapshot.segments, snapshot.position), (2, wal.position()));
    // What happens here afterwards does not change it.
    wal.append(&[b"three"]);
    wal.remove(1).unwrap();
    wal.close().unwrap();
    let (_other, found, recovered) = reopen(&copy);
    let payloads: Vec<_> = found.into_iter().map(|one| one.1).collect();
    assert_eq!(payloads, [b"one", b"two"]);
    assert_eq!(recovered.set_aside, 0);
    let lengths = [1, 2].map(|n| std::fs::metadata(file(&copy, n)).unwrap().len());
    assert_eq!(snapshot.bytes, lengths.iter().sum::<u64>());
}

#[test]
fn readers_appenders_and_a_compaction_at_the_same_time_see_whole_records_or_none() {
    let directory = tempfile::tempdir().unwrap();
    let wal = open(directory.path(), Sync::Never(Duration::from_millis(1)));
    let (places, over) = (appended_list::List::default(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| read_until(&wal, &places, &over));
        }
        scope.spawn(|| {
            while !over.load(Relaxed) {
                match wal.segments().first() {
                    Some(oldest) if !oldest.open => wal.remove(oldest.number).unwrap(),
                    _ => wal.roll().map(|_| ()).unwrap(),
                }
            }
        });
        for n in 0..20_000 {
            places.push((n, wal.append(&[&noise(n, (n % 900) as usize)])));
        }
        over.store(true, Relaxed);
    });
}

fn read_until(wal: &Arc<Wal>, places: &appended_list::List, over: &AtomicBool) {
    let (mut out, mut step) = (Vec::new(), 0_usize);
    while !over.load(Relaxed) {
        step = step.wrapping_mul(31).wrapping_add(7);
        let Some((n, place)) = places.get(step) else {
            continue;
        };
        match wal.read(place, Wait::Yes, &mut out) {
            Ok(true) => assert!(out == noise(n, (n % 900) as usize)),
            Ok(false) => panic!("waiting was allowed"),
            Err(ReadError::Gone) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// A list that several threads push to and pick from.
mod appended_list {
    use super::Place;
    use std::sync::Mutex;

    #[derive(Default)]
    pub(super) struct List(Mutex<Vec<(u64, Place)>>);

    impl List {
        pub(super) fn push(&self, one: (u64, Place)) {
            self.0.lock().unwrap().push(one);
        }

        pub(super) fn get(&self, at: usize) -> Option<(u64, Place)> {
            let list = self.0.lock().unwrap();
            let last = list.len().checked_sub(1)?;
            // Mostly the newest, which may be on their way to the disk.
            list.get(last - (at % 200).min(last)).copied()
        }
    }
}

#[derive(Debug, Clone)]
enum Step {
    Append(usize),
    Sync,
    Roll,
    RemoveOldest,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => (0..3_000_usize).prop_map(Step::Append),
        1 => (60_000..200_000_usize).prop_map(Step::Append),
        2 => Just(Step::Sync),
        2 => Just(Step::Roll),
        2 => Just(Step::RemoveOldest),
        1 => Just(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_log_is_a_list_of_records(steps in proptest::collection::vec(step(), 1..120)) {
        let directory = tempfile::tempdir().unwrap();
        let mut wal = open(directory.path(), Sync::Always);
        let mut model: Vec<(Place, Vec<u8>)> = Vec::new();
        for (n, step) in steps.into_iter().enumerate() {
            match step {
                Step::Append(length) => {
                    let payload = noise(n as u64, length);
                    model.push((wal.append(&[&payload]), payload));
                }
                Step::Sync => wal.sync().unwrap(),
                Step::Roll => drop(wal.roll().unwrap()),
                Step::RemoveOldest => {
                    if let Some(oldest) = wal.segments().first().filter(|one| !one.open) {
                        wal.remove(oldest.number).unwrap();
                        model.retain(|(place, _)| place.segment != oldest.number);
                    }
                }
                Step::Reopen => {
                    wal.close().unwrap();
                    drop(wal);
                    let (again, found, _) = reopen(directory.path());
                    prop_assert!(found == model);
                    wal = again;
                }
            }
            if let Some((place, payload)) = model.get(n / 2) {
                let mut out = Vec::new();
                prop_assert!(wal.read(*place, Wait::Yes, &mut out).unwrap());
                prop_assert!(out == *payload);
            }
        }
        drop(wal);
        prop_assert!(reopen(directory.path()).1 == model);
    }
}
