//! Everything a store holds, read while it runs, and put into another.

#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use forebay_session::{Access, Item};
use forebay_session_client::{
    Client, Condition, Pattern, Reader, Restored, Stores, Target, Tyrant, Writer, each_item, now_s,
};
use support::engine::Plain;
use support::{ITEM_MOST, Memcached, forebay, forebay_over, item, store};

type Contents = BTreeMap<Vec<u8>, (Vec<u8>, u32, u32)>;

fn none_lost(key: &[u8], words: &str) {
    panic!("{key:?}: {words}");
}

fn contents(target: &Target, pattern: &Pattern) -> Contents {
    let mut found = Contents::new();
    let mut each = |key: &[u8], item: Item<'_>| {
        let twice = found.insert(
            key.to_vec(),
            (item.value.to_vec(), item.flags, item.expires_s),
        );
        assert!(twice.is_none(), "{key:?} was handed on twice");
        Ok(())
    };
    let passed = each_item(target, pattern, &mut each, &mut none_lost).unwrap();
    assert_eq!(passed.items, found.len() as u64);
    found
}

/// A thousand items of all kinds.
fn fill(target: &Target) {
    let mut client = Client::connect(target).unwrap();
    let now_s = now_s();
    for number in 0..1000_u32 {
        let expires_s = if number % 3 == 0 {
            0
        } else {
            now_s + 1000 + number
        };
        let value = vec![b'v'; (number as usize * 37) % 5000];
        store(
            &mut client,
            format!("memc.sess.key.{number}").as_bytes(),
            item(&value, number, expires_s),
        );
    }
    store(&mut client, b"a b\n\xff", item(b"binary", 1, 0));
    store(
        &mut client,
        b"large",
        item(&vec![b'l'; 2 << 20], 2, now_s + 86_400 * 60),
    );
}

/// Equal but for lifetimes that were counted from another second.
#[track_caller]
fn assert_same(one: &Contents, other: &Contents) {
    assert_eq!(one.len(), other.len());
    for ((key, (value, flags, expires_s)), (other_key, other)) in one.iter().zip(other) {
        assert_eq!((key, flags), (other_key, &other.1));
        assert!(value == &other.0, "{key:?}");
        assert!(
            expires_s.abs_diff(other.2) <= 2,
            "{key:?} {expires_s} {}",
            other.2
        );
    }
}

fn copy(from: &Target, to: &Target) -> Restored {
    let mut report = |key: &[u8], words: &str| panic!("{key:?}: {words}");
    let mut stores = Stores::connect(to, false, &mut report).unwrap();
    let mut put = |key: &[u8], item: Item<'_>| stores.put(key, item);
    each_item(from, &Pattern::All, &mut put, &mut none_lost).unwrap();
    stores.finish().unwrap()
}

#[test]
fn a_memcached_is_copied_with_flags_and_lifetimes_and_back() {
    let Some(memcached) = Memcached::start() else {
        return;
    };
    fill(&memcached.target);
    let here = forebay(Access::Open);
    assert_eq!(copy(&memcached.target, &here).stored, 1002);
    let before = contents(&memcached.target, &Pattern::All);
    assert_same(&before, &contents(&here, &Pattern::All));
    let back = Memcached::start().unwrap();
    assert_eq!(copy(&here, &back.target).stored, 1002);
    assert_same(&before, &contents(&back.target, &Pattern::All));
}

#[test]
fn a_pattern_chooses_what_is_copied() {
    let here = forebay(Access::Open);
    fill(&here);
    let chosen = contents(&here, &Pattern::new(b"memc.sess.key.99?"));
    assert_eq!(chosen.len(), 10);
    assert_eq!(contents(&here, &Pattern::new(b"large")).len(), 1);
}

#[test]
fn an_export_brings_back_what_was_there_and_leaves_what_has_expired_since() {
    let here = forebay(Access::Open);
    fill(&here);
    let mut writer = Writer::new(Vec::new()).unwrap();
    let mut each = |key: &[u8], item: Item<'_>| {
        writer.put(key, item).unwrap();
        Ok(())
    };
    each_item(&here, &Pattern::All, &mut each, &mut none_lost).unwrap();
    writer.put(b"over", item(b"x", 0, now_s() - 1)).unwrap();
    let file = writer.finish().unwrap();

    let there = forebay(Access::Open);
    let mut report = |key: &[u8], words: &str| panic!("{key:?}: {words}");
    let mut stores = Stores::connect(&there, false, &mut report).unwrap();
    let mut reader = Reader::new(file.as_slice()).unwrap();
    while let Some((key, item)) = reader.next_item().unwrap() {
        stores.put(key, item).unwrap();
    }
    let restored = stores.finish().unwrap();
    assert_eq!((restored.stored, restored.expired), (1002, 1));
    assert_same(
        &contents(&here, &Pattern::All),
        &contents(&there, &Pattern::All),
    );
}

#[test]
fn what_is_there_is_kept_if_wanted_and_what_is_not_taken_is_named() {
    let here = forebay(Access::Open);
    let mut client = Client::connect(&here).unwrap();
    store(&mut client, b"mine", item(b"old", 0, 0));
    let mut refused = Vec::new();
    let mut report = |key: &[u8], words: &str| refused.push((key.to_vec(), words.to_owned()));
    let mut stores = Stores::connect(&here, true, &mut report).unwrap();
    let too_large = vec![0; 5 << 20];
    stores.put(b"mine", item(b"new", 0, 0)).unwrap();
    stores.put(b"huge", item(&too_large, 0, 0)).unwrap();
    stores.put(&[b'k'; 300], item(b"x", 0, 0)).unwrap();
    stores.put(b"other", item(b"new", 0, 0)).unwrap();
    let restored = stores.finish().unwrap();
    assert_eq!(
        (restored.stored, restored.kept, restored.refused),
        (1, 1, 2)
    );
    let keys: Vec<_> = refused.iter().map(|(key, _)| key.as_slice()).collect();
    assert_eq!(keys, [b"huge", &[b'k'; 300][..]]);
    let mut value = Vec::new();
    client.get(b"mine", &mut value).unwrap().unwrap();
    assert_eq!(value, b"old");
    let outcome = client.store(b"mine", Condition::Absent, item(b"x", 0, 0));
    assert_eq!(outcome.unwrap(), forebay_session_client::Outcome::NotStored);
}

#[test]
fn a_tyrant_is_read_to_its_end_and_its_records_get_a_lifetime() {
    let here = forebay(Access::Open);
    fill(&here);
    let mut found = Contents::new();
    let mut each = |key: &[u8], item: Item<'_>| {
        found.insert(
            key.to_vec(),
            (item.value.to_vec(), item.flags, item.expires_s),
        );
        Ok(())
    };
    let mut tyrant = Tyrant::connect(&here).unwrap();
    let taken = tyrant
        .each_item(&Pattern::All, Some(600), &mut each)
        .unwrap();
    assert_eq!((taken.items, taken.gone, found.len()), (1002, 0, 1002));
    for (key, (value, _, _)) in contents(&here, &Pattern::All) {
        let (own, flags, expires_s) = &found[&key];
        assert!(*own == value && *flags == 0, "{key:?}");
        assert!(expires_s.abs_diff(now_s() + 600) <= 5);
    }
    let chosen = tyrant.each_item(&Pattern::new(b"large"), None, &mut |_, item| {
        assert_eq!(item.expires_s, 0);
        Ok(())
    });
    assert_eq!(chosen.unwrap().items, 1);
}

#[test]
fn values_that_do_not_fit_into_one_answer_are_read_one_by_one() {
    let here = forebay(Access::Open);
    let mut client = Client::connect(&here).unwrap();
    // Together more than the 64 MiB that a list has room for.
    let value = vec![b'v'; 3 << 20];
    for number in 0..24 {
        store(
            &mut client,
            format!("k{number}").as_bytes(),
            item(&value, 0, 0),
        );
    }
    let mut tyrant = Tyrant::connect(&here).unwrap();
    let taken = tyrant.each_item(&Pattern::All, None, &mut |_, _| Ok(()));
    assert_eq!(taken.unwrap().items, 24);
}

#[test]
fn the_list_of_a_busy_memcached_misses_nothing_and_stops_nobody() {
    let Some(memcached) = Memcached::start() else {
        return;
    };
    let key = |number: u32| format!("{number:0100}").into_bytes();
    let mut refused = |_: &[u8], words: &str| panic!("{words}");
    let mut stores = Stores::connect(&memcached.target, false, &mut refused).unwrap();
    for number in 0..50_000 {
        stores.put(&key(number), item(b"x", 0, 0)).unwrap();
    }
    assert_eq!(stores.finish().unwrap().stored, 50_000);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                let mut client = Client::connect(&memcached.target).unwrap();
                let mut numbers = (0..50_000).cycle();
                while !is_over.load(Relaxed) {
                    let key = key(numbers.next().unwrap());
                    assert!(client.get(&key, &mut Vec::new()).unwrap().is_some());
                }
            });
        }
        let mut client = Client::connect(&memcached.target).unwrap();
        let mut list = client.list(&Pattern::All).unwrap();
        // The list is here: however long it is worked with, the others are served.
        let mut other = Client::connect(&memcached.target).unwrap();
        let mut listed = 0;
        while let Some(item) = list.next_item().unwrap() {
            assert!(listed % 100 > 0 || other.look(&item.key).unwrap().is_some());
            listed += 1;
        }
        is_over.store(true, Relaxed);
        assert_eq!(listed, 50_000);
    });
}

#[test]
fn what_was_declared_out_of_date_is_left_out() {
    let here = forebay(Access::Open);
    let mut client = Client::connect(&here).unwrap();
    store(&mut client, b"good", item(b"x", 0, 0));
    store(&mut client, b"stale", item(b"x", 0, 0));
    let mut socket = TcpStream::connect(here.address.to_string()).unwrap();
    socket.write_all(b"md stale I T30\r\n").unwrap();
    socket.read_exact(&mut [0; 4]).unwrap();
    let mut keys = Vec::new();
    let mut each = |key: &[u8], _: Item<'_>| {
        keys.push(key.to_vec());
        Ok(())
    };
    let passed = each_item(&here, &Pattern::All, &mut each, &mut none_lost);
    assert_eq!((keys, passed.unwrap().gone), (vec![b"good".to_vec()], 1));
}

#[test]
fn an_item_that_cannot_be_read_is_named_and_the_others_go_on() {
    let here = forebay_over(Plain::new(ITEM_MOST).broken_at("k70"), Access::Open);
    let mut client = Client::connect(&here).unwrap();
    for number in 0..200 {
        let key = format!("k{number}");
        store(&mut client, key.as_bytes(), item(b"x", 0, 0));
    }
    let (mut read, mut lost) = (0, Vec::new());
    let mut each = |_: &[u8], _: Item<'_>| {
        read += 1;
        Ok(())
    };
    let mut report = |key: &[u8], words: &str| lost.push((key.to_vec(), words.to_owned()));
    let passed = each_item(&here, &Pattern::All, &mut each, &mut report).unwrap();
    assert_eq!((read, passed.items, passed.failed), (199, 199, 1));
    assert_eq!(
        lost,
        [(b"k70".to_vec(), "the value cannot be read".to_owned())]
    );
}
