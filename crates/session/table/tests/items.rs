//! What becomes of items, from basic to exotic.

#![allow(clippy::unwrap_used)]

mod common;

use common::{get, mark, options, put, put_of, remove, touch};
use forebay_table::{
    Body, Change, Cursor, Full, Item, Marks, Number, Options, Place, Refused, Table, Value,
};

fn table() -> Table {
    Table::new(options(8 << 20, Full::Evict))
}

#[test]
fn a_value_is_read_as_it_was_written_until_it_is_removed() {
    let table = table();
    assert_eq!(get(&table, b"k", 1), None);
    let parts: [&[u8]; 3] = [b"one ", b"", b"value"];
    let change = Change::Put(put_of(Body::Parts(&parts), 0));
    let (was_there, first) = table
        .update(b"k", 1, |old, _| (change, old.is_some()))
        .unwrap();
    assert!(!was_there);
    assert_eq!(get(&table, b"k", 1).unwrap(), b"one value");
    let second = put(&table, b"k", b"a longer one than before, elsewhere", 1, 0).unwrap();
    assert!(second > first);
    assert_eq!(
        get(&table, b"k", 1).unwrap(),
        b"a longer one than before, elsewhere"
    );
    remove(&table, b"k", 1);
    assert_eq!(get(&table, b"k", 1), None);
    assert_eq!(table.figures().payload_bytes, 0);
}

#[test]
fn what_a_read_leaves_behind_is_seen_by_the_next() {
    let table = table();
    put(&table, b"k", b"v", 10, 0).unwrap();
    let seen = |now_s| {
        table
            .read(b"k", now_s, |item| (item.last_read_s, item.was_read))
            .unwrap()
    };
    assert_eq!(seen(15), (10, false));
    assert_eq!(seen(20), (15, true));
    let peek = |item: Option<Item<'_>>| item.map(|item| item.last_read_s);
    let (kept, _) = table
        .update(b"k", 30, |old, _| (Change::Keep, peek(old)))
        .unwrap();
    assert_eq!(kept, Some(20));
    table.update(b"k", 40, |_, _| (Change::Read, ())).unwrap();
    assert_eq!(seen(50).0, 40);
    put(&table, b"k", b"v", 60, 0).unwrap();
    assert_eq!(seen(61), (60, false));
}

#[test]
fn an_item_ends_at_its_second_and_not_before() {
    let table = table();
    put(&table, b"k", b"v", 10, 20).unwrap();
    assert!(get(&table, b"k", 19).is_some());
    table.update(b"k", 19, |_, _| (touch(30), ())).unwrap();
    assert!(get(&table, b"k", 29).is_some());
    assert!(get(&table, b"k", 30).is_none());
    assert_eq!(table.figures().expired, 1);
    assert_eq!(table.figures().items, 0);
}

#[test]
fn a_value_is_made_of_the_old_one_in_the_scratch_buffer() {
    let table = table();
    put(&table, b"k", b"12", 1, 0).unwrap();
    for _ in 0..3 {
        let append = |old: Option<Item<'_>>, scratch: &mut Vec<u8>| {
            assert!(scratch.is_empty());
            if let Some(Value::Here(bytes)) = old.map(|item| item.value) {
                scratch.extend_from_slice(bytes);
                scratch.extend_from_slice(b"+1");
            }
            (Change::Put(put_of(Body::Scratch, 0)), ())
        };
        table.update(b"k", 1, append).unwrap();
    }
    assert_eq!(get(&table, b"k", 1).unwrap(), b"12+1+1+1");
}

#[test]
fn marks_and_the_end_change_without_the_value() {
    let table = table();
    let cas = put(&table, b"k", b"v", 1, 0).unwrap();
    let marks = Marks::STALE.with(Marks::WON);
    let (_, same) = table.update(b"k", 1, |_, _| (mark(marks, 5), ())).unwrap();
    assert_eq!(same, cas);
    let renumbered = Change::Head {
        expires_s: 77,
        marks: marks.without(Marks::WON),
        read: false,
        number: Number::Next,
    };
    let (_, given) = table.update(b"k", 1, |_, _| (renumbered, ())).unwrap();
    assert!(given > cas);
    table
        .read(b"k", 1, |item| {
            assert_eq!((item.flags, item.expires_s, item.cas), (7, 77, given));
            assert!(item.marks.has(Marks::STALE) && !item.marks.has(Marks::WON));
            assert_eq!(item.value, Value::Here(b"v"));
        })
        .unwrap();
}

#[test]
fn a_value_that_lies_elsewhere_is_told_as_it_was_given() {
    let table = table();
    let place = Place(u64::MAX - 3, 17);
    let change = Change::Put(put_of(Body::Elsewhere(place), 0));
    table.update(b"k", 1, |_, _| (change, ())).unwrap();
    let value = table.read(b"k", 1, |item| item.value == Value::Elsewhere(place));
    assert_eq!(value, Some(true));
    put(&table, b"k", b"here again", 1, 0).unwrap();
    assert_eq!(get(&table, b"k", 1).unwrap(), b"here again");
}

#[test]
fn keys_and_values_beyond_the_limits_are_refused() {
    let table = table();
    let limit = table.options().clone();
    let long = vec![b'k'; limit.key_bytes + 1];
    assert_eq!(put(&table, &long, b"v", 1, 0), Err(Refused::Key));
    assert_eq!(put(&table, b"", b"v", 1, 0), Err(Refused::Key));
    assert!(put(&table, &long[1..], b"v", 1, 0).is_ok());
    let large = vec![1; limit.value_bytes + 1];
    put(&table, b"k", b"v", 1, 0).unwrap();
    assert_eq!(put(&table, b"k", &large, 1, 0), Err(Refused::TooLarge));
    assert_eq!(get(&table, b"k", 1).unwrap(), b"v");
    put(&table, b"k", &large[1..], 1, 0).unwrap();
    assert_eq!(get(&table, b"k", 1).unwrap(), large[1..]);
    assert_eq!(table.figures().large_values, 1);
    put(&table, b"k", b"small", 1, 0).unwrap();
    assert_eq!(table.figures().large_values, 0);
    assert!(get(&table, &large, 1).is_none());
}

#[test]
fn a_clear_takes_what_was_written_before_it_and_nothing_else() {
    let table = table();
    put(&table, b"old", b"v", 10, 0).unwrap();
    table.clear(0, 10);
    assert_eq!(get(&table, b"old", 10), None);
    put(&table, b"new", b"v", 10, 0).unwrap();
    assert!(get(&table, b"new", 10).is_some());
    table.clear(20, 10);
    assert!(get(&table, b"new", 19).is_some());
    assert!(get(&table, b"new", 20).is_none());
    put(&table, b"newer", b"v", 20, 0).unwrap();
    assert!(get(&table, b"newer", 21).is_some());
}

#[test]
fn cleared_and_expired_items_go_without_being_read() {
    let table = table();
    let empty = table.used_bytes();
    for n in 0..20_000u32 {
        let expires_s = if n % 2 == 0 { 100 + n % 10 } else { 0 };
        put(&table, &n.to_be_bytes(), &[1; 100], 1, expires_s).unwrap();
    }
    while table.maintain(105, 1 << 20).more {}
    assert_eq!(table.figures().expired_unread, 6000);
    table.clear(0, 105);
    while table.maintain(105, 1 << 20).more {}
    let figures = table.figures();
    assert_eq!((figures.items, figures.cleared), (0, 14_000));
    assert!(table.used_bytes() <= empty + 4096, "the memory is back");
}

#[test]
fn an_idle_table_costs_maintenance_nothing() {
    let table = table();
    for n in 0..5000u32 {
        put(&table, &n.to_be_bytes(), &[1; 100], 1, 1000).unwrap();
    }
    assert_eq!(table.maintain(999, usize::MAX).work_bytes, 0);
    assert_eq!(table.maintain(1000, usize::MAX).ended, 5000);
}

#[test]
fn a_scan_sees_what_stays_exactly_once_whatever_is_written_meanwhile() {
    let table = Table::new(options(64 << 20, Full::Refuse));
    for n in 0..3000u32 {
        put(&table, &n.to_be_bytes(), b"stays", 1, 0).unwrap();
    }
    let mut seen = vec![0; 3000];
    let mut cursor = Some(Cursor::default());
    let mut fresh = 3000u32;
    while let Some(from) = cursor {
        cursor = table.scan(from, 1, 10, |key, _| {
            let n = u32::from_be_bytes(key.try_into().unwrap()) as usize;
            if n < seen.len() {
                seen[n] += 1;
            }
        });
        for _ in 0..100 {
            // The index grows, and those that stay are moved.
            put(&table, &fresh.to_be_bytes(), b"comes and goes", 1, 0).unwrap();
            remove(&table, &(fresh / 2).max(3000).to_be_bytes(), 1);
            put(
                &table,
                &(fresh % 3000).to_be_bytes(),
                &vec![2; fresh as usize % 300],
                1,
                0,
            )
            .unwrap();
            fresh += 1;
        }
    }
    assert!(seen.iter().all(|times| *times == 1));
    assert!(fresh > 5000, "{fresh}");
    let garbage = Cursor::from_number(u64::MAX);
    assert_eq!(table.scan(garbage, 1, 10, |_, _| {}), None);
    assert!(
        table
            .scan(Cursor::from_number(u64::from(u32::MAX)), 1, 1, |_, _| {})
            .is_some()
    );
}

#[test]
fn no_two_writes_have_the_same_cas() {
    let table = table();
    let mut seen = std::collections::HashSet::new();
    for n in 0..3000u32 {
        assert!(seen.insert(put(&table, &(n % 700).to_be_bytes(), b"v", 1, 0).unwrap()));
    }
}

#[test]
fn odd_options_make_a_table_that_works() {
    for (memory_bytes, shards, segment_bytes) in [(0, 0, 0), (1, 9, 5), (1 << 20, 1 << 20, 1 << 30)]
    {
        let table = Table::new(Options {
            memory_bytes,
            full: Full::Evict,
            shards,
            segment_bytes,
            key_bytes: 100,
            value_bytes: 1000,
        });
        for n in 0..2000u32 {
            put(&table, &n.to_be_bytes(), &[3; 500], 1, 0).unwrap();
            assert!(get(&table, &n.to_be_bytes(), 1).is_some());
        }
        assert!(table.used_bytes() <= table.options().memory_bytes);
    }
}

#[test]
fn what_is_prefetched_is_as_it_was() {
    let table = table();
    let large = vec![b'l'; 300 << 10];
    put(&table, b"short", b"value", 1, 0).unwrap();
    put(&table, b"large", &large, 1, 0).unwrap();
    put(&table, b"ended", b"value", 1, 5).unwrap();
    let change = Change::Put(put_of(Body::Elsewhere(Place(1 << 40, 17)), 0));
    table.update(b"away", 1, |_, _| (change, ())).unwrap();
    let before = table.figures();
    let mut keys: Vec<&[u8]> = vec![b"short", b"absent", b"large", b"", b"ended", b"away"];
    table.prefetch(&keys);
    table.prefetch(&[]);
    // More than are taken, and the same ones.
    keys.extend(vec![&b"short"[..]; 2 * Table::PREFETCH_MOST]);
    table.prefetch(&keys);
    assert_eq!(table.figures(), before);
    assert_eq!(get(&table, b"short", 10).unwrap(), b"value");
    assert_eq!(get(&table, b"large", 10).unwrap(), large);
    assert_eq!(get(&table, b"away", 10).unwrap(), b"elsewhere");
    assert_eq!(get(&table, b"ended", 10), None);
    let was_read = |key: &[u8]| table.read(key, 10, |item| item.was_read);
    put(&table, b"fresh", b"value", 10, 0).unwrap();
    table.prefetch(&[b"fresh"]);
    assert_eq!(was_read(b"fresh"), Some(false));
}
