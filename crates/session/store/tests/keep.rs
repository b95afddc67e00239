//! What a store keeps: over restarts, in too little memory, and when its log is compacted.

#![allow(clippy::unwrap_used)]

mod support;

use std::collections::HashMap;
use std::path::Path;

use forebay_session_store::{Durability, Full, Store};
use proptest::prelude::*;
use support::{Client, NOW_S, in_memory, on_disk, open, value_of};

#[test]
fn a_restart_has_everything_back_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    for durability in [Durability::Always, Durability::Interval, Durability::Never] {
        let path = directory.path().join(format!("{durability:?}"));
        let options = || on_disk(&path, 8 << 20, Full::Spill, durability);
        let (store, _) = open(options());
        let mut client = Client::of(&store);
        client.set("a", b"one", 0);
        client.set("b", b"two", NOW_S + 100);
        client.set("gone", b"x", 0);
        client.set("ends", b"x", NOW_S + 2);
        client.set("touched", b"x", NOW_S + 2);
        assert_eq!(client.say("delete gone\r\n"), "DELETED\r\n");
        let touch = format!("touch touched {}\r\n", NOW_S + 50);
        assert_eq!(client.say(&touch), "TOUCHED\r\n");
        client.say("set n 0 0 1\r\n5\r\n");
        client.say("incr n 10\r\nappend a 0 0 2\r\n+1\r\n");
        let before = client.say("gets a b touched n\r\n");
        assert_eq!(client.waits > 0, durability == Durability::Always);
        drop(client);
        store.stop().unwrap();
        drop(store);
        let (store, recovered) = open(options());
        assert_eq!((recovered.unknown, recovered.log.damaged_records), (0, 0));
        let mut client = Client::of(&store);
        client.now_s = NOW_S + 10;
        assert_eq!(client.say("gets a b touched n\r\n"), before);
        assert_eq!(client.get("gone"), None);
        assert_eq!(client.get("ends"), None);
        store.stop().unwrap();
    }
}

#[test]
fn a_clear_is_remembered_and_one_that_is_to_come_too() {
    let directory = tempfile::tempdir().unwrap();
    let options = || on_disk(directory.path(), 8 << 20, Full::Spill, Durability::Interval);
    let (store, _) = open(options());
    let mut client = Client::of(&store);
    client.set("before", b"x", 0);
    client.say("flush_all\r\n");
    client.set("after", b"x", 0);
    client.say("flush_all 100\r\n");
    drop(client);
    store.stop().unwrap();
    drop(store);
    let (store, _) = open(options());
    let mut client = Client::of(&store);
    assert_eq!(client.get("before"), None);
    assert!(client.get("after").is_some());
    client.now_s = NOW_S + 101;
    assert_eq!(client.get("after"), None);
    store.stop().unwrap();
}

#[test]
fn what_does_not_fit_memory_is_spilled_and_comes_back_whole() {
    let directory = tempfile::tempdir().unwrap();
    let options = || on_disk(directory.path(), 4 << 20, Full::Spill, Durability::Interval);
    let (store, _) = open(options());
    let mut client = Client::of(&store);
    for key in 0..8_000 {
        let answer = client.set(&format!("k{key}"), &value_of(key, 1, 2_000), 0);
        assert_eq!(answer, "STORED\r\n", "{key}");
    }
    let table = store.figures().table;
    assert!(table.elsewhere_items > 5_000, "{table:?}");
    assert!(table.used_bytes <= 4 << 20, "{table:?}");
    let check = |client: &mut Client| {
        for key in 0..8_000 {
            let value = client.get(&format!("k{key}"));
            assert!(value == Some(value_of(key, 1, 2_000)), "{key}");
        }
    };
    check(&mut client);
    // Each operation that needs the value, on values that are not in memory.
    for key in 0..200 {
        let answer = client.say(&format!(
            "append k{key} 0 0 1\r\n!\r\nms k{} 1 T0\r\nx\r\nmg k{} v t\r\n",
            key + 200,
            key + 400
        ));
        let value = value_of(key + 400, 1, 2_000);
        assert!(
            answer.starts_with("STORED\r\nHD\r\nVA 2000 t-1\r\n"),
            "{answer}"
        );
        assert!(answer.contains(&*String::from_utf8_lossy(&value)));
    }
    let appended = [&value_of(7, 1, 2_000)[..], b"!"].concat();
    assert!(client.get("k7") == Some(appended.clone()));
    assert_eq!(client.say("delete k1000\r\n"), "DELETED\r\n");
    drop(client);
    store.stop().unwrap();
    drop(store);
    let (store, _) = open(options());
    let mut client = Client::of(&store);
    assert!(client.get("k7") == Some(appended));
    assert_eq!(client.get("k207"), Some(b"x".to_vec()));
    assert_eq!(client.get("k1000"), None);
    for key in 1_001..8_000 {
        let value = client.get(&format!("k{key}"));
        assert!(value == Some(value_of(key, 1, 2_000)), "{key}");
    }
    store.stop().unwrap();
}

#[test]
fn the_log_stays_within_a_bound_and_compacting_it_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let options = || on_disk(directory.path(), 8 << 20, Full::Spill, Durability::Interval);
    let (store, _) = open(options());
    let mut client = Client::of(&store);
    client.set("untouched", b"still here", 0);
    for version in 0..40 {
        for key in 0..200 {
            client.set(&format!("k{key}"), &value_of(key, version, 2_000), 0);
        }
        client.say(&format!("delete k{version}\r\n"));
        client.say(&format!("touch k{} {}\r\n", version + 100, NOW_S + 1000));
        store.compact().unwrap();
    }
    let log = store.figures().log.unwrap();
    // 200 values of 2,000 bytes, a copy of each that is being moved, and whole segments.
    assert!(log.disk_bytes < 4 * 400_000 + (1 << 20), "{log:?}");
    drop(client);
    store.stop().unwrap();
    drop(store);
    let (store, _) = open(options());
    let mut client = Client::of(&store);
    assert_eq!(client.get("untouched").unwrap(), b"still here");
    for key in 0..200 {
        let expected = (key != 39).then(|| value_of(key, 39, 2_000));
        assert!(client.get(&format!("k{key}")) == expected, "{key}");
    }
    client.now_s = NOW_S + 2000;
    assert_eq!(client.get("k139"), None, "it was given an end");
    assert!(client.get("k140").is_some());
    store.stop().unwrap();
}

#[test]
fn a_store_that_refuses_keeps_what_it_has_and_one_that_evicts_forgets_for_good() {
    let directory = tempfile::tempdir().unwrap();
    for (full, path) in [(Full::Refuse, "refuse"), (Full::Evict, "evict")] {
        let path = directory.path().join(path);
        let options = || on_disk(&path, 2 << 20, full, Durability::Interval);
        let (store, _) = open(options());
        let mut client = Client::of(&store);
        let settings = client.say("stats settings\r\n");
        assert_eq!(
            settings.contains("STAT evictions on\r\n"),
            full == Full::Evict
        );
        let answers: Vec<String> = (0..2_000)
            .map(|key| client.set(&format!("k{key}"), &value_of(key, 0, 2_000), 0))
            .collect();
        let refused = "SERVER_ERROR out of memory storing object\r\n";
        assert_eq!(
            answers.iter().any(|answer| answer == refused),
            full == Full::Refuse
        );
        let there: Vec<bool> = (0..2_000)
            .map(|key| client.get(&format!("k{key}")).is_some())
            .collect();
        if full == Full::Refuse {
            let stored = answers.iter().map(|answer| answer == "STORED\r\n");
            assert_eq!(there, stored.collect::<Vec<_>>());
        }
        drop(client);
        store.stop().unwrap();
        drop(store);
        let (store, _) = open(options());
        let mut client = Client::of(&store);
        for (key, was) in (0..).zip(there) {
            let is = client.get(&format!("k{key}")).is_some();
            assert!(was || !is, "{key} is there again");
            assert!(is || !was || full == Full::Evict, "{key} is lost");
        }
        store.stop().unwrap();
    }
}

#[test]
fn a_sync_that_a_client_asks_for_reaches_the_disk_whatever_the_durability() {
    let directory = tempfile::tempdir().unwrap();
    for durability in [Durability::Always, Durability::Interval, Durability::Never] {
        let path = directory.path().join(format!("{durability:?}"));
        let (store, _) = open(on_disk(&path, 8 << 20, Full::Spill, durability));
        let mut client = Client::of(&store);
        let mut tyrant = Client::of(&store);
        let syncs = |store: &Store| store.figures().log.unwrap().syncs;
        for number in 0..5 {
            assert_eq!(client.set("a", b"one", 0), "STORED\r\n");
            let before = syncs(&store);
            assert_eq!(tyrant.send(&[0xc8, 0x70]), [0]);
            let is_synced = syncs(&store) > before || durability != Durability::Never;
            assert!(is_synced, "{durability:?}, {number}");
        }
        assert_eq!(tyrant.waits > 0, durability != Durability::Always);
        store.stop().unwrap();
    }
}

#[test]
fn a_snapshot_is_the_store_at_one_moment() {
    let directory = tempfile::tempdir().unwrap();
    let (path, copy) = (directory.path().join("a"), directory.path().join("b"));
    let (store, _) = open(on_disk(&path, 8 << 20, Full::Spill, Durability::Interval));
    let mut client = Client::of(&store);
    client.set("a", b"before", 0);
    store.snapshot(&copy).unwrap();
    client.set("a", b"after", 0);
    client.set("b", b"after", 0);
    let (other, _) = open(on_disk(&copy, 8 << 20, Full::Spill, Durability::Interval));
    let mut reader = Client::of(&other);
    assert_eq!(reader.get("a").unwrap(), b"before");
    assert_eq!(reader.get("b"), None);
    assert_eq!(client.get("a").unwrap(), b"after");
    let error = store.snapshot(&copy).unwrap_err().to_string();
    assert!(error.contains("not empty"), "{error}");
    let (memory, _) = open(in_memory(4 << 20, Full::Refuse));
    assert!(memory.snapshot(&directory.path().join("c")).is_err());
    store.stop().unwrap();
    other.stop().unwrap();
}

fn copy(client: &mut Client, name: &[u8]) -> Vec<u8> {
    let bytes = (name.len() as u32).to_be_bytes();
    client.send(&[&[0xc8, 0x73][..], &bytes, name].concat())
}

#[test]
fn a_client_of_tyrant_makes_a_copy_under_a_name_and_nowhere_else() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    for durability in [Durability::Always, Durability::Never] {
        let options = |path: &Path| on_disk(path, 8 << 20, Full::Spill, durability);
        let (store, _) = open(options(&path));
        let (mut client, mut tyrant) = (Client::of(&store), Client::of(&store));
        client.set("a", b"before", 0);
        let name = format!("{durability:?}-1.wal");
        assert_eq!(copy(&mut tyrant, name.as_bytes()), [0]);
        client.set("a", b"after", 0);
        assert_eq!(
            copy(&mut tyrant, name.as_bytes()),
            [1],
            "it is there already"
        );
        let (other, _) = open(options(&path.join("copies").join(&name)));
        assert_eq!(Client::of(&other).get("a").unwrap(), b"before");
        other.stop().unwrap();
        let (long, mut nul) = ([b'n'; 201], *b"a.b");
        nul[1] = 0;
        let outside = directory.path().join("x").display().to_string();
        for name in [
            b"".as_slice(),
            outside.as_bytes(),
            b"@touch x",
            b"..",
            b".x",
            b"a/b",
            b"a.part",
            &long,
            &nul,
        ] {
            assert_eq!(copy(&mut tyrant, name), [1], "{}", name.escape_ascii());
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
        store.stop().unwrap();
    }
    let (store, _) = open(on_disk(&path, 8 << 20, Full::Spill, Durability::Interval));
    let mut tyrant = Client::of(&store);
    assert_eq!(Client::of(&store).get("a").unwrap(), b"after");
    let answers = (2..=8).map(|n| copy(&mut tyrant, n.to_string().as_bytes())[0]);
    assert_eq!(answers.collect::<Vec<_>>(), [0, 0, 0, 0, 0, 0, 1]);
    store.stop().unwrap();
    let (memory, _) = open(in_memory(4 << 20, Full::Refuse));
    assert_eq!(copy(&mut Client::of(&memory), b"a"), [1]);
    memory.stop().unwrap();
}

#[test]
fn a_value_that_the_disk_has_not_kept_is_gone_and_no_other_is_served() {
    let directory = tempfile::tempdir().unwrap();
    let options = on_disk(directory.path(), 4 << 20, Full::Spill, Durability::Interval);
    let (store, _) = open(options);
    let mut client = Client::of(&store);
    for key in 0..6_000 {
        client.set(&format!("k{key}"), &value_of(key, 1, 2_000), 0);
    }
    assert!(store.figures().table.elsewhere_items > 3_000);
    store.compact().unwrap();
    for file in std::fs::read_dir(directory.path()).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|end| end == "wal") {
            let length = std::fs::metadata(&path).unwrap().len() as usize;
            let zeros = vec![0; length - 8192];
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            std::os::unix::fs::FileExt::write_all_at(&file, &zeros, 8192).unwrap();
        }
    }
    let mut lost = 0;
    for key in 0..6_000 {
        match client.get(&format!("k{key}")) {
            None => lost += 1,
            Some(value) => assert!(value == value_of(key, 1, 2_000), "{key}"),
        }
    }
    assert!(lost > 1_000, "{lost}");
    assert_eq!(client.set("k0", b"again", 0), "STORED\r\n");
    assert_eq!(client.get("k0").unwrap(), b"again");
}

#[test]
fn beyond_its_quota_a_store_takes_nothing_new() {
    let mut options = in_memory(8 << 20, Full::Refuse);
    options.quota_bytes = Some(100_000);
    let (store, _) = open(options);
    let mut client = Client::of(&store);
    let refused = "SERVER_ERROR out of memory storing object\r\n";
    for key in 0..100 {
        client.set(&format!("k{key}"), &[b'x'; 1000], 0);
    }
    // It is compared from time to time. Until then memory does not fill.
    let mut tries = 0;
    while client.set("k0", &[b'x'; 1000], 0) != refused {
        tries += 1;
        assert!(tries < 5_000_000, "nothing was ever refused");
    }
    assert!(client.get("k0").is_some());
    // What is there is read, touched and deleted, in each of the protocols' ways.
    assert_eq!(client.say("touch k0 100\r\n"), "TOUCHED\r\n");
    assert_eq!(client.say("mg k0 T200\r\nmg k0 t\r\n"), "HD\r\nHD t200\r\n");
    assert_eq!(client.say("mg k0 s N30\r\n"), "HD s1000\r\n");
    assert_eq!(client.say("mg none T200\r\n"), "EN\r\n");
    assert_eq!(client.say("mg none N30\r\n"), refused);
    assert_eq!(client.say("mg none\r\nmd k0\r\n"), "EN\r\nHD\r\n");
    store.stop().unwrap();
}

#[derive(Clone, Debug)]
enum Step {
    Set { key: u8, len: usize, ttl: u32 },
    Append { key: u8, len: usize },
    Touch { key: u8, ttl: u32 },
    Delete { key: u8 },
    Get { key: u8 },
    Wait { seconds: u32 },
    Clear,
    Compact,
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    let ttl = || prop_oneof![3 => Just(0u32), 1 => 1u32..50];
    let key = || any::<u8>();
    let len = prop_oneof![3 => 0usize..300, 3 => 300usize..9_000, 1 => 9_000usize..60_000];
    prop_oneof![
        30 => (key(), len, ttl()).prop_map(|(key, len, ttl)| Step::Set { key, len, ttl }),
        6 => (key(), 0usize..500).prop_map(|(key, len)| Step::Append { key, len }),
        6 => (key(), ttl()).prop_map(|(key, ttl)| Step::Touch { key, ttl }),
        6 => key().prop_map(|key| Step::Delete { key }),
        20 => key().prop_map(|key| Step::Get { key }),
        2 => (0u32..9).prop_map(|seconds| Step::Wait { seconds }),
        1 => Just(Step::Compact),
        1 => Just(Step::Restart),
        1 => (0u8..4).prop_map(|n| if n == 0 { Step::Clear } else { Step::Compact }),
    ]
}

/// What every key holds: its value, and when that ends.
#[derive(Default)]
struct Model {
    items: HashMap<u8, (Vec<u8>, u32)>,
    versions: u32,
}

impl Model {
    fn get(&self, key: u8, now_s: u32) -> Option<Vec<u8>> {
        let (value, expires_s) = self.items.get(&key)?;
        (*expires_s == 0 || *expires_s > now_s).then(|| value.clone())
    }

    fn take(&mut self, client: &mut Client, step: &Step) -> Result<(), TestCaseError> {
        let now_s = client.now_s;
        let end = |ttl: u32| if ttl == 0 { 0 } else { now_s + ttl };
        match *step {
            Step::Set { key, len, ttl } => {
                self.versions += 1;
                let value = value_of(key.into(), self.versions, len);
                let answer = client.set(&format!("k{key}"), &value, end(ttl));
                prop_assert_eq!(answer, "STORED\r\n");
                self.items.insert(key, (value, end(ttl)));
            }
            Step::Append { key, len } => {
                let more = "+".repeat(len);
                let answer = client.say(&format!("append k{key} 0 0 {len}\r\n{more}\r\n"));
                let there = self.get(key, now_s);
                prop_assert_eq!(answer == "STORED\r\n", there.is_some());
                if let Some((value, _)) = self.items.get_mut(&key).filter(|_| there.is_some()) {
                    value.extend_from_slice(more.as_bytes());
                }
            }
            Step::Touch { key, ttl } => {
                let answer = client.say(&format!("touch k{key} {}\r\n", end(ttl)));
                let there = self.get(key, now_s);
                prop_assert_eq!(answer == "TOUCHED\r\n", there.is_some());
                if let Some((_, expires_s)) = self.items.get_mut(&key).filter(|_| there.is_some()) {
                    *expires_s = end(ttl);
                }
            }
            Step::Delete { key } => {
                let answer = client.say(&format!("delete k{key}\r\n"));
                let there = self.get(key, now_s).is_some();
                prop_assert_eq!(answer == "DELETED\r\n", there);
                self.items.remove(&key);
            }
            Step::Get { key } => self.compare(client, key)?,
            Step::Wait { seconds } => client.now_s += seconds,
            Step::Clear => {
                client.say("flush_all\r\n");
                self.items.clear();
            }
            Step::Compact | Step::Restart => {}
        }
        Ok(())
    }

    fn compare(&self, client: &mut Client, key: u8) -> Result<(), TestCaseError> {
        let (seen, expected) = (client.get(&format!("k{key}")), self.get(key, client.now_s));
        let words = |value: &Option<Vec<u8>>| {
            let start = value.as_ref().map(|value| &value[..value.len().min(12)]);
            start.map(|start| String::from_utf8_lossy(start).into_owned())
        };
        prop_assert!(
            seen == expected,
            "k{key}: {:?} instead of {:?}",
            words(&seen),
            words(&expected)
        );
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_it_holds_what_a_naive_store_holds(
        steps in proptest::collection::vec(step(), 1..600),
        memory_kib in prop_oneof![Just(1024u64), Just(16 << 10)],
    ) {
        let directory = tempfile::tempdir().unwrap();
        let options = || {
            on_disk(directory.path(), memory_kib << 10, Full::Spill, Durability::Interval)
        };
        let mut model = Model::default();
        let (mut store, _) = open(options());
        let mut client = Client::of(&store);
        for step in &steps {
            model.take(&mut client, step)?;
            match step {
                Step::Compact => store.compact().unwrap(),
                Step::Restart => {
                    let now_s = client.now_s;
                    drop(client);
                    store.stop().unwrap();
                    drop(store);
                    let (again, recovered) = open(options());
                    prop_assert_eq!((recovered.unknown, recovered.log.damaged_records), (0, 0));
                    store = again;
                    client = Client::of(&store);
                    client.now_s = now_s;
                }
                _ => {}
            }
        }
        for key in 0..=255 {
            model.compare(&mut client, key)?;
        }
        store.stop().unwrap();
    }
}
